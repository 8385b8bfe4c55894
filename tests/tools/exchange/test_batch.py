"""Batch jobs: the file that OpenAI's API and ``vllm run-batch`` read, and the result files that they write."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from openai.types.chat.completion_create_params import CompletionCreateParamsNonStreaming
from pydantic import BaseModel, ConfigDict, TypeAdapter

from siming_tasks.cli import main
from siming_tasks.data import Dataset
from siming_tasks.results.read_predictions import load_predictions
from tests.plugin.hooks.conftest import docs, reply


class BatchRequestInput(BaseModel):
    """Line of a job, by the documentation of both (https://platform.openai.com/docs/guides/batch); no other field."""

    model_config = ConfigDict(extra="forbid")
    custom_id: str
    method: str
    url: str
    body: dict[str, Any]


def job(out: Path, *arguments: str) -> list[dict[str, Any]]:
    """Lines of all parts, each checked: the envelope as vLLM reads it, the body as OpenAI's client types it."""
    assert main(["run", "requests", str(out), "--batch", "m", *arguments]) == 0
    lines = []
    for part in sorted(out.parent.glob(f"{out.stem}*.jsonl"), key=lambda path: (len(path.name), path.name)):
        for line in part.read_text().splitlines():
            row = BatchRequestInput.model_validate_json(line)
            TypeAdapter(CompletionCreateParamsNonStreaming).validate_python(row.body)
            assert (row.method, row.url, row.body["model"]) == ("POST", "/v1/chat/completions", "m")
            lines.append(row.model_dump())
    return lines


def result(name: str, content: str | None, *, status: int = 200, **more: Any) -> dict[str, Any]:
    """Line of a result file, as OpenAI and vLLM write it."""
    choice = {"index": 0, "message": {"role": "assistant", "content": content, **more}, "finish_reason": "stop"}
    body = {"id": "x", "object": "chat.completion", "created": 0, "model": "m-1", "choices": [choice],
            "usage": {"prompt_tokens": 7, "completion_tokens": 2, "total_tokens": 9}}  # fmt: skip
    if status != 200:
        body = {"error": {"message": "too long", "code": status}}
    response = {"status_code": status, "request_id": "r", "body": body}
    return {"id": "b", "custom_id": name, "response": response, "error": None}


def imported(path: Path, rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    out = path.with_name("replies.jsonl")
    assert main(["run", "import", str(path), str(out), "--format", "openai-batch"]) == 0
    return [json.loads(line) for line in out.read_text().splitlines()]


def test_a_batch_job_gives_the_record_of_a_run(run: Dataset, tmp_path: Path) -> None:
    """The same messages as without ``--batch``; each answer comes back to its request, in whatever order."""
    common = ("--setting", "clip_score", "--limit", "4")
    assert main(["run", "requests", str(tmp_path / "plain.txt"), *common]) == 0
    plain = [json.loads(line) for line in (tmp_path / "plain.txt").read_text().splitlines()]
    lines = job(tmp_path / "job.jsonl", *common)
    assert [line["custom_id"] for line in lines] == [line["id"] for line in plain]
    assert [line["body"]["messages"] for line in lines] == [line["messages"] for line in plain]
    assert {(line["body"]["max_completion_tokens"], line["body"]["temperature"]) for line in lines} == {(4096, 0)}
    said = {doc["id"]: reply(doc, "rater_a") for doc in docs("clip_score")}
    rows = [result(line["custom_id"], said[line["custom_id"]]) for line in reversed(lines)]
    replies = imported(tmp_path / "out.jsonl", rows)
    assert {row["id"]: row["reply"] for row in replies} == {line["id"]: said[line["id"]] for line in plain}
    usage = {"prompt_tokens": 7, "completion_tokens": 2, "finish_reason": "stop", "served": "m-1"}
    assert all(row["usage"] == usage for row in replies)
    predictions = load_predictions(tmp_path / "replies.jsonl", run)
    assert len(predictions.records["clip_score"]) == 4


def test_failures_refusals_and_empty_answers(tmp_path: Path) -> None:
    rows = [
        result("clip_score/v/1", None, status=400),
        {
            "id": "b",
            "custom_id": "clip_score/v/2",
            "response": None,
            "error": {"code": "batch_expired", "message": "x"},
        },
        result("clip_score/v/3", None, refusal="I cannot judge this."),
        result("clip_score/v/4", None),
    ]
    failed, expired, refused, empty = imported(tmp_path / "out.jsonl", rows)
    assert failed == {"id": "clip_score/v/1", "reply": None, "error": '{"message": "too long", "code": 400}'}
    assert expired["reply"] is None and "batch_expired" in expired["error"]
    assert refused["reply"] == "I cannot judge this." and empty["reply"] == ""


def test_large_jobs_are_divided(run: Dataset, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """No file is larger than it may be, nothing is lost, and parts of an earlier job are not mixed with new ones."""
    from siming_tasks.tools.exchange.batch_file import write_parts

    lines = [f"{number:09}\n" for number in range(25)]
    parts = write_parts(lines, tmp_path / "job.jsonl", 100)
    assert [part.name for part in parts] == ["job.jsonl", "job-2.jsonl", "job-3.jsonl"]
    assert [part.stat().st_size for part in parts] == [100, 100, 50]
    assert "".join(part.read_text() for part in parts) == "".join(lines)
    assert main(["run", "requests", str(tmp_path / "job.jsonl"), "--batch", "m", "--limit", "1"]) == 1
    assert "job-2.jsonl: is a part of an earlier job. Delete it" in capsys.readouterr().err


def test_frames_as_files_have_whole_addresses(run: Dataset, tmp_path: Path) -> None:
    (line,) = job(tmp_path / "job.jsonl", "--setting", "clip_score", "--limit", "1", "--files")
    (other,) = job(tmp_path / "data.jsonl", "--setting", "clip_score", "--limit", "1")

    def urls(row: dict[str, Any]) -> list[str]:
        content = row["body"]["messages"][0]["content"]
        return [part["image_url"]["url"] for part in content if part["type"] == "image_url"]

    assert urls(line) and all(url.startswith("file:///") for url in urls(line))
    assert [Path(urlsplit(url).path).read_bytes() for url in urls(line)] == [
        base64.b64decode(url.partition(",")[2]) for url in urls(other)
    ]


def test_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "x.jsonl").write_text('{"id": "clip_score/v/1", "reply": "1"}\n')
    command = ["run", "import", str(tmp_path / "x.jsonl"), str(tmp_path / "y.jsonl"), "--format", "openai-batch"]
    assert main(command) == 1
    assert "x.jsonl:1: needs `custom_id` and `response` or `error`" in capsys.readouterr().err

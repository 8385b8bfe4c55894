"""Batch jobs: the file that OpenAI's API and ``vllm run-batch`` read, and the result files that they write."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from openai.types.chat.completion_create_params import CompletionCreateParamsNonStreaming
from pydantic import TypeAdapter

from siming_tasks.cli import main
from siming_tasks.data import Dataset, open_dataset
from siming_tasks.results.read_predictions import load_predictions
from tests.plugin.hooks.conftest import docs, reply
from tests.plugin.response_cache.test_cache import ARGUMENTS, SMALL, points
from tests.plugin.serving import Server
from tests.tools.exchange.run_batch import BatchRequestInput, run_batch


def job(out: Path, *arguments: str) -> list[dict[str, Any]]:
    """Lines of all parts, each checked: the envelope as vLLM reads it, the body as OpenAI's client types it."""
    assert main(["run", "requests", str(out), "--batch", "m", *arguments]) == 0
    lines = []
    parts = [path for path in out.parent.glob(f"{out.stem}*.jsonl") if not path.stem.endswith("_asked")]
    for part in sorted(parts, key=lambda path: (len(path.name), path.name)):
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
    assert main(["run", "import", str(path), str(out)]) == 0
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
    usage = {"prompt_tokens": 7, "completion_tokens": 2, "finish_reason": "stop", "served": "m-1", "http_status": 200}
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
        result("clip_score/v/5", None, status=400),
        {"id": "b", "custom_id": "clip_score/v/6", "response": {"status_code": 400, "request_id": "r", "body": None},
         "error": {"error": {"message": "too many images", "type": "BadRequestError", "param": None, "code": 400}}},
    ]  # fmt: skip
    unchosen = result("clip_score/v/7", None)
    unchosen["response"]["body"]["choices"] = []
    rows[4]["response"]["body"]["error"] |= {"code": "content_filter", "message": "filtered"}  # type: ignore[index]
    failed, expired, refused, empty, filtered, by_vllm, none = imported(tmp_path / "out.jsonl", [*rows, unchosen])
    usage = {"prompt_tokens": 7, "completion_tokens": 2, "served": "m-1", "http_status": 200}
    assert none == {"id": "clip_score/v/7", "reply": None, "error": "no choice", "usage": usage}
    assert by_vllm["reply"] is None and "too many images" in by_vllm["error"]
    assert failed == {"id": "clip_score/v/1", "reply": None, "error": '{"message": "too long", "code": 400}'}
    assert expired["reply"] is None and "batch_expired" in expired["error"]
    assert refused["reply"] == "[SAFETY_BLOCKED:finish_reason=stop] I cannot judge this." and empty["reply"] == ""
    assert filtered["reply"] == "[SAFETY_BLOCKED:finish_reason=content_filter] filtered"


def test_large_jobs_are_divided(run: Dataset, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """No file is larger than it may be, nothing is lost, and parts of an earlier job are not mixed with new ones."""
    from siming_tasks.tools.exchange.batch_file import write_parts

    lines = [f"{number:09}\n" for number in range(25)]
    parts = write_parts(((line, {}) for line in lines), tmp_path / "job.jsonl", 100)
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


def test_half_a_surrogate_pair_in_a_reply_loses_nothing(tmp_path: Path) -> None:
    (row,) = imported(tmp_path / "out.jsonl", [result("clip_score/v/1", '{"score": 1} \ud83d')])
    assert row["reply"] == '{"score": 1} \ufffd'


def test_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "x.jsonl").write_text('{"id": "clip_score/v/1", "reply": "1"}\n')
    command = ["run", "import", str(tmp_path / "x.jsonl"), str(tmp_path / "y.jsonl")]
    assert main(command) == 1
    assert "x.jsonl:1: needs `custom_id` and `response` or `error`" in capsys.readouterr().err
    (tmp_path / "x.jsonl").write_text(json.dumps(result("7", "1")) + "\n")
    assert main(command) == 1 and "'7' is no id of a request. Ask with the requests of" in capsys.readouterr().err
    (tmp_path / "x.jsonl").write_text("")
    assert main(command) == 1 and "holds no reply to a request of" in capsys.readouterr().err
    assert not (tmp_path / "y.jsonl").exists()


@pytest.mark.host
def test_a_batch_job_scores_as_a_live_run_does(
    host: Callable[..., Any], serve: Callable[..., Server], short_demo: Path, tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    """Requests, batch in parts, import, score: records and numbers are those of lmms-eval, to the last bit."""
    server = serve(points)
    live = host(
        "--model", "async_openai", "--model_args", ARGUMENTS["async_openai"] + server.url, "--tasks",
        "siming_clip_score", "--limit", "24", data=short_demo, name="live", **SMALL,
    )  # fmt: skip
    job, second, asked = (tmp_path / f"job{end}.jsonl" for end in ("", "-2", "_asked"))
    what = ("--setting", "clip_score", "--limit", "24", "--clip-frames", "2", "--frame-size", "96")
    assert main(["run", "requests", str(short_demo), str(job), *what, "--batch", "m"]) == 0
    lines, rows = job.read_text().splitlines(True), [json.loads(line) for line in asked.read_text().splitlines()]
    job.write_text("".join(lines[:10]))  # as --batch-mb would divide a large job
    second.write_text("".join(lines[10:]))
    rows = rows[:10] + [{**row, "file": second.name} for row in rows[10:]]
    asked.write_text("".join(json.dumps(row) + "\n" for row in rows))
    results = [tmp_path / f"results-{number}.jsonl" for number in (1, 2)]
    for part, file in zip((job, second), results, strict=True):
        run_batch(part, file, points)
    out = tmp_path / "replies.jsonl"
    how = (str(out), "--requests", str(asked))
    capsys.readouterr()
    assert main(["run", "import", str(results[0]), *how]) == 1
    assert f"job-2.jsonl: 14 requests without a reply: {min(row['id'] for row in rows[10:])}" in capsys.readouterr().out
    assert main(["run", "import", *map(str, results), *how]) == 0
    dataset = open_dataset(short_demo)
    batch, run = (load_predictions(path, dataset).records["clip_score"] for path in (out, live.folder))
    assert len(batch) == len(run) == 24
    for first, other in zip(batch, run, strict=True):
        mine, theirs = first.to_json(), other.to_json()
        used, usage = mine.pop("usage"), theirs.pop("usage")
        assert mine == theirs
        assert used["model"] == "m" and used["completion_tokens"] == 1
        assert all(usage[name] == value for name, value in used.items() if value is not None)
    printed = []
    for path in (out, live.folder):
        capsys.readouterr()
        assert main(["score", str(short_demo), str(path), "--partial", "--json"]) == 0
        scored = json.loads(capsys.readouterr().out)["settings"]["clip_score"]
        printed.append({name: value for name, value in scored.items() if name != "usage"})
    assert printed[0] == printed[1]


def test_an_answer_takes_the_place_of_a_failure_and_strangers_are_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Output and error file of a job, and a second try of what failed, in any order; two answers are refused."""
    names = [f"clip_score/v/{number}" for number in range(3)]
    (asked := tmp_path / "asked.jsonl").write_text(
        "".join(json.dumps({"id": name, "prompt": "p", "media": {"mode": "frames"}}) + "\n" for name in names)
    )
    files = {
        "failed": [result(names[0], None, status=500), result(names[1], "2")],
        "again": [result(names[0], "1")],
        "twice": [result(names[1], "3")],
        "stranger": [result("clip_score/v/9", "1")],
    }
    for name, rows in files.items():
        (tmp_path / name).write_text("".join(json.dumps(row) + "\n" for row in rows))
    out = tmp_path / "out.jsonl"

    def importing(*names: str) -> int:
        paths = [str(tmp_path / name) for name in names]
        return main(["run", "import", *paths, str(out), "--requests", str(asked)])

    cut = result(names[0], "I would")
    cut["response"]["body"]["choices"][0]["finish_reason"] = "length"
    for name, row in {"cut": cut, "empty": result(names[0], None)}.items():
        (tmp_path / name).write_text(json.dumps(row) + "\n")
        for order in ((name, "again"), ("again", name)):
            assert importing(*order) == 1
            (line,) = out.read_text().splitlines()
            read = json.loads(line)
            assert (read["reply"], read["usage"]["prompt_tokens"], read["usage"]["finish_reason"]) == ("1", 14, "stop")
    capsys.readouterr()
    for order in (("failed", "again"), ("again", "failed")):
        assert importing(*order) == 1
        rows = [json.loads(line) for line in out.read_text().splitlines()]
        assert {row["id"]: row["reply"] for row in rows} == {names[0]: "1", names[1]: "2"}
        assert all(row["media"] == {"mode": "frames"} and row["prompt"] == "p" for row in rows)
    assert "asked.jsonl: 1 requests without a reply: clip_score/v/2" in capsys.readouterr().out
    assert importing("failed", "twice") == 1 and importing("failed", "stranger") == 1
    said = capsys.readouterr().err
    assert "'clip_score/v/1' is answered in" in said and "is no id of a request in" in said

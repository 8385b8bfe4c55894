"""Failed requests are named by their place in the task, and the commands ask exactly these."""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from siming_tasks.cli import main
from siming_tasks.data import Dataset
from siming_tasks.results.discovery import run_at
from siming_tasks.tasks import TASKS
from siming_tasks.tasks.expected_requests import expected_requests, record_id


def fail(log: Path, documents: Sequence[int], status: str = "request_failed") -> None:
    """Some requests of a log, by their number, made failed ones."""
    rows = [json.loads(line) for line in log.read_text().splitlines()]
    for number in documents:
        steps = [*rows[number]["siming_stderr"]["answers"], *rows[number]["siming_stderr"]["missing"]]
        missing = dict.fromkeys(steps, "absent")
        rows[number]["siming_stderr"] |= {"status": status, "answers": {}, "missing": missing}
    log.write_text("".join(json.dumps(row) + "\n" for row in reversed(rows)))  # the order in a log tells nothing


@pytest.fixture
def broken(exams: Dataset, make_run: Callable[..., Path], tmp_path: Path) -> Path:
    """A run of an API model with failed requests 5, 6, 7 and 20 of the clips and 3 of the full videos."""
    config = {"gen_kwargs": "max_new_tokens=99", "batch_size": 2, "model_args": "model_version=m,api_key=sk-private"}
    out = make_run(exams, tmp_path / "out" / "m", model="m", config=config, settings=("full_score", "clip_error"))
    fail(out / "20260102_030405_samples_siming_clip_error.jsonl", (20, 7, 5, 6))
    fail(out / "20260102_030405_samples_siming_full_score.jsonl", (3,))
    fail(out / "20260102_030405_samples_siming_clip_error.jsonl", (0,), "empty")
    return out


def listed(capsys: pytest.CaptureFixture[str], exams: Dataset, run: Path) -> dict[str, Any]:
    assert main(["score", str(exams.root), str(run), "--list-failed", "--json"]) == 0
    return dict(json.loads(capsys.readouterr().out))


def test_failed_requests_are_listed_with_their_commands(
    exams: Dataset, broken: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    found = listed(capsys, exams, broken)
    clips = expected_requests(TASKS["clip_error"], exams.videos)
    full = expected_requests(TASKS["full_score"], exams.videos)
    expected = [{"id": record_id("full_score", *full[3]), "task": "siming_full_score", "document": 3}]
    expected += [
        {"id": record_id("clip_error", *clips[n]), "task": "siming_clip_error", "document": n} for n in (5, 6, 7, 20)
    ]
    assert found["failed"] == [{**request, "reason": ""} for request in expected]  # the records do not say why
    assert found["empty"] == 1
    asked: set[tuple[str, int]] = set()
    for command in found["commands"]:
        words = shlex.split(command)
        flags = dict(zip(words[2::2], words[3::2], strict=False))
        begin, many = int(flags.get("--offset", 0)), int(flags["--limit"])
        asked |= {(flags["--tasks"], number) for number in range(begin, begin + many)}
        assert f" --model qwen2_5_vl --model_args 'model_version=m,api_key=***' --tasks {flags['--tasks']} " in command
        assert "--batch_size 2 --gen_kwargs max_new_tokens=99" in command and "--log_samples" in command
    assert asked == {(one["task"], one["document"]) for one in expected}
    assert len(found["commands"]) == 3  # 5 to 7 are one row


def test_the_text_names_each_says_where_secrets_go_and_holds_none(
    exams: Dataset, broken: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["score", str(exams.root), str(broken), "--list-failed"]) == 0
    text = capsys.readouterr().out
    assert "sk-private" not in text and "fill them in where *** stands" in text
    assert "  siming_full_score 3\n" in text
    assert "5 requests failed.\n1 empty replies are not kept: the command of the run asks them again, too." in text
    assert f"Then join the parts: siming score {exams.root} {broken}\n" in text


def test_a_complete_run_lists_no_failed_request(
    exams: Dataset, make_run: Callable[..., Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = make_run(exams, tmp_path / "run", settings=("full_score",))
    assert main(["score", str(exams.root), str(run), "--list-failed"]) == 0
    assert capsys.readouterr().out == "0 requests failed.\n"


def test_a_prediction_file_does_not_say_what_was_run(
    exams: Dataset, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "p.jsonl"
    video = exams.videos[1].video_id
    row = {"setting": "full_score", "video_id": video, "response": "[LMMS_EVAL_REQUEST_FAILED after 5 retries] x"}
    path.write_text(json.dumps(row) + "\n")
    assert main(["score", str(exams.root), str(path), "--list-failed"]) == 0
    text = capsys.readouterr().out
    assert "--model MODEL --model_args MODEL_ARGS --tasks siming_full_score --offset 1 --limit 1" in text
    assert "fill in MODEL and MODEL_ARGS" in text


def test_a_run_is_known_by_itself_and_not_by_what_was_asked_again(
    exams: Dataset, make_run: Callable[..., Path], tmp_path: Path
) -> None:
    run = make_run(exams, tmp_path / "run", model="m", settings=("full_score",))
    results = json.loads((run / "20260102_030405_results.json").read_text())
    results |= {"date": "20260103", "config": {**results["config"], "limit": 1.0, "offset": 3}}
    (run / "20260103_030405_results.json").write_text(json.dumps(results))
    source = run_at(run)
    assert source.facts["date"] == "20260102_030405"
    assert "limit" not in source.facts

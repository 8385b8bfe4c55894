"""A run's files are whole, or it says that they are not: a full disk, an interrupt, two runs in one second."""

from __future__ import annotations

import json
import os
import re
import signal
import sys
import time
from argparse import Namespace
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from siming_tasks.data import open_dataset, withhold
from siming_tasks.plugin import verify_output
from siming_tasks.plugin.hooks import evaluation, process_results
from siming_tasks.plugin.hooks.run_context import RUN
from tests.lmms_eval_runs import files_end_at

pytestmark = [pytest.mark.host, pytest.mark.filterwarnings("ignore")]  # warnings of the host's own imports

DATE = "20260101_000000"
PREPARE = """
import os, resource, signal, sys
signal.signal(signal.SIGINT, signal.SIG_DFL)  # a test run in the background inherits "ignore"
if (limit := int(sys.argv[1])):
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
os.execv(sys.argv[2], sys.argv[2:])
"""


def prepared(command: tuple[str, ...], limit: int = 0) -> tuple[str, ...]:
    """The command with Ctrl-C working, and every file full at ``limit`` bytes."""
    return (sys.executable, "-c", PREPARE, str(limit), *command)


def reference(*arguments: str, tasks: str) -> list[str]:
    return ["--model", "siming_reference", "--model_args", "kind=oracle,media=False", "--tasks", tasks, *arguments]


def whole(path: Path) -> bool:
    text = path.read_text()
    try:
        records = [json.loads(line) for line in text.split("\n")[:-1]] if path.suffix == ".jsonl" else json.loads(text)
    except ValueError:
        return False
    return bool(records) and (path.suffix == ".json" or text.endswith("}\n"))


# --- the real command -------------------------------------------------------------------------------------------------


def test_a_full_disk_is_reported_as_an_error(
    host: Callable[..., Any], forked: tuple[str, ...], short_demo: Path
) -> None:
    """The four logs of whole exams fit into 150 kB each, those of 132 clips do not."""
    run = host(*reference(tasks="siming_full,siming_clip"), data=short_demo, launcher=prepared(forked, 150_000))
    assert run.code == 1
    assert len(run.samples("full_score")) == len(run.samples("full_error")) == 4
    assert run.task("clip_score")["qwk"] == 1.0  # the results file is whole
    names = sorted(path.name.partition("_samples_")[2] for path in run.folder.rglob("*_samples_*"))
    assert names == [
        "siming_clip_error.jsonl.partial", "siming_clip_score.jsonl.partial",
        "siming_full_error.jsonl", "siming_full_score.jsonl",
    ]  # fmt: skip
    table, _, last = run.output.rpartition("siming-tasks: ")
    assert re.search(r"siming_clip_score \[SYNTHETIC .*\|qwk +\|↑ +\| +1\|", table)
    assert "NOT SAVED as a whole" in last and "siming_clip_score.jsonl" in last and "siming_full" not in last
    assert "MB are free there" in last and "Traceback" not in run.output


def test_an_interrupt_leaves_whole_files_or_none(
    host: Callable[..., Any], forked: tuple[str, ...], short_demo: Path, tmp_path: Path
) -> None:
    """Ctrl-C as soon as the first log of the clips shows; wherever it strikes, no name of a whole file is on a part."""
    script = tmp_path / "interrupt.py"
    script.write_text(INTERRUPT)
    run = host(
        *reference(tasks="siming_clip_score"),
        data=short_demo,
        launcher=(sys.executable, str(script), *prepared(forked)),
    )
    files = [path for path in run.folder.rglob("*") if path.is_file()]
    assert files and all(whole(path) for path in files if path.suffix in (".json", ".jsonl"))
    if run.code == 0:  # the signal came too late
        assert len(run.samples("clip_score")) == 132
    else:
        assert "|siming_clip_score" not in run.output


INTERRUPT = """
import pathlib, signal, subprocess, sys, time
process = subprocess.Popen(sys.argv[1:])
out = pathlib.Path(sys.argv[sys.argv.index("--output_path") + 1])
while process.poll() is None and not list(out.glob("*_samples_*")):
    time.sleep(0.001)
process.send_signal(signal.SIGINT)
sys.exit(abs(process.wait()))
"""


# --- the host's own savers --------------------------------------------------------------------------------------------


@pytest.fixture
def tracker(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """lmms-eval's tracker, verified, writing into ``tmp_path``."""
    from lmms_eval.loggers import EvaluationTracker

    for name in ("save_results_aggregated", "save_results_samples"):
        monkeypatch.setattr(EvaluationTracker, name, getattr(EvaluationTracker, name))  # restored afterwards
    verify_output.install()
    verify_output.install()  # does nothing the second time
    made = EvaluationTracker(output_path=str(tmp_path))
    made.general_config_tracker.model_name_sanitized = "model"
    return made


def results(*tasks: str, **more: Any) -> dict[str, Any]:
    rows = {name: {"alias": name, "qwk,none": 0.5, "siming_stderr,none": {"statuses": {"ok": 4}}} for name in tasks}
    return {
        "results": rows, "configs": {name: {} for name in tasks}, "versions": dict.fromkeys(tasks, "3-A"),
        "n-shot": dict.fromkeys(tasks, 0), "higher_is_better": {name: {"qwk": True} for name in tasks}, **more,
    }  # fmt: skip


def samples(number: int, text: str = "x") -> list[dict[str, Any]]:
    return [
        {
            "doc_id": i, "doc_hash": "0", "doc": {}, "arguments": [[text]], "resps": [[text]], "filtered_resps": [text],
            "target": "",
        }
        for i in range(number)
    ]  # fmt: skip


def files(folder: Path) -> list[str]:
    return sorted(path.name.removeprefix(f"{DATE}_") for path in folder.rglob("*") if path.is_file())


def save(tracker: Any, found: dict[str, Any], logs: dict[str, Any] | None) -> None:
    tracker.save_results_aggregated(results=found, samples=logs, datetime_str=DATE)
    for name in logs or ():
        tracker.save_results_samples(task_name=name, samples=logs[name])


def test_a_run_that_is_saved_ends_as_ever(tracker: Any, tmp_path: Path, capsys: Any) -> None:
    save(tracker, results("a", "b"), {"a": samples(3, "line\u2028separator\n"), "b": samples(1)})
    assert files(tmp_path) == ["results.json", "samples_a.jsonl", "samples_b.jsonl"]
    assert all(whole(path) for path in tmp_path.rglob("*.json*"))
    assert capsys.readouterr().out == ""


def test_a_results_file_that_does_not_fit_is_renamed_and_named(tracker: Any, tmp_path: Path, capsys: Any) -> None:
    with files_end_at(20_000), pytest.raises(SystemExit) as caught:
        save(tracker, results("a", padding="x" * 30_000), {"a": samples(4)})
    assert files(tmp_path) == ["results.json.partial", "samples_a.jsonl"]
    assert str(caught.value).startswith("siming-tasks: this run is NOT SAVED as a whole.")
    assert str(tmp_path / "model" / f"{DATE}_results.json") in str(caught.value)
    assert "samples_a" not in str(caught.value)
    assert "|qwk" in capsys.readouterr().out  # its numbers are shown once, before that


def test_without_sample_logs_the_run_ends_with_the_results_file(tracker: Any, tmp_path: Path) -> None:
    with files_end_at(20_000), pytest.raises(SystemExit):
        save(tracker, results("a", padding="x" * 30_000), None)
    assert files(tmp_path) == ["results.json.partial"]


def test_a_folder_that_cannot_be_made_ends_the_run_with_an_error(tracker: Any, tmp_path: Path) -> None:
    (tmp_path / "model").write_text("a file in the way")
    with pytest.raises(SystemExit) as caught:
        save(tracker, results("a"), {"a": samples(1)})
    assert "results.json" in str(caught.value) and "samples_a.jsonl" in str(caught.value)


def test_one_log_too_long_does_not_keep_the_next_from_being_saved(tracker: Any, tmp_path: Path) -> None:
    with files_end_at(20_000), pytest.raises(SystemExit):
        save(tracker, results("a", "b"), {"a": samples(40, "x" * 1000), "b": samples(4)})
    assert files(tmp_path) == ["results.json", "samples_a.jsonl.partial", "samples_b.jsonl"]


def test_an_interrupted_log_is_renamed(tracker: Any, tmp_path: Path) -> None:
    class Interrupting(dict[str, Any]):
        def pop(self, *_: Any) -> Any:
            os.kill(os.getpid(), signal.SIGINT)
            time.sleep(1)

    logs = samples(6)
    logs[3] = Interrupting(logs[3])
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with pytest.raises(KeyboardInterrupt):
            save(tracker, results("a"), {"a": logs})
    finally:
        signal.signal(signal.SIGINT, before)
    assert files(tmp_path) == ["results.json", "samples_a.jsonl.partial"]
    assert len((tmp_path / "model" / f"{DATE}_samples_a.jsonl.partial").read_text().splitlines()) == 3


def test_runs_in_one_second_are_each_saved(tracker: Any, tmp_path: Path) -> None:
    """lmms-eval names files by the second and appends."""
    for number in (4, 3, 2):
        save(tracker, results("a", number=number), {"a": samples(number)})
    for date, number in ((DATE, 4), ("20260101_000001", 3), ("20260101_000002", 2)):
        assert json.loads((tmp_path / "model" / f"{date}_results.json").read_text())["number"] == number
        assert len((tmp_path / "model" / f"{date}_samples_a.jsonl").read_text().splitlines()) == number
    assert len(files(tmp_path)) == 6


def test_two_runs_of_one_name_that_is_no_time_are_not_one_log(tracker: Any, tmp_path: Path) -> None:
    for _ in range(2):
        tracker.save_results_aggregated(results=results("a"), samples={"a": samples(4)}, datetime_str="mine")
        if not files(tmp_path)[1:]:
            tracker.save_results_samples(task_name="a", samples=samples(4))
    with pytest.raises(SystemExit):
        tracker.save_results_samples(task_name="a", samples=samples(4))
    assert files(tmp_path) == ["mine_results.json", "mine_samples_a.jsonl.partial"]


def test_predictions_that_could_not_be_written(tracker: Any) -> None:
    evaluated = results("siming_full_score")
    evaluated["results"]["siming_full_score"]["siming_stderr,none"]["predictions"] = None
    with pytest.raises(SystemExit, match=r"siming_predictions_full_score\.jsonl"):
        save(tracker, evaluated, None)


def test_predictions_are_not_claimed_when_they_could_not_be_written(
    short_demo: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    withhold(short_demo, tmp_path / "public", tmp_path / "labels.jsonl")
    monkeypatch.setenv("SIMING_DATA", str(tmp_path / "public"))
    RUN.begin()
    (video, *_) = open_dataset(tmp_path / "public").videos
    doc = {"id": f"full_error/{video.video_id}", "setting": "full_error", "video_id": video.video_id, "step_id": ""}
    record = process_results({**doc, "root": str(tmp_path / "public")}, ["{}"])["siming_stderr"]
    (tmp_path / "out").write_text("a file in the way")
    assert evaluation([record], Namespace(output_path=str(tmp_path / "out")))["predictions"] is None
    evaluated = evaluation([record], Namespace(output_path=str(tmp_path / "free")))
    assert evaluated["predictions"] == "siming_predictions_full_error.jsonl"
    assert (tmp_path / "free" / evaluated["predictions"]).is_file()


def test_a_run_without_output_path_writes_no_file(tracker: Any, tmp_path: Path) -> None:
    tracker.output_path = None
    save(tracker, results("a"), {"a": samples(2)})
    assert files(tmp_path) == []

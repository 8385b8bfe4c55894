"""A run's files are whole, or it says that they are not; a run ends with what to type next, which works."""

import json
import re
import shlex
import sys
from argparse import Namespace
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest

from siming_tasks.cli import main
from siming_tasks.data import withhold
from siming_tasks.plugin import host as lmms_eval
from siming_tasks.plugin import saved_run
from siming_tasks.plugin.hooks import evaluation, process_results
from tests.lmms_eval_runs import files_end_at

pytestmark = [pytest.mark.host, pytest.mark.filterwarnings("ignore")]  # warnings of the host's own imports

DATE = "20260101_000000"
ORACLE = ("--model", "siming_reference", "--model_args", "kind=oracle,media=False", "--tasks")
FULL_AT = """
import os, resource, sys
resource.setrlimit(resource.RLIMIT_FSIZE, (150_000, 150_000))
os.execv(sys.argv[1], sys.argv[1:])
"""
WITHOUT = """
import sys
at = sys.argv.index("--output_path")
sys.argv[at:] = [flag for flag in sys.argv[at + 2 :] if flag != "--log_samples"]
from lmms_eval.cli.dispatch import main
main()
"""


def test_a_full_disk_is_reported_as_an_error(
    host: Callable[..., Any], forked: tuple[str, ...], short_demo: Path
) -> None:
    """The four logs of whole exams fit into 150 kB each, those of 132 clips do not."""
    launcher = (sys.executable, "-c", FULL_AT, *forked)
    run = host(*ORACLE, "siming_full,siming_clip", data=short_demo, launcher=launcher)
    assert run.code == 1
    assert len(run.samples("full_score")) == len(run.samples("full_error")) == 4
    assert run.task("clip_score")["qwk"] == 1.0  # the results file is whole
    names = sorted(path.name.partition("_samples_")[2] for path in run.folder.rglob("*_samples_*"))
    assert names == [
        "siming_clip_error.jsonl.partial", "siming_clip_score.jsonl.partial",
        "siming_full_error.jsonl", "siming_full_score.jsonl",
    ]  # fmt: skip
    last = run.output.rpartition("siming-tasks: ")[2]
    assert "NOT SAVED completely" in last and "siming_clip_score.jsonl" in last and "siming_full" not in last
    assert "MB are free there" in last and "Traceback" not in run.output


def last_line(run: Any) -> str:
    assert run.code == 0, run.output[-3000:]
    table, _, line = run.output.rpartition("\nsiming-tasks: ")
    assert "|siming_full_score" in table and "1 is perfect" in table and "|" not in line  # after the table
    return str(line.splitlines()[0])


def test_the_last_line_is_a_command_that_works(
    host: Callable[..., Any], short_demo: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = host(*ORACLE, "siming_full_score", data=short_demo, name="my run")  # a space: the path must come quoted
    words = shlex.split(last_line(run).removeprefix("Next: "))
    assert words[:2] == ["siming", "report"] and Path(words[2]).is_relative_to(run.folder)
    assert main([*words[1:], "--out", str(tmp_path / "report"), "--video-files", "none"]) == 0
    assert (tmp_path / "report" / "index.html").is_file(), capsys.readouterr().err
    (script := tmp_path / "without.py").write_text(WITHOUT)
    assert "agreement with the raters' consensus: 1 is perfect" in run.output
    unsaved = host(*ORACLE, "siming_full_score", data=short_demo, script=str(script), name="unsaved",
                   SIMING_RATER="rater_a")  # fmt: skip
    assert "agreement with rater_a: 1 is perfect" in unsaved.output
    assert "Add --output_path results --log_samples; then: siming report results" in last_line(unsaved)


# --- the host's own savers --------------------------------------------------------------------------------------------


@pytest.fixture
def tracker(tmp_path: Path) -> Iterator[Any]:
    """lmms-eval's tracker, whose files are read back, writing into ``tmp_path``."""
    from lmms_eval.loggers import EvaluationTracker

    made = EvaluationTracker(output_path=str(tmp_path))
    made.general_config_tracker.model_name_sanitized = "model"
    with lmms_eval.replaced(saved_run.SAVERS):
        yield made


def save(tracker: Any, *tasks: str, logs: dict[str, Any] | None, date: str = DATE, **more: Any) -> None:
    rows = {name: {"alias": name, "siming_stderr,none": {"statuses": {"ok": 4}}} for name in tasks}
    found = {"results": rows, "configs": {name: {} for name in tasks}, **more}
    tracker.save_results_aggregated(results=found, samples=logs, datetime_str=date)
    for name in logs or ():
        tracker.save_results_samples(task_name=name, samples=logs[name])


def samples(number: int, text: str = "x") -> list[dict[str, Any]]:
    return [
        {"doc_id": i, "doc_hash": "0", "doc": {}, "arguments": [[text]], "resps": [[text]], "filtered_resps": [text],
         "target": ""}
        for i in range(number)
    ]  # fmt: skip


def files(folder: Path) -> list[str]:
    return sorted(path.name.removeprefix(f"{DATE}_") for path in folder.rglob("*") if path.is_file())


@pytest.mark.parametrize(
    ("padding", "logs", "left"),
    [
        (0, {"a": samples(3, "line\u2028separator\n")}, "results.json samples_a.jsonl"),
        (30_000, {"a": samples(4)}, "results.json.partial samples_a.jsonl"),
        (30_000, None, "results.json.partial"),
        (0, {"a": samples(40, "x" * 1000), "b": samples(4)}, "results.json samples_a.jsonl.partial samples_b.jsonl"),
    ],
)
def test_what_is_not_whole_is_renamed_and_named_after_all_else_is_saved(
    tracker: Any, tmp_path: Path, padding: int, logs: Any, left: str
) -> None:
    cut = re.findall(r"(\w+\.jsonl?)\.partial", left)
    with files_end_at(20_000), pytest.raises(SystemExit) if cut else nullcontext() as caught:
        save(tracker, *(logs or "a"), logs=logs, padding="x" * padding)
    if cut:
        assert str(caught.value).startswith("siming-tasks: this run is NOT SAVED completely.")
        assert f"{tmp_path / 'model' / DATE}_{cut[0]}. " in str(caught.value)
    assert files(tmp_path) == left.split()


def test_runs_in_one_second_are_each_saved(tracker: Any, tmp_path: Path) -> None:
    """lmms-eval names files by the second and appends."""
    for number in (4, 3, 2):
        save(tracker, "a", logs={"a": samples(number)}, number=number)
    for date, number in ((DATE, 4), ("20260101_000001", 3), ("20260101_000002", 2)):
        assert json.loads((tmp_path / "model" / f"{date}_results.json").read_text())["number"] == number
        assert len((tmp_path / "model" / f"{date}_samples_a.jsonl").read_text().splitlines()) == number
    assert len(files(tmp_path)) == 6


@pytest.mark.parametrize("model", ["async_openai", "siming_reference"])
def test_a_run_without_labels_goes_to_a_board_unless_it_is_of_a_reference_judge(
    tracker: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, model: str
) -> None:
    noted: dict[str, list[str]] = {"report": [], "board submit": [], "": []}
    monkeypatch.setattr(saved_run, "_NEXT", noted)
    monkeypatch.setattr(saved_run.atexit, "register", lambda function: None)
    rows = {"siming_full_score": {"siming_stderr,none": {"predictions": "p.jsonl", "options": {"rater": "consensus"}}}}
    found = {
        "results": rows,
        "configs": {"siming_full_score": {"task": "siming_full_score"}},
        "config": {"model": model},
    }
    tracker.save_results_aggregated(results=found, samples={"siming_full_score": samples(1)}, datetime_str=DATE)
    assert noted["board submit"] == ([] if model == "siming_reference" else [str(tmp_path / "model")])


def test_predictions_are_not_claimed_when_they_could_not_be_written(
    tracker: Any, short_demo: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    public = withhold(short_demo, tmp_path / "public", tmp_path / "labels.jsonl")
    monkeypatch.setenv("SIMING_DATA", str(public.root))
    video = public.videos[0].video_id
    doc = {"id": f"full_error/{video}", "setting": "full_error", "video_id": video, "step_id": ""}
    record = process_results(doc, ["{}"])["siming_stderr"]
    (tmp_path / "out").write_text("a file in the way")
    lost = evaluation([record], Namespace(output_path=str(tmp_path / "out")))
    assert lost["predictions"] is None
    found = {"results": {"siming_full_error": {"siming_stderr,none": lost}}, "configs": {}}
    with pytest.raises(SystemExit, match=r"siming_predictions_full_error\.jsonl"):
        tracker.save_results_aggregated(results=found, samples=None, datetime_str=DATE)

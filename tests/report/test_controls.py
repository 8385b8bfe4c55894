"""Settings outside the benchmark have tables of their own and enter none of the benchmark's."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

from siming_tasks.cli import main
from siming_tasks.data import Dataset
from siming_tasks.tasks import STANDARD_TASKS, TASKS

TIMED = ("full_timed_score", "full_timed_error")


def test_step_times_are_no_full_video_in_the_gains(
    exams: Dataset, make_run: Callable[..., Path], tmp_path: Path
) -> None:
    """A run of timed settings and clips states no gain of clips over full videos."""
    run = make_run(exams, tmp_path / "run", "rater_a", model="org/Timed", settings=(*TIMED, "clip_score", "clip_error"))
    whole = make_run(exams, tmp_path / "whole", "rater_a", model="org/Whole", settings=STANDARD_TASKS)
    command = ["report", str(run), str(whole), "--data", str(exams.root), "--out", str(tmp_path / "out")]
    assert main([*command, "--video-files", "none", "--resamples", "50"]) == 0
    report = json.loads((tmp_path / "out" / "report.json").read_text())
    found = {item["name"]: item for item in report["runs"]}
    assert found["org/Timed"]["gains"] == {} and set(found["org/Whole"]["gains"]) == {"score", "error"}
    for name in TIMED:
        rows = {row["name"] for row in report["standings"][name]["rows"]}
        assert {"org/Timed", "org/Whole"} <= rows
        assert {row["name"] for row in report["standings"][name.replace("timed_", "")]["rows"]} & rows == rows - {
            "org/Timed"
        }
    summary = (tmp_path / "out" / "report.md").read_text()
    assert [line[3:] for line in summary.splitlines() if line.startswith("## ")][: len(STANDARD_TASKS)] == [
        TASKS[name].title for name in STANDARD_TASKS
    ]


def test_the_commands_take_them_like_any_other(
    exams: Dataset, make_run: Callable[..., Path], tmp_path: Path, capsys
) -> None:  # type: ignore[no-untyped-def]
    runs = [make_run(exams, tmp_path / kind, kind, settings=TIMED) for kind in ("rater_a", "rater_b")]
    data, few = ["--data", str(exams.root)], ["--resamples", "50", "--json"]
    assert main(["score", str(exams.root), str(runs[0]), *few]) == 0
    assert set(json.loads(capsys.readouterr().out)["settings"]) == set(TIMED)
    assert main(["compare", *map(str, runs), *data, *few]) == 0
    assert set(json.loads(capsys.readouterr().out)["settings"]) == set(TIMED)
    assert main(["study", "diagnose", str(runs[0]), *data, *few]) == 0
    assert set(json.loads(capsys.readouterr().out)["settings"]) == set(TIMED)

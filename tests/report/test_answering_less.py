"""A judge; itself leaving out what it is wrong about (the best that abstaining can do); itself listing errors only."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from siming_tasks.data import Dataset
from siming_tasks.options import Options
from siming_tasks.report.build import write_report
from siming_tasks.results.discovery import find_runs
from siming_tasks.results.run import read_run
from siming_tasks.tools.board.build import build_board
from siming_tasks.tools.board.submission import ModelCard, pack
from tests.records import write_predictions
from tests.report.conftest import write_run

OPTIONS = Options(resamples=100)


@pytest.fixture(scope="module")
def runs(exams: Dataset, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    root = tmp_path_factory.mktemp("less")
    folder = write_run(exams, root / "run", "rater_a", model="x/y", noise=0.6, settings=("full_score",))
    honest = read_run(find_runs([str(folder)])[0], exams).records["full_score"]
    truth = {video.video_id: {step.step_id: step.scores["consensus"] for step in video.steps} for video in exams.videos}
    top = {step.id: step.max_score for step in exams.rubric.steps}
    keeps: dict[str, Callable[[str, str, float], bool]] = {
        "honest": lambda video, step, value: True,
        "sure": lambda video, step, value: truth[video][step] == value,
        "errors": lambda video, step, value: value < top[step],
        "shy": lambda video, step, value: truth[video][step] == value or (video, step) not in dropped,
    }
    wrong = [
        (record["video_id"], step)
        for record in honest
        for step, value in record["answers"].items()
        if value < truth[record["video_id"]][step] == top[step]
    ]
    dropped = set(wrong[:5])  # of 132 answers: enough is left to be ranked
    found = {}
    for name, keep in keeps.items():
        records = []
        for record in honest:
            kept = {step: v for step, v in record["answers"].items() if keep(record["video_id"], step, v)}
            gone = dict.fromkeys(record["answers"].keys() - kept.keys(), "absent")
            records.append({**record, "answers": kept, "missing": gone})
        found[name] = root / f"{name}.jsonl"
        write_predictions(records, found[name])
    return found


def test_the_report_ranks_no_abstainer_above_its_honest_self(
    runs: dict[str, Path], exams: Dataset, tmp_path: Path
) -> None:
    sources = find_runs([f"{name}={path}" for name, path in runs.items()])
    write_report(sources, exams, tmp_path / "r", OPTIONS, media="none", progress=False)
    board = json.loads((tmp_path / "r" / "report.json").read_text())["standings"]["full_score"]
    rows = [row for row in board["rows"] if row["name"] in runs]
    by_name = {row["name"]: row for row in rows}
    answered = {name: row["metrics"]["qwk"]["value"] for name, row in by_name.items()}
    assert answered["sure"] > answered["honest"] + 0.3  # what answering less does to the other value
    assert (
        by_name["sure"]["imputed"]["qwk"]["value"] > by_name["honest"]["imputed"]["qwk"]["value"]
    )  # it knew the labels
    assert rows[0]["name"] == "honest"
    assert [row["name"] for row in rows if "standing" in row] == ["honest", "shy"]  # the others answered too little
    assert [row["standing"]["rank"] for row in rows[:2]] == [1, 1]
    assert all("honest" not in row.get("better", ()) for row in rows)
    assert by_name["shy"]["standing"]["tied_with"] == [
        "honest"
    ]  # its imputed value is larger, its answers are the same
    for name in ("sure", "errors"):
        assert "of what it was asked, less than 95 %" in by_name[name]["unranked"]
    assert by_name["errors"]["imputed"]["qwk"] == by_name["honest"]["imputed"]["qwk"]  # it says the same
    page = (tmp_path / "r" / "index.html").read_text()
    assert "not above honest<" in page and "not ahead on the items both answered" in page and ">answered 0." in page
    assert "(answered: 0." in (tmp_path / "r" / "report.md").read_text()


def test_the_board_orders_no_abstainer_above_its_honest_self(
    runs: dict[str, Path], exams: Dataset, tmp_path: Path
) -> None:
    (tmp_path / "inbox").mkdir()
    for name, path in runs.items():
        source = find_runs([str(path)])[0]
        run = read_run(source, exams)
        found = {key: run.evaluate(key, OPTIONS) for key in run.settings}
        pack(source, run.records, exams, ModelCard(name=name), found, tmp_path / "inbox" / f"a-{name}.zip")
    entries, refused = build_board(tmp_path / "inbox", exams, tmp_path / "board", OPTIONS, progress=False)
    assert not refused
    assert entries[0].received.submission.model.name == "honest"
    assert "answered 0." in (tmp_path / "board" / "index.html").read_text()

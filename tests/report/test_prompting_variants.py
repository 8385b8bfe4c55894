"""Runs that were asked otherwise than the benchmark asks: in reports, on no board."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from siming_tasks.cli.main import main
from siming_tasks.data import Dataset
from siming_tasks.options import Options
from siming_tasks.parsing import Parsed
from siming_tasks.report.pages.exams import RunAnswers
from siming_tasks.report.run_analysis import analyze_run
from siming_tasks.report.viewer_files import ReplyFiles
from siming_tasks.results.discovery import run_at
from siming_tasks.results.record import Record
from tests.records import record_json, write_predictions
from tests.report.conftest import replies_in


def submit(run: Path, exams: Dataset, folder: Path) -> int:
    """Exit code of ``siming board submit``."""
    data, out = ["--data", str(exams.root)], ["--out", str(folder / "s.zip")]
    return main(["board", "submit", str(run), *data, *out])


@pytest.mark.parametrize("name", ["full_score_abstain", "clip_error_evidence"])
def test_a_board_takes_no_other_form(
    name: str, exams: Dataset, make_run: Callable[..., Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = make_run(exams, tmp_path / "run", "rater_a", model="org/M", settings=(name,))
    assert submit(run, exams, tmp_path) == 1
    assert f"holds siming_{name}, another form of the reply, which is no part" in capsys.readouterr().err


def reasoned(exams: Dataset, path: Path, **more: str) -> Path:
    """A prediction file of one exam, asked otherwise."""
    answers = {label.step_id: label.consensus for label in exams.videos[0].applicable}
    names = [step for step in answers if not more.get("part") or step.startswith("cpr")]
    parsed = Parsed("ok", {step: answers[step] for step in names})  # type: ignore[misc]
    record = record_json("full_score", exams.videos[0].video_id, None, parsed, prompt="p", dataset=exams.digest,
                       media={"mode": "frames", "n_frames": 4}, **more)  # fmt: skip
    return write_predictions([record], path)


def test_a_board_takes_no_other_question(exams: Dataset, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = reasoned(exams, tmp_path / "p.jsonl", asking="reasoned")
    assert submit(path, exams, tmp_path) == 1
    assert "asked otherwise (reasoned), which is no part of the benchmark" in capsys.readouterr().err


def test_the_report_has_the_replies_to_all_parts(exams: Dataset, tmp_path: Path) -> None:
    video = exams.videos[0].video_id
    with ReplyFiles("r", tmp_path / "r") as keep:
        for part, step, text in (("step:cpr_01", "cpr_01", "first words"), ("step:cpr_02", "cpr_02", "second words")):
            line = record_json("full_score", video, None, Parsed("ok", {step: 1.0}), asking="step", part=part)
            keep.put(Record.from_json(line), {"response": text})
    assert keep.count == 1
    *_, (_, _, last) = replies_in(tmp_path / "r" / f"{video}.js")
    assert all(words in last["reply"] for words in ("first words", "second words", "step:cpr_02"))
    assert last["answers"] == {"cpr_01": 1.0, "cpr_02": 1.0}


def test_a_cell_says_what_its_answer_rests_on_and_what_was_not_visible(exams: Dataset, tmp_path: Path) -> None:
    video = exams.videos[0]
    first, second = video.applicable[:2]
    rows = [
        record_json("full_score_evidence", video.video_id, None,
                  Parsed("ok", {first.step_id: 1.0}, details={"evidence": {first.step_id: ((0.5, 2.0), (3.0, 4.25))}})),
        record_json("full_score_abstain", video.video_id, None, Parsed("abstained", {first.step_id: 1.0}, {},
                                                                     (second.step_id,))),
    ]  # fmt: skip
    found = analyze_run(run_at(write_predictions(rows, tmp_path / "p.jsonl")), exams, Options())
    pointing, shy = (
        RunAnswers(found, found.matrices[name], name) for name in ("full_score_evidence", "full_score_abstain")
    )
    mapping = Options().mapping
    assert 'data-claim="0.50 2.00 3.00 4.25"' in pointing.cell(video.video_id, first.step_id, 2.0, 2.0, mapping)
    assert "data-claim" not in pointing.cell(video.video_id, second.step_id, 2.0, 2.0, mapping)
    assert 'aria-label="not visible">–</button>' in shy.cell(video.video_id, second.step_id, 2.0, 2.0, mapping)
    third = shy.cell(video.video_id, video.applicable[2].step_id, 2.0, 2.0, mapping)
    assert 'aria-label="absent">–</button>' in third

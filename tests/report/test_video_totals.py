"""Totals of incomplete exams: by hand, with the steps that they rest on, wherever a page prints one."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np

from siming_tasks.metrics import ScoreMatrix
from siming_tasks.options import Options
from siming_tasks.report.build import write_report
from siming_tasks.report.video_totals import VideoTotal, video_totals
from siming_tasks.report.viewer_files import without_replies
from siming_tasks.results.discovery import find_runs
from tests.report.conftest import write_run

NONE = math.nan


def matrix(predicted: list[list[float]], answer: str) -> ScoreMatrix:
    """Exams of five steps of 4 points each; the last step of the last exam has no reference."""
    reference = np.full((len(predicted), 5), 4.0)
    reference[-1, -1] = NONE
    ids = [f"v{number}" for number in range(len(predicted))]
    asked = np.ones(reference.shape, dtype=bool)
    return ScoreMatrix(ids, list("abcde"), ["cpr"] * 5, [4.0] * 5, reference, np.array(predicted), asked, answer)


def test_points_of_an_incomplete_exam_are_prorated_and_say_on_how_many_steps() -> None:
    found = video_totals(matrix([[4, 3, 2, 1, 0], [4, 3, 2, 1, NONE], [4, 3, 2, NONE, NONE], [1, 1, 1, 1, 4]], "score"))
    # 10 of 16 points, prorated to 20; three of five steps are fewer than 80 %; no reference, no points
    assert found == [VideoTotal(10, 5, 5), VideoTotal(12.5, 4, 5), VideoTotal(None, 3, 5), VideoTotal(4, 4, 4)]
    assert [total.rests_on for total in found] == ["", "4/5 steps", "3/5 steps", ""]


def test_steps_called_incorrect_are_counted_among_the_answers() -> None:
    found = video_totals(matrix([[1, 0, 1, 0, NONE], [NONE] * 5, [0, 0, 0, 0, 1]], "error"))
    assert found == [VideoTotal(2, 4, 5), VideoTotal(None, 0, 5), VideoTotal(1, 5, 5)]


def test_pages_say_what_a_total_rests_on(lab, tmp_path: Path) -> None:
    """A judge that refuses an exam, and was given three of four."""
    run = write_run(lab.dataset, tmp_path / "run", "rater_a", model="example/Short", settings=("full_score",),
                    replies={0: "I am sorry, I cannot help with that."})  # fmt: skip
    (log,) = run.glob("*samples*")
    lines = log.read_text().splitlines()
    log.write_text("\n".join(lines[:3]) + "\n")
    (source,) = find_runs([str(run)])
    out = write_report([source], lab.dataset, tmp_path / "report", Options(), media="none", progress=False)
    ids = [video.video_id for video in lab.dataset.videos]
    assert without_replies(out, source.slug, ids) == ids[3:]
    assert "– <span" in (out / "videos" / f"{ids[0]}.html").read_text()
    for page in ("videos/index", f"videos/{ids[0]}"):
        assert '<span class="sub">0/33 steps</span>' in (out / f"{page}.html").read_text()
    silent = [" data-silent" in (out / "videos" / f"{name}.html").read_text() for name in ids]
    assert silent == [False, False, False, True]

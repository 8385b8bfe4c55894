"""What is said where there are too few students for any interval or test, and of what was resampled."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from siming_tasks.analysis.comparison import Comparison, compare_scores
from siming_tasks.analysis.physician_equivalence import physician_equivalence
from siming_tasks.metrics import ScoreMatrix, evaluate
from siming_tasks.metrics.alignment import ComparisonEntry
from siming_tasks.report.table import to_markdown
from siming_tasks.report.tables import diagnosis
from siming_tasks.report.tables.comparison import comparison_section

Panels = Callable[..., ScoreMatrix]


def of_students(matrix: ScoreMatrix, students: int) -> ScoreMatrix:
    """The same videos, dealt to so many students."""
    names = tuple(f"s{number % students}" for number in range(len(matrix.video_ids)))
    return replace(matrix, clusters=names, unit="student")


def compared(synthetic: Panels, students: int, right: float = 0.5) -> Comparison:
    judge = of_students(synthetic(np.random.default_rng(8), videos=12, steps=8), students)
    perfect = judge.predicting(judge.reference)
    rng = np.random.default_rng(1)
    worse = judge.predicting(np.where(rng.random(judge.reference.shape) < right, judge.reference, judge.predicted))
    return compare_scores([ComparisonEntry("perfect", perfect), ComparisonEntry("worse", worse)], resamples=50)


@pytest.mark.parametrize("students", [1, 2, 4])
def test_below_five_students_runs_are_compared_without_test_and_any_rank_is_possible(
    synthetic: Panels, students: int
) -> None:
    found = compared(synthetic, students)
    for difference in found.differences:
        assert (difference.low, difference.high, difference.p, difference.p_holm) == (None, None, None, None)
        assert difference.value > 0
    ranks = found.ranks["qwk"]
    assert [(each.rank, each.low, each.high) for each in ranks.values()] == [(1, 1, 2), (2, 1, 2)]
    said = to_markdown(comparison_section(found))
    assert "no interval" in said and "nan" not in said.lower()


def test_from_five_students_on_a_rank_has_its_interval(synthetic: Panels) -> None:
    for students, right, intervals in ((6, 0.5, [(1, 2), (1, 2)]), (12, 0.0, [(1, 1), (2, 2)])):
        found = compared(synthetic, students, right)
        (difference,) = (item for item in found.differences if item.metric == "qwk")
        assert (difference.p is not None and difference.p <= 0.05) == (right == 0)
        assert [(each.low, each.high) for each in found.ranks["qwk"].values()] == intervals


def test_one_student_or_one_video_says_why_there_is_no_interval(synthetic: Panels) -> None:
    many = synthetic(np.random.default_rng(8), videos=12, steps=8)
    assert "too-few-clusters" in evaluate(of_students(many, 1), resamples=50).metrics["qwk"].flags
    assert "no-interval" in evaluate(many.videos([0]), resamples=50).metrics["qwk"].flags


def test_physicians_without_a_kappa_have_no_number(panel: Panels) -> None:
    """Full points for every step by both: their kappa is 0/0."""
    full = panel(np.full((12, 3), 3.0), np.tile([3.0, 2.0, 3.0], (12, 1)))
    found = physician_equivalence(full, [full, full], {})
    assert found.physicians is None and found.judge.p_inferior is None
    said = to_markdown(diagnosis._equivalence(SimpleNamespace(equivalence=found)))  # type: ignore[arg-type]
    assert "with each other (-, one pair)" in said and "| - " in said

"""What is said where there are too few students for any interval or test, and of what was resampled."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from scipy import stats

from siming_tasks.analysis.annotator_test import annotator_test
from siming_tasks.analysis.comparison import Comparison, compare_scores
from siming_tasks.analysis.physician_equivalence import physician_equivalence
from siming_tasks.analysis.robustness import cluster_errors
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


@pytest.mark.parametrize("metric", ["plcc", "srcc"])
def test_the_interval_of_a_correlation_over_students_ends_at_one(synthetic: Panels, metric: str) -> None:
    """Student's t of the jackknife on Fisher's z, by hand; on the scale of the correlation it would end above 1."""
    matrix = synthetic(np.random.default_rng(3), videos=14, steps=8)
    of = {video: f"s{number // 2}" for number, video in enumerate(matrix.video_ids)}
    found = cluster_errors(matrix, of, "student")
    assert found is not None
    correlate = {"plcc": lambda x, y: np.corrcoef(x, y)[0, 1], "srcc": lambda x, y: stats.spearmanr(x, y)[0]}[metric]
    truth, judged = (side.sum(axis=1) for side in (matrix.reference, matrix.predicted))
    without = [correlate(*(np.delete(side, [2 * n, 2 * n + 1]) for side in (truth, judged))) for n in range(7)]
    z = np.arctanh(without)
    reach = stats.t.ppf(0.975, 6) * math.sqrt(6 / 7 * np.square(z - z.mean()).sum())
    centre = math.atanh(correlate(truth, judged))
    row = found.metrics[metric]
    assert (row.low, row.high) == pytest.approx((math.tanh(centre - reach), math.tanh(centre + reach)))


def test_physicians_without_a_kappa_have_no_number(panel: Panels) -> None:
    """Full points for every step by both: their kappa is 0/0."""
    full = panel(np.full((12, 3), 3.0), np.tile([3.0, 2.0, 3.0], (12, 1)))
    found = physician_equivalence(full, [full, full], {})
    assert found.physicians is None and found.judge.p_inferior is None
    said = to_markdown(diagnosis._equivalence(SimpleNamespace(equivalence=found)))  # type: ignore[arg-type]
    assert "with each other (-, one pair)" in said and "| - " in said


@pytest.mark.parametrize(("students", "said"), [(6, "cannot be tested here: it takes 10 students"), (12, "passes")])
def test_a_judge_who_was_not_tested_has_not_failed(students: int, said: str) -> None:
    rng = np.random.default_rng(0)
    truth = rng.integers(0, 4, (24, 20)).astype(float)
    people: dict[str, Any] = {name: np.where(rng.random(truth.shape) < 0.1, 0.0, truth) for name in "ab"}
    found = annotator_test(truth, people, clusters=np.arange(24) % students)
    view = SimpleNamespace(annotator_test=found, unit="student")
    text = to_markdown(diagnosis._annotator_test(view))  # type: ignore[arg-type]
    assert said in text and "does not pass" not in text
    assert ("win rate |" in text) == (students == 12)

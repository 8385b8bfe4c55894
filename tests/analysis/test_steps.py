"""Steps against scikit-learn, counts by hand and a jackknife in loops."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from sklearn.metrics import cohen_kappa_score, recall_score

from siming_tasks.analysis.steps import FEW, steps
from siming_tasks.metrics import ordinal_labels
from tests.analysis.exams import exams, in_loops

LABELS = [0, 1, 2, 3]


def kappa(x: np.ndarray, y: np.ndarray) -> float:
    return float(cohen_kappa_score(x, y, weights="quadratic", labels=LABELS))


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    top = np.array([1, 2, 3, 5, 4])
    reference, predicted, *raters = (rng.integers(0, top + 1, (5, 80, 5))).astype(float)
    reference[:, 2] = np.where(np.arange(80) < 9, 1, 3)
    predicted[rng.random((80, 5)) < 0.05] = np.nan
    raters[2][:20] = np.nan
    matrix = exams(reference, predicted, top=top)
    return matrix, dict(zip("abc", raters, strict=True)), steps(matrix, dict(zip("abc", raters, strict=True)))


@pytest.mark.parametrize("step", range(5))
def test_values_are_those_of_scikit_learn(data, step):
    matrix, raters, rows = data
    row = rows.of(row=f"s{step:02d}")
    keep = ~np.isnan(matrix.predicted[:, step])
    truth, said, top = matrix.reference[keep, step], matrix.predicted[keep, step], matrix.max_score[step]
    x, y = ordinal_labels(truth, top), ordinal_labels(said, top)
    assert row.one(metric="imperfect").value == pytest.approx((x < 3).mean())
    assert row.one(metric="kappa").value == pytest.approx(kappa(x, y), abs=1e-12)
    assert row.one(metric="missed").value == pytest.approx(1 - recall_score(x < 3, y < 3))
    assert row.one(metric="false_alarms").value == pytest.approx(1 - recall_score(x == 3, y == 3))
    assert row.one(metric="bias").value == pytest.approx((said - truth).mean())
    sides = [
        (ordinal_labels(one[both, step], top), ordinal_labels(other[both, step], top))
        for one, other in combinations(raters.values(), 2)
        if (both := ~np.isnan(one[:, step]) & ~np.isnan(other[:, step])).any()
    ]
    together = [np.concatenate(side) for side in zip(*sides, strict=True)]
    assert row.one(metric="physicians").value == pytest.approx(kappa(*together), abs=1e-12)


def test_a_step_that_few_have_wrong_has_no_interval(data):
    """Nine of the 80 videos have the third step wrong, one of which is not judged."""
    for each in data[2].of(row="s02"):
        assert (each.low, each.high, each.stderr, each.why) == (None, None, None, FEW) and each.value is not None
    assert all(each.low is not None for name in ("s00", "s01", "s03", "s04") for each in data[2].of(row=name))


def test_intervals_are_those_of_the_jackknife_over_students():
    students = [f"s{i // 3}" for i in range(60)]
    points = np.random.default_rng(1).integers(0, 4, (2, 60, 1))
    matrix = exams(*points, clusters=tuple(students), unit="student")
    x, y = (ordinal_labels(side[:, 0], matrix.max_score[0]) for side in (matrix.reference, matrix.predicted))
    found = steps(matrix).one(metric="kappa")
    assert (found.value, found.stderr, found.low, found.high) == pytest.approx(
        in_loops(lambda kept: kappa(x[kept], y[kept]), students)
    )
    assert (found.n, found.clusters, found.unit) == (60, 20, "student")


def test_verdicts_by_hand():
    """Wrong, wrong, right, right; called wrong, right, right, right: kappa .5, one of two missed, one more correct."""
    rows = steps(exams([[0], [1], [3], [3]], [[1], [0], [0], [0]], answer="error"))
    found = {metric: rows.one(metric=metric).value for metric in ("kappa", "missed", "false_alarms", "bias")}
    assert found == pytest.approx({"kappa": cohen_kappa_score([1, 1, 0, 0], [1, 0, 0, 0]), "missed": 0.5,
                                   "false_alarms": 0.0, "bias": 0.25})  # fmt: skip


def test_what_is_not_there_has_a_reason():
    rows = steps(
        exams([[3, np.nan], [3, np.nan]], [[3, 1], [2, 1]]), {"a": np.full((2, 2), np.nan), "b": np.ones((2, 2))}
    )
    assert rows.one(row="s00", metric="missed").why == "No video has it wrong."
    assert rows.one(row="s00", metric="kappa").value == 0.0  # constant against varied is 0, and defined
    assert rows.one(row="s01", metric="kappa").why == "No step has both a reference and an answer."
    assert rows.one(row="s00", metric="physicians").why == "No two physicians scored this step."

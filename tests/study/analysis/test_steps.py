"""Steps against scikit-learn, counts by hand and a jackknife in loops."""

from itertools import combinations

import numpy as np
import pytest
from sklearn.metrics import cohen_kappa_score, recall_score

from siming_tasks.benchmark.metrics import ordinal_labels
from siming_tasks.study.analysis.steps import FEW, steps
from tests.study.analysis.exams import check_jackknife, exams


def kappa(x: np.ndarray, y: np.ndarray) -> float:
    return float(cohen_kappa_score(x, y, weights="quadratic", labels=[0, 1, 2, 3]))


def test_values_are_those_of_scikit_learn():
    """Nine videos have the third step wrong, too few for intervals; ten that are judged have the fourth."""
    rng = np.random.default_rng(0)
    tops = np.array([1, 2, 3, 5, 4])
    reference, predicted, *raters = (rng.integers(0, tops + 1, (5, 80, 5))).astype(float)
    reference[:, 2] = np.where(np.arange(80) < 9, 1, 3)
    predicted[rng.random((80, 5)) < 0.05] = np.nan
    raters[2][:20] = np.nan
    reference[:, 3], predicted[:11, 3] = np.where(np.arange(80) < 11, 1, 5), [2] * 10 + [np.nan]
    rows = steps(exams(reference, predicted, top=tops), dict(zip("abc", raters, strict=True)))
    for step, top in enumerate(tops):
        row = rows.of(row=f"s{step:02d}")
        keep = ~np.isnan(predicted[:, step])
        truth, said = reference[keep, step], predicted[keep, step]
        x, y = ordinal_labels(truth, top), ordinal_labels(said, top)
        sides = [
            (ordinal_labels(one[both, step], top), ordinal_labels(other[both, step], top))
            for one, other in combinations(raters, 2)
            if (both := ~np.isnan(one[:, step]) & ~np.isnan(other[:, step])).any()
        ]
        assert {each.metric: each.value for each in row} == pytest.approx({
            "imperfect": (x < 3).mean(), "kappa": kappa(x, y), "missed": 1 - recall_score(x < 3, y < 3),
            "false_alarms": 1 - recall_score(x == 3, y == 3), "bias": (said - truth).mean(),
            "physicians": kappa(*map(np.concatenate, zip(*sides, strict=True))),
        }, abs=1e-12)  # fmt: skip
        for each in row:
            assert (each.low is None) == (step == 2) == (each.why == FEW), each


def test_intervals_are_those_of_the_jackknife_over_students():
    students = [f"s{i // 3}" for i in range(60)]
    points = np.random.default_rng(1).integers(0, 4, (2, 60, 1))
    matrix = exams(*points, clusters=tuple(students), unit="student")
    x, y = (ordinal_labels(side[:, 0], matrix.max_score[0]) for side in (matrix.reference, matrix.predicted))
    found = steps(matrix).one(metric="kappa")
    check_jackknife(found, lambda kept: kappa(x[kept], y[kept]), students, -1)
    assert (found.n, found.unit) == (60, "student")


def test_verdicts_by_hand_and_what_is_not_there():
    """Wrong, wrong, right, right; called wrong, right, right, right: kappa .5, one of two missed, one more correct."""
    rows = steps(exams([[0], [1], [3], [3]], [[1], [0], [0], [0]], answer="error"))
    found = {metric: rows.one(metric=metric).value for metric in ("kappa", "missed", "false_alarms", "bias")}
    assert found == pytest.approx({"kappa": cohen_kappa_score([1, 1, 0, 0], [1, 0, 0, 0]), "missed": 0.5,
                                   "false_alarms": 0.0, "bias": 0.25})  # fmt: skip
    raters = {"a": np.full((2, 2), np.nan), "b": np.ones((2, 2))}
    rows = steps(exams([[3, np.nan], [3, np.nan]], [[3, 1], [2, 1]]), raters)
    assert rows.one(row="s00", metric="kappa").value == 0.0  # constant against varied is 0, and defined
    for row, metric in (("s00", "missed"), ("s01", "kappa"), ("s00", "physicians")):
        assert rows.one(row=row, metric=metric).value is None and rows.one(row=row, metric=metric).why

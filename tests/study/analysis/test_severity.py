"""Severity against NumPy, a two-way analysis of variance and a jackknife in loops."""

import numpy as np
import pandas as pd
import pytest
from statsmodels.formula.api import ols
from statsmodels.stats.anova import anova_lm

from siming_tasks.benchmark.metrics import evaluate
from siming_tasks.study.analysis.severity import JUDGE, severity
from tests.study.analysis.exams import check_jackknife, drawn, exams


def icc(one: np.ndarray, other: np.ndarray) -> float:
    """ICC(A,1) of McGraw & Wong (1996) from the mean squares of a two-way table of videos and raters."""
    table = np.stack([one, other], axis=1)
    n, whole = len(table), table.mean()
    rows = 2 * ((table.mean(axis=1) - whole) ** 2).sum() / (n - 1)
    columns = n * ((table.mean(axis=0) - whole) ** 2).sum()
    rest = (((table - whole) ** 2).sum() - rows * (n - 1) - columns) / (n - 1)
    return float((rows - rest) / (rows + rest + 2 / n * (columns - rest)))


def test_values_and_intervals_by_definition():
    matrix = drawn(np.random.default_rng(0), 50, 6)
    rows = severity(matrix, {"ann": matrix.reference, "bob": matrix.predicted}).of(row=JUDGE)
    one, other = (side.sum(axis=1) / matrix.max_score.sum() for side in (matrix.predicted, matrix.reference))
    gap, wrong = one - other, matrix.predicted < matrix.max_score
    expected = {
        "bias": gap.mean(),
        "sd": gap.std(ddof=1),
        "lower": gap.mean() - 1.96 * gap.std(ddof=1),
        "upper": gap.mean() + 1.96 * gap.std(ddof=1),
        "icc": icc(one, other),
        "called_wrong": wrong.mean(),
        "prevalence": (matrix.reference < matrix.max_score).mean(),
        "offset": np.mean(wrong * 1.0 - (matrix.reference < matrix.max_score)),
    }
    assert {name: rows.one(metric=name).value for name in expected} == pytest.approx(expected, abs=1e-7)
    for metric, function in {
        "bias": lambda kept: gap[kept].mean(),
        "sd": lambda kept: gap[kept].std(ddof=1),
        "icc": lambda kept: icc(one[kept], other[kept]),
    }.items():
        check_jackknife(rows.one(metric=metric), function, 50, -1 if metric in ("bias", "icc") else -np.inf)
    table = pd.DataFrame({"y": [*one, *other], "video": [*range(50)] * 2, "rater": ["a"] * 50 + ["b"] * 50})
    squares = anova_lm(ols("y ~ C(video) + C(rater)", table).fit())["mean_sq"]
    video, rater, rest = squares["C(video)"], squares["C(rater)"], squares["Residual"]
    assert icc(one, other) == pytest.approx((video - rest) / (video + rest + 2 / 50 * (rater - rest)))


def test_a_shift_that_no_correlation_sees():
    reference = np.random.default_rng(1).integers(1, 4, (40, 5)).astype(float)
    shifted = exams(reference, reference - 1)
    rows = {row.metric: row for row in severity(shifted)}
    assert evaluate(shifted).one("answered", metric="plcc").value == pytest.approx(1.0)
    assert (rows["bias"].value, rows["sd"].value, rows["sd"].low) == (pytest.approx(-1 / 3), 0.0, None)
    assert (rows["called_wrong"].value, rows["called_wrong"].low) == (1.0, pytest.approx(1 - 3 / 40))
    assert rows["offset"].value == pytest.approx((reference == 3).mean())
    for same in (exams(np.full((9, 2), 2.0), np.full((9, 2), 2.0)), exams([[3], [1]], [[3], [2]])):
        found = severity(same).one(metric="icc")  # totals that do not vary, and fewer than three
        assert found.value is None and found.why


def test_verdicts_have_no_totals():
    matrix = drawn(np.random.default_rng(2), answer="error")
    rows = severity(matrix, {"a": matrix.reference, "b": matrix.max_score - matrix.reference})
    assert rows.names("metric") == ["called_wrong", "prevalence", "offset"]
    offset = np.mean(matrix.predicted - (matrix.reference < matrix.max_score))
    assert rows.one(row=JUDGE, metric="offset").value == pytest.approx(offset)
    zero, top = (matrix.reference == 0).mean(), (matrix.reference == matrix.max_score).mean()
    assert rows.one(row="b - a", metric="offset").value == pytest.approx((1 - zero) - (1 - top))

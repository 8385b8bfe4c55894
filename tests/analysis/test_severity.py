"""Severity against NumPy, a two-way analysis of variance and a jackknife in loops."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy.stats import norm
from statsmodels.formula.api import ols
from statsmodels.stats.anova import anova_lm

from siming_tasks.analysis.severity import JUDGE, severity
from siming_tasks.metrics import evaluate
from tests.analysis.exams import drawn, exams, in_loops


def icc(one: np.ndarray, other: np.ndarray) -> float:
    """ICC(A,1) of McGraw & Wong (1996) from the mean squares of statsmodels' two-way table."""
    n = len(one)
    table = pd.DataFrame({"y": [*one, *other], "video": [*range(n)] * 2, "rater": ["a"] * n + ["b"] * n})
    squares = anova_lm(ols("y ~ C(video) + C(rater)", table).fit())["mean_sq"]
    rows, columns, rest = squares["C(video)"], squares["C(rater)"], squares["Residual"]
    return float((rows - rest) / (rows + rest + 2 / n * (columns - rest)))


@pytest.fixture(scope="module")
def found():
    matrix = drawn(np.random.default_rng(0), 50, 6)
    raters = {"ann": matrix.reference, "bob": matrix.predicted}
    return matrix, severity(matrix, raters)


def shares(matrix):
    return (side.sum(axis=1) / matrix.max_score.sum() for side in (matrix.predicted, matrix.reference))


def test_values_by_definition(found):
    matrix, rows = found
    one, other = shares(matrix)
    gap = one - other
    sd = gap.std(ddof=1)
    expected = {
        "bias": gap.mean(),
        "sd": sd,
        "lower": gap.mean() - norm.ppf(0.975) * sd,
        "upper": gap.mean() + norm.ppf(0.975) * sd,
        "icc": icc(one, other),
        "called_wrong": (matrix.predicted < matrix.max_score).mean(),
        "prevalence": (matrix.reference < matrix.max_score).mean(),
        "offset": np.mean((matrix.predicted < matrix.max_score) * 1.0 - (matrix.reference < matrix.max_score)),
    }
    assert {name: rows.one(row=JUDGE, metric=name).value for name in expected} == pytest.approx(expected, abs=1e-7)


@pytest.mark.parametrize("metric", ["bias", "sd", "icc"])
def test_intervals_are_those_of_the_jackknife(found, metric):
    matrix, rows = found
    one, other = shares(matrix)
    functions = {
        "bias": lambda kept: (one - other)[kept].mean(),
        "sd": lambda kept: (one - other)[kept].std(ddof=1),
        "icc": lambda kept: icc(one[kept], other[kept]),
    }
    each = rows.one(row=JUDGE, metric=metric)
    expected = in_loops(functions[metric], 50)
    assert (each.value, each.stderr, each.low, each.high) == pytest.approx(expected, abs=1e-7)


def test_a_shift_that_no_correlation_sees():
    reference = np.random.default_rng(1).integers(1, 4, (40, 5)).astype(float)
    shifted = exams(reference, reference - 1)
    rows = severity(shifted)
    assert evaluate(shifted).one("answered", metric="plcc").value == pytest.approx(1.0)
    assert rows.one(metric="bias").value == pytest.approx(-1 / 3)
    assert (rows.one(metric="sd").value, rows.one(metric="sd").low) == (0.0, None)
    assert rows.one(metric="called_wrong").value == 1.0 and rows.one(metric="called_wrong").low == pytest.approx(
        1 - 3 / 40
    )
    assert rows.one(metric="offset").value == pytest.approx((reference == 3).mean())


def test_totals_that_do_not_vary_have_no_agreement():
    rows = severity(exams(np.full((9, 2), 2.0), np.full((9, 2), 2.0)))
    assert (rows.one(metric="icc").value, rows.one(metric="icc").why) == (None, "The totals do not vary: 0/0.")
    assert severity(exams([[3], [1]], [[3], [2]])).one(metric="icc").why == "Fewer than three videos have both totals."


def test_verdicts_have_no_totals():
    matrix = drawn(np.random.default_rng(2), answer="error")
    rows = severity(matrix, {"a": matrix.reference, "b": matrix.max_score - matrix.reference})
    assert rows.names("metric") == ["called_wrong", "prevalence", "offset"]
    offset = np.mean(matrix.predicted - (matrix.reference < matrix.max_score))
    assert rows.one(row=JUDGE, metric="offset").value == pytest.approx(offset)
    zero, top = (matrix.reference == 0).mean(), (matrix.reference == matrix.max_score).mean()
    assert rows.one(row="b - a", metric="offset").value == pytest.approx((1 - zero) - (1 - top))

"""Agreement of totals against published worked examples and statsmodels."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm
import statsmodels.formula.api as smf
from scipy import stats

from siming_tasks.analysis.totals_agreement import icc, totals_agreement
from siming_tasks.common.errors import DataError

# Shrout & Fleiss (1979), table 2: six targets, four judges.
SHROUT_FLEISS = np.array(
    [[9, 2, 5, 8], [6, 1, 3, 2], [8, 4, 6, 8], [7, 1, 2, 6], [10, 5, 6, 9], [6, 2, 4, 7]], dtype=float
)
# Bland & Altman (1986), table 1: peak expiratory flow by the Wright and the mini meter, first readings, l/min.
WRIGHT = np.array([494, 395, 516, 434, 476, 557, 413, 442, 650, 433, 417, 656, 267, 478, 178, 423, 427.0])
MINI = np.array([512, 430, 520, 428, 500, 600, 364, 380, 658, 445, 432, 626, 260, 477, 259, 350, 451.0])


def test_intraclass_correlations_are_those_of_shrout_and_fleiss() -> None:
    """Their table 4; six videos are too few for an interval."""
    found = icc(SHROUT_FLEISS)
    assert found.agreement.value == pytest.approx(0.29, abs=0.005)
    assert found.consistency.value == pytest.approx(0.71, abs=0.005)
    assert found.mean_agreement.value == pytest.approx(0.62, abs=0.005)
    assert found.mean_consistency.value == pytest.approx(0.91, abs=0.005)
    assert found.agreement.low is None and found.agreement.flags == ("no-interval",)


@pytest.mark.parametrize("k", [2, 3, 5])
def test_intraclass_correlations_are_those_of_an_analysis_of_variance(k: int) -> None:
    """Mean squares by statsmodels, formulas of McGraw and Wong (1996), table 4."""
    rng = np.random.default_rng(k)
    x = rng.normal(0.8, 0.1, (20, 1)) + rng.normal(0, 0.05, (20, k)) + rng.normal(0, 0.05, k)
    at, rater = (grid.ravel() for grid in np.meshgrid(range(20), range(k), indexing="ij"))
    frame = pd.DataFrame({"y": x.ravel(), "video": at, "rater": rater})
    table = sm.stats.anova_lm(smf.ols("y ~ C(video) + C(rater)", frame).fit())
    r, c, e = (table["sum_sq"] / table["df"])[["C(video)", "C(rater)", "Residual"]]
    found = icc(x)
    assert found.agreement.value == pytest.approx((r - e) / (r + (k - 1) * e + k / 20 * (c - e)))
    assert found.consistency.value == pytest.approx((r - e) / (r + (k - 1) * e))
    assert found.mean_agreement.value == pytest.approx((r - e) / (r + (c - e) / 20))
    assert found.mean_consistency.value == pytest.approx((r - e) / r)
    if k == 2:
        assert totals_agreement(*x.T).icc.value == pytest.approx(found.agreement.value)


def test_intervals_are_the_jackknife_over_clusters() -> None:
    """A slow loop that leaves one student out at a time, with Student's t of 11 degrees of freedom."""
    rng = np.random.default_rng(4)
    students = [f"s{k // 3}" for k in range(36)]
    x = np.repeat(rng.normal(0.8, 0.1, 12), 3)[:, None] + rng.normal(0, 0.05, (36, 2))
    found, pair = icc(x, students), totals_agreement(*x.T, students)
    for estimate, value in (
        (found.agreement, lambda rows: icc(rows).agreement.value),
        (found.mean_agreement, lambda rows: icc(rows).mean_agreement.value),
        (pair.concordance, lambda rows: 2 * np.cov(*rows.T, ddof=0)[0, 1]
         / (np.var(rows, axis=0).sum() + np.diff(rows.mean(axis=0))[0] ** 2)),
        (pair.lower, lambda rows: -np.diff(rows).mean() - stats.norm.ppf(0.975) * np.diff(rows).std(ddof=1)),
    ):  # fmt: skip
        left = [value(x[[name != out for name in students]]) for out in sorted(set(students))]
        stderr = np.sqrt(11 / 12 * ((left - np.mean(left)) ** 2).sum())
        assert estimate.stderr == pytest.approx(stderr)
        assert estimate.low == pytest.approx(value(x) - stats.t.ppf(0.975, 11) * stderr)
        assert estimate.high == pytest.approx(min(1.0, value(x) + stats.t.ppf(0.975, 11) * stderr))
        assert (estimate.n_videos, estimate.n_clusters, estimate.n_items) == (36, 12, 36)
    assert totals_agreement(*x.T).bias.stderr == pytest.approx(stats.sem(x[:, 0] - x[:, 1]))  # of independent videos


def test_rows_with_a_missing_total_are_left_out() -> None:
    with_gap = np.vstack([SHROUT_FLEISS, [[np.nan, 3, 3, 3]]])
    assert icc(with_gap) == icc(SHROUT_FLEISS)
    assert icc(with_gap, list("abcdefg")) == icc(SHROUT_FLEISS)


def test_an_offset_lowers_agreement_and_not_consistency() -> None:
    x = np.array([10.0, 14, 18, 25, 30])
    found = icc(np.stack([x, x + 5], axis=1))
    assert found.consistency.value == 1.0
    # rows: 2 var(x) with n - 1 = 2 * 65.8, rest 0, columns n * 5**2 / 2 = 62.5: 131.6 / (131.6 + 2/5 * 62.5)
    assert found.agreement.value == pytest.approx(131.6 / (131.6 + 25))
    assert totals_agreement(x, x + 5).concordance.value == pytest.approx(2 * 52.64 / (2 * 52.64 + 25))


def test_the_peak_flow_meters() -> None:
    """Bland & Altman (1986): mean difference -2.1, standard deviation 38.8; Lin's .943, as Stata's `concord` prints."""
    found = totals_agreement(WRIGHT, MINI)
    assert found.bias.value == pytest.approx(-2.1, abs=0.05)
    assert found.sd.value == pytest.approx(38.8, abs=0.05)
    assert found.concordance.value == pytest.approx(0.943, abs=0.0005)
    line = sm.OLS(WRIGHT - MINI, sm.add_constant((WRIGHT + MINI) / 2)).fit()
    assert found.slope.value == pytest.approx(line.params[1])


def test_limits_are_those_of_bland_and_altman_1999() -> None:
    """Systolic pressure, n = 85, mean -16.29, sd 19.61: limits -54.7 (-61.9 to -47.5) and 22.1."""
    raw = stats.norm.ppf((np.arange(85) + 0.5) / 85)
    gap = (raw - raw.mean()) / raw.std(ddof=1) * 19.61 - 16.29
    found = totals_agreement(gap + 130, np.full(85, 130.0))
    assert found.lower.value == pytest.approx(-54.7, abs=0.05) and found.upper.value == pytest.approx(22.1, abs=0.05)
    assert (found.lower.low, found.lower.high) == pytest.approx((-61.9, -47.5), abs=0.5)


@pytest.mark.parametrize("totals", [np.ones((5, 2)), np.array([[1.0, 2.0]] * 4)])
def test_totals_that_do_not_vary_have_no_reliability(totals: np.ndarray) -> None:
    assert icc(totals).agreement.undefined
    assert totals_agreement(*totals.T).concordance.undefined and totals_agreement(*totals.T).icc.undefined


def test_too_few_totals_give_no_value() -> None:
    assert icc(np.ones((2, 2))).agreement.value is None
    assert totals_agreement(np.ones(2), np.ones(2)).bias.value is None
    with pytest.raises(DataError, match="two raters"):
        icc(np.ones((5, 1)))


def test_totals_that_differ_by_a_constant_have_a_slope_of_zero_and_no_interval() -> None:
    found = totals_agreement(np.arange(12.0) + 1, np.arange(12.0))
    assert (found.bias.value, found.sd.value, found.lower.value, found.upper.value) == (1.0, 0.0, 1.0, 1.0)
    assert (found.slope.value, found.slope.low, found.slope.flags) == (0.0, None, ("no-variation",))


@pytest.mark.parametrize("k", [2, 3])
@pytest.mark.parametrize("n", [3, 4, 6, 10, 20, 40])
def test_exactly_opposed_totals_have_an_interval_around_their_value(n: int, k: int) -> None:
    """Without variance of rows and columns ICC(A,1) is -1 / (k - 1 - k / n): below the least value of the true one."""
    up = np.arange(n, dtype=np.float64)
    found = icc(np.column_stack([up, n - 1 - up, np.full(n, (n - 1) / 2)][:k])).agreement
    assert found.value == pytest.approx(-1 / (k - 1 - k / n))
    assert found.low is None or found.low <= found.value <= found.high


def test_opposed_totals_agree_in_nothing() -> None:
    """Exactly opposed: consistency -1, and the mean of the two is a constant, whose reliability is 0/0."""
    x = np.array([0.0, 1, 2, 5])
    found = icc(np.stack([x, 5 - x], axis=1))
    assert found.consistency.value == -1.0
    assert found.mean_consistency.undefined and found.mean_agreement.undefined
    one_exam_differs = icc(np.array([[0.0, 1.0], [1.0, 0.0], [1.0, 0.0]]))
    assert one_exam_differs.consistency.value == pytest.approx(-1.0)


def test_no_small_table_ends_in_an_error() -> None:
    """Two or three raters, three to six exams, few distinct totals: what the first exams of a station look like."""
    rng = np.random.default_rng(0)
    for _ in range(400):
        n, k = rng.integers(3, 7), rng.integers(2, 4)
        x = rng.integers(0, rng.integers(1, 5) + 1, size=(n, k)) / rng.choice([1, 3, 93, 99])
        for estimate in (icc(x).agreement, icc(x).mean_agreement, totals_agreement(x[:, 0], x[:, 1]).icc):
            assert estimate.value is not None and estimate.value <= 1

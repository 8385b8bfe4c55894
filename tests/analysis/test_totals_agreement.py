"""Agreement of totals against published worked examples and statsmodels."""

from __future__ import annotations

import numpy as np
import pytest
import statsmodels.api as sm

from siming_tasks.analysis.totals_agreement import bland_altman, concordance, icc
from siming_tasks.common.errors import DataError

# Shrout & Fleiss (1979), table 2: six targets, four judges.
SHROUT_FLEISS = np.array(
    [[9, 2, 5, 8], [6, 1, 3, 2], [8, 4, 6, 8], [7, 1, 2, 6], [10, 5, 6, 9], [6, 2, 4, 7]], dtype=float
)
# Bland & Altman (1986), table 1: peak expiratory flow by the Wright and the mini meter, first readings, l/min.
WRIGHT = np.array([494, 395, 516, 434, 476, 557, 413, 442, 650, 433, 417, 656, 267, 478, 178, 423, 427.0])
MINI = np.array([512, 430, 520, 428, 500, 600, 364, 380, 658, 445, 432, 626, 260, 477, 259, 350, 451.0])


def test_intraclass_correlations_are_those_of_shrout_and_fleiss() -> None:
    """Their table 4; the intervals are those that R's psych::ICC prints for these data."""
    found = icc(SHROUT_FLEISS)
    assert found.agreement.value == pytest.approx(0.29, abs=0.005)
    assert found.consistency.value == pytest.approx(0.71, abs=0.005)
    assert found.mean_agreement.value == pytest.approx(0.62, abs=0.005)
    assert found.mean_consistency.value == pytest.approx(0.91, abs=0.005)
    assert (found.agreement.low, found.agreement.high) == pytest.approx((0.019, 0.76), abs=0.0015)
    assert (found.consistency.low, found.consistency.high) == pytest.approx((0.34, 0.95), abs=0.005)
    assert (found.mean_agreement.low, found.mean_agreement.high) == pytest.approx((0.07, 0.93), abs=0.005)
    assert (found.mean_consistency.low, found.mean_consistency.high) == pytest.approx((0.68, 0.99), abs=0.006)


def test_rows_with_a_missing_total_are_left_out() -> None:
    with_gap = np.vstack([SHROUT_FLEISS, [[np.nan, 3, 3, 3]]])
    assert icc(with_gap) == icc(SHROUT_FLEISS)


def test_an_offset_lowers_agreement_and_not_consistency() -> None:
    x = np.array([10.0, 14, 18, 25, 30])
    found = icc(np.stack([x, x + 5], axis=1))
    assert found.consistency.value == 1.0
    # rows: 2 var(x) with n - 1 = 2 * 65.8, rest 0, columns n * 5**2 / 2 = 62.5: 131.6 / (131.6 + 2/5 * 62.5)
    assert found.agreement.value == pytest.approx(131.6 / (131.6 + 25))
    assert concordance(x, x + 5).value == pytest.approx(2 * 52.64 / (2 * 52.64 + 25))


def test_concordance_of_the_peak_flow_meters() -> None:
    """.943, as Stata's `concord` prints for these data (Steichen & Cox 2002)."""
    found = concordance(WRIGHT, MINI)
    assert found.value == pytest.approx(0.943, abs=0.0005)
    assert found.low is not None and found.high is not None and found.low < 0.943 < found.high < 1


def test_limits_of_the_peak_flow_meters() -> None:
    """Bland & Altman (1986): mean difference -2.1, standard deviation 38.8; slope by ordinary least squares."""
    found = bland_altman(WRIGHT, MINI)
    assert found.bias.value == pytest.approx(-2.1, abs=0.05)
    assert found.sd == pytest.approx(38.8, abs=0.05)
    line = sm.OLS(WRIGHT - MINI, sm.add_constant((WRIGHT + MINI) / 2)).fit()
    assert found.slope.value == pytest.approx(line.params[1])
    assert (found.slope.low, found.slope.high) == pytest.approx(tuple(line.conf_int()[1]))


def test_intervals_of_the_limits_are_those_of_bland_and_altman_1999() -> None:
    """Systolic pressure, n = 85, mean -16.29, sd 19.61: limits -54.7 (-61.9 to -47.5) and 22.1 (14.9 to 29.3)."""
    raw = np.random.default_rng(0).normal(size=85)
    gap = (raw - raw.mean()) / raw.std(ddof=1) * 19.61 - 16.29
    found = bland_altman(gap + 130, np.full(85, 130.0))
    assert found.lower.value == pytest.approx(-54.7, abs=0.05)
    assert (found.lower.low, found.lower.high) == pytest.approx((-61.9, -47.5), abs=0.1)
    assert found.upper.value == pytest.approx(22.1, abs=0.05)
    assert (found.upper.low, found.upper.high) == pytest.approx((14.9, 29.3), abs=0.15)  # from rounded limits


@pytest.mark.parametrize("totals", [np.ones((5, 2)), np.array([[1.0, 2.0]] * 4)])
def test_totals_that_do_not_vary_have_no_reliability(totals: np.ndarray) -> None:
    assert icc(totals).agreement.undefined
    assert concordance(totals[:, 0], totals[:, 1]).undefined


def test_too_few_totals_give_no_value() -> None:
    assert icc(np.ones((2, 2))).agreement.value is None
    assert concordance(np.ones(2), np.ones(2)).value is None
    assert bland_altman(np.ones(2), np.ones(2)).bias.value is None
    with pytest.raises(DataError, match="two raters"):
        icc(np.ones((5, 1)))


def test_totals_that_differ_by_a_constant_have_a_certain_slope_of_zero() -> None:
    found = bland_altman(np.arange(6.0) + 1, np.arange(6.0))
    assert (found.bias.value, found.sd, found.lower.value, found.upper.value) == (1.0, 0.0, 1.0, 1.0)
    assert (found.slope.value, found.slope.stderr, found.slope.low, found.slope.high) == (0.0, 0.0, 0.0, 0.0)

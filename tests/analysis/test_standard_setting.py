"""Cut scores, accuracy of decisions and non-inferiority against theory, SciPy and statsmodels."""

from __future__ import annotations

import numpy as np
import pytest
import statsmodels.api as sm
from scipy import stats
from scipy.special import betaln, gammaln
from statsmodels.stats.multitest import multipletests

from siming_tasks.analysis.annotator_test import annotator_test
from siming_tasks.analysis.standard_setting import (
    borderline_regression,
    contrasting_groups,
    livingston_lewis,
    true_scores,
)
from siming_tasks.common.errors import DataError


def _beta_binomial(n: int, a: float, b: float) -> np.ndarray:
    """Shares of right items whose frequencies are those of a beta-binomial, nearly exactly."""
    p = stats.betabinom.pmf(np.arange(n + 1), n, a, b)
    return np.repeat(np.arange(n + 1) / n, np.rint(p * 200_000).astype(int))


def test_consistency_is_that_of_two_beta_binomial_exams() -> None:
    """Binomial errors and beta true scores, where everything has a closed form (Huynh 1976)."""
    n, a, b, cut = 40, 8.0, 3.0, 0.6
    found = livingston_lewis(_beta_binomial(n, a, b), n / (n + a + b), cut)  # KR-21 of a beta-binomial
    x = np.arange(n + 1)
    choose = gammaln(n + 1) - gammaln(x + 1) - gammaln(n - x + 1)
    joint = np.exp(
        choose[:, None] + choose[None, :] + betaln(a + x[:, None] + x, b + 2 * n - x[:, None] - x) - betaln(a, b)
    )
    passed = x >= cut * n
    alike = joint[np.ix_(passed, passed)].sum() + joint[np.ix_(~passed, ~passed)].sum()
    marginal = joint.sum(axis=1)[passed].sum()
    chance = marginal**2 + (1 - marginal) ** 2
    assert found.length == n
    assert found.consistency == pytest.approx(alike, abs=5e-4)
    assert found.kappa == pytest.approx((alike - chance) / (1 - chance), abs=2e-3)


def test_accuracy_is_that_of_simulated_exams() -> None:
    n, a, b, cut = 40, 8.0, 3.0, 0.6
    rng = np.random.default_rng(0)
    true = rng.beta(a, b, 400_000)
    seen = rng.binomial(n, true) / n
    found = livingston_lewis(seen, n / (n + a + b), cut)
    assert found.accuracy == pytest.approx(((seen >= cut) == (true >= cut)).mean(), abs=3e-3)
    assert found.false_pass == pytest.approx(((seen >= cut) & (true < cut)).mean(), abs=2e-3)
    assert found.false_fail == pytest.approx(((seen < cut) & (true >= cut)).mean(), abs=2e-3)


def test_four_parameters_come_back() -> None:
    rng = np.random.default_rng(1)
    true = 0.25 + 0.5 * rng.beta(5, 3, 1_000_000)
    found = true_scores(rng.binomial(100, true).astype(float), 100)
    assert found.moments == 4
    assert (found.low, found.high) == pytest.approx((0.25, 0.75), abs=0.04)
    assert found.a / (found.a + found.b) == pytest.approx(5 / 8, abs=0.03)


@pytest.mark.parametrize(
    ("reliability", "cut", "what"), [(0, 0.5, "reliability"), (1, 0.5, "reliability"), (0.5, 1, "cut score")]
)
def test_arguments_out_of_range_are_refused(reliability: float, cut: float, what: str) -> None:
    with pytest.raises(DataError, match=what):
        livingston_lewis(np.linspace(0, 1, 50), reliability, cut)
    with pytest.raises(DataError, match="ten"):
        livingston_lewis(np.full(50, 0.5), 0.5, 0.5)


def test_borderline_regression_is_statsmodels() -> None:
    rng = np.random.default_rng(2)
    ratings = rng.integers(1, 6, 60).astype(float)
    shares = 0.4 + 0.1 * ratings + rng.normal(0, 0.05, 60)
    shares[3] = ratings[7] = np.nan
    found = borderline_regression(shares, ratings, 2.0)
    known = ~np.isnan(shares) & ~np.isnan(ratings)
    line = sm.OLS(shares[known], sm.add_constant(ratings[known])).fit().get_prediction([1.0, 2.0])
    assert found.value == pytest.approx(line.predicted_mean[0])
    assert found.stderr == pytest.approx(line.se_mean[0])
    assert found.n == 58
    with pytest.raises(DataError, match="not all rated alike"):
        borderline_regression(shares, np.ones(60), 1.0)


def test_groups_of_equal_spread_cross_in_the_middle() -> None:
    base = np.random.default_rng(3).normal(0, 0.05, 40)
    shares, able = np.concatenate([0.85 + base, 0.55 + base]), np.repeat([True, False], 40)
    found = contrasting_groups(shares, able)
    assert found.value == pytest.approx(0.70 + base.mean())
    assert found.stderr is not None and 0 < found.stderr < 0.03


def test_groups_of_unequal_spread_cross_where_the_curves_do() -> None:
    rng = np.random.default_rng(4)
    high, low = rng.normal(0.85, 0.04, 50), rng.normal(0.6, 0.12, 30)
    cut = contrasting_groups(np.concatenate([high, low]), np.repeat([True, False], [50, 30])).value
    assert low.mean() < cut < high.mean()
    densities = [stats.norm.pdf(cut, group.mean(), group.std(ddof=1)) for group in (high, low)]
    assert densities[0] == pytest.approx(densities[1])


@pytest.mark.parametrize("able", [np.repeat([True, False], [2, 38]), np.repeat([False, True], [20, 20])])
def test_groups_that_do_not_contrast_are_refused(able: np.ndarray) -> None:
    with pytest.raises(DataError, match="Contrasting groups"):
        contrasting_groups(np.linspace(1, 0, 40), able)


def _labels(rng: np.random.Generator, truth: np.ndarray, wrong: float) -> np.ndarray:
    return np.where(rng.random(truth.shape) < wrong, rng.integers(0, 4, truth.shape), truth).astype(float)


def test_two_physicians_by_hand() -> None:
    """Judge nearer or as near to B than A is: video 1 in 2 of 2 steps, video 2 in 1 of 2; A: 1 of 2 and 2 of 2."""
    judge, a, b = (np.array(rows, dtype=float) for rows in ([[3, 2], [0, 3]], [[3, 0], [1, 3]], [[3, 3], [3, 3]]))
    found = annotator_test(judge, {"a": a, "b": b}, margin=0.1)
    assert (found.physicians["a"].judge, found.physicians["a"].physician) == (0.75, 0.75)
    # left out B: distances to A are judge 0, 2 | 1, 0 and B 0, 3 | 2, 0: the judge is never farther, B is in two
    assert (found.physicians["b"].judge, found.physicians["b"].physician) == (1.0, 0.5)


def test_p_values_and_correction_are_scipys_and_statsmodels() -> None:
    rng = np.random.default_rng(5)
    truth = rng.integers(0, 4, (80, 12))
    people = {name: _labels(rng, truth, wrong) for name, wrong in (("a", 0.2), ("b", 0.25), ("c", 0.3))}
    judge = _labels(rng, truth, 0.27)
    found = annotator_test(judge, people, margin=0.05)
    p_values = []
    for name, own in people.items():
        others = np.stack([labels for other, labels in people.items() if other != name])
        near = [np.abs(who - others).mean(axis=0) for who in (judge, own)]
        gap = (near[1] <= near[0]).mean(axis=1) - (near[0] <= near[1]).mean(axis=1)
        p_values.append(stats.ttest_1samp(gap, 0.05, alternative="less").pvalue)
    assert [row.p_value for row in found.physicians.values()] == pytest.approx(p_values)
    assert [row.holds for row in found.physicians.values()] == list(multipletests(p_values, 0.05, "fdr_by")[0])


def test_leaving_out_hard_steps_gains_nothing() -> None:
    rng = np.random.default_rng(6)
    truth = rng.integers(0, 4, (60, 12))
    people = {"a": _labels(rng, truth, 0.2), "b": _labels(rng, truth, 0.2)}
    judge = _labels(rng, truth, 0.4)
    shy = np.where(judge == truth, judge, np.nan)
    honest, abstaining = (annotator_test(who, people).physicians["a"] for who in (judge, shy))
    assert abstaining.judge <= honest.judge and abstaining.p_value >= honest.p_value


@pytest.mark.parametrize("people", [{"a": np.ones((3, 2))}, {"a": np.ones((3, 2)), "b": np.full((3, 2), np.nan)}])
def test_one_physician_is_not_enough(people: dict[str, np.ndarray]) -> None:
    with pytest.raises(DataError, match=r"two physicians|Fewer than two videos"):
        annotator_test(np.ones((3, 2)), people)


def test_equal_totals_of_a_group_have_no_curve() -> None:
    """The mean of three times 0.7 is not 0.7 in floating point; that noise is no spread."""
    assert np.var(np.full(3, 0.7)) > 0  # the noise itself
    shares = np.array([0.7, 0.7, 0.7, 0.1, 0.2, 0.3])
    with pytest.raises(DataError, match="do not vary"):
        contrasting_groups(shares, np.array([True] * 3 + [False] * 3))

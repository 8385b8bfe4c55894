"""Standard setting: cut scores from examinees, and the accuracy and consistency of the decisions made with them."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from siming_tasks.common.errors import DataError
from siming_tasks.metrics.resample import Stream, stream
from siming_tasks.metrics.score_matrix import BoolArray, FloatArray

_NODES = 200


@dataclass(frozen=True)
class CutScore:
    """A pass mark as a share of the points; ``stderr`` its standard error; ``method`` and ``n`` examinees behind it."""

    value: float
    stderr: float | None
    method: str
    n: int


def borderline_regression(shares: FloatArray, ratings: FloatArray, borderline: float) -> CutScore:
    """The total that the regression of totals on global ratings predicts for a borderline examinee.

    Of shares of the available points and the examiners' ratings, ``float64[V]`` each, NaN left out; with the standard
    error of the regression's mean at the rating that means borderline.

    Raises:
        DataError: fewer than three examinees with both, or ratings that do not vary.
    """
    known = ~np.isnan(shares) & ~np.isnan(ratings)
    x, y = ratings[known], shares[known]
    if len(x) < 3 or np.ptp(x) == 0:
        raise DataError("Borderline regression needs three examinees with a global rating, not all rated alike.")
    away = x - x.mean()
    slope = float(away @ y / (away @ away))
    rest = y - y.mean() - slope * away
    noise = math.sqrt(float(rest @ rest) / (len(x) - 2))
    gap = borderline - float(x.mean())
    stderr = noise * math.sqrt(1 / len(x) + gap**2 / float(away @ away))
    return CutScore(float(y.mean()) + slope * gap, stderr, "borderline regression", len(x))


def contrasting_groups(shares: FloatArray, able: BoolArray, resamples: int = 1000, seed: int = 0) -> CutScore:
    """The total at which normal curves through the able and the other examinees cross, between their means.

    Of shares of the available points, ``float64[V]``, NaN left out; ``able``, ``bool[V]``: who is competent by another
    judgment than the total. The standard error is that of resamples of the examinees within each group.

    Raises:
        DataError: fewer than three examinees in a group, a group without spread, or able ones who do not do better.
    """
    known = ~np.isnan(shares)
    groups = [shares[known & able], shares[known & ~able]]
    if min(map(len, groups)) < 3:
        raise DataError(
            f"Contrasting groups need three examinees in each; {len(groups[0])} are able and {len(groups[1])} are not."
        )
    value = _crossing(*groups)
    if value is None:
        raise DataError("Contrasting groups: the able examinees' totals are not higher, or a group's do not vary.")
    rng = np.random.default_rng(stream(seed, Stream.STANDARD))
    drawn = (
        _crossing(*(group[rng.integers(len(group), size=len(group))] for group in groups)) for _ in range(resamples)
    )
    cuts = [cut for cut in drawn if cut is not None]
    stderr = float(np.std(cuts, ddof=1)) if len(cuts) > 0.9 * resamples and len(cuts) > 1 else None
    return CutScore(value, stderr, "contrasting groups", int(known.sum()))


def _crossing(able: FloatArray, others: FloatArray) -> float | None:
    """Point between the means at which two normal densities are equal; None if there is none."""
    m1, m0, v1, v0 = float(able.mean()), float(others.mean()), float(able.var(ddof=1)), float(others.var(ddof=1))
    if m1 <= m0 or np.ptp(able) == 0 or np.ptp(others) == 0:
        return None
    a, b = 1 / v0 - 1 / v1, 2 * (m1 / v1 - m0 / v0)
    c = m0**2 / v0 - m1**2 / v1 + math.log(v0 / v1)
    if abs(a) < 1e-12 * (1 / v0 + 1 / v1):
        return -c / b
    inner = b * b - 4 * a * c
    roots = [(-b + sign * math.sqrt(inner)) / (2 * a) for sign in (1, -1)] if inner >= 0 else []
    return next((root for root in roots if m0 <= root <= m1), None)


@dataclass(frozen=True)
class TrueScores:
    """A beta distribution of true scores on ``low``..``high``; ``moments``: how many moments it was fitted to."""

    a: float
    b: float
    low: float
    high: float
    moments: int


@dataclass(frozen=True)
class Classification:
    """Decisions at one cut score.

    Attributes:
        cut: share of the points that passes.
        reliability: of the totals, as given.
        length: effective test length: independent right/wrong items that would be as reliable.
        accuracy: probability that observed and true decision are alike.
        false_pass: probability of passing with a true score below the cut; ``false_fail``: of failing at or above it.
        consistency: probability that two parallel exams decide alike.
        kappa: of those two decisions; None if everybody is decided alike.
    """

    cut: float
    reliability: float
    length: int
    accuracy: float
    false_pass: float
    false_fail: float
    consistency: float
    kappa: float | None
    true: TrueScores


def livingston_lewis(shares: FloatArray, reliability: float, cut: float) -> Classification:
    """Accuracy and consistency of pass or fail (Livingston & Lewis 1995).

    Of shares of the available points, ``float64[V]`` in 0..1, NaN left out; ``reliability`` of the totals and ``cut``,
    the share that passes, are between 0 and 1.

    Raises:
        DataError: arguments out of range, fewer than ten totals, or totals that do not vary.
    """
    x = shares[~np.isnan(shares)]
    if not 0 < reliability < 1:
        raise DataError(f"reliability is {reliability:g}; Livingston and Lewis's method needs one between 0 and 1.")
    if not 0 < cut < 1:
        raise DataError(f"the cut score is {cut:g}; give a share of the points between 0 and 1.")
    if len(x) < 10 or np.ptp(x) < 1e-9:
        raise DataError(f"{len(x)} totals; the classification needs ten that are not all equal.")
    from scipy.stats import beta, binom  # not at import time: slow

    mean, variance = float(x.mean()), float(x.var(ddof=1))
    length = max(1, round((mean * (1 - mean) - reliability * variance) / (variance * (1 - reliability))))
    true = true_scores(np.rint(x * length), length)
    needed, scale = math.ceil(cut * length - 1e-9), true.high - true.low
    nodes, weights = np.polynomial.legendre.leggauss(_NODES)

    def passing(tau: FloatArray) -> FloatArray:
        return np.asarray(binom.sf(needed - 1, length, tau))

    def integral(start: float, stop: float, value: Callable[[FloatArray], FloatArray]) -> float:
        """Integral of ``value`` over the true scores from ``start`` to ``stop``, in steps of equal probability."""
        ends = beta.cdf([(start - true.low) / scale, (stop - true.low) / scale], true.a, true.b)
        u = ends[0] + (ends[1] - ends[0]) * (nodes + 1) / 2
        tau = true.low + scale * beta.ppf(u, true.a, true.b)
        return float((ends[1] - ends[0]) / 2 * (weights @ value(np.asarray(tau))))

    below, above = integral(0.0, cut, passing), integral(cut, 1.0, passing)
    mass = integral(cut, 1.0, np.ones_like)
    alike = integral(0.0, 1.0, lambda tau: passing(tau) ** 2 + (1 - passing(tau)) ** 2)
    passed = below + above
    chance = passed**2 + (1 - passed) ** 2
    return Classification(
        cut=cut,
        reliability=reliability,
        length=length,
        accuracy=1 - below - (mass - above),
        false_pass=below,
        false_fail=mass - above,
        consistency=alike,
        kappa=None if chance > 1 - 1e-12 else (alike - chance) / (1 - chance),
        true=true,
    )


def true_scores(counts: FloatArray, length: int) -> TrueScores:
    """The beta distribution behind binomial counts of ``length`` items.

    Four parameters from four moments (Hanson 1991) where that gives a distribution within 0..1, else two from two.
    """
    moments, falling, items = [], np.ones_like(counts), 1.0
    for order in range(min(4, length)):
        falling, items = falling * (counts - order), items * (length - order)
        moments.append(float(falling.mean()) / items)
    mean = moments[0]
    variance = moments[1] - mean**2 if len(moments) > 1 else 0.0
    if len(moments) == 4 and variance > 0 and (four := _four_parameter_beta(mean, variance, *moments[1:])):
        return four
    variance = min(max(variance, 1e-6), 0.999 * mean * (1 - mean))
    size = mean * (1 - mean) / variance - 1
    return TrueScores(mean * size, (1 - mean) * size, 0.0, 1.0, 2)


def _four_parameter_beta(mean: float, variance: float, second: float, third: float, fourth: float) -> TrueScores | None:
    skew = (third - 3 * mean * second + 2 * mean**3) / variance**1.5
    kurtosis = (fourth - 4 * mean * third + 6 * mean**2 * second - 3 * mean**4) / variance**2
    bottom = 6 + 3 * skew**2 - 2 * kurtosis
    size = 6 * (kurtosis - skew**2 - 1) / bottom if bottom else math.inf
    inner = (size + 2) * (size + 3) * kurtosis - 3 * (size + 1) * (size - 6)
    if not math.isfinite(size) or size <= 0 or inner <= 0 or 24 * (size + 1) > inner:
        return None
    root = math.sqrt(1 - 24 * (size + 1) / inner)
    small, large = size / 2 * (1 - root), size / 2 * (1 + root)
    a, b = (small, large) if skew > 0 else (large, small)
    if min(a, b) <= 0:
        return None
    unit = math.sqrt(variance * (size + 1) / (a * b))
    low, high = mean - a * unit, mean + b * unit
    return TrueScores(a, b, low, high, 4) if low >= 0 and high <= 1 else None

"""How often an exam of this reliability decides rightly: Livingston & Lewis (1995)."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from siming_tasks.common.errors import DataError
from siming_tasks.metrics.score_matrix import FloatArray

__all__ = ["Classification", "TrueScores", "livingston_lewis", "true_scores"]

_NODES = 200


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
        false_pass: probability of passing with a true score below the cut.
        false_fail: probability of failing with a true score at or above it.
        consistency: probability that two parallel exams decide alike.
        kappa: of those two decisions; None if everybody is decided alike.
        true: the fitted distribution of true scores.
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
    """Accuracy and consistency of pass or fail.

    Args:
        shares: of the available points, ``float64[V]`` in 0..1; NaN is left out.
        reliability: of the totals, between 0 and 1.
        cut: share that passes, between 0 and 1.

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
    mean, variance = float(x.mean()), float(x.var(ddof=1))
    length = max(1, round((mean * (1 - mean) - reliability * variance) / (variance * (1 - reliability))))
    true = true_scores(np.rint(x * length), length)
    needed = math.ceil(cut * length - 1e-9)
    passing = _passing(length, needed)
    below, above = _mean_over(true, 0.0, cut, passing), _mean_over(true, cut, 1.0, passing)
    mass = _mean_over(true, cut, 1.0, np.ones_like)
    alike = _mean_over(true, 0.0, 1.0, lambda tau: passing(tau) ** 2 + (1 - passing(tau)) ** 2)
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
    if len(moments) == 4 and variance > 0 and (four := _four(mean, variance, *moments[1:])):
        return four
    variance = min(max(variance, 1e-6), 0.999 * mean * (1 - mean))
    size = mean * (1 - mean) / variance - 1
    return TrueScores(mean * size, (1 - mean) * size, 0.0, 1.0, 2)


def _four(mean: float, variance: float, second: float, third: float, fourth: float) -> TrueScores | None:
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


def _passing(length: int, needed: int) -> Callable[[FloatArray], FloatArray]:
    from scipy.stats import binom  # not at import time: slow

    return lambda tau: np.asarray(binom.sf(needed - 1, length, tau))


def _mean_over(true: TrueScores, start: float, stop: float, value: Callable[[FloatArray], FloatArray]) -> float:
    """Integral of ``value`` over the true scores from ``start`` to ``stop``, in steps of equal probability."""
    from scipy.stats import beta

    scale = true.high - true.low
    ends = beta.cdf([(start - true.low) / scale, (stop - true.low) / scale], true.a, true.b)
    nodes, weights = np.polynomial.legendre.leggauss(_NODES)
    u = ends[0] + (ends[1] - ends[0]) * (nodes + 1) / 2
    tau = true.low + scale * beta.ppf(u, true.a, true.b)
    return float((ends[1] - ends[0]) / 2 * (weights @ value(np.asarray(tau))))

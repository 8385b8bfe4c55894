"""Where to pass: cut scores from examinees (borderline regression, contrasting groups) with their standard errors."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from siming_tasks.common.errors import DataError
from siming_tasks.metrics.score_matrix import BoolArray, FloatArray
from siming_tasks.metrics.streams import Stream, stream

__all__ = ["CutScore", "borderline_regression", "contrasting_groups"]


@dataclass(frozen=True)
class CutScore:
    """A pass mark as a share of the points; ``stderr`` its standard error; ``method`` and ``n`` examinees behind it."""

    value: float
    stderr: float | None
    method: str
    n: int


def borderline_regression(shares: FloatArray, ratings: FloatArray, borderline: float) -> CutScore:
    """The total that the regression of totals on global ratings predicts for a borderline examinee.

    Args:
        shares: of the available points, ``float64[V]``; NaN is left out.
        ratings: the examiners' global rating of each examinee, ``float64[V]``; NaN is left out.
        borderline: the rating that means borderline.

    Returns:
        With the standard error of the regression's mean at that rating.

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

    Args:
        shares: of the available points, ``float64[V]``; NaN is left out.
        able: who is competent by another judgment than the total, ``bool[V]``.
        resamples: of the examinees within each group, for the standard error.
        seed: of the resamples.

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
    found = [cut for cut in drawn if cut is not None]
    stderr = float(np.std(found, ddof=1)) if len(found) > 0.9 * resamples and len(found) > 1 else None
    return CutScore(value, stderr, "contrasting groups", int(known.sum()))


def _crossing(able: FloatArray, others: FloatArray) -> float | None:
    """Where two normal densities are equal, between their means."""
    m1, m0, v1, v0 = float(able.mean()), float(others.mean()), float(able.var(ddof=1)), float(others.var(ddof=1))
    if m1 <= m0 or min(v1, v0) <= 0:
        return None
    a, b = 1 / v0 - 1 / v1, 2 * (m1 / v1 - m0 / v0)
    c = m0**2 / v0 - m1**2 / v1 + math.log(v0 / v1)
    if abs(a) < 1e-12 * (1 / v0 + 1 / v1):
        return -c / b
    inner = b * b - 4 * a * c
    roots = [(-b + sign * math.sqrt(inner)) / (2 * a) for sign in (1, -1)] if inner >= 0 else []
    return next((root for root in roots if m0 <= root <= m1), None)

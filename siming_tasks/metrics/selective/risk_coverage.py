"""Risk and coverage: how wrong the judge is on what it answers, as it answers more and more of what was asked."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from siming_tasks.common.errors import DataError
from siming_tasks.metrics.score_matrix import FloatArray

__all__ = ["RiskCoverage", "area", "by_level", "risk_coverage"]


@dataclass(frozen=True)
class RiskCoverage:
    """The curve of one judge.

    Attributes:
        coverage: share of the items that are at least as sure as each level of confidence, rising to 1.
        risk: mean loss of these items.
        area: under the curve (AURC): the mean risk of the 1, 2, ..., n surest items; in a level of equal confidence the
            expectation over its orders.
        full: risk at full coverage, which is the area of a judge whose confidence says nothing.
        best: area of the same losses with the largest ones last: what a judge that knows its errors would have.
    """

    coverage: tuple[float, ...]
    risk: tuple[float, ...]
    area: float
    full: float
    best: float


def risk_coverage(loss: ArrayLike, confidence: ArrayLike) -> RiskCoverage:
    """The curve of n items (Geifman and El-Yaniv 2017; the area as in Geifman, Uziel and El-Yaniv 2019).

    Args:
        loss: of each item, ``float[n]``; 1 for wrong and 0 for right gives error rates.
        confidence: of each item, ``float[n]``; larger is surer.

    Raises:
        DataError: no item, or two lists of different length.

    Example:
        >>> curve = risk_coverage([0, 1, 1], [0.9, 0.5, 0.1])
        >>> [round(value, 4) for value in (*curve.risk, curve.area, curve.best)]
        [0.0, 0.5, 0.6667, 0.3889, 0.3889]
    """
    losses, sure = (np.asarray(values, dtype=np.float64).ravel() for values in (loss, confidence))
    if not len(losses) or losses.shape != sure.shape:
        raise DataError(f"A risk-coverage curve needs as many losses as confidences, not {len(losses)}, {len(sure)}.")
    counts, sums = _levels(losses, sure)
    best = _levels(losses, -losses)
    reached = np.cumsum(counts)
    return RiskCoverage(
        coverage=tuple((reached / reached[-1]).tolist()),
        risk=tuple((np.cumsum(sums) / reached).tolist()),
        area=float(area(counts[None], sums[None])[0]),
        full=float(losses.mean()),
        best=float(area(*(part[None] for part in best))[0]),
    )


def _levels(losses: FloatArray, sure: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Items and summed losses of each level of confidence, the surest first."""
    place = np.unique(-sure, return_inverse=True)[1]
    return np.bincount(place).astype(np.float64), np.bincount(place, weights=losses).astype(np.float64)


def area(counts: FloatArray, sums: FloatArray) -> FloatArray:
    """Areas from whole numbers of items and their summed losses in each level, ``float64[B, L]`` to ``float64[B]``.

    Of a level with m items of mean loss r that follows N items with losses L, the k-th item of all adds a risk of
    ``(L + (k - N) r) / k`` in expectation, so that all of them add ``r m + (L - r N) (H(N + m) - H(N))`` with harmonic
    numbers H. NaN where there is no item.
    """
    counts, sums = np.asarray(counts, np.float64), np.asarray(sums, np.float64)
    after, risen = np.cumsum(counts, axis=1), np.cumsum(sums, axis=1)
    before, lost = after - counts, risen - sums
    mean = np.divide(sums, counts, out=np.zeros_like(sums), where=counts > 0)
    most = int(after.max(initial=0))
    harmonic = np.concatenate([[0.0], np.cumsum(1 / np.arange(1, most + 1))])
    spread = harmonic[after.astype(np.intp)] - harmonic[before.astype(np.intp)]
    total = (sums + (lost - mean * before) * spread).sum(axis=1)
    areas: FloatArray = np.divide(total, after[:, -1], out=np.full(len(total), np.nan), where=after[:, -1] > 0)
    return areas


def by_level(sums: FloatArray) -> FloatArray:
    """:func:`area` from columns that hold the counts of all levels and then their losses, ``float64[B, 2 L]``."""
    levels = sums.shape[1] // 2
    return area(sums[:, :levels], sums[:, levels:])

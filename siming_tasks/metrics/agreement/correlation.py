"""Pearson and Spearman correlation under integer weights: one row of weights is one resample of the videos."""

from __future__ import annotations

import numpy as np

from siming_tasks.metrics.panel import BoolArray, FloatArray, Panel
from siming_tasks.metrics.thresholds import MIN_ANSWERED

__all__ = ["Paired", "correlation", "from_moments", "moments", "pearson", "spearman", "totals"]

_CONSTANT = 1e-12  # relative variance that is rounding noise


def totals(panel: Panel, times: FloatArray | None = None) -> tuple[FloatArray, FloatArray]:
    """Reference and predicted points of each video, ``float64[V]`` each, over the steps that count.

    Missing answers are prorated: points earned / points available on the answered steps, times the points available.
    NaN on both sides where nothing counts or fewer than 80 % of the counted steps were answered. Rounded to 1e-9, so
    that ties and constants are seen as such.

    Args:
        panel: points of V videos.
        times: how often each step is taken, ``float64[S]``; once by default.
    """
    times = np.ones(len(panel.step_ids)) if times is None else times
    counted, both = panel.counted, panel.counted & panel.answered
    available, answered = counted @ (panel.max_score * times), both @ (panel.max_score * times)
    earned = np.where(both, panel.predicted, 0) @ times
    usable = (both @ times >= MIN_ANSWERED * (counted @ times) - 1e-9) & (answered > 0)
    with np.errstate(invalid="ignore", divide="ignore"):
        prorated = np.where(answered == available, earned, earned / answered * available)
    reference = np.where(counted, panel.reference, 0) @ times
    return np.where(usable, reference.round(9), np.nan), np.where(usable, prorated.round(9), np.nan)


class Paired:
    """Totals arranged once for many weightings; ``keep`` are the positions of the videos that have both totals."""

    def __init__(self, x: FloatArray, y: FloatArray) -> None:
        self.keep = np.flatnonzero(~np.isnan(x) & ~np.isnan(y))
        self.x, self.y = (values[self.keep] for values in (x, y))

    def __len__(self) -> int:
        return len(self.keep)

    def weights(self, weights: FloatArray) -> FloatArray:
        """The columns of the kept videos, ``float64[B, n]``."""
        return weights if len(self.keep) == weights.shape[1] else weights.T[self.keep].T


def pearson(pairs: Paired, weights: FloatArray) -> FloatArray:
    """Pearson correlation of every row of ``weights``.

    Args:
        pairs: n totals.
        weights: how often each video is taken, ``float64[B, V]``.

    Returns:
        ``float64[B]`` in [-1, 1]; NaN where a side is constant or fewer than two videos remain.
    """
    if not len(pairs):
        return np.full(len(weights), np.nan)
    return from_moments(*(pairs.weights(weights) @ moments(pairs)).T)


def spearman(pairs: Paired, weights: FloatArray) -> FloatArray:
    """Spearman correlation (average ranks) of every row of ``weights``, exactly as if the rows were written out.

    The totals are sorted once; a resample's midranks follow from cumulative weights: a group of m equal values after c
    smaller ones has rank c + (m + 1) / 2.

    Args:
        pairs: n totals.
        weights: whole numbers, ``float64[B, V]``.

    Returns:
        ``float64[B]`` in [-1, 1]; NaN where a side is constant or fewer than two videos remain.
    """
    if not len(pairs) or np.ptp(pairs.x) == 0 or np.ptp(pairs.y) == 0:
        return np.full(len(weights), np.nan)
    taken = np.ascontiguousarray(pairs.weights(weights).T)  # [n, B]: sorting and grouping then move whole rows
    n = taken.sum(axis=0)
    ranks_x, ranks_y = _centred_ranks(pairs.x, taken, n), _centred_ranks(pairs.y, taken, n)
    xx, yy, xy = (_dot(taken, a, b) for a, b in ((ranks_x, ranks_x), (ranks_y, ranks_y), (ranks_x, ranks_y)))
    return correlation(xy, xx, yy, xx > 0, yy > 0)


def _centred_ranks(values: FloatArray, taken: FloatArray, n: FloatArray) -> FloatArray:
    """Midrank of every value in every resample, minus the mean rank (n + 1) / 2: ``float64[n, B]``."""
    order = np.argsort(values, kind="stable")
    last = np.flatnonzero(np.r_[np.diff(values[order]) > 0, True])
    group = np.empty(len(values), dtype=np.intp)
    group[order] = np.repeat(np.arange(len(last)), np.diff(np.r_[-1, last]))
    ends = np.cumsum(taken[order], axis=0)[last]  # resampled videos up to and including each group of equal values
    ranks = ends - n
    ranks[1:] += ends[:-1]
    ranks /= 2
    centred: FloatArray = ranks[group]
    return centred


def _dot(weights: FloatArray, a: FloatArray, b: FloatArray) -> FloatArray:
    total: FloatArray = np.einsum("vb,vb,vb->b", weights, a, b)
    return total


def moments(pairs: Paired) -> FloatArray:
    """What each video adds to the sums that a Pearson correlation is made of, ``float64[n, 6]``."""
    # Deviations from the median keep whole points whole (sums stay exact) and are at most one sd from the mean.
    x, y = (values - np.sort(values)[len(values) // 2 :][:1] for values in (pairs.x, pairs.y))
    return np.stack([np.ones_like(x), x, y, x * x, y * y, x * y], axis=1)


def from_moments(
    n: FloatArray, x: FloatArray, y: FloatArray, xx: FloatArray, yy: FloatArray, xy: FloatArray
) -> FloatArray:
    """Pearson correlation from the sums of :func:`moments`; NaN where a side is constant but for rounding."""
    var_x, var_y = n * xx - x * x, n * yy - y * y
    return correlation(n * xy - x * y, var_x, var_y, var_x > _CONSTANT * n * xx, var_y > _CONSTANT * n * yy)


def correlation(
    cov: FloatArray, var_x: FloatArray, var_y: FloatArray, varies_x: BoolArray, varies_y: BoolArray
) -> FloatArray:
    """``cov / sqrt(var_x var_y)`` in [-1, 1]; NaN where one of the two does not vary."""
    with np.errstate(invalid="ignore", divide="ignore"):
        value = cov / (np.sqrt(var_x) * np.sqrt(var_y))
    return np.where(varies_x & varies_y, np.clip(value, -1, 1), np.nan)

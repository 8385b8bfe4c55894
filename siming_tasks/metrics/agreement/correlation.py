"""Pearson and Spearman correlation under integer weights: one row of weights is one resample of the videos."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from siming_tasks.metrics.score_matrix import BoolArray, FloatArray, ScoreMatrix
from siming_tasks.metrics.thresholds import MIN_ANSWERED

__all__ = [
    "POWERS",
    "Cells",
    "Paired",
    "correlation",
    "from_moments",
    "moments",
    "pearson",
    "shares",
    "spearman",
    "totals",
]

POWERS = tuple((i, j) for i in range(5) for j in range(5 - i))
"""Powers whose products make the moments up to the fourth."""

_CONSTANT = 1e-12  # relative variance that is rounding noise


def totals(panel: ScoreMatrix, times: FloatArray | None = None) -> tuple[FloatArray, FloatArray]:
    """Reference and predicted points of each video, ``float64[V]`` each, over the steps that count: a video's sheet.

    Videos have different points available where steps do not apply or have no clip; to correlate, see :func:`shares`.
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


@dataclass(frozen=True, eq=False)
class Cells:
    """Videos that share both totals: C distinct pairs of n videos, ascending by x, then y.

    Attributes:
        order: the videos, sorted in this way, ``intp[n]``.
        first: where each pair begins among them, ``intp[C]``.
        x: number of the distinct x of each pair, from 0 in ascending order, ``intp[C]``.
        y: the same of y.
        first_x: where each distinct x begins among the pairs.
        by_y: the pairs sorted by y, ``intp[C]``.
        first_y: where each distinct y begins among those.
    """

    order: NDArray[np.intp]
    first: NDArray[np.intp]
    x: NDArray[np.intp]
    y: NDArray[np.intp]
    first_x: NDArray[np.intp]
    by_y: NDArray[np.intp]
    first_y: NDArray[np.intp]

    @classmethod
    def of(cls, x: FloatArray, y: FloatArray) -> Cells:
        """Sort and number the pairs of ``float64[n]`` totals."""
        order = np.lexsort((y, x))
        new_x = np.diff(x[order], prepend=np.nan) != 0
        first = np.flatnonzero(new_x | (np.diff(y[order], prepend=np.nan) != 0))
        new_x = new_x[first]
        y = y[order][first]
        by_y = np.argsort(y, kind="stable")
        new_y = np.diff(y[by_y], prepend=np.nan) != 0
        number = np.empty_like(by_y)
        number[by_y] = np.cumsum(new_y) - 1
        return cls(order, first, np.cumsum(new_x) - 1, number, np.flatnonzero(new_x), by_y, np.flatnonzero(new_y))


def shares(panel: ScoreMatrix, times: FloatArray | None = None) -> tuple[FloatArray, FloatArray]:
    """Totals that are correlated: the share of the available points that :func:`totals` are, ``float64[V]`` each.

    Sums of points would grow with the points available: a judge that calls everything correct would correlate with the
    truth as soon as a step is not applicable in some videos. As a share it is a constant, and has no correlation.

    The unit is the most that any video has available, not 1, so that whole points stay whole: the same numbers as
    :func:`totals` where all videos have the same steps. Rounded to 1e-9 as they are.

    Args:
        panel: as there.
        times: as there.
    """
    available = panel.counted @ (panel.max_score * (1.0 if times is None else times))
    most = available.max(initial=0.0)
    with np.errstate(invalid="ignore", divide="ignore"):
        reference, predicted = (
            np.where(available == most, points, (points / available * most).round(9)) for points in totals(panel, times)
        )
    return reference, predicted


class Paired:
    """Totals arranged once for many weightings; ``keep`` are the positions of the videos that have both totals."""

    def __init__(self, x: FloatArray, y: FloatArray) -> None:
        self.keep = np.flatnonzero(~np.isnan(x) & ~np.isnan(y))
        self.x, self.y = (values[self.keep] for values in (x, y))

    def __len__(self) -> int:
        return len(self.keep)

    @cached_property
    def cells(self) -> Cells:
        """The distinct pairs of totals."""
        return Cells.of(self.x, self.y)

    @cached_property
    def powers(self) -> FloatArray:
        """``x^i y^j`` of each video for (i, j) of :data:`POWERS`, ``float64[n, 15]``, of totals scaled to [-1, 1]."""
        x, y = (values - np.sort(values)[len(values) // 2 :][:1] for values in (self.x, self.y))
        x, y = (values / (np.abs(values).max(initial=0.0) or 1.0) for values in (x, y))
        return np.stack([x**i * y**j for i, j in POWERS], axis=1)

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

    The totals are sorted once and videos with the same two totals taken together; a resample's midranks follow from
    cumulative weights: a group of m equal values after c smaller ones has rank c + (m + 1) / 2.

    Args:
        pairs: n totals.
        weights: whole numbers, ``float64[B, V]``.

    Returns:
        ``float64[B]`` in [-1, 1]; NaN where a side is constant or fewer than two videos remain.
    """
    if not len(pairs) or np.ptp(pairs.x) == 0 or np.ptp(pairs.y) == 0:
        return np.full(len(weights), np.nan)
    cells = pairs.cells
    # Whole rows of [n, B] are moved and added, so that what follows works on as many rows as there are distinct totals.
    taken = _sums(np.take(weights.T, pairs.keep[cells.order], axis=0), cells.first)
    n_x, n_y = _sums(taken, cells.first_x), _sums(np.take(taken, cells.by_y, axis=0), cells.first_y)
    ranks_x, ranks_y = _centred_ranks(n_x), _centred_ranks(n_y)
    xy = _dot(taken, np.take(ranks_x, cells.x, axis=0), np.take(ranks_y, cells.y, axis=0))
    xx, yy = _dot(n_x, ranks_x, ranks_x), _dot(n_y, ranks_y, ranks_y)
    return correlation(xy, xx, yy, xx > 0, yy > 0)


def _sums(rows: FloatArray, first: NDArray[np.intp]) -> FloatArray:
    """Sums of the runs of rows that begin at ``first``."""
    if len(first) == len(rows):
        return rows
    sums: FloatArray = np.add.reduceat(rows, first, axis=0)
    return sums


def _centred_ranks(taken: FloatArray) -> FloatArray:
    """Midrank of each distinct value minus the mean rank (n + 1) / 2; both ``float64[K, B]``, in ascending order."""
    ranks = np.cumsum(taken, axis=0)
    middle = ranks[-1] / 2
    ranks -= taken / 2
    ranks -= middle
    return ranks


def _dot(weights: FloatArray, a: FloatArray, b: FloatArray) -> FloatArray:
    total: FloatArray = np.einsum("vb,vb,vb->b", weights, a, b)
    return total


def moments(pairs: Paired) -> FloatArray:
    """Terms that each video adds to the sums that a Pearson correlation is made of, ``float64[n, 6]``."""
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
        value = cov / np.sqrt(var_x * var_y)  # one root: of a square it is exact, so that a perfect judge has exactly 1
    return np.where(varies_x & varies_y, np.clip(value, -1, 1), np.nan)

"""Pearson and Spearman correlation of videos' totals: of weighted resamples, and with each video left out in turn."""

from __future__ import annotations

import math
from fractions import Fraction
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from siming_tasks.metrics.score_matrix import BoolArray, FloatArray, IntArray, ScoreMatrix
from siming_tasks.metrics.thresholds import MIN_ANSWERED

_POWERS = tuple((i, j) for i in range(5) for j in range(5 - i))
"""Powers whose products make the moments up to the fourth."""

_CONSTANT = 1e-12  # relative variance that is rounding noise

_DENOMINATOR = 1000  # products of two totals in such units are whole numbers that a float64 holds
_FINE = 10**9  # units of points without a common denominator
_NEAR = 1e-6  # of a whole number of units


class _Sheets(NamedTuple):
    """Whole numbers from which the totals of V videos follow by one division, ``float64[..., V]`` each."""

    units: int
    """In a point: all points of the panel are whole numbers of units."""
    available: FloatArray
    answered: FloatArray
    """Units available on the answered steps; NaN where too few were answered."""
    reference: FloatArray
    earned: FloatArray


def totals(panel: ScoreMatrix, times: FloatArray | None = None) -> tuple[FloatArray, FloatArray]:
    """Reference and predicted points of each video, ``float64[V]`` each, over the steps that count: a video's sheet.

    Videos have different points available where steps do not apply or have no clip; to correlate, see :func:`shares`.
    Missing answers are prorated: points earned / points available on the answered steps, times the points available.
    NaN on both sides where nothing counts or fewer than 80 % of the counted steps were answered. Equal fractions are
    equal numbers, so that ties and constants are seen as such: sums of whole numbers, divided once, rounded to 1e-9.

    ``times``: how often each step is taken, whole numbers ``float64[..., S]``, for totals ``float64[..., V]``; once by
    default.
    """
    sheets = _sheets(panel, times)
    reference = np.where(np.isnan(sheets.answered), np.nan, sheets.reference / sheets.units)
    return reference.round(9), (sheets.earned * sheets.available / (sheets.answered * sheets.units)).round(9)


def shares(panel: ScoreMatrix, times: FloatArray | None = None) -> tuple[FloatArray, FloatArray]:
    """Totals that are correlated: the share of the available points that :func:`totals` are, ``float64[V]`` each.

    Sums of points would grow with the points available: a judge that calls everything correct would correlate with the
    truth as soon as a step is not applicable in some videos. As a share it is a constant, and has no correlation.

    The unit is the most that any video has available, not 1, so that whole points stay whole: the same numbers as
    :func:`totals` where all videos have the same steps. Exact in the same way; ``times`` as there.
    """
    sheets = _sheets(panel, times)
    most = sheets.available.max(axis=-1, initial=0.0, keepdims=True)
    available = np.where(np.isnan(sheets.answered), np.nan, sheets.available)
    reference, predicted = sheets.reference * most / available, sheets.earned * most / sheets.answered
    return (reference / sheets.units).round(9), (predicted / sheets.units).round(9)


def _sheets(panel: ScoreMatrix, times: FloatArray | None) -> _Sheets:
    times = np.ones(len(panel.step_ids)) if times is None else times
    units = _units_of_a_point(panel)
    counted, both = panel.counted, panel.counted & panel.answered
    worth = np.rint(panel.max_score * units) * times
    available, answered = worth @ counted.T, worth @ both.T
    reference, earned = (
        times @ np.rint(np.where(kept, points, 0) * units).T
        for kept, points in ((counted, panel.reference), (both, panel.predicted))
    )
    usable = (times @ both.T >= MIN_ANSWERED * (times @ counted.T) - 1e-9) & (answered > 0)
    return _Sheets(units, available, np.where(usable, answered, np.nan), reference, earned)


def _units_of_a_point(panel: ScoreMatrix) -> int:
    """A number of units in a point with which all points of the panel are whole: 2 with half points.

    Points without a common denominator up to 1000 are taken to 1e-9.
    """
    points = np.concatenate([panel.max_score, panel.reference[panel.counted], panel.predicted[panel.answered]])
    if ((2 * points) % 1 == 0).all():
        return 2
    units = 1
    for value in np.unique(points).tolist():
        units = math.lcm(units, Fraction(value).limit_denominator(_DENOMINATOR).denominator)
        if units > _DENOMINATOR:
            return _FINE
    return units if np.abs(points * units - np.rint(points * units)).max() < _NEAR else _FINE


class _Cells(NamedTuple):
    """Videos that share both totals: C distinct pairs of n videos, ascending by x, then y."""

    order: NDArray[np.intp]
    """The videos, sorted in this way, ``intp[n]``."""
    first: NDArray[np.intp]
    """Where each pair begins among them, ``intp[C]``."""
    x: NDArray[np.intp]
    """Number of the distinct x of each pair, from 0 in ascending order, ``intp[C]``."""
    y: NDArray[np.intp]
    """The same of y."""
    first_x: NDArray[np.intp]
    """Where each distinct x begins among the pairs."""
    by_y: NDArray[np.intp]
    """The pairs sorted by y, ``intp[C]``."""
    first_y: NDArray[np.intp]
    """Where each distinct y begins among those."""


class Paired:
    """Totals arranged once for many weightings; ``keep`` are the positions of the videos that have both totals."""

    def __init__(self, x: FloatArray, y: FloatArray) -> None:
        self.keep = np.flatnonzero(~np.isnan(x) & ~np.isnan(y))
        self.x, self.y = (values[self.keep] for values in (x, y))

    def __len__(self) -> int:
        return len(self.keep)

    @cached_property
    def cells(self) -> _Cells:
        """The distinct pairs of totals, sorted and numbered."""
        order = np.lexsort((self.y, self.x))
        new_x = np.diff(self.x[order], prepend=np.nan) != 0
        first = np.flatnonzero(new_x | (np.diff(self.y[order], prepend=np.nan) != 0))
        new_x = new_x[first]
        y = self.y[order][first]
        by_y = np.argsort(y, kind="stable")
        new_y = np.diff(y[by_y], prepend=np.nan) != 0
        number = np.empty_like(by_y)
        number[by_y] = np.cumsum(new_y) - 1
        return _Cells(order, first, np.cumsum(new_x) - 1, number, np.flatnonzero(new_x), by_y, np.flatnonzero(new_y))

    @cached_property
    def moments(self) -> FloatArray:
        """Terms that each video adds to the sums that a Pearson correlation is made of, ``float64[n, 6]``."""
        # Deviations from the median keep whole points whole (sums stay exact) and are at most one sd from the mean.
        x, y = (values - np.sort(values)[len(values) // 2 :][:1] for values in (self.x, self.y))
        return np.stack([np.ones_like(x), x, y, x * x, y * y, x * y], axis=1)

    @cached_property
    def powers(self) -> FloatArray:
        """``x^i y^j`` of each video for the powers up to the fourth, ``float64[n, 15]``, of totals within [-1, 1]."""
        x, y = self.moments[:, 1], self.moments[:, 2]
        x, y = (values / (np.abs(values).max(initial=0.0) or 1.0) for values in (x, y))
        return np.stack([x**i * y**j for i, j in _POWERS], axis=1)

    def weights(self, weights: FloatArray) -> FloatArray:
        """The columns of the kept videos, ``float64[B, n]``."""
        return weights if len(self.keep) == weights.shape[1] else weights.T[self.keep].T


def pearson(pairs: Paired, weights: FloatArray) -> FloatArray:
    """Pearson correlation of every row of ``weights`` (how often each video is taken, ``float64[B, V]``).

    ``float64[B]`` in [-1, 1]; NaN where a side is constant or fewer than two videos remain.
    """
    if not len(pairs):
        return np.full(len(weights), np.nan)
    return _from_moments(*(pairs.weights(weights) @ pairs.moments).T)


def spearman(pairs: Paired, weights: FloatArray) -> FloatArray:
    """Spearman correlation (average ranks) of every row of ``weights``, exactly as if the rows were written out.

    The totals are sorted once and videos with the same two totals taken together; a resample's midranks follow from
    cumulative weights: a group of m equal values after c smaller ones has rank c + (m + 1) / 2. Weights are whole
    numbers; shapes and range as in :func:`pearson`.
    """
    if not len(pairs) or np.ptp(pairs.x) == 0 or np.ptp(pairs.y) == 0:
        return np.full(len(weights), np.nan)
    cells = pairs.cells

    def sums(rows: FloatArray, first: NDArray[np.intp]) -> FloatArray:
        return rows if len(first) == len(rows) else np.add.reduceat(rows, first, axis=0)

    # Whole rows of [n, B] are moved and added, so that what follows works on as many rows as there are distinct totals.
    taken = sums(np.take(weights.T, pairs.keep[cells.order], axis=0), cells.first)
    n_x, n_y = sums(taken, cells.first_x), sums(np.take(taken, cells.by_y, axis=0), cells.first_y)
    ranks_x, ranks_y = _centred_ranks(n_x), _centred_ranks(n_y)
    of_x, of_y = np.take(ranks_x, cells.x, axis=0), np.take(ranks_y, cells.y, axis=0)
    xy, xx, yy = (
        np.einsum("vb,vb,vb->b", *sides)
        for sides in ((taken, of_x, of_y), (n_x, ranks_x, ranks_x), (n_y, ranks_y, ranks_y))
    )
    return _correlation(xy, xx, yy, xx > 0, yy > 0)


def _centred_ranks(taken: FloatArray) -> FloatArray:
    """Midrank of each distinct value minus the mean rank (n + 1) / 2; both ``float64[K, B]``, in ascending order."""
    ranks = np.cumsum(taken, axis=0)
    middle = ranks[-1] / 2
    ranks -= taken / 2
    ranks -= middle
    return ranks


def fisher(sums: FloatArray, videos: int) -> FloatArray:
    """Linearised standard error of ``atanh`` of a Pearson correlation, ``float64[B]``.

    The influence of a video on r is ``zx zy - r (zx^2 + zy^2) / 2`` with zx, zy its standardised totals; its mean
    square is a sum of moments up to the fourth. From the sums of :attr:`Paired.powers`, ``float64[B, 15]``, and the
    number of videos that have both totals.
    """
    if videos < 2:
        return np.full(len(sums), np.nan)
    raw = dict(zip(_POWERS, sums.T, strict=True))
    count = raw[0, 0]
    r = _from_moments(count, *(raw[key] for key in ((1, 0), (0, 1), (2, 0), (0, 2), (1, 1))))
    with np.errstate(invalid="ignore", divide="ignore"):
        mean = {key: value / count for key, value in raw.items()}
        mx, my = mean[1, 0], mean[0, 1]
        m20, m02 = mean[2, 0] - mx**2, mean[0, 2] - my**2
        m11 = mean[1, 1] - mx * my
        m22 = (mean[2, 2] - 2 * my * mean[2, 1] - 2 * mx * mean[1, 2] + my**2 * mean[2, 0] + mx**2 * mean[0, 2]
               + 4 * mx * my * mean[1, 1] - 3 * mx**2 * my**2)  # fmt: skip
        m31 = mean[3, 1] - my * mean[3, 0] - 3 * mx * (mean[2, 1] - my * mean[2, 0]) + 3 * mx**2 * m11
        m13 = mean[1, 3] - mx * mean[0, 3] - 3 * my * (mean[1, 2] - mx * mean[0, 2]) + 3 * my**2 * m11
        m40 = mean[4, 0] - 4 * mx * mean[3, 0] + 6 * mx**2 * mean[2, 0] - 3 * mx**4
        m04 = mean[0, 4] - 4 * my * mean[0, 3] + 6 * my**2 * mean[0, 2] - 3 * my**4
        zz = m22 / (m20 * m02)
        cubes = m31 / (np.sqrt(m20 * m02) * m20) + m13 / (np.sqrt(m20 * m02) * m02)
        square = zz - r * cubes + r**2 / 4 * (m40 / m20**2 + 2 * zz + m04 / m02**2)
        error: FloatArray = np.sqrt(np.maximum(square, 0) / (videos - 1)) / (1 - r**2)
    return error


def fisher_slope(sums: FloatArray) -> FloatArray:
    """Gradient of ``atanh`` of a Pearson correlation in the sums of :attr:`Paired.moments`, ``float64[B, 6]``.

    A video adds ``(zx zy - r (zx^2 + zy^2) / 2) / (n (1 - r^2))`` with zx, zy its standardised totals: the influence
    behind :func:`fisher`, written out in 1, x, y, x^2, y^2 and xy.
    """
    n, x, y, xx, yy, xy = sums.T
    with np.errstate(invalid="ignore", divide="ignore"):
        mx, my = x / n, y / n
        vx, vy, r = xx / n - mx**2, yy / n - my**2, _from_moments(n, x, y, xx, yy, xy)
        sd = np.sqrt(vx * vy)
        by_x, by_y, by_xx, by_yy = r * mx / vx - my / sd, r * my / vy - mx / sd, -r / (2 * vx), -r / (2 * vy)
        alone = mx * my / sd - r * (mx**2 / vx + my**2 / vy) / 2
        gradient = np.stack([alone, by_x, by_y, by_xx, by_yy, 1 / sd], axis=1)
        slope: FloatArray = gradient / (n * (1 - r**2))[:, None]
    return slope


def pearson_left_out(pairs: Paired) -> FloatArray:
    """Pearson correlation without each of n videos, ``float64[n]``; NaN where what is left has none.

    Sums before and after the video, added: taking its own part from the whole would lose the digits of small
    deviations beside one that is large.
    """
    before, after = (np.cumsum(rows, axis=0) for rows in (pairs.moments, pairs.moments[::-1]))
    left = np.zeros_like(before)
    left[1:] = before[:-1]
    left[:-1] += after[::-1][1:]
    return _from_moments(*left.T)


def spearman_left_out(pairs: Paired) -> FloatArray:
    """Spearman correlation (average ranks) without each of n videos, ``float64[n]``; NaN where what is left has none.

    With c the midrank of a video less the mean rank, leaving out video i adds sign(x_i - x_j) / 2 to c of every other
    video j. So the sum of c_x c_y over j changes by sums of signs, which are counts of videos below and above i in x,
    in y and in both. All sums are whole numbers (of quarters): the result is that of ranking anew, in n log n.
    """
    n = len(pairs)
    if not n:
        return np.empty(0)
    x, y = (np.unique(values, return_inverse=True)[1] for values in (pairs.x, pairs.y))
    if not (np.ptp(x) and np.ptp(y)):
        return np.full(n, np.nan)
    cx, cy = _signed(x, np.ones_like(x)), _signed(y, np.ones_like(y))  # twice (midrank - mean rank)
    xx = (cx * cx).sum() - cx * cx + 2 * _signed(x, cx) + n - np.bincount(x)[x]
    yy = (cy * cy).sum() - cy * cy + 2 * _signed(y, cy) + n - np.bincount(y)[y]
    xy = (cx * cy).sum() - cx * cy + _signed(y, cx) + _signed(x, cy) + _same_order(x, y)
    cov, var_x, var_y = (side.astype(np.float64) for side in (xy, xx, yy))
    return _correlation(cov, var_x, var_y, xx > 0, yy > 0)


def _signed(place: IntArray, what: IntArray) -> IntArray:
    """For each video, the sum of ``what`` over the videos below it less that over those above it.

    ``place`` numbers the groups of equal values in ascending order.
    """
    sums = np.zeros(place.max() + 1, np.int64)
    np.add.at(sums, place, what)
    upto = np.cumsum(sums)
    signed: IntArray = (2 * upto - sums - upto[-1])[place]
    return signed


def _same_order(x: IntArray, y: IntArray) -> IntArray:
    """For each video, how many others differ from it in the same direction in x and in y, less those in opposite ones.

    Four counts tell it: of those below in x, the ones below in y and the ones not above; of those equal in x, and of
    all, how many are below and above in y.
    """
    order = np.lexsort((y, x))
    a, b = x[order], y[order]
    places = np.arange(len(order))
    start, stop = _runs(a)  # of those equal in x
    cell, end = _runs(a * (b.max() + 1) + b)  # of those equal in both
    by_y = np.argsort(b, kind="stable")
    rank, equal = np.empty_like(places), np.empty_like(places)
    rank[by_y], equal[by_y] = places, places - _runs(b[by_y])[0]  # equal: those before that are equal in y
    not_above = _smaller_before(rank) - (places - start)
    below = not_above - (equal - (places - cell))
    lower = below + not_above - start  # signs in y, over those below in x
    level = (cell - start) - (stop - end)  # over those equal in x
    signed = np.empty_like(places)
    signed[order] = 2 * lower + level - _signed(b, np.ones_like(b))
    return signed


def _runs(ascending: IntArray) -> tuple[IntArray, IntArray]:
    """First place, and place behind the last, of the run of equal values around each place."""
    new = np.flatnonzero(np.r_[True, np.diff(ascending) != 0])
    sizes = np.diff(np.r_[new, len(ascending)])
    return np.repeat(new, sizes), np.repeat(new + sizes, sizes)


def _smaller_before(numbers: IntArray) -> IntArray:
    """For each place of a permutation of 0..n-1, how many earlier places hold a smaller number.

    Bit by bit from the highest: among numbers that share the higher bits, those with a 0 are smaller than those with a
    1. The numbers that share them stand together, in their first order, so that one running count serves all.
    """
    n = len(numbers)
    row, places = numbers.copy(), np.arange(n)
    counts = np.zeros(n, np.int64)  # by number
    for bit in reversed(range(n.bit_length())):
        zero = (row >> bit) & 1 == 0
        zeros = np.cumsum(zero) - zero
        start = row >> (bit + 1) << (bit + 1)
        earlier = zeros - zeros[start]
        counts[row[~zero]] += earlier[~zero]
        target = np.where(zero, start + earlier, (1 << bit) + places - earlier)
        moved = np.empty_like(row)
        moved[target] = row
        row = moved
    return counts[numbers]


def _from_moments(
    n: FloatArray, x: FloatArray, y: FloatArray, xx: FloatArray, yy: FloatArray, xy: FloatArray
) -> FloatArray:
    """Pearson correlation from the sums of :attr:`Paired.moments`; NaN where a side is constant but for rounding."""
    var_x, var_y = n * xx - x * x, n * yy - y * y
    return _correlation(n * xy - x * y, var_x, var_y, var_x > _CONSTANT * n * xx, var_y > _CONSTANT * n * yy)


def _correlation(
    cov: FloatArray, var_x: FloatArray, var_y: FloatArray, varies_x: BoolArray, varies_y: BoolArray
) -> FloatArray:
    """``cov / sqrt(var_x var_y)`` in [-1, 1]; NaN where one of the two does not vary."""
    with np.errstate(invalid="ignore", divide="ignore"):
        value = cov / np.sqrt(var_x * var_y)  # one root: of a square it is exact, so that a perfect judge has exactly 1
    return np.where(varies_x & varies_y, np.clip(value, -1, 1), np.nan)

"""Correlations with each video left out in turn, in n log n: what one video changes in the sums, not the sums again."""

from __future__ import annotations

import numpy as np

from siming_tasks.metrics.agreement.correlation import Paired, correlation, from_moments, moments
from siming_tasks.metrics.score_matrix import FloatArray, IntArray

__all__ = ["pearson_left_out", "spearman_left_out"]


def pearson_left_out(pairs: Paired) -> FloatArray:
    """Pearson correlation without each of n videos, ``float64[n]``; NaN where what is left has none.

    Sums before and after the video, added: taking its own part from the whole would lose the digits of small
    deviations beside one that is large.
    """
    table = moments(pairs)
    before, after = (np.cumsum(rows, axis=0) for rows in (table, table[::-1]))
    left = np.zeros_like(table)
    left[1:] = before[:-1]
    left[:-1] += after[::-1][1:]
    return from_moments(*left.T)


def spearman_left_out(pairs: Paired) -> FloatArray:
    """Spearman correlation (average ranks) without each of n videos, ``float64[n]``; NaN where what is left has none.

    With c the midrank of a video less the mean rank, leaving out video i adds sign(x_i - x_j) / 2 to c of every other
    video j. So the sum of c_x c_y over j changes by sums of signs, which are counts of videos below and above i in x,
    in y and in both. All sums are whole numbers (of quarters): the result is that of ranking anew.
    """
    n = len(pairs)
    if not n:
        return np.empty(0)
    x, y = (np.unique(values, return_inverse=True)[1] for values in (pairs.x, pairs.y))
    if not (np.ptp(x) and np.ptp(y)):
        return np.full(n, np.nan)
    cx, cy = _centred(x), _centred(y)
    xx = (cx * cx).sum() - cx * cx + 2 * _signed(x, cx) + n - np.bincount(x)[x]
    yy = (cy * cy).sum() - cy * cy + 2 * _signed(y, cy) + n - np.bincount(y)[y]
    xy = (cx * cy).sum() - cx * cy + _signed(y, cx) + _signed(x, cy) + _same_order(x, y)
    cov, var_x, var_y = (side.astype(np.float64) for side in (xy, xx, yy))
    return correlation(cov, var_x, var_y, xx > 0, yy > 0)


def _centred(place: IntArray) -> IntArray:
    """Twice (midrank - mean rank), from the number of the group of equal values that each video is in."""
    return _signed(place, np.ones_like(place))


def _signed(place: IntArray, what: IntArray) -> IntArray:
    """For each video, the sum of ``what`` over the videos below it less that over those above it."""
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
    signed[order] = 2 * lower + level - _centred(b)
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

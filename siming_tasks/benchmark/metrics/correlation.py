"""Totals of videos, and their Pearson and Spearman correlations, each also with every cluster left out."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from siming_tasks.benchmark.metrics.score_matrix import FloatArray, ScoreMatrix
from siming_tasks.benchmark.metrics.thresholds import MIN_ANSWERED

_CONSTANT = 1e-12
"""Relative variance that is rounding noise."""
_CELLS = 4_000_000
"""Cells of one block of left-out groups x videos: keeps memory below 100 MB however many videos there are."""


def totals(matrix: ScoreMatrix) -> tuple[FloatArray, FloatArray]:
    """Share of the points of each video by reference and judge, ``float64[V]`` each, in [0, 1].

    The reference's share is over the steps that count, the judge's over those among them that it answered. As sums of
    points they would grow with the points available, and a judge that calls everything correct would correlate with the
    reference as soon as a step is not applicable in some videos. NaN on both sides where nothing counts or fewer than
    80 % of the counted steps were answered. Rounded to 1e-9: equal fractions are equal numbers.
    """
    due, known = matrix.counted, matrix.counted & matrix.answered
    with np.errstate(invalid="ignore", divide="ignore"):
        x = np.where(due, matrix.reference, 0).sum(axis=1) / np.where(due, matrix.max_score, 0).sum(axis=1)
        y = np.where(known, matrix.predicted, 0).sum(axis=1) / np.where(known, matrix.max_score, 0).sum(axis=1)
    enough = (known.sum(axis=1) >= MIN_ANSWERED * due.sum(axis=1) - 1e-9) & known.any(axis=1)
    return np.where(enough, x, np.nan).round(9), np.where(enough, y, np.nan).round(9)


def leave_out(x: FloatArray, y: FloatArray, groups: NDArray[np.intp], *, ranks: bool) -> tuple[float, FloatArray]:
    """Correlation of totals, and its values without each group, ``float64[G]``; NaN below 3 or if a side is constant.

    Args:
        x: totals by the reference, ``float64[V]``; NaN: the video has none.
        y: totals by the judge.
        groups: of each video, ``0..G-1``.
        ranks: Spearman's, of average ranks that are computed again without the group.
    """
    kept = ~np.isnan(x)
    number = int(groups.max(initial=-1)) + 1
    x, y, groups = x[kept], y[kept], groups[kept]
    if len(x) < 3:
        return np.nan, np.full(number, np.nan)
    sides = (average_ranks(x), average_ranks(y)) if ranks else (x, y)
    each, moments = _moments(*(side - side.mean() for side in sides)), np.zeros((number, 6))
    value = float(_of_moments(each.sum(axis=0)))
    if ranks:
        return value, _spearman_without(x, y, groups, number)
    np.add.at(moments, groups, each)
    return value, _of_moments(each.sum(axis=0) - moments, each.sum(axis=0))


def _moments(x: FloatArray, y: FloatArray) -> FloatArray:
    """Terms of the sums that a correlation is made of, ``float64[n, 6]``; of centred totals: exact enough."""
    return np.stack([np.ones_like(x), x, y, x * x, y * y, x * y], axis=1)


def _of_moments(sums: FloatArray, whole: FloatArray | None = None) -> FloatArray:
    """Correlations of ``float64[..., 6]`` sums; ``whole``: sums by which rounding is told from variation."""
    n, x, y, xx, yy, xy = np.moveaxis(sums, -1, 0)
    top_x, top_y = (sums if whole is None else whole)[..., 3:5].T
    with np.errstate(invalid="ignore", divide="ignore"):
        vx, vy, cov = xx - x * x / n, yy - y * y / n, xy - x * y / n
        varies = (n > 2) & (vx > _CONSTANT * top_x) & (vy > _CONSTANT * top_y)
        correlation: FloatArray = np.where(varies, cov / np.sqrt(vx * vy), np.nan)
        # by rounding alone a perfect correlation must not have a finite Fisher's z
        return np.where(1 - np.abs(correlation) < _CONSTANT, np.sign(correlation), correlation)


def _spearman_without(x: FloatArray, y: FloatArray, groups: NDArray[np.intp], number: int) -> FloatArray:
    """Spearman correlations without each of some groups, by blocks of them.

    A video's average rank falls by one for each left-out video below it and by a half for each that equals it.
    """
    ranks = np.stack([average_ranks(x), average_ranks(y)])
    codes = [np.unique(side, return_inverse=True)[1] for side in (x, y)]
    middle, without = (len(x) + 1) / 2, np.empty(number)
    block = max(1, _CELLS // len(x))
    for start in range(0, number, block):
        members = groups == np.arange(start, min(start + block, number))[:, None]
        group, video = np.nonzero(members)
        kept, left = ~members, []
        for rank, code in zip(ranks, codes, strict=True):
            held = np.zeros((len(members), int(code.max()) + 1))
            np.add.at(held, (group, code[video]), 1.0)
            fallen = np.cumsum(held, axis=1) - held / 2
            left.append(np.where(kept, rank - middle - fallen[:, code], 0.0))
        a, b = left
        sums = [kept.sum(axis=1), a.sum(axis=1), b.sum(axis=1)]
        sums += [np.einsum("gn,gn->g", p, q) for p, q in ((a, a), (b, b), (a, b))]
        without[start : start + block] = _of_moments(np.stack(sums, axis=1).astype(np.float64))
    return without


def average_ranks(values: FloatArray) -> FloatArray:
    """Average ranks from 1, ``float64[n]``."""
    _, place, sizes = np.unique(values, return_inverse=True, return_counts=True)
    ranks: FloatArray = (np.cumsum(sizes) - (sizes - 1) / 2)[place]
    return ranks

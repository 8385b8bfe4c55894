"""Non-inferiority of the judge to a physician: the alternative annotator test (Calderon, Reichart & Dror 2025).

Each physician is left out in turn, and judge and physician are compared with the others.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from siming_tasks.common.errors import DataError
from siming_tasks.metrics.score_matrix import FloatArray

__all__ = ["MARGIN", "NonInferiority", "ReplacedRater", "non_inferiority"]

MARGIN = 0.1
"""Share of steps by which the judge may be the worse of the two and still count as not inferior."""
_Q = 0.05


@dataclass(frozen=True)
class ReplacedRater:
    """The judge in the place of one physician, against the others.

    Attributes:
        judge: mean over videos of the share of steps at which the judge is at least as near to the others.
        physician: the same of the physician who was left out.
        p_value: that the physician's share is not ``margin`` above the judge's; one-sided t test over videos.
        holds: rejected after Benjamini and Yekutieli's correction: the judge is not inferior here.
        videos: that it rests on.
    """

    judge: float
    physician: float
    p_value: float
    holds: bool
    videos: int


@dataclass(frozen=True)
class NonInferiority:
    """``win_rate``: share of physicians to whom the judge is not inferior; at least a half speaks for the judge."""

    margin: float
    win_rate: float
    physicians: Mapping[str, ReplacedRater]


def non_inferiority(judge: FloatArray, physicians: Mapping[str, FloatArray], margin: float = MARGIN) -> NonInferiority:
    """The test over all physicians.

    Args:
        judge: labels ``float64[V, S]``; NaN at a step that two physicians have labelled is a missing answer, which is
            worse than any: leaving out hard steps gains nothing.
        physicians: labels of each, ``float64[V, S]``; NaN where there is none.
        margin: see :data:`MARGIN`.

    Raises:
        DataError: fewer than two physicians, a margin outside 0..1, or fewer than two videos that two have scored.
    """
    if len(physicians) < 2:
        raise DataError(f"Non-inferiority to a physician needs two physicians' labels; {len(physicians)} given.")
    if not 0 <= margin < 1:
        raise DataError(f"the margin is {margin:g}; give a share of steps, at least 0 and below 1.")
    comparisons = {name: _without(name, judge, physicians) for name in physicians}
    tests = {name: _test(*shares, margin) for name, shares in comparisons.items()}
    holds = _benjamini_yekutieli({name: p for name, (_, _, p, _) in tests.items()})
    rows = {name: ReplacedRater(a, b, p, holds[name], n) for name, (a, b, p, n) in tests.items()}
    return NonInferiority(margin, sum(row.holds for row in rows.values()) / len(rows), rows)


def _without(name: str, judge: FloatArray, physicians: Mapping[str, FloatArray]) -> tuple[FloatArray, FloatArray]:
    """For each video, shares of steps at which the judge, and the physician, is at least as near to the others."""
    own = physicians[name]
    others = np.stack([labels for other, labels in physicians.items() if other != name])
    rated = ~np.isnan(own) & ~np.isnan(others).all(axis=0)
    if rated.any(axis=1).sum() < 2:
        raise DataError(f"Fewer than two videos were scored by {name} and another physician.")

    def distance(labels: FloatArray) -> FloatArray:
        known = ~np.isnan(others)
        gaps = np.where(known, np.abs(labels[None] - np.where(known, others, 0)), 0)
        return np.where(np.isnan(labels), np.inf, gaps.sum(axis=0) / np.maximum(known.sum(axis=0), 1))

    mine, theirs = distance(judge).round(9), distance(own).round(9)
    n = rated.sum(axis=1)
    kept = n > 0
    wins = [np.where(rated, win, 0).sum(axis=1)[kept] / n[kept] for win in (mine <= theirs, theirs <= mine)]
    return wins[0], wins[1]


def _test(judge: FloatArray, physician: FloatArray, margin: float) -> tuple[float, float, float, int]:
    from scipy.stats import t

    gap = physician - judge - margin
    n, mean, sd = len(gap), float(gap.mean()), float(gap.std(ddof=1))
    p = float(t.cdf(mean / (sd / math.sqrt(n)), n - 1)) if sd > 1e-12 else float(mean >= -1e-12)
    return float(judge.mean()), float(physician.mean()), p, n


def _benjamini_yekutieli(p_values: Mapping[str, float]) -> dict[str, bool]:
    names = sorted(p_values, key=p_values.__getitem__)
    m = len(names)
    harmonic = sum(1 / rank for rank in range(1, m + 1))
    passed = [rank for rank, name in enumerate(names, 1) if p_values[name] <= rank * _Q / (m * harmonic)]
    return {name: rank <= max(passed, default=0) for rank, name in enumerate(names, 1)}

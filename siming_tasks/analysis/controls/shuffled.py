"""The expectation of a run's metrics when its answers are given to other videos."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from siming_tasks.metrics.agreement.labels import LEVELS, ordinal_labels
from siming_tasks.metrics.catalogue import CATALOGUE, Family
from siming_tasks.metrics.score_matrix import FloatArray, IntArray
from siming_tasks.metrics.sufficient_stats import Tally

__all__ = ["ShuffledSelf", "StepSums", "expected_products"]


class StepSums(NamedTuple):
    """Weighted sums over the videos of each step: of 1, x, y and x * y; arrays that broadcast together."""

    n: FloatArray
    x: FloatArray
    y: FloatArray
    xy: FloatArray


def expected_products(once: StepSums, squared: StepSums) -> FloatArray:
    """Sum of x * y that each step is expected to have after its predictions were shuffled between its n videos.

    With every video once this is sum x * sum y / n. A resample repeats videos; a plain shuffle of it would give a video
    its own predictions more often than once in n, and look better than it is. So pairs of different videos are
    averaged, and the one in n that stays in place is put back. In deviations from the step's means, where all pairs
    sum to zero: different pairs average -q / (1 - q) times the equal ones, with q the share of equal pairs.

    Args:
        once: sums with the weights.
        squared: sums with the squared weights, that is over pairs of a video with itself.
    """
    n = np.where(once.n > 0, once.n, 1)
    x, y = once.x / n, once.y / n
    equal = squared.xy - x * squared.y - y * squared.x + x * y * squared.n
    apart = n * n - squared.n
    different = -np.divide(equal, apart, out=np.zeros_like(equal), where=apart > 0)
    shuffled = n * x * y + (once.xy / n - x * y) + (n - 1) * different
    return np.where(apart > 0, shuffled, once.xy)


class ShuffledSelf:
    """Metrics of a run's own answers given to other videos, in expectation over all exchanges within each step.

    Exact, not simulated: the expected confusion counts of a step are the product of its margins over its size. The
    expected correlation of totals is zero.
    """

    def __init__(self, tally: Tally) -> None:
        self.tally = tally
        families = dict.fromkeys(CATALOGUE[name].family for name in tally.metrics if CATALOGUE[name].compared)
        self.tables = {family: _Exchanged(*_sides(tally, family)) for family in families if family != "totals"}

    def compute(self, weights: FloatArray) -> dict[str, FloatArray]:
        """As :meth:`siming_tasks.metrics.sufficient_stats.Tally.compute`."""
        counts = {family: table.expected(weights) for family, table in self.tables.items()}
        values = self.tally.compute(weights)
        for name in self.tally.metrics:
            row = CATALOGUE[name]
            if row.family == "totals":
                values[name] = np.where(np.isnan(values[name]), np.nan, 0.0)
            elif row.compared:
                values[name] = row.function(counts[row.family])
        return values


def _sides(tally: Tally, family: Family) -> tuple[IntArray, IntArray, int]:
    """Labels of both sides, ``int[V, S]`` with -1 where either is missing, and how many labels there are."""
    panel, both = tally.panel, tally.panel.counted & tally.panel.answered
    if family == "labels":
        points = panel.reference, panel.predicted
        sides = [ordinal_labels(side, panel.max_score, tally.mapping).astype(np.int64) for side in points]
    else:
        wrong = panel.reference_wrong, panel.predicted_wrong
        sides = [(side == (tally.positive == "error")).astype(np.int64) for side in wrong]
    x, y = (np.where(both, side, -1) for side in sides)
    return x, y, len(LEVELS) if family == "labels" else 2


class _Exchanged:
    """Expected confusion counts of labels ``x`` and ``y``, 0..k-1, when ``y`` is exchanged between the videos."""

    def __init__(self, x: IntArray, y: IntArray, k: int) -> None:
        self.levels = k
        a, b = (side[:, :, None] == np.arange(k) for side in (x, y))
        videos, steps = x.shape
        joint = (a[:, :, :, None] & b[:, :, None, :]).reshape(videos, steps * k * k)
        margins = [side.reshape(videos, steps * k) for side in (a, b)]
        self.margins = np.concatenate(margins, axis=1).astype(np.float64)
        self.joint, self.both = joint.astype(np.float64), (x >= 0).astype(np.float64)

    def expected(self, weights: FloatArray) -> FloatArray:
        """Over all steps, ``float64[B, k * k]``."""
        once, squared = (self._sums(w) for w in (weights, weights * weights))
        counts: FloatArray = expected_products(once, squared).sum(axis=1).reshape(len(weights), self.levels**2)
        return counts

    def _sums(self, weights: FloatArray) -> StepSums:
        """Of the indicators "x is label k" and "y is label l", ``[B, S, k, l]``."""
        shape, k = (len(weights), self.both.shape[1]), self.levels
        x, y = np.split(weights @ self.margins, 2, axis=1)
        joint = (weights @ self.joint).reshape(*shape, k, k)
        return StepSums(
            (weights @ self.both)[:, :, None, None], x.reshape(*shape, k, 1), y.reshape(*shape, 1, k), joint
        )

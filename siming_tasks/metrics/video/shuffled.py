"""The expectation of a run's metrics when its answers are given to other videos."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from siming_tasks.metrics.agreement import kappa
from siming_tasks.metrics.agreement.labels import ordinal_labels
from siming_tasks.metrics.panel import FloatArray
from siming_tasks.metrics.tally import BINARY, TOTALS, Tally

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
        panel, both = tally.panel, tally.panel.counted & tally.panel.answered
        self.tally = tally
        if panel.answer == "score":
            points = panel.reference, panel.predicted
            sides = [ordinal_labels(side, panel.max_score, tally.mapping) for side in points]
        else:
            wrong = panel.reference_wrong, panel.predicted_wrong
            sides = [(side == (tally.positive == "error")).astype(np.int8) for side in wrong]
        self.levels = 4 if panel.answer == "score" else 2
        a, b = (np.where(both, side, -1)[:, :, None] == np.arange(self.levels) for side in sides)
        videos, steps, k = a.shape
        joint = (a[:, :, :, None] & b[:, :, None, :]).reshape(videos, steps * k * k)
        margins = [side.reshape(videos, steps * k) for side in (a, b)]
        self.margins = np.concatenate(margins, axis=1).astype(np.float64)
        self.joint, self.both = joint.astype(np.float64), both.astype(np.float64)

    def compute(self, weights: FloatArray) -> dict[str, FloatArray]:
        """As :meth:`siming_tasks.metrics.tally.Tally.compute`."""
        once, squared = (self._sums(w) for w in (weights, weights * weights))
        counts = expected_products(once, squared).sum(axis=1).reshape(len(weights), self.levels**2)
        values = self.tally.compute(weights)
        for name in self.tally.metrics:
            if name in TOTALS:
                values[name] = np.where(np.isnan(values[name]), np.nan, 0.0)
            elif name != "coverage":
                values[name] = kappa.qwk(counts) if name == "qwk" else BINARY[name](counts)
        return values

    def _sums(self, weights: FloatArray) -> StepSums:
        """Of the indicators "x is label k" and "y is label l", ``[B, S, k, l]``."""
        shape, k = (len(weights), self.both.shape[1]), self.levels
        x, y = np.split(weights @ self.margins, 2, axis=1)
        joint = (weights @ self.joint).reshape(*shape, k, k)
        return StepSums(
            (weights @ self.both)[:, :, None, None], x.reshape(*shape, k, 1), y.reshape(*shape, 1, k), joint
        )

"""The expectation of a run's metrics when its answers are given to other videos."""

from __future__ import annotations

import numpy as np

from siming_tasks.metrics import agreement
from siming_tasks.metrics.labels import ordinal_labels
from siming_tasks.metrics.panel import FloatArray
from siming_tasks.metrics.split import expected_products
from siming_tasks.metrics.tally import BINARY, TOTALS, Tally

__all__ = ["ShuffledSelf"]


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
        steps, k, squares = self.both.shape[1], self.levels, weights * weights
        a, b = (side.reshape(len(weights), steps, k) for side in np.split(weights @ self.margins, 2, axis=1))
        shape = (len(weights), steps, k, k)
        n, same_n = ((w @ self.both)[:, :, None, None] for w in (weights, squares))
        joint, same = ((w @ self.joint).reshape(shape) for w in (weights, squares))
        expected = expected_products(n, a[:, :, :, None] * b[:, :, None, :], joint, same_n, same)
        counts = expected.sum(axis=1).reshape(len(weights), k * k)
        values = self.tally.compute(weights)
        for name in self.tally.metrics:
            if name in TOTALS:
                values[name] = np.where(np.isnan(values[name]), np.nan, 0.0)
            elif name != "coverage":
                values[name] = agreement.qwk(counts) if name == "qwk" else BINARY[name](counts)
        return values

"""How much better (or worse) the overall score agrees than the agreement on the steps accounts for."""

from __future__ import annotations

import numpy as np

from siming_tasks.metrics.agreement import correlation
from siming_tasks.metrics.score_matrix import FloatArray, ScoreMatrix

__all__ = ["Mismatch"]


class Mismatch:
    """``excess = PLCC - implied``, with ``implied = r g / sqrt(1 - r^2 + r^2 g^2)``.

    r is the correlation of step points around each step's mean, pooled over all steps; g^2 = var(total) / sum of the
    steps' variances of the reference (above 1 if good trainees are good throughout). ``implied`` is the correlation of
    totals of a judge that follows every step equally well and errs independently. Excess above 0: the totals agree
    more than the steps do, an overall impression; below 0: errors that pile up within a video.

    Only for scores.
    """

    def __init__(self, panel: ScoreMatrix) -> None:
        both = panel.counted & panel.answered
        x, y = (np.where(both, side, 0) for side in (panel.reference, panel.predicted))
        self.pairs = correlation.Paired(*correlation.shares(panel))
        self.steps = np.concatenate([both, x, y, x * x], axis=1).astype(np.float64)
        self.products = np.stack([(a * b).sum(axis=1) for a, b in ((x, x), (y, y), (x, y))], axis=1)

    def compute(self, weights: FloatArray) -> dict[str, FloatArray]:
        """``plcc``, ``implied`` and ``excess`` under every row of weights; NaN where undefined."""
        n, x, y, xx = np.split(weights @ self.steps, 4, axis=1)
        taken = np.where(n > 0, n, 1)
        within_xx, within_yy, within_xy = (
            product - (a * b / taken).sum(axis=1)
            for product, a, b in zip((weights @ self.products).T, (x, y, x), (x, y, y), strict=True)
        )
        step_variance = np.where(n > 0, xx / taken - (x / taken) ** 2, 0).sum(axis=1)
        kept = self.pairs.weights(weights)
        count = kept.sum(axis=1)
        with np.errstate(invalid="ignore", divide="ignore"):
            mean = kept @ self.pairs.x / count
            total_variance = kept @ self.pairs.x**2 / count - mean**2
            r = within_xy / np.sqrt(within_xx * within_yy)
            g = np.sqrt(np.maximum(total_variance, 0) / step_variance)
            implied = r * g / np.sqrt(1 - r**2 + (r * g) ** 2)
        implied = np.where(np.isfinite(implied), implied, np.nan)
        plcc = correlation.pearson(self.pairs, weights)
        return {"plcc": plcc, "implied": implied, "excess": plcc - implied}

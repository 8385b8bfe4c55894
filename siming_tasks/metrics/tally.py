"""What every metric needs of a panel, per video: counts and totals. Everything after this is arithmetic on weights."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from siming_tasks.metrics.agreement import classification, correlation, kappa
from siming_tasks.metrics.agreement.classification import Positive
from siming_tasks.metrics.agreement.labels import LabelMapping, ordinal_labels
from siming_tasks.metrics.panel import FloatArray, Panel

__all__ = ["BINARY", "METRICS", "TOTALS", "Tally"]

METRICS: dict[str, tuple[str, ...]] = {
    "score": ("plcc", "srcc", "qwk", "coverage"),
    "error": ("mcc", "precision", "recall", "f1", "coverage"),
}
"""Metrics of each kind of answer, in the order in which they are printed."""

TOTALS = {"plcc": correlation.pearson, "srcc": correlation.spearman}
BINARY = {
    "mcc": classification.mcc,
    "precision": classification.precision,
    "recall": classification.recall,
    "f1": classification.f1,
}


@dataclass(frozen=True, eq=False)
class Tally:
    """Per-video sufficient statistics of one panel.

    Attributes:
        panel: where they come from.
        metrics: names of the metrics to compute.
        mapping: how points became labels.
        positive: the positive class of precision, recall and F1.
        asked: steps asked, ``float64[V]``.
        answered: steps answered, ``float64[V]``.
        binary: TN, FP, FN, TP of "positive", ``float64[V, 4]``; points below the maximum are "wrong".
        labels: 4 x 4 confusion counts of the ordinal labels, ``float64[V, 16]``; zeros for ``answer="error"``.
        totals: reference and predicted totals of the videos that have both; none for ``answer="error"``.
    """

    panel: Panel
    metrics: tuple[str, ...]
    mapping: LabelMapping
    positive: Positive
    asked: FloatArray
    answered: FloatArray
    binary: FloatArray
    labels: FloatArray
    totals: correlation.Paired

    @classmethod
    def of(
        cls,
        panel: Panel,
        mapping: LabelMapping = "absolute",
        positive: Positive = "error",
        metrics: Sequence[str] | None = None,
    ) -> Tally:
        """Count a panel; ``metrics`` defaults to those of its kind of answer."""
        both = panel.counted & panel.answered
        binary = classification.binary_counts(panel.reference_wrong, panel.predicted_wrong, both)
        labels = np.zeros((len(panel.video_ids), 16))
        x = y = np.full(len(panel.video_ids), np.nan)
        if panel.answer == "score":
            sides = [np.where(both, points, np.nan) for points in (panel.reference, panel.predicted)]
            labels = kappa.confusion(*(ordinal_labels(side, panel.max_score, mapping) for side in sides))
            x, y = correlation.totals(panel)
        return cls(
            panel=panel,
            metrics=METRICS[panel.answer] if metrics is None else tuple(metrics),
            mapping=mapping,
            positive=positive,
            asked=panel.asked.sum(axis=1, dtype=np.float64),
            answered=panel.answered.sum(axis=1, dtype=np.float64),
            binary=binary if positive == "error" else classification.swap_classes(binary),
            labels=labels,
            totals=correlation.Paired(x, y),
        )

    def compute(self, weights: FloatArray) -> dict[str, FloatArray]:
        """The metrics under every row of ``weights`` (``float64[B, V]``), ``float64[B]`` each; NaN where undefined."""
        counts = weights @ self.binary
        values: dict[str, FloatArray] = {}
        for name in self.metrics:
            if name in TOTALS:
                values[name] = TOTALS[name](self.totals, weights)
            elif name == "qwk":
                values[name] = kappa.qwk(weights @ self.labels)
            elif name == "coverage":
                asked, answered = weights @ self.asked, weights @ self.answered
                values[name] = np.divide(answered, asked, out=np.full(len(weights), np.nan), where=asked > 0)
            else:
                values[name] = BINARY[name](counts)
        return values

    def contributing(self, metric: str) -> NDArray[np.intp]:
        """Positions of the videos that the metric rests on."""
        if metric in TOTALS:
            return self.totals.keep
        return np.flatnonzero(self.asked if metric == "coverage" else self.binary.sum(axis=1))

    def size(self, metric: str) -> tuple[int, int]:
        """Videos and items (steps; for correlations, videos) that the metric rests on."""
        videos = len(self.contributing(metric))
        if metric in TOTALS:
            return videos, videos
        return videos, int(self.asked.sum() if metric == "coverage" else self.binary.sum())

    @property
    def coverage(self) -> float | None:
        """Answered / asked steps; None if nothing was asked."""
        asked = float(self.asked.sum())
        return float(self.answered.sum()) / asked if asked else None

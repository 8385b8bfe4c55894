"""What every metric needs of a panel, per video: counts and totals. Everything after this is arithmetic on weights."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from siming_tasks.metrics import agreement, classification, correlation
from siming_tasks.metrics.classification import Positive
from siming_tasks.metrics.labels import Mapping, ordinal_labels
from siming_tasks.metrics.panel import FloatArray, Panel

__all__ = ["BINARY", "METRICS", "Tally"]

METRICS: dict[str, tuple[str, ...]] = {
    "score": ("plcc", "srcc", "qwk", "coverage"),
    "error": ("mcc", "precision", "recall", "f1", "coverage"),
}
"""Metrics of each kind of answer, in the order in which they are printed."""

BINARY = {
    "mcc": classification.mcc,
    "precision": classification.precision,
    "recall": classification.recall,
    "f1": classification.f1,
}

_CLASS = {"error": ("wrong", "correct"), "correct": ("correct", "wrong")}


@dataclass(frozen=True, eq=False)
class Tally:
    """Per-video sufficient statistics of one panel.

    Attributes:
        panel: where they come from.
        positive: the positive class of precision, recall and F1.
        asked: steps asked, ``float64[V]``.
        answered: steps answered, ``float64[V]``.
        labels: 4 x 4 confusion counts of the ordinal labels, ``float64[V, 16]`` (zeros for ``answer="error"``).
        binary: TN, FP, FN, TP of "positive", ``float64[V, 4]``; points below the maximum are "wrong".
        totals: reference and predicted totals of the videos that have both (none for ``answer="error"``).
    """

    panel: Panel
    positive: Positive
    asked: FloatArray
    answered: FloatArray
    labels: FloatArray
    binary: FloatArray
    totals: correlation.Paired

    @classmethod
    def of(cls, panel: Panel, mapping: Mapping = "absolute", positive: Positive = "error") -> Tally:
        """Count a panel."""
        both = panel.counted & panel.answered
        binary = classification.binary_counts(panel.reference_wrong, panel.predicted_wrong, both)
        labels = np.zeros((len(panel.video_ids), 16))
        x = y = np.full(len(panel.video_ids), np.nan)
        if panel.answer == "score":
            sides = [np.where(both, points, np.nan) for points in (panel.reference, panel.predicted)]
            labels = agreement.confusion(*(ordinal_labels(side, panel.max_score, mapping) for side in sides))
            x, y = correlation.totals(panel)
        return cls(
            panel=panel,
            positive=positive,
            asked=panel.asked.sum(axis=1, dtype=np.float64),
            answered=panel.answered.sum(axis=1, dtype=np.float64),
            labels=labels,
            binary=binary if positive == "error" else classification.swap_classes(binary),
            totals=correlation.Paired(x, y),
        )

    def compute(self, weights: FloatArray) -> dict[str, FloatArray]:
        """Every metric of this kind of answer under every row of ``weights``, ``float64[B]`` each; NaN undefined."""
        values: dict[str, FloatArray] = {}
        if self.panel.answer == "score":
            values["plcc"] = correlation.pearson(self.totals, weights)
            values["srcc"] = correlation.spearman(self.totals, weights)
            values["qwk"] = agreement.qwk(weights @ self.labels)
        else:
            counts = weights @ self.binary
            values |= {name: metric(counts) for name, metric in BINARY.items()}
        asked, answered = weights @ self.asked, weights @ self.answered
        values["coverage"] = np.divide(answered, asked, out=np.full(len(weights), np.nan), where=asked > 0)
        return values

    def contributing(self, metric: str) -> np.ndarray[tuple[int], np.dtype[np.intp]]:
        """Positions of the videos that the metric rests on."""
        if metric in ("plcc", "srcc"):
            return self.totals.keep
        return np.flatnonzero(self.asked if metric == "coverage" else self.binary.sum(axis=1))

    def size(self, metric: str) -> tuple[int, int]:
        """Videos and items (steps; for correlations, videos) that the metric rests on."""
        videos = len(self.contributing(metric))
        if metric in ("plcc", "srcc"):
            return videos, videos
        return videos, int(self.asked.sum() if metric == "coverage" else self.binary.sum())

    def reason(self, metric: str) -> str:
        """Why the metric has no value or is undefined, given that it is."""
        if not self.asked.any():
            return "No step was asked about."
        if not self.panel.counted.any():
            return "No reference labels."
        if not self.answered.any():
            return "No step was answered."
        if metric in ("plcc", "srcc"):
            return self._reason_for_totals()
        if metric == "qwk":
            return "Reference and prediction are the same single label everywhere: 0/0."
        tn, fp, fn, tp = self.binary.sum(axis=0)
        name, other = _CLASS[self.positive]
        causes = {
            "precision": f"No step was predicted {name}: 0/0.",
            "recall": f"No step is {name} in the reference: 0/0.",
            "f1": f"No step is {name} in the reference or predicted so: 0/0.",
            "mcc": "The reference has a single class: 0/0.",
        }
        if metric == "mcc" and (not tp + fp or not tn + fn):
            return f"Every step was predicted {name if tp + fp else other}: 0/0."
        return causes[metric]

    def _reason_for_totals(self) -> str:
        if not len(self.totals):
            return "No video had 80 % of its steps answered."
        if len(self.totals) == 1:
            return "A single video has no correlation."
        side = "predicted" if np.ptp(self.totals.y) == 0 else "reference"
        return f"All {side} totals are equal: 0/0."

    def flags(self, metric: str) -> list[str]:
        """Flags that follow from the data alone."""
        if metric == "coverage":
            return []
        if metric in ("plcc", "srcc"):
            levels = [len(np.unique(side)) for side in (self.totals.x, self.totals.y)]
        else:
            table = self.labels.sum(axis=0).reshape(4, 4) if metric == "qwk" else self.binary.sum(axis=0).reshape(2, 2)
            levels = [int(np.count_nonzero(table.sum(axis=axis))) for axis in (1, 0)]
        found = ["small-n"] if metric in ("plcc", "srcc") and len(self.totals) < 3 else []
        return found + [
            flag for flag, n in zip(("constant-reference", "constant-prediction"), levels, strict=True) if n == 1
        ]

"""What every diagnosis looks at: one panel as labels, and the two physicians beside it.

Labels are those of the answer: 0..3 for points, 0 (wrong) and 1 (correct) for verdicts. With two labels the weights of
kappa do not matter, so one formula serves both.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from siming_tasks.common.errors import DataError
from siming_tasks.metrics.agreement.labels import LabelMapping, ordinal_labels
from siming_tasks.metrics.ratio_estimates import Labels
from siming_tasks.metrics.score_matrix import BoolArray, FloatArray, ScoreMatrix

__all__ = ["LabelMatrices", "label_matrices"]


@dataclass(frozen=True, eq=False)
class LabelMatrices:
    """Labels of the reference, the judge and (if given) the two physicians, ``int8[V, S]``; -1 is no label.

    ``truth`` and ``said`` are known for the same steps: asked, with a reference, answered. ``best`` is the label of a
    fully correct step. ``points`` are the two physicians' points, ``raters`` their labels; ``rated`` marks steps that
    both rated and ``disputed`` those to which they gave different points.
    """

    panel: ScoreMatrix
    truth: Labels
    said: Labels
    best: int
    points: tuple[FloatArray, FloatArray] | None
    raters: tuple[Labels, Labels] | None
    rated: BoolArray
    disputed: BoolArray

    @property
    def both(self) -> BoolArray:
        """Steps that count: asked, with a reference, answered."""
        known: BoolArray = self.truth >= 0
        return known

    @property
    def failed_truth(self) -> BoolArray:
        """Steps with the lowest label by the reference."""
        failed: BoolArray = self.truth == 0
        return failed

    @property
    def failed_said(self) -> BoolArray:
        """Steps with the lowest label by the judge."""
        failed: BoolArray = self.said == 0
        return failed


def label_matrices(
    panel: ScoreMatrix,
    rater_a: FloatArray | None = None,
    rater_b: FloatArray | None = None,
    mapping: LabelMapping = "absolute",
) -> LabelMatrices:
    """Arrange a panel and its physicians' points (``float[V, S]`` in the panel's order, NaN = not rated).

    Videos are sorted by id, so that no result depends on how rows arrived.

    Raises:
        DataError: only one rater is given, or its shape is not the panel's.
    """
    if (rater_a is None) != (rater_b is None):
        raise DataError("Diagnostics compare two physicians: give both raters or neither.")
    order = np.array(sorted(range(len(panel.video_ids)), key=panel.video_ids.__getitem__), dtype=np.intp)
    panel = panel.videos(order)
    both = panel.counted & panel.answered
    points: tuple[FloatArray, FloatArray] | None = None
    if rater_a is not None and rater_b is not None:
        for rater in (rater_a, rater_b):
            if np.shape(rater) != panel.reference.shape:
                raise DataError(f"A rater has shape {np.shape(rater)}, not {panel.reference.shape} (videos, steps).")
        points = np.asarray(rater_a, np.float64)[order], np.asarray(rater_b, np.float64)[order]

    def labels(values: FloatArray, keep: BoolArray) -> Labels:
        if panel.answer == "score":
            return ordinal_labels(np.where(keep, values, np.nan), panel.max_score, mapping)
        return np.where(keep, values >= panel.max_score, -1).astype(np.int8)

    if panel.answer == "score":
        said = labels(panel.predicted, both)
    else:
        said = np.where(both, panel.predicted == 0, -1).astype(np.int8)
    rated, disputed, raters = np.zeros_like(both), np.zeros_like(both), None
    if points:
        a, b = points
        rated = panel.counted & ~np.isnan(a) & ~np.isnan(b)
        disputed = rated & (a != b)
        raters = labels(a, rated), labels(b, rated)
    return LabelMatrices(
        panel=panel,
        truth=labels(panel.reference, both),
        said=said,
        best=3 if panel.answer == "score" else 1,
        points=points,
        raters=raters,
        rated=rated,
        disputed=disputed,
    )

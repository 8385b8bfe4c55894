"""Labels that every diagnosis looks at: reference, judge, and the two physicians beside the judge.

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

    Attributes:
        scores: points or verdicts that the labels are made of, videos sorted by id.
        reference: labels of the reference; known for the same steps as ``predicted`` (see :attr:`known`).
        predicted: labels of the judge.
        top_label: label of a fully correct step.
        points: points of the two physicians, ``float64[V, S]`` each.
        raters: labels of the two physicians.
        rated: steps that both physicians rated, ``bool[V, S]``.
        disputed: steps to which they gave different points.
    """

    scores: ScoreMatrix
    reference: Labels
    predicted: Labels
    top_label: int
    points: tuple[FloatArray, FloatArray] | None
    raters: tuple[Labels, Labels] | None
    rated: BoolArray
    disputed: BoolArray

    @property
    def known(self) -> BoolArray:
        """Steps that count: asked, with a reference, answered."""
        known: BoolArray = self.reference >= 0
        return known

    @property
    def failed_reference(self) -> BoolArray:
        """Steps with the lowest label by the reference."""
        failed: BoolArray = self.reference == 0
        return failed

    @property
    def failed_predicted(self) -> BoolArray:
        """Steps with the lowest label by the judge."""
        failed: BoolArray = self.predicted == 0
        return failed


def label_matrices(
    matrix: ScoreMatrix,
    rater_a: FloatArray | None = None,
    rater_b: FloatArray | None = None,
    mapping: LabelMapping = "absolute",
) -> LabelMatrices:
    """Labels of a matrix and of its physicians' points (``float[V, S]`` in the matrix's order, NaN = not rated).

    Videos are sorted by id, so that no result depends on the order in which rows arrived.

    Raises:
        DataError: only one rater is given, or its shape is not the matrix's.
    """
    if (rater_a is None) != (rater_b is None):
        raise DataError("Diagnostics compare two physicians: give both raters or neither.")
    order = np.array(sorted(range(len(matrix.video_ids)), key=matrix.video_ids.__getitem__), dtype=np.intp)
    matrix = matrix.videos(order)
    known = matrix.counted & matrix.answered

    def to_labels(values: FloatArray, keep: BoolArray) -> Labels:
        if matrix.answer == "score":
            return ordinal_labels(np.where(keep, values, np.nan), matrix.max_score, mapping)
        return np.where(keep, values >= matrix.max_score, -1).astype(np.int8)

    if matrix.answer == "score":
        predicted = to_labels(matrix.predicted, known)
    else:
        predicted = np.where(known, matrix.predicted == 0, -1).astype(np.int8)
    points: tuple[FloatArray, FloatArray] | None = None
    raters: tuple[Labels, Labels] | None = None
    rated, disputed = np.zeros_like(known), np.zeros_like(known)
    if rater_a is not None and rater_b is not None:
        for rater in (rater_a, rater_b):
            if np.shape(rater) != matrix.reference.shape:
                raise DataError(f"A rater has shape {np.shape(rater)}, not {matrix.reference.shape} (videos, steps).")
        a, b = points = np.asarray(rater_a, np.float64)[order], np.asarray(rater_b, np.float64)[order]
        rated = matrix.counted & ~np.isnan(a) & ~np.isnan(b)
        disputed = rated & (a != b)
        raters = to_labels(a, rated), to_labels(b, rated)
    return LabelMatrices(
        scores=matrix,
        reference=to_labels(matrix.reference, known),
        predicted=predicted,
        top_label=3 if matrix.answer == "score" else 1,
        points=points,
        raters=raters,
        rated=rated,
        disputed=disputed,
    )

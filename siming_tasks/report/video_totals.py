"""Totals of a judge by exam, each with the number of steps that it rests on."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from siming_tasks.metrics import ScoreMatrix
from siming_tasks.metrics.correlation import totals


class VideoTotal(NamedTuple):
    """A judge's points for one exam, or for verdicts the number of steps called incorrect.

    Attributes:
        value: the total; None where too little was answered.
        answered: steps that it rests on.
        due: steps that were asked; of points, those with a reference.
    """

    value: float | None
    answered: int
    due: int

    @property
    def rests_on(self) -> str:
        """Steps that it rests on in words, such as ``29/33 steps``; empty if it is complete."""
        return "" if self.answered == self.due else f"{self.answered}/{self.due} steps"


def video_totals(matrix: ScoreMatrix) -> list[VideoTotal]:
    """The totals of a matrix's videos, in their order; those of points are correlated with the reference's."""
    due = matrix.counted if matrix.answer == "score" else matrix.asked
    known = due & matrix.answered
    if matrix.answer == "score":
        values = totals(matrix)[1] * (due * matrix.max_score).sum(axis=1)  # a total is a share of the points
    else:
        called = (matrix.predicted_wrong & known).sum(axis=1).astype(float)
        values = np.where(known.any(axis=1), called, np.nan)
    rests = zip(values.tolist(), known.sum(axis=1).tolist(), due.sum(axis=1).tolist(), strict=True)
    return [VideoTotal(None if value != value else value, answered, due) for value, answered, due in rests]

"""Recoveries: steps whose error the trainee mended in a later attempt, and whether a judge sees the error all the same.

A judge that looks at the end alone takes a mended step for a right one; which of the attempts is the label is a rule
of the data set.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from siming_tasks.common.schema import AttemptRule, Video
from siming_tasks.data.attempts import is_recovery
from siming_tasks.metrics.estimate import Estimate
from siming_tasks.metrics.ratio_estimates import difference, estimate_stats, ratio
from siming_tasks.metrics.score_matrix import BoolArray, ScoreMatrix


@dataclass(frozen=True)
class Recoveries:
    """Steps that a judge calls wrong, among those that were mended and among those that were wrong and stayed so.

    Attributes:
        tried_again: answered steps with more than one attempt; ``recovered``: those of them that were mended.
        rule: which attempt is the label, if the data set says so.
        called_wrong: share of the recovered steps that the judge calls wrong.
        called_wrong_unmended: the same of the other steps whose label is wrong and that were done (they have a clip).
        gap: the first minus the second; below 0 for a judge that overlooks errors once they are mended.
    """

    tried_again: int
    recovered: int
    rule: AttemptRule | None
    called_wrong: Estimate
    called_wrong_unmended: Estimate
    gap: Estimate


def recoveries(
    matrix: ScoreMatrix, videos: Sequence[Video], rule: AttemptRule | None, *, resamples: int, seed: int
) -> Recoveries | None:
    """Recoveries of a run; None if no answered step was tried more than once.

    Args:
        matrix: reference and run.
        videos: in the order of the matrix.
        rule: which attempt is the label.
        resamples: of the bootstrap over clusters.
        seed: of the bootstrap.
    """
    column = {name: place for place, name in enumerate(matrix.step_ids)}
    again, mended, done = (np.zeros(matrix.asked.shape, dtype=np.bool_) for _ in range(3))
    for row, video in enumerate(videos):
        for step in video.applicable:
            at = row, column[step.step_id]
            again[at], mended[at] = len(step.attempts) > 1, is_recovery(step.attempts)
            done[at] = step.span is not None
    answered: BoolArray = matrix.answered & matrix.counted
    if not (again & answered).any():
        return None
    called = matrix.predicted_wrong & answered
    unmended = matrix.reference_wrong & answered & done & ~mended
    stats = {
        "called_wrong": ratio(called & mended, answered & mended, "No answered step was mended."),
        "called_wrong_unmended": ratio(called & unmended, unmended, "No other step that was done is wrong."),
    }
    stats["gap"] = difference(stats["called_wrong"], stats["called_wrong_unmended"])
    values = estimate_stats(stats, matrix.cluster_numbers, resamples, seed)
    return Recoveries(int((again & answered).sum()), int((mended & answered).sum()), rule, **values)

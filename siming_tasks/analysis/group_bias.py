"""Bias by group: is the judge kinder to one site, sex, year or device than to another? Exploratory."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from siming_tasks.metrics.correlation import totals
from siming_tasks.metrics.estimate import Estimate
from siming_tasks.metrics.ratio_estimates import Stat, difference, estimate_stats, ratio
from siming_tasks.metrics.score_matrix import FloatArray, ScoreMatrix

MOST_GROUPS = 8
"""A column with more values than this is no grouping."""


@dataclass(frozen=True)
class GroupBias:
    """Signed error of the judge in one group against all other videos that state the column.

    Attributes:
        column: name of the column; ``group``: its value.
        videos: of the group; ``clusters``: of them.
        error: mean signed error in the group: judge minus reference, points (verdicts: share of steps called wrong
            minus the share that is).
        difference: error in the group minus that elsewhere.
    """

    column: str
    group: str
    videos: int
    clusters: int
    error: Estimate
    difference: Estimate


@dataclass(frozen=True)
class GroupBiases:
    """All groups of all columns."""

    groups: tuple[GroupBias, ...]
    caveat: str = field(
        default="Exploratory: groups were not assigned, and differ in more than their name. A difference in the "
        "judge's error may come from the reference. Intervals are not corrected for how many groups there are.",
        init=False,
    )


def group_biases(
    matrix: ScoreMatrix, columns: Mapping[str, Mapping[str, str]], *, resamples: int, seed: int
) -> GroupBiases:
    """Compare the judge's signed error between the groups of every column.

    Args:
        matrix: reference and judge.
        columns: by column, by video, the group that it belongs to; a video that is not named states none. Columns with
            fewer than two groups, or more than :data:`MOST_GROUPS`, are left out. Two groups are one contrast.
        resamples: of the bootstrap over clusters.
        seed: of the bootstrap.
    """
    error = signed_error(matrix)
    known, error = ~np.isnan(error), np.nan_to_num(error)
    sizes: dict[tuple[str, str], tuple[int, int]] = {}
    stats: dict[tuple[str, str, str], Stat] = {}
    for column, stated in columns.items():
        of = np.array([stated.get(video, "") for video in matrix.video_ids])
        kept = (of != "") & known
        names = sorted(set(of[kept].tolist()))
        if not 2 <= len(names) <= MOST_GROUPS:
            continue
        for name in names[1:] if len(names) == 2 else names:
            inside, outside = kept & (of == name), kept & (of != name)
            own, others = (ratio(error * side, side.astype(float)) for side in (inside, outside))
            stats[column, name, "error"], stats[column, name, "difference"] = own, difference(own, others)
            sizes[column, name] = int(inside.sum()), len(np.unique(matrix.cluster_numbers[inside]))
    found = estimate_stats(stats, matrix.cluster_numbers, resamples, seed) if stats else {}
    return GroupBiases(
        tuple(
            GroupBias(column, name, *size, found[column, name, "error"], found[column, name, "difference"])
            for (column, name), size in sizes.items()
        )
    )


def signed_error(matrix: ScoreMatrix) -> FloatArray:
    """Error of each video, ``float64[V]``: judge minus reference, points; verdicts: share called wrong minus wrong.

    NaN where it is not known.
    """
    if matrix.answer == "score":
        reference, judged = totals(matrix)
        return judged - reference
    known = matrix.counted & matrix.answered
    gap = np.where(known, matrix.predicted_wrong.astype(float) - matrix.reference_wrong, 0.0).sum(axis=1)
    error: FloatArray = np.divide(gap, known.sum(axis=1), out=np.full(len(gap), np.nan), where=known.any(axis=1))
    return error

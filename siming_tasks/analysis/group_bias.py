"""Bias by group: is the judge kinder to one site, sex, year or device than to another? Exploratory."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from siming_tasks.analysis.cluster_regression import fit
from siming_tasks.analysis.paired_tests import holm
from siming_tasks.metrics.correlation import totals
from siming_tasks.metrics.estimate import Estimate
from siming_tasks.metrics.resample import Clusters
from siming_tasks.metrics.score_matrix import BoolArray, FloatArray, ScoreMatrix
from siming_tasks.metrics.thresholds import FEWEST

MOST_GROUPS = 8
"""A column with more values than this is no grouping."""
FEWEST_CLUSTERS = 5
"""Clusters of a group below which it is counted and not compared."""


@dataclass(frozen=True)
class GroupBias:
    """Signed error of the judge in one group against all other videos that state the column.

    Attributes:
        column: name of the column; ``group``: its value.
        videos: of the group; ``clusters``: of them.
        error: mean signed error in the group: judge minus reference, points (verdicts: share of steps called wrong
            minus the share that is).
        difference: error in the group minus that elsewhere, with a cluster-robust t interval.
        p: two-sided; ``p_holm``: corrected over all groups of all columns. None where nothing is tested.
    """

    column: str
    group: str
    videos: int
    clusters: int
    error: Estimate
    difference: Estimate
    p: float | None
    p_holm: float | None


@dataclass(frozen=True)
class GroupBiases:
    """All groups of all columns; ``tests``: how many of them are one family of Holm's correction."""

    groups: tuple[GroupBias, ...]
    tests: int
    caveat: str = field(
        default="Exploratory: groups were not assigned, and differ in more than their name. A difference in the "
        "judge's error may come from the reference. Intervals are not corrected, p-values are, over all rows.",
        init=False,
    )


def group_biases(matrix: ScoreMatrix, columns: Mapping[str, Mapping[str, str]]) -> GroupBiases:
    """Compare the judge's signed error between the groups of every column.

    Args:
        matrix: reference and judge.
        columns: by column, by video, the group that it belongs to; a video that is not named states none. Columns with
            fewer than two groups, or more than :data:`MOST_GROUPS`, are left out. Two groups are one contrast.
    """
    error = signed_error(matrix)
    groups: list[GroupBias] = []
    for column, stated in columns.items():
        of = np.array([stated.get(video, "") for video in matrix.video_ids])
        kept = (of != "") & ~np.isnan(error)
        sizes = Counter(of[kept].tolist())
        if not 2 <= len(sizes) <= MOST_GROUPS:
            continue
        names = sorted(sizes)
        for name in names[1:] if len(names) == 2 else names:
            groups.append(_compare(column, name, error[kept], of[kept] == name, matrix.cluster_numbers[kept]))
    tested = [index for index, group in enumerate(groups) if group.p is not None]
    adjusted = holm(np.array([groups[index].p for index in tested], float)).tolist()
    for index, p in zip(tested, adjusted, strict=True):
        groups[index] = replace(groups[index], p_holm=p)
    return GroupBiases(tuple(groups), len(tested))


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


def _compare(column: str, name: str, error: FloatArray, inside: BoolArray, clusters: Clusters) -> GroupBias:
    """One group against the others, not yet corrected."""
    sizes = [len(np.unique(clusters[side])) for side in (inside, ~inside)]
    own = fit(error[inside], [], clusters[inside])
    both = fit(error, [inside.astype(float)], clusters)
    nothing = Estimate(None, n_videos=len(error), n_clusters=sum(sizes), reason="Too few videos to compare.")
    difference = both.estimate(1) if both else nothing
    enough = min(sizes) >= FEWEST_CLUSTERS and sum(sizes) >= FEWEST
    if not enough:
        difference = replace(difference, low=None, high=None)
    return GroupBias(
        column, name, int(inside.sum()), sizes[0], own.estimate(0) if own else nothing, difference,
        both.p_value(1) if both and enough else None, None,
    )  # fmt: skip

"""Groups: is the judge kinder to one site, year or device than to another? Exploratory."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

import numpy as np

from siming_tasks.benchmark.exams import Video
from siming_tasks.benchmark.metrics.classification import ratio
from siming_tasks.benchmark.metrics.correlation import totals
from siming_tasks.benchmark.metrics.estimate import Estimate, Rows
from siming_tasks.benchmark.metrics.formats import mean_of
from siming_tasks.benchmark.metrics.jackknife import Counted, jackknife
from siming_tasks.benchmark.metrics.reasons import Reason
from siming_tasks.benchmark.metrics.score_matrix import BoolArray, FloatArray, ScoreMatrix
from siming_tasks.study.analysis.tables import TableText, corrected

MOST_GROUPS = 8
"""A column with more values than this is not a grouping."""
FEWEST_INSIDE = 10
"""Clusters of a group, and of the others, below which their difference is neither tested nor given an interval."""

TABLES: Mapping[str, TableText] = {
    "groups": TableText(
        "Groups",
        "Signed error of the judge against {reference} by group: share of a video's points (judge minus reference), of "
        "verdicts share of steps called wrong minus wrong; groups differ in more than their name; p is by Holm.",
        {"error": "error", "difference": "difference from the others"},
    )
}


def groups(matrix: ScoreMatrix, columns: Mapping[str, Mapping[str, str]]) -> Rows:
    """Table ``groups``: a row ``column: group`` for every group of every column.

    ``error`` is the mean signed error in the group, ``difference`` that error minus the error in all other videos that
    state the column. Columns with one group or more than eight are left out. Two groups are one contrast, which is
    listed at the second. ``columns`` have by video the group that it belongs to; a video that is not named states none.
    """
    error = signed_error(matrix)
    rows: list[Estimate] = []
    for column, stated in columns.items():
        of = np.array([stated.get(video, "") for video in matrix.video_ids])
        kept: BoolArray = np.asarray((of != "") & ~np.isnan(error))
        names = sorted(set(of[kept].tolist()))
        if not 2 <= len(names) <= MOST_GROUPS:
            continue
        for name in names:
            row, inside = f"{column}: {name}", kept & (of == name)
            own = jackknife(_mean(error, inside), matrix).estimate()
            rows.append(own.at("groups", row, "error"))
            if len(names) > 2 or name == names[1]:
                rows.append(_difference(matrix, error, inside, kept & ~inside).at("groups", row, "difference"))
    return corrected(rows)


def grouping_columns(videos: Iterable[Video]) -> dict[str, dict[str, str]]:
    """By column that the data state (the site and every further one), by video, its value: text, whole numbers, yes."""
    columns: dict[str, dict[str, str]] = {}
    for video in videos:
        for column, value in {"site": video.site, **video.extra}.items():
            if isinstance(value, str | int):
                columns.setdefault(column, {})[video.video_id] = str(value)
    return columns


def signed_error(matrix: ScoreMatrix) -> FloatArray:
    """Error of each video, ``float64[V]``: judge minus reference, share of the points; NaN where it is not known.

    Of verdicts, the share of the judged steps called wrong minus the share that is.
    """
    if matrix.answer == "score":
        reference, judged = totals(matrix)
        return judged - reference
    known = matrix.counted & matrix.answered
    gap = np.where(known, matrix.predicted_wrong.astype(np.float64) - matrix.reference_wrong, 0.0).sum(axis=1)
    return ratio(gap, known.sum(axis=1).astype(np.float64))


def _mean(error: FloatArray, of: BoolArray) -> Counted:
    return mean_of(error[:, None], of[:, None], Reason.NOTHING_ANSWERED, (-1.0, 1.0))


def _difference(matrix: ScoreMatrix, error: FloatArray, inside: BoolArray, outside: BoolArray) -> Estimate:
    """Mean error inside minus that outside, tested if there are clusters enough on both sides."""
    found = jackknife(_mean(error, inside), matrix) - jackknife(_mean(error, outside), matrix)
    sizes = [len(set(np.asarray(matrix.clusters)[side])) for side in (inside, outside)]
    if min(sizes) >= FEWEST_INSIDE:
        return found.estimate(tested=True)
    why = f"Fewer than {FEWEST_INSIDE} {matrix.unit}s in the group or among the others: no interval."
    return replace(found.estimate(), stderr=None, low=None, high=None, why=why)

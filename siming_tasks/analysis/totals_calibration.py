"""Calibration of totals: does an examinee to whom the judge gives a total have that total by the reference?"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from siming_tasks.metrics.correlation import totals
from siming_tasks.metrics.estimate import Estimate
from siming_tasks.metrics.ratio_estimates import estimate_stats, ratio
from siming_tasks.metrics.score_matrix import ScoreMatrix

LEVELS = ("lowest third", "middle third", "highest third")
WHOLE = "all videos"


@dataclass(frozen=True)
class TotalsCalibration:
    """Mean of reference minus judge, in points: 0 if the judge is calibrated there.

    Attributes:
        whole: over all videos.
        levels: by third of the judge's totals.
    """

    whole: Estimate
    levels: Mapping[str, Estimate]
    caveat: str = field(
        default="0 is perfect. The thirds are those of the judge's totals: thirds of the reference would show "
        "regression to the mean in a judge that is calibrated. Thirds are exploratory: their intervals are not "
        "corrected for how many there are.",
        init=False,
    )


def totals_calibration(matrix: ScoreMatrix, *, resamples: int, seed: int) -> TotalsCalibration | None:
    """Calibration of a judge's totals (points); None for verdicts, which have no totals in points.

    Args:
        matrix: reference and judge.
        resamples: of the bootstrap over clusters.
        seed: of the bootstrap.
    """
    if matrix.answer != "score":
        return None
    reference, judged = totals(matrix)
    gap = reference - judged
    known, gap = ~np.isnan(gap), np.nan_to_num(gap)
    rows = np.flatnonzero(known)
    rows = rows[np.lexsort((np.array(matrix.video_ids)[rows], judged[rows]))]
    third = np.full(len(gap), -1)
    third[rows] = np.arange(len(rows)) * 3 // max(1, len(rows))
    # equal totals belong to one level: that of the first of them
    third[rows] = [third[rows][judged[rows] == total].min() for total in judged[rows]]
    parts = {WHOLE: known} | {name: third == level for level, name in enumerate(LEVELS)}
    stats = {name: ratio(gap * part, part.astype(float), "No video.") for name, part in parts.items()}
    found = estimate_stats(stats, matrix.cluster_numbers, resamples, seed)
    return TotalsCalibration(found.pop(WHOLE), found)

"""Calibration of totals: does an examinee to whom the judge gives a total have that total by the reference?"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from siming_tasks.analysis.cluster_regression import fit
from siming_tasks.metrics.correlation import totals
from siming_tasks.metrics.estimate import Estimate
from siming_tasks.metrics.resample import Clusters
from siming_tasks.metrics.score_matrix import FloatArray, ScoreMatrix

LEVELS = ("lowest third", "middle third", "highest third")

_NO_LINE = "Fewer than three videos with both totals, or the judge's totals are all equal: there is no line."


@dataclass(frozen=True)
class CalibrationLine:
    """Reference total on the judge's total, least squares with errors over clusters.

    Attributes:
        slope: 1 if calibrated; below 1 the judge's totals are spread too widely, or are noise.
        intercept: reference total, in points, where the judge gives none: far from any total, and tied to the slope.
        offset: reference total less the judge's at its mean total: 0 if calibrated at large.
    """

    slope: Estimate
    intercept: Estimate
    offset: Estimate


@dataclass(frozen=True)
class TotalsCalibration:
    """Calibration over all videos, per site, and by level of the judge's total.

    Attributes:
        whole: line of all videos.
        sites: by site, the line of its videos; empty with fewer than two sites.
        levels: by third of the judge's totals, mean of reference minus judge, points; 0 if calibrated there.
    """

    whole: CalibrationLine
    sites: Mapping[str, CalibrationLine]
    levels: Mapping[str, Estimate]
    caveat: str = field(
        default="Slope 1 and offset 0 are perfect. The thirds are those of the judge's totals: thirds of the reference "
        "would show regression to the mean in a judge that is calibrated. Lines of single sites and thirds are "
        "exploratory: their intervals are not corrected for how many there are.",
        init=False,
    )


def totals_calibration(matrix: ScoreMatrix, sites: Mapping[str, str | None]) -> TotalsCalibration | None:
    """Calibration of a judge's totals (points); None for verdicts, which have no totals in points.

    ``sites``: by video, the name of its site, or None.
    """
    if matrix.answer != "score":
        return None
    reference, judged = totals(matrix)
    known = ~np.isnan(reference) & ~np.isnan(judged)
    x, y, clusters = judged[known], reference[known], matrix.cluster_numbers[known]
    names = np.array([sites.get(video) or "" for video, keep in zip(matrix.video_ids, known, strict=True) if keep])
    of_site = {str(name): names == name for name in np.unique(names) if name}
    thirds = np.empty(len(x), dtype=np.intp)
    thirds[np.lexsort((np.array(matrix.video_ids)[known], x))] = np.arange(len(x)) * 3 // max(1, len(x))
    # equal totals belong to one level: that of the first of them
    thirds = np.array([thirds[x == total].min() for total in x], dtype=np.intp)
    return TotalsCalibration(
        whole=_line(x, y, clusters),
        sites={name: _line(x[of], y[of], clusters[of]) for name, of in of_site.items()} if len(of_site) > 1 else {},
        levels={
            name: _mean(y[thirds == level] - x[thirds == level], clusters[thirds == level])
            for level, name in enumerate(LEVELS)
        },
    )


def _line(x: FloatArray, y: FloatArray, clusters: Clusters) -> CalibrationLine:
    middle = x.mean() if len(x) else 0.0
    varies = len(x) > 2 and np.ptp(x) > 0
    line, centred = (fit(y - at, [x - at], clusters) if varies else None for at in (0.0, middle))
    if line is None or centred is None:
        nothing = Estimate(None, n_videos=len(x), n_items=len(x), reason=_NO_LINE)
        return CalibrationLine(nothing, nothing, nothing)
    return CalibrationLine(line.estimate(1), line.estimate(0), centred.estimate(0))


def _mean(values: FloatArray, clusters: Clusters) -> Estimate:
    found = fit(values, [], clusters) if len(values) > 1 else None
    return found.estimate(0) if found else Estimate(None, n_videos=len(values), reason="Fewer than two videos.")

"""Claims of the paper as numbers: totals against steps, full video against clip, points against verdicts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from siming_tasks.benchmark.metrics.catalogue import CATALOGUE, TotalsCorrelation, select
from siming_tasks.benchmark.metrics.classification import ratio
from siming_tasks.benchmark.metrics.correlation import totals
from siming_tasks.benchmark.metrics.estimate import Rows
from siming_tasks.benchmark.metrics.jackknife import Counted, jackknife
from siming_tasks.benchmark.metrics.reasons import Reason
from siming_tasks.benchmark.metrics.score_matrix import FloatArray, ScoreMatrix
from siming_tasks.common.choices import LabelMapping
from siming_tasks.study.analysis.pairs import aligned, as_points, kappa, paired_rows, same_answer, side_by_side
from siming_tasks.study.analysis.tables import TableText, table_row

_METRICS = {key: CATALOGUE[key].label for key in select(compared=True)}

TABLES: Mapping[str, TableText] = {
    "totals and steps": TableText(
        "Totals against steps",
        "Correlation of totals with {reference}, the correlation that the agreement on the steps implies if errors are "
        "independent, and the excess: above 0 an overall impression, below 0 errors that accumulate within a video.",
        {"plcc": "PLCC", "implied": "implied by the steps", "excess": "excess"},
    ),
    "full video and clip": TableText(
        "Full video against clip",
        "One judge against {reference} on the steps that both settings asked about, in the same videos, a missing "
        "answer counting as full points or correct; differences are paired.",
        _METRICS,
    ),
    "points and verdicts": TableText(
        "Points against verdicts",
        "The verdicts that one judge's points imply and those that it gave: with each other where it answered both, "
        "and each against {reference}, a missing answer counting as correct.",
        {"kappa": "kappa", "same": "the same", **{key: _METRICS[key] for key in select("error", compared=True)}},
    ),
}


def totals_and_steps(matrix: ScoreMatrix) -> Rows:
    """Table ``totals and steps`` of a judge; none for verdicts, which have no totals."""
    if matrix.answer != "score":
        return Rows()
    plcc, implied = (jackknife(each, matrix) for each in (TotalsCorrelation(ranks=False), implied_by_steps(matrix)))
    rows = table_row("totals and steps", "judge", {"plcc": plcc, "implied": implied})
    return rows + table_row("totals and steps", "judge", {"excess": plcc - implied}, tested=True)


def implied_by_steps(matrix: ScoreMatrix) -> Counted:
    """Correlation of the totals that the agreement on the steps implies: ``r g / sqrt(1 - r^2 + r^2 g^2)``.

    r is the correlation of points around each step's mean, pooled over the steps. g^2 is the variance of the
    reference's totals (in points) over the sum of the steps' variances; above 1 if good trainees are good throughout.
    It is the correlation of the totals of a judge that follows every step equally well and errs independently. NaN
    where a side does not vary.
    """
    both = matrix.counted & matrix.answered
    x, y = (np.where(both, side, 0.0) for side in (matrix.reference, matrix.predicted))
    total = totals(matrix)[0] * matrix.max_score[matrix.counted.any(axis=0)].sum()
    whole = np.stack([~np.isnan(total), np.nan_to_num(total), np.nan_to_num(total) ** 2], axis=1)
    products = np.stack([(a * b).sum(axis=1) for a, b in ((x, x), (y, y), (x, y))], axis=1)
    counts = np.concatenate([whole, products, both, x, y, x * x], axis=1)

    def implied(sums: FloatArray) -> FloatArray:
        number, mean, square, xx, yy, xy = np.moveaxis(sums[..., :6], -1, 0)
        n, of_x, of_y, of_xx = np.split(sums[..., 6:], 4, axis=-1)
        n = np.maximum(n, 1)
        of_steps = (of_xx / n - (of_x / n) ** 2).sum(axis=-1)
        xx, yy, xy = (
            p - (a * b / n).sum(axis=-1) for p, a, b in ((xx, of_x, of_x), (yy, of_y, of_y), (xy, of_x, of_y))
        )
        scale = np.sqrt(np.where(np.minimum(xx, yy) > 1e-9, xx * yy, 0.0))  # 1e-9: rounding, not variation
        r, g = ratio(xy, scale), np.sqrt(np.maximum(ratio(square / number - (mean / number) ** 2, of_steps), 0.0))
        return r * g / np.sqrt(1 - r**2 + (r * g) ** 2)

    why = "Undefined (0/0): the reference or the judge does not vary."
    return Counted(lambda m: counts, implied, lambda sums: why if sums.any() else Reason.NOTHING_ANSWERED)


def full_video_and_clip(full: ScoreMatrix, clip: ScoreMatrix, *, mapping: LabelMapping = "absolute") -> Rows:
    """Table ``full video and clip``: one judge in both settings, and the clip minus the full video.

    Raises:
        DataError: they share no video or step, or are scored against different labels.
    """
    names, metrics = ("full video", "clip", "clip - full video"), select(full.answer, compared=True)
    a, b = aligned(full, clip)
    return paired_rows("full video and clip", names, a, b, metrics, ranked=True, mapping=mapping)


def points_and_verdicts(points: ScoreMatrix, verdicts: ScoreMatrix) -> Rows:
    """Table ``points and verdicts``: the verdicts that a judge's points imply and those that it gave.

    Points below the maximum imply "wrong".

    Raises:
        DataError: they share no video or step, or are scored against different labels.
    """
    said = np.where(np.isnan(points.predicted), np.nan, points.predicted_wrong)
    implied, given = aligned(replace(points, answer="error", predicted=said), verdicts)
    each_other = side_by_side(given, as_points(implied), as_points(given))
    nothing = "No step was answered in both settings."
    statistics = {"kappa": kappa(nothing=nothing), "same": same_answer(nothing)}
    found = {key: jackknife(each, each_other) for key, each in statistics.items()}
    rows = table_row("points and verdicts", "with each other", found)
    names = ("verdicts of the points", "verdicts", "verdicts - verdicts of the points")
    metrics = select("error", compared=True)
    return rows + paired_rows("points and verdicts", names, implied, given, metrics, ranked=True)

"""Claims of the paper as numbers: totals against steps, full video against clip, points against verdicts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from siming_tasks.analysis.pairs import aligned, as_points, kappa, paired_rows, same_answer, side_by_side
from siming_tasks.analysis.tables import TableText, table_row
from siming_tasks.metrics.catalogue import CATALOGUE, NOTHING, TotalsCorrelation, select
from siming_tasks.metrics.classification import Positive, ratio
from siming_tasks.metrics.correlation import totals
from siming_tasks.metrics.estimate import Rows
from siming_tasks.metrics.jackknife import Counted, jackknife
from siming_tasks.metrics.labels import LabelMapping, ordinal_labels
from siming_tasks.metrics.score_matrix import FloatArray, ScoreMatrix

PARTS = ("prior", "video", "local", "total")
_METRICS = {key: CATALOGUE[key].label for key in select(compared=True)}

TABLES: Mapping[str, TableText] = {
    "totals and steps": TableText(
        "Totals against steps",
        "Correlation of totals with {reference}, the correlation that the agreement on the steps implies if errors are "
        "independent, and the excess: above 0 an overall impression, below 0 errors that pile up within a video.",
        {"plcc": "PLCC", "implied": "implied by the steps", "excess": "excess"},
    ),
    "parts of the agreement": TableText(
        "Parts of the agreement",
        "Kappa (of verdicts MCC) with {reference} as a sum: what is known of each step without any video (prior), an "
        "overall impression of each video, and the rest, this step in this video (local).",
        {"prior": "prior", "video": "video", "local": "local", "total": "sum"},
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


def totals_and_steps(matrix: ScoreMatrix, *, mapping: LabelMapping = "absolute") -> Rows:
    """Tables ``totals and steps`` (points only) and ``parts of the agreement`` of a judge."""
    rows = Rows()
    if matrix.answer == "score":
        plcc, implied = (jackknife(each, matrix) for each in (TotalsCorrelation(ranks=False), implied_by_steps(matrix)))
        rows += table_row("totals and steps", "judge", {"plcc": plcc, "implied": implied})
        rows += table_row("totals and steps", "judge", {"excess": plcc - implied}, tested=True)
    parts = {part: jackknife(part_of_agreement(matrix, part, mapping), matrix) for part in PARTS}
    return rows + table_row("parts of the agreement", "judge", parts)


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

    why = "The reference or the judge does not vary: 0/0."
    return Counted(lambda m: counts, implied, lambda sums: why if sums.any() else NOTHING)


def part_of_agreement(matrix: ScoreMatrix, part: str, mapping: LabelMapping = "absolute") -> Counted:
    """One of :data:`PARTS` of kappa (points) or MCC (verdicts), which are covariances over one denominator.

    *prior* is the expectation when the answers to each step are shuffled between videos, *video* when the answers of
    each video are shuffled between steps, *local* the rest. Without missing answers they are the between-step,
    between-video and interaction parts of a two-way analysis of covariance; with missing ones the sum is still exact.
    """
    both = matrix.counted & matrix.answered
    sides: list[Any] = [matrix.reference_wrong, matrix.predicted_wrong]
    if matrix.answer == "score":
        sides = [ordinal_labels(side, matrix.max_score, mapping) for side in (matrix.reference, matrix.predicted)]
    x, y = (np.where(both, side, 0).astype(np.float64) for side in sides)
    n, sum_x, sum_y = both.sum(axis=1).astype(np.float64), x.sum(axis=1), y.sum(axis=1)
    impression = np.nan_to_num(ratio(sum_x * sum_y, n))
    products = [(a * b).sum(axis=1) for a, b in ((x, x), (y, y), (x, y))]
    counts = np.concatenate([np.stack([n, sum_x, sum_y, *products, impression], axis=1), both, x, y], axis=1)
    function = partial(_part, part=part, is_kappa=matrix.answer == "score")
    return Counted(
        lambda m: counts, function, lambda sums: "A side has one and the same label: 0/0." if sums.any() else NOTHING
    )


def _part(sums: FloatArray, part: str, is_kappa: bool) -> FloatArray:
    n, x, y, xx, yy, xy, impression = np.moveaxis(sums[..., :7], -1, 0)
    of_n, of_x, of_y = np.split(sums[..., 7:], 3, axis=-1)
    chance, by_step = x * y / n, np.nan_to_num(ratio(of_x * of_y, of_n)).sum(axis=-1)
    var_x, var_y = n * xx - x * x, n * yy - y * y
    scale = (var_x + var_y + (x - y) ** 2) / 2 if is_kappa else np.sqrt(var_x) * np.sqrt(var_y)
    prior, video = by_step - chance, impression - chance
    covariance = {"prior": prior, "video": video, "local": xy - chance - prior - video, "total": xy - chance}[part]
    return ratio(n * covariance, scale)


def full_video_and_clip(
    full: ScoreMatrix, clip: ScoreMatrix, *, mapping: LabelMapping = "absolute", positive: Positive = "error"
) -> Rows:
    """Table ``full video and clip``: one judge in both settings, and the clip minus the full video.

    Raises:
        DataError: they share no video or step, or are held against different labels.
    """
    names, metrics = ("full video", "clip", "clip - full video"), select(full.answer, compared=True)
    a, b = aligned(full, clip)
    return paired_rows("full video and clip", names, a, b, metrics, ranked=True, mapping=mapping, positive=positive)


def points_and_verdicts(points: ScoreMatrix, verdicts: ScoreMatrix, *, positive: Positive = "error") -> Rows:
    """Table ``points and verdicts``: the verdicts that a judge's points imply and those that it gave.

    Points below the maximum imply "wrong".

    Raises:
        DataError: they share no video or step, or are held against different labels.
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
    return rows + paired_rows("points and verdicts", names, implied, given, metrics, ranked=True, positive=positive)

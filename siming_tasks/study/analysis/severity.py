"""Severity: totals of the judge minus those of the reference, and how many steps each calls wrong.

Correlations do not change when every total is shifted; the result of an exam does.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

import numpy as np

from siming_tasks.benchmark.metrics.catalogue import share_of
from siming_tasks.benchmark.metrics.classification import ratio
from siming_tasks.benchmark.metrics.correlation import totals
from siming_tasks.benchmark.metrics.estimate import Rows
from siming_tasks.benchmark.metrics.formats import mean_of
from siming_tasks.benchmark.metrics.jackknife import Counted, Statistic, jackknife
from siming_tasks.benchmark.metrics.reasons import Reason
from siming_tasks.benchmark.metrics.score_matrix import FloatArray, ScoreMatrix
from siming_tasks.study.analysis.pairs import Raters, rater_pairs
from siming_tasks.study.analysis.tables import TableText, table_row

JUDGE = "judge - reference"
WIDTH = 1.96
"""Standard deviations on either side of the mean, as in Bland and Altman's limits of agreement."""
_NOISE = 1e-12

TABLES: Mapping[str, TableText] = {
    "severity": TableText(
        "Severity",
        "The first of each row minus the second: totals as shares of a video's points, and shares of steps; the "
        "limits contain 95 % of the differences if these are near normal.",
        {"bias": "bias of totals", "sd": "sd", "lower": "lower limit", "upper": "upper limit",
         "icc": "ICC(A,1)", "called_wrong": "called wrong",
         "prevalence": "wrong in the reference", "offset": "difference"},
    )
}  # fmt: skip


def severity(matrix: ScoreMatrix, raters: Raters | None = None) -> Rows:
    """Table ``severity``: a row for the judge and one for each pair of physicians, second minus first.

    Of totals (shares of the points; verdicts have none): ``bias`` and ``sd`` of the differences, their limits of
    agreement bias -+ 1.96 sd (Bland & Altman 1999) and ``icc``: ICC(A,1) (McGraw & Wong 1996). Of the steps that both
    sides judged: ``called_wrong``, ``prevalence`` (wrong in the reference) and ``offset``, their difference.
    """
    rows = Rows()
    for name, side in {JUDGE: matrix, **rater_pairs(matrix, raters or {})}.items():
        gap = side.predicted_wrong.astype(np.float64) - side.reference_wrong
        found: dict[str, Statistic] = {**_of_totals(side)} if side.answer == "score" else {}
        both, nothing = side.counted & side.answered, Reason.NOTHING_ANSWERED
        found["called_wrong"] = share_of(lambda m: m.predicted_wrong, lambda m, of=both: of, nothing)  # type: ignore[misc]
        found["prevalence"] = share_of(lambda m: m.reference_wrong, lambda m, of=both: of, nothing)  # type: ignore[misc]
        found["offset"] = mean_of(gap, both, nothing, (-1.0, 1.0))
        rows += table_row("severity", name, {key: jackknife(each, side) for key, each in found.items()})
    return rows


def _of_totals(matrix: ScoreMatrix) -> dict[str, Counted]:
    reference, judged = totals(matrix)
    known = ~np.isnan(reference)
    middle = np.median(np.concatenate([reference[known], judged[known]])) if known.any() else 0.0
    x, y = judged - middle, reference - middle  # near 0, so that sums of squares stay exact
    sums = np.stack([np.ones_like(x), x, y, x * x, y * y, x * y], axis=1)
    sums = np.where(known[:, None], sums, 0.0)

    def why(whole: FloatArray) -> str:
        few = whole[0] < 3
        return "Fewer than three videos have both totals." if few else "Undefined (0/0): the totals do not vary."

    return {name: Counted(lambda m: sums, partial(_value, name=name), why, bounds) for name, bounds in _BOUNDS.items()}


def _value(sums: FloatArray, name: str) -> FloatArray:
    """One of the values, from sums of videos, judge, reference, their squares and product, ``float[..., 6]``."""
    n, sx, sy, sxx, syy, sxy = np.moveaxis(sums, -1, 0)
    n = np.where(n > 2, n, np.nan)
    vx, vy, cov = (sxx - sx * sx / n) / (n - 1), (syy - sy * sy / n) / (n - 1), (sxy - sx * sy / n) / (n - 1)
    vx, vy = (np.where(variance < _NOISE, 0.0, variance) for variance in (vx, vy))
    bias, square = (sx - sy) / n, vx + vy - 2 * cov
    sd = np.sqrt(np.where(square < _NOISE, 0.0, square))
    varies, rows, rest, columns = vx + vy > 0, (vx + vy) / 2 + cov, (vx + vy) / 2 - cov, n * bias**2 / 2
    values: dict[str, FloatArray] = {
        "bias": bias,
        "sd": sd,
        "lower": bias - WIDTH * sd,
        "upper": bias + WIDTH * sd,
        "icc": np.where(varies, ratio(rows - rest, rows + rest + 2 / n * (columns - rest)), np.nan),
    }
    return values[name]


_ANY = (-np.inf, np.inf)
_BOUNDS: Mapping[str, tuple[float, float]] = {
    "bias": (-1.0, 1.0), "sd": (0.0, np.inf), "lower": _ANY, "upper": _ANY, "icc": (-1.0, 1.0),
}  # fmt: skip

"""Agreed and disputed steps: how the judge does where the physicians had agreed, and where they had not."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from siming_tasks.benchmark.metrics.catalogue import share_of
from siming_tasks.benchmark.metrics.estimate import Rows
from siming_tasks.benchmark.metrics.jackknife import jackknife
from siming_tasks.benchmark.metrics.score_matrix import BoolArray, ScoreMatrix
from siming_tasks.study.analysis.pairs import Raters, is_same
from siming_tasks.study.analysis.tables import TableText, table_row

AGREED, DISPUTED, CONTRAST = "agreed", "disputed", "agreed - disputed"
TABLES: Mapping[str, TableText] = {
    "agreed and disputed steps": TableText(
        "Agreed and disputed steps",
        "Share of the answers that equal {reference}, on the steps to which all physicians who scored them gave the "
        "same points (or verdict) and on the others; steps that fewer than two physicians scored are left out.",
        {"same": "the same", "share": "share of the steps"},
    ),
}


def disputed_steps(matrix: ScoreMatrix, points: Raters) -> Rows:
    """Table ``agreed and disputed steps`` of a judge; none where no step was scored by two physicians.

    Accuracy, and not kappa: on disputed steps the reference itself is a compromise.

    Args:
        matrix: reference and judge; unanswered steps are passed over.
        points: of each physician, ``float[V, S]``.
    """
    agreed, disputed = agreement(matrix, points)
    both = agreed | disputed
    if not (both & matrix.counted).any():
        return Rows()
    known, rows, same = matrix.counted & matrix.answered, Rows(), {}
    for name, part in ((AGREED, agreed), (DISPUTED, disputed)):
        nothing = f"No step on which the physicians {'agreed' if part is agreed else 'differed'} was answered."
        same[name] = jackknife(share_of(is_same, lambda m, of=known & part: of, nothing), matrix)  # type: ignore[misc]
        share = share_of(lambda m, of=part: of, lambda m: both & m.counted, nothing)  # type: ignore[misc]
        rows += table_row("agreed and disputed steps", name, {"same": same[name], "share": jackknife(share, matrix)})
    contrast = {"same": same[AGREED] - same[DISPUTED]}
    return rows + table_row("agreed and disputed steps", CONTRAST, contrast, tested=True)


def agreement(matrix: ScoreMatrix, points: Raters) -> tuple[BoolArray, BoolArray]:
    """Steps that two or more physicians scored: those scored alike and the others, ``bool[V, S]`` each."""
    if len(points) < 2:
        return np.zeros_like(matrix.asked), np.zeros_like(matrix.asked)
    given = np.stack([*points.values()])
    if matrix.answer == "error":
        given = np.where(np.isnan(given), np.nan, np.less(given, matrix.max_score))
    scored = ~np.isnan(given)
    several = scored.sum(axis=0) >= 2
    alike = np.where(scored, given, -np.inf).max(axis=0) == np.where(scored, given, np.inf).min(axis=0)
    return several & alike, several & ~alike

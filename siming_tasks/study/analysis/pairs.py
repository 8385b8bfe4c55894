"""Two sides side by side: kappa of their labels, physicians as each other's judges, two matrices metric by metric."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import combinations

import numpy as np

from siming_tasks.benchmark.metrics.alignment import ComparisonEntry, align
from siming_tasks.benchmark.metrics.catalogue import counted_codes, share_of, statistic
from siming_tasks.benchmark.metrics.estimate import Rows
from siming_tasks.benchmark.metrics.jackknife import Counted, jackknife
from siming_tasks.benchmark.metrics.labels import ordinal_labels, qwk
from siming_tasks.benchmark.metrics.reasons import Reason
from siming_tasks.benchmark.metrics.score_matrix import BoolArray, FloatArray, ScoreMatrix
from siming_tasks.benchmark.metrics.thresholds import COMPARABLE
from siming_tasks.common.choices import LabelMapping
from siming_tasks.study.analysis.tables import table_row

Raters = Mapping[str, FloatArray]
"""Points of each physician in the order of a matrix, ``float[V, S]``; NaN: not scored."""


def side_by_side(matrix: ScoreMatrix, first: FloatArray, second: FloatArray) -> ScoreMatrix:
    """Someone's points as the judge of someone else's, ``float[V, S]`` each, where the matrix asks and both are there.

    Of a matrix of verdicts, points below the maximum are the verdict "wrong".
    """
    asked = matrix.asked & ~np.isnan(first) & ~np.isnan(second)
    said = second if matrix.answer == "score" else np.less(second, matrix.max_score).astype(np.float64)
    return replace(matrix, reference=first, predicted=np.where(asked, said, np.nan), asked=asked)


def as_points(matrix: ScoreMatrix) -> FloatArray:
    """The judge's answers as points, ``float[V, S]``: verdicts as none and full points; NaN where it did not answer."""
    verdicts = np.where(matrix.predicted == 1, 0.0, matrix.max_score)
    return np.where(matrix.answered, matrix.predicted if matrix.answer == "score" else verdicts, np.nan)


def rater_pairs(matrix: ScoreMatrix, raters: Raters) -> dict[str, ScoreMatrix]:
    """Every pair of physicians, the second as the judge and the first as the reference, by ``second - first``.

    Over the steps of the matrix that count and that both scored.
    """
    pairs, due = combinations(raters.items(), 2), replace(matrix, asked=matrix.counted)
    return {f"{b} - {a}": side_by_side(due, first, second) for (a, first), (b, second) in pairs}


def added(statistic: Counted, matrices: Iterable[ScoreMatrix]) -> Counted:
    """The statistic of the counts of several matrices over the same videos, added up."""
    counts = sum(statistic.counts(matrix) for matrix in matrices)
    return replace(statistic, counts=lambda matrix: np.asarray(counts))


def kappa(
    mapping: LabelMapping = "absolute", of: BoolArray | None = None, nothing: str = Reason.NOTHING_ANSWERED
) -> Counted:
    """Quadratic kappa of the labels of equation 3, of verdicts Cohen's, of the steps ``of``, ``bool[V, S]``; None: all.

    ``nothing``: why there is none where no step is ``of`` them.
    """

    def counts(matrix: ScoreMatrix) -> FloatArray:
        known = matrix.counted & matrix.answered & (True if of is None else of)
        if matrix.answer == "error":
            return counted_codes(matrix.reference_wrong, matrix.predicted_wrong, known, 4)
        x, y = (ordinal_labels(side, matrix.max_score, mapping) for side in (matrix.reference, matrix.predicted))
        return counted_codes(x, y, known, 4)

    one_label = "Undefined (0/0): both sides give the same single label everywhere."
    return Counted(counts, qwk, lambda sums: one_label if sums.any() else nothing)


def is_same(matrix: ScoreMatrix) -> BoolArray:
    """Steps whose answer equals the reference, ``bool[V, S]``: the same points, or the same verdict."""
    points = matrix.reference == matrix.predicted
    return points if matrix.answer == "score" else np.equal(matrix.reference_wrong, matrix.predicted_wrong)


def same_answer(nothing: str = Reason.NOTHING_ANSWERED) -> Counted:
    """Share of the steps with the same points, or the same verdict."""
    return share_of(is_same, lambda matrix: matrix.counted & matrix.answered, nothing)


def aligned(*matrices: ScoreMatrix) -> list[ScoreMatrix]:
    """The matrices over the videos and steps that all asked about (DataError: none, or their labels differ)."""
    entries = [ComparisonEntry(f"run {number}", matrix) for number, matrix in enumerate(matrices, 1)]
    return [entry.panel for entry in align(entries, allow=("videos", "steps"))]


def paired_rows(
    table: str, names: tuple[str, str, str], before: ScoreMatrix, after: ScoreMatrix, metrics: Sequence[str],
    *, ranked: bool, mapping: LabelMapping = "absolute",
) -> Rows:  # fmt: skip
    """Three rows: two matrices over the same questions, and the second minus the first, paired and tested.

    ``ranked``: a missing answer counts as full points or "correct". Below 95 % answered the rows are marked, and the
    difference is not tested.
    """
    comparable = min(before.answered_share, after.answered_share) >= COMPARABLE
    sides = [side.imputed() if ranked else side for side in (before, after)]
    first, second = ({key: jackknife(statistic(key, mapping), side) for key in metrics} for side in sides)
    change = {key: second[key] - first[key] for key in metrics}
    rows = table_row(table, names[0], first) + table_row(table, names[1], second)
    rows += table_row(table, names[2], change, tested=comparable)
    flag = () if comparable else ("not-comparable",)
    return Rows(each if each.value is None else replace(each, flags=(*each.flags, *flag)) for each in rows)

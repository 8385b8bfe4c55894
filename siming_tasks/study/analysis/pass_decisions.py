"""Pass decisions: pass or fail by a share of the points, and no must-pass step failed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from siming_tasks.benchmark.metrics.catalogue import share_of
from siming_tasks.benchmark.metrics.correlation import totals
from siming_tasks.benchmark.metrics.estimate import Rows
from siming_tasks.benchmark.metrics.jackknife import jackknife
from siming_tasks.benchmark.metrics.score_matrix import BoolArray, FloatArray, ScoreMatrix
from siming_tasks.benchmark.rubrics import Rubric
from siming_tasks.common.errors import DataError
from siming_tasks.study.analysis.history import rubric_steps
from siming_tasks.study.analysis.pairs import Raters, added, kappa, same_answer
from siming_tasks.study.analysis.tables import TableText, table_row

PASS_MARK = 0.8
"""Share of the points that passes, unless a study states another."""
Decisions = NDArray[np.int8]
NEITHER = "No video was decided by both."
NOBODY = ("No examinee fails by the reference.", "No examinee passes by the reference.")

TABLES: Mapping[str, TableText] = {
    "decisions": TableText(
        "Pass decisions",
        "The judge against {reference}, and the physicians against each other (all pairs added up); pass mark and "
        "must-pass steps are the study's, and every number changes with them.",
        {"pass_reference": "pass by the reference", "pass_judge": "pass by the judge", "false_pass": "false pass",
         "false_fail": "false fail", "missed_must_pass": "failed must-pass steps missed", "agreement": "decided alike",
         "kappa": "kappa"},
    )
}  # fmt: skip


def pass_decisions(
    matrix: ScoreMatrix, rubric: Rubric, raters: Raters | None = None, *, pass_mark: float = PASS_MARK
) -> Rows:
    """Table ``decisions``: a row for the judge and one for the physicians; none for verdicts, which have no points.

    Over the videos that both sides decided (:func:`decide`). ``false_pass`` is the share of examinees who fail by the
    reference and pass by the judge, ``false_fail`` the reverse, ``missed_must_pass`` the share of must-pass steps
    (the rubric's critical ones) without points in the reference to which the judge gives some.

    Raises:
        DataError: the pass mark is not above 0 and at most 1, or the rubric lacks a step of the matrix.
    """
    if not 0 < pass_mark <= 1:
        raise DataError(f"pass mark is {pass_mark:g}; give the share of points that passes, above 0 and at most 1.")
    if matrix.answer != "score":
        return Rows()
    really, judged = (decide(matrix, side, rubric, pass_mark) for side in (matrix.reference, matrix.predicted))
    known, must = matrix.counted & matrix.answered, _must_pass(matrix, rubric)
    exams = _side_by_side(matrix, really, judged)
    alike = {"agreement": same_answer(NEITHER), "kappa": kappa(nothing=NEITHER)}
    found = {
        "pass_reference": share_of(lambda m: ~m.reference_wrong, lambda m: m.asked, NEITHER),
        "pass_judge": share_of(lambda m: ~m.predicted_wrong, lambda m: m.asked, NEITHER),
        "false_pass": share_of(lambda m: ~m.predicted_wrong, lambda m: m.asked & m.reference_wrong, NOBODY[0]),
        "false_fail": share_of(lambda m: m.predicted_wrong, lambda m: m.asked & ~m.reference_wrong, NOBODY[1]),
        **alike,
    }
    missed = share_of(
        lambda m: m.predicted > 1e-9, lambda m: known & must & (m.reference <= 1e-9), "No must-pass step is failed."
    )
    rows = table_row("decisions", "judge", {key: jackknife(each, exams) for key, each in found.items()})
    rows += table_row("decisions", "judge", {"missed_must_pass": jackknife(missed, matrix)})
    decided = [decide(matrix, points, rubric, pass_mark) for points in (raters or {}).values()]
    if pairs := [_side_by_side(matrix, a, b) for a, b in combinations(decided, 2)]:
        of_pairs = {key: jackknife(added(each, pairs), matrix) for key, each in alike.items()}
        rows += table_row("decisions", "physicians", of_pairs)
    return rows


def _side_by_side(matrix: ScoreMatrix, first: Decisions, second: Decisions) -> ScoreMatrix:
    """Decisions as points of a single step of one point, where both decided."""
    a, b = (np.where(side < 0, np.nan, side)[:, None] for side in (first, second))
    one = matrix.subset(matrix.step_ids[:1])
    return replace(one, max_score=np.ones(1), reference=a, predicted=b, asked=~np.isnan(a + b))


def decide(matrix: ScoreMatrix, points: FloatArray, rubric: Rubric, pass_mark: float = PASS_MARK) -> Decisions:
    """Decision on every exam by someone's points: 1 is pass, 0 fail, -1 none, ``int8[V]``.

    Points are ``float[V, S]`` in the matrix's order, NaN where there are none. A must-pass step without points, or
    points for fewer than 80 % of the steps that count, leave an exam undecided.
    """
    scored, must = matrix.predicting(points), _must_pass(matrix, rubric)
    total = totals(scored)[1]
    undecided = np.isnan(total) | (scored.counted & ~scored.answered & must).any(axis=1)
    failed = (scored.counted & (scored.predicted <= 1e-9) & must).any(axis=1)
    return np.where(undecided, -1, (total >= pass_mark - 1e-9) & ~failed).astype(np.int8)


def _must_pass(matrix: ScoreMatrix, rubric: Rubric) -> BoolArray:
    return np.array([step.critical for step in rubric_steps(matrix, rubric)], dtype=bool)

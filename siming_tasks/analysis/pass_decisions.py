"""Pass decisions: pass or fail by a share of the points, and no must-pass step failed."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from siming_tasks.analysis.history import rubric_steps
from siming_tasks.analysis.pairs import ONE_LABEL, Raters
from siming_tasks.analysis.tables import TableText, table_row
from siming_tasks.common.errors import DataError
from siming_tasks.metrics.catalogue import counted_codes, share_of
from siming_tasks.metrics.classification import ratio
from siming_tasks.metrics.correlation import totals
from siming_tasks.metrics.estimate import Rows
from siming_tasks.metrics.jackknife import Counted, Jackknifed, jackknife
from siming_tasks.metrics.labels import qwk
from siming_tasks.metrics.score_matrix import BoolArray, FloatArray, ScoreMatrix
from siming_tasks.rubrics import Rubric

PASS_MARK = 0.8
"""Share of the points that passes, unless a study states another."""
Decisions = NDArray[np.int8]

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
    both, must = (really >= 0) & (judged >= 0), _must_pass(matrix, rubric)
    known = matrix.counted & matrix.answered & must
    shares = {
        "pass_reference": _share(really == 1, both, "No video was decided by both."),
        "pass_judge": _share(judged == 1, both, "No video was decided by both."),
        "false_pass": _share(judged == 1, both & (really == 0), "No examinee fails by the reference."),
        "false_fail": _share(judged == 0, both & (really == 1), "No examinee passes by the reference."),
        "missed_must_pass": share_of(
            lambda m: m.predicted > 1e-9, lambda m: known & (m.reference <= 1e-9), "No must-pass step is failed."
        ),
    }
    found = {name: jackknife(each, matrix) for name, each in shares.items()} | _alike(matrix, [(really, judged)])
    rows = table_row("decisions", "judge", found)
    decided = [decide(matrix, points, rubric, pass_mark) for points in (raters or {}).values()]
    if pairs := list(combinations(decided, 2)):
        rows += table_row("decisions", "physicians", _alike(matrix, pairs))
    return rows


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


def _share(hit: BoolArray, of: BoolArray, why: str) -> Counted:
    return share_of(lambda m: hit[:, None], lambda m: of[:, None], why)


def _alike(matrix: ScoreMatrix, pairs: list[tuple[Decisions, Decisions]]) -> dict[str, Jackknifed]:
    """Share of exams decided alike, and kappa of the decisions, of one or several pairs of deciders added up."""
    counts = np.zeros((len(matrix.video_ids), 16))
    for first, second in pairs:
        counts += counted_codes(first[:, None], second[:, None], ((first >= 0) & (second >= 0))[:, None], 4)

    def agreement(sums: FloatArray) -> FloatArray:
        return ratio(sums[..., 0] + sums[..., 5], sums.sum(axis=-1))  # columns 4 * first + second

    nothing = "No video was decided by both."
    return {
        "agreement": jackknife(Counted(lambda m: counts, agreement, lambda s: nothing, (0.0, 1.0), share=True), matrix),
        "kappa": jackknife(Counted(lambda m: counts, qwk, lambda s: ONE_LABEL if s.any() else nothing), matrix),
    }

"""Strict sequential credit: the part of a procedure that a judge gets right before its first mistake."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from siming_tasks.benchmark.metrics.estimate import Rows
from siming_tasks.benchmark.metrics.formats import mean_of
from siming_tasks.benchmark.metrics.jackknife import Jackknifed, jackknife
from siming_tasks.benchmark.metrics.no_video import always_correct, always_failed
from siming_tasks.benchmark.metrics.reasons import Reason
from siming_tasks.benchmark.metrics.score_matrix import ScoreMatrix
from siming_tasks.benchmark.metrics.thresholds import COMPARABLE
from siming_tasks.study.analysis.pairs import is_same
from siming_tasks.study.analysis.tables import TableText, table_row

TABLES: Mapping[str, TableText] = {
    "strict sequential credit": TableText(
        "Strict sequential credit",
        "Share of an exam's steps, in the order of the rubric, before the first one whose answer differs from "
        "{reference}; mean over the exams, a missing answer counting as full points or correct. The better "
        "constant baseline earns some credit without the video.",
        {"credit": "credit"},
    ),
}


def sequential_credit(matrix: ScoreMatrix) -> Rows:
    """Table ``strict sequential credit``: the judge, the better constant judge, and the difference, paired."""
    judge, constants = matrix.imputed(), {"always-correct": always_correct, "always-failed": always_failed}
    found = {name: credit(judge.predicting(answers(judge))) for name, answers in constants.items()}
    best = max(found, key=lambda name: np.nan_to_num(found[name].value, nan=-1.0))
    own = credit(judge)
    rows = table_row("strict sequential credit", "judge", {"credit": own})
    rows += table_row("strict sequential credit", best, {"credit": found[best]})
    lead, tested = {"credit": own - found[best]}, matrix.answered_share >= COMPARABLE
    return rows + table_row("strict sequential credit", f"judge - {best}", lead, tested=tested)


def credit(matrix: ScoreMatrix) -> Jackknifed:
    """Mean over the videos of the share of the counted steps before the first whose answer differs, in [0, 1]."""
    due = matrix.counted
    before = due & ~np.logical_or.accumulate(due & ~is_same(matrix), axis=1)
    steps = due.sum(axis=1, keepdims=True)
    share = before.sum(axis=1, keepdims=True) / np.maximum(steps, 1)
    return jackknife(mean_of(share, steps > 0, Reason.NOTHING_ANSWERED), matrix)

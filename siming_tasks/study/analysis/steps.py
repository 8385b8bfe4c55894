"""Steps: how often each is wrong, and how judge and physicians agree about it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from siming_tasks.benchmark.metrics.catalogue import share_of
from siming_tasks.benchmark.metrics.estimate import Estimate, Rows
from siming_tasks.benchmark.metrics.formats import mean_of
from siming_tasks.benchmark.metrics.jackknife import Statistic, jackknife
from siming_tasks.benchmark.metrics.reasons import Reason
from siming_tasks.benchmark.metrics.score_matrix import FloatArray, ScoreMatrix
from siming_tasks.common.choices import LabelMapping
from siming_tasks.study.analysis.pairs import Raters, added, kappa, rater_pairs
from siming_tasks.study.analysis.tables import TableText, table_row

FEWEST_WRONG = 10
"""Videos that have a step wrong below which nothing about it has an interval."""
FEW = f"Fewer than {FEWEST_WRONG} videos have this step wrong: no interval."

TABLES: Mapping[str, TableText] = {
    "steps": TableText(
        "Steps",
        "Each step by itself, the judge against {reference} and the physicians against each other. Wrong: share of the "
        "exams with an error in this step. Errors missed: share of these that the judge called correct. False alarms: "
        "share of the other exams that it called wrong. Bias: judge minus reference, in points (for verdicts, a share "
        "of the exams).",
        {"imperfect": "wrong", "kappa": "kappa", "missed": "errors missed", "false_alarms": "false alarms",
         "bias": "bias", "physicians": "physicians' kappa"},
    )
}  # fmt: skip


def steps(matrix: ScoreMatrix, raters: Raters | None = None, *, mapping: LabelMapping = "absolute") -> Rows:
    """Table ``steps``: a row for each step, over the videos in which it counts and was answered.

    ``imperfect`` is the share of videos that the reference gives less than full points, ``missed`` the share of those
    that the judge calls correct, ``false_alarms`` the share of the correct ones that it calls wrong.
    """
    pairs = rater_pairs(matrix, raters or {}).values()
    rows: list[Estimate] = []
    for step in matrix.step_ids:
        part = matrix.subset([step])
        found = {name: jackknife(each, part) for name, each in _statistics(part, mapping).items()}
        if pairs:
            both = kappa(mapping, nothing="No two physicians scored this step.")
            found["physicians"] = jackknife(added(both, (pair.subset([step]) for pair in pairs)), part)
        few = int((part.counted & part.answered & part.reference_wrong).sum()) < FEWEST_WRONG
        rows += [without_interval(each) if few else each for each in table_row("steps", step, found)]
    return Rows(rows)


def _statistics(part: ScoreMatrix, mapping: LabelMapping) -> dict[str, Statistic]:
    """The statistics of one step."""
    known, wrong = part.counted & part.answered, part.counted & part.answered & part.reference_wrong
    gap: FloatArray = part.reference_wrong.astype(np.float64) - part.predicted_wrong
    if part.answer == "score":
        gap = part.predicted - part.reference
    top = float(part.max_score[0]) if part.answer == "score" else 1.0
    return {
        "imperfect": share_of(lambda m: m.reference_wrong, lambda m: known, Reason.NOTHING_ANSWERED),
        "kappa": kappa(mapping),
        "missed": share_of(lambda m: ~m.predicted_wrong, lambda m: wrong, "No video has it wrong."),
        "false_alarms": share_of(lambda m: m.predicted_wrong, lambda m: known & ~wrong, "No video has it correct."),
        "bias": mean_of(gap, known, Reason.NOTHING_ANSWERED, (-top, top)),
    }


def without_interval(found: Estimate) -> Estimate:
    """The same of a step that too few videos have wrong."""
    return found if found.value is None else replace(found, stderr=None, low=None, high=None, why=FEW)

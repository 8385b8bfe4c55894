"""History: steps that depend on earlier ones, and steps after a failed requirement."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from siming_tasks.benchmark.metrics.estimate import Rows
from siming_tasks.benchmark.metrics.jackknife import Jackknifed, jackknife
from siming_tasks.benchmark.metrics.score_matrix import BoolArray, ScoreMatrix
from siming_tasks.benchmark.rubrics import Rubric
from siming_tasks.benchmark.rubrics.rubric import RubricStep
from siming_tasks.common.choices import LabelMapping
from siming_tasks.common.errors import DataError
from siming_tasks.study.analysis.pairs import Raters, added, kappa, rater_pairs
from siming_tasks.study.analysis.tables import TableText, table_row

SCOPES = ("local", "mixed", "history")
CONTRAST = "local - history"
FAILED, PASSED = "a requirement failed", "all requirements passed"

_HEADS = {"judge": "judge", "physicians": "physicians"}
TABLES: Mapping[str, TableText] = {
    "history": TableText(
        "Steps that depend on the history",
        "Kappa of the judge against {reference}, and of the physicians against each other, by what the rubric says a "
        "step depends on; the excess is the judge's contrast minus the physicians', who find the same steps hard.",
        {**_HEADS, "excess": "excess"},
    ),
    "requirements": TableText(
        "Steps after a failed requirement",
        "Kappa of the judge against {reference}, and of the physicians against each other, on steps after a step that "
        "they require and that has no points in {reference}, and on steps whose requirements all have some.",
        _HEADS,
    ),
}


def rubric_steps(matrix: ScoreMatrix, rubric: Rubric) -> list[RubricStep]:
    """The rubric's step of each column (DataError: the rubric lacks one)."""
    if unknown := [name for name in matrix.step_ids if name not in rubric.by_id]:
        raise DataError(f"Step {unknown[0]!r} is not in rubric {rubric.rubric_id!r}. Use the rubric of the data set.")
    return [rubric.by_id[name] for name in matrix.step_ids]


def history(
    matrix: ScoreMatrix, rubric: Rubric, raters: Raters | None = None, *, mapping: LabelMapping = "absolute"
) -> Rows:
    """Tables ``history`` and ``requirements`` of a judge.

    A judge that does not follow the state of the procedure agrees better on local steps than on those that depend on
    the history. Unanswered steps are passed over. DataError: the rubric lacks a step of the matrix.
    """
    known = rubric_steps(matrix, rubric)
    sides: dict[str, Sequence[ScoreMatrix]] = {"judge": [matrix]}
    if pairs := list(rater_pairs(matrix, raters or {}).values()):
        sides["physicians"] = pairs

    def kappas(of: BoolArray, nothing: str) -> dict[str, Jackknifed]:
        return {name: jackknife(added(kappa(mapping, of, nothing), side), matrix) for name, side in sides.items()}

    rows, by_scope = Rows(), {}
    for name in SCOPES:
        of = np.broadcast_to([step.scope == name for step in known], matrix.asked.shape)
        by_scope[name] = kappas(of, f"No {name} step of the rubric was judged.")
        rows += table_row("history", name, by_scope[name])
    contrast = {name: by_scope["local"][name] - by_scope["history"][name] for name in sides}
    if pairs:
        contrast["excess"] = contrast["judge"] - contrast["physicians"]
    rows += table_row("history", CONTRAST, contrast, tested=True)
    failed, passed = after_requirements(matrix, known)
    rows += table_row("requirements", FAILED, kappas(failed, "No step follows a failed requirement."))
    return rows + table_row("requirements", PASSED, kappas(passed, "No step has requirements that all passed."))


def after_requirements(matrix: ScoreMatrix, steps: Sequence[RubricStep]) -> tuple[BoolArray, BoolArray]:
    """Steps after a requirement without points in the reference, and steps whose requirements all have some.

    ``bool[V, S]`` each; a step whose requirements are not all known is in neither, unless one of them failed.
    """
    column = {name: place for place, name in enumerate(matrix.step_ids)}
    none, some = matrix.counted & (matrix.reference <= 1e-9), matrix.counted & (matrix.reference > 1e-9)
    failed, passed = np.zeros_like(none), np.zeros_like(none)
    for place, step in enumerate(steps):
        if needs := [column[need.id] for need in step.requires if need.id in column]:
            failed[:, place], passed[:, place] = none[:, needs].any(axis=1), some[:, needs].all(axis=1)
    return failed, passed

"""All diagnoses of the agreement of one judge in one setting, each with the caveat to read it by."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from itertools import combinations
from typing import Any

import numpy as np

from siming_tasks.analysis.human_ceiling import NonInferiority, non_inferiority
from siming_tasks.analysis.label_agreement import (
    DisputedSteps,
    Severity,
    StepTable,
    disputed_steps,
    label_matrices,
    severity,
    step_table,
)
from siming_tasks.analysis.pass_decisions import PASS_MARK, PassDecisions, pass_decisions
from siming_tasks.analysis.procedure_state import (
    HistoryContrast,
    RequiredStepState,
    SequentialCredit,
    history_contrast,
    required_state,
    sequential_credit,
)
from siming_tasks.analysis.robustness import AnalysisChoices, ClusterErrors, analysis_choices
from siming_tasks.common.errors import DataError
from siming_tasks.metrics.classification import Positive
from siming_tasks.metrics.estimate import plain
from siming_tasks.metrics.kappa import LabelMapping, ordinal_labels
from siming_tasks.metrics.score_matrix import FloatArray, ScoreMatrix
from siming_tasks.rubrics import Rubric

__all__ = ["Diagnostics", "diagnose_matrix", "diagnose_with_raters", "rater_pair_values"]

SeedLike = int | np.random.SeedSequence


@dataclass(frozen=True)
class Diagnostics:
    """Result of :func:`diagnose_matrix`.

    Attributes:
        answer: ``score`` or ``error``.
        videos: number of videos.
        coverage: answered / asked steps, None if nothing was asked.
        steps: the step sheet.
        severity: offset and Bland-Altman limits.
        history: local against history steps.
        state: agreement by the state of required steps, error propagation.
        sequence: first divergence and sequential credit.
        disputed: agreed and disputed steps; None without two raters.
        exam: pass decisions; None for verdicts.
        choices: metrics under other label mappings, fills and positive classes.
        clusters: standard errors if students, or sites, are what was sampled; empty if the data do not know them.
        non_inferiority: test of the judge in the place of a physician; None without two physicians who scored the same
            videos.
        pairs: with more than two physicians, :func:`rater_pair_values` of each pair; else empty. The
            physicians beside the judge are then the first pair.
        options: options of the diagnosis, as far as the caller states them.
    """

    answer: str
    videos: int
    coverage: float | None
    steps: StepTable
    severity: Severity
    history: HistoryContrast
    state: RequiredStepState
    sequence: SequentialCredit
    disputed: DisputedSteps | None
    exam: PassDecisions | None
    choices: AnalysisChoices
    non_inferiority: NonInferiority | None = None
    clusters: tuple[ClusterErrors, ...] = ()
    pairs: Mapping[str, Mapping[str, float | None]] = field(default_factory=dict)
    options: Mapping[str, Any] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        """Plain JSON types; no NaN."""
        tables: dict[str, Any] = {}
        for item in fields(self):
            value = getattr(self, item.name)
            if item.name in ("pairs", "options", "clusters") and not value:
                continue
            if item.name == "clusters":
                value = [asdict(each) for each in value]
            tables[item.name] = plain(asdict(value) if hasattr(value, "__dataclass_fields__") else value)
        return tables


def diagnose_matrix(
    matrix: ScoreMatrix,
    rubric: Rubric,
    rater_a: FloatArray | None = None,
    rater_b: FloatArray | None = None,
    *,
    rng: np.random.Generator,
    mapping: LabelMapping = "absolute",
    positive: Positive = "error",
    pass_mark: float = PASS_MARK,
    resamples: int = 2000,
) -> Diagnostics:
    """Diagnose one judge in one setting; the unit of resampling is the video.

    Args:
        matrix: reference and judge.
        rubric: scopes, requirements and critical steps of the matrix's steps.
        rater_a: points of physician A in the matrix's order, ``float[V, S]``, NaN = not rated; None if unknown.
        rater_b: points of physician B.
        rng: of the resamples and random splits.
        mapping: how points become labels.
        positive: the positive class of precision, recall and F1 among the choices.
        pass_mark: share of the points that passes the exam.
        resamples: bootstrap resamples; 0 gives values without intervals.

    Raises:
        DataError: the matrix is empty or has steps that the rubric lacks, one rater without the other, a bad pass mark.
    """
    unknown = [name for name in matrix.step_ids if name not in rubric.by_id]
    if unknown:
        raise DataError(f"Step {unknown[0]!r} is not in rubric {rubric.rubric_id!r}. Use the rubric of the data set.")
    if not matrix.video_ids or not matrix.step_ids:
        raise DataError("There is nothing to diagnose: no video has an answer to this setting.")
    labels = label_matrices(matrix, rater_a, rater_b, mapping)
    asked = int(matrix.asked.sum())
    return Diagnostics(
        answer=matrix.answer,
        videos=len(matrix.video_ids),
        coverage=float(matrix.answered.sum()) / asked if asked else None,
        steps=step_table(labels, resamples, rng),
        severity=severity(labels, resamples, rng),
        history=history_contrast(labels, rubric, resamples, rng),
        state=required_state(labels, rubric, resamples, rng),
        sequence=sequential_credit(labels, resamples, rng),
        disputed=disputed_steps(labels),
        exam=pass_decisions(labels, rubric, resamples, rng, pass_mark),
        choices=analysis_choices(labels.scores, mapping, positive),
    )


def diagnose_with_raters(
    matrix: ScoreMatrix, rubric: Rubric, physicians: Mapping[str, FloatArray], *, seed: SeedLike, **options: Any
) -> Diagnostics:
    """:func:`diagnose_matrix` with any number of physicians: pair by pair, the first pair beside the judge.

    Args:
        matrix: reference and judge.
        rubric: of the matrix's steps.
        physicians: by name, points in the matrix's order, ``float[V, S]``; those of one alone are not used.
        seed: of the resamples, the same for every pair.
        options: of :func:`diagnose_matrix`.
    """
    diagnostics = {
        f"{b} against {a}": diagnose_matrix(
            matrix, rubric, physicians[a], physicians[b], rng=np.random.default_rng(seed), **options
        )
        for a, b in combinations(physicians, 2)
    }
    if not diagnostics:
        return diagnose_matrix(matrix, rubric, rng=np.random.default_rng(seed), **options)
    first = next(iter(diagnostics.values()))
    tested = _non_inferiority(matrix, physicians, options.get("mapping", "absolute"))
    pairs = {name: rater_pair_values(pair) for name, pair in diagnostics.items()} if len(diagnostics) > 1 else {}
    return replace(first, non_inferiority=tested, pairs=pairs)


def _non_inferiority(
    matrix: ScoreMatrix, physicians: Mapping[str, FloatArray], mapping: LabelMapping
) -> NonInferiority | None:
    """Non-inferiority of the judge to the physicians at the steps that were asked; None without two shared videos."""

    def labels(points: FloatArray) -> FloatArray:
        kept = np.where(matrix.asked, points, np.nan)
        if matrix.answer == "error":
            return np.where(np.isnan(kept), np.nan, kept >= matrix.max_score - 1e-9)
        rater_labels = ordinal_labels(kept, matrix.max_score, mapping)
        return np.where(rater_labels < 0, np.nan, rater_labels)

    judge_labels = (
        labels(matrix.predicted) if matrix.answer == "score" else np.where(matrix.asked, 1 - matrix.predicted, np.nan)
    )
    try:
        return non_inferiority(judge_labels, {name: labels(points) for name, points in physicians.items()})
    except DataError:
        return None  # no two videos that two of them scored


def rater_pair_values(diagnostics: Diagnostics) -> dict[str, float | None]:
    """Numbers of a pair of physicians beside the judge, and of the judge where they agreed and where they differed."""
    numbers: dict[str, float | None] = {}
    for scope, kappa in (diagnostics.history.human_kappa or {}).items():
        numbers[f"kappa, {scope} steps"] = kappa.value
    for name, estimate in (
        ("kappa, a required step failed", diagnostics.state.human_failed),
        ("kappa, none failed", diagnostics.state.human_passed),
        ("kappa of pass decisions", diagnostics.exam.human_kappa if diagnostics.exam else None),
        ("second minus first, points", diagnostics.severity.human.bias if diagnostics.severity.human else None),
    ):
        if estimate is not None:
            numbers[name] = estimate.value
    if diagnostics.disputed:
        numbers["judge's accuracy where they agree"] = diagnostics.disputed.agreed.value
        numbers["judge's accuracy where they differ"] = diagnostics.disputed.disputed.value
    return numbers

"""All diagnoses of the agreement of one judge in one setting, each with the caveat to read it by."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from itertools import combinations
from typing import Any

import numpy as np

from siming_tasks.analysis import label_agreement, procedure_state
from siming_tasks.analysis.group_bias import GroupBiases
from siming_tasks.analysis.pass_decisions import PASS_MARK, PassDecisions, pass_decisions
from siming_tasks.analysis.physician_equivalence import PhysicianEquivalence, physician_equivalence
from siming_tasks.analysis.retest import Retest
from siming_tasks.analysis.totals_calibration import TotalsCalibration
from siming_tasks.analysis.video_contribution import no_video_matrices
from siming_tasks.common.display import ShortRepr
from siming_tasks.common.errors import DataError
from siming_tasks.common.schema import Unit
from siming_tasks.metrics.classification import Positive
from siming_tasks.metrics.estimate import plain
from siming_tasks.metrics.kappa import LabelMapping
from siming_tasks.metrics.score_matrix import FloatArray, ScoreMatrix
from siming_tasks.results.estimand import Estimand
from siming_tasks.rubrics import Rubric


@dataclass(frozen=True, repr=False)
class Diagnostics(ShortRepr):
    """Result of :func:`diagnose_matrix`.

    Attributes:
        coverage: answered / asked steps, None if nothing was asked.
        unit: what is resampled; ``n_clusters``: how many there are.
        disputed: agreed and disputed steps; None without two raters.
        exam: pass decisions; None for verdicts.
        equivalence: does the judge agree with the physicians as they do with each other; None without two.
        calibration: of totals; None for verdicts. ``groups``: bias by group. ``retest``: a second run of the model.
        estimand: whose exams and which raters; None for a matrix without a data set.
        pairs: with more than two physicians, numbers of each pair and of the judge where they agreed and differed; else
            empty. The physicians beside the judge are then the first pair, but for the kappas of single steps, which
            are of all pairs.
        options: options of the diagnosis, as far as the caller states them.
    """

    answer: str
    videos: int
    coverage: float | None
    steps: label_agreement.StepTable
    severity: label_agreement.Severity
    history: procedure_state.HistoryContrast
    state: procedure_state.RequiredStepState
    sequence: procedure_state.SequentialCredit
    disputed: label_agreement.DisputedSteps | None
    exam: PassDecisions | None
    unit: Unit = "video"
    n_clusters: int = 0
    estimand: Estimand | None = None
    equivalence: PhysicianEquivalence | None = None
    calibration: TotalsCalibration | None = None
    groups: GroupBiases | None = None
    retest: Retest | None = None
    pairs: Mapping[str, Mapping[str, float | None]] = field(default_factory=dict)
    options: Mapping[str, Any] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        """Plain JSON types; no NaN."""
        kept = {name: part for name, part in vars(self).items() if part or name not in ("pairs", "options")}
        # asdict also takes the caveats, which are fields without a place in the instance.
        parts = {name: plain(asdict(part) if hasattr(part, "__dict__") else part) for name, part in kept.items()}
        if self.estimand:
            parts["estimand"] = self.estimand.to_json()
        if found := self.equivalence:
            parts["equivalence"] |= {
                "passed_unseen": list(found.passed_unseen),
                "sentence": found.sentence,
                "difference": plain(found.difference._asdict()),
            }
        return parts


def diagnose_matrix(
    matrix: ScoreMatrix,
    rubric: Rubric,
    rater_a: FloatArray | None = None,
    rater_b: FloatArray | None = None,
    *,
    rng: np.random.Generator,
    mapping: LabelMapping = "absolute",
    pass_mark: float = PASS_MARK,
    resamples: int = 2000,
) -> Diagnostics:
    """Diagnose one judge in one setting; the unit of resampling is the matrix's.

    Args:
        matrix: reference and judge.
        rubric: scopes, requirements and critical steps of the matrix's steps.
        rater_a: points of physician A in the matrix's order, ``float[V, S]``, NaN = not rated; None if unknown.
        rater_b: points of physician B.
        rng: of the resamples and random splits.
        mapping: how points become labels.
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
    labels = label_agreement.label_matrices(matrix, rater_a, rater_b, mapping)
    asked = int(matrix.asked.sum())
    # In this order, which is that of the draws from `rng`.
    return Diagnostics(
        answer=matrix.answer,
        videos=len(matrix.video_ids),
        coverage=float(matrix.answered.sum()) / asked if asked else None,
        steps=label_agreement.step_table(labels, resamples, rng),
        severity=label_agreement.severity(labels, resamples, rng),
        history=procedure_state.history_contrast(labels, rubric, resamples, rng),
        state=procedure_state.required_state(labels, rubric, resamples, rng),
        sequence=procedure_state.sequential_credit(labels, resamples, rng),
        disputed=label_agreement.disputed_steps(labels),
        exam=pass_decisions(labels, rubric, resamples, rng, pass_mark),
        unit=matrix.unit,
        n_clusters=matrix.n_clusters,
    )


def diagnose_with_raters(
    matrix: ScoreMatrix,
    rubric: Rubric,
    physicians: Mapping[str, FloatArray],
    *,
    seed: int | np.random.SeedSequence,
    margin: float | None = None,
    positive: Positive = "error",
    **options: Any,
) -> Diagnostics:
    """:func:`diagnose_matrix` with any number of physicians: pair by pair, the first pair beside the judge.

    ``physicians``: by name, points in the matrix's order, ``float[V, S]``; those of one alone are not used. ``seed``:
    the same for every pair. ``margin`` of equivalence, if one was stated beforehand; ``positive`` class of its metric.
    """
    diagnostics = {
        f"{b} against {a}": diagnose_matrix(
            matrix, rubric, physicians[a], physicians[b], rng=np.random.default_rng(seed), **options
        )
        for a, b in combinations(physicians, 2)
    }
    if not diagnostics:
        return diagnose_matrix(matrix, rubric, rng=np.random.default_rng(seed), **options)

    # A baseline without any answer, as one that needs more than one video, or times, is no rival.
    no_video = {name: m for name, m in no_video_matrices(matrix).items() if m.answered.any()}
    mapping = options.get("mapping", "absolute")
    equivalence = None
    if (matrix.asked & ((~np.isnan(list(physicians.values()))).sum(axis=0) > 1)).any():
        raters = [replace(matrix, reference=points) for points in physicians.values()]
        equivalence = physician_equivalence(matrix, raters, no_video, margin=margin, mapping=mapping, positive=positive)
    first = next(iter(diagnostics.values()))
    if len(diagnostics) > 1:
        resamples = options.get("resamples", 2000)
        sides = combinations(physicians.values(), 2)
        matrices = [label_agreement.label_matrices(matrix, a, b, mapping) for a, b in sides]
        steps = label_agreement.with_every_pair(first.steps, matrices, resamples, np.random.default_rng(seed))
        first = replace(first, steps=steps)
    return replace(
        first,
        equivalence=equivalence,
        pairs={name: _pair_values(pair) for name, pair in diagnostics.items()} if len(diagnostics) > 1 else {},
    )


def _pair_values(pair: Diagnostics) -> dict[str, float | None]:
    """Numbers of a pair of physicians beside the judge, and of the judge where they agreed and where they differed."""
    estimates = {
        **{f"kappa, {scope} steps": kappa for scope, kappa in (pair.history.human_kappa or {}).items()},
        "kappa, a required step failed": pair.state.human_failed,
        "kappa, none failed": pair.state.human_passed,
        "kappa of pass decisions": pair.exam.human_kappa if pair.exam else None,
        "second minus first, points": pair.severity.human.bias if pair.severity.human else None,
    }
    numbers = {name: estimate.value for name, estimate in estimates.items() if estimate is not None}
    if pair.disputed:
        numbers["judge's accuracy where they agree"] = pair.disputed.agreed.value
        numbers["judge's accuracy where they differ"] = pair.disputed.disputed.value
    return numbers

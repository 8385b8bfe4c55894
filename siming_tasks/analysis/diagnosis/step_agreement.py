"""Agreement step by step, and accuracy on the steps where the physicians agreed and where they did not."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from siming_tasks.analysis.diagnosis.label_matrices import LabelMatrices
from siming_tasks.metrics.estimate import Estimate
from siming_tasks.metrics.proportion import Proportion, share
from siming_tasks.metrics.ratio_estimates import Stat, estimate_stats, kappa_stat, ratio
from siming_tasks.metrics.thresholds import THIN

__all__ = ["DisputedSteps", "StepRow", "StepTable", "disputed_steps", "step_table"]


@dataclass(frozen=True)
class StepRow:
    """One rubric step.

    Attributes:
        step_id: the step.
        skill: its skill.
        imperfect: videos in which the reference has it less than fully correct.
        thin: ``imperfect`` is below :data:`siming_tasks.metrics.thresholds.THIN`: read nothing into the row.
        prevalence: share of videos in which it is less than fully correct.
        kappa: of judge and reference, quadratic weights.
        sensitivity: share of the imperfect ones that the judge calls so.
        specificity: share of the correct ones that the judge calls so.
        bias: mean of judge minus reference; points, or for verdicts the share called correct minus the share correct.
        human: kappa of the two physicians on the same step, if their labels are given.
    """

    step_id: str
    skill: str
    imperfect: int
    thin: bool
    prevalence: Estimate
    kappa: Estimate
    sensitivity: Estimate
    specificity: Estimate
    bias: Estimate
    human: Estimate | None


@dataclass(frozen=True)
class StepTable:
    """All steps in rubric order, and what to bear in mind."""

    rows: tuple[StepRow, ...]
    caveat: str


def step_table(labels: LabelMatrices, resamples: int, rng: np.random.Generator) -> StepTable:
    """Agreement, errors and bias of every step."""
    matrix = labels.scores
    stats: dict[tuple[str, str], Stat] = {}
    for s, name in enumerate(matrix.step_ids):
        column = slice(s, s + 1)
        both = labels.known[:, column]
        wrong, called = both & matrix.reference_wrong[:, column], both & matrix.predicted_wrong[:, column]
        if matrix.answer == "score":
            gap = np.where(both, matrix.predicted[:, column] - matrix.reference[:, column], 0.0)
        else:
            gap = wrong.astype(np.float64) - called
        stats[name, "prevalence"] = ratio(wrong, both)
        stats[name, "kappa"] = kappa_stat(labels.reference[:, column], labels.predicted[:, column])
        stats[name, "sensitivity"] = ratio(wrong & called, wrong, "No video has this step wrong.")
        stats[name, "specificity"] = ratio(both & ~wrong & ~called, both & ~wrong, "No video has this step correct.")
        stats[name, "bias"] = ratio(gap, both)
        if labels.raters:
            a, b = labels.raters
            stats[name, "human"] = kappa_stat(a[:, column], b[:, column])
    estimates = estimate_stats(stats, len(matrix.video_ids), resamples, rng)
    imperfect = (labels.known & matrix.reference_wrong).sum(axis=0)
    rows = tuple(
        StepRow(
            step_id=name,
            skill=skill,
            imperfect=int(imperfect[s]),
            thin=bool(imperfect[s] < THIN),
            human=estimates.get((name, "human")),
            **{key: estimates[name, key] for key in ("prevalence", "kappa", "sensitivity", "specificity", "bias")},
        )
        for s, (name, skill) in enumerate(zip(matrix.step_ids, matrix.skills, strict=True))
    )
    errors = [row.kappa.stderr for row in rows if row.kappa.stderr is not None and not row.thin]
    spread = f" (here {min(errors):.2f} to {max(errors):.2f} where not shaded)" if errors else ""
    caveat = (
        f"A step's kappa rests on few imperfect videos: at 200 videos its standard error is about .07 to .16{spread}. "
        f"Rows with fewer than {THIN} imperfect videos are shaded; read nothing into them. The mean of these kappas is "
        "not the pooled kappa."
    )
    return StepTable(rows, caveat)


CAVEAT = (
    "Wilson intervals treat steps as independent; steps of one video are not, so the true ones are wider. Kappa is not "
    "given on the disputed steps: they were selected by disagreement, which distorts it. A constant stands beside each "
    "accuracy because the two sets differ in how many steps are correct."
)


@dataclass(frozen=True)
class DisputedSteps:
    """Accuracy (same label as the reference) where the physicians gave the same points, and where they did not.

    Attributes:
        agreed: accuracy on agreed steps.
        agreed_constant: that of calling each of them fully correct.
        disputed: accuracy on disputed steps, whose reference is the adjudicated label.
        disputed_constant: that of calling each of them fully correct.
        with_a: share of disputed steps with physician A's label.
        with_b: with physician B's.
        caveat: what to bear in mind.
    """

    agreed: Proportion
    agreed_constant: Proportion
    disputed: Proportion
    disputed_constant: Proportion
    with_a: Proportion
    with_b: Proportion
    caveat: str = field(default=CAVEAT, init=False)


def disputed_steps(labels: LabelMatrices) -> DisputedSteps | None:
    """The split, or None without two raters."""
    if labels.raters is None:
        return None
    rated = labels.rated & labels.known
    sure, unsure = rated & ~labels.disputed, rated & labels.disputed
    right, constant = labels.predicted == labels.reference, labels.reference == labels.top_label

    return DisputedSteps(
        agreed=share(right, sure),
        agreed_constant=share(constant, sure),
        disputed=share(right, unsure),
        disputed_constant=share(constant, unsure),
        with_a=share(labels.predicted == labels.raters[0], unsure),
        with_b=share(labels.predicted == labels.raters[1], unsure),
    )

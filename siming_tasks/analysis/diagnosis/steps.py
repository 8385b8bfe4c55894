"""The step sheet: which rubric steps is the judge good at, and which can be told from these videos at all?"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from siming_tasks.analysis.diagnosis.frame import Frame
from siming_tasks.metrics.estimate import Estimate
from siming_tasks.metrics.ratio_estimates import Stat, estimate_stats, kappa_stat, ratio
from siming_tasks.metrics.thresholds import THIN

__all__ = ["StepLine", "StepSheet", "step_sheet"]


@dataclass(frozen=True)
class StepLine:
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
class StepSheet:
    """All steps in rubric order, and what to bear in mind."""

    rows: tuple[StepLine, ...]
    caveat: str


def step_sheet(frame: Frame, resamples: int, rng: np.random.Generator) -> StepSheet:
    """Agreement, errors and bias of every step."""
    panel = frame.panel
    stats: dict[tuple[str, str], Stat] = {}
    for s, name in enumerate(panel.step_ids):
        column = slice(s, s + 1)
        both = frame.both[:, column]
        wrong, called = both & panel.reference_wrong[:, column], both & panel.predicted_wrong[:, column]
        if panel.answer == "score":
            gap = np.where(both, panel.predicted[:, column] - panel.reference[:, column], 0.0)
        else:
            gap = wrong.astype(np.float64) - called
        stats[name, "prevalence"] = ratio(wrong, both)
        stats[name, "kappa"] = kappa_stat(frame.truth[:, column], frame.said[:, column])
        stats[name, "sensitivity"] = ratio(wrong & called, wrong, "No video has this step wrong.")
        stats[name, "specificity"] = ratio(both & ~wrong & ~called, both & ~wrong, "No video has this step correct.")
        stats[name, "bias"] = ratio(gap, both)
        if frame.raters:
            a, b = frame.raters
            stats[name, "human"] = kappa_stat(a[:, column], b[:, column])
    found = estimate_stats(stats, len(panel.video_ids), resamples, rng)
    imperfect = (frame.both & panel.reference_wrong).sum(axis=0)
    rows = tuple(
        StepLine(
            step_id=name,
            skill=skill,
            imperfect=int(imperfect[s]),
            thin=bool(imperfect[s] < THIN),
            human=found.get((name, "human")),
            **{key: found[name, key] for key in ("prevalence", "kappa", "sensitivity", "specificity", "bias")},
        )
        for s, (name, skill) in enumerate(zip(panel.step_ids, panel.skills, strict=True))
    )
    errors = [row.kappa.stderr for row in rows if row.kappa.stderr is not None and not row.thin]
    spread = f" (here {min(errors):.2f} to {max(errors):.2f} where not shaded)" if errors else ""
    caveat = (
        f"A step's kappa rests on few imperfect videos: at 200 videos its standard error is about .07 to .16{spread}. "
        f"Rows with fewer than {THIN} imperfect videos are shaded; read nothing into them. The mean of these kappas is "
        "not the pooled kappa."
    )
    return StepSheet(rows, caveat)

"""Two simulated physicians who watch the exam and do not see everything.

A rater overlooks each lost point with a probability that is higher in the rater's blind spots, sees errors that were
not there, and is more or less severe in turning what was seen into points. Where the two differ, an adjudicator who has
the event log decides; the consensus is therefore the truth. All of this is synthetic: it imitates the *size* of human
disagreement, not its nature.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from siming_tasks.rubrics import Rubric, RubricStep
from siming_tasks.tools.simulator.true_scores import StepTruth

__all__ = ["Rater", "draw_raters", "rate"]


@dataclass(frozen=True)
class Rater:
    """A simulated physician.

    Attributes:
        miss: probability of overlooking a reason for losing points, by step id (blind spots are high).
        alarm: probability of seeing a fault in a step that had none, by step id.
        severity: probability of taking one point more than the sheet says from a step that is faulty anyway.
        leniency: probability of taking one point less.
        mood: spread of the rater's strictness from one exam to the next; it moves all steps of an exam together, which
            costs agreement on totals more than agreement on steps.
    """

    miss: Mapping[str, float]
    alarm: Mapping[str, float]
    severity: float
    leniency: float
    mood: float


def draw_raters(rubric: Rubric, rng: np.random.Generator) -> dict[str, Rater]:
    """``rater_a`` (more severe) and ``rater_b`` (more lenient), each with blind spots of their own."""
    return {
        "rater_a": _draw(rubric, rng, miss=0.08, alarm=0.034, severity=0.07, leniency=0.03, mood=0.62),
        "rater_b": _draw(rubric, rng, miss=0.11, alarm=0.023, severity=0.03, leniency=0.07, mood=0.62),
    }


def rate(rubric: Rubric, rater: Rater, truth: Mapping[str, StepTruth], rng: np.random.Generator) -> dict[str, float]:
    """Points that the rater gives to every step, on the step's scale."""
    strictness = float(np.exp(rng.normal(0.0, rater.mood)))
    return {step.id: _rate_step(step, rater, truth[step.id], strictness, rng) for step in rubric.steps}


def _draw(
    rubric: Rubric,
    rng: np.random.Generator,
    *,
    miss: float,
    alarm: float,
    severity: float,
    leniency: float,
    mood: float,
) -> Rater:
    blind = rng.random(len(rubric.steps)) < 0.15
    misses = np.where(blind, 3.0, 1.0) * miss * rng.uniform(0.6, 1.4, len(blind))
    alarms = alarm * rng.uniform(0.3, 1.7, len(blind))
    ids = [step.id for step in rubric.steps]
    return Rater(
        dict(zip(ids, misses.tolist(), strict=True)),
        dict(zip(ids, alarms.tolist(), strict=True)),
        severity,
        leniency,
        mood,
    )


def _rate_step(step: RubricStep, rater: Rater, truth: StepTruth, strictness: float, rng: np.random.Generator) -> float:
    draw = rng.random(len(truth.losses) + 2)
    miss = rater.miss[step.id] / strictness
    lost = sum(loss.points for loss, luck in zip(truth.losses, draw[2:], strict=True) if luck >= miss)
    if lost == 0:
        smallest = min((error.deduct for error in step.errors), default=1.0)
        lost = smallest if draw[0] < rater.alarm[step.id] * strictness else 0.0
    elif draw[1] < rater.severity * strictness:
        lost += 1
    elif draw[1] > 1 - rater.leniency / strictness:
        lost -= 1
    return float(min(max(step.max_score - lost, 0.0), step.max_score))

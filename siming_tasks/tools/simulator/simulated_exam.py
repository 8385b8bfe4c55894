"""One exam without its picture, decided by (seed, number of the exam): the true scores and what two raters give.

Points of a step are its ``max_score`` less what its error costs, then the rubric's ``requires`` are applied in rubric
order: if the required step's points after its own requirements are 0 (failed), ``void`` gives 0 and ``cap`` at most
``cap``. Because requirements name earlier steps only, one pass in order is enough and a failure travels down the chain.

A simulated physician overlooks each reason for a lost point with a probability that is higher in the rater's blind
spots, sees errors that were not there, and is more or less severe in turning what was seen into points. Where the two
differ, an adjudicator who has the event log decides; the consensus is therefore the true label. All of this is
synthetic: it imitates the *size* of human disagreement, not its nature.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from siming_tasks.benchmark.rubrics import default_rubric
from siming_tasks.benchmark.types import CONSENSUS
from siming_tasks.tools.simulator.trainee import TraineeErrors, draw_errors

_STREAM = 63
"""Of the random numbers that decide errors: with it 18 % of the steps of the demo of seed 0 are imperfect."""


@dataclass(frozen=True)
class Loss:
    """Points lost for one reason.

    Attributes:
        kind: ``error`` (made in this step), ``void`` or ``cap`` (an earlier step failed).
        cause: the error's id, or the id of the failed earlier step.
        points: points this reason took away; the losses of a step add up to ``max_score - points``.
    """

    kind: str
    cause: str
    points: float


@dataclass(frozen=True)
class StepTruth:
    """True result of a step: ``raw`` points by its own error, ``points`` after the requirements, the losses."""

    step_id: str
    raw: float
    points: float
    losses: tuple[Loss, ...]


def compute_true_scores(errors: Mapping[str, str]) -> dict[str, StepTruth]:
    """The true outcome of every step of an exam; ``errors`` has the id of the error made by step id, none if done well.

    Raises:
        KeyError: an error is not one of its step's.
    """
    truth: dict[str, StepTruth] = {}
    for step in default_rubric().steps:
        left, losses = step.max_score, []
        if step.id in errors:
            error = step.error(errors[step.id])
            left -= error.deduct
            losses.append(Loss("error", error.id, error.deduct))
        raw = left
        for requirement in step.requires:
            if requirement.effect != "context" and truth[requirement.id].points == 0:
                limit = min(left, requirement.cap or 0.0)
                losses.append(Loss(requirement.effect, requirement.id, left - limit))
                left = limit
        truth[step.id] = StepTruth(step.id, raw, left, tuple(losses))
    return truth


@dataclass(frozen=True)
class SimulatedRater:
    """A simulated physician.

    Attributes:
        miss: probability of overlooking a reason for losing points, by step id (blind spots are high).
        alarm: probability of seeing a fault in a step that had none, by step id.
        severity: probability of taking one point more than the sheet says from a step that is faulty anyway.
        leniency: probability of taking one point less.
    """

    miss: Mapping[str, float]
    alarm: Mapping[str, float]
    severity: float
    leniency: float


_MOOD = 0.78
"""Spread of a rater's strictness from one exam to the next; it moves all steps of an exam together, which costs
agreement on totals more than agreement on steps."""


def draw_raters(seed: int) -> dict[str, SimulatedRater]:
    """``rater_a`` (more severe) and ``rater_b`` (more lenient), each with blind spots of their own."""
    rng, raters = np.random.default_rng([seed, 1]), {}
    ids = [step.id for step in default_rubric().steps]
    for name, miss, alarm, severity, leniency in (
        ("rater_a", 0.07, 0.029, 0.07, 0.03),
        ("rater_b", 0.09, 0.020, 0.03, 0.07),
    ):
        blind = rng.random(len(ids)) < 0.15
        misses = np.where(blind, 3.0, 1.0) * miss * rng.uniform(0.6, 1.4, len(ids))
        alarms = alarm * rng.uniform(0.3, 1.7, len(ids))
        miss_by_step, alarm_by_step = (dict(zip(ids, shares.tolist(), strict=True)) for shares in (misses, alarms))
        raters[name] = SimulatedRater(miss_by_step, alarm_by_step, severity, leniency)
    return raters


def _rate(rater: SimulatedRater, truth: Mapping[str, StepTruth], rng: np.random.Generator) -> dict[str, float]:
    """Points that the rater gives to every step, on the step's scale."""
    strictness = float(np.exp(rng.normal(0.0, _MOOD)))
    points = {}
    for step in default_rubric().steps:
        losses = truth[step.id].losses
        draw = rng.random(len(losses) + 2)
        miss = rater.miss[step.id] / strictness
        lost = sum(loss.points for loss, luck in zip(losses, draw[2:], strict=True) if luck >= miss)
        if lost == 0:
            smallest = min(error.deduct for error in step.errors)
            lost = smallest if draw[0] < rater.alarm[step.id] * strictness else 0.0
        elif draw[1] < rater.severity * strictness:
            lost += 1
        elif draw[1] > 1 - rater.leniency / strictness:
            lost -= 1
        points[step.id] = float(min(max(step.max_score - lost, 0.0), step.max_score))
    return points


@dataclass(frozen=True)
class Exam:
    """A performed and rated exam.

    Attributes:
        look: seed of everything that only changes the picture (room, camera, clothes, small motion).
        truth: the true result of every step, by step id.
        scores: points by step id and rater (``rater_a``, ``rater_b``, ``consensus``).
    """

    video_id: str
    look: int
    plan: TraineeErrors
    truth: Mapping[str, StepTruth]
    scores: Mapping[str, Mapping[str, float]]


def examine(video_id: str, plan: TraineeErrors, raters: Mapping[str, SimulatedRater], *, seed: tuple[int, int]) -> Exam:
    """The exam that follows from a plan; ``seed`` decides the raters' luck and the look of the picture."""
    truth = compute_true_scores(plan.errors)
    rngs = np.random.default_rng([seed[0], 3, seed[1]]).spawn(len(raters))
    ratings = {name: _rate(rater, truth, rng) for (name, rater), rng in zip(raters.items(), rngs, strict=True)}
    scores = {
        step: {**{name: points[step] for name, points in ratings.items()}, CONSENSUS: result.points}
        for step, result in truth.items()
    }
    look = int(np.random.default_rng([seed[0], 4, seed[1]]).integers(2**31))
    return Exam(video_id, look, plan, truth, scores)


def simulate_labels(videos: int, seed: int) -> tuple[Exam, ...]:
    """Exams with their labels and no pictures (thousands a second), the same for a seed on every machine.

    ``seed`` is that of trainees, raters and looks; each exam has a trainee of its own.
    """
    raters, exams = draw_raters(seed), []
    for number in range(videos):
        ability = float(np.random.default_rng([seed, 6, number]).normal())
        plan = draw_errors(ability, np.random.default_rng([seed, _STREAM, number]))
        exams.append(examine(f"sim{number + 1:03d}", plan, raters, seed=(seed, number)))
    return tuple(exams)

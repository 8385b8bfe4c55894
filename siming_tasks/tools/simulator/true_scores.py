"""True scores of a simulated exam: the errors made decide the points; each lost point has a cause.

Points of a step are ``max(0, max_score - sum of deductions)``, then the rubric's ``requires`` are applied in rubric
order: if the required step's *effective* points are 0 (label 0, failed), ``void`` gives 0 and ``cap`` at most ``cap``.
Because requirements name earlier steps only, one pass in order is enough and a failure travels down the chain.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from siming_tasks.rubrics import Rubric, RubricStep

__all__ = ["Loss", "StepTruth", "compute_true_scores", "effective_points"]


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
    """True result of a step: ``raw`` points by its own errors, ``points`` after the requirements, the losses."""

    step_id: str
    raw: float
    points: float
    losses: tuple[Loss, ...]


def effective_points(rubric: Rubric, raw: Mapping[str, float]) -> dict[str, float]:
    """Points after the rubric's ``void`` and ``cap`` effects.

    Args:
        rubric: the score sheet.
        raw: points of every step by its own execution, ``0 <= raw <= max_score``.

    Raises:
        KeyError: ``raw`` lacks a step of the rubric.
    """
    points: dict[str, float] = {}
    for step in rubric.steps:
        points[step.id] = _after_requirements(step, raw[step.id], points)[0]
    return points


def compute_true_scores(rubric: Rubric, errors: Mapping[str, tuple[str, ...]]) -> dict[str, StepTruth]:
    """The truth of every step of an exam.

    Args:
        rubric: the score sheet.
        errors: ids (or names) of the errors made, by step id; a step that is not mentioned was performed well.

    Raises:
        KeyError: an error is not one of its step's.
    """
    truth: dict[str, StepTruth] = {}
    points: dict[str, float] = {}
    for step in rubric.steps:
        raw, losses = _own_points(step, errors.get(step.id, ()))
        points[step.id], later = _after_requirements(step, raw, points)
        truth[step.id] = StepTruth(step.id, raw, points[step.id], (*losses, *later))
    return truth


def _own_points(step: RubricStep, names: tuple[str, ...]) -> tuple[float, list[Loss]]:
    left, losses = step.max_score, []
    for error in map(step.error, names):
        cost = min(left, error.deduct)
        left -= cost
        losses.append(Loss("error", error.id, cost))
    return left, losses


def _after_requirements(step: RubricStep, raw: float, earlier: Mapping[str, float]) -> tuple[float, list[Loss]]:
    left, losses = raw, []
    for requirement in step.requires:
        if requirement.effect == "context" or earlier[requirement.id] > 0:
            continue
        limit = requirement.cap if requirement.cap is not None else 0.0
        losses.append(Loss(requirement.effect, requirement.id, max(0.0, left - limit)))
        left = min(left, limit)
    return left, losses

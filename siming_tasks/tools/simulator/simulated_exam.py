"""One exam without its picture: plan, truth and ratings, all decided by (seed, number of the exam)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from siming_tasks.common.schema import CONSENSUS
from siming_tasks.rubrics import Rubric, default_rubric
from siming_tasks.tools.simulator.simulated_raters import Rater, draw_raters, rate
from siming_tasks.tools.simulator.trainee import TraineeErrors, draw_errors
from siming_tasks.tools.simulator.true_scores import StepTruth, compute_true_scores

__all__ = ["Exam", "examine", "simulate_labels"]


@dataclass(frozen=True)
class Exam:
    """A performed and rated exam.

    Attributes:
        video_id: its name in the dataset.
        look: seed of everything that only changes the picture (room, camera, clothes, small motion).
        plan: what the trainee does.
        truth: the true result of every step, by step id.
        scores: points by step id and rater (``rater_a``, ``rater_b``, ``consensus``).
    """

    video_id: str
    look: int
    plan: TraineeErrors
    truth: Mapping[str, StepTruth]
    scores: Mapping[str, Mapping[str, float]]


def simulate_labels(videos: int, seed: int = 0, rubric: Rubric | None = None) -> tuple[Exam, ...]:
    """Exams with their labels and no pictures (thousands a second), the same for a seed on every machine.

    Args:
        videos: how many.
        seed: of trainees and raters.
        rubric: default: the embedded one.
    """
    rubric = rubric or default_rubric()
    raters = draw_raters(rubric, np.random.default_rng([seed, 1]))
    exams = []
    for number in range(videos):
        plan = draw_errors(rubric, np.random.default_rng([seed, 2, number]))
        exams.append(examine(f"sim{number + 1:03d}", plan, raters, seed=(seed, number), rubric=rubric))
    return tuple(exams)


def examine(
    video_id: str, plan: TraineeErrors, raters: Mapping[str, Rater], *, seed: tuple[int, int], rubric: Rubric
) -> Exam:
    """The exam that follows from a plan; ``seed`` decides the raters' luck and the look of the picture."""
    truth = compute_true_scores(rubric, plan.errors)
    rngs = np.random.default_rng([seed[0], 3, seed[1]]).spawn(len(raters))
    points_by_rater = {
        name: rate(rubric, rater, truth, rng) for (name, rater), rng in zip(raters.items(), rngs, strict=True)
    }
    scores = {
        step.id: {
            **{name: points[step.id] for name, points in points_by_rater.items()},
            CONSENSUS: truth[step.id].points,
        }
        for step in rubric.steps
    }
    look = int(np.random.default_rng([seed[0], 4, seed[1]]).integers(2**31))
    return Exam(video_id, look, plan, truth, scores)

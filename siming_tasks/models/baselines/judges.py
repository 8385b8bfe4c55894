"""Judges without a model: the labels themselves, a physician, constants, the step prior, chance."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import product

import numpy as np

from siming_tasks.common.errors import DataError, OptionsError
from siming_tasks.common.files import sha256_json
from siming_tasks.common.schema import ANSWERS, CONSENSUS, Answer, Video
from siming_tasks.data import Dataset
from siming_tasks.metrics.no_video_baselines import step_prior
from siming_tasks.models.baselines.forms import HONEST
from siming_tasks.results.score_matrix import build_reference_matrix
from siming_tasks.rubrics import RubricStep
from siming_tasks.tasks import benchmark_task

__all__ = ["KINDS", "Judge", "judge"]

KINDS = ("oracle", HONEST, "rater_a", "rater_b", "all_correct", "all_failed", "step_prior", "random")

Judge = Callable[[Video, Sequence[RubricStep], Answer], dict[str, float]]
"""(video, steps, answer) to answers, as the parser would give them."""

Points = Callable[[Video, RubricStep], float]


def judge(kind: str, dataset: Dataset, seed: int = 0) -> Judge:
    """A judge of one data set.

    Answers are raw points, or for error detection 1.0 where the step is wrong (points below the maximum) and else 0.0.

    Args:
        kind: ``oracle`` (consensus), ``honest`` (the same, but where a step may be called not visible it does so if
            the frames lack the evidence: :mod:`siming_tasks.models.baselines.forms`), ``rater_a``/``rater_b`` (any
            rater of
            the data set by name), ``all_correct``, ``all_failed``, ``step_prior`` (the other videos' consensus for
            this step), ``random`` (uniform).
        dataset: whose labels are used.
        seed: of ``random``; the draw depends on video, step and answer only, not on order or process.

    Raises:
        OptionsError: there is no such kind.
        DataError: the judge needs labels that the data set does not have.
    """
    if kind == "random":
        return lambda video, steps, answer: {step.id: _draw(seed, video, step, answer) for step in steps}
    if kind == "step_prior":
        return _step_prior(dataset)
    points = _points(kind, dataset)

    def answers(video: Video, steps: Sequence[RubricStep], answer: Answer) -> dict[str, float]:
        scores = {step.id: points(video, step) for step in steps}
        if answer == "score":
            return scores
        return {step.id: float(scores[step.id] < step.max_score) for step in steps}

    return answers


def _points(kind: str, dataset: Dataset) -> Points:
    if kind == "all_correct":
        return lambda _, step: step.max_score
    if kind == "all_failed":
        return lambda _, step: 0.0
    rater = CONSENSUS if kind in ("oracle", HONEST) else kind
    if rater not in dataset.raters or (rater == CONSENSUS and dataset.withheld):
        if kind in KINDS:
            raise _unlabelled(kind, rater, dataset)
        raise OptionsError(f"kind={kind!r} is not one of {', '.join(KINDS)}, nor a rater of {dataset.name}.")

    def of_rater(video: Video, step: RubricStep) -> float:
        score = video.step(step.id).scores.get(rater)
        if score is None:
            raise DataError(f"kind={kind}: {rater} has not scored step {step.id!r} of video {video.video_id!r}.")
        return score

    return of_rater


def _unlabelled(kind: str, rater: str, dataset: Dataset) -> DataError:
    gave = [*dataset.physicians, *([] if dataset.withheld else [CONSENSUS])]
    return DataError(f"kind={kind} needs the labels of {rater!r}; {dataset.name} has {', '.join(gave) or 'none'}.")


def _step_prior(dataset: Dataset) -> Judge:
    """The step prior of :mod:`siming_tasks.metrics.no_video_baselines`, on the points that a reply may give."""
    if dataset.withheld:
        raise _unlabelled("step_prior", CONSENSUS, dataset)
    priors: dict[Answer, dict[tuple[str, str], float]] = {}
    grains = np.array([step.score_increment for step in dataset.rubric.steps])
    for answer in ANSWERS:
        panel = step_prior(build_reference_matrix(dataset, benchmark_task("full", answer).name))
        cells, score_increment = product(panel.video_ids, panel.step_ids), grains if answer == "score" else 1.0
        nearest = np.floor(panel.predicted / score_increment + 0.5) * score_increment
        priors[answer] = dict(zip(cells, nearest.ravel().tolist(), strict=True))

    def answers(video: Video, steps: Sequence[RubricStep], answer: Answer) -> dict[str, float]:
        known = {step.id: priors[answer][video.video_id, step.id] for step in steps}
        # Nobody else shows the step: full points, the commonest label.
        best = {step.id: step.max_score if answer == "score" else 0.0 for step in steps}
        return {name: best[name] if np.isnan(value) else value for name, value in known.items()}

    return answers


def _draw(seed: int, video: Video, step: RubricStep, answer: Answer) -> float:
    entropy = int(sha256_json([seed, video.video_id, step.id, answer])[:16], 16)
    top, score_increment = (step.max_score, step.score_increment) if answer == "score" else (1.0, 1.0)
    return float(np.random.default_rng(entropy).integers(0, int(top / score_increment) + 1) * score_increment)

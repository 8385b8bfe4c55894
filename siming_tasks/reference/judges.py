"""Judges without a model: the labels themselves, a physician, constants, the step prior, chance."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from siming_tasks.data import Dataset
from siming_tasks.errors import DataError, SettingsError
from siming_tasks.files import sha256_json
from siming_tasks.rubrics import RubricStep
from siming_tasks.schema import CONSENSUS, Answer, Video

__all__ = ["KINDS", "Judge", "judge"]

KINDS = ("oracle", "rater_a", "rater_b", "all_correct", "all_failed", "step_prior", "random")

Judge = Callable[[Video, Sequence[RubricStep], Answer], dict[str, float]]
"""(video, steps, answer) to answers, as the parser would give them."""

Points = Callable[[Video, RubricStep], float]


def judge(kind: str, dataset: Dataset, seed: int = 0) -> Judge:
    """A judge of one data set.

    Answers are raw points, or for error detection 1.0 where the step is wrong (points below the maximum) and else 0.0.

    Args:
        kind: ``oracle`` (consensus), ``rater_a``/``rater_b`` (any rater of the data set by name), ``all_correct``,
            ``all_failed``, ``step_prior`` (the other videos' consensus for this step), ``random`` (uniform).
        dataset: whose labels are used.
        seed: of ``random``; the draw depends on video, step and answer only, not on order or process.

    Raises:
        SettingsError: there is no such kind.
        DataError: the judge needs labels that the data set does not have.
    """
    if kind == "random":
        return lambda video, steps, answer: {step.id: _draw(seed, video, step, answer) for step in steps}
    if kind == "step_prior":
        prior = _StepPrior(dataset)
        return lambda video, steps, answer: {step.id: prior.answer(video, step, answer) for step in steps}
    points = _points(kind, dataset)

    def answers(video: Video, steps: Sequence[RubricStep], answer: Answer) -> dict[str, float]:
        given = {step.id: points(video, step) for step in steps}
        if answer == "score":
            return given
        return {step.id: float(given[step.id] < step.max_score) for step in steps}

    return answers


def _points(kind: str, dataset: Dataset) -> Points:
    if kind == "all_correct":
        return lambda _, step: step.max_score
    if kind == "all_failed":
        return lambda _, step: 0.0
    rater = CONSENSUS if kind == "oracle" else kind
    if rater not in dataset.raters:
        if kind in KINDS:
            raise DataError(
                f"kind={kind} needs the labels of {rater!r}; {dataset.name} has {', '.join(dataset.raters)}."
            )
        raise SettingsError(f"kind={kind!r} is not one of {', '.join(KINDS)}, nor a rater of {dataset.name}.")

    def of_rater(video: Video, step: RubricStep) -> float:
        found = video.step(step.id).scores.get(rater)
        if found is None:
            raise DataError(f"kind={kind}: {rater} has not scored step {step.id!r} of video {video.video_id!r}.")
        return found

    return of_rater


class _StepPrior:
    """What the other videos say about a step: knowledge of the exam that needs no look at this video.

    Scores: the mean of the others' consensus, rounded to whole points. Errors: wrong where the others fail the step
    more often than they fail the average step (a majority vote would call nearly every step correct).
    """

    def __init__(self, dataset: Dataset) -> None:
        steps = dataset.rubric.steps
        self.row = {video.video_id: index for index, video in enumerate(dataset.videos)}
        self.column = {step.id: index for index, step in enumerate(steps)}
        self.points = np.full((len(self.row), len(self.column)), np.nan)
        for video in dataset.videos:
            for label in video.applicable:
                if label.consensus is not None:
                    self.points[self.row[video.video_id], self.column[label.step_id]] = label.consensus
        self.wrong = np.where(np.isnan(self.points), np.nan, self.points < [step.max_score for step in steps])

    def answer(self, video: Video, step: RubricStep, answer: Answer) -> float:
        others = np.arange(len(self.points)) != self.row[video.video_id]
        known = others & ~np.isnan(self.points[:, self.column[step.id]])
        if not known.any():  # nobody else shows this step: full points, the commonest label
            return step.max_score if answer == "score" else 0.0
        if answer == "score":
            return float(np.floor(self.points[known, self.column[step.id]].mean() + 0.5))
        return float(self.wrong[known, self.column[step.id]].mean() > np.nanmean(self.wrong[others]))


def _draw(seed: int, video: Video, step: RubricStep, answer: Answer) -> float:
    entropy = int(sha256_json([seed, video.video_id, step.id, answer])[:16], 16)
    top = int(step.max_score) if answer == "score" else 1
    return float(np.random.default_rng(entropy).integers(0, top + 1))

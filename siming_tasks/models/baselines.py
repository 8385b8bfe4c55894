"""Reference rows: judges without a model, whose answers are known: labels, a physician, constants, step prior, chance.

They also abstain, point at evidence and name errors, as far as what they know allows.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import product
from typing import Any

import numpy as np

from siming_tasks.benchmark.exams import Video
from siming_tasks.benchmark.metrics.no_video import step_prior
from siming_tasks.benchmark.rubrics import RubricStep
from siming_tasks.benchmark.scoring import build_reference_matrix
from siming_tasks.benchmark.tasks import benchmark_task
from siming_tasks.benchmark.types import ANSWERS, CONSENSUS, Answer
from siming_tasks.common.errors import DataError, OptionsError
from siming_tasks.common.files import sha256_json
from siming_tasks.data import Dataset
from siming_tasks.media import recorded_mode, unobservable_reason

HONEST = "honest"
"""The judge that knows the labels and calls a step not visible where the frames lack what the rubric asks for."""

KINDS = ("oracle", HONEST, "rater_a", "rater_b", "all_correct", "all_failed", "step_prior", "random")

Judge = Callable[[Video, Sequence[RubricStep], Answer], dict[str, float]]
"""(video, steps, answer) to answers, as the parser would give them."""

Span = tuple[float, float]
Pointer = Callable[[Video, Sequence[RubricStep]], dict[str, list[Span]]]
"""(video, steps) to the seconds of the video on which each answer rests."""


def judge(kind: str, dataset: Dataset, seed: int = 0) -> Judge:
    """A judge of one data set.

    Answers are raw points, or for error detection 1.0 where the step is wrong (points below the maximum) and else 0.0.

    Args:
        kind: ``oracle`` (consensus), ``honest`` (the same, but where a step may be called not visible it does so if
            the frames lack the evidence: :func:`unseen`), ``rater_a``/``rater_b`` (any rater of the data set by name),
            ``all_correct``, ``all_failed``, ``step_prior`` (the other videos' consensus for this step), ``random``
            (uniform).
        dataset: whose labels are used.
        seed: of ``random``; the draw depends on video, step and answer only, not on order or process.

    Raises:
        OptionsError: there is no such kind.
        DataError: the judge needs labels that the data set does not have.
    """
    if kind == "random":
        return lambda video, steps, answer: {step.id: _draw(seed, video, step, answer) for step in steps}
    rater = CONSENSUS if kind in ("oracle", HONEST, "step_prior") else kind
    constant = kind in ("all_correct", "all_failed")
    known_rater = kind == "step_prior" or rater in dataset.raters  # the prior is undefined rather than refused
    if not constant and (not known_rater or (rater == CONSENSUS and dataset.withheld)):
        if kind not in KINDS:
            raise OptionsError(f"kind={kind!r} is not one of {', '.join(KINDS)}, nor a rater of {dataset.name}.")
        gave = ", ".join([*dataset.physicians, *([] if dataset.withheld else [CONSENSUS])]) or "none"
        raise DataError(f"kind={kind} needs the labels of {rater!r}; {dataset.name} has {gave}.")
    if kind == "step_prior":
        return _step_prior(dataset)

    def answers(video: Video, steps: Sequence[RubricStep], answer: Answer) -> dict[str, float]:
        points = {}
        for step in steps:
            score = video.step(step.id).scores.get(rater) if not constant else step.max_score * (kind == "all_correct")
            if score is None:
                raise DataError(f"kind={kind}: {rater} has not scored step {step.id!r} of video {video.video_id!r}.")
            points[step.id] = score if answer == "score" else float(score < step.max_score)
        return points

    return answers


def _step_prior(dataset: Dataset) -> Judge:
    """The step prior of :mod:`siming_tasks.benchmark.metrics.no_video`, on the points that a reply may give."""
    priors: dict[Answer, dict[tuple[str, str], float]] = {}
    increments = np.array([step.score_increment for step in dataset.rubric.steps])
    for answer in ANSWERS:
        panel = build_reference_matrix(dataset, benchmark_task("full", answer).name)
        cells, score_increment = product(panel.video_ids, panel.step_ids), increments if answer == "score" else 1.0
        nearest = np.floor(step_prior(panel) / score_increment + 0.5) * score_increment
        priors[answer] = dict(zip(cells, nearest.ravel().tolist(), strict=True))

    def answers(video: Video, steps: Sequence[RubricStep], answer: Answer) -> dict[str, float]:
        known = {step.id: priors[answer][video.video_id, step.id] for step in steps}
        # Nobody else shows the step: full points, the commonest label.
        best = {step.id: step.max_score if answer == "score" else 0.0 for step in steps}
        return {name: best[name] if np.isnan(value) else value for name, value in known.items()}

    return answers


def _draw(seed: int, video: Video, step: RubricStep, answer: Answer) -> float:
    top, score_increment = (step.max_score, step.score_increment) if answer == "score" else (1.0, 1.0)
    rng = _rng(seed, video, step, answer)
    return float(rng.integers(0, int(top / score_increment) + 1) * score_increment)


def _rng(seed: int, video: Video, step: RubricStep, purpose: str) -> np.random.Generator:
    """Generator of one draw, the same in every order and process."""
    return np.random.default_rng(int(sha256_json([seed, video.video_id, step.id, purpose])[:16], 16))


def unseen(kind: str, steps: Sequence[RubricStep], media: Mapping[str, Any]) -> list[str]:
    """The steps that a judge calls not visible, given what it was shown; none but of ``honest``.

    Raises:
        OptionsError: it was shown no frames of a known rate.
    """
    if kind != HONEST:
        return []
    rate = media.get("fps") if recorded_mode(media).images else None
    if not rate:
        raise OptionsError(
            "kind=honest judges by the frames that it is shown: leave media=True, and SIMING_MEDIA auto."
        )
    return [step.id for step in steps if unobservable_reason(step, float(rate))]


def stated_errors(kind: str, video: Video, steps: Sequence[RubricStep]) -> dict[str, list[str]]:
    """The errors that a judge names: those that the labels state if it knows the labels, and none otherwise."""
    knows_labels = kind not in ("step_prior", "random", "all_correct", "all_failed")
    return {step.id: list(video.step(step.id).errors or ()) if knows_labels else [] for step in steps}


def pointer(kind: str, dataset: Dataset, seed: int = 0) -> Pointer:
    """The evidence of a judge: who knows labels names the step's span, who does not a part as long as it.

    ``random`` names one anywhere, the others the one in the middle. A step without a span has none.
    """

    def points(video: Video, steps: Sequence[RubricStep]) -> dict[str, list[Span]]:
        spans: dict[str, list[Span]] = {}
        for step in steps:
            span = video.step(step.id).span
            spans[step.id] = [] if span is None else [span]
            if span is None or kind not in ("random", "step_prior", "all_correct", "all_failed"):
                continue
            length = min(span[1] - span[0], video.duration)
            room = video.duration - length
            start = float(_rng(seed, video, step, "evidence").uniform(0, room)) if kind == "random" else room / 2
            spans[step.id] = [(round(start, 3), round(start + length, 3))]
        return spans

    return points

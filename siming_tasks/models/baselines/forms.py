"""Abstentions, evidence spans and named errors of the baseline judges."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from siming_tasks.common.errors import OptionsError
from siming_tasks.common.files import sha256_json
from siming_tasks.common.schema import Video
from siming_tasks.data import Dataset
from siming_tasks.media import recorded_mode, unobservable_reason
from siming_tasks.metrics.selective.evidence import prior_spans
from siming_tasks.rubrics import RubricStep

__all__ = ["HONEST", "Pointer", "pointer", "stated_errors", "unseen"]

HONEST = "honest"
"""The judge that knows the labels and calls a step not visible where the frames lack what the rubric asks for."""

Span = tuple[float, float]
Pointer = Callable[[Video, Sequence[RubricStep]], dict[str, list[Span]]]
"""(video, steps) to the seconds of the video on which each answer rests."""


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


def pointer(kind: str, dataset: Dataset, seed: int = 0) -> Pointer:
    """The evidence of a judge: who knows labels names the step's span, who does not a chance row's.

    ``step_prior`` names where the step usually is in the other videos, ``random`` a span of the step's length anywhere,
    ``all_correct`` and ``all_failed`` one in the middle. A step without a span has none.
    """
    if kind == "step_prior":
        return _usual(dataset)

    def points(video: Video, steps: Sequence[RubricStep]) -> dict[str, list[Span]]:
        spans: dict[str, list[Span]] = {}
        for step in steps:
            span = video.step(step.id).span
            spans[step.id] = [] if span is None else [_moved(kind, span, video, step, seed)]
        return spans

    return points


def stated_errors(kind: str, video: Video, steps: Sequence[RubricStep]) -> dict[str, list[str]]:
    """The errors that a judge names: those that the labels state if it knows the labels, and none otherwise."""
    knows_labels = kind not in ("step_prior", "random", "all_correct", "all_failed")
    return {step.id: list(video.step(step.id).errors or ()) if knows_labels else [] for step in steps}


def _moved(kind: str, span: Span, video: Video, step: RubricStep, seed: int) -> Span:
    length = min(span[1] - span[0], video.duration)
    room = video.duration - length
    if kind == "random":
        entropy = int(sha256_json([seed, video.video_id, step.id, "evidence"])[:16], 16)
        start = float(np.random.default_rng(entropy).uniform(0, room))
    elif kind in ("all_correct", "all_failed"):
        start = room / 2
    else:
        return span
    return round(start, 3), round(start + length, 3)


def _usual(dataset: Dataset) -> Pointer:
    column = {step.id: index for index, step in enumerate(dataset.rubric.steps)}
    row = {video.video_id: index for index, video in enumerate(dataset.videos)}
    spans = np.full((len(row), len(column), 2), np.nan)
    for index, video in enumerate(dataset.videos):
        for label in video.steps:
            if label.span:
                spans[index, column[label.step_id]] = label.span
    usual = prior_spans(spans, np.array([video.duration for video in dataset.videos])).round(3)

    def points(video: Video, steps: Sequence[RubricStep]) -> dict[str, list[Span]]:
        places = {step.id: usual[row[video.video_id], column[step.id]].tolist() for step in steps}
        return {name: [] if np.isnan(start) else [(start, end)] for name, (start, end) in places.items()}

    return points

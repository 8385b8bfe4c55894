"""Types shared by the suite: videos, step labels, scopes and answers. No I/O, no framework.

A *video* shows one exam. Raters gave each *rubric step* points. A *setting* is what a model is asked: the whole video
or one step's clip, points or a correct/incorrect verdict. One question to a model is a *doc*; what came back, read
against the rubric, is a *record* (see :mod:`siming_tasks.results.record`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal, get_args

Scope = Literal["full", "clip"]
Answer = Literal["score", "error"]
Unit = Literal["video", "performance", "student", "site"]
"""What is drawn again to say how sure a result is, from the smallest to the largest."""

UnitChoice = Unit | Literal["auto"]
"""One of the units, or the largest that the data state."""

AttemptRule = Literal["first", "last", "best", "worst"]
"""Which of several attempts at a step is its label and its clip: *worst* is the first wrong one, *best* the last
right one; each is the last attempt where there is none."""

SCOPES: tuple[Scope, ...] = get_args(Scope)
ANSWERS: tuple[Answer, ...] = get_args(Answer)
UNITS: tuple[Unit, ...] = get_args(Unit)
ATTEMPT_RULES: tuple[AttemptRule, ...] = get_args(AttemptRule)
CORRECT, INCORRECT = "correct", "incorrect"  # the two verdicts, in prompts, replies, prediction files and reports
CONSENSUS = "consensus"  # name of the reference rater in every ``score`` mapping
RESAMPLES = 10_000  # resamples of the cluster bootstrap, unless another number is asked for


def verdict_word(value: float) -> str:
    """Name the verdict that a number stands for: 1.0 (true) for ``incorrect`` and 0.0 (false) for ``correct``."""
    return INCORRECT if value else CORRECT


def answer_key(answer: Answer, scope: Scope) -> str:
    """Key of the answers in replies and prediction files: ``scores``, ``verdicts``, ``score`` or ``verdict``."""
    word = "score" if answer == "score" else "verdict"
    return word if scope == "clip" else f"{word}s"


@dataclass(frozen=True, slots=True)
class StepLabel:
    """Label of one rubric step of one video.

    ``start`` and ``end`` are seconds of the media file, both None for a step without a clip. ``scores`` maps a rater's
    name to raw points; None or an absent rater is a withheld label. A step that is not ``applicable`` is never asked
    and never counted. ``errors`` are ids of the rubric's errors that were made, in any order; None: not stated.
    """

    step_id: str
    start: float | None = None
    end: float | None = None
    scores: Mapping[str, float | None] = field(default_factory=dict)
    applicable: bool = True
    errors: tuple[str, ...] | None = None

    @property
    def span(self) -> tuple[float, float] | None:
        """``(start, end)`` in seconds, or None if the step has no clip."""
        return None if self.start is None or self.end is None else (self.start, self.end)

    @property
    def consensus(self) -> float | None:
        """Reference points, or None if withheld."""
        return self.scores.get(CONSENSUS)


@dataclass(frozen=True)
class Video:
    """One exam: its media file (relative to the dataset folder), its length in seconds and its labelled steps."""

    video_id: str
    media: str
    duration: float
    steps: tuple[StepLabel, ...]
    site: str | None = None
    extra: Mapping[str, Any] = field(default_factory=dict)

    @cached_property
    def applicable(self) -> tuple[StepLabel, ...]:
        """Steps that are asked about."""
        return tuple(step for step in self.steps if step.applicable)

    @cached_property
    def applicable_ids(self) -> tuple[str, ...]:
        """Ids of the steps that are asked about."""
        return tuple(step.step_id for step in self.applicable)

    @cached_property
    def timed_ids(self) -> tuple[str, ...]:
        """Ids of those among them that have a clip."""
        ids = tuple(step.step_id for step in self.applicable if step.span)
        return self.applicable_ids if len(ids) == len(self.applicable_ids) else ids

    def step(self, step_id: str) -> StepLabel:
        """Label of one step; KeyError if the video has none."""
        return self._by_id[step_id]

    @cached_property
    def _by_id(self) -> dict[str, StepLabel]:
        return {step.step_id: step for step in self.steps}

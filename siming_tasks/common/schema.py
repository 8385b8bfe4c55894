"""Types shared by the suite: videos, step labels, scopes and answers. No I/O, no framework.

A *video* shows one exam. Raters gave each *rubric step* points. A *setting* is what a model is asked: the whole video
or one step's clip, points or a correct/incorrect verdict. One question to a model is a *doc*; what came back, read
against the rubric, is a *record* (see :mod:`siming_tasks.study.results.record`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal, TypeGuard, get_args

from siming_tasks.common.display import ShortRepr

Scope = Literal["full", "clip"]
Answer = Literal["score", "error"]
Unit = Literal["video", "performance", "student", "site"]
"""What is left out at a time to say how sure a result is, from the smallest to the largest."""

UnitChoice = Unit | Literal["auto"]
"""One of the units, or the largest that the data state."""

AttemptRule = Literal["first", "last", "best", "worst"]
"""Which of several attempts at a step is its label and its clip: *worst* is the first wrong one, *best* the last
right one; each is the last attempt where there is none."""

RaterKind = Literal["person", "instrument", "rule", "model"]
"""Who or what gave points: a person, a manikin or sensor, a rule that makes points of other facts, or a model."""

SCOPES: tuple[Scope, ...] = get_args(Scope)
ANSWERS: tuple[Answer, ...] = get_args(Answer)
UNITS: tuple[Unit, ...] = get_args(Unit)
PERSON: RaterKind = "person"
CORRECT, INCORRECT = "correct", "incorrect"  # the two verdicts, in prompts, replies, prediction files and reports
CONSENSUS = "consensus"  # name of the reference rater in every ``score`` mapping
CONDITIONS = ("dataset", "prompt", "schema", "media", "frames", "size", "density", "encoding", "sampler")
"""What a request was asked about, and how."""
DIFFERENCES = (*CONDITIONS, "videos", "steps")
"""Differences that compared runs may have, by the names under which a user allows them."""


def verdict_word(value: float) -> str:
    """Name the verdict that a number stands for: 1.0 (true) for ``incorrect`` and 0.0 (false) for ``correct``."""
    return INCORRECT if value else CORRECT


def is_number(value: object) -> TypeGuard[float]:
    """True for a number of JSON; its true and false are none."""
    return isinstance(value, int | float) and not isinstance(value, bool)


def answer_key(answer: Answer, scope: Scope) -> str:
    """Key of the answers in replies and prediction files: ``scores``, ``verdicts``, ``score`` or ``verdict``."""
    word = "score" if answer == "score" else "verdict"
    return word if scope == "clip" else f"{word}s"


@dataclass(frozen=True, slots=True)
class Rater:
    """Facts about a rater: its kind of judge it is, and what it knew of the performance.

    Attributes:
        kind: a person unless stated otherwise.
        heard: sound was heard (True) or not (False); None: not stated.
        saw: the ``recording``, or the performance itself (``present``); None: not stated.
    """

    kind: RaterKind = PERSON
    heard: bool | None = None
    saw: Literal["recording", "present"] | None = None

    def __str__(self) -> str:
        sound = {True: "with sound", False: "without sound", None: "sound not stated"}[self.heard]
        place = {"recording": "saw the recording", "present": "was present", None: "place not stated"}[self.saw]
        return f"{self.kind}, {place}, {sound}" if self.kind == PERSON else self.kind


def human_raters(names: Iterable[str], facts: Mapping[str, Rater]) -> tuple[str, ...]:
    """Names of the raters that are persons, sorted: the only ones among whom human agreement is measured.

    The consensus is nobody's own judgement, and an instrument, a rule or a model is no human rater.

    Args:
        names: of raters.
        facts: by name, what is known of them; a rater without an entry is a person.

    Example:
        >>> human_raters(["rater_b", "manikin", "consensus", "rater_a"], {"manikin": Rater("instrument")})
        ('rater_a', 'rater_b')
    """
    return tuple(sorted(name for name in set(names) - {CONSENSUS} if facts.get(name, Rater()).kind == PERSON))


@dataclass(frozen=True, slots=True)
class Attempt:
    """One of several attempts at a step, in seconds of the media file; without times there is no clip of it.

    ``errors`` are ids of the rubric's errors that were made in it, ``reason`` says in words why it is wrong.
    """

    start: float | None
    end: float | None
    correct: bool
    errors: tuple[str, ...] = ()
    reason: str = ""


def deciding(attempts: Sequence[Attempt], rule: AttemptRule) -> Attempt:
    """The attempt that is the step's label.

    Args:
        attempts: in the order of time, at least one.
        rule: *worst* is the first wrong one, *best* the last right one; each is the last where there is none.

    Example:
        >>> tries = [Attempt(0, 1, True), Attempt(2, 3, False), Attempt(4, 5, True)]
        >>> [deciding(tries, rule).start for rule in ("first", "last", "best", "worst")]
        [0, 4, 4, 2]
    """
    if rule == "first":
        return attempts[0]
    wrong = [attempt for attempt in attempts if not attempt.correct]
    right = [attempt for attempt in attempts if attempt.correct]
    if rule == "worst" and wrong:
        return wrong[0]
    return right[-1] if rule == "best" and right else attempts[-1]


@dataclass(frozen=True, slots=True)
class Finding:
    """Errors that one rater saw in a step (None: not stated), and why in that rater's words."""

    errors: tuple[str, ...] | None = None
    reason: str = ""


@dataclass(frozen=True, slots=True)
class StepLabel:
    """Label of one rubric step of one video.

    ``start`` and ``end`` are seconds of the media file, both None for a step without a clip. ``scores`` maps a rater's
    name to raw points; None or an absent rater is a withheld label. A step that is not ``applicable`` is never asked
    and never counted. ``errors`` are ids of the rubric's errors that were made, in any order (None: not stated), and
    ``reason`` says why, both by the consensus; ``findings`` has those of single raters. ``attempts`` are all attempts
    at a step that was tried more than once, the one that decides among them.
    """

    step_id: str
    start: float | None = None
    end: float | None = None
    scores: Mapping[str, float | None] = field(default_factory=dict)
    applicable: bool = True
    errors: tuple[str, ...] | None = None
    reason: str = ""
    findings: Mapping[str, Finding] = field(default_factory=dict)
    attempts: tuple[Attempt, ...] = ()

    @property
    def span(self) -> tuple[float, float] | None:
        """``(start, end)`` in seconds, or None if the step has no clip."""
        return None if self.start is None or self.end is None else (self.start, self.end)

    def errors_by(self, rater: str) -> tuple[str, ...] | None:
        """Ids of the errors that the consensus or a rater states for the step; None: not stated."""
        if rater == CONSENSUS:
            return self.errors
        finding = self.findings.get(rater)
        return finding.errors if finding else None

    @property
    def consensus(self) -> float | None:
        """Reference points, or None if withheld."""
        return self.scores.get(CONSENSUS)


@dataclass(frozen=True, repr=False)
class Video(ShortRepr):
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

    @property
    def splits(self) -> dict[str, str]:
        """The part of each of the set's splits that the video is in, by the split's name; ``split`` is the main one."""
        main = self.extra.get("split")
        return {**({"split": str(main)} if main is not None else {}), **self.extra.get("splits", {})}

    def step(self, step_id: str) -> StepLabel:
        """Label of one step; KeyError if the video has none."""
        return self._by_id[step_id]

    @cached_property
    def _by_id(self) -> dict[str, StepLabel]:
        return {step.step_id: step for step in self.steps}

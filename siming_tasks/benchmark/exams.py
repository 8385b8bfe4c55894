"""Exams in memory: videos, the labels of their steps, the raters and the rubric. No files, no framework.

A *video* shows one exam. Raters gave each *rubric step* points. Exams on disk are
:class:`siming_tasks.data.Dataset`, which reads and checks them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

from siming_tasks.benchmark.types import CONSENSUS
from siming_tasks.common.display import ShortRepr
from siming_tasks.common.errors import DataError
from siming_tasks.common.printed_value import counted

if TYPE_CHECKING:  # listing the tasks must not load rubrics
    from siming_tasks.benchmark.rubrics import Rubric

AttemptRule = Literal["first", "last", "best", "worst"]
"""Which of several attempts at a step is its label and its clip: *worst* is the first wrong one, *best* the last
right one; each is the last attempt where there is none."""

RaterKind = Literal["person", "instrument", "rule", "model"]
"""Who or what gave points: a person, a manikin or sensor, a rule that makes points of other facts, or a model."""

PERSON: RaterKind = "person"


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

    The consensus is not a single person's judgement, and an instrument, a rule or a model is not a human rater.

    Args:
        names: of raters.
        facts: facts about them, by name; a rater without an entry is a person.

    Example:
        >>> human_raters(["rater_b", "manikin", "consensus", "rater_a"], {"manikin": Rater("instrument")})
        ('rater_a', 'rater_b')
    """
    return tuple(sorted(name for name in set(names) - {CONSENSUS} if facts.get(name, Rater()).kind == PERSON))


@dataclass(frozen=True, slots=True)
class Attempt:
    """One of several attempts at a step, in seconds of the media file; without times it has no clip.

    ``errors`` are ids of the rubric's errors that were made in it, ``reason`` is a text on why it is wrong.
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
        rule: one of :data:`AttemptRule`.

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


@dataclass(frozen=True, repr=False)
class Exams(ShortRepr):
    """Exams that share a rubric: what a task asks about, and what the answers are scored against.

    Attributes:
        rubric: what the labels refer to.
        videos: in any order, each with its own id; their steps are the rubric's.
        name: for messages.
        rater_facts: facts about the raters, by name; a rater without an entry is a person.

    Example:
        >>> from siming_tasks.benchmark.exams import Exams, StepLabel, Video
        >>> from siming_tasks.benchmark.rubrics import default_rubric
        >>> label = StepLabel("cpr_01", 0.0, 4.2, {"rater_a": 2, "rater_b": 1, "consensus": 2})
        >>> exams = Exams(default_rubric(), (Video("v1", "v1.mp4", 9.0, (label,)),))
        >>> exams.physicians, exams.video("v1").step("cpr_01").consensus
        (('rater_a', 'rater_b'), 2)
    """

    rubric: Rubric
    videos: tuple[Video, ...]
    name: str = "exams"
    rater_facts: Mapping[str, Rater] = field(default_factory=dict)

    @cached_property
    def by_id(self) -> dict[str, Video]:
        """Videos by id."""
        return {video.video_id: video for video in self.videos}

    def video(self, video_id: str) -> Video:
        """One video.

        Raises:
            DataError: there is no such video; names the nearest.
        """
        if video_id in self.by_id:
            return self.by_id[video_id]
        near = get_close_matches(str(video_id), self.by_id, 1) or [*self.by_id][:3]
        raise DataError(f"{self.name}: no video {video_id!r}; there is {', '.join(near)}.")

    @cached_property
    def raters(self) -> tuple[str, ...]:
        """Names under which any step has points, sorted; ``consensus`` included."""
        return tuple(sorted({name for video in self.videos for step in video.steps for name in step.scores}))

    @cached_property
    def physicians(self) -> tuple[str, ...]:
        """Names of the human raters (:func:`human_raters`) who gave points to an applicable step, sorted."""
        scored = (item for video in self.videos for step in video.applicable for item in step.scores.items())
        return human_raters((name for name, points in scored if points is not None), self.rater_facts)

    @property
    def machine_raters(self) -> str:
        """Raters by kind (``1 instrument and 2 models``) where no person gave points, else empty."""
        known = [name for name in self.raters if name != CONSENSUS] or self.raters
        raters = [self.rater_facts.get(name, Rater()) for name in known]
        if any(rater.kind == PERSON for rater in raters):
            return ""
        kinds = sorted(Counter(rater.kind for rater in raters).items())
        return " and ".join(counted(number, kind) for kind, number in kinds)

    @property
    def people(self) -> str:
        """Noun for those who scored: physicians; raters if the rubric names another examiner or none is a person."""
        return "raters" if self.rubric.examiner or self.machine_raters else "physicians"

    @property
    def withheld(self) -> bool:
        """True if no applicable step has a consensus: somebody else keeps the labels."""
        return all(step.consensus is None for video in self.videos for step in video.applicable)

    @property
    def different_names(self) -> frozenset[frozenset[str]]:
        """Pairs of names that are alike and mean two persons or places; a data set on disk may state some."""
        return frozenset()

    @property
    def minimal_pairs(self) -> frozenset[frozenset[str]]:
        """Ids of two videos each that show one performance but for one act; a data set on disk may state some."""
        return frozenset()

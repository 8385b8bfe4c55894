"""Worklist of one rater: items in an order, each with a state that its events come to; rating and adjudication."""

from __future__ import annotations

import hashlib
import re
import unicodedata
from abc import ABC
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from siming_tasks.common.errors import OptionsError
from siming_tasks.common.sanitize import visible, well_formed
from siming_tasks.common.schema import CONSENSUS
from siming_tasks.media import has_sound, read_timeline
from siming_tasks.rubrics import Rubric, allowed_points, in_chinese
from siming_tasks.tools.station.event_log import (
    ADJUDICATION,
    RATING,
    Event,
    EventLog,
    Known,
    check_event,
)
from siming_tasks.tools.station.joined_acts import NOTHING
from siming_tasks.tools.station.replay import ExamState, StepState, replay, replay_exams
from siming_tasks.tools.station.station_exams import Exam, Exams
from siming_tasks.tools.station.words import LANGUAGES, Sentence, say

_MAX_NAME = 60
"""Characters of a rater's name."""
_PORTS = 20_000, 10_000
"""First of the usual ports and their number: below those that systems hand out."""
_EVENT_ID = re.compile(r"[A-Za-z0-9-]{8,64}")


class Refusal(Exception):
    """An event that cannot be done; the sentence is for the page.

    Args:
        why: its key in the table of words, or the sentence itself.
        values: what stands in it.
    """

    def __init__(self, why: str | Sentence, **values: Any) -> None:
        self.sentence = Sentence(why, values) if isinstance(why, str) else why
        super().__init__(self.sentence.within(LANGUAGES[0]))


@dataclass(frozen=True)
class Item:
    """One thing to work on: an exam, or one step of one (``part``); ``key`` is its name in the recorded order."""

    exam: Exam
    steps: tuple[str, ...]
    key: str
    part: str | None = None


@dataclass(frozen=True)
class Frames:
    """Start of each frame of an item, and end of the last one; seconds from the first of the exam."""

    times: tuple[float, ...]
    end: float


def rater_name(text: str) -> str:
    """A rater's name as the event log has it.

    Raises:
        OptionsError: it is empty, too long, holds characters that cannot be seen, or is the consensus'.
    """
    name = unicodedata.normalize("NFC", " ".join(text.split()))
    if not name or len(name) > _MAX_NAME or visible(name) != name:
        raise OptionsError(f"--rater {text!r:.80} must be 1 to {_MAX_NAME} visible characters.")
    if name.casefold() == CONSENSUS:
        raise OptionsError("--rater consensus is kept for --adjudicate. Give the physician's own name.")
    return name


def shuffled(keys: Iterable[str], rater: str, work: str) -> list[str]:
    """The items in an order that rater, work and data decide, the same whenever it is asked for."""
    ordered = sorted(keys)
    seed = hashlib.sha256("\0".join([rater, work, *ordered]).encode()).digest()
    return [ordered[place] for place in np.random.default_rng(list(seed)).permutation(len(ordered))]


class Work(ABC):
    """One rater's work on the items of a folder; all state is in the event log.

    Attributes:
        event_log: where events go.
        name: of the work in the event log.
        items: in this rater's order.
        names: by which a page calls them: of this file, work and rater alone, so that a page that was left open never
            writes under the name of whoever works after.
    """

    mode: ClassVar[str]
    """What the page is told to be: ``rate``, ``adjudicate`` or ``model``."""
    unit: ClassVar[str] = "exams"
    kinds: tuple[str, ...] = ("points", "applicable", "start", "end", "comment")
    """Acts on steps that this work takes."""
    language: str | None = None
    """The page's language; None: what the physician chose last, or else the browser's."""

    def __init__(self, event_log: EventLog, name: str, rater: str, rubric: Rubric, items: Sequence[Item]) -> None:
        self.event_log, self.name, self.rater, self.rubric = event_log, name, rater, rubric
        by_key = {item.key: item for item in items}
        order = event_log.order(rater, name, shuffled([item.key for item in items], rater, name))
        self.items = [by_key[key] for key in order if key in by_key]
        self.names = [self._digest(item.key)[:16] for item in self.items]

    @property
    def usual_port(self) -> int:
        """Port of this rater's pages: what a page could not save before its station died goes to the next one there."""
        first, count = _PORTS
        return first + int(self._digest(), 16) % count

    def _digest(self, *more: str) -> str:
        """Name of this file, work and rater that nobody can read them from."""
        whose = (str(self.event_log.path.resolve()), self.name, self.rater, *more)
        return hashlib.sha256("\0".join(whose).encode()).hexdigest()

    def frames(self, item: Item) -> Frames:
        """Times of an item's frames: all of its video."""
        return _frames_of(item.exam)

    def state(self, item: Item) -> ExamState:
        """Answers of this rater to the item so far."""
        events = self.event_log.events(self.name, self.rater, item.exam.digest)
        return replay(event for event in events if item.part is None or event.step == item.part)

    def events(self) -> list[list[Event]]:
        """This rater's events on every item, in one reading of the event log."""
        parts = any(item.part for item in self.items)
        by_item: dict[tuple[str, str | None], list[Event]] = {}
        for event in self.event_log.events(self.name, self.rater):
            by_item.setdefault((event.exam, event.step if parts else None), []).append(event)
        return [by_item.get((item.exam.digest, item.part), []) for item in self.items]

    def open_steps(self) -> list[int]:
        """Number of undecided steps of every item."""
        return [len(replay(events).left(item.steps)) for item, events in zip(self.items, self.events(), strict=True)]

    def start(self) -> dict[str, Any]:
        """Data that the page needs once: the rubric, and the progress of each item."""
        skills = [
            {
                "name": skill.name,
                "zh": skill.name_zh,
                "steps": [
                    {
                        "id": step.id,
                        "name": step.name,
                        "zh": step.name_zh,
                        "requirement": step.requirement,
                        "criteria": step.criteria.model_dump(),
                        "chinese": self.mode != "model" and in_chinese(step),
                        "points": allowed_points(step),
                        "heard": step.evidence.is_heard,
                    }
                    for step in skill.steps
                ],
            }
            for skill in self.rubric.skills
        ]
        return {
            "mode": self.mode,
            "language": self.language,
            "kinds": self.kinds,
            "rater": visible(self.rater),
            "synthetic": self.event_log.synthetic,
            "rubric": visible(self.rubric.title or self.rubric.rubric_id),
            "skills": skills,
            "items": [
                {"id": name, "left": left, "of": len(item.steps)}
                for name, item, left in zip(self.names, self.items, self.open_steps(), strict=True)
            ],
        }

    def open(self, number: int, name: Any) -> dict[str, Any]:
        """Data that the page needs of one item; opening it is an event."""
        item = self._item(number)
        frames = self.frames(item)
        self._append(item, name, item.part, "open", self.facts(item))
        player = {**asdict(frames), **self.player(number)}
        return {**self.shown(item), "name": self.title(item), "steps": item.steps, "player": player} | self.news(item)

    def event(self, number: int, name: Any, step: Any, kind: Any, value: Any) -> dict[str, Any]:
        """Do one event and say what the item's state is now.

        Args:
            number: of the item.
            name: of the event, made by the page, so that one sent twice is done once.
            step: rubric step of the item; what undo and redo are about is the item.
            kind: see :mod:`siming_tasks.tools.station.event_log`.
            value: as there, but ``start`` and ``end`` are numbers of frames.

        Raises:
            Refusal: the event cannot be done.
        """
        item = self._item(number)
        step = item.part if kind in ("undo", "redo") else step
        if kind not in (*self.kinds, "undo", "redo", "played"):
            raise Refusal("not_taken", kind=f"{kind!r:.40}")
        if step is not None and (not isinstance(step, str) or step not in item.steps):
            raise Refusal("no_such_step", step=f"{step!r:.80}")
        if kind in ("start", "end") and value is not None:
            value = self._seconds(item, step, kind, value)
        if kind in ("undo", "redo"):  # the act is named: another log may be joined before this event is read
            if value is not None:
                raise Refusal("no_value", kind=kind.capitalize())
            state = self.state(item)
            about = state.last if kind == "undo" else state.undone
            value = about.id if about else NOTHING
        elif isinstance(value, str):
            value = well_formed(value)
        if wrong := check_event(self.rubric, step, kind, value):
            raise Refusal(wrong)
        self._append(item, name, step, kind, value)
        return self.news(item)

    def _item(self, number: int) -> Item:
        item = self.items[number]
        if changed := item.exam.changed():
            raise Refusal(changed)
        return item

    def _append(self, item: Item, name: Any, step: str | None, kind: str, value: Any) -> None:
        if not isinstance(name, str) or not _EVENT_ID.fullmatch(name):
            raise Refusal("no_name")
        who = {"work": self.name, "rater": self.rater, "exam": item.exam.digest}
        self.event_log.append(name, **who, step=step, kind=kind, value=value)

    def _seconds(self, item: Item, step: str | None, kind: str, frame: Any) -> float:
        """Seconds at which a marked frame begins (start) or ends (end), so that the span holds both frames whole."""
        shown = self.frames(item)
        if isinstance(frame, bool) or not isinstance(frame, int) or not 0 <= frame < len(shown.times):
            raise Refusal("no_such_frame", frame=f"{frame!r:.40}")
        at = (*shown.times, shown.end)[frame + (kind == "end")]
        now = self.state(item).step(step or "")
        other, wrong = (now.end, "start_too_late") if kind == "start" else (now.start, "end_too_early")
        if other is not None and (at >= other if kind == "start" else at <= other):
            raise Refusal(wrong, at=f"{other:.2f}")
        return at

    def news(self, item: Item) -> dict[str, Any]:
        """The state of an item as the page shows it."""
        state = self.state(item)
        return {
            "state": {step: asdict(state.step(step)) for step in item.steps if step in state.steps},
            "undo": state.last and [state.last.step, state.last.kind],
            "redo": state.undone and [state.undone.step, state.undone.kind],
            "left": len(state.left(item.steps)),
            "seconds": round(state.seconds),
            "played": round(state.played, 1),
            "heard": state.heard,
        }

    def title(self, item: Item) -> str:
        """Title of the item on the page."""
        return visible(item.exam.name)

    def facts(self, item: Item) -> dict[str, Any] | None:
        """Facts that the event log keeps of what was brought to the screen."""
        return {"seconds": self.frames(item).end}

    def player(self, number: int) -> dict[str, Any]:
        """Kind of player that shows an item's pictures."""
        return {"kind": "video", "src": f"/media/{number}", "sound": has_sound(self.items[number].exam.path)}

    def picture(self, item: Item, frame: int) -> Path | None:
        """The file of a shown frame, where the page shows single frames."""
        return None

    def remark(self, language: str) -> str:
        """Remark on the work as a whole."""
        return ""

    def end(self) -> str:
        """Finish when the station closes; returns the last message."""
        return ""

    def shown(self, item: Item) -> dict[str, Any]:
        """Further data of the item for the page."""
        return {}


@lru_cache(maxsize=8)
def _frames_of(exam: Exam) -> Frames:
    """Times of all frames of an exam; the last few exams are kept."""
    timeline = read_timeline(exam.path)
    return Frames(tuple(round(time, 6) for time in timeline.times.tolist()), round(timeline.duration, 6))


class Rating(Work):
    """The work of ``siming data rate DIR --rater NAME``: every step of every exam, blind to everybody else."""

    mode = "rate"

    def __init__(self, event_log: EventLog, rater: str, exams: Exams) -> None:
        event_log.know(Known(exam.name, exam.digest, exam.steps) for exam in exams.exams)
        items = [Item(exam, exam.steps, exam.digest) for exam in exams.exams]
        super().__init__(event_log, RATING, rater, exams.rubric, items)


def differ(first: StepState, second: StepState) -> bool:
    """True if two raters gave a step other points, or only one of them says that it applies."""
    return (first.points, first.applicable) != (second.points, second.applicable)


class Adjudication(Work):
    """The work of ``siming data rate DIR --adjudicate``; its events are those of the rater ``consensus``.

    The steps on which two raters differ are shown with what both gave, and nobody's name. Only exams that both raters
    have finished are shown; ``waiting`` counts the others.
    """

    mode = "adjudicate"

    def __init__(self, event_log: EventLog, exams: Exams, raters: Sequence[str] | None = None) -> None:
        event_log.know(Known(exam.name, exam.digest, exam.steps) for exam in exams.exams)
        known = event_log.raters(RATING)
        chosen = list(dict.fromkeys(raters or known))
        names = ", ".join(map(repr, known)) or "nobody"
        if unknown := [name for name in chosen if name not in known]:
            raise OptionsError(f"--raters: {unknown[0]!r} rated nothing in {event_log.path}; {names} did.")
        if len(chosen) != 2:
            what = f"--adjudicate needs two raters; in {event_log.path} rated {names}"
            fix = (
                "Say --raters A B."
                if len(known) > 2
                else "A second one begins with --rater NAME, or comes with --join FILE."
            )
            raise OptionsError(f"{what}. {fix}")
        states = replay_exams(event_log.events(RATING))
        self._both: dict[str, tuple[ExamState, ...]] = {}
        self.waiting = 0
        items = []
        for exam in exams.exams:
            both = tuple(states.get((rater, exam.digest), ExamState()) for rater in chosen)
            self._both[exam.digest] = both
            if any(state.left(exam.steps) for state in both):
                self.waiting += 1
            elif steps := tuple(step for step in exam.steps if differ(*(state.step(step) for state in both))):
                items.append(Item(exam, steps, exam.digest))
        super().__init__(event_log, ADJUDICATION, CONSENSUS, exams.rubric, items)

    def remark(self, language: str) -> str:
        """Number of exams that cannot be adjudicated yet."""
        return f"; {say('say_waiting', language, count=self.waiting)}" if self.waiting else ""

    def shown(self, item: Item) -> dict[str, Any]:
        """Points of the raters in an order that says nothing, and the moment: all that either of them marked."""
        scores, moments = {}, {}
        for step in item.steps:
            both = [state.step(step) for state in self._both[item.exam.digest]]
            scores[step] = [
                {
                    "points": state.points,
                    "applicable": state.applicable,
                    "comment": visible(state.comment),
                    "span": state.span,
                }
                for state in both[:: _side(item, step)]
            ]
            if spans := [state.span for state in both if state.span]:
                moments[step] = [min(start for start, _ in spans), max(end for _, end in spans)]
        return {"scores": scores, "moments": moments}


def _side(item: Item, step: str) -> int:
    """1 or -1, as by a coin for every step of every exam, and the same whenever it is asked for."""
    return 1 if hashlib.sha256(f"{item.exam.digest}/{step}".encode()).digest()[0] % 2 else -1

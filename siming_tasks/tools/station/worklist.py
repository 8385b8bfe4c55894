"""Worklist of one rater: items in an order, each with a state that its events come to."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, ClassVar

from siming_tasks.common.sanitize import visible
from siming_tasks.rubrics import Rubric, RubricStep, allowed_points
from siming_tasks.tools.station.event_log import Event, EventLog, ExamState, check_event, replay
from siming_tasks.tools.station.rater import shuffled
from siming_tasks.tools.station.station_exams import Exam

__all__ = ["Frames", "Item", "Refusal", "Work"]

_ACT_ID = re.compile(r"[A-Za-z0-9-]{8,64}")


class Refusal(Exception):
    """An event that cannot be done; the sentence is for the page."""


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


class Work(ABC):
    """One rater's work on the items of a folder; all state is in the event log.

    Attributes:
        event log: where events go.
        rater: who events.
        rubric: of the steps.
        items: in this rater's order.
    """

    mode: ClassVar[str]
    """What the page is told to be: ``rate``, ``adjudicate`` or ``model``."""
    heading: ClassVar[str] = "Rating station"
    nothing: ClassVar[str] = "There is nothing to rate."
    unit: ClassVar[str] = "exams"
    kinds: ClassVar[tuple[str, ...]]
    """Acts on steps that this work takes."""

    def __init__(self, event_log: EventLog, name: str, rater: str, rubric: Rubric, items: Sequence[Item]) -> None:
        self.event_log, self.name, self.rater, self.rubric = event_log, name, rater, rubric
        by_key = {item.key: item for item in items}
        wanted = shuffled([item.key for item in items], rater, name)
        order = event_log.order(rater, name, wanted)
        self.items = [by_key[key] for key in order if key in by_key]

    @abstractmethod
    def frames(self, item: Item) -> Frames:
        """Times of an item's frames."""

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

    def left(self, item: Item, state: ExamState | None = None) -> list[str]:
        """Steps of the item that are not decided."""
        return (state or self.state(item)).left(item.steps)

    def start(self) -> dict[str, Any]:
        """Data that the page needs once: the rubric, and the progress of each item."""
        return {
            "mode": self.mode,
            "title": self.heading,
            "kinds": self.kinds,
            "nothing": self.nothing,
            "rater": visible(self.rater),
            "synthetic": self.event_log.synthetic,
            "rubric": visible(self.rubric.title or self.rubric.rubric_id),
            "skills": [
                {"name": skill.name, "zh": skill.name_zh, "steps": [_step(step) for step in skill.steps]}
                for skill in self.rubric.skills
            ],
            "items": [
                {"left": left, "of": len(item.steps)} for item, left in zip(self.items, self.open_steps(), strict=True)
            ],
        }

    def open(self, number: int, name: Any) -> dict[str, Any]:
        """Data that the page needs of one item; opening it is an event."""
        item = self._item(number)
        frames = self.frames(item)
        who = {"work": self.name, "rater": self.rater, "exam": item.exam.digest}
        self.event_log.append(_name(name), **who, step=item.part, kind="open", value=self.facts(item))
        player = {**asdict(frames), **self.player(number)}
        return {**self.shown(item), "name": self.title(item), "steps": item.steps, "player": player} | self.news(item)

    def event(self, number: int, name: Any, step: Any, kind: Any, value: Any) -> dict[str, Any]:
        """Do one event and say what the item's state is now.

        Args:
            number: of the item.
            name: of the event, made by the page, so that one sent twice is done once.
            step: rubric step of the item; what undo and redo are about is the item.
            kind: see :mod:`siming_tasks.tools.station.event_log.events`.
            value: as there, but ``start`` and ``end`` are numbers of frames.

        Raises:
            Refusal: the event cannot be done.
        """
        item = self._item(number)
        if kind in ("undo", "redo"):
            step = item.part
        if kind not in (*self.kinds, "undo", "redo"):
            raise Refusal(f"This page does not take {kind!r:.40}.")
        if step is not None and (not isinstance(step, str) or step not in item.steps):
            raise Refusal(f"This exam has no step {step!r:.80}.")
        if kind in ("start", "end") and value is not None:
            value = self._seconds(item, step, kind, value)
        if wrong := check_event(self.rubric, step, kind, value):
            raise Refusal(wrong[0].upper() + wrong[1:])
        who = {"work": self.name, "rater": self.rater, "exam": item.exam.digest}
        self.event_log.append(_name(name), **who, step=step, kind=kind, value=value)
        return self.news(item)

    def news(self, item: Item) -> dict[str, Any]:
        """The state of an item as the page shows it."""
        state = self.state(item)
        return {
            "state": {step: asdict(state.step(step)) for step in item.steps if step in state.steps},
            "undo": state.last and [state.last.step, state.last.kind],
            "redo": state.undone and [state.undone.step, state.undone.kind],
            "left": len(self.left(item, state)),
            "seconds": round(state.seconds),
        }

    def title(self, item: Item) -> str:
        """Title of the item on the page."""
        return visible(item.exam.name)

    def facts(self, item: Item) -> dict[str, Any] | None:
        """Facts that the event log keeps of what was brought to the screen."""
        return None

    def player(self, number: int) -> dict[str, Any]:
        """Kind of player that shows an item's pictures."""
        return {"kind": "video", "src": f"/media/{number}"}

    def picture(self, item: Item, frame: int) -> Path | None:
        """The file of a shown frame, where the page shows single frames."""
        return None

    def remark(self) -> str:
        """Remark on the work as a whole."""
        return ""

    def end(self) -> str:
        """Finish when the station closes; returns the last message."""
        return ""

    def shown(self, item: Item) -> dict[str, Any]:
        """Further data of the item for the page."""
        return {}

    def _item(self, number: int) -> Item:
        item = self.items[number]
        if changed := item.exam.changed():
            raise Refusal(changed)
        return item

    def _seconds(self, item: Item, step: str | None, kind: str, frame: Any) -> float:
        """Seconds at which a marked frame begins (start) or ends (end), so that the span holds both frames whole."""
        shown = self.frames(item)
        if isinstance(frame, bool) or not isinstance(frame, int) or not 0 <= frame < len(shown.times):
            raise Refusal(f"The video has no frame {frame!r:.40}.")
        at = (*shown.times, shown.end)[frame + (kind == "end")]
        now = self.state(item).step(step or "")
        other = now.end if kind == "start" else now.start
        if other is not None and (at >= other if kind == "start" else at <= other):
            where = f"the {'end' if kind == 'start' else 'start'} is at {other:.2f} s"
            raise Refusal(
                f"The {kind} would not be {'before' if kind == 'start' else 'after'} it: {where}. Clear it first."
            )
        return at


def _name(name: Any) -> str:
    if not isinstance(name, str) or not _ACT_ID.fullmatch(name):
        raise Refusal("The event has no proper name.")
    return name


def _step(step: RubricStep) -> dict[str, Any]:
    """A step as the page shows it."""
    return {
        "id": step.id,
        "name": step.name,
        "zh": step.name_zh,
        "requirement": step.requirement,
        "criteria": step.criteria.model_dump(),
        "points": allowed_points(step),
    }

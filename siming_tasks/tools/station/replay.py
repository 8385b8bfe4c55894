"""Replay of events: the state of an exam follows from its events in the order of time."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from itertools import pairwise
from typing import Any

from siming_tasks.tools.station.event_log import ABOUT_STEP, PLAYED, Event

_BREAK = 600.0
"""Seconds between two events above which the physician was elsewhere: such a gap counts for nothing."""


@dataclass(frozen=True)
class StepState:
    """Answers of a physician to a step so far; ``start`` and ``end`` are seconds from where a player starts."""

    points: float | None = None
    applicable: bool = True
    start: float | None = None
    end: float | None = None
    comment: str = ""

    @property
    def decided(self) -> bool:
        """True if there are points, or the step does not apply."""
        return not self.applicable or self.points is not None

    @property
    def half_marked(self) -> bool:
        """True if there is a start without an end, or the other way round: this is not a span."""
        return (self.start is None) != (self.end is None)

    @property
    def span(self) -> tuple[float, float] | None:
        """``(start, end)`` if both are marked."""
        return None if self.start is None or self.end is None else (self.start, self.end)


_UNTOUCHED = StepState()


@dataclass(frozen=True)
class ExamState:
    """An exam under one physician's hands: the steps with any state.

    ``seconds`` of work; ``played``, the seconds of the video that were played, again or not, of its ``length`` (None:
    not recorded); ``heard``, the share of them that had sound (None: no playing is known).
    """

    steps: Mapping[str, StepState] = field(default_factory=dict)
    seconds: float = 0.0
    played: float = 0.0
    length: float | None = None
    heard: float | None = None

    def step(self, step_id: str) -> StepState:
        """The state of a step; an untouched one has none of it."""
        return self.steps.get(step_id, _UNTOUCHED)

    @property
    def played_share(self) -> float | None:
        """Seconds played over the length of the video; None where the length is not recorded."""
        return None if self.length is None else self.played / self.length

    def left(self, steps: Collection[str]) -> list[str]:
        """Those of the steps that are not decided yet, or have one mark of two."""
        return [step for step in steps if not self.step(step).decided or self.step(step).half_marked]


def replay(events: Iterable[Event]) -> ExamState:
    """The state after the events of one physician on one exam, in the order in which the log gives them."""
    events = list(events)
    fields: dict[str, dict[str, Any]] = {}
    for event in events:
        if event.kind in ABOUT_STEP:
            step = fields.setdefault(str(event.step), {})
            step[event.kind] = event.value
            if event.kind == "points":  # points and "not applicable" put each other out
                step["applicable"] = True
            elif event.kind == "applicable":
                step |= {"applicable": event.value is not False, "points": None}
            elif event.kind == "comment":
                step["comment"] = event.value or ""
    steps = {step: replace(_UNTOUCHED, **values) for step, values in fields.items()}
    heard, silent = (sum(event.value[key] for event in events if event.kind == "played") for key in PLAYED)
    opened = [event.value["seconds"] for event in events if event.kind == "open"]
    played = heard + silent
    return ExamState(
        steps,
        _seconds(events),
        played,
        opened[-1] if opened else None,
        heard / played if played else None,
    )


def replay_exams(events: Iterable[Event]) -> dict[tuple[str, str], ExamState]:
    """By rater and exam, what the events of one work come to."""
    by_exam: dict[tuple[str, str], list[Event]] = {}
    for event in events:
        by_exam.setdefault((event.rater, event.exam), []).append(event)
    return {key: replay(own) for key, own in by_exam.items()}


def _seconds(events: Iterable[Event]) -> float:
    """Seconds of work: the gaps between events, without breaks; opening an exam begins a new stretch."""
    kept = [(datetime.fromisoformat(event.time), event.kind) for event in events if event.kind != "played"]
    gaps = [(after - before).total_seconds() for (before, _), (after, kind) in pairwise(kept) if kind != "open"]
    return sum(gap for gap in gaps if gap <= _BREAK)

"""What a sequence of acts comes to: the state of an exam is the fold of its acts, undone ones left out."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from itertools import pairwise

from siming_tasks.tools.station.event_log.events import ABOUT_STEP, Act

__all__ = ["BREAK", "ExamState", "StepState", "fold", "folded_exams", "seconds_by_step"]

BREAK = 600.0
"""Seconds between two acts above which the physician was elsewhere: such a gap counts for nothing."""


@dataclass(frozen=True)
class StepState:
    """What a physician has said of a step so far; ``start`` and ``end`` are seconds from the first frame."""

    points: float | None = None
    verdict: str | None = None
    applicable: bool = True
    start: float | None = None
    end: float | None = None
    comment: str = ""

    @property
    def decided(self) -> bool:
        """Whether there are points or a verdict, or the step does not apply."""
        return not self.applicable or self.points is not None or self.verdict is not None

    @property
    def span(self) -> tuple[float, float] | None:
        """``(start, end)`` if both are marked."""
        return None if self.start is None or self.end is None else (self.start, self.end)

    def after(self, act: Act) -> StepState:
        """The state when the act has been done: points and "not applicable" put each other out."""
        if act.kind in ("points", "verdict"):
            return replace(self, applicable=True, **{act.kind: act.value})
        if act.kind == "applicable":
            return replace(self, applicable=act.value is not False, points=None, verdict=None)
        if act.kind == "comment":
            return replace(self, comment=act.value or "")
        return replace(self, **{act.kind: act.value})


NOTHING = StepState()


@dataclass(frozen=True)
class ExamState:
    """An exam under one physician's hands: the steps with any state, and what undo and redo would touch."""

    steps: Mapping[str, StepState] = field(default_factory=dict)
    last: Act | None = None
    undone: Act | None = None
    seconds: float = 0.0

    def step(self, step_id: str) -> StepState:
        """The state of a step; an untouched one has none of it."""
        return self.steps.get(step_id, NOTHING)

    def left(self, steps: Collection[str]) -> list[str]:
        """Those of the steps that are not decided yet."""
        return [step for step in steps if not self.step(step).decided]


def fold(acts: Iterable[Act]) -> ExamState:
    """The state after the acts of one physician on one exam, in the order of their numbers."""
    acts = list(acts)
    done: list[Act] = []
    undone: list[Act] = []
    for act in acts:
        if act.kind in ABOUT_STEP:
            done.append(act)
            undone.clear()
        elif act.kind == "undo" and done:
            undone.append(done.pop())
        elif act.kind == "redo" and undone:
            done.append(undone.pop())
    steps: dict[str, StepState] = {}
    for act in done:
        assert act.step is not None
        steps[act.step] = steps.get(act.step, NOTHING).after(act)
    seconds = sum(gap for gap, _ in _gaps(acts))
    return ExamState(steps, done[-1] if done else None, undone[-1] if undone else None, seconds)


def folded_exams(acts: Iterable[Act]) -> dict[tuple[str, str], ExamState]:
    """By rater and exam, what the acts of one work come to."""
    sorted_out: dict[tuple[str, str], list[Act]] = {}
    for act in acts:
        sorted_out.setdefault((act.rater, act.exam), []).append(act)
    return {key: fold(mine) for key, mine in sorted_out.items()}


def seconds_by_step(acts: Iterable[Act]) -> dict[str, float]:
    """How long a physician worked on each step of one exam: the time before an act goes to the act's step."""
    found: dict[str, float] = {}
    for gap, act in _gaps(list(acts)):
        if act.step is not None:
            found[act.step] = found.get(act.step, 0.0) + gap
    return found


def _gaps(acts: list[Act]) -> list[tuple[float, Act]]:
    """Seconds of work before each act but the first; opening an exam begins a new stretch."""
    times = [datetime.fromisoformat(act.time) for act in acts]
    gaps = []
    for (before, after), act in zip(pairwise(times), acts[1:], strict=True):
        gap = (after - before).total_seconds()
        if act.kind != "open" and 0 <= gap <= BREAK:
            gaps.append((gap, act))
    return gaps

"""Adjudication: the steps on which two raters differ, with what both gave, and nobody's name."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Any

from siming_tasks.common.errors import OptionsError
from siming_tasks.common.sanitize import visible
from siming_tasks.common.schema import CONSENSUS
from siming_tasks.tools.station.event_log import EventLog, ExamState, Known, StepState, replay_exams
from siming_tasks.tools.station.event_log.events import ADJUDICATION, RATING
from siming_tasks.tools.station.rating import frames_of
from siming_tasks.tools.station.station_exams import Exams
from siming_tasks.tools.station.worklist import Frames, Item, Work

__all__ = ["Adjudication", "differ"]


def differ(first: StepState, second: StepState) -> bool:
    """True if two raters gave a step other points, or only one of them says that it applies."""
    return (first.points, first.applicable) != (second.points, second.applicable)


class Adjudication(Work):
    """The work of ``siming data rate DIR --adjudicate``; its events are those of the rater ``consensus``.

    Only exams that both raters have finished are shown; ``waiting`` counts the others.
    """

    mode = "adjudicate"
    heading = "Adjudication"
    nothing = "There is nothing to decide: the two raters agree wherever both have finished."
    kinds = ("points", "applicable", "start", "end", "comment")

    def __init__(self, event_log: EventLog, exams: Exams, raters: Sequence[str] | None = None) -> None:
        event_log.know(Known(exam.name, exam.digest, exam.steps) for exam in exams.exams)
        self.raters = _two(event_log, raters)
        self._given = replay_exams(event_log.events(RATING))
        items = []
        self.waiting = 0
        for exam in exams.exams:
            first, second = self._both(exam.digest)
            if first.left(exam.steps) or second.left(exam.steps):
                self.waiting += 1
            elif steps := tuple(step for step in exam.steps if differ(first.step(step), second.step(step))):
                items.append(Item(exam, steps, exam.digest))
        super().__init__(event_log, ADJUDICATION, CONSENSUS, exams.rubric, items)

    def frames(self, item: Item) -> Frames:
        """All frames of the video."""
        return frames_of(item.exam)

    def remark(self) -> str:
        """Number of exams that cannot be adjudicated yet."""
        return f"; {self.waiting} exams are not finished by both raters yet" if self.waiting else ""

    def shown(self, item: Item) -> dict[str, Any]:
        """Points of the raters in an order that says nothing, and the moment: all that either of them marked."""
        both = self._both(item.exam.digest)
        scores = {step: [_told(state.step(step)) for state in both[:: _side(item, step)]] for step in item.steps}
        moments = {}
        for step in item.steps:
            if spans := [span for state in both if (span := state.step(step).span)]:
                moments[step] = [min(start for start, _ in spans), max(end for _, end in spans)]
        return {"scores": scores, "moments": moments}

    def _both(self, digest: str) -> tuple[ExamState, ExamState]:
        first, second = (self._given.get((rater, digest), ExamState()) for rater in self.raters)
        return first, second


def _told(state: StepState) -> dict[str, Any]:
    return {
        "points": state.points,
        "applicable": state.applicable,
        "comment": visible(state.comment),
        "span": state.span,
    }


def _side(item: Item, step: str) -> int:
    """1 or -1, as by a coin for every step of every exam, and the same whenever it is asked for."""
    return 1 if hashlib.sha256(f"{item.exam.digest}/{step}".encode()).digest()[0] % 2 else -1


def _two(event_log: EventLog, raters: Sequence[str] | None) -> tuple[str, str]:
    known = event_log.raters(RATING)
    chosen = list(dict.fromkeys(raters or known))
    if unknown := [name for name in chosen if name not in known]:
        raise OptionsError(f"--raters: {unknown[0]!r} rated nothing in {event_log.path}; {_shown(known)} did.")
    if len(chosen) != 2:
        raise OptionsError(
            f"--adjudicate needs two raters; in {event_log.path} rated {_shown(known)}. Say --raters A B."
        )
    return chosen[0], chosen[1]


def _shown(names: Sequence[str]) -> str:
    return ", ".join(map(repr, names)) or "nobody"

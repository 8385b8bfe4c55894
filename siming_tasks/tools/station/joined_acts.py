"""Place in time and target of every act of an event log: joined logs come to the same whoever took over whom."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from datetime import datetime, timedelta
from typing import Any, NamedTuple

ABOUT_STEP = ("points", "verdict", "applicable", "start", "end", "comment")
"""Acts that set a step's field; the value None clears it."""
NOTHING = ""
"""Value of an undo or a redo that found nothing to take back."""


class StoredAct(NamedTuple):
    """A row of the table of acts, its place in time and the act that it took back, where the log was joined."""

    seq: Any
    id: Any
    time: Any
    work: Any
    rater: Any
    exam: Any
    step: Any
    kind: Any
    value: Any
    at: Any
    target: Any


def after(last: str | None, time: str) -> str:
    """A time, or a millisecond after ``last`` where it is not later."""
    if last is None or time > last:
        return time
    return (datetime.fromisoformat(last) + timedelta(milliseconds=1)).isoformat(timespec="milliseconds")


def settled(acts: Iterable[StoredAct]) -> Iterator[tuple[str, str, str | None]]:
    """Id, place in time and target of every act of a log, given in the order of its events.

    A clock that was set back, or two events of one millisecond, do not change the order in which a rater worked on an
    exam. An undo without a target took back the last act that stood, of its step where each step is a question.
    """
    streams: dict[Any, list[StoredAct]] = {}
    for act in acts:
        streams.setdefault((act.work, act.rater, act.exam), []).append(act)
    for stream in streams.values():
        last = None
        stacks: dict[Any, tuple[list[str], list[str]]] = {}
        by_step = any(act.kind == "open" and act.step is not None for act in stream)
        for act in stream:
            last = act.at or after(last, act.time)
            done, undone = stacks.setdefault(act.step if by_step else None, ([], []))
            value = json.loads(act.value) if act.kind in ("undo", "redo") else None
            source, other = (done, undone) if act.kind == "undo" else (undone, done)
            target = value if act.target is None else act.target
            if target is None and act.kind in ("undo", "redo"):
                target = source[-1] if source else NOTHING
            if act.kind in ABOUT_STEP:
                done.append(act.id)
                undone.clear()
            elif target in source:
                source.remove(target)
                other.append(target)
            yield act.id, last, target

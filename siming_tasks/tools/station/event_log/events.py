"""One event of a physician, and which events there are."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from siming_tasks.rubrics import Rubric, allowed_points

__all__ = ["ABOUT_EXAM", "ABOUT_STEP", "ADJUDICATION", "MAX_COMMENT", "RATING", "Event", "check_event"]

RATING, ADJUDICATION = "rate", "adjudicate"
"""Kinds of work in an event log: scoring and marking spans; deciding where two raters differ."""

ABOUT_STEP = ("points", "verdict", "applicable", "start", "end", "comment")
"""Acts that set a step's field; the value None clears it."""
ABOUT_EXAM = ("open", "undo", "redo")
"""Acts about an exam, or about one step where each is a question of its own: it was brought to the screen (the value
says what a model would have been shown); the last event was taken back; the last undo was taken back."""

MAX_COMMENT = 2_000
"""Characters of a comment."""
MAX_SECONDS = 86_400
"""Of a video; no step has as many points."""


@dataclass(frozen=True)
class Event:
    """One row of the event log.

    Attributes:
        seq: ascending over the whole event log, never used twice.
        time: when it was written, ISO 8601, UTC.
        work: ``rate``, ``adjudicate`` or a setting with its conditions.
        rater: who.
        exam: SHA-256 of the video.
        step: rubric step; None for an event about the whole exam.
        kind: one of :data:`ABOUT_STEP` and :data:`ABOUT_EXAM`.
        value: points; ``correct`` or ``incorrect``; a bool; seconds; text; None clears.
    """

    seq: int
    time: str
    work: str
    rater: str
    exam: str
    step: str | None
    kind: str
    value: Any


def check_event(rubric: Rubric, step: str | None, kind: str, value: Any) -> str | None:
    """Reason why an event cannot stand in a log under this rubric, in one sentence; None if it can."""
    if kind in ABOUT_EXAM:
        fits = value is None or (kind == "open" and isinstance(value, dict))
        known = step is None or step in rubric.by_id
        return None if fits and known else f"{kind} takes no value."
    if kind not in ABOUT_STEP:
        return f"there is no event {kind!r:.40}."
    rule = rubric.by_id.get(step or "")
    if rule is None:
        return f"the rubric has no step {step!r:.80}."
    if value is None:
        return None
    number = isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= MAX_SECONDS  # no NaN
    if kind == "points":
        allowed = allowed_points(rule)
        if not number or value not in allowed:
            return f"{value!r:.40} is not on the scale of {rule.id}: {', '.join(f'{each:g}' for each in allowed)}."
    elif kind in ("start", "end") and not number:
        return f"{kind} must be seconds of the video, found {value!r:.40}."
    elif kind == "applicable" and not isinstance(value, bool):
        return f"applicable must be true or false, found {value!r:.40}."
    elif kind == "verdict" and value not in ("correct", "incorrect"):
        return f"a verdict is correct or incorrect, found {value!r:.40}."
    elif kind == "comment" and not (isinstance(value, str) and len(value) <= MAX_COMMENT):
        return f"a comment is text of at most {MAX_COMMENT:,} characters."
    return None

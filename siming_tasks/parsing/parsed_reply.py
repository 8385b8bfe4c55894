"""A reply after it was read: its answers, a closed set of statuses, and of reasons why a step has no answer."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

__all__ = ["ABSTAINED", "BUDGET_MARKER", "FAILURE_MARKER", "MISSING", "STATUSES", "Parsed"]

FAILURE_MARKER = "[LMMS_EVAL_REQUEST_FAILED"
"""Beginning of the text that stands for the reply of a request that failed, as lmms-eval's classes write it."""

BUDGET_MARKER = "[LMMS_EVAL_BUDGET_EXCEEDED"
"""Beginning of the text that lmms-eval writes for a request that was not sent because too much was spent."""

ABSTAINED = "abstained"
"""Status of a reply, and reading of a step, that is neither an answer nor missing."""

STATUSES = (
    "ok",
    ABSTAINED,
    "request_failed",
    "empty",
    "truncated",
    "off_scale",
    "refused",
    "bad_json",
    "wrong_keys",
    "no_json",
)
"""Every status of a reply. Where several hold of a reply that leaves steps unanswered, the first of this table stands;
what it does answer is kept.

===============  =====================================================================================================
ok               every asked step is answered
abstained        every asked step is answered or called not visible, at least one the latter; where that may be said
request_failed   no model wrote this: the host's text for a failed or unaffordable request
empty            nothing, or only white space
truncated        the text ends inside a thinking block or a JSON value
off_scale        a score below 0, above the step's maximum, no multiple of its score_increment, or out of another
maximum refused          no answer, and the words of a refusal
bad_json         a value that is no answer, two different or doubtful answers for a step, a brace that begins no JSON
wrong_keys       JSON that does not name all asked steps, or gives them null
no_json          prose
===============  =====================================================================================================
"""

MISSING = ("absent", "off_scale", "conflict", "ambiguous", "unreadable", "cut_off")
"""Reasons for a missing answer: not named, or null; not on its scale; two different answers in one bracket; the words
could mean two things (key, place, polarity or scale are open); no answer in its value; the text ends in its value."""


@dataclass(frozen=True)
class Parsed:
    """The answers of one reply to the steps that it was asked about.

    Attributes:
        status: one of :data:`STATUSES`.
        answers: step id -> points (answer "score"), or 1.0 for incorrect and 0.0 for correct (answer "error").
        missing: every other asked step -> one of :data:`MISSING`.
        abstained: the steps that the reply calls not visible, in the order asked; only where it may say so.
        details: name of a detail -> step id -> what the reply states of it, for every step for which it can be read;
            only the details that were asked for (:mod:`siming_tasks.tasks.answer_formats`).
    """

    status: str
    answers: Mapping[str, float] = field(default_factory=dict)
    missing: Mapping[str, str] = field(default_factory=dict)
    abstained: tuple[str, ...] = ()
    details: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)

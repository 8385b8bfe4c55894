"""What reading a reply can come to: a closed set of statuses and of reasons why a step has no answer."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

__all__ = ["MISSING", "STATUSES", "Parsed"]

STATUSES = (
    "ok",
    "empty",
    "no_json",
    "bad_json",
    "wrong_keys",
    "off_scale",
    "truncated",
    "refused",
    "request_failed",
)
"""Every status of a reply.

===============  ====================================================================================
ok               every asked step is answered
request_failed   no model wrote this: the host's text for a failed or unaffordable request
empty            nothing, or only white space
truncated        the reply ends inside a thinking block or a JSON object
off_scale        a score below 0, above the step's maximum, not a whole point, or out of another maximum
bad_json         a value that cannot be read, two answers for one step, or braces that hold no JSON
refused          no answer, and the words of a refusal
wrong_keys       JSON that leaves asked steps unnamed
no_json          prose
===============  ====================================================================================

A partly answered reply has the first status of this table that holds of its *missing* steps; its answers are kept.
"""

MISSING = ("absent", "off_scale", "conflict", "unreadable", "cut_off")
"""Why a step has no answer: not named (or null), not on its scale, two answers, no answer in its value, reply ended."""


@dataclass(frozen=True)
class Parsed:
    """What one reply says about the steps it was asked for.

    ``answers`` maps step ids to points (answer "score") or to 1.0 = incorrect, 0.0 = correct (answer "error").
    ``missing`` maps every other asked step to one of :data:`MISSING`. ``status`` is one of :data:`STATUSES`.
    """

    status: str
    answers: Mapping[str, float] = field(default_factory=dict)
    missing: Mapping[str, str] = field(default_factory=dict)

"""A reply after it was read: its answers, a closed set of statuses, and of reasons why a step has no answer."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from siming_tasks.benchmark.types import Answer, answer_key, verdict_word
from siming_tasks.common.display import ShortRepr

if TYPE_CHECKING:  # listing the tasks must not load rubrics: the command line starts with it
    from siming_tasks.benchmark.rubrics import RubricStep

# beginnings of what lmms-eval writes in place of a reply
FAILURE_MARKER = "[LMMS_EVAL_REQUEST_FAILED"
BUDGET_MARKER = "[LMMS_EVAL_BUDGET_EXCEEDED"  # the request was not sent, because too much was spent
BLOCKED_MARKER = "[SAFETY_BLOCKED"  # the service refused to give the reply

NOT_VISIBLE = "not visible"  # words of a reply that abstains from a step
ABSTAINED = "abstained"  # status of a reply, and reading of a step, that is neither an answer nor missing

STATUSES = ("ok", ABSTAINED, "request_failed", "empty", "truncated", "refused", "unread", "partial")
"""Every status of a reply (``docs/reference/parsing.md`` says what each means); of several, the first of these."""

MISSING = ("absent", "off_scale", "conflict", "corrected", "unreadable")
"""Reasons for a missing answer: not named, or null; not on the step's scale; two different values in one JSON object;
taken back by text after the JSON; a value that is not an answer."""


@dataclass(frozen=True, repr=False)
class Parsed(ShortRepr):
    """The answers of one reply to the steps that it was asked about."""

    status: str  # one of :data:`STATUSES`
    # step id -> points (answer "score"), or 1.0 for incorrect and 0.0 for correct (answer "error")
    answers: Mapping[str, float] = field(default_factory=dict)
    missing: Mapping[str, str] = field(default_factory=dict)  # every other asked step -> one of :data:`MISSING`
    # the steps that the reply calls not visible, in the order asked; only where it may say so
    abstained: tuple[str, ...] = ()
    # name of a detail -> step id -> what the reply states of it, for every step for which it can be read; only the
    # details that were asked for (:mod:`siming_tasks.benchmark.tasks.answer_formats`)
    details: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    left_out: int = 0  # characters in the middle of a long answer that were not read


def format_answers(
    answers: Mapping[str, float],
    steps: Sequence[RubricStep],
    answer: Answer,
    *,
    abstained: Collection[str] = (),
    details: Mapping[str, Mapping[str, Any]] | None = None,
) -> str:
    """The JSON reply that states ``answers`` as the prompts ask (step id -> points, or 1.0 = incorrect, 0.0 = correct).

    ``{"scores": {id: points}}`` or ``{"verdicts": {id: "correct" | "incorrect"}}`` for several steps, ``{"score":
    points}`` or ``{"verdict": ...}`` for one. Asked steps without an answer are left out (``{}`` for one step).
    ``abstained`` steps are called not visible. ``details`` has by key and step id the details that the reply states
    with the answer, in plain JSON: with any, every answer is an object that contains them, a step without one an empty
    list. ``parse_reply`` reads back the same answers. KeyError: an answer for a step that was not asked.
    """
    stated, key = details or {}, answer_key(answer, "clip")
    for step_id in (*answers, *abstained, *(name for values in stated.values() for name in values)):
        if all(step.id != step_id for step in steps):
            raise KeyError(f"{step_id!r} is not among the asked steps")
    written: dict[str, Any] = {}
    for value, step in ((answers[step.id], step) for step in steps if step.id in answers):
        number = int(value) if float(value).is_integer() else float(value)
        written[step.id] = verdict_word(value) if answer == "error" else number
    written |= dict.fromkeys(abstained, NOT_VISIBLE)
    if details is not None:
        for name, value in written.items():
            written[name] = {key: value, **{detail: values.get(name, []) for detail, values in stated.items()}}
    if len(steps) != 1:
        return json.dumps({answer_key(answer, "full"): written})
    only: Any = next(iter(written.values()), {})
    return json.dumps(only if isinstance(only, dict) else {key: only})

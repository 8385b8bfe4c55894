"""Answers in the form that the prompts ask for."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from siming_tasks.common.schema import Answer, answer_key, verdict_word
from siming_tasks.parsing.lexicon import NOT_VISIBLE
from siming_tasks.rubrics.rubric import RubricStep

__all__ = ["format_answers"]


def format_answers(
    answers: Mapping[str, float],
    steps: Sequence[RubricStep],
    answer: Answer,
    *,
    abstained: Collection[str] = (),
    details: Mapping[str, Mapping[str, Any]] | None = None,
) -> str:
    """The JSON reply that states ``answers`` (step id -> points, or 1.0 = incorrect and 0.0 = correct).

    ``{"scores": {id: points}}`` or ``{"verdicts": {id: "correct" | "incorrect"}}`` for several steps, ``{"score":
    points}`` or ``{"verdict": ...}`` for one. Asked steps without an answer are left out (``{}`` for one step).
    ``parse_reply`` reads back the same answers.

    Args:
        answers: by step id.
        steps: the asked ones.
        answer: "score" for points, "error" for a verdict.
        abstained: steps that are called not visible.
        details: key -> step id -> what the reply states beside the answer, in plain JSON. With any, every answer is an
            object that holds them; a step without a detail gets an empty list.

    Raises:
        KeyError: an answer for a step that was not asked.
    """
    asked = {step.id for step in steps}
    for step_id in (*answers, *abstained, *(name for values in (details or {}).values() for name in values)):
        if step_id not in asked:
            raise KeyError(f"{step_id!r} is not among the asked steps")
    written: dict[str, Any] = {}
    for step in steps:
        if step.id in answers:
            value = answers[step.id]
            number = int(value) if float(value).is_integer() else float(value)
            written[step.id] = verdict_word(value) if answer == "error" else number
    written |= dict.fromkeys(abstained, NOT_VISIBLE)
    key = answer_key(answer, "clip")
    if details is not None:
        written = {
            name: {key: value, **{detail: values.get(name, []) for detail, values in details.items()}}
            for name, value in written.items()
        }
    if len(steps) != 1:
        return json.dumps({answer_key(answer, "full"): written})
    only: Any = next(iter(written.values()), {})
    return json.dumps(only if isinstance(only, dict) else {key: only})

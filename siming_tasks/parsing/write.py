"""Answers in the form that the prompts ask for."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

from siming_tasks.rubrics.model import RubricStep
from siming_tasks.schema import Answer

__all__ = ["format_answers"]


def format_answers(answers: Mapping[str, float], steps: Sequence[RubricStep], answer: Answer) -> str:
    """The JSON reply that says ``answers`` (step id -> points, or 1.0 = incorrect and 0.0 = correct).

    ``{"scores": {id: points}}`` or ``{"verdicts": {id: "correct" | "incorrect"}}`` for several steps, ``{"score":
    points}`` or ``{"verdict": ...}`` for one. Asked steps without an answer are left out (``{}`` for one step).
    ``parse_reply`` reads back the same answers.

    Raises:
        KeyError: an answer for a step that was not asked.
    """
    asked = {step.id for step in steps}
    for step_id in answers:
        if step_id not in asked:
            raise KeyError(f"{step_id!r} is not among the asked steps")
    said = {step.id: _say(answers[step.id], answer) for step in steps if step.id in answers}
    if len(steps) == 1:
        return json.dumps({("score" if answer == "score" else "verdict"): value for value in said.values()})
    return json.dumps({("scores" if answer == "score" else "verdicts"): said})


def _say(value: float, answer: Answer) -> int | float | str:
    if answer == "error":
        return "incorrect" if value else "correct"
    return int(value) if float(value).is_integer() else float(value)

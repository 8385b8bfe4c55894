"""Answers in the form that the prompts ask for."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from siming_tasks.common.schema import Answer
from siming_tasks.parsing.lexicon import NOT_VISIBLE
from siming_tasks.rubrics.model import RubricStep

__all__ = ["format_answers"]


def format_answers(
    answers: Mapping[str, float],
    steps: Sequence[RubricStep],
    answer: Answer,
    *,
    abstained: Collection[str] = (),
    evidence: Mapping[str, Sequence[tuple[float, float]]] | None = None,
) -> str:
    """The JSON reply that says ``answers`` (step id -> points, or 1.0 = incorrect and 0.0 = correct).

    ``{"scores": {id: points}}`` or ``{"verdicts": {id: "correct" | "incorrect"}}`` for several steps, ``{"score":
    points}`` or ``{"verdict": ...}`` for one. Asked steps without an answer are left out (``{}`` for one step).
    ``parse_reply`` reads back the same answers. Steps in ``abstained`` are called not visible. With ``evidence`` (step
    id -> parts of what is shown, in seconds) every answer is an object that holds it.

    Raises:
        KeyError: an answer for a step that was not asked.
    """
    asked = {step.id for step in steps}
    for step_id in (*answers, *abstained, *(evidence or ())):
        if step_id not in asked:
            raise KeyError(f"{step_id!r} is not among the asked steps")
    said: dict[str, Any] = {step.id: _say(answers[step.id], answer) for step in steps if step.id in answers}
    said |= dict.fromkeys(abstained, NOT_VISIBLE)
    key = "score" if answer == "score" else "verdict"
    if evidence is not None:
        said = {
            name: {key: value, "evidence": [list(part) for part in evidence.get(name, ())]}
            for name, value in said.items()
        }
    if len(steps) == 1:
        return json.dumps({name: value for one in said.values() for name, value in _alone(one, key).items()})
    return json.dumps({("scores" if answer == "score" else "verdicts"): said})


def _alone(said: Any, key: str) -> dict[str, Any]:
    return said if isinstance(said, dict) else {key: said}


def _say(value: float, answer: Answer) -> int | float | str:
    if answer == "error":
        return "incorrect" if value else "correct"
    return int(value) if float(value).is_integer() else float(value)

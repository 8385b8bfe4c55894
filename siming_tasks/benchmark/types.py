"""The words of the benchmark: what is shown, what is answered, what a cluster is, who gave points."""

from __future__ import annotations

from typing import Literal, get_args

Scope = Literal["full", "clip"]
Answer = Literal["score", "error"]
Unit = Literal["video", "performance", "student", "site"]
"""What is left out at a time to say how sure a result is, from the smallest to the largest."""

UnitChoice = Unit | Literal["auto"]
"""One of the units, or the largest that the data state."""

SCOPES: tuple[Scope, ...] = get_args(Scope)
ANSWERS: tuple[Answer, ...] = get_args(Answer)
UNITS: tuple[Unit, ...] = get_args(Unit)
CORRECT, INCORRECT = "correct", "incorrect"  # the two verdicts, in prompts, replies, prediction files and reports
CONSENSUS = "consensus"  # name of the reference rater in every ``score`` mapping
UNKNOWN_MODE = "unknown"  # ``mode`` of the media of a request of which nothing is known


def verdict_word(value: float) -> str:
    """Name the verdict that a number stands for: 1.0 (true) for ``incorrect`` and 0.0 (false) for ``correct``."""
    return INCORRECT if value else CORRECT


def answer_key(answer: Answer, scope: Scope) -> str:
    """Key of the answers in replies and prediction files: ``scores``, ``verdicts``, ``score`` or ``verdict``."""
    word = "score" if answer == "score" else "verdict"
    return word if scope == "clip" else f"{word}s"

"""Sentences that prompts are built from: roles, questions and forms of the reply.

Every word here is measured with the model: changing one moves ``PROMPT_VERSION``
(:mod:`siming_tasks.benchmark.tasks.prompt`). ``{examiner}``, ``{of}``, ``{called}`` and ``{where}`` are the exam's;
``{n}`` is the number of steps, ``{max_score}`` the step's scale.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from siming_tasks.benchmark.types import CORRECT, INCORRECT, Answer, Scope, answer_key

ONE_JSON_OBJECT = "Answer with one JSON object and nothing else."
"""Begins the description of every reply; a prompt with reasoning replaces it."""

WHAT_COUNTS = " Only the JSON counts, and of several answers to a step the last."
"""Ends the description of every reply: how it is read (:mod:`siming_tasks.benchmark.parsing`)."""

_TASKS: Mapping[Scope, str] = {
    "full": (
        "Judge the trainee by the rubric, step by step. What was done or left out earlier can decide whether a later "
        "step is correct."
    ),
    "clip": "Judge the trainee by the rubric.",
}


def role_text(scope: Scope, given: str) -> str:
    """The beginning of a prompt: who the model is, what it is given (in a sentence or two), and what to do with it."""
    return f"You are {{examiner}}{{of}}. {given} {_TASKS[scope]}"


ROLES: Mapping[Scope, str] = {
    "full": role_text(
        "full",
        "The video shows one complete examination{called}, in which a trainee performs the procedure below{where}.",
    ),
    "clip": role_text(
        "clip",
        "The video clip is cut from an examination{called}, in which a trainee performs a procedure{where}. It shows "
        "the one step below.",
    ),
}
FULL_ROLE_WITH_TIMES = ROLES["full"] + " For each step the rubric says when the video shows it."
NO_VIDEO_ROLES: Mapping[Scope, str] = {
    "full": (
        "You are {examiner}{of}. A trainee performed the procedure below{where} in an examination{called}. "
        "No video of it is shown. For every step of the rubric give the judgment that you expect a trainee to deserve."
    ),
    "clip": (
        "You are {examiner}{of}. In an examination{called} a trainee performed a procedure{where}, with the "
        "one step below. No video of it is shown. Give the judgment that you expect a trainee to deserve."
    ),
}

_DEVIATION = f'("{CORRECT}") or with any deviation that costs points, including leaving it out ("{INCORRECT}").'
_QUESTIONS: Mapping[tuple[Scope, Answer, bool], str] = {
    ("full", "score", False): (
        "Task: score every step of the rubric. For each step give a whole number of points from 0 (failed) to the "
        "maximum of that step (fully correct)."
    ),
    ("full", "score", True): (
        "Task: score every step of the rubric. For each step give a number of points from 0 (failed) to the maximum of "
        "that step (fully correct): whole points, or half points where the step allows them."
    ),
    ("full", "error", False): (
        "Task: detect the errors. For each step of the rubric decide whether the trainee performed it fully correctly "
        + _DEVIATION
    ),
    ("clip", "score", False): (
        "Task: score this step. Give a whole number of points from 0 (failed) to the maximum of the step (fully "
        "correct)."
    ),
    ("clip", "score", True): (
        "Task: score this step. Give a number of points from 0 (failed) to the maximum of the step (fully "
        "correct), in whole or half points."
    ),
    ("clip", "error", False): (
        "Task: detect errors. Decide whether the trainee performed this step fully correctly " + _DEVIATION
    ),
}


_BY_STEP = ", an object that maps each of the {n} step ids in square brackets to"


def question_text(scope: Scope, answer: Answer, half_points: bool = False) -> str:
    """The question of a prompt. Verdicts are asked for in the same words whatever the points."""
    return _QUESTIONS[scope, answer, half_points and answer == "score"]


def reply_text(scope: Scope, answer: Answer, half_points: bool = False) -> str:
    """The form of the reply in the benchmark: one answer for every asked step."""
    lead = f'{ONE_JSON_OBJECT} It has the single key "{answer_key(answer, scope)}"'
    rest = ", whose value is" if scope == "clip" else _BY_STEP
    return f"{lead}{rest} {_value(scope, answer, half_points)}."


def reply_with_details(scope: Scope, answer: Answer, details: Sequence[str], half_points: bool = False) -> str:
    """The form of a reply that states details with every answer.

    ``details`` are the further keys of every answer and their values, such as ``"reason", why in one sentence``.
    """
    count = {2: "two", 3: "three"}[1 + len(details)]
    listed = "".join(f", {detail}" for detail in details[:-1]) + f", and {details[-1]}"
    key, value = answer_key(answer, "clip"), _value(scope, answer, half_points)
    if scope == "clip":
        return f'{ONE_JSON_OBJECT} It has {count} keys: "{key}", whose value is {value}{listed}.'
    lead = f'{ONE_JSON_OBJECT} It has the single key "{answer_key(answer, scope)}"'
    return f'{lead}{_BY_STEP} an object with {count} keys: "{key}", {value}{listed}.'


def _value(scope: Scope, answer: Answer, half_points: bool) -> str:
    if answer == "error":
        return f'"{CORRECT}" or "{INCORRECT}"'
    number = "a number" if half_points else "an integer"
    return f"your points, as {number}" + (" from 0 to {max_score:g}" if scope == "clip" else "")

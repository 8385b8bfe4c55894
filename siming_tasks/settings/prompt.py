"""The four prompts: one template, in which only the task and the answer format differ (the paper's appendix D).

The media come first, then what the settings share (role, rubric), then what differs (task, format), so that a prefix
cache can share the expensive part. No prompt shows an example score vector: models copy it.
"""

from __future__ import annotations

from collections.abc import Sequence

from siming_tasks.files import sha256_json
from siming_tasks.rubrics import RubricStep
from siming_tasks.settings.setting import SETTINGS, Setting

__all__ = ["PROMPT_VERSION", "build_prompt", "frame_caption", "frames_note", "template_hash"]

PROMPT_VERSION = "1-A"
"""Moves with the tasks' version: the number when results stop being comparable, the letter for the interface alone."""

_ROLE = {
    "full": (
        "You are a physician examiner of emergency skills. The video shows one complete examination, in which a "
        "trainee performs the procedure below on a manikin. Judge the trainee by the rubric, step by step. What was "
        "done or left out earlier can decide whether a later step is correct."
    ),
    "clip": (
        "You are a physician examiner of emergency skills. The video clip is cut from an examination, in which a "
        "trainee performs a procedure on a manikin. It shows the one step below. Judge the trainee by the rubric."
    ),
}

_STEP = """[{id}] {name} (maximum {max_score:g} {points})
Requirement: {requirement}
Full points: {full}
Partial points: {partial}
No points: {fail}"""

_TASK = {
    "full_score": (
        "Task: score every step of the rubric. For each step give a whole number of points from 0 (failed) to the "
        "maximum of that step (fully correct)."
    ),
    "full_error": (
        "Task: detect the errors. For each step of the rubric decide whether the trainee performed it fully correctly "
        '("correct") or with any deviation that costs points, including leaving it out ("incorrect").'
    ),
    "clip_score": (
        "Task: score this step. Give a whole number of points from 0 (failed) to the maximum of the step "
        "(fully correct)."
    ),
    "clip_error": (
        "Task: detect errors. Decide whether the trainee performed this step fully correctly "
        '("correct") or with any deviation that costs points, including leaving it out ("incorrect").'
    ),
}

_FORMAT = {
    "full_score": (
        'Answer with one JSON object and nothing else. It has the single key "scores", an object that maps each of the '
        "{n} step ids in square brackets to your points, as an integer."
    ),
    "full_error": (
        'Answer with one JSON object and nothing else. It has the single key "verdicts", an object that maps each of '
        'the {n} step ids in square brackets to "correct" or "incorrect".'
    ),
    "clip_score": (
        'Answer with one JSON object and nothing else. It has the single key "score", whose value is your points, as '
        "an integer from 0 to {max_score:g}."
    ),
    "clip_error": (
        'Answer with one JSON object and nothing else. It has the single key "verdict", whose value is '
        '"correct" or "incorrect".'
    ),
}

_FRAMES = "The {n} images above are frames of the video in order; the time of each, in seconds, is {times}."
_CAPTION = "Frame at {time:.1f} s:"


def _step_text(step: RubricStep) -> str:
    points = "point" if step.max_score == 1 else "points"
    return _STEP.format(
        points=points,
        **{**step.criteria.model_dump(), **step.model_dump(include={"id", "name", "max_score", "requirement"})},
    )


def build_prompt(setting: Setting, steps: Sequence[RubricStep]) -> str:
    """The text that follows the media.

    Args:
        setting: which of the four.
        steps: the steps asked about, in rubric order; exactly one for a clip.

    Raises:
        ValueError: no step, or several for a clip.
    """
    if not steps or (setting.scope == "clip" and len(steps) != 1):
        raise ValueError(f"{setting.name} cannot ask about {len(steps)} steps")
    rubric = "\n\n".join(_step_text(step) for step in steps)
    answer = _FORMAT[setting.name].format(n=len(steps), max_score=steps[0].max_score)
    return f"{_ROLE[setting.scope]}\n\nRubric:\n\n{rubric}\n\n{_TASK[setting.name]}\n\n{answer}"


def frame_caption(time: float) -> str:
    """The text before one frame, where a model takes text and images interleaved."""
    return _CAPTION.format(time=time)


def frames_note(times: Sequence[float]) -> str:
    """The sentence that gives the frames' times, where a model takes all images before the text."""
    return _FRAMES.format(n=len(times), times=", ".join(f"{time:.1f}" for time in times))


def template_hash() -> str:
    """Twelve hex digits over every word that is the same for all documents; a test pins them to the version."""
    parts = {name: [_ROLE[setting.scope], _TASK[name], _FORMAT[name]] for name, setting in SETTINGS.items()}
    return sha256_json([parts, _STEP, _FRAMES, _CAPTION])[:12]

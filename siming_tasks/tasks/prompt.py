"""The prompts: one template, in which only what a setting's description says differs (the paper's appendix D).

The media come first, then what the settings share (role, rubric), then what differs (task, reply), so that a prefix
cache can share the expensive part. No prompt shows an example score vector: models copy it.
"""

from __future__ import annotations

from collections.abc import Sequence

from siming_tasks.common.files import sha256_json
from siming_tasks.common.version_0_1 import former_request_id
from siming_tasks.rubrics import Rubric, RubricStep
from siming_tasks.rubrics.score_increment import WHOLE
from siming_tasks.tasks.exam_context import exam_of
from siming_tasks.tasks.expected_requests import Span
from siming_tasks.tasks.registry import BENCHMARK_TASKS, TASKS
from siming_tasks.tasks.task_spec import TaskSpec

__all__ = [
    "PROMPT_VERSION",
    "build_prompt",
    "frame_caption",
    "frames_note",
    "own_hash",
    "prompt_frame",
    "prompt_hash",
    "template_hash",
]

PROMPT_VERSION = "3-A"
"""Moves with the tasks' version: the number when results stop being comparable, the letter for the interface alone."""

_NAME = "[{id}] {name} (maximum {max_score:g} {points})"
_NAME_IN_HALVES = "[{id}] {name} (maximum {max_score:g} {points}, half points allowed)"
_CRITERIA = """\
Requirement: {requirement}
Full points: {full}
Partial points: {partial}
No points: {fail}"""
_SHOWN = "Time: shown from {start:.1f} s to {end:.1f} s."
_NOT_SHOWN = "Time: no part of the video is marked as showing this step."
_FRAMES = "The {n} images above are frames of the video in order; the time of each, in seconds, is {times}."
_UNTIMED = "The {n} images above are frames of the video."
_CAPTION = "Frame at {time:.1f} s:"
_ONLY = "Answer with one JSON object and nothing else."
_REASON = {
    "full": (
        "First think step by step: for each step say what the video shows of it and when, hold it against the rubric, "
        "and say what follows. Then end your answer with one JSON object and nothing after it."
    ),
    "clip": (
        "First think step by step: say what the clip shows and when, hold it against the rubric, and say what follows. "
        "Then end your answer with one JSON object and nothing after it."
    ),
}


def _step_text(step: RubricStep, time: str | None) -> str:
    values = {**step.criteria.model_dump(), **step.model_dump(include={"id", "name", "max_score", "requirement"})}
    template = _NAME if step.score_increment == WHOLE else _NAME_IN_HALVES
    name = template.format(points="point" if step.max_score == 1 else "points", **values)
    return "\n".join(filter(None, (name, time, _CRITERIA.format(**values))))


def _time_text(span: Span) -> str:
    return _SHOWN.format(start=span[0], end=span[1]) if span else _NOT_SHOWN


def build_prompt(
    setting: TaskSpec,
    steps: Sequence[RubricStep],
    spans: Sequence[Span] | None = None,
    rubric: Rubric | None = None,
    style: str = "plain",
) -> str:
    """The text that follows the media.

    Args:
        setting: its description.
        steps: the steps asked about, in rubric order; exactly one for a clip.
        spans: when the video shows each of them, (start, end) in seconds or None; for a setting with step times, and
            for no other.
        rubric: where the steps come from, for what it says of the exam; None: the embedded one.
        style: ``plain``, or ``reasoned``: think step by step, then the JSON object.

    Raises:
        ValueError: no step, several for a clip, or spans that do not fit the setting or the steps.
    """
    if not steps or (setting.scope == "clip" and len(steps) != 1):
        raise ValueError(f"{setting.name} cannot ask about {len(steps)} steps")
    if setting.step_times != (spans is not None) or (spans is not None and len(spans) != len(steps)):
        given = "none" if spans is None else len(spans)
        raise ValueError(f"{setting.name} needs {len(steps) if setting.step_times else 'no'} spans, {given} given")
    times = [None] * len(steps) if spans is None else [_time_text(span) for span in spans]
    sheet = "\n\n".join(_step_text(step, time) for step, time in zip(steps, times, strict=True))
    task, reply = setting.asks(halves=_in_halves(steps))
    reply = _styled(setting, reply, style)
    reply = reply.format(n=len(steps), max_score=steps[0].max_score)
    return f"{exam_of(rubric).told(setting.role)}\n\nRubric:\n\n{sheet}\n\n{task}\n\n{reply}"


def prompt_frame(setting: TaskSpec, steps: Sequence[RubricStep], rubric: Rubric | None = None) -> str:
    """The words of :func:`build_prompt` around the rubric's steps, for people who answer on a page: role and task."""
    return f"{exam_of(rubric).told(setting.role)}\n\n{setting.asks(halves=_in_halves(steps))[0]}"


def _in_halves(steps: Sequence[RubricStep]) -> bool:
    return any(step.score_increment != WHOLE for step in steps)


def frame_caption(time: float) -> str:
    """The text before one frame, where a model takes text and images interleaved."""
    return _CAPTION.format(time=time)


def frames_note(times: Sequence[float], told: bool = True) -> str:
    """The sentence that gives the frames' times (``told``), where a model takes all images before the text."""
    if not told:
        return _UNTIMED.format(n=len(times))
    return _FRAMES.format(n=len(times), times=", ".join(f"{time:.1f}" for time in times))


def _styled(setting: TaskSpec, reply: str, style: str) -> str:
    """The form of the answer in a style; all forms begin with the same sentence."""
    if style == "plain":
        return reply
    begun = reply.removeprefix(_ONLY)
    if begun == reply:
        raise ValueError(f"{setting.name} does not ask for one JSON object and nothing else")
    return f"{_REASON[setting.scope]}{begun}"


def prompt_hash(setting: TaskSpec, text: str) -> str:
    """What a record states as its prompt: twelve hex digits over :func:`build_prompt`'s text."""
    times = not setting.ablation or setting.ablation.times
    return sha256_json(text if times else [text, "no times"])[:12]


def template_hash(setting: TaskSpec | None = None, rubric: Rubric | None = None, style: str = "plain") -> str:
    """What results state as the prompt's template; a test pins it to the version.

    The benchmark's settings are versioned together and share one hash, which is also that of None; every other setting
    has its own, so that adding one changes no hash that is there. A rubric with half points, or with words of its own
    about the exam, is asked about in other words and has another hash; so has another style.
    """
    if setting is None or setting.benchmark:
        return _hash([TASKS[name] for name in BENCHMARK_TASKS], rubric, style)
    return own_hash(setting, rubric, style)


def own_hash(setting: TaskSpec, rubric: Rubric | None = None, style: str = "plain") -> str:
    """Twelve hex digits over every word of one setting's prompt that is the same for all documents."""
    return _hash([setting], rubric, style)


def _hash(settings: Sequence[TaskSpec], rubric: Rubric | None, style: str) -> str:
    exam = exam_of(rubric)
    halves = rubric is not None and _in_halves(rubric.steps)
    # A renamed task keeps its hash: its words are the same.
    names = {setting: former_request_id(setting.name) for setting in settings}
    parts = {names[setting]: [exam.told(setting.role), setting.task, setting.reply] for setting in settings}
    times = [[_SHOWN, _NOT_SHOWN]] if any(setting.step_times for setting in settings) else []
    times += [[_UNTIMED]] if any(setting.ablation and not setting.ablation.times for setting in settings) else []
    more = [[_NAME_IN_HALVES, {names[setting]: setting.asks(halves) for setting in settings}]] if halves else []
    more += [] if style == "plain" else [[style, _REASON]]
    return sha256_json([parts, f"{_NAME}\n{_CRITERIA}", _FRAMES, _CAPTION, *times, *more])[:12]

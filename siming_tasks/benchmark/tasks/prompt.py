"""The prompts: one template, in which only what a task's description says differs (the paper's appendix D).

The media come first, then what the tasks share (role, rubric), then what differs (question, reply), so that a prefix
cache can share the expensive part. No prompt shows an example score vector: models copy it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace

from siming_tasks.benchmark.rubrics import DEFAULT_ID, Rubric, RubricStep
from siming_tasks.benchmark.rubrics.rubric import WHOLE
from siming_tasks.benchmark.tasks.expected_requests import Span
from siming_tasks.benchmark.tasks.prompt_text import ONE_JSON_OBJECT
from siming_tasks.benchmark.tasks.registry import BENCHMARK_TASKS, TASKS, TaskSpec, setting_named
from siming_tasks.common.files import sha256_json

PROMPT_VERSION = "1-A"
"""Moves with the tasks' version: the number when results stop being comparable, the letter for the interface alone."""

_NAME = "[{id}] {name} (maximum {max_score:g} {points})"
_NAME_WITH_HALF_POINTS = "[{id}] {name} (maximum {max_score:g} {points}, half points allowed)"
_CRITERIA = """\
Requirement: {requirement}
Full points: {full}
Partial points: {partial}
No points: {fail}"""
_SHOWN = "Time: shown from {start:.1f} s to {end:.1f} s."
_NOT_SHOWN = "Time: no part of the video is marked as showing this step."
_FRAMES = "The {n} images above are frames of the video in order; the time of each, in seconds, is {times}."
_FRAMES_WITHOUT_TIMES = "The {n} images above are frames of the video."
_CAPTION = "Frame at {time:.1f} s:"
_REASON_FIRST = {
    "full": (
        "First think step by step: for each step say what the video shows of it and when, hold it against the rubric, "
        "and say what follows. Then end your answer with one JSON object and nothing after it."
    ),
    "clip": (
        "First think step by step: say what the clip shows and when, hold it against the rubric, and say what follows. "
        "Then end your answer with one JSON object and nothing after it."
    ),
}


@dataclass(frozen=True)
class ExamContext:
    """The exam in the blanks of a task's role: who examines what, its name, and where the trainee performs it.

    All but the first begin with a space or are empty.
    """

    of: str
    called: str
    where: str
    examiner: str = "a physician examiner"

    def fill(self, role: str) -> str:
        """A task's role with these words in it."""
        return role.format(**asdict(self))


EMERGENCY_EXAM = ExamContext(of=" of emergency skills", called="", where=" on a manikin")
"""Context of the embedded rubric, and of a rubric that says nothing of its exam."""


def exam_context(rubric: Rubric | None, steps: Sequence[RubricStep] = ()) -> ExamContext:
    """The exam as a rubric describes it: by its ``setting``, its ``exam`` or else ``title``, and its ``examiner``.

    The embedded rubric's title is about the rubric, so that one counts only together with a setting. Without ``steps``,
    which say which skills are asked about, ``{skill}`` stays as it is.
    """
    if rubric is None:
        return EMERGENCY_EXAM
    texts = (rubric.exam or rubric.title, rubric.setting, rubric.examiner or EMERGENCY_EXAM.examiner)
    title, where, examiner = (" ".join((text or "").split()) for text in texts)
    if not (where or (title and rubric.rubric_id != DEFAULT_ID)):
        return replace(EMERGENCY_EXAM, examiner=examiner)
    asked = {rubric.skill_of[step.id] for step in steps}
    if names := [skill.name for skill in rubric.skills if skill.id in asked]:
        title = title.replace("{skill}", ", ".join(names))
    return ExamContext("", f' ("{title}")' if title else "", f" {where}" if where else "", examiner)


def build_prompt(
    task: TaskSpec | str,
    steps: Sequence[RubricStep],
    spans: Sequence[Span] | None = None,
    rubric: Rubric | None = None,
    style: str = "plain",
) -> str:
    """The prompt: the text that follows the media.

    Args:
        task: its description, or its name.
        steps: the steps asked about, in rubric order; exactly one for a clip.
        spans: when the video shows each of them, (start, end) in seconds or None; for a task with step times, and for
            no other.
        rubric: where the steps come from, for what it says of the exam; None: the embedded one.
        style: ``plain``, or ``reasoned``: think step by step, then the JSON object.

    Raises:
        ValueError: no step, several for a clip, or spans that do not fit the task or the steps.

    Example:
        >>> from siming_tasks import build_prompt, default_rubric, list_tasks
        >>> (task,) = list_tasks("siming_clip_error")
        >>> build_prompt(task, default_rubric().steps[:1]).splitlines()[0][:28]
        'You are a physician examiner'
    """
    task = task if isinstance(task, TaskSpec) else TASKS[setting_named(task)]
    if not steps or (task.scope == "clip" and len(steps) != 1):
        raise ValueError(f"{task.name} cannot ask about {len(steps)} steps")
    if task.shows_step_times != (spans is not None) or (spans is not None and len(spans) != len(steps)):
        count = "none" if spans is None else len(spans)
        raise ValueError(f"{task.name} needs {len(steps) if task.shows_step_times else 'no'} spans, {count} given")
    sheet = []
    for index, step in enumerate(steps):
        values = {**step.criteria.model_dump(), **step.model_dump(include={"id", "name", "max_score", "requirement"})}
        heading = _NAME if step.score_increment == WHOLE else _NAME_WITH_HALF_POINTS
        lines = [heading.format(points="point" if step.max_score == 1 else "points", **values)]
        if spans is not None:
            span = spans[index]
            lines.append(_SHOWN.format(start=span[0], end=span[1]) if span else _NOT_SHOWN)
        lines.append(_CRITERIA.format(**values))
        if more := task.answer_format.step_text(step):
            lines.append(more)
        sheet.append("\n".join(lines))
    question, reply = task.texts(_allow_half_points(steps))
    if style != "plain":
        # Every form of the reply begins with the same sentence; reasoning takes its place.
        after = reply.removeprefix(ONE_JSON_OBJECT)
        if after == reply:
            raise ValueError(f"{task.name} does not ask for one JSON object and nothing else")
        reply = f"{_REASON_FIRST[task.scope]}{after}"
    reply = reply.format(n=len(steps), max_score=steps[0].max_score)
    rubric_text = "\n\n".join(sheet)
    return f"{exam_context(rubric, steps).fill(task.role)}\n\nRubric:\n\n{rubric_text}\n\n{question}\n\n{reply}"


def _allow_half_points(steps: Sequence[RubricStep]) -> bool:
    return any(step.score_increment != WHOLE for step in steps)


def frame_caption(time: float) -> str:
    """The text before one frame, where a model takes text and images interleaved."""
    return _CAPTION.format(time=time)


def frames_note(times: Sequence[float], with_times: bool = True) -> str:
    """The sentence that gives the frames' times, where a model takes all images before the text."""
    if not with_times:
        return _FRAMES_WITHOUT_TIMES.format(n=len(times))
    return _FRAMES.format(n=len(times), times=", ".join(f"{time:.1f}" for time in times))


def prompt_hash(task: TaskSpec, text: str) -> str:
    """The hash that a record states of its prompt: twelve hex digits over :func:`build_prompt`'s text."""
    return sha256_json(text if task.ablation.shows_times else [text, "no times"])[:12]


def template_hash(task: TaskSpec | None = None, rubric: Rubric | None = None, style: str = "plain") -> str:
    """The hash that results state of the prompt's template; a test pins it to the version.

    The benchmark's tasks are versioned together and share one hash, which is also that of None; every other task has
    its own, so that adding one changes no hash that is there. A rubric with half points, or with words of its own
    about the exam, is asked about in other words and has another hash; so has another style.
    """
    tasks = [TASKS[name] for name in BENCHMARK_TASKS] if task is None or task.is_benchmark else [task]
    context = exam_context(rubric)
    half_points = rubric is not None and _allow_half_points(rubric.steps)
    texts = {task.name: [context.fill(task.role), task.question, task.reply] for task in tasks}
    # A part is added only where it is used, so that it changes the hash of no task without it.
    optional: list[list[object]] = []
    if any(task.shows_step_times for task in tasks):
        optional.append([_SHOWN, _NOT_SHOWN])
    if not all(task.ablation.shows_times for task in tasks):
        optional.append([_FRAMES_WITHOUT_TIMES])
    if half_points:
        optional.append([_NAME_WITH_HALF_POINTS, {task.name: task.texts(half_points) for task in tasks}])
    if style != "plain":
        optional.append([style, _REASON_FIRST])
    optional += [[task.answer_format.step_template] for task in tasks if task.answer_format.step_template]
    return sha256_json([texts, f"{_NAME}\n{_CRITERIA}", _FRAMES, _CAPTION, *optional])[:12]

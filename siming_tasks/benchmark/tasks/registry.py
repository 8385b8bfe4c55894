"""Tasks: what is shown and asked, by name. ``python utils/make_task_files.py`` writes the task file of a new one."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any

from siming_tasks.benchmark.tasks.ablations import INPUT_ABLATIONS, UNALTERED, InputAblation
from siming_tasks.benchmark.tasks.answer_formats import ANSWER_FORMATS, BENCHMARK_FORMAT, AnswerFormat
from siming_tasks.benchmark.tasks.modalities import MODALITIES, PICTURES, Modality
from siming_tasks.benchmark.tasks.prompt_text import (
    FULL_ROLE_WITH_TIMES,
    NO_VIDEO_ROLES,
    ROLES,
    WHAT_COUNTS,
    question_text,
    reply_text,
    role_text,
)
from siming_tasks.benchmark.types import ANSWERS, SCOPES, Answer, Scope, answer_key
from siming_tasks.common.display import ShortRepr
from siming_tasks.common.errors import OptionsError

if TYPE_CHECKING:  # listing the tasks must not load rubrics: the command line starts with it
    from siming_tasks.benchmark.rubrics import RubricStep


@dataclass(frozen=True, repr=False)
class TaskSpec(ShortRepr):
    """One way of asking a model about an exam."""

    name: str  # stands in record ids, prediction files, reports; its task is called ``siming_<name>``
    title: str  # for people, in a few words
    description: str  # what is shown and asked, in a sentence
    scope: Scope  # one request shows the whole video (``full``) or one step's seconds (``clip``)
    answer: Answer  # the model gives points (``score``) or a verdict (``error``)
    # how the prompt begins: who the model is and what it sees; ``{examiner}``, ``{of}``, ``{called}`` and ``{where}``
    # are the exam's (:class:`siming_tasks.benchmark.tasks.prompt.ExamContext`)
    role: str
    question: str  # what the prompt asks for
    reply: str  # the form of the answer; ``{n}`` is the number of steps, ``{max_score}`` the scale of the first
    half_point_texts: tuple[str, str]  # ``question`` and ``reply`` where a step that is asked about has half points
    group: str  # the group of lmms-eval tasks that it belongs to
    folder: str = ""  # where its task file lies below ``yaml_tasks``; empty for the top
    is_benchmark: bool = True  # one of the paper's four; the others are controls, which no table mixes with them
    shows_step_times: bool = False  # the prompt says of every step when the video shows it
    answer_format: AnswerFormat = BENCHMARK_FORMAT  # what the reply must state, how it is read and scored
    ablation: InputAblation = UNALTERED  # how the input is altered; false where it is not
    modality: Modality = PICTURES  # what of the exam is given; false for pictures alone
    base_task: str = ""  # of an ablation or another modality, the name of the benchmark's task

    def texts(self, half_points: bool) -> tuple[str, str]:
        """``question`` and ``reply``, for whole points only or for half points as well."""
        return self.half_point_texts if half_points else (self.question, self.reply)

    def reply_schema(self, steps: Sequence[RubricStep]) -> dict[str, Any]:
        """JSON schema of the reply to a question about these steps."""
        return self.answer_format.reply_schema(self.scope, self.answer, steps)

    @property
    def is_standard(self) -> bool:
        """Test for the benchmark's answer format, input and modality: such tasks cost and show the same."""
        return self.answer_format is BENCHMARK_FORMAT and not self.ablation and not self.modality

    @property
    def shows_media(self) -> bool:
        """Test whether a question shows frames or a file."""
        return self.ablation.shows_media and self.modality.pictures

    @property
    def gives_recordings(self) -> bool:
        """Test whether a request has pictures, sound, or the words of a recording."""
        return bool(self.shows_media or self.modality.sound or self.modality.transcript)

    @property
    def field(self) -> str:
        """Key of the answer in prediction files and in the reply: ``scores``, ``verdicts``, ``score``, ``verdict``."""
        return answer_key(self.answer, self.scope)

    @property
    def task_name(self) -> str:
        """The name under which lmms-eval lists it."""
        return f"siming_{self.name}"


_BENCHMARK: Mapping[tuple[Scope, Answer], tuple[str, str]] = {
    ("full", "score"): ("Full video, scores", "The whole exam is shown; how many points does each step deserve?"),
    ("full", "error"): ("Full video, errors", "The whole exam is shown; which steps were not fully correct?"),
    ("clip", "score"): (
        "Step clips, scores", "Only the step’s own seconds are shown; how many points does it deserve?",
    ),
    ("clip", "error"): ("Step clips, errors", "Only the step’s own seconds are shown; was the step fully correct?"),
}  # fmt: skip
_WITH_TIMES: Mapping[Answer, str] = {
    "score": "how many points does each deserve?",
    "error": "which were not fully correct?",
}


def _benchmark(scope: Scope, answer: Answer) -> TaskSpec:
    title, description = _BENCHMARK[scope, answer]
    texts = [
        (question_text(scope, answer, half), reply_text(scope, answer, half) + WHAT_COUNTS) for half in (False, True)
    ]
    return TaskSpec(
        f"{scope}_{answer}", title, description, scope, answer, ROLES[scope], *texts[0], texts[1], f"siming_{scope}"
    )


def _control(base: TaskSpec, name: str, title: str, description: str, group: str, folder: str, **more: Any) -> TaskSpec:
    """A task that differs from a benchmark's by what is named, and in no other word."""
    names: dict[str, Any] = {"name": name, "title": title, "description": description}
    return replace(base, **names, group=f"siming_{group}", folder=folder, is_benchmark=False, **more)


def _all_tasks() -> Iterator[TaskSpec]:
    benchmark = [_benchmark(scope, answer) for scope in SCOPES for answer in ANSWERS]
    yield from benchmark
    for task in benchmark[:2]:
        told = f"The whole exam is shown, and when it shows each step is told; {_WITH_TIMES[task.answer]}"
        yield _control(
            task, f"full_timed_{task.answer}", f"Full video with step times, {task.answer}s", told, "timed", "controls",
            role=FULL_ROLE_WITH_TIMES, shows_step_times=True,
        )  # fmt: skip
    for form in ANSWER_FORMATS.values():
        for task in benchmark:
            whole, half = (form.reply_text(task.scope, task.answer, half) + WHAT_COUNTS for half in (False, True))
            yield _control(
                task, f"{task.name}_{form.name}", task.title + form.title, task.description + form.question, form.name,
                "formats", reply=whole, half_point_texts=(task.half_point_texts[0], half), answer_format=form,
            )  # fmt: skip
    for ablation in INPUT_ABLATIONS.values():
        for task in benchmark:
            role = task.role if ablation.shows_media else NO_VIDEO_ROLES[task.scope]
            yield _control(
                task, f"ablation_{ablation.name}_{task.name}", f"Ablation, {ablation.title}: {_small(task.title)}",
                f"{ablation.shown} {task.description}", "ablations", "ablations",
                role=role, ablation=ablation, base_task=task.name,
            )  # fmt: skip
    for modality in MODALITIES.values():
        for task in benchmark:
            given = modality.of_full if task.scope == "full" else modality.of_clip
            yield _control(
                task, f"sound_{modality.name}_{task.name}",
                f"{modality.title[0].upper()}{modality.title[1:]}: {_small(task.title)}",
                f"{modality.given} {task.description}", "sound", "sound",
                role=role_text(task.scope, given), modality=modality, base_task=task.name,
            )  # fmt: skip


def _small(title: str) -> str:
    return f"{title[0].lower()}{title[1:]}"


TASKS: dict[str, TaskSpec] = {task.name: task for task in _all_tasks()}
"""Every task by name: the benchmark's first, then the controls, other answer formats, ablations and modalities."""


def _names(holds: Callable[[TaskSpec], object]) -> tuple[str, ...]:
    return tuple(name for name, task in TASKS.items() if holds(task))


BENCHMARK_TASKS = _names(lambda task: task.is_benchmark)  # the paper's four
STANDARD_TASKS = _names(lambda task: task.is_standard)  # benchmark's answer format and input: they cost the same
UNALTERED_TASKS = _names(lambda task: not task.ablation)  # an exam as it was
SOUND_TASKS = _names(lambda task: task.modality)  # sound or a transcript is given
ABLATION_TASKS = _names(lambda task: task.ablation)

TASK_GROUPS: dict[str, tuple[str, ...]] = {
    "siming": tuple(dict.fromkeys(TASKS[name].group for name in BENCHMARK_TASKS)),
    **{
        group: tuple(task.task_name for task in TASKS.values() if task.group == group)
        for group in dict.fromkeys(task.group for task in TASKS.values())
    },
}
"""Members of every group of lmms-eval tasks: tasks, or of ``siming`` the benchmark's groups."""


def tasks_of(name: str) -> tuple[TaskSpec, ...]:
    """The tasks that a task or group of lmms-eval of this name runs; none if it is not ours."""
    if name in TASK_GROUPS:
        return tuple(task for member in TASK_GROUPS[name] for task in tasks_of(member))
    task = TASKS.get(name.removeprefix("siming_"))
    return (task,) if task and task.task_name == name else ()


def list_tasks(group: str = "") -> tuple[TaskSpec, ...]:
    """Tasks of a group of lmms-eval, or all tasks, in their usual order.

    Args:
        group: ``siming`` (the benchmark), ``siming_full``, ``siming_ablations``, ...; empty: all.

    Raises:
        OptionsError: there is no such group or task.

    Example:
        >>> from siming_tasks import list_tasks
        >>> [task.task_name for task in list_tasks("siming_clip")]
        ['siming_clip_score', 'siming_clip_error']
    """
    tasks = tasks_of(group) if group else tuple(TASKS.values())
    if not tasks:
        near = get_close_matches(group, (*TASK_GROUPS, *(task.task_name for task in TASKS.values())), 1)
        way_out = f"Did you mean {near[0]!r}?" if near else f"Groups are {', '.join(TASK_GROUPS)}."
        raise OptionsError(f"There is no group or task {group!r}. {way_out}")
    return tasks


def setting_named(name: object) -> str:
    """Name of a setting, from it or its task's in lmms-eval (OptionsError: there is none; names others)."""
    text = name.removeprefix("siming_") if isinstance(name, str) else ""
    if text in TASKS:
        return text
    near = get_close_matches(text, TASKS, 1)
    way_out = f"; {near[0]!r} is near" if near else ""
    those = f"Those of the benchmark are {', '.join(BENCHMARK_TASKS)}"
    others = "others are on two pages: siming docs answer-formats, siming docs controls"
    raise OptionsError(f"setting={name!r} is not a setting{way_out}. {those}; {others}.")


def benchmark_task(scope: Scope, answer: Answer) -> TaskSpec:
    """The benchmark's task that shows this much and asks this."""
    return TASKS[f"{scope}_{answer}"]

"""The settings that there are. A new one is one description here and one file in ``yaml_tasks``."""

from __future__ import annotations

from dataclasses import replace

from siming_tasks.common.schema import Answer, Scope
from siming_tasks.tasks.ablations import INPUT_ABLATIONS, InputAblation
from siming_tasks.tasks.answer_formats import abstaining, with_evidence
from siming_tasks.tasks.task_spec import TaskSpec

__all__ = ["ABLATION_TASKS", "BENCHMARK_TASKS", "NON_ABLATION_TASKS", "PLAIN_TASKS", "TASKS", "benchmark_task"]

_FULL = (
    "You are a physician examiner{of}. The video shows one complete examination{called}, in which a "
    "trainee performs the procedure below{where}. Judge the trainee by the rubric, step by step. What was "
    "done or left out earlier can decide whether a later step is correct."
)
_TIMED = _FULL + " For each step the rubric says when the video shows it."
_CLIP = (
    "You are a physician examiner{of}. The video clip is cut from an examination{called}, in which a "
    "trainee performs a procedure{where}. It shows the one step below. Judge the trainee by the rubric."
)
_BLIND = {
    "full": (
        "You are a physician examiner{of}. A trainee performed the procedure below{where} in an examination{called}. "
        "No video of it is shown. For every step of the rubric give the judgment that you expect a trainee to deserve."
    ),
    "clip": (
        "You are a physician examiner{of}. In an examination{called} a trainee performed a procedure{where}, with the "
        "one step below. No video of it is shown. Give the judgment that you expect a trainee to deserve."
    ),
}

_SCORE_ALL = (
    "Task: score every step of the rubric. For each step give a whole number of points from 0 (failed) to the "
    "maximum of that step (fully correct)."
)
_SCORES = (
    'Answer with one JSON object and nothing else. It has the single key "scores", an object that maps each of the '
    "{n} step ids in square brackets to your points, as an integer."
)
_ALL_IN_HALVES = (
    "Task: score every step of the rubric. For each step give a number of points from 0 (failed) to the maximum of "
    "that step (fully correct): whole points, or half points where the step allows them.",
    'Answer with one JSON object and nothing else. It has the single key "scores", an object that maps each of the '
    "{n} step ids in square brackets to your points, as a number.",
)
_JUDGE_ALL = (
    "Task: detect the errors. For each step of the rubric decide whether the trainee performed it fully correctly "
    '("correct") or with any deviation that costs points, including leaving it out ("incorrect").'
)
_VERDICTS = (
    'Answer with one JSON object and nothing else. It has the single key "verdicts", an object that maps each of '
    'the {n} step ids in square brackets to "correct" or "incorrect".'
)

_ALL = (
    TaskSpec(
        name="full_score",
        title="Full video, scores",
        question="The whole exam is shown; how many points does each step deserve?",
        scope="full",
        answer="score",
        role=_FULL,
        task=_SCORE_ALL,
        reply=_SCORES,
        halves=_ALL_IN_HALVES,
        group="siming_full",
    ),
    TaskSpec(
        name="full_error",
        title="Full video, errors",
        question="The whole exam is shown; which steps were not fully correct?",
        scope="full",
        answer="error",
        role=_FULL,
        task=_JUDGE_ALL,
        reply=_VERDICTS,
        group="siming_full",
    ),
    TaskSpec(
        name="clip_score",
        title="Step clips, scores",
        question="Only the step’s own seconds are shown; how many points does it deserve?",
        scope="clip",
        answer="score",
        role=_CLIP,
        task=(
            "Task: score this step. Give a whole number of points from 0 (failed) to the maximum of the step "
            "(fully correct)."
        ),
        reply=(
            'Answer with one JSON object and nothing else. It has the single key "score", whose value is your points, '
            "as an integer from 0 to {max_score:g}."
        ),
        halves=(
            "Task: score this step. Give a number of points from 0 (failed) to the maximum of the step (fully "
            "correct), in whole or half points.",
            'Answer with one JSON object and nothing else. It has the single key "score", whose value is your points, '
            "as a number from 0 to {max_score:g}.",
        ),
        group="siming_clip",
    ),
    TaskSpec(
        name="clip_error",
        title="Step clips, errors",
        question="Only the step’s own seconds are shown; was the step fully correct?",
        scope="clip",
        answer="error",
        role=_CLIP,
        task=(
            "Task: detect errors. Decide whether the trainee performed this step fully correctly "
            '("correct") or with any deviation that costs points, including leaving it out ("incorrect").'
        ),
        reply=(
            'Answer with one JSON object and nothing else. It has the single key "verdict", whose value is '
            '"correct" or "incorrect".'
        ),
        group="siming_clip",
    ),
    TaskSpec(
        name="full_timed_score",
        title="Full video with step times, scores",
        question="The whole exam is shown, and when it shows each step is told; how many points does each deserve?",
        scope="full",
        answer="score",
        role=_TIMED,
        task=_SCORE_ALL,
        reply=_SCORES,
        halves=_ALL_IN_HALVES,
        group="siming_timed",
        benchmark=False,
        step_times=True,
    ),
    TaskSpec(
        name="full_timed_error",
        title="Full video with step times, errors",
        question="The whole exam is shown, and when it shows each step is told; which were not fully correct?",
        scope="full",
        answer="error",
        role=_TIMED,
        task=_JUDGE_ALL,
        reply=_VERDICTS,
        group="siming_timed",
        benchmark=False,
        step_times=True,
    ),
)

_FORMS = tuple(form(setting) for form in (abstaining, with_evidence) for setting in _ALL if setting.benchmark)


def _ablated(ablation: InputAblation, setting: TaskSpec) -> TaskSpec:
    """The setting with its evidence altered; asked in the same words, unless there is no video to speak of."""
    return replace(
        setting,
        name=f"ablation_{ablation.name}_{setting.name}",
        title=f"Ablation, {ablation.title}: {setting.title[0].lower()}{setting.title[1:]}",
        question=f"{ablation.shown} {setting.question}",
        role=setting.role if ablation.media else _BLIND[setting.scope],
        group="siming_ablations",
        benchmark=False,
        ablation=ablation,
        plain=setting.name,
    )


_ABLATED = tuple(
    _ablated(ablation, setting) for ablation in INPUT_ABLATIONS.values() for setting in _ALL if setting.benchmark
)

TASKS: dict[str, TaskSpec] = {setting.name: setting for setting in (*_ALL, *_FORMS, *_ABLATED)}
"""Every setting by name: the benchmark's first, then the controls, then the ablations."""

BENCHMARK_TASKS: tuple[str, ...] = tuple(name for name, setting in TASKS.items() if setting.benchmark)
"""Names of the paper's four settings."""

PLAIN_TASKS: tuple[str, ...] = tuple(
    name for name, one in TASKS.items() if not (one.abstain or one.evidence or one.ablation)
)
"""Names of the settings without another form of the reply and without an ablation, which cost and show the same."""

NON_ABLATION_TASKS: tuple[str, ...] = tuple(name for name, setting in TASKS.items() if not setting.ablation)
"""Names of the settings that show an exam as it was: all but the ablations."""

ABLATION_TASKS: tuple[str, ...] = tuple(name for name, setting in TASKS.items() if setting.ablation)
"""Names of the ablations."""


def benchmark_task(scope: Scope, answer: Answer) -> TaskSpec:
    """The benchmark's setting that shows this much and asks this."""
    return next(TASKS[name] for name in BENCHMARK_TASKS if (TASKS[name].scope, TASKS[name].answer) == (scope, answer))

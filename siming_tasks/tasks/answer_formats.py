"""Other forms of the reply: the same question, and the model may abstain, or says what its answer rests on."""

from __future__ import annotations

from dataclasses import replace

from siming_tasks.parsing.lexicon import NOT_VISIBLE
from siming_tasks.tasks.task_spec import TaskSpec

__all__ = ["abstaining", "with_evidence"]

_STEPS = f' Where the video does not show enough of a step to judge it, map its id to "{NOT_VISIBLE}" instead.'
_STEP = f' If the clip does not show enough of the step to judge it, the value is "{NOT_VISIBLE}" instead.'

_ONLY = "Answer with one JSON object and nothing else."
_RESTS = (
    '"evidence", the parts of the {media} on which {it}, as a list of pairs [start, end] in seconds from its start.'
)


def abstaining(setting: TaskSpec) -> TaskSpec:
    """The setting in which a step may be answered with "not visible"."""
    more = _STEP if setting.scope == "clip" else _STEPS
    return replace(
        setting,
        name=f"{setting.name}_abstain",
        title=f"{setting.title}, may abstain",
        question=f"{setting.question} It may be called not visible.",
        reply=setting.reply + more,
        halves=setting.halves and (setting.halves[0], setting.halves[1] + more),
        group="siming_abstain",
        benchmark=False,
        abstain=True,
    )


def with_evidence(setting: TaskSpec) -> TaskSpec:
    """The setting in which every answer comes with the seconds on which it rests."""
    return replace(
        setting,
        name=f"{setting.name}_evidence",
        title=f"{setting.title}, with evidence",
        question=f"{setting.question} Which seconds show it?",
        reply=_with_evidence(setting, "an integer"),
        halves=setting.halves and (setting.halves[0], _with_evidence(setting, "a number")),
        group="siming_evidence",
        benchmark=False,
        evidence=True,
    )


def _with_evidence(setting: TaskSpec, number: str) -> str:
    points = setting.answer == "score"
    it = "they rest" if points else "it rests"
    key = "score" if points else "verdict"
    if setting.scope == "clip":
        what = f"your points, as {number} from 0 to {{max_score:g}}" if points else '"correct" or "incorrect"'
        rests = _RESTS.format(media="clip", it=it)
        return f'{_ONLY} It has two keys: "{key}", whose value is {what}, and {rests}'
    what = f"your points, as {number}" if points else '"correct" or "incorrect"'
    return (
        f'{_ONLY} It has the single key "{setting.field}", an object that maps each of the {{n}} step ids in square '
        f'brackets to an object with two keys: "{key}", {what}, and {_RESTS.format(media="video", it=it)}'
    )

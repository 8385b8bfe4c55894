"""Answers to the asked steps in the JSON objects of a reply."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from siming_tasks.common.schema import Answer
from siming_tasks.parsing.json_values import Group, Value
from siming_tasks.parsing.steps import MAX_KEY, Reading, StepNames, key_name, read_value, words
from siming_tasks.rubrics import RubricStep

_ANSWER_WORDS: Mapping[Answer, frozenset[str]] = {
    "score": frozenset(["score", "scores", "points", "得分", "分数", "评分"]),
    "error": frozenset(["verdict", "verdicts", "judgment", "judgement", "判断", "判定", "结论"]),
}
"""Words of the keys that are asked for."""
_BESIDE = frozenset(["final", "awarded", "step", "steps", "最终"])  # words that may stand beside them
_HOLDERS = frozenset(
    [
        *(
            "answer",
            "answers",
            "final_answer",
            "result",
            "results",
            "evaluation",
            "evaluations",
            "assessment",
            "response",
        ),
        *("output", "json", "data", "items", "steps", "parameters", "arguments"),
    ]
)
"""Keys of what may hold answers, or be the one answer."""
STEP_KEYS = frozenset(["step_id", "id", "step", "step_name", "name", "步骤"])
"""Keys of the step that an object speaks of."""
_SCALE_WORDS = frozenset(["max", "maximum", "scale", "满分"])  # words of the keys that name a scale
_DEEPEST = 8


@dataclass
class _Found:
    """The readings of one outermost object."""

    asked: dict[str, Reading] = field(default_factory=dict)  # stand under the key that was asked for
    bare: dict[str, Reading] = field(default_factory=dict)  # stand under the step's name alone


def read_answers(
    groups: Sequence[Group], names: StepNames, answer: Answer, abstain: bool = False
) -> dict[str, Reading]:
    """Step id -> reading; a later object's replaces an earlier one's.

    A bare ``{id: value}`` counts where no object has the key that was asked for. Of a text that ends inside an object
    only this one counts: it may have replaced the others.
    """
    reader = _Reader(names, answer, abstain)
    found = [reader.read(group) for group in groups]
    several = [one.asked for one in found] if any(one.asked for one in found) else [one.bare for one in found]
    readings: dict[str, Reading] = {}
    for each in several if not groups or groups[-1].closed else several[-1:]:
        readings |= {name: reading for name, reading in each.items() if reading != "absent" or name not in readings}
    return readings


@dataclass
class _Reader:
    names: StepNames
    answer: Answer
    abstain: bool

    def read(self, group: Group) -> _Found:
        found = _Found()
        only = self.names.steps[0] if len(self.names.steps) == 1 else None
        self._walk(group, only, found, found.bare, (), _DEEPEST)
        return found

    def _walk(
        self,
        group: Group,
        step: RubricStep | None,
        found: _Found,
        here: dict[str, Reading],
        tops: Sequence[float],
        depth: int,
    ) -> None:
        """Read a group that speaks of ``step``.

        Values under a step's name alone belong to ``here``; ``tops`` are the maxima that the objects around it name.
        """
        entries = [(key or "", value) for key, value in group.entries]
        tops = [*tops, *(top for key, value in entries if (top := self._scale(key, value)) is not None)]
        told = [value for key, value in entries if self._is_asked(key) and not isinstance(_single(value), Group)]
        named = [value for key, value in entries if key_name(key) in STEP_KEYS and not isinstance(value, Group)]
        if told:
            if named:
                step = self.names.find(named[0]) if isinstance(named[0], str) else None
            if step is not None and group.closed:  # else what is cut off might say which step, or which scale
                for value in told:
                    _put(found.asked, step, self._value(value, step, tops))
            return
        for key, value in entries:
            owner = self.names.find(key)
            if owner is not None and not isinstance(_single(value), Group):
                _put(here, owner, self._value(value, owner, tops))
            elif isinstance(value, Group) and depth:
                if owner is not None or not key or self.names.is_skill(key):
                    self._walk(value, owner or step, found, here, tops, depth - 1)
                elif key_name(key) in _HOLDERS or self._is_asked(key):
                    self._walk(value, step, found, found.asked, tops, depth - 1)

    def _is_asked(self, key: str) -> bool:
        """Test whether a key is one that was asked for, or may be the one answer."""
        said, asked = {*words(key[:MAX_KEY])}, _ANSWER_WORDS[self.answer]
        return bool(said & asked) and said <= asked | _BESIDE

    def _value(self, value: Value, step: RubricStep, tops: Sequence[float]) -> Reading:
        value = _single(value)
        if not isinstance(value, str):
            return "unreadable"
        reading = read_value(value, step, self.answer, self.abstain)
        other_scale = self.answer == "score" and any(top != step.max_score for top in tops)
        return "off_scale" if isinstance(reading, float) and other_scale else reading

    def _scale(self, key: str, value: Value) -> float | None:
        """The maximum that an entry names: the last number under a key such as ``max_score`` or ``scale``."""
        named = _SCALE_WORDS & {*words(key[:MAX_KEY])} and isinstance(value, str) and self.names.find(key) is None
        numbers = (
            re.findall(r"[0-9]{1,4}(?:\.[0-9]{1,4})?", value[:MAX_KEY]) if named and isinstance(value, str) else []
        )
        return float(numbers[-1]) if numbers else None


def _single(value: Value) -> Value:
    """The only value of a list of one."""
    if isinstance(value, Group) and value.bracket == "[" and len(value.entries) == 1:
        return value.entries[0][1]
    return value


def _put(readings: dict[str, Reading], step: RubricStep, reading: Reading) -> None:
    """Two different answers within one object are a conflict."""
    known = readings.get(step.id, "absent")
    readings[step.id] = reading if known in ("absent", reading) else known if reading == "absent" else "conflict"

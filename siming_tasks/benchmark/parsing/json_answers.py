"""Answers to the asked steps in the JSON objects of a reply."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from siming_tasks.benchmark.parsing.json_values import Group, Value, read_json
from siming_tasks.benchmark.parsing.side_remarks import ASIDE
from siming_tasks.benchmark.parsing.steps import MAX_KEY, Reading, StepNames, key_name, read_value, words
from siming_tasks.benchmark.rubrics import RubricStep
from siming_tasks.benchmark.types import Answer

_ANSWER_WORDS: Mapping[Answer, frozenset[str]] = {
    "score": frozenset(["score", "scores", "points", "得分", "分数", "评分"]),
    "error": frozenset(["verdict", "verdicts", "judgment", "judgement", "判断", "判定", "结论"]),
}
"""Words of the keys that are asked for."""
_BESIDE = frozenset(["final", "awarded", "step", "steps", "最终"])  # words that may stand beside them
_HOLDERS = frozenset([
    "answer", "answers", "final_answer", "result", "results", "evaluation", "evaluations", "assessment", "response",
    "output", "json", "data", "items", "steps", "parameters", "arguments", "input", "function", "function_call",
    "tool_calls",
])  # fmt: skip
"""Keys whose values may be answers."""
STEP_KEYS = frozenset(["step_id", "id", "step", "step_name", "name", "步骤"])
"""Keys of the step that an object speaks of."""
_SCALE_WORDS = frozenset(["max", "maximum", "scale", "满分"])  # words of the keys that name a scale
_LATER = re.compile(r"correct|revis|updat|chang|final|answer|instead|actual|\bnew\b|[更修]正|修改|更新|最终", re.I)
"""Words of the line before a bare object behind the answer: it is a later answer."""
_NUMBER = re.compile(r"[0-9]{1,4}(?:\.[0-9]{1,4})?")


def read_answers(
    text: str, groups: Sequence[Group], names: StepNames, answer: Answer, abstain: bool
) -> tuple[dict[str, Reading], int]:
    """Step id -> reading, of the objects of a text in their order; and where the last one ends that gave one.

    A later object replaces what it says; one that is never closed, what it says completely. A bare ``{id: value}``
    counts where no other object has the key that was asked for, and behind one that has.
    """
    reader, readings, any_asked, before, end = _Reader(names, answer, abstain), dict[str, Reading](), False, 0, 0
    for group in groups:
        said: dict[bool, dict[str, Reading]] = {False: {}, True: {}}  # under the key that was asked for, or not
        for asked, step, reading in reader.statements(group):
            known = said[asked].setdefault(step.id, reading)
            if reading not in ("absent", known):
                said[asked][step.id] = reading if known == "absent" else "conflict"
        intro = text[before : group.start].replace("```json", "").strip("` \n").rpartition("\n")[2][-MAX_KEY:]
        before, is_bare = group.end, any_asked and not said[True]
        if ASIDE.search(intro) or (is_bare and intro and not _LATER.search(intro)):
            continue
        if said[True] and not any_asked:
            any_asked, readings = True, {}
        for name, reading in (said[False] | said[True]).items():
            only_new = reading == "absent" or (isinstance(reading, str) and (is_bare or not group.closed))
            if not (only_new and name in readings):
                readings[name], end = reading, group.end
    return readings, end


@dataclass(frozen=True)
class _Reader:
    names: StepNames
    answer: Answer
    abstain: bool

    def statements(
        self, group: Group, step: RubricStep | None = None, asked: bool = False, tops: Sequence[float] = ()
    ) -> Iterator[tuple[bool, RubricStep, Reading]]:
        """Yield whether under the key that was asked for, the step, and its reading; ``tops`` are the maxima around."""
        entries = [(key or "", value) for key, value in group.entries]
        tops = [*tops, *(top for key, value in entries if (top := self._scale(key, value)) is not None)]
        told = [value for key, value in entries if self._is_asked(key) and not isinstance(value, Group)]
        named = [value for key, value in entries if key_name(key) in STEP_KEYS and not isinstance(value, Group)]
        is_clip = len(self.names.steps) == 1
        if is_clip and any(name and self.names.is_other(name) for name in named):
            return
        if told and (named or is_clip or step is not None):
            step = self._owner(named, step) if named else self.names.steps[0] if is_clip else step
            if step is not None:
                yield from ((True, step, self._read(said, step, tops)) for said in told)
            return
        for key, value in entries:
            owner = self.names.find(key)
            if owner is not None and not isinstance(value, Group):
                yield asked, owner, self._read(value, owner, tops)
                continue
            holds = bool(key) and (key_name(key) in _HOLDERS or self._is_asked(key))
            text = value if isinstance(value, str) and (holds or (asked and not key)) else ""
            for inner in (value,) if isinstance(value, Group) else read_json(text) or read_json(f"{{{text}}}"):
                if owner is not None or not key or self.names.is_skill(key):
                    yield from self.statements(inner, owner or step, asked, tops)
                elif holds:
                    yield from self.statements(inner, step, True, tops)

    def _owner(self, named: Sequence[str | None], step: RubricStep | None) -> RubricStep | None:
        """The step that an object names, by its key, id and name; None where they contradict, or name another."""
        if any(name is None or self.names.is_other(name) for name in named):
            return None
        found = {step.id: step} if step is not None else {}
        found |= {owner.id: owner for name in named if name and (owner := self.names.find(name)) is not None}
        return found.popitem()[1] if len(found) == 1 else None

    def _is_asked(self, key: str) -> bool:
        """Test whether a key is one that was asked for."""
        said, asked = {*words(key[:MAX_KEY])}, _ANSWER_WORDS[self.answer]
        return bool(said & asked) and said <= asked | _BESIDE

    def _read(self, value: str | None, step: RubricStep, tops: Sequence[float]) -> Reading:
        reading = "unreadable" if value is None else read_value(value, step, self.answer, self.abstain)
        other_scale = self.answer == "score" and any(top != step.max_score for top in tops)
        return "off_scale" if isinstance(reading, float) and other_scale else reading

    def _scale(self, key: str, value: Value) -> float | None:
        """The maximum that an entry names: the last number under a key such as ``max_score`` or ``scale``."""
        said = {*words(key[:MAX_KEY])}
        named = bool(said & _SCALE_WORDS) and "total" not in said and self.names.find(key) is None
        numbers = _NUMBER.findall(value[:MAX_KEY]) if isinstance(value, str) else []
        return float(numbers[-1]) if named and numbers else None

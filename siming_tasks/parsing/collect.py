"""What one JSON value of a reply says about each asked step."""

from __future__ import annotations

from collections.abc import Callable

from siming_tasks.parsing.names import StepNames
from siming_tasks.parsing.reader import Broken, Group, Scalar, Value
from siming_tasks.parsing.values import DENIED, NEUTRAL, STATED, fold, number, points, verdict
from siming_tasks.rubrics.model import RubricStep
from siming_tasks.schema import Answer

__all__ = ["Collector", "Reading", "merge"]

Reading = float | str
"""An answer, or one of the missing reasons."""


def _keys(text: str) -> frozenset[str]:
    return frozenset(text.split())


_SCORE = _keys("score scores point points mark marks rating value awarded final_score step_score score_awarded "
               "points_awarded awarded_points awarded_score 得分 分数 评分 分值 分")  # fmt: skip
_VERDICT = _keys("verdict verdicts answer label judgement judgment decision conclusion result status "
                 "判断 结论 判定 结果")  # fmt: skip
_POLARITY = {
    **dict.fromkeys(_keys("correct is_correct performed_correctly correctly_performed 正确 是否正确"), STATED),
    **dict.fromkeys(_keys("error errors is_error has_error has_errors error_present error_detected contains_error "
                          "incorrect is_incorrect wrong is_wrong 错误 是否错误 有错误 是否有错误 是否存在错误"),
                    DENIED),
}  # fmt: skip
_MAXIMUM = _keys("max max_score maximum maximum_score max_points out_of full_marks 满分")
_ID = _keys("id step step_id stepid step_number step_no step_name name number no item 步骤 步骤编号 编号 步骤名称")
_WRAPPER = _SCORE | _VERDICT | _POLARITY.keys() | _keys(
    "step_scores ratings judgements judgments labels results answers response output evaluation evaluations assessment "
    "assessments steps step_results items data final final_answer json 步骤 评估 答案")  # fmt: skip
_ASIDE = _keys("reason reasons reasoning rationale rationales explanation explanations justification justifications "
               "comment comments feedback evidence observation observations note notes confidence confidences "
               "deduction deductions example examples format thinking thought thoughts analysis weights "
               "理由 原因 说明 备注 解释 分析 置信度") | _MAXIMUM  # fmt: skip


def merge(readings: list[Reading]) -> Reading:
    """One reading out of several: they agree, or the step is in conflict."""
    return readings[0] if len(set(readings)) == 1 else "conflict"


def _name(key: str) -> str:
    return fold(key).replace(" ", "_").replace("-", "_")


class Collector:
    """Gathers readings per step from the brackets of a reply, for one question (the asked steps, scores or errors)."""

    def __init__(self, names: StepNames, answer: Answer) -> None:
        self.names = names
        self.answer = answer
        self.only = names.steps[0] if len(names.steps) == 1 else None
        self._answer_keys = _SCORE if answer == "score" else _VERDICT | _POLARITY.keys()
        self._other = (_VERDICT | _POLARITY.keys() if answer == "score" else _SCORE) - self._answer_keys

    def mentions(self, root: Group, *, alone: bool) -> dict[str, Reading]:
        """Step id -> reading. ``alone``: the bracket stands by itself, so that a bare list may be the answer."""
        found: dict[str, list[Reading]] = {}
        self._walk(root, None, True, alone, NEUTRAL, found)
        out: dict[str, Reading] = {}
        for step_id, readings in found.items():
            telling = [reading for reading in readings if reading not in ("unreadable", "absent")]
            out[step_id] = merge(telling or readings[:1])
        return out

    def _walk(
        self, group: Group, inside: str | None, known: bool, lists: bool, polarity: int, found: dict[str, list[Reading]]
    ) -> None:
        """Read one bracket. ``known``: all brackets around it are ours, so that plain numbers and keys count."""
        entries = [(key, _name(key), value) for key, value in group.entries if key is not None]
        named = self._named_step(entries)
        if named is not None:
            if named:
                found.setdefault(named[0].id, []).append(self._from_object(group, named[0], polarity))
            return
        own: dict[str, list[Reading]] = {}
        rest: list[tuple[str, str, Group]] = []
        for key, name, value in entries:
            step = self.names.find(key, inside, by_number=known) if name not in self._answer_keys else None
            if step is not None:
                own.setdefault(step.id, []).append(self._reading(value, step, polarity))
            elif isinstance(value, Group) and name not in _ASIDE and name not in self._other:
                rest.append((key, name, value))
        if (
            self.only
            and known
            and not own
            and any(
                name in self._answer_keys and not (isinstance(value, Group) and self._holds_steps(value))
                for _, name, value in entries
            )
        ):
            own[self.only.id] = [self._from_object(group, self.only, polarity)]
            rest = []
        for step_id, readings in own.items():
            found.setdefault(step_id, []).append(merge(readings))
        preferred = [item for item in rest if item[1] in self._answer_keys]
        for key, name, value in preferred or rest:
            ours = known and (name in _WRAPPER)
            self._walk(value, key, ours, ours or self.names.group(key) is not None,
                       _POLARITY.get(name, polarity), found)  # fmt: skip
        self._list(group, inside, known, lists, polarity, found)

    def _list(
        self, group: Group, inside: str | None, known: bool, lists: bool, polarity: int, found: dict[str, list[Reading]]
    ) -> None:
        """Values without keys: objects that name their step, or one value per asked step in rubric order."""
        values = [value for key, value in group.entries if key is None]
        if not values or len(values) != len(group.entries):
            for value in values:
                if isinstance(value, Group):
                    self._walk(value, inside, known, False, polarity, found)
            return
        steps = (self.names.group(inside) if inside is not None else None) or (self.names.steps if known else ())
        plain = all(not isinstance(value, Group) or self._anonymous(value) for value in values)
        if lists and group.bracket == "[" and group.closed and not group.odd and plain and len(values) == len(steps):
            for step, value in zip(steps, values, strict=True):
                found.setdefault(step.id, []).append(self._reading(value, step, polarity))
            return
        for value in values:
            if isinstance(value, Group):
                self._walk(value, inside, known and self.only is None, False, polarity, found)

    def _named_step(self, entries: list[tuple[str, str, Value]]) -> tuple[RubricStep, ...] | None:
        """The step that an object with an id names: one step, () for a step not asked, None if it has no id."""
        if not any(name in self._answer_keys for _, name, _ in entries):
            return None
        said = [value.text for _, name, value in entries if name in _ID and isinstance(value, Scalar)]
        if not said:
            return None
        steps = {step.id: step for text in said if (step := self.names.find(text)) is not None}
        if len(steps) == 1:
            return tuple(steps.values())
        if not steps and self.only and not any(self.names.might_be_id(text) for text in said):
            return (self.only,)
        return ()

    def _anonymous(self, group: Group) -> bool:
        entries = [(key, _name(key), value) for key, value in group.entries if key is not None]
        return (
            bool(entries) and self._named_step(entries) is None and any(n in self._answer_keys for _, n, _ in entries)
        )

    def _holds_steps(self, group: Group) -> bool:
        return any(key is not None and self.names.find(key) is not None for key, _ in group.entries)

    def _reading(self, value: Value, step: RubricStep, polarity: int) -> Reading:
        if isinstance(value, Group):
            if group_is_single(value):
                return self._reading(value.entries[0][1], step, polarity)
            return self._from_object(value, step, polarity)
        if isinstance(value, Broken):
            return "cut_off" if value is Broken.CUT else "unreadable"
        if self.answer == "error":
            return verdict(value.text, polarity)
        return points(value.text, step.max_score)

    def _from_object(self, group: Group, step: RubricStep, polarity: int) -> Reading:
        """The answer of ``{"score": 2, "reason": ...}``: every answer key in it must say the same."""
        readings: list[Reading] = []
        for key, value in group.entries:
            name = _name(key) if key is not None else ""
            if name in self._answer_keys:
                inner = isinstance(value, Group) and not group_is_single(value)
                reading = "unreadable" if inner else self._reading(value, step, _POLARITY.get(name, polarity))
                readings.append(reading)
            elif self.answer == "score" and name in _MAXIMUM and isinstance(value, Scalar):
                if number(value.text) not in (None, step.max_score):
                    readings.append("off_scale")
        telling = [reading for reading in readings if reading not in ("unreadable", "absent")]
        if telling:
            return merge(telling) if "off_scale" not in telling else "off_scale"
        return readings[0] if readings else ("unreadable" if group.closed else "cut_off")


def group_is_single(group: Group) -> bool:
    """Whether a bracket holds one value without a key: ``[2]``."""
    return len(group.entries) == 1 and group.entries[0][0] is None and isinstance(group.entries[0][1], Scalar)


_Reader = Callable[[str], Reading]

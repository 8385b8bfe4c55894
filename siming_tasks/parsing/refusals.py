"""Replies that judge nothing: refusals, reports of a failure, placeholders beside words that nothing was seen."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from siming_tasks.common.schema import Answer
from siming_tasks.parsing.keys import key_of
from siming_tasks.parsing.lenient_json import Group, Scalar
from siming_tasks.rubrics import RubricStep

__all__ = ["is_failure", "is_placeholder", "is_refusal"]

_JUDGE = (
    r"(?:assess|evaluate|view|access|score|judge|determine|process|provide|see|watch|rate|analy[sz]e|verify|open|give"
    r"|grade|observe|confirm)"
)
_REFUSED = re.compile(
    rf"""\b i\s?(?:'m|am) \s (?:sorry|unable|not\ able|not\ comfortable) \b | \b i \s apologi[sz]e \b | \b as\ an\ ai \b
      | \b (?:i|we) \s (?:can\s?not|can't|could\ not|couldn't|will\ not|won't|do(?:n't|\ not)\ (?:have|see)
        | must\ decline) \b
      | \b (?:unable|not\ able)\ to\ {_JUDGE} \b | \b (?:could|can)\ ?not\ be\ (?:{_JUDGE}\w*|loaded) \b
      | \b no\ (?:video|images?|frames?|clip)\ (?:was|were|is|are)?\ ?(?:provided|attached|available|visible|given) \b
      | 抱歉 | 对不起 | 无法(?:观看|查看|评估|评分|判断|判定|确定|访问|识别|提供|看到|打开|处理|分析|辨认|回答)
      | 不能(?:提供|评估|评分|判断|回答|协助|观看|查看)""",
    re.VERBOSE | re.IGNORECASE,
)
_STATE = frozenset({"error", "status", "success", "ok", "state", "result", "errors"})
_REPORT = frozenset({"message", "msg", "code", "status_code", "error_code", "error_message", "request_id", "traceback"})


def is_refusal(text: str) -> bool:
    """Test whether a text has the words of a refusal near its beginning."""
    return _REFUSED.search(text[:4000].replace("’", "'")) is not None


def is_placeholder(text: str, readings: Mapping[str, float | str], steps: Sequence[RubricStep], answer: Answer) -> bool:
    """Test whether answers are a placeholder: all the same, or with full marks, beside a refusal's words."""
    answered = {name: reading for name, reading in readings.items() if isinstance(reading, float)}
    if len(answered) < len(steps) or not is_refusal(text):
        return False
    tops = {step.id: step.max_score for step in steps}
    full = all(reading == tops.get(name) for name, reading in answered.items())
    none = not any(answered.values())
    return none or full if answer == "score" else len(set(answered.values())) == 1


def is_failure(group: Group) -> bool:
    """Test whether an object is a service's report that a request failed: ``{"status": "error", "message": ...}``."""
    if group.bracket != "{" or not group.keyed:
        return False
    keys = {(key or "").strip().casefold().replace(" ", "_") for key, _ in group.entries}
    if any(key_of(key).family.name in ("points", "verdict", "correct?", "assessment") for key, _ in group.entries):
        return False
    if keys & _STATE and keys & _REPORT:
        return True
    inner = [value for key, value in group.entries if (key or "").casefold() == "error" and isinstance(value, Group)]
    return any({(key or "").casefold() for key, _ in value.entries} & _REPORT for value in inner) or (
        keys == {"status"} and all(isinstance(v, Scalar) and v.text.casefold() == "error" for _, v in group.entries)
    )

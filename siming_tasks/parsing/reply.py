"""From whatever a model or its host returned to answers per step, or a named failure."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Sequence

from siming_tasks.parsing.collect import Collector, Reading
from siming_tasks.parsing.keys import ID_KEYS, key_name
from siming_tasks.parsing.model import Parsed
from siming_tasks.parsing.names import StepNames, number_in
from siming_tasks.parsing.reader import Group, Scalar
from siming_tasks.parsing.thinking import Answered, set_apart
from siming_tasks.parsing.values import fold, points, verdict
from siming_tasks.rubrics import RubricStep
from siming_tasks.schema import Answer

__all__ = ["parse_reply"]

# lmms-eval 0.7.3: models/chat/openai.py, async_openai.py, gemini.py; the last when a choice has no content.
_FAILED = re.compile(r"\s*\[LMMS_EVAL_(?:REQUEST_FAILED|BUDGET_EXCEEDED)")
_FAILED_UNLESS_READ = re.compile(r"\s*Error: |.*Error: can only concatenate str ", re.DOTALL)
_REFUSED = re.compile(
    r"""\b i\s?(?:'m|am) \s (?:sorry|unable|not\ able|not\ comfortable) \b | \b i \s apologi[sz]e \b | \b as\ an\ ai \b
      | \b (?:i|we) \s (?:can\s?not|can't|could\ not|couldn't|will\ not|won't|do(?:n't|\ not)\ have|must\ decline) \b
      | \b (?:unable|not\ able)\ to\ (?:assess|evaluate|view|access|score|judge|determine|process|provide|see|watch) \b
      | 抱歉 | 对不起 | 无法 | 不能(?:提供|评估|评分|判断|回答|协助)""",
    re.VERBOSE | re.IGNORECASE,
)
_BARE = re.compile(
    r"""[*_`'"]* (?P<title> (?:the\ )?(?:final\ )?(?:score|points?|verdict|answer|result|得分|分数|评分|判断|答案|结论)
        [*_`'"]* \s? (?: is\b | 为 | 是 | [:：=] ) [\s*_`'":：=]* )? (?P<value>.{1,40})""",
    re.VERBOSE | re.IGNORECASE,
)
_BOXED = re.compile(r"\$*\\boxed\{(?:\\text\{)?([^{}]*)\}*\$*\.?")
_FENCE = re.compile(r"(?:```|~~~)[\w+-]*")
_UNCLEAR_ALONE = ("true", "false", "error")


def parse_reply(reply: object, steps: Sequence[RubricStep], answer: Answer) -> Parsed:
    """Read a raw reply against the steps that were asked.

    Nothing is guessed: a step whose answer is absent, ambiguous, contradicted, cut off or off its scale is missing,
    with the reason. The last complete JSON value that speaks of asked steps counts, after the last thinking block.
    Takes anything, never raises, takes time linear in the reply's length.

    Args:
        reply: what the host handed over: text, bytes, None, a list with one text, already parsed JSON, ...
        steps: the asked steps in the order in which the prompt named them; one for a clip.
        answer: "score" for points, "error" for a correct/incorrect verdict.

    Example:
        >>> from siming_tasks.rubrics import default_rubric
        >>> asked = default_rubric().steps[:3]
        >>> parsed = parse_reply('Sure! {"scores": {"CPR-01": "2/2", "cpr_02": 9, "cpr_03": 1', asked, "score")
        >>> parsed.status, parsed.answers, parsed.missing
        ('truncated', {'cpr_01': 2.0}, {'cpr_02': 'off_scale', 'cpr_03': 'cut_off'})
    """
    text = _text_of(reply)
    if not text.strip():
        return _parsed("empty", steps, {})
    if _FAILED.match(text):
        return _parsed("request_failed", steps, {})
    answered = set_apart(text)
    readings, cut = _readings(answered, steps, answer)
    if not readings and len(text) < 2000 and _FAILED_UNLESS_READ.match(text):
        return _parsed("request_failed", steps, {})
    return _parsed(_status(answered, readings, steps, cut), steps, readings)


def _text_of(reply: object) -> str:
    """The reply as text; "" for None."""
    if isinstance(reply, list | tuple) and len(reply) <= 1:
        reply = reply[0] if reply else None
    if isinstance(reply, bytes | bytearray):
        reply = bytes(reply).decode("utf-8", errors="replace")
    if isinstance(reply, str):
        return _once_more(str.__str__(reply).lstrip("\ufeff"))
    if reply is None:
        return ""
    try:
        return json.dumps(reply, ensure_ascii=False)
    except (TypeError, ValueError, RecursionError):
        return "<no text>"


def _once_more(text: str) -> str:
    r"""Undo one JSON encoding too many: ``"{\"score\": 2}"``."""
    if text[:1] == text[-1:] == '"' and "{" in text[:8]:
        try:
            return str(json.loads(text, strict=False))
        except (ValueError, RecursionError):
            return text
    return text


def _readings(answered: Answered, steps: Sequence[RubricStep], answer: Answer) -> tuple[dict[str, Reading], bool]:
    """Readings per step id, and whether the text ends inside a JSON value.

    Of several complete values the last counts; those before it are joined as long as they speak of other steps (one
    object per step or per skill). A value cut off by the end of the text is joined likewise, or counts instead if it
    says more than the complete ones.
    """
    collector = Collector(StepNames(steps, set(_numbers(answered.groups))), answer)
    complete: list[dict[str, Reading]] = []
    partial: dict[str, Reading] = {}
    cut = False
    for group in answered.groups:
        if group.closed and not group.entries:
            continue
        starts_line, ends_line = _alone(answered.text, group)
        found = collector.mentions(group, alone=starts_line and ends_line)
        if group.closed:
            complete.append(found)
        else:
            partial, cut = found, group.bracket == "{" or starts_line or any(inner.keyed for inner in group.groups)
    readings: dict[str, Reading] = {}
    for found in reversed(complete):
        if readings.keys() & found.keys():
            break
        readings |= found
    if not readings.keys() & partial.keys():
        readings |= partial
    elif _count(partial.values()) > _count(readings.values()):
        readings = partial
    if not readings and len(steps) == 1:
        readings = _bare(answered.text, steps[0], answer)
    return readings, cut


def _count(readings: Iterable[Reading]) -> int:
    return sum(isinstance(reading, float) for reading in readings)


def _numbers(groups: Iterable[Group]) -> Iterator[str]:
    """The numbers that a reply uses as keys, or to say which step an object is about."""
    for group in groups:
        for key, value in group.entries:
            name = value.text if isinstance(value, Scalar) and key_name(key) in ID_KEYS else key
            if name is not None and (number := number_in(name)) is not None:
                yield number
        yield from _numbers(group.groups)


def _alone(text: str, group: Group) -> tuple[bool, bool]:
    """Whether a bracket begins its line, but for a title, and whether it ends it. ``[0, 3]`` in prose does neither."""
    before = text[max(0, group.start - 80) : group.start].rpartition("\n")[2].strip()
    after = text[group.end : group.end + 80].partition("\n")[0].strip()
    return not before or before[-1] in ":：=`", not after.strip("`.。;")


def _bare(text: str, step: RubricStep, answer: Answer) -> dict[str, Reading]:
    r"""The whole reply is one number or one verdict, perhaps with a title: ``2``, ``Score: 2/3``, ``\boxed{2}``."""
    text = _FENCE.sub("", text[:400]).strip() if len(text) < 400 else ""
    boxed = _BOXED.fullmatch(text)
    match = _BARE.fullmatch(boxed[1] if boxed else text)
    if match is None:
        return {}
    value = match["value"]
    if answer == "score":
        reading = points(value, step.max_score)
    else:
        unclear = match["title"] is None and fold(value).startswith(_UNCLEAR_ALONE)
        reading = "unreadable" if unclear else verdict(value)
    return {step.id: reading} if isinstance(reading, float) or reading == "off_scale" else {}


def _status(answered: Answered, readings: dict[str, Reading], steps: Sequence[RubricStep], cut: bool) -> str:
    """The status of a reply; of several that hold, the first in the table of :data:`STATUSES`."""
    answers = _count(readings.values())
    reasons = set(readings.values())
    if answers == len(steps):
        return "ok"
    if answered.unfinished or cut or "cut_off" in reasons:
        return "truncated"
    if "off_scale" in reasons:
        return "off_scale"
    if not answers and _REFUSED.search(answered.text[:4000]):
        return "refused"
    if reasons & {"conflict", "unreadable"}:
        return "bad_json"
    if readings or any(map(_is_json, answered.groups)):
        return "wrong_keys"
    return "bad_json" if "{" in answered.text else "no_json"


def _is_json(group: Group) -> bool:
    return group.keyed or (group.bracket == "{" and group.closed) or any(inner.keyed for inner in group.groups)


def _parsed(status: str, steps: Sequence[RubricStep], readings: dict[str, Reading]) -> Parsed:
    said = {step.id: readings.get(step.id, "absent") for step in steps}
    answers = {step_id: reading for step_id, reading in said.items() if isinstance(reading, float)}
    return Parsed(
        status, answers, {step_id: str(reading) for step_id, reading in said.items() if step_id not in answers}
    )

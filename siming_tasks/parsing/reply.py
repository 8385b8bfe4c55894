"""From whatever a model or its host returned to answers per step, or a named failure."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from numbers import Number

from siming_tasks.parsing.collect import Collector, Reading
from siming_tasks.parsing.model import Parsed
from siming_tasks.parsing.names import StepNames
from siming_tasks.parsing.reader import Group
from siming_tasks.parsing.thinking import Answered, set_apart
from siming_tasks.parsing.values import points, verdict
from siming_tasks.rubrics.model import RubricStep
from siming_tasks.schema import Answer

__all__ = ["MAX_CHARS", "parse_reply"]

MAX_CHARS = 500_000
"""Longer replies are read from the end: more than any model's longest answer, little enough to read in a second."""

_FAILED = re.compile(r"\[LMMS_EVAL_[A-Z_]+|Error: can only concatenate str|Error: ")
_REFUSED = re.compile(
    r"""\b(?: i \s* (?:'m|am) \s+ (?:sorry|unable|not\ able|not\ comfortable) | i \s+ apologi[sz]e | as\ an\ ai\b
          | (?:i|we) \s+ (?:can\s?not|can't|could\ not|couldn't|will\ not|won't|do\ not\ have|don't\ have|must\ decline)
          | unable\ to\ (?:assess|evaluate|view|access|score|judge|determine|process|provide|see|watch|assist|help)
          | not\ able\ to\ (?:assess|evaluate|view|access|score|judge|determine|process|provide|see|watch|assist|help)
        ) | 抱歉 | 对不起 | 无法 | 不能(?:提供|评估|评分|判断|回答|协助)""",
    re.VERBOSE | re.IGNORECASE,
)
_BARE = re.compile(
    r"""[\s*_`'"]* (?: (?:the\ )?(?:final\ )?(?:score|points?|verdict|answer|result|得分|分数|评分|判断|答案|结论)
        [\s*_`'"]* (?:is\b|为|是|[:：=])? )? (?P<value>.{1,40}) """,
    re.VERBOSE | re.IGNORECASE,
)
_FENCE = re.compile(r"```[\w+-]*|~~~[\w+-]*")


def parse_reply(reply: object, steps: Sequence[RubricStep], answer: Answer) -> Parsed:
    """Read a raw reply against the steps that were asked.

    Nothing is guessed: a step whose answer is absent, ambiguous, contradicted, cut off or off its scale is missing,
    with the reason. Takes anything, never raises, and takes time linear in the reply's length.

    Args:
        reply: what the host handed over: text, bytes, None, a list with one text, already parsed JSON, ...
        steps: the asked steps in the order in which the prompt named them; one for a clip.
        answer: "score" for points, "error" for a correct/incorrect verdict.
    """
    text = _text_of(reply)
    if not text.strip():
        return _failed("empty", steps)
    if _FAILED.match(text.lstrip()[:200]):
        return _failed("request_failed", steps)
    answered = set_apart(text)
    readings, cut = _readings(answered, steps, answer)
    answers = {s.id: float(r) for s in steps if isinstance(r := readings.get(s.id), float)}
    missing = {s.id: str(readings.get(s.id, "absent")) for s in steps if s.id not in answers}
    if not missing:
        return Parsed("ok", answers, missing)
    return Parsed(_status(answered, cut, answers, missing), answers, missing)


def _text_of(reply: object) -> str:
    """The reply as text, its last ``MAX_CHARS`` characters; "" for None and what cannot be text."""
    if isinstance(reply, list | tuple) and len(reply) == 1 and isinstance(reply[0], str | bytes | None):
        reply = reply[0]
    if isinstance(reply, str):
        return str.__str__(reply)[-MAX_CHARS:]
    if isinstance(reply, bytes | bytearray):
        return bytes(reply)[-4 * MAX_CHARS :].decode("utf-8", errors="replace")[-MAX_CHARS:]
    if reply is None:
        return ""
    try:
        return json.dumps(reply, ensure_ascii=False)[-MAX_CHARS:]
    except (TypeError, ValueError, RecursionError):
        return str(reply)[-MAX_CHARS:] if isinstance(reply, Number) else "<unreadable>"


def _readings(answered: Answered, steps: Sequence[RubricStep], answer: Answer) -> tuple[dict[str, Reading], bool]:
    """Readings per step id, and whether the text ends inside a JSON object.

    The last complete JSON value that speaks of asked steps counts. Earlier ones are joined to it as long as they
    speak of other steps (one object per step or per skill); a last, cut-off one counts if it adds to them or says more.
    """
    collector = Collector(StepNames(steps), answer)
    complete: list[dict[str, Reading]] = []
    partial: dict[str, Reading] = {}
    cut = False
    for group in answered.groups:
        found = collector.mentions(group, alone=_alone(answered.text, group))
        if group.closed:
            complete.append(found)
        else:
            partial, cut = found, any(key is not None for key, _ in group.entries)
    readings: dict[str, Reading] = {}
    for found in reversed(complete):
        if readings.keys() & found.keys():
            break
        readings.update(found)
    if not readings.keys() & partial.keys():
        readings = partial | readings
    elif _answers(partial) > _answers(readings):
        readings = partial
    if not readings and len(steps) == 1:
        readings = _bare(answered.text, steps[0], answer)
    return readings, cut


def _answers(readings: dict[str, Reading]) -> int:
    return sum(isinstance(reading, float) for reading in readings.values())


def _alone(text: str, group: Group) -> bool:
    """Whether a bracket has its lines for itself, but for a title: a bare list in the middle of prose is no answer."""
    before = text[max(0, group.start - 80) : group.start].rpartition("\n")[2].strip()
    after = text[group.end : group.end + 80].partition("\n")[0].strip()
    return (not before or before.endswith((":", "：", "=", "`"))) and after.strip("`.。;") == ""


def _bare(text: str, step: RubricStep, answer: Answer) -> dict[str, Reading]:
    """The whole reply is one number or one verdict, perhaps with a title: ``2``, ``Score: 2/3``, ``Incorrect.``"""
    text = _FENCE.sub("", text[:400]).strip() if len(text) <= 400 else ""
    boxed = re.fullmatch(r"\$*\\boxed\{([^{}]*)\}\$*\.?", text)
    match = _BARE.fullmatch(boxed[1] if boxed else text)
    if match is None:
        return {}
    reading: Reading = points(match["value"], step.max_score) if answer == "score" else verdict(match["value"])
    if answer == "error" and match["value"].strip(" .*").casefold() in ("true", "false"):
        return {}
    return {step.id: reading} if isinstance(reading, float) or reading == "off_scale" else {}


def _status(answered: Answered, cut: bool, answers: dict[str, float], missing: dict[str, str]) -> str:
    """The most telling status of an incomplete reply; the order is that of the table in ``model``."""
    reasons = set(missing.values())
    if answered.unfinished or cut or "cut_off" in reasons:
        return "truncated"
    if "off_scale" in reasons:
        return "off_scale"
    if reasons & {"conflict", "unreadable"} and not (not answers and _REFUSED.search(answered.text[:4000])):
        return "bad_json"
    if not answers and _REFUSED.search(answered.text[:4000]):
        return "refused"
    if answers or any(group.closed and any(key is not None for key, _ in group.entries) for group in answered.groups):
        return "wrong_keys"
    return "bad_json" if "{" in answered.text else "no_json"


def _failed(status: str, steps: Sequence[RubricStep]) -> Parsed:
    return Parsed(status, {}, {step.id: "absent" for step in steps})

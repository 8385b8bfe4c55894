"""Reader of replies: whatever a model or lmms-eval returned becomes answers per step, or a named failure."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from siming_tasks.common.schema import Answer
from siming_tasks.parsing.answer_text import Answered, first_turn, set_apart
from siming_tasks.parsing.bracket_roles import bracket_role, stands_alone
from siming_tasks.parsing.json_answers import Collector, Reading
from siming_tasks.parsing.keys import key_of
from siming_tasks.parsing.lenient_json import Group, Scalar
from siming_tasks.parsing.normalize import strip_invisible
from siming_tasks.parsing.parsed_reply import ABSTAINED, BUDGET_MARKER, FAILURE_MARKER, Parsed
from siming_tasks.parsing.refusals import is_failure, is_placeholder, is_refusal
from siming_tasks.parsing.step_details import StepDetail, read_step_details
from siming_tasks.parsing.step_matching import StepNames, number_in
from siming_tasks.parsing.text_answers import read_text_answers
from siming_tasks.rubrics import RubricStep

__all__ = ["parse_reply"]

# lmms-eval 0.7.3: models/chat/openai.py, async_openai.py, gemini.py (a choice without content: _FAILED_UNLESS_READ);
# models/simple/llava_vid.py and oryx.py; llava_onevision_moviechat.py.
_FAILED = re.compile(
    rf"\s*(?:{re.escape(FAILURE_MARKER)}|{re.escape(BUDGET_MARKER)}"
    r"|Video\s[^{}]{0,2000}\s(?:can\snot\sload|generate\sfailed),\scheck\sthe\ssource\s*\Z"
    r"|Can\snot\sinfer\sthe\sanswer\.\s*\Z)"
)
_BLOCKED = "[SAFETY_BLOCKED"
"""Beginning of the text in which models/simple/gemini.py reports that the service refused to answer."""
_GAP = re.compile(r"[ \t\r,;]*\n?[ \t\r]*")
"""Between brackets that belong together: one object per line."""
_FAILED_UNLESS_READ = re.compile(r"\s*Error: |.*Error: can only concatenate str ", re.DOTALL)


def parse_reply(
    reply: object,
    steps: Sequence[RubricStep],
    answer: Answer,
    *,
    abstain: bool = False,
    details: Mapping[str, StepDetail] | None = None,
) -> Parsed:
    """Read a raw reply against the steps that were asked.

    Nothing is guessed: a step whose answer is absent, ambiguous, contradicted, cut off or off its scale is missing,
    with the reason. What counts is in :mod:`siming_tasks.parsing.grammar`. Takes anything, never raises, takes time
    linear in the reply's length.

    Args:
        reply: what the host handed over: text, bytes, None, a list with one text, already parsed JSON, ...
        steps: the asked steps in the order in which the prompt named them; one for a clip.
        answer: "score" for points, "error" for a correct/incorrect verdict.
        abstain: the reply may call a step not visible.
        details: what else the reply was asked to state of every step, by the name that the result has it under.

    Example:
        >>> from siming_tasks.rubrics import default_rubric
        >>> asked = default_rubric().steps[:3]
        >>> parsed = parse_reply('Sure! {"scores": {"CPR-01": "2/2", "cpr_02": 9, "cpr_03": 1', asked, "score")
        >>> parsed.status, parsed.answers, parsed.missing
        ('truncated', {'cpr_01': 2.0}, {'cpr_02': 'off_scale', 'cpr_03': 'cut_off'})
    """
    text = strip_invisible(_text_of(reply))
    if not text.strip():
        return _parsed("empty", steps, {})
    if _FAILED.match(text):
        return _parsed("request_failed", steps, {})
    if text.lstrip().startswith(_BLOCKED):
        return _parsed("refused", steps, {})
    answered = set_apart(first_turn(text))
    names = StepNames(steps, set(_numbers(answered.groups)))
    readings, cut = _readings(answered, names, answer, abstain)
    if not readings and (any(map(is_failure, answered.groups)) or _is_failure(text)):
        return _parsed("request_failed", steps, {})
    parsed = _parsed(_status(answered, readings, steps, cut), steps, readings)
    stated = {name: read_step_details(answered.groups, names, detail) for name, detail in (details or {}).items()}
    return replace(parsed, details=stated)


def _is_failure(text: str) -> bool:
    return len(text) < 2000 and _FAILED_UNLESS_READ.match(text) is not None


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


def _readings(answered: Answered, names: StepNames, answer: Answer, abstain: bool) -> tuple[dict[str, Reading], bool]:
    """Readings per step id, and whether the text ends inside a JSON value.

    Brackets that speak of different steps are joined (one object per step or per skill). Two that answer one step
    differently make it ambiguous, unless the later is called a revision or the earlier a draft.
    """
    steps = names.steps
    collector = Collector(names, answer, abstain)
    readings: dict[str, Reading] = {}
    drafts: set[str] = set()
    cut, previous, role = False, 0, "answer"
    for group in answered.groups:
        if previous == 0 or _GAP.fullmatch(answered.text, previous, group.start) is None:
            role = bracket_role(answered.text, group, previous, names)
        previous = group.end
        if (group.closed and not group.entries) or is_failure(group):
            continue
        if not group.closed:
            cut = group.bracket == "{" or _starts_line(answered.text, group) or any(g.keyed for g in group.groups)
        listed = group.bracket == "[" and not readings and stands_alone(answered.text, group, len(steps))
        if role == "aside" or not (listed or group.keyed or group.groups):
            continue
        in_bracket = collector.read_bracket(group, stands_alone=listed)
        for step_id, reading in in_bracket.items():
            if role == "revision" or step_id in drafts or step_id not in readings:
                readings[step_id] = reading
                drafts.discard(step_id)
            else:
                readings[step_id] = _joined(readings[step_id], reading)
        drafts |= in_bracket.keys() if role == "draft" else set()
    readings |= dict.fromkeys(drafts, "ambiguous")
    if not any(map(_tells, readings.values())):
        readings |= read_text_answers(answered.text, names, answer, abstain)
    if answered.unread or is_placeholder(answered.text, readings, steps, answer):
        readings = {name: "ambiguous" if _tells(reading) else reading for name, reading in readings.items()}
    return readings, cut


def _tells(reading: Reading) -> bool:
    return isinstance(reading, float) or reading == ABSTAINED


def _joined(earlier: Reading, later: Reading) -> Reading:
    """One reading out of two brackets'."""
    if earlier == later or later in ("absent", "unreadable", "cut_off"):
        return earlier
    return later if earlier in ("absent", "unreadable", "cut_off") else "ambiguous"


def _numbers(groups: Iterable[Group]) -> Iterator[str]:
    """The numbers that a reply uses as keys, or to say which step an object is about."""
    for group in groups:
        for key, value in group.entries:
            names_step = isinstance(value, Scalar) and key_of(key).family.name == "step"
            name = value.text if names_step and isinstance(value, Scalar) else key
            if name is not None and (number := number_in(name)) is not None:
                yield number
        yield from _numbers(group.groups)


def _starts_line(text: str, group: Group) -> bool:
    """Test whether a bracket begins its line, but for a title."""
    before = text[max(0, group.start - 80) : group.start].rpartition("\n")[2].strip()
    return not before or before[-1] in ":：=`"


def _count(readings: Iterable[Reading]) -> int:
    return sum(isinstance(reading, float) for reading in readings)


def _status(answered: Answered, readings: dict[str, Reading], steps: Sequence[RubricStep], cut: bool) -> str:
    """The status of a reply; of several that hold, the first in the table of :data:`STATUSES`."""
    answers = _count(readings.values())
    reasons = set(readings.values())
    if answers == len(steps):
        return "ok"
    if answers + sum(reading == ABSTAINED for reading in readings.values()) == len(steps):
        return ABSTAINED
    if answered.unfinished or cut or "cut_off" in reasons:
        return "truncated"
    if "off_scale" in reasons:
        return "off_scale"
    if not answers and is_refusal(answered.text):
        return "refused"
    if reasons & {"conflict", "unreadable", "ambiguous"}:
        return "bad_json"
    if readings or any(map(_is_json, answered.groups)):
        return "wrong_keys"
    return "bad_json" if "{" in answered.text else "no_json"


def _is_json(group: Group) -> bool:
    return group.keyed or (group.bracket == "{" and group.closed) or any(inner.keyed for inner in group.groups)


def _parsed(status: str, steps: Sequence[RubricStep], readings: dict[str, Reading]) -> Parsed:
    by_step = {step.id: readings.get(step.id, "absent") for step in steps}
    answers = {step_id: reading for step_id, reading in by_step.items() if isinstance(reading, float)}
    abstained = tuple(step_id for step_id, reading in by_step.items() if reading == ABSTAINED)
    rest = by_step.keys() - answers.keys() - set(abstained)
    return Parsed(status, answers, {name: str(reading) for name, reading in by_step.items() if name in rest}, abstained)

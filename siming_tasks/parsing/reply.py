"""Reader of replies: whatever a model or lmms-eval returned becomes answers per step, or a named failure."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from siming_tasks.common.schema import Answer
from siming_tasks.parsing.answer_text import Answered, first_turn, set_apart
from siming_tasks.parsing.bracket_roles import bracket_role, named_scales, stands_alone
from siming_tasks.parsing.grammar import key_of
from siming_tasks.parsing.json_answers import Collector, Reading
from siming_tasks.parsing.lenient_json import Group, Scalar
from siming_tasks.parsing.lexicon import strip_invisible
from siming_tasks.parsing.parsed_reply import ABSTAINED, BLOCKED_MARKER, BUDGET_MARKER, FAILURE_MARKER, Parsed
from siming_tasks.parsing.remarks import announces_correction, bearings
from siming_tasks.parsing.step_details import StepDetail, read_step_details
from siming_tasks.parsing.step_matching import StepNames, number_in
from siming_tasks.parsing.text_answers import MAX_PLAIN, read_text_answers
from siming_tasks.rubrics import RubricStep

# lmms-eval 0.7.3: models/chat/openai.py, async_openai.py, gemini.py (a choice without content: _FAILED_UNLESS_READ);
# models/simple/llava_vid.py and oryx.py; llava_onevision_moviechat.py.
_FAILED = re.compile(
    rf"\s*(?:{re.escape(FAILURE_MARKER)}|{re.escape(BUDGET_MARKER)}"
    r"|Video\s[^{}]{0,2000}\s(?:can\snot\sload|generate\sfailed),\scheck\sthe\ssource\s*\Z"
    r"|Can\snot\sinfer\sthe\sanswer\.\s*\Z)"
)
_LONGEST = 2000
"""Characters of a passage that is handed on."""
_NO_ANSWER = ("absent", "unreadable", "cut_off")
_GAP = re.compile(r"[ \t\r,;]*\n?[ \t\r]*")  # between brackets that belong together: one object per line
_SHARE = re.compile(r"(?<![0-9.])0?\.[0-9]+")
_FAILED_UNLESS_READ = re.compile(r"\s*Error: |.*Error: can only concatenate str ", re.DOTALL)

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
    if text.lstrip().startswith(BLOCKED_MARKER):
        return _parsed("refused", steps, {})
    answered = set_apart(first_turn(text))
    names = StepNames(steps, set(_numbers(answered.groups)))
    readings, cut, passages = _readings(answered, names, answer, abstain)
    reported = any(map(_is_failure, answered.groups)) or (len(text) < 2000 and _FAILED_UNLESS_READ.match(text))
    if not readings and reported:
        return _parsed("request_failed", steps, {})
    parsed = _parsed(_status(answered, readings, steps, cut), steps, readings)
    stated = {name: read_step_details(answered.groups, names, detail) for name, detail in (details or {}).items()}
    return replace(parsed, details=stated, deciding=tuple(dict.fromkeys(filter(None, passages))))


def _text_of(reply: object) -> str:
    """The reply as text; "" for None."""
    if isinstance(reply, list | tuple) and len(reply) <= 1:
        reply = reply[0] if reply else None
    if isinstance(reply, bytes | bytearray):
        reply = bytes(reply).decode("utf-8", errors="replace")
    if reply is None:
        return ""
    try:
        if not isinstance(reply, str):
            return json.dumps(reply, ensure_ascii=False)
    except (TypeError, ValueError, RecursionError):
        return "<no text>"
    text = str.__str__(reply).lstrip("\ufeff")
    if text[:1] == text[-1:] == '"' and "{" in text[:8]:
        try:  # one JSON encoding too many: "{\"score\": 2}"
            return str(json.loads(text, strict=False))
        except (ValueError, RecursionError):
            pass
    return text


def _readings(
    answered: Answered, names: StepNames, answer: Answer, abstain: bool
) -> tuple[dict[str, Reading], bool, list[str]]:
    """Readings per step id, whether the text ends inside a JSON value, and the passages that decided against an answer.

    Brackets that speak of different steps are joined (one object per step or per skill). Two that answer one step
    differently make it ambiguous, unless the later is called a revision or the earlier a draft.
    """
    text, steps = answered.text, names.steps
    collector = Collector(names, answer, abstain)
    readings: dict[str, Reading] = {}
    drafts: dict[str, str] = {}  # step id -> the words that call its answer a draft
    passages: list[str] = []
    cut, is_corrected, previous, answered_to, role, label = False, False, 0, 0, "answer", ""
    for group in answered.groups:
        if previous == 0 or _GAP.fullmatch(text, previous, group.start) is None:
            role, label = bracket_role(text, group, previous, names)
            is_corrected |= bool(readings) and announces_correction(text[previous : group.start])
            role = "revision" if role == "answer" and is_corrected else role
        last, previous = previous, group.end
        if (group.closed and not group.entries) or _is_failure(group):
            continue
        if not group.closed:
            # A list counts as JSON if it begins its line, but for a title.
            before = text[max(0, group.start - 80) : group.start].rpartition("\n")[2].strip()
            begins_line = not before or before[-1] in ":：=`"
            cut = group.bracket == "{" or begins_line or any(g.keyed for g in group.groups)
        listed = group.bracket == "[" and not readings and stands_alone(text, group, len(steps))
        if role == "aside" or not (listed or group.keyed or group.groups):
            passages += [label] if role == "aside" and group.keyed else []
            continue
        in_bracket = collector.read_bracket(group, stands_alone=listed)
        if scale := _other_scale(in_bracket, text, group, last, names, answer):
            passages.append(scale)
            in_bracket = {name: _doubted(reading) for name, reading in in_bracket.items()}
        for step_id, reading in in_bracket.items():
            if role == "revision" or step_id in drafts or step_id not in readings:
                readings[step_id] = reading
                drafts.pop(step_id, None)
            elif readings[step_id] in _NO_ANSWER:
                readings[step_id] = reading if reading not in _NO_ANSWER else readings[step_id]
            elif reading != readings[step_id] and reading not in _NO_ANSWER:
                readings[step_id] = "ambiguous"
                passages.append(_passage(text, group))
        answered_to, is_corrected = (group.end, False) if in_bracket else (answered_to, is_corrected)
        drafts |= dict.fromkeys(in_bracket, label) if role == "draft" else {}
    readings |= dict.fromkeys(drafts, "ambiguous")
    passages += drafts.values()
    in_json = {**readings} if any(map(_tells, readings.values())) else {}
    if not in_json:
        readings |= read_text_answers(text, names, answer, abstain)
    if answered.unread:
        readings = {name: _doubted(reading) for name, reading in readings.items()}
    for bearing in bearings(text, answered.groups, readings, names, answer, answered_to):
        made = dict.fromkeys(readings, bearing.readings) if isinstance(bearing.readings, str) else bearing.readings
        changed = {name: reading for name, reading in made.items() if _tells(readings.get(name, "absent"))}
        readings |= changed
        passages += [bearing.passage] if changed else []
    for passage, doubted in _said_otherwise(text, answered.groups, in_json, readings, names, answer):
        passages.append(passage)
        readings |= dict.fromkeys(doubted, "ambiguous")
    if refusal := _placeholder(text, readings, steps, answer):
        passages.append(refusal)
        readings = {name: _doubted(reading) for name, reading in readings.items()}
    return readings, cut, passages


def _said_otherwise(
    text: str,
    groups: Sequence[Group],
    in_json: Mapping[str, Reading],
    readings: Mapping[str, Reading],
    names: StepNames,
    answer: Answer,
) -> Iterator[tuple[str, list[str]]]:
    """Prose beside brackets that answer, read as a reply without JSON is, with the steps that it answers otherwise.

    What stands before the brackets is compared with their answers, what stands behind them with the corrected ones.
    """
    read = [group for group in groups if group.closed and group.entries]
    if not read or not in_json:
        return
    before, behind = text[: read[0].start][-MAX_PLAIN:], text[read[-1].end :][:MAX_PLAIN]
    for prose, known in ((before, in_json), (behind, readings)):
        said = read_text_answers(prose, names, answer) if prose.strip() else {}
        told = {name for name in said if isinstance(said[name], float) and isinstance(known.get(name), float)}
        if otherwise := [name for name in said if name in told and said[name] != known[name]]:
            yield prose.strip()[:_LONGEST], otherwise


def _doubted(reading: Reading) -> Reading:
    return "ambiguous" if _tells(reading) else reading


def _passage(text: str, group: Group) -> str:
    """The beginning of a bracket as written."""
    return text[group.start : min(group.end if group.closed else len(text), group.start + _LONGEST)]


def _other_scale(
    readings: Mapping[str, Reading], text: str, group: Group, previous: int, names: StepNames, answer: Answer
) -> str:
    """The words around points, or the share of 1, that show another maximum than the steps'; "" if none do."""
    if answer != "score":
        return ""
    tops = {step.id: step.max_score for step in names.steps}
    own = {tops[name] for name in readings}
    total = sum(tops.values())
    for words, top in named_scales(text, group, previous):
        if own != {top} and top != total:
            return words
    told = [reading for reading in readings.values() if isinstance(reading, float)]
    shares = "off_scale" in readings.values() and len(told) > 0 and max(told) <= 1
    share = _SHARE.search(text, group.start, group.end if group.closed else len(text)) if shares else None
    return share[0] if share else ""


def _tells(reading: Reading) -> bool:
    return isinstance(reading, float) or reading == ABSTAINED


def _placeholder(text: str, readings: Mapping[str, Reading], steps: Sequence[RubricStep], answer: Answer) -> str:
    """The words of a refusal beside answers that are all the same, or full marks (a placeholder); else ""."""
    answered = {name: reading for name, reading in readings.items() if isinstance(reading, float)}
    refusal = _refusal(text)
    if len(answered) < len(steps) or not refusal:
        return ""
    tops = {step.id: step.max_score for step in steps}
    same = len(set(answered.values())) == 1 if answer == "error" else not any(answered.values())
    return refusal if same or (answer == "score" and answered == tops) else ""


def _refusal(text: str) -> str:
    """The words of a refusal, as written; "" if there are none."""
    found = _REFUSED.search(text[:4000].replace("’", "'"))
    return text[found.start() : found.end()] if found else ""


def _is_failure(group: Group) -> bool:
    """Test whether an object is a service's report that a request failed: ``{"status": "error", "message": ...}``."""
    if group.bracket != "{" or not group.keyed:
        return False
    keys = {(key or "").strip().casefold().replace(" ", "_") for key, _ in group.entries}
    if any(key_of(key).family.name in ("points", "verdict", "correct?", "assessment") for key, _ in group.entries):
        return False
    if keys & _STATE and keys & _REPORT:
        return True
    if keys == {"status"} and all(isinstance(v, Scalar) and v.text.casefold() == "error" for _, v in group.entries):
        return True
    inner = [value for key, value in group.entries if (key or "").casefold() == "error" and isinstance(value, Group)]
    return any({(key or "").casefold() for key, _ in value.entries} & _REPORT for value in inner)


def _numbers(groups: Iterable[Group]) -> Iterator[str]:
    """The numbers that a reply uses as keys, or to say which step an object is about."""
    for group in groups:
        for key, value in group.entries:
            names_step = isinstance(value, Scalar) and key_of(key).family.name == "step"
            name = value.text if names_step and isinstance(value, Scalar) else key
            if name is not None and (number := number_in(name)) is not None:
                yield number
        yield from _numbers(group.groups)


def _status(answered: Answered, readings: dict[str, Reading], steps: Sequence[RubricStep], cut: bool) -> str:
    """The status of a reply; of several that hold, the first in the table of :data:`STATUSES`."""
    answers = sum(isinstance(reading, float) for reading in readings.values())
    reasons = set(readings.values())
    if answers == len(steps):
        return "ok"
    if answers + sum(reading == ABSTAINED for reading in readings.values()) == len(steps):
        return ABSTAINED
    if answered.unfinished or cut or "cut_off" in reasons:
        return "truncated"
    if "off_scale" in reasons:
        return "off_scale"
    if "unseen" in reasons:
        return "unseen"
    if not answers and _refusal(answered.text):
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

"""Reader of replies: whatever a model or lmms-eval returned becomes an answer for each step, or a named reason.

Thinking is set aside. JSON objects with the requested keys are read in order; a later answer to a step replaces an
earlier one. Where there are none: one ``id: value`` per line, table row or headed block, the last one of a step
counting; else, about one step, a value that begins the reply or ends it after a title. A value counts only on the asked
scale. What stands around JSON does not matter, but for two short lists of words that begin a line.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace

from siming_tasks.benchmark.parsing.json_answers import read_answers
from siming_tasks.benchmark.parsing.json_values import read_json
from siming_tasks.benchmark.parsing.parsed_reply import ABSTAINED, BLOCKED_MARKER, BUDGET_MARKER, FAILURE_MARKER, Parsed
from siming_tasks.benchmark.parsing.step_details import StepDetail, read_step_details
from siming_tasks.benchmark.parsing.steps import MEASURE, Reading, StepNames, fold
from siming_tasks.benchmark.parsing.text_answers import read_text
from siming_tasks.benchmark.rubrics import RubricStep
from siming_tasks.benchmark.types import ANSWERS, Answer
from siming_tasks.common.errors import OptionsError

MAX_REPLY = 100_000
"""Characters at the end of a reply that are read: more than models write."""

_ESCAPED = re.compile(r"\{(?:\s|\\n)*\\\"")
MAX_CORRECTION = 300
"""Characters behind "Correction:" on a line of its own that may name steps."""
_UNSEEN = re.compile("[\u00ad\u200b-\u200f\u2060-\u2064\ufeff]")  # characters without width

# lmms-eval 0.7.3: chat/openai.py, async_openai.py, gemini.py; llava_vid.py, oryx.py, llava_onevision_moviechat.py
_FAILED = re.compile(
    rf"\s*(?:{re.escape(FAILURE_MARKER)}|{re.escape(BUDGET_MARKER)}"
    r"|Video\s[^{}]{0,2000}\s(?:can\snot\sload|generate\sfailed),\scheck\sthe\ssource\s*\Z"
    r"|Can\snot\sinfer\sthe\sanswer\.\s*\Z)"
)
_WORD = r"(?:[a-z]{1,16}[:_])?(?:think|thinking|thoughts?|reasoning|reflection|analysis|scratchpad)"
_CLOSE = re.compile(
    rf"</\|?{_WORD}\|?>|<\|/{_WORD}\|?>|<\|end_(?:of_)?(?:thought|thinking|reasoning)\|>|\[/THINK(?:ING)?\]|◁/{_WORD}▷"
    r"|<unused95>|<\|channel\|>\s{0,4}final[^<]{0,64}<\|message\|>|assistantfinal",
    re.IGNORECASE,
)
_OPEN = re.compile(
    rf"<\|?{_WORD}\|?>|<\|(?:begin_of_|start_)(?:thought|thinking|reasoning)\|>|\[THINK(?:ING)?\]|◁{_WORD}▷"
    r"|<unused94>thought|<\|channel\|>\s{0,4}(?:analysis|commentary)[^<]{0,64}<\|message\|>",
    re.IGNORECASE,
)
_STRAY = re.compile(rf"(?<=[}}`])\s*(?:{_CLOSE.pattern})\s*\Z", re.IGNORECASE)
"""The end of a thinking that never began, with nothing behind it but JSON before it."""
_END_OF_TURN = re.compile(
    r"<\|(?:im_start|im_end|eot_id|eom_id|start_header_id|endoftext|end_of_text|user|assistant|return|eos)\|>"
    r"|<\|(?:START|END)_OF_TURN_TOKEN\|>|</s>|<(?:start|end)_of_turn>|<eos>|\[/?INST\]|\[UNUSED_TOKEN_14[56]\]"
)
_NEXT_SPEAKER = re.compile(
    r"^[ \t]*(?:#{1,4}[ \t]*)?\**(?:(?:user|human|assistant|用户|助手)\**[ \t]*(?:[:：]|$)"
    r"|(?<=# )(?:instruction|user|human|input|response|question)\b)",
    re.MULTILINE | re.IGNORECASE,
)
_OWN_HEADING = re.compile(
    r"\s*(?:(?:<s>|<\|im_start\|>\s*assistant\b|<start_of_turn>\s*model\b|<\|assistant\|>"
    r"|<\|start_header_id\|>\s*assistant\s*<\|end_header_id\|>|(?:#{1,4} )?\**(?:assistant|助手)\**[ \t]*(?:[:：]|\n)"
    r"|#{1,4} response\b\s*[:：]?)\s*)+",
    re.IGNORECASE,
)


def parse_reply(
    reply: object,
    steps: Sequence[RubricStep],
    answer: Answer,
    *,
    abstain: bool = False,
    details: Mapping[str, StepDetail] | None = None,
) -> Parsed:
    """Read a raw reply against the steps that were asked.

    Nothing is guessed: a step without an answer on its scale is missing, with the reason. Takes anything as reply,
    never raises on it, takes time linear in its length.

    Args:
        reply: what the host handed over: text, bytes, None, a list with one text, already parsed JSON, ...
        steps: the asked steps in the order in which the prompt named them; one for a clip.
        answer: "score" for points, "error" for a correct/incorrect verdict.
        abstain: the reply may call a step not visible.
        details: what else the reply was asked to state of every step, by the name that the result has it under.

    Raises:
        OptionsError: there is no such kind of answer.

    Example:
        >>> from siming_tasks.benchmark.rubrics import default_rubric
        >>> asked = default_rubric().steps[:3]
        >>> parsed = parse_reply('Sure! {"scores": {"CPR-01": "2/2", "cpr_02": 9, "cpr_03": 1', asked, "score")
        >>> parsed.status, parsed.answers, parsed.missing
        ('truncated', {'cpr_01': 2.0}, {'cpr_02': 'off_scale', 'cpr_03': 'unreadable'})
    """
    if answer not in ANSWERS:
        raise OptionsError(f"answer={answer!r} is no kind of answer; there are {' and '.join(map(repr, ANSWERS))}.")
    names = StepNames(steps)
    text = _UNSEEN.sub("", _text_of(reply))
    if not text.strip() or _FAILED.match(text):
        return _parsed("request_failed" if text.strip() else "empty", names, {})
    is_error = re.match(r"\s*Error: ", text) is not None  # a host's text, or a model's where it answers something
    text, thinking = _answer_text(text)
    groups = read_json(text)
    cut_off = thinking or (bool(groups) and not groups[-1].closed)
    if groups:
        readings = read_answers(groups, names, answer, abstain)
    else:
        readings = {} if cut_off else read_text(text, names, answer, abstain)
    status = "truncated" if cut_off else ""
    if text.lstrip().startswith(BLOCKED_MARKER) or _is_refused(text, readings, steps, answer):
        readings, status = {}, "refused"
    elif is_error and not readings:
        status = "request_failed"
    else:
        taken = _taken_back(text[groups[-1].end if groups else 1 :], names)
        readings |= {name: "corrected" for name in taken if name in readings}
    stated = {name: read_step_details(groups, names, detail) for name, detail in (details or {}).items()}
    return replace(_parsed(status, names, readings), details=stated)


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
        if '{"' not in reply and _ESCAPED.search(reply):  # one JSON encoding too many: {\"score\": 2}
            return reply.replace('\\"', '"').replace("\\n", "\n")
    except (TypeError, ValueError, RecursionError):
        pass
    return reply if isinstance(reply, str) else "<no text>"


def _answer_text(reply: str) -> tuple[str, bool]:
    """Answer of the model in its first turn, without its thinking; whether the text ends inside the thinking.

    A line of another speaker within the thinking is a thought.
    """
    own = _OWN_HEADING.match(reply)
    begin = own.end() if own else 0
    if not any(mark in reply for mark in "<[◁") and "assistantfinal" not in reply.casefold():  # as in most replies
        text = reply[begin:]
        speaker = _NEXT_SPEAKER.search(text)
        return text[: speaker.start() if speaker else None][-MAX_REPLY:], False
    end = _END_OF_TURN.search(reply, begin)
    text = reply[begin : end.start() if end else None]
    thought = _CLOSE.search(text)
    if speaker := _NEXT_SPEAKER.search(text, thought.end() if thought else 0):
        text = text[: speaker.start()]
    text = text if _OPEN.search(text) else _STRAY.sub("", text)
    begin = max((tag.end() for tag in _CLOSE.finditer(text)), default=0)
    text = text[begin:][-MAX_REPLY:]
    opening = _OPEN.search(text)
    return (text[: opening.start()], True) if opening else (text, False)


# The two lists. An entry begins a line; a refusal may also begin a text within JSON, and a correction a sentence.

_MEDIA = r"(?:\w+ )?(?:videos?|clips?|images?|frames?|footage|recordings?|media|attachments?)"
_CANNOT = r"i(?: can(?:no|')t| can not| could(?:n't| not)| am (?:unable|not able) to|'m (?:unable|not able) to)"
_DO = r"(?:actually |directly )?(?:see|view|watch|access|open|play|load|process|analy[sz]e|assess|evaluate|judge|score)"
_A = r"(?:the |your |any |this |an? )?"
_SORRY = (
    r"(?:^|\":\s*\")[^\w\n]{0,20}(?:(?:(?:i'm |i am )?(?:very |so )?sorry|i apologi[sz]e|unfortunately|(?:please )?note"
    r"|it (?:seems|appears|looks)(?: like)?|since|because|as|说明|抱歉|对不起|很抱歉|由于"
    r"|作为(?:一个|一名)?(?:ai|人工智能|语言模型)[\w ]{0,10})[,:，：]?\s{0,3}(?:but |that )?)*"
)
_OVER = r"(?=\s*(?:[.,;:!\"—-]|$)| (?:provided|attached|you|directly|itself|content|from|so|because|since|as|and)\b)"
_NOT_SEEN = re.compile(
    rf"{_SORRY}(?:(?:{_CANNOT}|i (?:do|did)(?:n't| not)(?: have the ability to)?) {_DO} {_A}"
    rf"(?:{_MEDIA}|examination|exam|performance|steps?){_OVER}"
    rf"|i (?:do|did)(?:n't| not) (?:have|receive) (?:access to )?{_A}{_MEDIA}\b"
    rf"|please (?:upload|provide|attach|share|send|resend) {_A}{_MEDIA}{_OVER}"
    rf"|(?:there (?:is|are|was|were) )?no {_MEDIA} (?:(?:is|are|was|were|has been|have been) )?"
    r"(?:provided|attached|given|available|included|received|uploaded|shared)\b"
    rf"|(?:the|your) {_MEDIA} (?:(?:can|could)(?: ?not|n't) be (?:loaded|opened|decoded|played|processed|accessed|read)"
    r"|(?:was|were)(?: not|n't) (?:provided|attached|included)|(?:failed to|did not|didn't) load)\b"
    r"|(?:these|the|all) (?:values|scores|points|verdicts)(?: above)? are (?:only |just )?(?:placeholders|made up)\b"
    r"|as an ai\b|我?(?:实际上|并)?(?:无法|不能|没有|未)(?:直接)?(?:观看|查看|看到|访问|打开|播放|加载|收到)"
    r"(?:该|此|任何)?(?:视频|图像|图片|画面))",
    re.IGNORECASE | re.MULTILINE,
)
"""The model says that it was shown nothing: what it gives all steps alike is a placeholder."""

_DECLINED = re.compile(
    rf"{_SORRY}(?:{_CANNOT}\b|i (?:won't|will not)\b|i(?:'m| am) (?:afraid|sorry|not comfortable)\b|i apologi[sz]e\b"
    r"|unable to\b|抱歉|对不起|我?(?:无法|不能)(?:评估|评分|判断|判定|确定|提供|回答|协助))",
    re.IGNORECASE | re.MULTILINE,
)
"""The model declines: so it does where it answers nothing."""

_BEGINS = r"(?:^[^\w\n]{0,20}|[.!?。:：]\s?[\"'“*]{0,3})"
_THOUGHT = r"on (?:reflection|second thoughts?)\b,?"
_CORRECTION = re.compile(
    rf"{_BEGINS}(?:(?:correction|corrected|revised|revision|edit)(?: (?:answer|score|verdict|json|version)s?)?\s?[:：]"
    rf"|更正|修正|{_THOUGHT}|(?:hmm|hold on|(?:oh,? |no,? )?wait)[,.:]"
    r"|actually,?(?=[^\n]{0,80}(?:\b(?:score|verdict|answer)\b|[a-z][ _-]?[0-9]{1,2}\b)))(?P<said>[^\n]*)",
    re.IGNORECASE | re.MULTILINE,
)
"""Words behind an answer that take it back where their line names a step, or says a value: then of all steps."""
_RETRACTION = re.compile(
    rf"{_BEGINS}(?:{_THOUGHT} )?(?:(?:please )?(?:disregard|ignore) (?:the|my|that|this|these) (?:\w+ )?"
    r"(?:above|json|answer|score|verdict|value)|scratch that"
    r"|i (?:must |need to |have to )?(?:retract|withdraw|take back|take (?:that|this|it) back|correct myself)\b)",
    re.IGNORECASE | re.MULTILINE,
)
"""Words behind an answer that take it back: of the steps that are named then, or else of all."""
_VALUE = re.compile(
    r"(?<![\w.,/-])[0-9]{1,2}(?![\w%:-])|(?<=[是为])\W{0,3}(?:[0-9]|不?正确|错误|(?:in)?correct)"
    r"|\b(?:is|be|to|was|as|:)\W{1,3}(?:in)?correct\b"
)


def _taken_back(text: str, names: StepNames) -> list[str]:
    """The steps whose answers the words behind them take back."""
    every, taken = [step.id for step in names.steps], list[str]()
    for correction in _CORRECTION.finditer(text):
        said = correction["said"] if correction["said"].strip(" *:：") else text[correction.end() :][:MAX_CORRECTION]
        said = said if names.named_in(said) else re.sub(r"(?i)\A\W*(?:none|nothing|no\b|无|没有).*", "", said)
        says = _VALUE.search(MEASURE.sub("", fold(said)))
        taken += names.named_in(said) or (every if says else [])
    if retraction := _RETRACTION.search(text):
        taken += names.named_in(text[retraction.start() :]) or every
    return taken


def _is_refused(text: str, readings: Mapping[str, Reading], steps: Sequence[RubricStep], answer: Answer) -> bool:
    """Test whether a reply refuses: it answers nothing, or gives all steps the same verdict, 0 or full points."""
    plain = text.replace("’", "'")
    told = {name: reading for name, reading in readings.items() if isinstance(reading, float)}
    if not told and ABSTAINED not in readings.values():
        return _DECLINED.search(plain) is not None or _NOT_SEEN.search(plain) is not None
    tops = {step.id: 1.0 if answer == "error" else step.max_score for step in steps}
    alike = len(told) == len(steps) and (not any(told.values()) or told == tops)
    return alike and _NOT_SEEN.search(plain) is not None


def _parsed(status: str, names: StepNames, readings: Mapping[str, Reading]) -> Parsed:
    ids = [step.id for step in names.steps]
    answers = {name: reading for name in ids if isinstance(reading := readings.get(name), float)}
    abstained = tuple(name for name in ids if readings.get(name) == ABSTAINED)
    missing = {name: str(readings.get(name, "absent")) for name in ids if name not in answers and name not in abstained}
    if not missing:
        return Parsed(ABSTAINED if abstained else "ok", answers, {}, abstained)
    return Parsed(status or ("partial" if answers or abstained else "unread"), answers, missing, abstained)

"""Reader of replies: whatever a model or lmms-eval returned becomes an answer for each step, or a named reason.

The rule is in ``docs/reference/parsing.md``.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace

from siming_tasks.benchmark.parsing.json_answers import read_answers
from siming_tasks.benchmark.parsing.json_values import GAP, read_json
from siming_tasks.benchmark.parsing.parsed_reply import ABSTAINED, BLOCKED_MARKER, BUDGET_MARKER, FAILURE_MARKER, Parsed
from siming_tasks.benchmark.parsing.side_remarks import DECLINED, NOTHING_SEEN, SCALE, begins_a_line, taken_back
from siming_tasks.benchmark.parsing.step_details import StepDetail, read_step_details
from siming_tasks.benchmark.parsing.steps import Reading, StepNames
from siming_tasks.benchmark.parsing.text_answers import read_text
from siming_tasks.benchmark.rubrics import RubricStep
from siming_tasks.benchmark.types import ANSWERS, Answer
from siming_tasks.common.errors import OptionsError

MAX_REPLY = 50_000  # characters of an answer that are read, half of them at either end: more than models write

_ESCAPED = re.compile(r"\{(?:\s|\\n){0,99}\\\"")
_UNSEEN = re.compile("[\x03\u00ad\u200b-\u200f\u2060-\u2064\ufeff]")  # characters without width

# lmms-eval 0.7.3: chat/openai.py, async_openai.py, gemini.py; llava_vid.py, oryx.py, llava_onevision_moviechat.py
_FAILED = re.compile(
    rf"{re.escape(FAILURE_MARKER)}|{re.escape(BUDGET_MARKER)}"
    r"|Video\s[^{}]{0,2000}\s(?:can\snot\sload|generate\sfailed),\scheck\sthe\ssource\Z"
    r"|Can\snot\sinfer\sthe\sanswer\.\Z"
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
_TURN = re.compile(
    r"<\|start_header_id\|>\w{0,16}<\|end_header_id\|>|<\|(?:im_start\|>\s?(?:assistant\b)?|(?:im_end|eot_id|eom_id"
    r"|endoftext|end_of_text|user|assistant|return|eos)\|>)|<\|(?:START|END)_OF_TURN_TOKEN\|>|</?s>|<end_of_turn>"
    r"|<start_of_turn>(?:\s?model\b)?|<eos>|\[/?INST\]|\[UNUSED_TOKEN_14[56]\]"
)
_SPEAKER = re.compile(
    r"^[ \t]*(?:#{1,4}[ \t]*)?\**(?:(?:user|human|assistant|用户|助手)\**[ \t]*(?:[:：]|$)"
    r"|(?<=# )(?:instruction|user|human|input|response|question)\b[ \t]*[:：]?)",
    re.MULTILINE | re.IGNORECASE,
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

    Nothing is guessed, and any reply will do: a step without an answer on its scale is missing, with the reason. Of
    more than :data:`MAX_REPLY` characters the middle is left out, and ``Parsed.left_out`` says how many.

    Args:
        reply: what the host handed over: text, None, a list with one text, already parsed JSON, ...
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
        raise OptionsError(
            f"answer={answer!r} is not a kind of answer; the kinds are {' and '.join(map(repr, ANSWERS))}."
        )
    names = StepNames(steps)
    text = _UNSEEN.sub("", _text_of(reply)).strip()
    if not text or _FAILED.match(text):
        return _parsed("request_failed" if text else "empty", names, {})
    is_error = text.startswith("Error: ")  # a host's text, or a model's where it answers something
    text, thinking = _answer_text(text)
    if left_out := max(len(text) - MAX_REPLY, 0):
        text = f"{text[: MAX_REPLY // 2].rstrip()}{GAP}\n{text[-MAX_REPLY // 2 :]}"
    groups = read_json(text)
    cut_off = thinking or (bool(groups) and not groups[-1].closed)
    if groups or cut_off:
        readings, end = read_answers(text, groups, names, answer, abstain)
    else:
        readings, end = read_text(text, names, answer, abstain), 1
    status = "truncated" if cut_off else ""
    if text.lstrip().startswith(BLOCKED_MARKER) or _is_refused(text, readings, steps, answer):
        readings, status = {}, "refused"
    elif is_error and not readings:
        status = "request_failed"
    else:
        readings |= {name: "corrected" for name in taken_back(text[end:], names) if name in readings}
        tops = {f"{step.max_score:g}" for step in steps}
        if answer == "score" and any(scale["top"] not in tops for scale in SCALE.finditer(text)):
            readings = {name: "off_scale" if isinstance(said, float) else said for name, said in readings.items()}
    stated = {name: read_step_details(groups, names, detail) for name, detail in (details or {}).items()}
    return replace(_parsed(status, names, readings), details=stated, left_out=left_out)


def _text_of(reply: object) -> str:
    """The reply as text; "" for None."""
    if isinstance(reply, list | tuple) and len(reply) <= 1:
        reply = reply[0] if reply else None
    if reply is None:
        return ""
    if not isinstance(reply, str):
        try:
            return json.dumps(reply, ensure_ascii=False)
        except (TypeError, ValueError, RecursionError):
            return "<no text>"
    if '{"' not in reply and _ESCAPED.search(reply):  # one JSON encoding too many: {\"score\": 2}
        return reply.replace('\\"', '"').replace("\\n", "\n")
    return reply


def _answer_text(reply: str) -> tuple[str, bool]:
    """Answer of the model in its first turn, without its thinking; whether the text ends inside the thinking."""
    text = _CLOSE.split(next(filter(str.strip, _TURN.split(reply)), ""), maxsplit=1)[-1]
    # a line of another speaker within the thinking is a thought
    text = _CLOSE.split(next(filter(str.strip, _SPEAKER.split(text)), ""))[-1]
    opening = _OPEN.search(text)
    return (text[: opening.start()], True) if opening else (text, False)


def _is_refused(text: str, readings: Mapping[str, Reading], steps: Sequence[RubricStep], answer: Answer) -> bool:
    """Test whether a reply refuses: it answers nothing, or gives all steps the same verdict, 0 or full points."""
    told = {name: reading for name, reading in readings.items() if isinstance(reading, float)}
    if not told and ABSTAINED not in readings.values():
        return begins_a_line(text, DECLINED, NOTHING_SEEN)
    tops = {step.id: 1.0 if answer == "error" else step.max_score for step in steps}
    alike = len(told) == len(steps) and (not any(told.values()) or told == tops)
    return alike and begins_a_line(text, NOTHING_SEEN)


def _parsed(status: str, names: StepNames, readings: Mapping[str, Reading]) -> Parsed:
    ids = [step.id for step in names.steps]
    answers = {name: reading for name in ids if isinstance(reading := readings.get(name), float)}
    abstained = tuple(name for name in ids if readings.get(name) == ABSTAINED)
    missing = {name: str(readings.get(name, "absent")) for name in ids if name not in answers and name not in abstained}
    if not missing:
        return Parsed(ABSTAINED if abstained else "ok", answers, {}, abstained)
    return Parsed(status or ("partial" if answers or abstained else "unread"), answers, missing, abstained)

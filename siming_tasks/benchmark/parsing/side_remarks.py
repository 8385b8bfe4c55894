"""Remarks that change answers: a refusal, a correction, another scale or quantity; short lists of words."""

from __future__ import annotations

import re

from siming_tasks.benchmark.parsing.steps import MARKS, MEASURE, StepNames, fold

MAX_SAID = 300  # characters of a line that may refuse, and behind "Correction:" on a line of its own

_MEDIA = r"(?:\w+ )?(?:videos?|clips?|images?|frames?|footage|recordings?|media|attachments?)"
_CANNOT = r"i(?: can(?:no|')t| can not| could(?:n't| not)| am (?:unable|not able) to|'m (?:unable|not able) to)"
_DO = r"(?:actually |directly )?(?:see|view|watch|access|open|play|load|process|analy[sz]e|assess|evaluate|judge|score)"
_A = r"(?:the |your |any |this |an? )?"
_START = re.compile(r"^|\": {0,3}\"", re.MULTILINE)
_SORRY = re.compile(
    r"(?:(?:i'm |i am )?(?:very |so )?sorry|i apologi[sz]e|unfortunately|(?:please )?note|but|that"
    r"|it (?:seems|appears|looks)(?: like)?|as an? [\w -]{1,30},|since|because|as|说明|抱歉|对不起|很抱歉|由于"
    r"|作为[^\s,:，：。]{1,16}(?=[,:，：]))(?![a-z])",
    re.IGNORECASE,
)
"""Words that may precede a refusal, at most four."""
_OVER = r"(?=\s{0,3}(?:[.,;:!\"—-]|$)| (?:provided|attached|you|content|from|so|because|since|as|and)\b)"
NOTHING_SEEN = re.compile(
    rf"(?:(?:{_CANNOT}|i (?:do|did)(?:n't| not)(?: have the ability to)?) {_DO} {_A}"
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
    re.IGNORECASE,
)
"""The model says that it was shown nothing: what it gives all steps alike is a placeholder."""
DECLINED = re.compile(
    rf"(?:{_CANNOT}|i(?:'m| am) (?:afraid|sorry)|i (?:won't|will not)|unable to)\b|抱歉|我?(?:无法|不能)[评判确提回协]",
    re.IGNORECASE,
)
"""The model declines: so it does where it answers nothing."""

_BEGINS = r"(?:^[^\w\n]{0,20}|[.!?。:：]\s?[\"'“*]{0,3})"
_THOUGHT = r"on (?:reflection|second thoughts?)\b,?"
_CORRECTION = re.compile(
    rf"{_BEGINS}(?:(?:correction|corrected|revised|revision|edit)(?: (?:answer|score|verdict|json|version)s?)?\s?[:：]"
    rf"|更正|修正|{_THOUGHT}|(?:hmm|hold on|(?:oh,? |no,? )?wait)[,.:]"
    r"|actually,?(?=[^\n]{0,80}(?:\b(?:score|verdict|answer)\b|[a-z][ _-]?[0-9]{1,2}\b))"
    r"|(?=[^\n.!?]{0,60}\bshould (?:be|have been|read) [\"'“*]{0,2}(?:[0-9]{1,2}\b|(?:in)?correct\b)))(?P<said>[^\n]*)",
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
_NONE = re.compile(r"none|nothing|no\b|无|没有", re.IGNORECASE)
_VALUE = re.compile(
    r"(?<![\w.,/-])[0-9]{1,2}(?![\w%:-])|(?<=[是为])\W{0,3}(?:[0-9]|不?正确|错误|(?:in)?correct)"
    r"|\b(?:is|be|been|to|was|as|:)\W{1,3}(?:in)?correct\b"
)

SCALE = re.compile(
    r"(?:\bscale (?:of |from )?[01]\s?(?:to|-|–)\s?|\b(?:scores|ratings) (?:are |were )?(?:all |each |given )?out of "
    r"|\b[01]\s?(?:to|-|–)\s?(?=[0-9]{1,3}[ -](?:point )?scale\b)|(?<!总分)满分(?=[0-9]{1,3}分))"
    r"(?P<top>[0-9]{1,3})(?![0-9a-z])",
    re.IGNORECASE,
)
"""Words that name the scale of all points."""

ASIDE = re.compile(
    r"\A(?!.{0,300}(?<!e\.g)[.!?。]\Z)(?:.{0,300}?(?:\bfor (?:example|instance)\b|\be\.g\.|例如|比如|示例|理想"
    r"|\b(?:ideal|perfect|flawless|hypothetical) (?:\w+ )?(?:trainee|student|candidate|performance|run|exam|scores?)\b"
    r"|\b(?:such as|could (?:be|give))\W{0,9}\Z)|\W{0,9}(?:(?:this|here|is|an?|the|my|points|ground|output) ){0,4}"
    r"(?:(?:examples?|sample|max(?:imum|ima)?|confidence|deductions?|deducted|timestamps?|truth|answer key|format)\b"
    r"|[满扣]分|置信度|格式)(?: (?:of|per|the|each|is|step|points?|scores?|output|answer|format|reads)){0,3}\W{0,9}\Z)",
    re.IGNORECASE,
)
"""A line before values, and no finished sentence, that calls them an example, a form or another quantity."""


def begins_a_line(text: str, *lists: re.Pattern[str]) -> bool:
    """Test whether words of one of the lists begin a line or a text within JSON, perhaps behind an apology."""
    for start in _START.finditer(text):
        line = text[start.end() : start.end() + MAX_SAID].partition("\n")[0].replace("’", "'")
        for _ in range(5):
            line = line[MARKS.match(line).end() :]  # type: ignore[union-attr]
            if any(words.match(line) for words in lists):
                return True
            if not line or (sorry := _SORRY.match(line)) is None:
                break
            line = line[sorry.end() :]
    return False


def taken_back(text: str, names: StepNames) -> list[str]:
    """The steps whose answers the words behind them take back."""
    every, taken = [step.id for step in names.steps], list[str]()
    for correction in _CORRECTION.finditer(text):
        end = correction.end()
        said = correction["said"] if correction["said"].strip(" *:：") else text[end : end + MAX_SAID]
        says = _VALUE.search(MEASURE.sub("", fold(said))) and not _NONE.match(said.lstrip(" *:："))
        taken += names.named_in(said) or (every if says else [])
    if retraction := _RETRACTION.search(text):
        taken += names.named_in(text[retraction.start() :]) or every
    return taken

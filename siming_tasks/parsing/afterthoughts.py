"""Sentences outside of the brackets that take an answer back, or give its step another one.

Nothing here gives an answer; it only takes away what can no longer be believed.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache

from siming_tasks.common.schema import Answer
from siming_tasks.parsing.json_answers import Reading
from siming_tasks.parsing.lenient_json import Group
from siming_tasks.parsing.lexicon import CORRECT, INCORRECT, fold_value
from siming_tasks.rubrics import RubricStep

MOST = 20_000
"""Characters behind the first bracket that are looked at."""

_WHAT = (
    r"(?:json|scores?|points?|answers?|values?|numbers?|verdicts?|ratings?|results?|response|output|assessment"
    r"|evaluation|this|above)"
)
_TAKEN_BACK = re.compile(
    r"\b(?:disregard|ignore|discard|(?:do not|don't) (?:use|trust|rely on))\b"
    rf"[^.\n]{{0,40}}\b{_WHAT}\b"
    rf"|\b(?:these|those|the|all|above)\b[^.\n]{{0,40}}\b{_WHAT}\b[^.\n]{{0,40}}\b(?:are|is|were|was)\b[^.\n]{{0,20}}"
    r"\b(?:placeholders?|invented|made[ -]up|fabricated|fictional|fictitious|dummy|hypothetical|arbitrary|random"
    r"|guess(?:es|ed)?|examples?|illustrative|not (?:real|based))\b"
    rf"|\bi (?:made|have made|invented|guessed|fabricated)\b[^.\n]{{0,30}}\b{_WHAT}\b"
    rf"|\bplaceholder {_WHAT}\b"
    rf"|\b(?:this|it|that|which)(?: {_WHAT})? (?:is|was) (?:only |just |merely |purely |simply )?(?:an? |the |my )?"
    r"(?:placeholder|guess|dummy|(?:example|sample|illustration)(?: (?:of|for) (?:the|a|an|my|its)"
    r" (?:\w+ )?(?:format|output|json|reply|answer|response|structure))?(?=\W*(?:[.,;!)]|$|since\b|because\b|as\b)))"
    r"|\b(?:these|those|(?:the |all |all the )(?:numbers?|values|figures))\b[^.\n]{0,20}\b(?:are|were)"
    r" (?:the |in |all |only )?(?:seconds|frames?|indices|times?|timestamps|minutes|deductions|maxim(?:a|ums?)|counts"
    r"|references?|ground truth|official|experts?|weights|not m(?:y|ine))\b"
    r"|(?:以上|上述|这些)[^。\n]{0,12}(?:示例|虚构|编造|占位|随机|假设|仅供参考|作废|忽略)|请?忽略(?:以上|上述|上面)"
)
"""Sentences that take back all that was answered, or call it invented."""

_CORRECTS = re.compile(
    r"\b(?:correction|actually|should(?:n't)? (?:be|have been)|on (?:reflection|second thought)|scratch that"
    r"|make (?:that|it)|i(?:'d| would) (?:rather|now|instead|change)|changed? (?:it|that|this|to)|instead|rather|wait"
    r"|oops|sorry|i meant|must be|final (?:score|points|answer|verdict|decision|judge?ment))\b"
    r"|更正|应为|应该是|改为|实际上|修正|最终"
)
_WOULD = re.compile(r"\bi(?:'d| would) (?:give|score|rate|say)\b")
_VALUE = (
    r"(?P<value>[0-9]{1,3}(?:\.[0-9])?|zero|one|two|three|four|five)(?![0-9a-z_])"
    r"(?!\s*(?:%|s\b|sec|second|min|cm|mm|times?\b|compress|breaths?\b|frames?\b|of\b|out\b|/|:|秒|次|厘米|分钟))"
)
_LINK = (
    r"(?:is|was|gets?|got|deserves?|earns?|receives?|to|be|been|should|must|have|has|would|actually|really|now|a|score"
    r"|only|just"
    r"|points?|of|得|为|是|应|应该|改|成)"
)
_GIVES = re.compile(
    rf"[\s`*\"')\]）:：,，]{{0,4}}(?:\s*\([^()\n]{{0,60}}\))?\s*(?:{_LINK}\s*|[:：=→>-]+\s*){{1,7}}{_VALUE}"
)
"""Words right behind a step's name that give it a value; a number of seconds, frames or sets is none."""
_GIVES_LATER = re.compile(rf"(?:be(?:en)?|to|give|score|rate|say|is|it|that|this|为|是|成|分数)[\s:：=a]*{_VALUE}")
_AFTER_COLON = re.compile(rf"[:：=→]\s*{_VALUE}")
_NUMBERS = dict(zip(("zero", "one", "two", "three", "four", "five"), map(float, range(6)), strict=True))
_TITLED = {
    "score": re.compile(
        r"\W*(?:final |overall |total )?(?:score|points?|rating|mark|得分|评分|分数)\W{0,4}[:：=]\W{0,4}" + _VALUE
    ),
    "error": re.compile(
        r"\W*(?:final |overall )?(?:verdict|judge?ment|decision|answer|conclusion|判断|结论)\W{0,4}[:：]"
    ),
}
_VERDICT = re.compile(
    r"\bnot (?:fully |entirely |completely )?(?:correct|right)\b"
    r"|\b(?:in ?correct|correct|wrong|right)\b|不正确|错误|正确"
)
_COMMENT = re.compile(r"(?://|\#|/\*)[^\n]{0,200}")
_KEY = re.compile(r"[\"'“]?([\w-]{2,40})[\"'”]?\s*[:：]")
_SENTENCE_END = re.compile(r"(?<=[.!?;])\s|[\n。！？；]")
_GOES_ON = re.compile(r"\W*(?:it|this|that|so|therefore|thus|hence|它|这|该步骤|所以|因此)")
"""The beginning of a sentence about the step that the sentence before it named."""
_SHORT = 80
"""Characters of a sentence that says little more than a step's verdict."""


def takes_back(text: str, groups: Sequence[Group]) -> bool:
    """Test whether a sentence outside of the brackets takes back, or calls invented, what was answered."""
    return any(_TAKEN_BACK.search(part) for part in _outside(text, groups))


def corrects(text: str) -> bool:
    """Test whether a text has words that correct what it said before."""
    return _CORRECTS.search(fold_value(text)) is not None


def contradicted(
    text: str, groups: Sequence[Group], readings: Mapping[str, Reading], steps: Sequence[RubricStep], answer: Answer
) -> set[str]:
    """Ids of the steps to which a sentence or a comment gives another answer than ``readings``."""
    against: set[str] = set()
    told = [(step, reading) for step in steps if isinstance(reading := readings.get(step.id), float)]
    is_plain = not any(map(_is_read, groups))
    for part in [*_outside(text, groups), *_comments(text, groups)] if told else ():
        topic: list[str] = []
        for sentence in _SENTENCE_END.split(part):
            if is_plain and not _CORRECTS.search(sentence):  # one of the sentences that answer
                topic = _named(sentence, told)
                continue
            named = _named(sentence, told)
            topic = named or (topic if _GOES_ON.match(sentence) else [])
            for step, reading in told:
                alone = len(steps) == 1 or (not named and topic == [step.id])
                if _contradicts(sentence, step, reading, answer, alone=alone):
                    against.add(step.id)
    return against


def _named(sentence: str, told: Iterable[tuple[RubricStep, Reading]]) -> list[str]:
    return [step.id for step, _ in told if _mention(step.id, step.name, step.name_zh).search(sentence)]


def _is_read(group: Group) -> bool:
    return group.closed and bool(group.entries)


def _outside(text: str, groups: Sequence[Group]) -> Iterator[str]:
    """The folded text between and behind the top brackets; all of it where there are none."""
    if not any(map(_is_read, groups)):
        yield fold_value(text[:MOST])
        return
    first = next((group.end for group in groups if _is_read(group)), len(text))
    for group, start in zip(groups, [*(group.start for group in groups[1:]), len(text)], strict=False):
        if group.closed and first <= group.end <= start <= first + MOST:
            yield fold_value(text[group.end : start])


def _comments(text: str, groups: Sequence[Group]) -> Iterator[str]:
    """Comments in the brackets that correct something, each behind the last key before it."""
    for group in groups:
        inside = text[group.start : group.end if group.closed else None][:MOST]
        for comment in _COMMENT.finditer(inside):
            if corrects(comment[0]):
                keys = _KEY.findall(inside, max(0, comment.start() - 300), comment.start())
                yield f"{keys[-1] if keys else ''} {fold_value(comment[0])}".casefold()


def _contradicts(sentence: str, step: RubricStep, reading: float, answer: Answer, *, alone: bool) -> bool:
    """Test whether a folded sentence gives a step another answer; ``alone``: it need not name the only step."""
    named = _mention(step.id, step.name, step.name_zh).search(sentence)
    corrected = _CORRECTS.search(sentence) or _WOULD.search(sentence)
    titled = _TITLED[answer].match(sentence) if alone else None
    if named is None and not (alone and (corrected or titled)):
        return False
    rest = sentence[named.end() :] if named else sentence
    if answer == "error":
        said = {_verdict_of(word) for word in _VERDICT.findall(rest)} - {None}
        return said == {1.0 - reading} and bool(corrected or titled or len(sentence) < _SHORT)
    given = titled or _GIVES.match(rest)
    if given is None and corrected:
        given = _GIVES_LATER.search(rest) or _AFTER_COLON.search(rest)
    if given is None:
        return False
    value = given["value"]
    return (_NUMBERS[value] if value in _NUMBERS else float(value)) != reading


@lru_cache(maxsize=512)
def _mention(step_id: str, *names: str | None) -> re.Pattern[str]:
    """Pattern of a step's id, however its parts are joined, and of its names."""
    parts = re.findall(r"[a-z]+|[0-9]+", step_id.casefold())
    own = "[^a-z0-9]{0,3}".join(f"0*{int(part)}" if part.isdecimal() else part for part in parts)
    called = "|".join([own, *(re.escape(name.casefold()) for name in names if name)])
    return re.compile(rf"(?<![a-z0-9])(?:{called})(?![0-9])")


def _verdict_of(word: str) -> float | None:
    folded = "incorrect" if word.startswith("not ") else word.replace("in correct", "incorrect")
    return 1.0 if folded in INCORRECT | {"错误"} else 0.0 if folded in CORRECT else None

"""Remarks: the sentences beside an answer, and those among them that decide against it.

An answer is read only if every sentence of the reply outside of its thinking is accounted for. A sentence is harmless
(a courtesy, an announcement, a reason for what was seen), or it says the answer again, or it bears on it: it gives an
asked step another value, takes the answer back, calls it invented, says whose or of which quantity it is, or says that
nothing was seen. Nothing here gives an answer; it only takes away what can no longer be believed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from siming_tasks.common.schema import Answer
from siming_tasks.parsing.json_answers import Reading
from siming_tasks.parsing.lenient_json import Group, Scalar
from siming_tasks.parsing.lexicon import CORRECT, INCORRECT, fold_value
from siming_tasks.parsing.step_matching import StepNames
from siming_tasks.parsing.withdrawals import is_unseen, withdraws
from siming_tasks.rubrics import RubricStep

MOST = 20_000
"""Characters before the first bracket, and behind it, that are looked at."""

_CORRECTS = re.compile(
    r"\b(?:correction|actually|should(?:n't)? (?:be|have been)|on (?:reflection|second thought)|scratch that"
    r"|make (?:that|it)|i(?:'d| would) (?:rather|now|instead|change)|changed? (?:it|that|this|to)|instead|rather|wait"
    r"|oops|sorry|i meant|must be|final (?:score|points|answer|verdict|decision|judge?ment)"
    r"|korrektur|eigentlich|sollte|en fait|devrait|plutôt|corrección|en realidad|debería)\b"
    r"|更正|应为|应该是|改为|实际上|修正|最终|訂正|実際|정정|사실"
)
_WOULD = re.compile(r"\bi(?:'d| would) (?:give|score|rate|say)\b")
_VALUE = (
    r"(?P<value>[0-9]{1,3}(?:\.[0-9])?|zero|one|two|three|four|five)(?![0-9a-z_]|\.[0-9])"
    r"(?:\s*(?:/|out of)\s*(?P<top>[0-9]{1,3})(?![0-9])|(?!\s*(?:/|of\b|out\b)))"
    r"(?!\s*(?:%|s\b|sec|second|min|cm|mm|times?\b|compress|breaths?\b|frames?\b|:|[-–~]|to\b|秒|次|厘米|分钟))"
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


@dataclass(frozen=True)
class Objection:
    """A passage of a reply that decides against answers."""

    passage: str  # as written
    steps: frozenset[str] | None = None  # ids of the steps whose answers it takes away; None: all
    reason: str = "ambiguous"  # or "unseen"


@dataclass(frozen=True)
class _Remark:
    """A sentence as written and folded, and the words that say whose comment it is."""

    written: str
    folded: str
    is_comment: bool = False


def objections(
    text: str, groups: Sequence[Group], readings: Mapping[str, Reading], names: StepNames, answer: Answer
) -> Iterator[Objection]:
    """Sentences beside an answer, comments and texts in its brackets that decide against it, with what they take."""
    read = [group for group in groups if group.closed and group.entries]
    told = [(step, reading) for step in names.steps if isinstance(reading := readings.get(step.id), float)]
    for remark in [*_before(text, read), *_behind(text, read), *_texts(read)]:
        if is_unseen(remark.folded):
            yield Objection(remark.written, reason="unseen")
        elif withdraws(remark.folded):
            yield Objection(remark.written)
    topic: list[str] = []
    for remark in [*_behind(text, read), *_comments(text, groups)]:
        if not read and not _CORRECTS.search(remark.folded):  # one of the sentences that answer
            topic = _named(remark.folded, told)
            continue
        named = _named(remark.folded, told)
        topic = named or (topic if _GOES_ON.match(remark.folded) else [])
        against = {
            step.id
            for step, reading in told
            if _contradicts(
                remark.folded, step, reading, answer, alone=len(names.steps) == 1 or (not named and topic == [step.id])
            )
        }
        if against:
            yield Objection(remark.written, frozenset(against))


def corrects(text: str) -> bool:
    """Test whether a text has words that correct what it said before."""
    return _CORRECTS.search(fold_value(text)) is not None


def _sentences(text: str) -> Iterator[_Remark]:
    for sentence in _SENTENCE_END.split(text):
        if sentence and not sentence.isspace():
            yield _Remark(sentence.strip(), fold_value(sentence).replace("’", "'"))


def _before(text: str, read: Sequence[Group]) -> Iterator[_Remark]:
    if read:
        yield from _sentences(text[max(0, read[0].start - MOST) : read[0].start])


def _behind(text: str, read: Sequence[Group]) -> Iterator[_Remark]:
    """The sentences between and behind the brackets; all of the text where there are none."""
    if not read:
        yield from _sentences(text[:MOST])
        return
    last = read[0].end + MOST
    for group, start in zip(read, [*(group.start for group in read[1:]), len(text)], strict=True):
        yield from _sentences(text[group.end : min(start, last)] if group.end < last else "")


def _texts(groups: Sequence[Group], depth: int = 4) -> Iterator[_Remark]:
    """The texts in brackets, such as a note beside the answers."""
    for group in groups:
        for _, value in group.entries:
            if isinstance(value, Scalar) and len(value.text) > 10:
                yield from _sentences(value.text)
        if depth:
            yield from _texts(group.groups, depth - 1)


def _comments(text: str, groups: Sequence[Group]) -> Iterator[_Remark]:
    """Comments in the brackets that correct something, each behind the last key before it."""
    for group in groups:
        inside = text[group.start : group.end if group.closed else None][:MOST]
        for comment in _COMMENT.finditer(inside):
            if corrects(comment[0]):
                keys = _KEY.findall(inside, max(0, comment.start() - 300), comment.start())
                said = f"{keys[-1] if keys else ''} {fold_value(comment[0])}".casefold()
                yield _Remark(comment[0].strip(), said, is_comment=True)


def _named(sentence: str, told: Sequence[tuple[RubricStep, float]]) -> list[str]:
    return [step.id for step, _ in told if _mention(step.id, step.name, step.name_zh).search(sentence)]


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
    if given is None or given["top"] not in (None, f"{step.max_score:g}"):
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

"""Remarks: the sentences beside an answer, and those among them that bear on it.

An answer is read only if every sentence of the reply outside of its thinking is accounted for. A sentence is harmless
(a courtesy, an announcement, a reason for what was seen), or it says the answer again, or it bears on it: it corrects
an asked step, gives it another value, takes the answer back, calls it invented, says whose or of which quantity it is,
or says that nothing was seen. Only a stated correction gives an answer; all else takes away what can no longer be
believed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from siming_tasks.common.schema import Answer
from siming_tasks.parsing.grammar import key_of
from siming_tasks.parsing.json_answers import Reading
from siming_tasks.parsing.lenient_json import Group, Scalar
from siming_tasks.parsing.lexicon import CORRECT, INCORRECT, fold_sentence
from siming_tasks.parsing.step_matching import StepNames
from siming_tasks.parsing.withdrawals import is_unseen, withdraws
from siming_tasks.rubrics import RubricStep

MOST = 20_000
"""Characters before the first bracket, and behind it, that are looked at."""

_CORRECTS = re.compile(
    r"\b(?:correction|actually|should(?:n't)? (?:be|have been|read)|on (?:reflection|second thought)|scratch that"
    r"|make (?:that|it)|i(?:'d| would) (?:rather|now|instead|change)|changed? (?:it|that|this|to)|instead|rather|wait"
    r"|oops|sorry|i meant|must be|final (?:score|points|answer|verdict|decision|judge?ment)"
    r"|korrektur|eigentlich|sollte|en fait|devrait|plutôt|corrección|en realidad|debería)\b"
    r"|更正|应为|应该是|改为|实际上|修正|最终|訂正|実際|정정|사실"
)
"""Words of a sentence that may give another answer than the one before it."""
_CORRECTION = re.compile(
    r"\b(?:correction|i (?:need|have|want|must|should)(?: to)? (?:correct|fix|revise|change)|let me (?:correct"
    r"|fix|revise)"
    r"|correcting|needs? (?:fixing|correcting|to be (?:fixed|corrected|changed))|wait|oops|sorry|scratch that|i meant"
    r"|on (?:reflection|second (?:thoughts?|look))|i (?:made a mistake|misread|miscounted|overlooked|got that wrong)"
    r"|re-?(?:watch|view|check|examin)\w*|korrektur|corrección)\b|更正|修正|订正|訂正|정정|改为|重新(?:看|核|检|审)"
)
"""Words that announce a correction, in the sentence that makes it or in one before."""
_DOUBTFUL = re.compile(
    r"\b(?:if|could|might|may|perhaps|maybe|probably|possibly|unless|would|either|or|whether|not sure|unsure|at least"
    r"|at most|higher|lower|between)\b|[?？]|如果|可能|也许|或者?"
)
_DENIED = re.compile(
    r"\b(?:not|n't|instead of|rather than|from)\s+(?:a |an |the |full )*[\"'“”*]{0,3}(?:[0-9.]+"
    r"|(?:in)?correct)\b[\"'“”]?"
    r"|(?:而不是|不是|而非)\s*[0-9.]+\s*分?|扣\s*[0-9.]+\s*分"
)
"""The value that a correction denies."""
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
_GIVES_LATER = re.compile(
    rf"(?:be(?:en)?|read|to|give|score|rate|say|is|it|that|this|为|是|成|分数|得|给)[\s:：=a]*{_VALUE}"
)
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
_WHOLE = re.compile(
    r"(?P<good>\b(?:step|everything|(?<!mostly )performance|it|all of it)\b[^.,]{0,20}\b(?:performed|executed"
    r"|done|completed"
    r"|carried out|is|was)\b (?!not\b|never\b)(?:(?!not\b)\w+ )?(?:fully|completely|entirely"
    r"|perfectly) (?:correct(?:ly)?)\b"
    r"|\bfull (?:points|marks|credit|score)\b[^.,]{0,12}\b(?:due|awarded|given|earned|deserved|warranted|justified)\b"
    r"|\b(?:no|without(?: any)?) (?:errors?|deviations?|mistakes?)(?: (?:were|was|is|are))?(?: (?:made|seen|found"
    r"|observed"
    r"|present|detected|visible))?\W*$|(?:该步骤|操作|动作)(?:完全|全部)正确|没有(?:任何)?(?:错误|偏差)\W*$|应得满分)"
    r"|(?P<bad>\b(?:step|performance)\b[^.,]{0,20}\b(?:is|was)(?: therefore| thus| clearly)?"
    r" (?:incorrect|wrong|not (?:fully |entirely )?correct|performed incorrectly"
    r"|not (?:performed|done|executed) (?:fully |entirely )?correctly)\b"
    r"|\b(?:zero|no|0) (?:points|marks|credit)\b(?! (?:were |was |are |is )?(?:lost|deducted|off|taken))"
    r"|(?:该步骤|操作|动作)(?:不正确|错误)|不得分|应得0分)"
)
"""Words that judge the whole step: all of it well, or not."""
_COMMENT = re.compile(r"(?://|\#|/\*)[^\n]{0,200}")
_COMMENT_DOUBTS = re.compile(
    r"\b(?:not sure|unsure|uncertain|(?:probably|likely|maybe|perhaps|possibly)\b[^.]{0,20}\b(?:wrong|higher|lower|less"
    r"|more|[0-9])|should be (?:lower|higher|less|more)|placeholder|guess(?:ed|ing)?|made up|todo|tbd|fixme|xxx|to be"
    r" (?:checked|confirmed|filled)|example|dummy|assum\w+|too (?:high|low|generous|strict|harsh)|wrong value|typo"
    r"|invented)\b|待定|占位|不确定|猜"
)
_KEY = re.compile(r"[\"'“]?([\w-]{2,40})[\"'”]?\s*[:：]")
_SENTENCE_END = re.compile(r"(?<=[.!?;])\s|[\n。！？；]")
_GOES_ON = re.compile(r"\W*(?:it|this|that|so|therefore|thus|hence|它|这|该步骤|所以|因此)")
"""The beginning of a sentence about the step that the sentence before it named."""
_SHORT = 80
"""Characters of a sentence that says little more than a step's verdict."""


@dataclass(frozen=True)
class Bearing:
    """A passage of a reply that bears on answers, as written, and what it makes of each: a reason, or the correction.

    ``readings`` is by step id; a single reason is that of all steps.
    """

    passage: str
    readings: Mapping[str, Reading] | str


@dataclass(frozen=True)
class _Remark:
    """A sentence as written and folded, and the id of the step that it stands beside."""

    written: str
    folded: str
    step_id: str | None = None


def bearings(
    text: str,
    groups: Sequence[Group],
    readings: Mapping[str, Reading],
    names: StepNames,
    answer: Answer,
    replaced: int,
) -> Iterator[Bearing]:
    """Sentences beside an answer, comments and texts in its brackets that bear on it.

    ``replaced``: end of the last bracket that answers; a sentence before it that takes all back speaks of former ones.
    """
    read = [group for group in groups if group.closed and group.entries]
    told = {step.id: reading for step in names.steps if isinstance(reading := readings.get(step.id), float)}
    before, behind = list(_before(text, read)), list(_behind(text, read))
    last = [remark for remark in behind if not read or text.find(remark.written, replaced) >= 0]
    texts = list(_texts(read, names))
    for remark in [*before, *behind, *texts]:
        if is_unseen(remark.folded):
            yield Bearing(remark.written, "unseen")
    for remark in [*before, *last, *texts]:
        if withdraws(remark.folded):
            which = {remark.step_id: "ambiguous"} if remark.step_id else "ambiguous"
            yield Bearing(remark.written, which)
    for remark in [*last, *texts]:
        if against := _judged_otherwise(remark, names, told, answer):
            yield Bearing(remark.written, dict.fromkeys(against, "ambiguous"))
    comments = list(_comments(text, groups, names))
    for remark in comments:
        if _COMMENT_DOUBTS.search(remark.folded):
            yield Bearing(remark.written, {remark.step_id: "ambiguous"} if remark.step_id else "ambiguous")
        elif corrects(remark.folded):
            yield from _other_answers([remark], told, names, answer, decide=False)
    yield from _other_answers(behind, told, names, answer, plain=not read)


def corrects(text: str) -> bool:
    """Test whether a text has words that correct what it said before."""
    return _CORRECTS.search(fold_sentence(text)) is not None


def announces_correction(text: str) -> bool:
    """Test whether a text has a sentence that announces a correction, or takes back what was said before it."""
    sentences = list(_sentences(text))
    return any(_CORRECTION.search(sentence.folded) or withdraws(sentence.folded) for sentence in sentences)


def _other_answers(
    remarks: Sequence[_Remark],
    told: Mapping[str, float],
    names: StepNames,
    answer: Answer,
    *,
    plain: bool = False,
    decide: bool = True,
) -> Iterator[Bearing]:
    """Sentences that give a step another answer.

    ``plain``: among them are those that answer; ``decide``: a correction that is announced and clear is the answer.
    """
    topic: list[str] = []
    announced = False
    for remark in remarks:
        announced |= _CORRECTION.search(remark.folded) is not None
        named = _named(remark.folded, names)
        if plain and not _CORRECTS.search(remark.folded):  # one of the sentences that answer
            topic = named
            continue
        topic = named or (topic if _GOES_ON.match(remark.folded) or announced else [])
        found: dict[str, Reading] = {}
        for step in names.steps:
            alone = len(names.steps) == 1 or (not named and topic == [step.id])
            other = _other_answer(remark.folded, step, told.get(step.id), answer, alone=alone)
            if other is not None:
                clear = decide and announced and not _DOUBTFUL.search(remark.folded) and len(named) < 2
                found[step.id] = other if clear else "ambiguous"
        if found:
            yield Bearing(remark.written, found)


def _sentences(text: str, step_id: str | None = None) -> Iterator[_Remark]:
    for sentence in _SENTENCE_END.split(text):
        if sentence and not sentence.isspace():
            yield _Remark(sentence.strip(), fold_sentence(sentence).replace("’", "'"), step_id)


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


def _texts(groups: Sequence[Group], names: StepNames, step_id: str | None = None, depth: int = 4) -> Iterator[_Remark]:
    """The sentences of texts in brackets, such as a note beside the answers or a reason beside one."""
    for group in groups:
        own = step_id
        for key, value in group.entries:
            if key is not None and key_of(key).family.name == "step" and isinstance(value, Scalar):
                step = names.exact(value.text)
                own = step.id if step else own
        for key, value in group.entries:
            step = names.exact(key) if key is not None else None
            whose = step.id if step else own
            if isinstance(value, Scalar) and len(value.text) > 10:
                yield from _sentences(value.text, whose)
            elif isinstance(value, Group) and depth:
                yield from _texts([value], names, whose, depth - 1)


def _comments(text: str, groups: Sequence[Group], names: StepNames) -> Iterator[_Remark]:
    """Comments in the brackets, each behind the last key before it."""
    for group in groups:
        inside = text[group.start : group.end if group.closed else None][:MOST]
        for comment in _COMMENT.finditer(inside):
            keys = _KEY.findall(inside, max(0, comment.start() - 300), comment.start())
            step = names.exact(keys[-1]) if keys else None
            said = f"{keys[-1] if keys else ''} {fold_sentence(comment[0])}".casefold()
            yield _Remark(comment[0].strip(), said, step.id if step else None)


def _named(sentence: str, names: StepNames) -> list[str]:
    return [step.id for step in names.steps if _mention(step.id, step.name, step.name_zh).search(sentence)]


def _judged_otherwise(remark: _Remark, names: StepNames, told: Mapping[str, float], answer: Answer) -> list[str]:
    """Ids of the one step whose answer a sentence about the whole step contradicts."""
    ids = [remark.step_id] if remark.step_id else _named(remark.folded, names)
    ids = ids or ([names.steps[0].id] if len(names.steps) == 1 else [])
    judged = _WHOLE.search(remark.folded)
    if judged is None or len(ids) != 1 or ids[0] not in told or _DOUBTFUL.search(remark.folded):
        return []
    top = next(step.max_score for step in names.steps if step.id == ids[0])
    agreed = (0.0 if judged["good"] else 1.0) if answer == "error" else (top if judged["good"] else 0.0)
    same = told[ids[0]] == agreed or (answer == "score" and judged["bad"] and "correct" in judged[0])
    return [] if same else ids


def _other_answer(
    sentence: str, step: RubricStep, reading: float | None, answer: Answer, *, alone: bool
) -> float | None:
    """The answer that a folded sentence gives a step in place of ``reading``; ``alone``: it need not name the step."""
    named = _mention(step.id, step.name, step.name_zh).search(sentence)
    corrected = _CORRECTS.search(sentence) or _WOULD.search(sentence)
    titled = _TITLED[answer].match(sentence) if alone else None
    if reading is None or (named is None and not (alone and (corrected or titled))):
        return None
    rest = _DENIED.sub(" ", sentence[named.end() :] if named else sentence)
    if answer == "error":
        said = {_verdict_of(word) for word in _VERDICT.findall(rest)} - {None}
        differs = said == {1.0 - reading} and bool(corrected or titled or len(sentence) < _SHORT)
        return 1.0 - reading if differs else None
    given = titled or _GIVES.match(rest)
    if given is None and corrected:
        given = _GIVES_LATER.search(rest) or _AFTER_COLON.search(rest)
    if given is None or given["top"] not in (None, f"{step.max_score:g}"):
        return None
    value = _NUMBERS[given["value"]] if given["value"] in _NUMBERS else float(given["value"])
    return value if value != reading and value <= step.max_score else None


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

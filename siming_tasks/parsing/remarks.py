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

from siming_tasks.common.schema import Answer
from siming_tasks.parsing.grammar import key_of
from siming_tasks.parsing.json_answers import Reading
from siming_tasks.parsing.lenient_json import Group, Scalar
from siming_tasks.parsing.lexicon import YES, fold_sentence, fold_value
from siming_tasks.parsing.statements import (
    COMMENT_DOUBTS,
    CORRECTION,
    CORRECTS,
    DEDUCTS,
    DOUBTFUL,
    GOES_ON,
    NO_ANSWER,
    STRUCK,
    UNRESOLVED,
    corrects,
    judged,
    mention,
    other_answer,
)
from siming_tasks.parsing.step_matching import StepNames
from siming_tasks.parsing.text_blocks import UNCERTAIN
from siming_tasks.parsing.text_values import NUMBER, UNIT
from siming_tasks.parsing.withdrawals import is_unseen, speaks_otherwise, withdraws

MOST = 20_000
"""Characters before the first bracket, and behind it, that are looked at."""

_COMMENT = re.compile(r"(?://|\#|/\*)[^\n]{0,200}")
_KEY = re.compile(r"[\"'“]?([\w-]{2,40})[\"'”]?\s*[:：]")
_SENTENCE_END = re.compile(r"(?<=[.!?;])\s|[\n。！？；]")
_RATER = re.compile(
    r"(?:scored|rated|graded|judged)[ _]by|rater|examiner|annotator|reviewer|assessor|evaluator|source|评分人|考官"
)
_MODEL = re.compile(
    r"\b(?:ai|model|assistant|llm|gpt|claude|gemini|qwen|auto\w*|self|me|video|frames|clip)\b|^\W*$|模型"
)
_POINTS = re.compile(rf"(?<![0-9.:/+–−-])({NUMBER})\s*(?:{UNIT}|[点점]|of {NUMBER}\W*$)")
_NUMBER = re.compile(rf"(?<![a-z0-9_.-]){NUMBER}")
_BARE = re.compile(rf"^\W*(?:[^\W\d]+[ ,.]+){{0,2}}({NUMBER})\W*$|\bdown to ({NUMBER})\W*$")
"""A sentence that is little more than a number."""
_FAULTS_IN = re.compile(
    r"\b(?:errors?|deviations?|mistakes?)\b(?: \w+){0,3} (?:in|at|on|with|during|for|of|concern\w*)\b"
)
_VERB = re.compile(r"\b(?:is|are|was|were|has|have|had|do|does|did)\b", re.IGNORECASE)
"""A word of a sentence, which is a reason and no name of what stands beside it."""
_ALL_WRONG = re.compile(
    r"\b(?:all|every|each)\b[^.,;]{0,25}\b(?:incorrect|wrong)|\bnone of the (?:\w+ )?steps? [^.,;]{0,20}\bcorrect"
)
_FAULT = re.compile(r"\b(?:errors?|deviations?|mistakes?|incorrect(?:ly)?|wrong(?:ly)?)\b|错误|不正确")
_NO_FAULT = re.compile(
    r"\b(?:no|not|without|any|nor|never|nothing|free|minor|small|slight|common|possible|typical|potential|correct(?:ed|s)?|neither|none|zero)\b|n't\b|没|无|未|/"
)
"""Words of a sentence whose fault is none, or a small one."""


@dataclass(frozen=True)
class Bearing:
    """A passage of a reply that bears on answers, as written, and what it makes of each: a reason, or the correction.

    ``readings`` is by step id; a single reason is that of all steps.
    """

    passage: str
    readings: Mapping[str, Reading] | str


@dataclass(frozen=True)
class _Remark:
    """A sentence as written and folded, the id of the step that it stands beside, and where its bracket ends."""

    written: str
    folded: str
    step_id: str | None = None
    behind: int = 0


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
    last = [remark for remark in behind if not read or remark.behind >= replaced]
    texts = list(_texts(read, names))
    for remark in [*before, *behind, *texts]:
        if is_unseen(remark.folded):
            yield Bearing(remark.written, "unseen")
    for remark in [*before, *last, *texts]:
        if withdraws(remark.folded):
            yield Bearing(remark.written, {remark.step_id: "ambiguous"} if remark.step_id else "ambiguous")
    for remarks in (before, last) if read else ():
        for remark in remarks:
            if not CORRECTION.search(remark.folded) and speaks_otherwise(remark.folded, before=remarks is before):
                yield Bearing(remark.written, "ambiguous")
    for remark in [] if read else _behind_answers(last, names, answer):
        if not CORRECTION.search(remark.folded) and speaks_otherwise(remark.folded):
            yield Bearing(remark.written, "ambiguous")
    for legend in _legends(read, names):
        yield Bearing(legend, "ambiguous")
    for remark in last if read else ():
        struck = [step_id for step_id in _named(remark.folded, names) if STRUCK.search(remark.folded)]
        if struck:
            yield Bearing(remark.written, dict.fromkeys(struck, "ambiguous"))
    one_step = before if len(names.steps) == 1 else []
    for remark in [*one_step, *(r for r in last if not CORRECTION.search(r.folded)), *texts]:
        if against := _judged_otherwise(remark, names, told, answer):
            yield Bearing(remark.written, dict.fromkeys(against, "ambiguous"))
    comments = list(_comments(text, groups, names))
    for remark in comments:
        if COMMENT_DOUBTS.search(remark.folded):
            yield Bearing(remark.written, {remark.step_id: "ambiguous"} if remark.step_id else "ambiguous")
        elif corrects(remark.folded):
            yield from _other_answers([remark], told, names, answer, decide=False)
    for remark in texts:
        if corrects(remark.folded):
            yield from _other_answers([remark], told, names, answer, decide=False)
    others = list(_other_answers(last, told, names, answer, plain=not read))
    yield from others
    if read:
        corrected = {step_id for other in others for step_id in other.readings}
        rest = {step_id: value for step_id, value in told.items() if step_id not in corrected}
        yield from _said_beside([*(before if answer == "error" else ()), *last], rest, names, answer)
    elif not others:
        for remark in _behind_answers(last, names, answer):
            words = [match[0] for match in CORRECTION.finditer(remark.folded)]
            if any(not word.startswith("re") for word in words):  # "I reviewed all frames"
                yield Bearing(remark.written, "ambiguous")


def announces_correction(text: str) -> bool:
    """Test whether a text has a sentence that announces a correction, or takes back what was said before it."""
    sentences = list(_sentences(text))
    return any(CORRECTION.search(sentence.folded) or withdraws(sentence.folded) for sentence in sentences)


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
    unresolved: list[Bearing] = []
    announced, is_resolved = False, False
    for remark in remarks:
        announced |= CORRECTION.search(remark.folded) is not None
        named = _named(remark.folded, names)
        if plain and not CORRECTS.search(remark.folded):  # one of the sentences that answer
            topic = named
            continue
        topic = named or (topic if GOES_ON.match(remark.folded) or announced else [])
        found: dict[str, Reading] = {}
        for step in names.steps:
            alone = len(names.steps) == 1 or (not named and topic == [step.id])
            other = other_answer(remark.folded, step, told.get(step.id), answer, alone=alone)
            if other is not None:
                clear = decide and announced and not DOUBTFUL.search(remark.folded) and len(named) < 2
                found[step.id] = other if clear else "ambiguous"
        if found:
            is_resolved = True
            yield Bearing(remark.written, found)
        elif not plain and UNRESOLVED.search(remark.folded):
            unresolved.append(Bearing(remark.written, dict.fromkeys(named or told, "ambiguous")))
    yield from () if is_resolved else unresolved


def _said_beside(
    remarks: Sequence[_Remark], told: Mapping[str, float], names: StepNames, answer: Answer
) -> Iterator[Bearing]:
    """Sentences about one step that have other points than its answer, or a fault beside the verdict *correct*.

    Points before an answer are no such: parts of a step and the levels of a rubric are gone through there.
    """
    tops = {step.id: step.max_score for step in names.steps}
    topic: list[str] = [names.steps[0].id] if len(names.steps) == 1 else []
    for remark in remarks:
        sentence = fold_value(remark.written)
        if len(names.steps) > 1:
            topic = _named(remark.folded, names) or (topic if GOES_ON.match(remark.folded) else [])
        if DOUBTFUL.search(remark.folded) or UNCERTAIN.search(sentence):
            continue
        if answer == "error":
            otherwise = [step_id for step_id in _faulty(sentence, topic, names) if told.get(step_id) == 0]
        else:
            found = _POINTS.findall(sentence) or (_BARE.findall(sentence) if len(tops) == 1 else [])
            said = [float(value if isinstance(value, str) else "".join(value)) for value in found]
            is_less = len(topic) == 1 and max(said, default=tops[topic[0]]) < tops[topic[0]]
            numbers = {sum(said), *map(float, _NUMBER.findall(sentence))}  # "1 point for each ear -> 2"
            is_other = is_less and topic[0] in told and told[topic[0]] not in numbers
            otherwise = topic if is_other and not NO_ANSWER.search(sentence) else []
        if otherwise:
            yield Bearing(remark.written, dict.fromkeys(otherwise, "ambiguous"))


def _faulty(sentence: str, topic: Sequence[str], names: StepNames) -> Sequence[str]:
    """Ids of the steps that a folded sentence calls faulty, ``topic`` being those that it speaks of."""
    if _ALL_WRONG.search(sentence):
        return [step.id for step in names.steps]
    if not _FAULT.search(sentence) or _NO_FAULT.search(sentence):
        return []
    faults = _FAULTS_IN.search(sentence)
    return topic if len(topic) == 1 else _named(sentence[faults.end() :], names) if faults else []


def _legends(groups: Sequence[Group], names: StepNames) -> Iterator[str]:
    """Short texts beside answers that say what or whose they are: ``"meaning": "points lost"``, ``"is_example": true``.

    None of them says that they are the model's own.
    """
    for group in groups:
        for key, value in group.entries:
            kinds = ("unknown", "words about", "status", "unit")
            if key is None or not isinstance(value, Scalar) or key_of(key).family.name not in kinds:
                continue
            if names.find(key) is not None:
                continue
            said = key.replace("_", " ").replace("is ", "") if fold_value(value.text) in YES else value.text
            if not _VERB.search(said) and withdraws(f"these are {fold_value(said[:200])}"):
                yield said[:200]
            elif _RATER.fullmatch(fold_value(key)) and not _MODEL.search(fold_value(value.text)):
                yield value.text[:200]


def _sentences(text: str, step_id: str | None = None, behind: int = 0) -> Iterator[_Remark]:
    for sentence in _SENTENCE_END.split(text):
        if sentence and not sentence.isspace():
            yield _Remark(sentence.strip(), fold_sentence(sentence).replace("’", "'"), step_id, behind)


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
        if group.end < last:
            yield from _sentences(text[group.end : min(start, last)], behind=group.end)


_VALUE = {
    "score": re.compile(r"[0-9]|\b(?:zero|one|two|three|four|five|full)\b"),
    "error": re.compile(r"correct|wrong|right|error|正确|错|對|对|[✅✓✔❌✗✘]"),
}
"""What a sentence that answers has, if it names no step."""


def _behind_answers(remarks: Sequence[_Remark], names: StepNames, answer: Answer) -> list[_Remark]:
    """The sentences behind the last that may answer, in a reply without JSON."""
    answering = [
        place
        for place, remark in enumerate(remarks)
        if _VALUE[answer].search(remark.folded) and (len(names.steps) == 1 or _named(remark.folded, names))
    ]
    return list(remarks[answering[-1] + 1 :]) if answering else []


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
    return [step.id for step in names.steps if mention(step.id, step.name, step.name_zh).search(sentence)]


def _judged_otherwise(remark: _Remark, names: StepNames, told: Mapping[str, float], answer: Answer) -> list[str]:
    """Ids of the one step whose answer a sentence about the whole step contradicts."""
    ids = [remark.step_id] if remark.step_id else _named(remark.folded, names)
    ids = ids or ([names.steps[0].id] if len(names.steps) == 1 else [])
    well = judged(remark.folded)
    if well is None and DEDUCTS.search(remark.folded) and not DOUBTFUL.search(remark.folded):
        full = {step.id: step.max_score if answer == "score" else 0.0 for step in names.steps}
        return ids if len(ids) == 1 and told.get(ids[0]) == full[ids[0]] else []
    if well is None or len(ids) != 1 or ids[0] not in told or DOUBTFUL.search(remark.folded):
        return []
    top = next(step.max_score for step in names.steps if step.id == ids[0])
    if answer == "error":
        return ids if told[ids[0]] == float(well) else []
    return ids if told[ids[0]] == (0.0 if well else top) else []

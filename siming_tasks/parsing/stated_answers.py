"""Grammar of answers in running text: what a titled line, a value that stands alone, or a sentence says of a step.

Every form is an allow-list. A value counts where its title names an answer, where nothing else stands beside it, where
it opens what is said of its step and only a reason follows, or where a sentence gives it with words that all belong to
giving an answer. Any other number or verdict is not looked at; a source, a condition or a doubt in the sentence takes
the answer away.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from siming_tasks.common.schema import Answer
from siming_tasks.parsing.grammar import key_of
from siming_tasks.parsing.lexicon import CORRECT, INCORRECT, NO, SYMBOLS, YES, fold_name
from siming_tasks.parsing.text_blocks import STEP, UNCERTAIN, Marks
from siming_tasks.parsing.text_values import (
    NUMBER,
    NUMBER_WORDS,
    SIGNS,
    UNIT,
    Stated,
    adds_noun,
    alternatives,
    value_at,
)
from siming_tasks.parsing.titles import ANSWERS, COURTESY, title_role
from siming_tasks.rubrics import RubricStep


def _set(text: str) -> frozenset[str]:
    return frozenset(text.split())


# --- titles and lines -------------------------------------------------------------------------------------------------

_TITLED = re.compile(r"(?P<title>[^:=?|\n]{1,80}?)\s*(?:[:=|?]+|->|\bis\b:?|\s-\s|为|是(?!否))\s*(?=\S)")
_TITLE_PART = re.compile(
    r"\([^()]{0,60}\)|\[[^\[\]]{0,60}\]|[\ue000-\uefff]|\bfor (?:this )?step\b|\b(?:this|the) step(?:'s)?\b|\bfor\s*$"
    r"|^\W*(?:so|therefore|thus|hence|and|overall|final|my)\b,?"
)
"""What a title may have beside the words of its key."""
_YES_NO = re.compile(rf"\s*(?P<word>{alternatives((YES | NO) - {'0', '1'})})(?![a-z])(?=\s*(?:$|[.,;:!(]|-))")


def titled_at(text: str, step: RubricStep, answer: Answer, start: int = 0) -> Stated | None:
    """The value of ``Score: 2/3 - reason`` or ``Error? No`` at a place of a text; the title is read as a key."""
    match = _TITLED.match(text, start)
    if match is None:
        return None
    key, at = key_of(match["title"]), match.end()
    if answer == "error" and key.polarity and (said := _YES_NO.match(text, at)):
        return Stated(float((said["word"] in YES) == (key.polarity < 0)), said.end())
    if not title_answers(match["title"], answer):
        return None
    value = adds_noun(text, at) if answer == "error" and key.family.nouns else None
    value = value or value_at(text, at, step, answer)
    if value is None:  # "3 or 4", "correct or incorrect"
        open_value = r"\W{0,3}[0-9]" if answer == "score" else r"\W{0,3}(?:in)?correct\b"
        return Stated("ambiguous", at) if re.match(open_value, text[at:]) else None
    if answer == "score" and key.top not in (None, step.max_score):
        return value._replace(reading="off_scale")
    is_sign = bool(key.polarity) and key.polarity == -1 and text[at:].strip()[:1] in SYMBOLS
    return value._replace(reading="ambiguous") if is_sign else value


def title_answers(title: str, answer: Answer) -> bool:
    """Test whether a title, by the grammar of keys, is one of answers of this kind."""
    plain = _TITLE_PART.sub(" ", title).strip(" :=-")
    return key_of(plain).family.answers(answer) and fold_name(plain) not in CORRECT | INCORRECT


def alone_at(text: str, step: RubricStep, answer: Answer) -> Stated | None:
    """The value that is all of a text."""
    value = value_at(text, 0, step, answer)
    if value is None or _INTERJECTION.match(text):
        return None
    return value if not text[value.end :].strip(" .!*\"'`)]},;|") else None


_LISTED = re.compile(r"[0-9]{1,2}[.)]\s+(?=[0-9])")
_INTERJECTION = re.compile(r"\W*(?:all )?right\b")
_NOT_FINITE = re.compile(r"[-+]?(?:nan|inf(?:inity)?)")


def led_by_text(text: str, step: RubricStep, answer: Answer) -> Stated | None:
    """The value that a text about one step begins with; none if it is a title (``错误：请求超时``, ``满分：5``)."""
    if answer == "score" and _NOT_FINITE.fullmatch(text):
        return Stated("off_scale", len(text))
    value = None if titled_at(text, step, answer) else value_at(text, 0, step, answer)
    if value is not None and (_LISTED.match(text) or _INTERJECTION.match(text)):
        return None
    if value is None or (answer == "score" and _IN_FULL.match(text) and "/" not in text[: value.end]):
        return None
    is_title = text[value.end :].lstrip().startswith(":") and text[: value.end].strip() == "错误"
    return None if is_title else value


_LAST = re.compile(r"(?:->|→|⇒|=>|➡|:|=|,|(?<![0-9])\s[-–—]|\b(?:so|therefore|thus|hence)\b)\s*(?=[^:=→⇒➡>,]{1,60}$)")
_VALUE_BEFORE = {
    "score": re.compile(rf"(?<![0-9.:(-]){NUMBER}\s*{UNIT}?\s*$"),
    "error": re.compile(rf"(?:correct|wrong|正确|错误|{SIGNS})\s*$"),
}
_UNITED = re.compile(rf"{UNIT}|/|out of|满分")


def concluded_in(sentence: str, step: RubricStep, answer: Answer) -> Stated | None:
    """The value that ends a sentence behind an arrow or a colon: ``Full points -> 2``, ``nobody named: incorrect``."""
    matches = list(_LAST.finditer(sentence, max(0, len(sentence) - 80)))
    value = alone_at(sentence[matches[-1].end() :], step, answer) if matches else None
    if value is None or UNCERTAIN.search(sentence):
        return None
    mark, before = matches[-1][0].strip(), sentence[: matches[-1].start()]
    if mark in ("->", "→", "⇒", "=>", "➡") and _VALUE_BEFORE[answer].search(before):  # "2 -> 1"
        return value._replace(reading="ambiguous")
    title = _BOUNDARY.split(before)[-1]
    said = len(re.findall(r"[a-z']{2,}", before)) + len(re.findall("[\u3400-\u9fff]", before)) // 2
    is_title = 0 < said < 5 and mark in (":", "=", "-", "–", "—") and not re.search(STEP, before)  # "Depth: 4/5"
    bare = (
        answer == "score"
        and (mark.isalpha() or mark in (":", ",", "-", "–", "—"))
        and not _UNITED.search(sentence, matches[-1].end())
    )
    known = key_of(title).family.name in ("unknown", "points", "verdict", "assessment", "answer")
    return value if known and not (is_title or bare or title_role(fold_name(title)) == "aside") else None


# --- behind a step's mark ---------------------------------------------------------------------------------------------

_CONNECTS = re.compile(r"(?:[\s\])\"'*:,|=>→]|->|(?<=\s)[-–—]+(?=\s)|[-–—]+(?![\s0-9>]))*")
_MAXIMUM = re.compile(
    r"[(\[]\s*(?:(?P<named>max(?:imum)?\.?(?:\s\w+)?|out\sof|worth|满分|0\s*(?:-|–|to)|/|of)\s*(?:为|is|of)?\s*[:=]?)?"
    rf"\s*(?P<top>{NUMBER})\s*(?P<unit>{UNIT})?(?:\smax(?:imum)?|\spossible)?\s*[)\]]"
)
_CALLED = re.compile(
    r"[(\[]?(?P<called>[^\d:()|\[\]\n\ue000-\uf8ff]{1,60}?)"
    r"(?:[)\]]\s*[:|]?|\s*(?::|\s[-–—]|\||->|→|(?=\()))\s*"
)


_NOUN = re.compile(r"(?:an? )?(?:error|mistake|deviation)s?\b")


class Led(NamedTuple):
    """The beginning of what follows a step: its value, points in brackets that may be its maximum, a name of it."""

    stated: Stated | None
    in_brackets: float | None = None
    called: str = ""


def led_by_step(text: str, step: RubricStep, answer: Answer, *, alone: bool) -> Led:
    """The value at the beginning of what stands behind a step's mark; ``alone``: no other step is asked."""
    start, in_brackets = _end(_CONNECTS, text, 0), None
    if answer == "score" and (maximum := _MAXIMUM.match(text, start)):
        behind = _end(_CONNECTS, text, maximum.end())
        value = value_at(text, behind, step, answer)
        if maximum["named"] or value:
            if float(maximum["top"]) != step.max_score:
                return Led(value and value._replace(reading="off_scale"))
            start = behind
        elif maximum["unit"]:
            start, in_brackets = behind, float(maximum["top"])
    if (value := titled_at(text, step, answer, start) or value_at(text, start, step, answer)) is not None:
        return Led(value)
    if answer == "error" and (noun := _NOUN.match(text, start)):
        stated = adds_noun(text, start) if re.search(r"[:=|→]|\s[-–—]\s", text[:start]) else None
        return Led(stated or Stated("ambiguous", noun.end()))
    called = _CALLED.match(text, start)
    if called is None or alone or in_brackets is not None:
        return Led(None, in_brackets)
    family = key_of(called["called"]).family.name
    is_known = family not in ("unknown", "step")
    if is_known or UNCERTAIN.search(called["called"]) or title_role(called["called"]) == "aside":
        return Led(None)
    name = "" if family == "step" else called["called"].strip()
    return Led(led_by_step(text[called.end() :], step, answer, alone=True).stated, None, name)


def value_behind(text: str, start: int, step: RubricStep, answer: Answer) -> Stated | None:
    """The value right behind a step's mark, with no word between: ``cpr_01 2, cpr_02: 3``."""
    return value_at(text, _end(_CONNECTS, text, start), step, answer, remark=False)


def _end(pattern: re.Pattern[str], text: str, start: int) -> int:
    match = pattern.match(text, start)
    return match.end() if match else start


# --- sentences --------------------------------------------------------------------------------------------------------

_FILL = (
    r"(?:a|an|the|it|this|that|him|her|them|my|step|trainee(?:'s)?|candidate(?:'s)?|student(?:'s)?|performance|as|at"
    r"|with|only|just|of|for|score|rating|mark|grade|points?|out|total|final|value|overall|to|is|be|are|was|would"
    r"|should|will|full(?=\s[0-9])|therefore|thus|equals|comes|stands|item|skill|video|clip|on|in|here)"
)
_GIVE = (
    r"(?:giv(?:e|es|ing|en)|gave|award(?:s|ed|ing)?|assign(?:s|ed|ing)?|earn(?:s|ed)?|gets?|got|receiv(?:e|es|ed)"
    r"|merit(?:s|ed)?|deserv(?:e|es|ed)|scor(?:e|es|ed|ing)|says?|obtain(?:s|ed)?|achiev(?:e|es|ed)"
    r"|(?:rat(?:e|es|ed|ing)|grad(?:e|es|ed))(?!\s(?:score|rating|mark|grade))|warrants?|marks?|points"
    r"|grant(?:s|ed)?|result(?:s|ing)? in|leav(?:es?|ing)|go with|settle on|assess|yields?|judge[ds]?)"
)
_GIVEN = re.compile(
    rf"\b{_GIVE}\b(?:[\s:=\"'(,]{{1,3}}(?:{_FILL}\b|\[?{STEP}\]?)){{0,9}}(?<!\brate)(?<!rates)(?<!marks)(?<!points)"
    r"[\s:=\"'(]{1,4}(?=[0-9a-z])"
)
_IN_FULL = re.compile(
    r"(?:full|zero|no|maximum) (?:points|marks|credit)"
    r"(?! (?:minus|less|-|deduct|lost|off|were|was|require|would|need|for|if|taken|lose|only)"
    r"|\s*[0-9]|\s*(?:\(\s*[0-9]+\s*\)\s*)?:)"
)
_HAN_GIVEN = re.compile(
    r"(?:得分|评分|分数|给分|打分|得|给予|给|打|评|评定|记|计|获|判)(?:为|是|了|到|其|:|\s){0,3}(?:满分(?=[0-9]))?(?=[0-9满])"
)
_FOR_STEP = re.compile(
    rf"(?P<value>(?<![0-9.:/])(?:{NUMBER}|{'|'.join(NUMBER_WORDS)})"
    rf"(?:\s*{UNIT}(?:\s*(?:/|out of|of)\s*{NUMBER})?|\s*/\s*{NUMBER}))"
    rf"\s+(?:for|on|in|to)\s+(?P<step>{STEP})"
)
_OF_STEP = re.compile(rf"\s*(?:for|on|in)\s(?P<step>{STEP})")
_IS_POINTS = re.compile(
    rf"\b(?:it|that|this|the (?:result|outcome))(?:'s|\s(?:is|would be|was))\s(?:an?\s)?"
    rf"(?={NUMBER}\s*(?:{UNIT}|/|out of)|(?<=\sa\s){NUMBER})"
)
_APPROPRIATE = re.compile(
    rf"(?P<value>(?<![0-9.:/])(?:{NUMBER}|{'|'.join(NUMBER_WORDS)})\s*{UNIT})\s+(?:is|are|would be|seems?)\s+"
    r"(?:appropriate|my|fair|justified|warranted|awarded|given|deserved|the score)\b"
)
_JUDGEMENT = r"(?:verdict|answer|judge?ment|conclusion|assessment|decision)"
_SUBJECT_REF = (
    rf"(?:{STEP}|(?:this|the|that)\s(?:(?:final|overall|whole|entire|asked|above|present|current|shown)\s)?(?:step|skill|item|task|procedure|performance|trainee|{_JUDGEMENT}|result"
    rf"|execution|technique)(?:\s(?:is|was|of|for)\s{STEP})?|it|this|he|she|they|there|performance"
    r"|trainee(?:'s\s(?:performance|technique|execution))?"
    rf"|my\s{_JUDGEMENT}|verdict|i)"
)
_IS = re.compile(
    rf"{_SUBJECT_REF}\s?(?:'s\b|is|was|are|were|has been|have been|be|has|have|contains?|shows?)\s*"
    r"(?:(?:also|therefore|thus|hence|considered|judged|rated|marked|deemed|classified|assessed|scored|being|as|to be"
    r"|overall|clearly|an error and|again|likewise|both|all"
    r"|performed|executed|done|carried out|completed|labell?ed)[\s,]+){0,3}[:\s]*"
)
_CORRECTLY = r"(?=(?:fully\s|completely\s|entirely\s)?(?:in)?correctly)"
_DID = re.compile(
    r"(?P<not>(?:did|does|do|has|have|was|were|is)(?:\s?n't|\snot)\s)?"
    r"(?:perform(?:s|ed)?|appears? to perform|execut(?:es|ed)|d(?:oes|id|one)|complet(?:es|ed)|carri(?:es|ed)\sout)\s+"
    rf"(?:(?:{STEP}|this|the|that|it|steps?|was|were|is|all|skill|task|also|both|compressions)\s*){{0,4}}{_CORRECTLY}"
    rf"|{STEP}\s+(?:was\s|is\s)?(?:also\s|both\s)?(?:performed|executed|done|completed|carried out)\s+{_CORRECTLY}"
)
_JUDGED = re.compile(
    r"(?:(?:judg(?:e|ed)|rat(?:e|ed)|mark(?:ed)?|classif(?:y|ied)|consider(?:ed)?|label(?:l?ed)?|deem(?:ed)?|counts?"
    r"|assess(?:ed)?|evaluat(?:e|ed)|scored?|call|say)\s+(?!(?:is|was|be|for)\b)|(?:answer|verdict)\s+)"
    rf"(?:(?:is|it's|as|to be|{STEP}|this|the|that|it|step|performance|for|was|be|would be|must be|should be|trainee's)"
    r"[\s:]+){0,6}[\s:\"'“]*"
)
_HAN_JUDGED = re.compile(
    rf"(?:答案|判定|评定|判断|判|认定|属于|视为|均|操作|执行|完成|做得|动作|表现|{STEP}|步骤|结论|结果)"
    r"(?:为|是|得|均|都|应|操作|执行|结果|:|\s){0,4}"
    r"[「『“\"']?(?=完?全?操?作?(?:正确|错误|不正确|有误|无误|存在错误|correct|incorrect))"
)
_FORMS = {
    "score": (_GIVEN, _HAN_GIVEN, _FOR_STEP, _IS_POINTS, _APPROPRIATE),
    "error": (_IS, _DID, _JUDGED, _HAN_JUDGED),
}
"""Forms of giving an answer, up to its value."""

_SUBJECT = _set(
    "steps should appropriate suitable fair trainee's i i'd i'll we we'd would will must can do my our the this that "
    "these it its he she they trainee candidate candidate's student student's examinee performance step step's "
    "skill technique overall final score scores rating mark points for to of on is was be been a an based rubric "
    "criteria criterion guidelines requirement provided standard according video clip frames footage shown "
    "observed in by therefore recommend suggest judge think believe conclude decide decided assess assessed "
    "evaluate evaluation assessment judgment judgement giving consequently accordingly finally again still just "
    "also only fully so thus hence then altogether per under from above all observations observation reviewing "
    "after watching considering given with and one both have has had now here am as item correctly performed "
    "executed done judged say here's that's it's feel "
)
"""Words of a clause before a form of giving an answer that leave the answer the model's own."""
_HAN_SUBJECT = re.compile(
    r"(?:因此|其余|其他|剩余|所以|故此?|综上|综合|所述|来看|来说|而言|最终|本|该|此|这|一|个|步骤|步|项|操作|学员|考生|受试者|被试"
    r"|他|她|我|认为|可以?|应该?|将|在|对|于|的|评估|评定|评分|判断|判定|标准|按照?|根据|依据|视频|画面|片段|总体|整体|上|中|最后"
    r"|会|只能|仅|予|给|为|得分?|表现|动作|是|即|并|均|都|也|[ ,:])*"
)
_BOUNDARY = re.compile(
    r"[,;:.()!]\s*|->\s*|\b(?:so|therefore|thus|hence|because|since|which|overall|then|and|but|as|while|although"
    r"|though)\b\s*"
)
_SENTENCE = re.compile(
    r"(?<=[!;。！；])\s*|(?<=[?？])(?!\s*(?:yes|no|是|否)\b)\s*|(?<=\.)\s+(?![0-9]+\s*(?:cm|mm))"
    r"|(?<=[a-z\u3400-\u9fff]\.)(?=[\u3400-\u9fff\ue000-\uefff])|\n"
)
_NOT_MINE = re.compile(
    r"\b(?:(?:trainee|candidate|student|he|she|they) would|not?|never|or|cannot|could|may|maximum|at (?:most|least)"
    r"|less|more|between|up to|partially|partly|mostly|almost|nearly|should not|than|off|deduct\w*|lost|lose|minus"
    r"|penalt\w*)\b|n't\b|不能|不给|不得|不应|扣|满分为|至多|至少|最多|最低|不超过|部分|基本"
)
"""Words of a clause that give no answer, or half of one."""
_OUTSIDE = re.compile(rf"(?<![(\[]){STEP}")
_PARTLY = {
    "score": re.compile(
        r"\bfor\b[^.,;]{0,40}\bonly\b|\bonly for\b|\b(?:and|but)\s+(?:he |she |they )?(?:loses?|lost)\b"
        rf"|(?:,|\band)\s*{NUMBER}\s*(?:points?|marks?)?\s+(?:for|on)\b(?!\s(?:{STEP}|this|the step))"
    ),
    "error": re.compile(r"\bmost part\b|\bfor half\b|\bat (?:first|the beginning)\b|\binitially\b"),
}
"""Words of a sentence that speak of parts of a step."""
_WITHDRAWN = re.compile(rf"\b(?:retract|withdraw|take back|disregard|ignore|scratch)\b[^.\n]{{0,40}}?(?P<step>{STEP})")
_LONG = 1000
"""Characters up to which a sentence is read."""


def sentences(text: str) -> list[str]:
    """The sentences of a folded text."""
    return [sentence for sentence in _SENTENCE.split(text) if sentence and sentence.strip()]


def stated_in(sentence: str, marks: Marks, owner: tuple[int, ...], answer: Answer) -> Iterator[Stated]:
    """The values that a folded sentence states, each for the steps that it names or for the ``owner``."""
    if len(sentence) > _LONG:
        return
    asks = sentence.rstrip().endswith(("?", "？"))
    is_open = asks or any(words.search(sentence) for words in (UNCERTAIN, _PARTLY[answer]))
    in_full = _IN_FULL.search(sentence) if answer == "score" and owner else None
    if in_full and not _NOT_MINE.search(sentence, _clause_start(sentence, in_full.start()), in_full.start()):
        said = marks.steps[owner[0]].max_score if in_full[0][0] in "fm" else 0.0
        yield Stated("ambiguous" if is_open else said, in_full.end(), owner)
    for form in _FORMS[answer]:
        at = 0
        while match := form.search(sentence, at):
            at = max(match.end(), match.start() + 1)
            stated = _given_by(match, sentence, marks, owner, answer)
            if stated is not None:
                yield stated._replace(reading="ambiguous") if is_open else stated


def _given_by(
    match: re.Match[str], sentence: str, marks: Marks, owner: tuple[int, ...], answer: Answer
) -> Stated | None:
    """The value behind a form of giving an answer, and whose it is."""
    form, begin = match.re, _clause_start(sentence, match.start())
    named = {marks.places(mark) for mark in re.findall(STEP, sentence[begin : match.end()])}
    if not named and (before := _OUTSIDE.findall(sentence, 0, begin)):
        named = {marks.places(before[-1])}
    places = owner if not named else named.pop() if len(named) == 1 else ()
    if not places:
        return None
    negation = match["not"] if form is _DID else None
    leads = form in (_FOR_STEP, _APPROPRIATE)  # the value comes first
    start = match.start("value") if leads else match.end()
    after = re.compile(STEP).search(sentence, start)  # what is said of the next step is no remark on this one
    said = sentence[: after.start()] if after and not leads else sentence
    value = value_at(said, start, marks.steps[places[0]], answer, remark=not negation)
    if (
        value is not None and not leads and (whose := _OF_STEP.match(sentence, value.end))
    ):  # "earns 3 points for cpr_03"
        places = marks.places(whose["step"])
        value = value_at(said, start, marks.steps[places[0]], answer, remark=not negation)
    if value is None or _INTERJECTION.match(sentence, start):
        return None
    if negation:  # "did not perform this step correctly"
        value = value._replace(reading=1.0 if value.reading == 0.0 else "ambiguous")
    if form is _HAN_GIVEN and not _UNITED.search(sentence[start : value.end]) and "分" not in match[0]:
        return None
    giving = sentence[begin:start].replace(negation or "\0", " ")
    if (not leads and _NOT_MINE.search(giving)) or not _is_subject(sentence[begin : match.start()]):
        return None
    return value._replace(places=places)


def _clause_start(sentence: str, end: int) -> int:
    """The beginning of the clause that a place of a sentence lies in."""
    return max((mark.end() for mark in _BOUNDARY.finditer(sentence, 0, end)), default=0)


def _is_subject(lead: str) -> bool:
    """Test whether the words of a clause before a form of giving an answer all belong to giving one."""
    han = "".join(re.findall(r"[\u3400-\u9fff]+", lead))
    return not lead.startswith("to ") and _latin(lead) <= _SUBJECT and _HAN_SUBJECT.fullmatch(han) is not None


def _latin(text: str) -> set[str]:
    return set(re.findall(r"[a-z]+(?:'[a-z]+)?", text))


def is_lead(text: str, answer: Answer) -> bool:
    """Test whether a text before ``cpr_01: 2, cpr_02: 3`` introduces answers: "I'd score it as follows"."""
    if answer == "score" and key_of(text.strip()).polarity:  # "Errors per step"
        return False
    return UNCERTAIN.search(text) is None and _latin(text) <= _SUBJECT | ANSWERS | COURTESY


def withdrawn_in(sentence: str, marks: Marks) -> tuple[int, ...]:
    """The steps whose answer a sentence takes back without giving another."""
    match = _WITHDRAWN.search(sentence)
    return marks.places(match["step"]) if match else ()

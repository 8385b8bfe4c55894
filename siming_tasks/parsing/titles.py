"""Titles before an answer: the grammar of keys, so that a heading over another quantity is no answer either.

A *title* is a few words that name what follows (``Deductions:``, ``## Ground truth``). A sentence (``Based on the
provided frames:``) is none and decides nothing. Titles are an allow-list, as keys are: one that names points, verdicts
or what holds them is an answer's; one of other quantities is an aside; one with any other noun leaves the answer open.
"""

from __future__ import annotations

import re

from siming_tasks.parsing.grammar import ANYWHERE, FAMILIES

_BY_NAME = {family.name: family for family in FAMILIES}
_OTHER = ("maximum", "scale", "unit", "percent", "quantity", "words about")
_ANSWERING = (
    *("points", "verdict", "assessment", "correct?", "error?", "answer", "status", "skill", "holder", "total"),
)


def _set(text: str) -> frozenset[str]:
    return frozenset(text.split())


def _words_of(*names: str) -> frozenset[str]:
    return frozenset().union(*(_BY_NAME[name].words for name in names))


QUANTITIES = _words_of(*_OTHER) - _set("full possible out note notes type")
"""Words of other quantities: a title of these and of words that stand beside them is an aside."""
_BESIDE_QUANTITIES = ANYWHERE | _words_of("points", "error?") | _set("output answer response json")

ANSWERS = (
    _words_of(*_ANSWERING)
    | ANYWHERE
    | _set(
        "scoring scored report summary sheet card json output grading judging feedback checklist complete full overall "
        "detailed individual clinical medical stepwise cpr aed bmv bag mask ventilation procedures procedural "
        "performance rubric based table breakdown trainees students my our awarded assigned given earned obtained "
        "structured requested required numeric binary single one two three assessed detection or format code block "
        "object brief short quick videos clips exams assistant"
    )
    | _set(
        "bewertung bewertungen beurteilung beurteilungen ergebnis ergebnisse punkte punktzahl punktzahlen urteil "
        "urteile antwort prüfung prüfling der die das des den dem meine hier ist sind folgt und im évaluation "
        "évaluations résultat résultats réponse réponses la le les du mon ma mes voici de en evaluación evaluaciones "
        "resultado resultados puntuación puntuaciones respuesta veredicto veredictos aquí está mi el los las "
        "del als comme como wie format formato"
    )
)
"""Words of titles that name answers, or what holds them."""

COURTESY = ANYWHERE | _set(
    "here is are was were it its you go below following follows sure okay ok certainly course great thanks thank hello "
    "hi understood yes done ready alright well so now then but please let me i we has have had i'll i've we've there "
    "these those as requested required provided given in format json above below based on from with using after before "
    "see attached answer answers output response result results python code text plain markdown hence therefore "
    "thus accordingly overall conclusion summary consequently altogether"
)
"""Words of a reply's beginning that name nothing."""

_SENTENCE = _set(
    "based on here is are was were i we you it as after before according below following have has had let these those "
    "from at because since with using given i'll i've my would will can could having when where which who how what if "
    "than while"
)
"""Words that a sentence has and a title has not."""

_SPEECH = re.compile(
    r"\b(?:this|last|next|second|first|one more|another|each|every|more)"
    r" (?:time|look|pass|round|thought|glance|view(?:ing)?|try|attempt)s?\b"
    r"|\b(?:wait|just|hold on)(?: for)? (?:a|one) (?:second|minute|moment)\b"
    r"|\bas (?:an? |the |your )?(?:\w+ ){0,2}(?:examiner|rater|assessor|physician|expert|instructor|teacher|judge)\b"
    r"|\b(?:in|at) the end\b|\bon (?:second|further) thoughts?\b|\b(?:high|low|more|less|very|fully) confiden(?:t|ce)\b"
    r"|\b(?:of|for|from|over|in) (?:the |all |these |those )?(?:\w+ )?"
    r"(?:frames?|images?|pictures?|videos?|clips?|footage)\b"
)
"""Turns of speech whose words name no quantity: "this time", "wait a second", "of the frames"."""

_LATIN = re.compile(r"[a-zà-öø-ÿ]+(?:'(?!s\b)[a-z]+)?")
_HAN = re.compile(r"[\u3400-\u9fff]+")
_HAN_SENTENCE = re.compile(
    r"根据|基于|按照|依据|以下|如下|下面|请|要求|提供|观察|[再重]?看|重新|修正|更正|修订|改|经过|以上|这是|我|您|你|好的|是"
)
_HAN_LOST = re.compile(r"扣分|失分|满分")
_HAN_OTHER = re.compile(rf"(?:{'|'.join(_BY_NAME[name].chinese for name in _OTHER)})")
_HAN_FOREIGN = re.compile(
    r"标准|参考|扣|失|满分|最高|最低|平均|预期|目标|示例|上次|之前|人工|医生|专家|考官|对手|模板|格式|权重|置信|难度|时间|帧"
)
_HAN_ANSWER = re.compile(
    r".*(?:评分|得分|分数|打分|评估|评价|判断|判定|结论|结果|答案|考核|检查|正误|对错)(?:表|单|结果|如下|汇总|报告|情况)?"
)
_MOST_WORDS, _MOST_HAN = 6, 12
_FEW_WORDS = 4
"""Words up to which a title of unknown words is taken for one."""


def without_speech(label: str) -> str:
    """A folded label without turns of speech such as "this time" and "wait a second"."""
    return _SPEECH.sub(" ", label)


def title_role(label: str) -> str | None:
    """``aside``, ``draft`` or ``answer`` of a folded label that is a title; None for a sentence, or for no words."""
    latin, han = _LATIN.findall(label), "".join(_HAN.findall(label))
    if han and not latin:
        return _han_role(han)
    words = set(latin)
    if not latin or len(latin) > _MOST_WORDS:
        return None
    if words & QUANTITIES and words <= QUANTITIES | _BESIDE_QUANTITIES:
        return "aside"
    if words <= COURTESY or words & _SENTENCE:
        return None
    if words <= ANSWERS:
        return "answer"
    return "draft" if len(latin) <= _FEW_WORDS else None


def _han_role(text: str) -> str | None:
    if (_HAN_SENTENCE.search(text) or len(text) > _MOST_HAN) and not _HAN_LOST.search(text):
        return None
    if _HAN_FOREIGN.search(text) or _HAN_OTHER.fullmatch(text):
        return "aside"
    return "answer" if _HAN_ANSWER.fullmatch(text) else "draft"

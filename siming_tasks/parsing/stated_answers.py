"""Answers that a sentence states: "I would give this step a score of 2", "performed this step correctly"."""

from __future__ import annotations

import re

from siming_tasks.common.schema import Answer
from siming_tasks.parsing.json_answers import Reading
from siming_tasks.parsing.lexicon import fold_name
from siming_tasks.parsing.remarks import corrects
from siming_tasks.parsing.titles import title_role
from siming_tasks.parsing.values import points, verdict
from siming_tasks.rubrics import RubricStep

_NUMBER = r"([0-9]{1,3}(?:\.[0-9])?)"
_REASONED = re.compile(
    rf"\**{_NUMBER}\**\s*(?P<of>/\s*[0-9]{{1,3}}(?:\.[0-9])?|points?|pts|分)?\**"
    r"(?:\s*[.。;；]\s+(?=\D)|\s*[,，]?\s*(?:(?:because|since|as|due to|for)\b|因为|由于))(?P<reason>.*)",
    re.DOTALL,
)
_THIS = r"(?:^|\b(?:this|that|the|my|final|overall|entire|whole|above|asked)\s+)"
_STATED = {
    "score": re.compile(
        r"\W*(?:(?:final |my )?(?:score|rating|points)|得分|评分|分数)\W{0,4}[:：]\W{0,4}"
        rf"{_NUMBER}(?:\s*/\s*[0-9]+)?"
        r"\s*(?:points?|分)?\W*\Z"
        rf"|\b(?:score|mark|grade)\s+(?:for this step\s+)?(?:is|of|would be|=)\s+{_NUMBER}"
        r"(?![0-9]|\.[0-9]|\s*(?:%|cm|s\b|sec))"
        r"|\b(?:awarded?|gives?|given|assign(?:ed)?|earns?|gets?|receives?|merits?|deserves?)\b[^.\n0-9]{0,30}?"
        rf"{_NUMBER}\s*(?:points?\b|out of|/)|(?:得|打|得分[为是])\s*{_NUMBER}\s*分(?!的)",
        re.IGNORECASE,
    ),
    "error": re.compile(
        r"\b(?:performed|executed|done|completed|carried out)\b[^.\n]{0,40}?\b((?:in)?correctly)\b"
        rf"|{_THIS}(?:step|verdict|answer|judge?ment)\s+(?:is|was)\s+[\"'“”‘’*]{{0,3}}((?:in)?correct)\b"
        r"|(?:步骤|操作|动作)(?:完成得|做得|执行)?(不正确|正确|错误)|(?:判定|评定|判断)为\s*(不正确|正确|错误)",
        re.IGNORECASE,
    ),
}
_NOT_DONE = re.compile(
    rf"(?P<what>{_THIS}(?:step|procedure|skill|performance))\s+(?:is|was)(?:\s+not|n't)\s+"
    r"(?:(?:fully|entirely|completely|totally)\s+)?"
    r"(?:(?:performed|executed|done|completed|carried out)\s+(?:fully\s+)?correctly|correct)\b",
    re.IGNORECASE,
)
"""``The step was not performed correctly``: a verdict, and no doubt about one."""
_OF = re.compile(
    r"\s*(?:points?|分)?\s*(?:(?:[,，]\s*)?(?:out of|/|[(（]?满分为?|[(（]out of|[(（]max(?:imum)?:?)"
    r"\s*(?P<top>[0-9]{1,3}(?:\.[0-9])?)|(?:less|more|fewer|higher|lower|off|lost|deducted|of deduction)\b)"
)
_OWN_TOP = re.compile(r"[(（]\s*满分为?\s*([0-9]{1,3}(?:\.5)?)\s*分?\s*[)）]")
_MINE = re.compile(r"\bi(?:'d| would)(?= (?:give|score|rate|award))")
_DOUBTED = re.compile(
    r"\b(?:not|if|should|would|could|might|may|whether|or|but|maximum|per|each|unless|possible|unclear|hard|difficult"
    r"|unsure|never|cannot|can't|example|previous(?:ly)?|(?:prior|earlier|last|first) (?:answers?|scores?|attempts?|"
    r"verdicts?|ratings?|responses?)|ground truth|references?|official|experts?|labels?|average|perfect|ideal"
    r"|doubt|only|friend|colleague|classmate|peer|instructor|teacher"
    r"|(?:rubric|criteri(?:on|a)) (?:says?|states?)|(?:a|any|every) (?:step|trainee)"
    r"|an?other (?:rater|examiner|judge|model)|(?:other|first|second) (?:rater|examiner|judge)"
    r"|in part|part(?:ly|ially)|mostly|almost|nearly)\b|n't\b"
    r"|\b(?:next|previous|following|preceding|other|another|first|second|earlier|last)"
    r" (?:steps?|attempts?|trainees?|videos?|clips?)\b"
    r"|如果|可能|是否|无法|满分|平均|上次|专家|参考|标准答案|同学|别人|他人|另一|考官"
)
"""Words of a sentence that states no answer, or half of one."""


def without_reason(text: str) -> str:
    """A value without the reason behind it, which may hold other numbers (``2. The chest was pressed 4 cm deep.``)."""
    reasoned = _REASONED.fullmatch(text)
    if reasoned is None or corrects(reasoned["reason"]):
        return text
    return f"{reasoned[1]} {reasoned['of'] or ''}".strip()


def stated_answer(text: str, step: RubricStep, answer: Answer) -> Reading | None:
    """The answer that all sentences of a text state; None if none does, they differ, or one is in doubt."""
    said: set[Reading] = set()
    label = ""
    for written in re.split(r"(?<=[.!?])\s|(?<=[。！？\n])", text):
        sentence = _NOT_DONE.sub(r"\g<what> is incorrect", written.strip())
        sentence = _OWN_TOP.sub(lambda top: "" if float(top[1]) == step.max_score else top[0], sentence)
        named, label = title_role(fold_name(label)), sentence
        for match in _STATED[answer].finditer(sentence):
            if named in ("aside", "draft") and match.start() == 0:  # "Example. Score: 4"
                return None
            if sentence.endswith(("?", "？")) or _DOUBTED.search(_MINE.sub("", sentence.lower())):
                return None
            top = _OF.match(sentence, match.end(next(i for i, word in enumerate(match.groups(), 1) if word)))
            if answer == "score" and top and float(top["top"] or -1) != step.max_score:
                return None
            word = next(word for word in match.groups() if word).lower()
            is_score = answer == "score"
            said.add(
                points(word, step.max_score, step.score_increment) if is_score else verdict(word.removesuffix("ly"))
            )
    return said.pop() if len(said) == 1 and not corrects(text) else None

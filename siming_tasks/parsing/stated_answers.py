"""Answers that a sentence states: "I would give this step a score of 2", "performed this step correctly"."""

from __future__ import annotations

import re

from siming_tasks.common.schema import Answer
from siming_tasks.parsing.afterthoughts import corrects
from siming_tasks.parsing.json_answers import Reading
from siming_tasks.parsing.values import points, verdict
from siming_tasks.rubrics import RubricStep

_NUMBER = r"([0-9]{1,3}(?:\.[0-9])?)"
_REASONED = re.compile(
    rf"\**{_NUMBER}\**\s*(?P<of>/\s*[0-9]{{1,3}}(?:\.[0-9])?|points?|pts|分)?\**"
    r"(?:\s*[.。;；]\s+(?=\D)|\s*[,，]?\s*(?:(?:because|since|as|due to|for)\b|因为|由于))(?P<reason>.*)",
    re.DOTALL,
)
_STATED = {
    "score": re.compile(
        rf"\b(?:score|mark|grade)\s+(?:for this step\s+)?(?:is|of|would be|=)\s+{_NUMBER}"
        r"(?![0-9]|\.[0-9]|\s*(?:%|cm|s\b|sec))"
        r"|\b(?:awarded?|gives?|given|assign(?:ed)?|earns?|gets?|receives?)\b[^.\n0-9]{0,30}?"
        rf"{_NUMBER}\s*(?:points?\b|out of|/)|得\s*{_NUMBER}\s*分",
        re.IGNORECASE,
    ),
    "error": re.compile(
        r"\b(?:performed|executed|done|completed|carried out)\b[^.\n]{0,40}?\b((?:in)?correctly)\b"
        r"|\b(?:step|verdict|answer|judge?ment)\s+(?:is|was)\s+((?:in)?correct)\b"
        r"|(?:步骤|操作|动作)(?:完成得|做得|执行)?(不正确|正确|错误)",
        re.IGNORECASE,
    ),
}
_MINE = re.compile(r"\bi(?:'d| would)(?= (?:give|score|rate|award))")
_DOUBTED = re.compile(
    r"\b(?:not|if|should|would|could|might|may|whether|or|but|maximum|per|each|unless|possible|unclear|hard|difficult"
    r"|unsure|never|cannot|can't|example|in part|part(?:ly|ially)|mostly|almost|nearly)\b|n't\b"
    r"|如果|可能|是否|无法|满分"
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
    for sentence in re.split(r"(?<=[.!?])\s|[\n。！？]", text):
        for match in _STATED[answer].finditer(sentence):
            if _DOUBTED.search(_MINE.sub("", sentence.lower())):
                return None
            word = next(word for word in match.groups() if word).lower()
            is_score = answer == "score"
            said.add(
                points(word, step.max_score, step.score_increment) if is_score else verdict(word.removesuffix("ly"))
            )
    return said.pop() if len(said) == 1 and not corrects(text) else None

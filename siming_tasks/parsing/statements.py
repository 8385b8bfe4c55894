"""Statements: the answer that one sentence gives a step, and the words that correct, doubt or judge.

Sentences are folded (:func:`siming_tasks.parsing.lexicon.fold_value`).
"""

from __future__ import annotations

import re
from functools import lru_cache

from siming_tasks.common.schema import Answer
from siming_tasks.parsing.lexicon import CORRECT, INCORRECT, fold_sentence
from siming_tasks.rubrics import RubricStep

CORRECTS = re.compile(
    r"\b(?:correction|actually|should(?:n't)? (?:be|have been|read)|on (?:reflection|second thought)|scratch that"
    r"|make (?:that|it)|i(?:'d| would) (?:rather|now|instead|change)|changed? (?:it|that|this|to)|instead|rather|wait"
    r"|oops|sorry|i meant|must be|final(?=\W*[:：])|final (?:score|points|answer|verdict|decision|judge?ment)"
    r"|korrektur|eigentlich|sollte|en fait|devrait|plutôt|corrección|en realidad|debería)\b"
    r"|更正|应为|应该是|改为|实际上|修正|最终|訂正|実際|정정|사실"
)
"""Words of a sentence that may give another answer than the one before it."""
CORRECTION = re.compile(
    r"\b(?:correction|i (?:need|have|want|must|should)(?: to)? (?:correct|fix|revise|change)|let me (?:correct"
    r"|fix|revise)"
    r"|correcting|replac(?:es|ing) (?:the|my)|hold on|i change my"
    r"|needs? (?:fixing|correcting|to be (?:fixed|corrected|changed))|wait|oops|sorry|scratch that|i meant"
    r"|on (?:reflection|second (?:thoughts?|look))|i (?:made a mistake|misread|miscounted|overlooked|got that wrong)"
    r"|re-?(?:watch|view|check|examin)\w*|korrektur|corrección)\b|更正|修正|订正|訂正|정정|改为|重新(?:看|核|检|审)"
)
"""Words that announce a correction, in the sentence that makes it or in one before."""
DOUBTFUL = re.compile(
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
    r"(?P<value>[0-9]{1,3}(?:\.[0-9])?"
    r"|(?:zero|one|two|three|four|five)(?=\W*(?:$|points?\b|marks?\b|out of\b|for\b|[/.,;:!)])))(?![0-9a-z_]|\.[0-9])"
    r"(?!\s*(?:points?|marks?)?\s(?:off|lost|deducted|taken|less|removed)\b)"
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
_CONCLUDES = re.compile(
    r"\b(?:so|hence|thus|therefore|might|may|could)\W+(?:also )?(?:(?:the|a|an|it|is|of|be|score|points?|final"
    r"|gets?|deserve|give|i"
    rf"|step|rate|would)\s+)*{_VALUE}"
)
"""The end of a reason for points, or a doubt about them."""
_FULL = re.compile(r"\bfull (?:points|marks|credit|score)\b|满分(?!为|是|[0-9])")
NO_ANSWER = re.compile(
    r"\b(?:max(?:imum)?|scale|worth|previous|earlier|first (?:pass|look|attempt|glance)|initial\w*|example|e\.g"
    r"|deduct\w*|costs?|lost"
    r"|loses?|minus|another|assistant|rubric|criteri\w+|full points? (?:require|need)|frame|seconds?)\b"
    r"|满分|扣|減点|감점|abzug|例|上次|最初"
)
"""Words of sentences before an answer whose values are none."""
UNRESOLVED = re.compile(
    r"\b(?:correction|scratch that|oops|update)\b(?=\W+\w)|\b(?:please )?(?:change|correct|fix|replace"
    r"|swap) (?:the|step|score|my)\b"
    r"|\b(?:should|must) (?:be|have been) (?:[0-9]|one|two|zero|lower|higher|full|changed|swapped)\b(?!\s*(?:%"
    r"|s\b|sec|min|cm|mm|times"
    r"|compress|breath|frames|[-–]|to\b|\.[0-9]))|更正|订正"
)
"""Corrections whose value or step cannot be told."""
STRUCK = re.compile(
    r"\bno longer (?:think|believe|hold|stand)\b"
    r"|\b(?:strike|remove|drop|exclude|retract|withdraw|take back|leave out|disregard|ignore|delete|omit|void)\b"
    r"|\bno (?:verdict|answer|rating) (?:for|can be|could be)\b"
    r"|\b(?:zurück(?:nehmen|ziehen|genommen|gezogen)|nehme\b[^.]{0,30}\bzurück|widerrufe\w*|retirer?|annuler?|retirar"
    r"|retiro|anul(?:ar|o))\b|撤回|收回|不予评|取り消|取消|撤销|취소|철회"
)
"""Words that take the answer of a named step back."""
DEDUCTS = re.compile(
    r"\(\s*[-−]\s?[1-9](?: points?)?\s*\)|\b(?:deduct(?:ed|ing|s)?|lost|loses?|costs?|costing|minus)\W+(?:\w+ )?"
    r"(?:[1-9]|one|two|three) points?\b"
    r"|\b(?:[1-9]|one|two|three) points? (?:were |was |are |is |has been |have been )?(?:lost|deducted"
    r"|taken off)\b|扣\s?[1-9]\s?分"
)
"""Points of a step that were lost."""
_NUMBERS = dict(zip(("zero", "one", "two", "three", "four", "five"), map(float, range(6)), strict=True))
_TITLED = {
    "score": re.compile(
        r"\W*(?:(?:my|the) )?(?:final |overall |total )?(?:final|score|points?|rating|mark|得分|评分|分数)"
        r"(?:\W{0,4}[:：=]| is)\W{0,4}" + _VALUE
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
    r"(?P<good>^\W*(?:this|it|that) is (?:correct|right)\W*$|\b(?:answer|verdict|judge?ment|conclusion) (?:is"
    r"|should be|must be)"
    r" [\"'*]{0,3}correct\b|\b(?:step|everything|(?<!mostly )performance|it|all of it)\b[^.,]{0,20}\b(?:performed"
    r"|executed"
    r"|done|completed"
    r"|carried out|is|was)\b (?!not\b|never\b)(?:(?!not\b)\w+ )?(?:fully|completely|entirely"
    r"|perfectly) (?:correct(?:ly)?)\b"
    r"|\bfull (?:points|marks|credit|score)\b[^.,]{0,12}\b(?:due|awarded|given|earned|deserved|warranted|justified)\b"
    r"|\b(?:no|without(?: any)?) (?:errors?|deviations?|mistakes?)(?: (?:were|was|is|are))?(?: (?:made|seen|found"
    r"|observed"
    r"|present|detected|visible))?\W*$|(?:该步骤|操作|动作)(?:完全|全部)正确|没有(?:任何)?(?:错误|偏差)\W*$|应得满分)"
    r"|(?P<bad>^\W*(?:this|it|that) is (?:wrong|incorrect|not correct)\W*$|\b(?:answer|verdict|judge?ment|conclusion)"
    r" (?:is|should be|must be) [\"'*]{0,3}incorrect\b|\b(?:step|performance)\b[^.,]{0,20}\b(?:is"
    r"|was)(?: therefore| thus| clearly)?"
    r" (?:incorrect|wrong|not (?:fully |entirely )?correct|performed incorrectly"
    r"|not (?:performed|done|executed) (?:fully |entirely )?correctly)\b"
    r"|\b(?:zero|no|0) (?:points|marks|credit)\b(?! (?:were |was |are |is )?(?:lost|deducted|off|taken))"
    r"|(?:该步骤|操作|动作)(?:不正确|错误)|不得分|应得0分)"
)
"""Words that judge the whole step: all of it well, or not."""
_NOT = re.compile(r"\b(?:not|never|hardly)\b|n't\b|(?<!无)不(?!误)")
COMMENT_DOUBTS = re.compile(
    r"\b(?:not sure|unsure|uncertain|(?:probably|likely|maybe|perhaps|possibly)\b[^.]{0,20}\b(?:wrong|higher|lower|less"
    r"|more|[0-9])|should be (?:lower|higher|less|more)|placeholder|guess(?:ed|ing)?|made up|todo|tbd|fixme|xxx|to be"
    r" (?:checked|confirmed|filled)|example|dummy|assum\w+|too (?:high|low|generous|strict|harsh)|wrong value|typo"
    r"|invented|don't think|can(?:no|')t tell|no idea)\b|\?\?|^\W*(?:\w+ )?\W*or\b|待定|占位|不确定|猜"
)
GOES_ON = re.compile(r"\W*(?:it|this|that|so|therefore|thus|hence|它|这|该步骤|所以|因此)")
"""The beginning of a sentence about the step that the sentence before it named."""
_SHORT = 80
"""Characters of a sentence that says little more than a step's verdict."""


def corrects(text: str) -> bool:
    """Test whether a text has words that correct what it said before."""
    return CORRECTS.search(fold_sentence(text)) is not None


def judged(sentence: str) -> bool | None:
    """True where a folded sentence calls the whole step well done, False where it does not, None if it says neither."""
    judged = _WHOLE.search(sentence)
    if judged is None:
        return None
    return bool(judged["good"]) and not _NOT.search(sentence, 0, judged.end())


def other_answer(
    sentence: str, step: RubricStep, reading: float | None, answer: Answer, *, alone: bool
) -> float | None:
    """The answer that a folded sentence gives a step in place of ``reading``; ``alone``: it need not name the step."""
    named = mention(step.id, step.name, step.name_zh).search(sentence)
    corrected = CORRECTS.search(sentence) or _WOULD.search(sentence)
    titled = _TITLED[answer].match(sentence) if alone else None
    concluded = alone and answer == "score" and _CONCLUDES.search(sentence)
    if reading is None or (named is None and not (alone and (corrected or titled or concluded))):
        return None
    rest = _DENIED.sub(" ", sentence[named.end() :] if named else sentence)
    rest = _FULL.sub(f" {step.max_score:g} ", rest) if answer == "score" else rest
    if answer == "error":
        said = {_verdict_of(word) for word in _VERDICT.findall(rest)} - {None}
        differs = said == {1.0 - reading} and bool(corrected or titled or len(sentence) < _SHORT)
        return 1.0 - reading if differs else None
    given = titled or _GIVES.match(rest) or (_CONCLUDES.search(rest) if alone else None)
    if given is None and corrected:
        given = _GIVES_LATER.search(rest) or _AFTER_COLON.search(rest)
    if given is None or given["top"] not in (None, f"{step.max_score:g}"):
        return None
    value = _NUMBERS[given["value"]] if given["value"] in _NUMBERS else float(given["value"])
    return value if value != reading and value <= step.max_score else None


@lru_cache(maxsize=512)
def mention(step_id: str, *names: str | None) -> re.Pattern[str]:
    """Pattern of a step's id, however its parts are joined, and of its names."""
    parts = re.findall(r"[a-z]+|[0-9]+", step_id.casefold())
    own = "[^a-z0-9]{0,3}".join(f"0*{int(part)}" if part.isdecimal() else part for part in parts)
    called = "|".join([own, *(re.escape(name.casefold()) for name in names if name)])
    return re.compile(rf"(?<![a-z0-9])(?:{called})(?![0-9])")


def _verdict_of(word: str) -> float | None:
    folded = "incorrect" if word.startswith("not ") else word.replace("in correct", "incorrect")
    return 1.0 if folded in INCORRECT | {"错误"} else 0.0 if folded in CORRECT else None

"""From a written value to points or a verdict, or the reason why not.

Polarity of yes/no words in verdicts. A word that is a verdict itself (*correct*, *错误*) means the same everywhere.
*true* and *false* depend on what they are said of; *yes*, *no*, 1, 0 are read only where the key asks a question:

==========================================  ===============  ===============
key                                         true             yes, 1, present
==========================================  ===============  ===============
``error``, ``incorrect``, ``has_error`` …   incorrect        incorrect
``correct``, ``is_correct``, ``正确`` …      correct          correct
``verdict``, ``answer``, a step's id …      correct          unreadable
==========================================  ===============  ===============
"""

from __future__ import annotations

import math
import re

__all__ = ["DENIED", "NEUTRAL", "STATED", "fold", "number", "points", "verdict"]

STATED, DENIED, NEUTRAL = 1, -1, 0
"""What "true" says of a step: that it is correct (``STATED``), that it is wrong (``DENIED``), or see the table."""

_WIDE = {code: code - 0xFEE0 for code in range(0xFF01, 0xFF5F)} | {0x3000: 0x20}
_NUM = r"[0-9]{1,18}(?:\.[0-9]{0,18})?(?:e[+-]?[0-9]{1,2})?|\.[0-9]{1,18}"
_NUMBER = re.compile(rf"(?P<sign>[-+\u2212]?)\s*(?P<value>{_NUM})")
_POINTS = re.compile(
    rf"""(?P<sign>[-+\u2212]?)\s*(?P<value>{_NUM})
         (?: \s*(?:points?|pts?\.?|marks?|分) )?
         (?: \s*(?: / | out\ of\b | of\b )\s*(?P<whole>{_NUM}) )?
         (?: \s*(?:points?|pts?\.?|marks?|分) )?
         \s*\.?
         (?: \s*\([^()0-9]*\) )?""",
    re.VERBOSE,
)
_NO_VALUE = frozenset({"", "null", "none", "n/a", "na", "not applicable", "unknown", "无法判断", "不适用", "未知"})
_NOT_FINITE = re.compile(r"[-+]?(?:nan|inf|infinity)")

_CORRECT = frozenset(
    "correct,right,no error,no errors,error free,errorless,without error,without errors,correctly performed,"
    "performed correctly,correct performance,not incorrect,not wrong,正确,对,无误,没有错误,无错误,操作正确".split(",")
)
_INCORRECT = frozenset(
    "incorrect,wrong,error,erroneous,not correct,not right,incorrectly performed,performed incorrectly,has error,"
    "has an error,has errors,with error,with errors,contains error,contains errors,error detected,error present,"
    "错误,不正确,有误,不对,错,有错误,存在错误,操作错误".split(",")
)
_YES = frozenset("yes,y,1,present,detected,是,有,存在".split(","))
_NO = frozenset("no,n,0,none,absent,否,无,没有,不存在,不是".split(","))
_EXPLAINED = re.compile(r"([^-:,.;(，。；：—–]{1,40}?)\s*(?:[-:,.;(，。；：—–]|\s—)(.*)", re.DOTALL)
_HEDGE = re.compile(r"correct|wrong|error|right|mistake|fault|but|however|except|partial|not |对|错|误|但|部分")


def fold(text: str) -> str:
    """Lower case, full-width ASCII made plain, quotes, emphasis and outer punctuation removed."""
    return text.translate(_WIDE).strip(" \t\r\n*_`'\"“”‘’。.!").casefold()


def number(text: str) -> float | None:
    """The plain number that ``text`` is, or None."""
    match = _NUMBER.fullmatch(text.translate(_WIDE).strip().casefold()) if len(text) <= 64 else None
    if match is None:
        return None
    value = float(match["value"])
    return -value if match["sign"] in ("-", "\u2212") else value


def points(text: str, max_score: float, *, quoted: bool = True) -> float | str:
    """Points out of ``max_score``: ``2``, ``2.0``, ``"2/3"``, ``"2 points"``, ``"２分"``; else a reason.

    Off the scale are numbers below 0 or above ``max_score``, parts of a point when ``max_score`` is whole, numbers
    out of another maximum, NaN and infinity.
    """
    if len(text) > 256:
        return "unreadable"
    said = text.translate(_WIDE).strip(" \t\r\n*`'\"“”‘’。").casefold()
    if said in _NO_VALUE:
        return "absent"
    if _NOT_FINITE.fullmatch(said):
        return "off_scale"
    match = _POINTS.fullmatch(said)
    if match is None:
        return "unreadable"
    value = float(match["value"])
    if match["sign"] in ("-", "\u2212"):
        value = -value
    if match["whole"] is not None and float(match["whole"]) != max_score:
        return "off_scale"
    whole_points = float(max_score).is_integer()
    if not math.isfinite(value) or not 0 <= value <= max_score or (whole_points and not value.is_integer()):
        return "off_scale"
    return abs(value)


def verdict(text: str, polarity: int = NEUTRAL) -> float | str:
    """1.0 for incorrect, 0.0 for correct (see the polarity table above); else a reason."""
    if len(text) > 256:
        return "unreadable"
    said = " ".join(fold(text).replace("_", " ").replace("-", " - ").split())
    plain = said.replace(" - ", " ")
    if plain in _CORRECT:
        return 0.0
    if plain in _INCORRECT:
        return 1.0
    stated = plain == "true" or (polarity != NEUTRAL and plain in _YES)
    if stated or plain == "false" or (polarity != NEUTRAL and plain in _NO):
        return float(stated == (polarity == DENIED))
    if plain in _NO_VALUE:
        return "absent"
    explained = _EXPLAINED.fullmatch(said)
    if explained and not _HEDGE.search(explained[2]) and not explained[1].startswith(("true", "false")):
        reading = verdict(explained[1])
        return reading if isinstance(reading, float) else "unreadable"
    return "unreadable"

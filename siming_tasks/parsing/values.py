"""From a written value to points or a verdict, or the reason why not.

A word that is a verdict itself (*correct*, *错误*) means the same under every key. What *true* and *yes* say depends on
what they are said of:

==========================================  ===============  ===============
key                                         true             yes, 1, present
==========================================  ===============  ===============
``error``, ``incorrect``, ``has_error`` …   incorrect        incorrect
``correct``, ``is_correct``, ``正确`` …      correct          correct
``verdict``, ``answer``, a step's id …      correct          unreadable
==========================================  ===============  ===============

*false*, *no*, 0 and *none* say the opposite of *true*, *yes*, 1 and *present*.
"""

from __future__ import annotations

import math
import re

__all__ = ["DENIED", "NEUTRAL", "STATED", "fold", "number", "points", "verdict"]

STATED, NEUTRAL, DENIED = 1, 0, -1
"""What a key's "true" says of a step: it is correct, see the table, it is wrong."""

MAX_VALUE = 256
"""A longer text is an explanation, not a value."""

_WIDE = {code: code - 0xFEE0 for code in range(0xFF01, 0xFF5F)} | {0x3000: 0x20, 0x2212: 0x2D}
_OUTER = " \t\r\n*_`'\"“”‘’。.!"
_NUM = r"(?:[0-9]{1,40}(?:\.[0-9]{0,40})?|\.[0-9]{1,40})(?:e[+-]?[0-9]{1,4})?"
_NUMBER = re.compile(rf"[-+]?{_NUM}")
_POINTS = re.compile(
    rf"""(?: (?:score|points?|得分|分数|评分) \s* [:=]? \s* )?
         (?P<value> [-+]?{_NUM} ) \s*
         (?: (?:points?|pts?\.?|marks?|分) \s* )?
         (?: (?: / | out\ of\b | of\b ) \s* (?P<maximum>{_NUM}) \s* (?: (?:points?|pts?\.?|marks?|分) \s* )? )?
         (?: (?: \( | \s-\s | [—–:;,] | 。 | \.\s ) (?P<remark>.*) )?""",
    re.VERBOSE | re.DOTALL,
)
_DIGIT = re.compile(r"[0-9]")
_NO_VALUE = frozenset(("", "null", "none", "n/a", "na", "not applicable", "unknown", "无法判断", "不适用", "未知"))
_NOT_FINITE = re.compile(r"[-+]?(?:nan|inf|infinity)")

_CORRECT = frozenset(
    (
        *("correct", "right", "no error", "no errors", "error free", "errorless", "without error", "without errors"),
        *("correctly performed", "performed correctly", "not incorrect", "not wrong"),
        *("正确", "对", "无误", "没有错误", "无错误", "操作正确"),
    )
)
_INCORRECT = frozenset(
    (
        *("incorrect", "wrong", "error", "erroneous", "not correct", "not right", "has error", "has an error"),
        *("has errors", "with error", "with errors", "contains error", "contains errors", "error detected"),
        *("error present", "incorrectly performed", "performed incorrectly"),
        *("错误", "不正确", "有误", "不对", "错", "有错误", "存在错误", "操作错误"),
    )
)
_YES = frozenset(("yes", "y", "1", "present", "detected", "是", "有", "存在"))
_NO = frozenset(("no", "n", "0", "none", "absent", "否", "无", "没有", "不存在", "不是"))
_EXPLAINED = re.compile(
    r"(?P<verdict>[^:,.;(，。；：—–]{1,40}?)\s*(?:\s-\s|[:,.;(，。；：—–])(?P<remark>.*)", re.DOTALL
)
_DOUBT = re.compile(r"incorrect|wrong|error|mistake|fault|\bnot\b|but|however|except|partial|错|误|不|但|除|部分")


def fold(text: str) -> str:
    """Lower case, full-width ASCII made plain, quotes, emphasis and outer punctuation removed."""
    return text.translate(_WIDE).strip(_OUTER).casefold()


def number(text: str) -> float | None:
    """The plain number that ``text`` is, or None."""
    said = text[: MAX_VALUE + 1].translate(_WIDE).strip().casefold()
    return float(said) if _NUMBER.fullmatch(said) else None


def points(text: str, max_score: float) -> float | str:
    """Points out of ``max_score``: ``2``, ``2.0``, ``2/3``, ``2 points``, ``２分``, ``2 (too shallow)``; else a reason.

    Off the scale are numbers below 0 or above ``max_score``, parts of a point where ``max_score`` is whole, points out
    of another maximum, NaN and infinity.
    """
    if len(text) > MAX_VALUE:
        return "unreadable"
    said = text.translate(_WIDE).strip(" \t\r\n*`'\"“”‘’").rstrip(" .。!").casefold()
    if said in _NO_VALUE:
        return "absent"
    if _NOT_FINITE.fullmatch(said):
        return "off_scale"
    match = _POINTS.fullmatch(said)
    if match is None or _DIGIT.search(match["remark"] or ""):  # "2 (or 3)"
        return "unreadable"
    value = float(match["value"])
    other_scale = match["maximum"] is not None and float(match["maximum"]) != max_score
    part_of_point = float(max_score).is_integer() and not value.is_integer()
    if other_scale or part_of_point or not math.isfinite(value) or not 0 <= value <= max_score:
        return "off_scale"
    return abs(value)  # no -0.0


def verdict(text: str, polarity: int = NEUTRAL) -> float | str:
    """1.0 for incorrect, 0.0 for correct (see the polarity table above); else a reason."""
    if len(text) > MAX_VALUE:
        return "unreadable"
    said = fold(text)
    word = " ".join(said.replace("_", " ").replace("-", " ").split())
    if word in _CORRECT:
        return 0.0
    if word in _INCORRECT:
        return 1.0
    if word in ("true", "false") or (polarity != NEUTRAL and word in _YES | _NO):
        asserted = word == "true" or word in _YES
        return float(asserted == (polarity == DENIED))
    if word in _NO_VALUE:
        return "absent"
    return _explained(said)


def _explained(said: str) -> float | str:
    """``incorrect: too shallow``: a verdict, a mark, and words that do not take it back."""
    match = _EXPLAINED.fullmatch(said)
    if match is None:
        return "unreadable"
    word = " ".join(match["verdict"].replace("_", " ").split())
    remark = match["remark"].strip(" )" + _OUTER)
    if word in _INCORRECT and remark not in _CORRECT:
        return 1.0
    if word in _CORRECT and not _DOUBT.search(remark):
        return 0.0
    return "unreadable"

"""Names of raters, students and sites: which two may be the same, and which words are not names.

Two names are alike if their letters and digits are the same without capitals, width (NFKC), accents, titles and leading
zeros, an umlaut being also its two letters. The reader of a table refuses names that are alike; clusters of exams take
them for one.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection, Iterable, Iterator
from functools import lru_cache

from siming_tasks.common.sanitize import alike


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_TITLES = _words("dr doctor doktor prof professor med mr mrs ms miss mx herr hr frau fr md phd rn sr priv doz dipl")
_CHINESE_TITLES = re.compile(
    r"(?<=.)(?:副?主任医师|副?主任|医生|医师|老师|教授|护士长?|大夫|同学|醫生|醫師|老師|教師)$"
)
_LETTERS = str.maketrans({"ß": "ss", "ł": "l", "đ": "d", "ı": "i", "ð": "d", "þ": "th"})
_AS_TWO = str.maketrans({"ä": "ae", "ö": "oe", "ü": "ue", "ø": "oe", "æ": "ae", "œ": "oe"})
_AS_ONE = str.maketrans({"ø": "o", "æ": "a", "œ": "o"})
_PARTS = re.compile(r"[0-9]+|[^\W\d_]+")
_ERRORS = re.compile(r"#\s*(?:n/?a|nv|ref|bezug|value|wert|div/0|name|num|zahl|null|spill|überlauf|calc)\s*[!?]?")
_ABBREVIATED = re.compile(r"(?:k\s*[./]\s*a|n\s*[./]\s*[anbv])\s*\.?")
_NOBODY = _words("""
    nan na none null nil unknown unnamed unidentified anonymous anon missing empty blank nobody noname noone undefined
    unspecified notspecified notavailable notapplicable notgiven notknown notstated notrecorded notentered tbd tba todo
    xxx void other others placeholder noentry nodata
    unbekannt keine keiner keines kein niemand anonym leer fehlt fehlend unbenannt ohnenamen ohne nichtbekannt namenlos
    nichtangegeben keineangabe keineangaben nichtzutreffend nichtvorhanden entfaellt sonstige
    未知 无 無 没有 不详 不詳 不明 未填 未填写 未填寫 空 空白 匿名 佚名 待定 缺失 缺 无名 无名氏 暂无 不适用 未提供
    未登记 未记录 未命名 未署名 不清楚 不知道 其他 略""")
_TOGETHER = _words("""
    final mean average avg median total sum agreed agreement adjudicated adjudication adjudicator decision overall
    majority vote combined joint gold goldstandard reference truth groundtruth consens result
    konsens konsensus mittel mittelwert durchschnitt gesamt gesamtwert summe entscheidung schlichtung referenz einigung
    gemeinsam endgueltig endnote endwert ergebnis mehrheit abstimmung
    共识 一致 最终 最终分 最终分数 最终得分 最终评分 最后得分 总分 平均 平均分 平均值 均分 均值 中位数 合计 总计 小计
    结果 裁定 仲裁 商定 协商 讨论 参考 参考答案 金标准 标准答案 综合 综合评分 终评 终审 终分 定分 共同 共識 最終
    總分 裁決""")
_BESIDE = _words("""
    score scores points point rating ratings mark marks grade value values label labels of the all both two rater raters
    physicians examiners standard ground wert note punkte aller der""")
LOST = "\ufffd"
"""Sign that replaces a letter that a program could not read."""


@lru_cache(maxsize=65536)
def name_keys(name: str) -> frozenset[str]:
    """The forms of a name by which it is compared: two names are alike if they have one in common.

    Example:
        >>> [bool(name_keys(one) & name_keys(other)) for one, other in
        ...  (("Dr. Li", "li"), ("T07", "t 7"), ("Müller", "Mueller"), ("Müller", "Muller"), ("1.1", "11"))]
        [True, True, True, True, False]
    """
    plain = "".join(str(unicodedata.decimal(sign, sign)) for sign in unicodedata.normalize("NFC", _folded(name)))
    halves = [half for half in re.split("[,，]", plain) if _PARTS.search(half)]
    orders = [plain, *([f"{halves[1]} {halves[0]}"] if len(halves) == 2 else [])]  # surname, given name
    return frozenset(_joined(_spelled(order, as_two)) for order in orders for as_two in (True, False))


def _folded(name: str) -> str:
    """The name in small letters of plain width, without what cannot be seen; its blanks and signs stay."""
    text = unicodedata.normalize("NFKC", "".join(one for one in name if unicodedata.category(one) != "Cf"))
    return unicodedata.normalize("NFKC", text.casefold())


def _spelled(text: str, as_two: bool) -> str:
    """The text without accents; umlauts as their two letters, or as the one without its dots."""
    spelled = text.translate(_LETTERS).translate(_AS_TWO if as_two else _AS_ONE)
    return "".join(sign for sign in unicodedata.normalize("NFKD", spelled) if not unicodedata.combining(sign))


def _joined(text: str) -> str:
    """Letters and digits without titles and leading zeros; two numbers side by side stay two."""
    parts = [part.lstrip("0") or "0" if part.isdigit() else part for part in _PARTS.findall(text)]
    while len(parts) > 1 and parts[0] in _TITLES:
        parts = parts[1:]
    while len(parts) > 1 and parts[-1] in _TITLES:
        parts = parts[:-1]
    joined = ""
    for part in parts:
        joined += "." * (part.isdigit() and joined[-1:].isdigit()) + part
    return _CHINESE_TITLES.sub("", joined)


def alike_pairs(names: Iterable[str], different: Collection[Iterable[str]] = ()) -> Iterator[tuple[str, str]]:
    """Two names that may be one person or place: each later one, and the first before it with which it shares a form.

    Args:
        names: in their order, each as written.
        different: pairs that are known to be two.
    """
    apart = {frozenset(pair) for pair in different}
    before: dict[str, list[str]] = {}
    for name in dict.fromkeys(names):
        keys = sorted({*name_keys(name), alike(name)} - {""})
        known = (next((one for one in before.get(key, ()) if {one, name} not in apart), None) for key in keys)
        yield from ((name, one) for one in dict.fromkeys(known) if one is not None)
        for key in keys:
            before.setdefault(key, []).append(name)


def not_a_name(name: str) -> str | None:
    r"""Reason why a text cannot be a name: a word for nobody, a spreadsheet error, a lost letter; None if it can.

    Example:
        >>> not_a_name("unbekannt"), not_a_name("#NV"), not_a_name("M\ufffdller")[:12], not_a_name("Li")
        ('is not a name', 'is not a name', 'has a letter', None)
    """
    if LOST in name:
        return "has a letter that was lost (U+FFFD)"
    text = _folded(name).strip()
    empty = not _PARTS.search(text) or _ERRORS.fullmatch(text) or _ABBREVIATED.fullmatch(text)
    return "is not a name" if empty or name_keys(name) & _NOBODY else None


def is_aggregate(name: str) -> bool:
    """True for what several raters came to (final, mean, Konsens, 共识): a column of decisions, nobody's own points.

    Example:
        >>> [is_aggregate(name) for name in ("Final", "mean score", "Konsens", "共识", "Finley", "Dr. Li", "score")]
        [True, True, True, True, False, False, False]
    """
    words = {word for word in _PARTS.findall(_spelled(_folded(name), True)) if not word.isdigit()}
    return bool(name_keys(name) & _TOGETHER or (words & _TOGETHER and words <= _TOGETHER | _BESIDE))

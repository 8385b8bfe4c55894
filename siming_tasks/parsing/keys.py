"""The meaning of a JSON key: its family, by the words that it is made of."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

from siming_tasks.parsing.grammar import ANYWHERE, DENIED, FAMILIES, NEGATIONS, NEUTRAL, STATED, UNKNOWN, Family
from siming_tasks.parsing.normalize import fold_name

__all__ = ["MAX_KEY", "Key", "key_of"]

MAX_KEY = 400
"""A longer key is no name."""

_CAMEL = re.compile(r"(?<=[a-z])(?=[A-Z])")
_LATIN = re.compile(r"[a-z]+(?:'t)?|#")
_DIGIT = re.compile(r"[0-9]")
_HAN = re.compile(r"[\u3400-\u9fff]+")
_TOP = re.compile(
    r"(?:out[\s_]of|/|max(?:imum)?|满分)[\s_:：]*(?P<of>[0-9]{1,4}(?:\.5)?)(?![0-9])|\b0\s*(?:-|–|to|~|至|到)\s*(?P<to>[0-9]{1,4}(?:\.5)?)(?![0-9])"
)
_BY_NAME = {family.name: family for family in FAMILIES}
_FIRST = FAMILIES[:7]
_VERDICT, _STATED, _DENIED = (_BY_NAME[name] for name in ("verdict", "correct?", "error?"))


@dataclass(frozen=True)
class Key:
    """Meaning of a key: its family, what a yes under it says (None: as outside of it), the maximum that it names."""

    family: Family
    polarity: int | None
    top: float | None = None


_NONE = Key(UNKNOWN, None)


def key_of(key: str | None) -> Key:
    """The meaning of a key as written; ``unknown`` for none, and for one that is too long to be a name."""
    return _NONE if key is None or len(key) > MAX_KEY else _key(key)


@lru_cache(maxsize=8192)
def _key(key: str) -> Key:
    text = fold_name(_CAMEL.sub(" ", fold_name(key, fold=False)))
    top = None
    if (named := _TOP.search(text)) and text[: named.start()].strip(" _([（"):
        top = float(named["of"] or named["to"])
        text = text[: named.start()] + " " + text[named.end() :]
    text = text.replace("can't", "not").replace("n't", " not")
    latin = _LATIN.findall(text)
    parts = [_latin(latin)] if any(word not in ANYWHERE for word in latin) else []
    parts += [_han(word) for word in _HAN.findall(text)]
    if not parts and latin:
        parts = [_latin(latin)]
    meaning = _joined(parts, top)
    return Key(UNKNOWN, None, top) if _DIGIT.search(text) and meaning.family not in _FIRST else meaning


def _joined(parts: list[tuple[Family, int | None]], top: float | None) -> Key:
    """One meaning out of a key in two languages: all parts mean the same, or one of them bars it."""
    for family in _FIRST:
        if any(part[0] is family for part in parts):
            return Key(family, None, top)
    if len(set(parts)) == 1:
        return Key(*parts[0], top)
    if {part[0] for part in parts} == {_STATED, _DENIED}:  # 正确/错误
        return Key(_VERDICT, NEUTRAL, top)
    return Key(UNKNOWN, None, top)


def _latin(words: list[str]) -> tuple[Family, int | None]:
    word_set = set(words)
    for family in _FIRST:
        if word_set & family.words and not (family.name == "maximum" and _not_maximum(word_set)):
            return family, None
    if word_set == {"no"}:
        return _BY_NAME["step"], None
    negations = sum(word in NEGATIONS for word in words)
    rest = word_set - NEGATIONS
    if rest & _STATED.words or rest & _DENIED.words:
        return _polar(rest, negations)
    for family in FAMILIES[7:]:
        known = family.words | ANYWHERE | (family.with_ or frozenset())
        if word_set & family.words and word_set <= known:
            return family, family.polarity
    return UNKNOWN, None


def _not_maximum(word_set: set[str]) -> bool:
    """``full`` alone, or ``out`` without ``of``, is no maximum."""
    named = word_set & _BY_NAME["maximum"].words
    return (named == {"out"} and "of" not in word_set) or (
        named == {"full"} and not word_set & _BY_NAME["points"].words
    )


def _polar(word_set: set[str], negations: int) -> tuple[Family, int | None]:
    stated, denied = bool(word_set & _STATED.words), bool(word_set & _DENIED.words)
    if stated and denied:
        both = _STATED.words | _DENIED.words | (_STATED.with_ or set()) | (_DENIED.with_ or set()) | ANYWHERE | {"vs"}
        return (_VERDICT, NEUTRAL) if word_set <= both and not negations else (UNKNOWN, None)
    family = _STATED if stated else _DENIED
    if (
        negations > 1
        or (negations and "or" in word_set)
        or not word_set <= family.words | ANYWHERE | (family.with_ or frozenset())
    ):
        return UNKNOWN, None
    if negations:
        family = _DENIED if stated else _STATED
    return family, STATED if family is _STATED else DENIED


@lru_cache(maxsize=2048)
def _han(word: str) -> tuple[Family, int | None]:
    for family in FAMILIES:
        if re.fullmatch(family.chinese, word):
            return family, family.polarity
    return UNKNOWN, None

"""Matching of JSON keys to the asked steps."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence, Set
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

from siming_tasks.parsing.grammar import MAX_KEY
from siming_tasks.parsing.lexicon import fold_name
from siming_tasks.rubrics import RubricStep

_WORD = re.compile(r"[^\W\d_]+|[0-9]+")
_STEP = frozenset({"step", "item", "no", "number", "id", "步骤", "第", "步", "项"})
_ANSWER = frozenset({"score", "points", "verdict"})
_MAXIMUM = frozenset({"maximum", "max", "满分", "of"})
_POINTS = frozenset({"point", "points", "pts", "分"})

_HALF = "½"
_WITH_HALF = re.compile(
    r"(max(?:imum)?\W{0,3}|满分\W{0,2}|\bof )?([0-9]{1,4})[.,]5(?![0-9])(?=\s*(points?\b|pts\b|分)?)"
)
_ALLOWED = ("half", "points", "allowed")  # end of the heading of a step with half points in prompts; models copy it
_Words = tuple[str, ...]
_Steps = Set[int]

IN_RINGS = {first + number: f" {number + 1} " for first in (0x2460, 0x2474, 0x2488) for number in range(20)}
"""The numbers of a list as one sign each: ①, ⑴, ⒈ up to twenty."""


def words(text: str) -> _Words:
    """Words and numbers of a key, folded: ``CPR-01``, ``cpr 1`` and ``cpr_01`` are all ``("cpr", "1")``."""
    return () if len(text) > MAX_KEY else _words(text)


@lru_cache(maxsize=4096)
def _words(text: str) -> _Words:
    text = _WITH_HALF.sub(_half, fold_name(text).translate(IN_RINGS))
    return tuple(word.lstrip("0") or "0" if word.isdecimal() else word for word in _WORD.findall(text))


def _half(match: re.Match[str]) -> str:
    """``maximum 2.5`` and ``2.5 points`` with the half as a word of its own; other decimals stay two numbers."""
    return f"{match[1] or ''}{match[2]} {_HALF} " if match[1] or match[3] else match[0]


class _Vocabulary(NamedTuple):
    """Names of the asked steps, whatever the reply. A step stands as its place in the list."""

    labels: Mapping[_Words, _Steps]  # ids and names
    numbers: Mapping[str, _Steps]  # numbers at the end of ids
    groups: Mapping[_Words, _Steps]  # ids without their number
    beginnings: Mapping[_Words, _Steps]  # two words and more that a name begins with; beside an id or the name only


@lru_cache(maxsize=512)
def _vocabulary(written: tuple[tuple[str, str, str | None], ...]) -> _Vocabulary:
    """The vocabulary of steps given as id, name and Chinese name."""
    labels: dict[_Words, set[int]] = {}
    numbers: dict[str, set[int]] = {}
    groups: dict[_Words, set[int]] = {}
    beginnings: dict[_Words, set[int]] = {}
    for place, (step_id, *titles) in enumerate(written):
        own = words(step_id)
        if own and own[-1].isdecimal():
            numbers.setdefault(own[-1], set()).add(place)
            if len(own) > 1:
                groups.setdefault(own[:-1], set()).add(place)
        for name in {own, *(words(title) for title in titles if title)} - {()}:
            labels.setdefault(name, set()).add(place)
        for name in map(words, filter(None, titles)):
            for length in range(2, len(name)):
                beginnings.setdefault(name[:length], set()).add(place)
    return _Vocabulary(labels, numbers, groups, beginnings)


@dataclass
class _Parts:
    """Parts of a key: steps that its ids and names leave over, its numbers, a skill, a maximum."""

    named: _Steps | None = None
    numbers: tuple[str, ...] = ()
    skill: _Steps | None = None
    maximum: float | None = None
    has_label: bool = False  # an id or a whole name
    shortened: bool = False  # the beginning of a name


class StepNames:
    """The names by which a reply may call the asked steps.

    A key names a step when it is made of nothing but the step's id, its name in either language, its number, its skill,
    its maximum and words like "step", and all of them fit one step. A number is the one at the end of its id or its
    place in the list of asked steps. Alone, a number that means one step by id and another by place means none; one
    that several ids end with means a place only if the reply numbers all steps from 1 on. No number alone means
    anything in a reply that counts from 0. A name that two steps share means neither. ``steps`` are in the order of the
    prompt, ``numbers`` those that the reply uses as names.
    """

    def __init__(self, steps: Sequence[RubricStep], numbers: Set[str] = frozenset()) -> None:
        self.steps = tuple(steps)
        self._numbered = "0" not in numbers
        self._called = _vocabulary(tuple((step.id, step.name, step.name_zh) for step in self.steps))
        self._longest_label = max(map(len, self._called.labels), default=0)
        self._place = {str(place + 1): place for place in range(len(self.steps))}
        shared_are_places = self._place.keys() == numbers
        by_id = {name: _only(places) for name, places in self._called.numbers.items()}
        self._by_number = dict(by_id)
        for number, place in self._place.items():
            if number not in by_id or (by_id[number] is None and shared_are_places):
                self._by_number[number] = place
            elif by_id[number] != place:
                self._by_number[number] = None

    def find(self, key: str, skill: str | None = None, *, by_number: bool = True) -> RubricStep | None:
        """The step that ``key`` (an id, name or number as written) means, or None.

        ``skill`` is what the reply says that the step is part of: in ``{"aed": {"3": ...}}`` 3 is aed_03.
        ``by_number``: a number alone may name a step.
        """
        parts = self._parts(words(key))
        place = None if parts is None or len(parts.numbers) > 1 else self._place_of(parts, skill, by_number)
        if place is None or (parts and parts.maximum not in (None, self.steps[place].max_score)):
            return None
        return self.steps[place]

    def exact(self, key: str) -> RubricStep | None:
        """The step whose id or name is in ``key``, or None; numbers alone do not count."""
        return self.find(key, by_number=False)

    def group(self, key: str) -> list[RubricStep] | None:
        """The asked steps whose ids begin with ``key``: those of one skill."""
        places = self._called.groups.get(words(key))
        return None if places is None else [self.steps[place] for place in sorted(places)]

    def paraphrases(self, text: str) -> bool:
        """Test whether ``text`` has every word of the one asked step's name, or words that begin like them."""
        key_words = [word[:4] for word in words(text)]
        name = [word[:4] for word in words(self.steps[0].name) if len(word) > 3]
        return len(self.steps) == 1 and len(name) > 0 and all(word in key_words for word in name)

    def _parts(self, key_words: _Words) -> _Parts | None:
        """Parts of a key from its words, the longest label first; None if one of them is nothing that names a step."""
        parts, at = _Parts(), 0
        while at < len(key_words):
            if label := _longest(key_words, at, self._called.labels, self._longest_label):
                places = self._called.labels[label]
                parts.named = places if parts.named is None else parts.named & places
                parts.has_label, at = True, at + len(label)
            elif group := _longest(key_words, at, self._called.groups, 3):
                places = self._called.groups[group]
                parts.skill = places if parts.skill is None else parts.skill & places
                at += len(group)
            elif begun := _longest(key_words, at, self._called.beginnings, self._longest_label):
                places = self._called.beginnings[begun]
                parts.named, parts.shortened = places if parts.named is None else parts.named & places, True
                at += len(begun)
            elif (match := _maximum(key_words, at)) is not None:
                parts.maximum, at = match
            elif key_words[at : at + 3] == _ALLOWED:
                at += 3
            elif key_words[at].isdecimal():
                parts.numbers += (key_words[at],)
                at += 1
            elif key_words[at] in _STEP or (at and at == len(key_words) - 1 and key_words[at] in _ANSWER):
                at += 1
            else:
                return None
        return None if parts.shortened and not parts.has_label else parts

    def _place_of(self, parts: _Parts, skill: str | None, by_number: bool) -> int | None:
        number = parts.numbers[0] if parts.numbers else None
        if parts.named is not None:
            left = parts.named if parts.skill is None else parts.named & parts.skill
            if number is not None:
                left = left & ({*self._called.numbers.get(number, ())} | {self._place.get(number, -1)})
            return _only(left)
        if number is None or not self._numbered:
            return None
        within = parts.skill or (None if skill is None else self._called.groups.get(words(skill)))
        if within is not None:
            left = within & self._called.numbers.get(number, frozenset())
            if left or parts.skill:
                return _only(left)
        return self._by_number.get(number) if by_number else None


def _only(places: _Steps) -> int | None:
    return next(iter(places)) if len(places) == 1 else None


def _longest(key_words: _Words, at: int, names: Collection[_Words], most: int) -> _Words:
    """The longest name of at most so many words that stands at a place of a key; () for none."""
    lengths = range(min(most, len(key_words) - at), 0, -1)
    return next((key_words[at : at + length] for length in lengths if key_words[at : at + length] in names), ())


def _maximum(key_words: _Words, at: int) -> tuple[float, int] | None:
    """``maximum 2 points``, ``满分 2 分``, ``2 points``: the number and where the words go on."""
    start = at
    while key_words[at : at + 1] and (
        key_words[at] in _MAXIMUM or (key_words[at] == "out" and key_words[at + 1 : at + 2] == ("of",))
    ):
        at += 1
    if not key_words[at : at + 1] or not key_words[at].isdecimal():
        return None
    number, end = float(key_words[at][:9]), at + 1
    if key_words[end : end + 1] == (_HALF,):
        number, end = number + 0.5, end + 1
    pointed = key_words[end : end + 1] != () and key_words[end] in _POINTS
    return (number, end + pointed) if at > start or pointed else None


def number_in(name: str) -> str | None:
    """The number that a name is or begins with (``3``, ``Step 03``, ``第3步``, ``3. Depth``), or None."""
    first = next((word for word in words(name) if word not in _STEP), "")
    return first if first.isdecimal() else None

"""Which asked step a key means."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass
from functools import lru_cache

from siming_tasks.parsing.keys import MAX_KEY
from siming_tasks.parsing.values import fold
from siming_tasks.rubrics import RubricStep

__all__ = ["StepNames", "number_in", "words"]

_WORD = re.compile(r"[^\W\d_]+|[0-9]+")
_STEP = frozenset({"step", "item", "no", "number", "id", "步骤", "第", "步", "项"})
_ANSWER = ("score", "points", "verdict")

_Words = tuple[str, ...]


def words(text: str) -> _Words:
    """Words and numbers of a key, folded: ``CPR-01``, ``cpr 1`` and ``cpr_01`` are all ``("cpr", "1")``."""
    return () if len(text) > MAX_KEY else _words(text)


@lru_cache(maxsize=4096)
def _words(text: str) -> _Words:
    return tuple(word.lstrip("0") or "0" if word.isdigit() else word for word in _WORD.findall(fold(text)))


@dataclass(frozen=True)
class _Vocabulary:
    """What the asked steps are called, whatever the reply. A step stands as its place in the list; None: several."""

    names: Mapping[_Words, int | None]
    groups: Mapping[_Words, Sequence[int]]
    by_id: Mapping[str, int | None]


@lru_cache(maxsize=512)
def _vocabulary(written: tuple[tuple[str, str, str | None], ...]) -> _Vocabulary:
    """The vocabulary of steps given as id, name and Chinese name."""
    names: dict[_Words, int | None] = {}
    groups: dict[_Words, list[int]] = {}
    by_id: dict[str, int | None] = {}
    for place, (step_id, *titles) in enumerate(written):
        own = words(step_id)
        labels = [own, (str(place + 1),)]
        if own and own[-1].isdigit():
            labels.append(own[-1:])
            groups.setdefault(own[:-1], []).append(place)
            by_id[own[-1]] = None if own[-1] in by_id else place
        for name in {own, *((*own, word) for word in _ANSWER), *_labelled(labels, titles)}:
            names[name] = place if names.get(name, place) == place else None
    return _Vocabulary(names, groups, by_id)


class StepNames:
    """The names by which a reply may call the asked steps.

    A step answers to its id, its name, both together, and its number: the one at the end of its id if no other asked
    step has it, or its place in the list of asked steps. A number that means one step by id and another by place means
    none; one that several ids end with means a place only if the reply numbers all steps from 1 on. No number means
    anything in a reply that counts from 0. A name that two steps share means neither.

    Args:
        steps: the asked steps in the order of the prompt.
        numbers: the numbers that the reply uses as names.
    """

    def __init__(self, steps: Sequence[RubricStep], numbers: Set[str] = frozenset()) -> None:
        self.steps = tuple(steps)
        self._numbered = "0" not in numbers
        self._called = _vocabulary(tuple((step.id, step.name, step.name_zh) for step in self.steps))
        places = {str(place + 1): place for place in range(len(self.steps))}
        shared_are_places = places.keys() == numbers
        self._by_number = dict(self._called.by_id)
        for number, place in places.items():
            if number not in self._called.by_id or (self._called.by_id[number] is None and shared_are_places):
                self._by_number[number] = place
            elif self._called.by_id[number] != place:
                self._by_number[number] = None

    def find(self, key: str, skill: str | None = None, *, by_number: bool = True) -> RubricStep | None:
        """The step that ``key`` means, or None.

        Args:
            key: an id, name or number as written.
            skill: what the reply says the step is part of: in ``{"aed": {"3": ...}}`` 3 is aed_03.
            by_number: whether a number alone may name a step.
        """
        said = words(key)
        for name in dict.fromkeys((said, tuple(word for word in said if word not in _STEP))):
            if (place := self._called.names.get(name)) is not None:
                return self.steps[place]
            if len(name) != 1 or not name[0].isdigit() or not self._numbered:
                continue
            if skill is not None and (place := self._called.names.get(words(skill) + name)) is not None:
                return self.steps[place]
            if by_number and (place := self._by_number.get(name[0])) is not None:
                return self.steps[place]
        return None

    def group(self, key: str) -> list[RubricStep] | None:
        """The asked steps whose ids begin with ``key``: those of one skill."""
        places = self._called.groups.get(words(key))
        return None if places is None else [self.steps[place] for place in places]

    def might_be_id(self, text: str) -> bool:
        """Whether ``text`` looks like an id or a number rather than a description."""
        said = words(text)
        return not said or said[-1].isdigit()


def _labelled(labels: Iterable[_Words], names: Iterable[str | None]) -> Iterable[_Words]:
    """``Scene safety``, ``cpr_01 Scene safety``, ``1. Scene safety``, ``Scene safety (cpr_01)``."""
    for name in (words(name) for name in names if name):
        if name:
            yield name
            for label in labels:
                yield label + name
                yield name + label


def number_in(name: str) -> str | None:
    """The number that a name is or begins with (``3``, ``Step 03``, ``第3步``, ``3. Depth``), or None."""
    rest = [word for word in words(name) if word not in _STEP]
    return rest[0] if rest and rest[0].isdigit() else None

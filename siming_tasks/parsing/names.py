"""Which asked step a key means."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence, Set

from siming_tasks.parsing.values import fold
from siming_tasks.rubrics import RubricStep

__all__ = ["StepNames", "number_in", "words"]

MAX_KEY = 400
"""A longer key is no name."""

_WORD = re.compile(r"[^\W\d_]+|[0-9]+")
_STEP = frozenset({"step", "item", "no", "number", "id", "步骤", "第", "步", "项"})
_ANSWER = ("score", "points", "verdict")

_Words = tuple[str, ...]


def words(text: str) -> _Words:
    """Words and numbers of a key, folded: ``CPR-01``, ``cpr 1`` and ``cpr_01`` are all ``("cpr", "1")``."""
    if len(text) > MAX_KEY:
        return ()
    return tuple(word.lstrip("0") or "0" if word.isdigit() else word for word in _WORD.findall(fold(text)))


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
        self._names: dict[_Words, RubricStep | None] = {}
        self._groups: dict[_Words, list[RubricStep]] = {}
        by_id: dict[str, RubricStep | None] = {}
        for place, step in enumerate(self.steps, start=1):
            own = words(step.id)
            labels = [own, (str(place),)]
            if own and own[-1].isdigit():
                labels.append(own[-1:])
                self._groups.setdefault(own[:-1], []).append(step)
                by_id[own[-1]] = None if own[-1] in by_id else step
            names = {own, *((*own, word) for word in _ANSWER), *_labelled(labels, (step.name, step.name_zh))}
            for name in names:
                self._names[name] = step if self._names.get(name, step) is step else None
        by_place = {str(place): step for place, step in enumerate(self.steps, start=1)}
        shared_are_places = by_place.keys() == numbers
        self._by_number = dict(by_id)
        for number, step in by_place.items():
            if number not in by_id or (by_id[number] is None and shared_are_places):
                self._by_number[number] = step
            elif by_id[number] is not step:
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
            if step := self._names.get(name):
                return step
            if len(name) != 1 or not name[0].isdigit() or not self._numbered:
                continue
            if skill is not None and (step := self._names.get(words(skill) + name)):
                return step
            if by_number and (step := self._by_number.get(name[0])):
                return step
        return None

    def group(self, key: str) -> list[RubricStep] | None:
        """The asked steps whose ids begin with ``key``: those of one skill."""
        return self._groups.get(words(key))

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

"""Which asked step a key means."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from siming_tasks.parsing.values import fold
from siming_tasks.rubrics import RubricStep

__all__ = ["StepNames", "words"]

MAX_KEY = 400
"""A longer key is no name."""

_WORD = re.compile(r"[^\W\d_]+|[0-9]+")
_STEP = frozenset({"step", "item", "no", "number", "id", "步骤", "第", "步", "项"})

_Words = tuple[str, ...]


def words(text: str) -> _Words:
    """Words and numbers of a key, folded: ``CPR-01``, ``cpr 1`` and ``cpr_01`` are all ``("cpr", "1")``."""
    if len(text) > MAX_KEY:
        return ()
    return tuple(word.lstrip("0") or "0" if word.isdigit() else word for word in _WORD.findall(fold(text)))


class StepNames:
    """The names by which a reply may call the asked steps.

    A step answers to its id, its name, both together, and its number. The number is its place in the list of asked
    steps or the number at the end of its id, if only one asked step has it; a number that means one step as a place
    and another one as an id means none. So does every name that two steps share.

    Args:
        steps: the asked steps in the order of the prompt.
        by_number: False if the reply counts from zero, or may: then numbers alone mean nothing.
    """

    def __init__(self, steps: Sequence[RubricStep], *, by_number: bool = True) -> None:
        self.steps = tuple(steps)
        self._by_number = by_number
        self._names: dict[_Words, RubricStep | None] = {}
        self._numbers: dict[str, RubricStep | None] = {}
        self._groups: dict[_Words, list[RubricStep]] = {}
        for place, step in enumerate(self.steps, start=1):
            own = words(step.id)
            numbered = bool(own) and own[-1].isdigit()
            labels = [own, (str(place),), *([own[-1:]] if numbered else [])]
            for name in {own} | set(_labelled(labels, filter(None, (step.name, step.name_zh)))):
                self._names[name] = step if self._names.get(name, step) is step else None
            if numbered:
                self._groups.setdefault(own[:-1], []).append(step)
                self._numbers[own[-1]] = None if own[-1] in self._numbers else step
        for place, step in enumerate(self.steps, start=1):
            same = self._numbers.get(str(place)) in (None, step)
            self._numbers[str(place)] = step if same else None

    def find(self, key: str, inside: str | None = None, *, by_place: bool = True) -> RubricStep | None:
        """The step that ``key`` means, or None.

        Args:
            key: an id, name or number as written.
            inside: the key of the object that holds it: in ``{"aed": {"3": ...}}`` 3 is aed_03.
            by_place: whether a number alone may be a place in the list.
        """
        said = words(key)
        for name in dict.fromkeys((said, tuple(word for word in said if word not in _STEP))):
            if step := self._names.get(name):
                return step
            if not name or (name[0].isdigit() and not self._by_number):
                continue
            if inside is not None and (step := self._names.get(words(inside) + name)):
                return step
            if by_place and len(name) == 1 and (step := self._numbers.get(name[0])):
                return step
        return None

    def group(self, key: str) -> list[RubricStep] | None:
        """The asked steps whose ids begin with ``key``: those of one skill."""
        return self._groups.get(words(key))

    def might_be_id(self, text: str) -> bool:
        """Whether ``text`` looks like an id or a number rather than a description."""
        said = words(text)
        return not said or said[-1].isdigit()


def _labelled(labels: Iterable[_Words], names: Iterable[str]) -> Iterable[_Words]:
    """``Scene safety``, ``cpr_01 Scene safety``, ``1. Scene safety``, ``Scene safety (cpr_01)``."""
    for name in map(words, names):
        if name:
            yield name
            for label in labels:
                yield label + name
                yield name + label

"""Which asked step a key means."""

from __future__ import annotations

import re
from collections.abc import Sequence

from siming_tasks.parsing.values import fold
from siming_tasks.rubrics.model import RubricStep

__all__ = ["StepNames", "words"]

_WORD = re.compile(r"[^\W\d_]+|[0-9]+")
_STEP = frozenset({"step", "item", "no", "number", "id", "步骤", "第", "步", "项", "步骤第"})
_MAX_KEY = 400


def words(text: str) -> tuple[str, ...]:
    """Words and numbers of a key, folded: ``CPR-01``, ``cpr 1`` and ``cpr_01`` are all ``("cpr", "1")``."""
    if len(text) > _MAX_KEY:
        return ()
    return tuple(word.lstrip("0") or "0" if word.isdigit() else word for word in _WORD.findall(fold(text)))


class StepNames:
    """The names by which a reply may call the asked steps.

    A step answers to its id, its name, both together, and its number: its place in the list of asked steps, or the
    number at the end of its id where only one asked step has it. A name that could mean two steps means none.
    """

    def __init__(self, steps: Sequence[RubricStep]) -> None:
        self.steps = tuple(steps)
        self._by_words: dict[tuple[str, ...], RubricStep | None] = {}
        self._groups: dict[tuple[str, ...], list[RubricStep]] = {}
        numbers: dict[str, RubricStep | None] = {}
        for step in self.steps:
            own = words(step.id)
            names = {own} | {form for name in (step.name, step.name_zh) if name for form in _forms(own, words(name))}
            for form in names:
                self._by_words[form] = None if form in self._by_words else step
            if own and own[-1].isdigit():
                self._groups.setdefault(own[:-1], []).append(step)
                numbers[own[-1]] = None if own[-1] in numbers else step
        for place, step in enumerate(self.steps, start=1):
            known = numbers.get(str(place))
            numbers[str(place)] = step if known in (None, step) else None
        self._numbers = numbers

    def find(self, key: str, inside: str | None = None, *, by_number: bool = True) -> RubricStep | None:
        """The step that ``key`` means, or None.

        Args:
            key: an id, name or number as written.
            inside: the key of the object that holds it: ``{"aed": {"3": ...}}`` is aed_03.
            by_number: whether a bare number may be read as a place in the list.
        """
        said = words(key)
        for form in (said, tuple(word for word in said if word not in _STEP)):
            if form and (step := self._by_words.get(form)):
                return step
            if inside is not None and form and (step := self._by_words.get(words(inside) + form)):
                return step
            if by_number and len(form) == 1 and form[0].isdigit() and (step := self._numbers.get(form[0])):
                return step
        return None

    def group(self, key: str) -> list[RubricStep] | None:
        """The asked steps of one skill, if ``key`` is what their ids begin with."""
        return self._groups.get(words(key))

    def might_be_id(self, text: str) -> bool:
        """Whether ``text`` looks like an id or number rather than a description."""
        said = words(text)
        return not said or said[-1].isdigit() or len(said) == 1


def _forms(own: tuple[str, ...], name: tuple[str, ...]) -> set[tuple[str, ...]]:
    return {name, own + name, name + own} - {()}

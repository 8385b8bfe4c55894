"""What one JSON value of a reply says about each asked step."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from siming_tasks.parsing.keys import (
    ANSWER_KEYS,
    ASIDE,
    FOREIGN,
    ID_KEYS,
    MAXIMUM_KEYS,
    POLARITY,
    SKILL_KEYS,
    WRAPPERS,
    key_name,
)
from siming_tasks.parsing.names import StepNames
from siming_tasks.parsing.reader import Broken, Group, Scalar, Value
from siming_tasks.parsing.values import DENIED, NEUTRAL, number, points, verdict
from siming_tasks.rubrics import RubricStep
from siming_tasks.schema import Answer

__all__ = ["Collector", "Reading"]

Reading = float | str
"""An answer, or one of the missing reasons."""

_Found = dict[str, list[Reading]]


@dataclass(frozen=True)
class _Place:
    """Where a bracket stands.

    ``skill``: what the reply calls the part that it is in. ``known``: only known wrappers are around it, so that a
    plain ``score`` can mean our step. ``listed``: a bare list may be the answer. ``polarity``: what "true" says here.
    """

    skill: str | None
    known: bool
    listed: bool
    polarity: int


class Collector:
    """Reads brackets for one question: the asked steps, and whether scores or errors are asked for."""

    def __init__(self, names: StepNames, answer: Answer) -> None:
        self.names = names
        self.answer = answer
        self._only = names.steps[0] if len(names.steps) == 1 else None
        self._answers = ANSWER_KEYS[answer]

    def mentions(self, root: Group, *, alone: bool) -> dict[str, Reading]:
        """Step id -> reading. ``alone``: the bracket stands by itself, so that a bare list may be the answer."""
        found: _Found = {}
        self._walk(root, _Place(None, known=True, listed=alone, polarity=NEUTRAL), found)
        return {step_id: _combine(readings) for step_id, readings in found.items()}

    def _walk(self, group: Group, place: _Place, found: _Found) -> None:
        for key, value in group.entries:
            if key_name(key) in SKILL_KEYS and isinstance(value, Scalar):
                place = replace(place, skill=value.text)
        if self._names_its_step(group):
            step = self._named_step(group, place)
            if step is not None:
                found.setdefault(step.id, []).append(self._from_object(group, step, place.polarity))
            return
        own: _Found = {}
        inner: list[tuple[str, str, Group]] = []
        for key, value in group.entries:
            name = key_name(key)
            if key is None or name in ASIDE:
                continue
            step = None if name in self._answers else self._find(key, place)
            if step is not None:
                own.setdefault(step.id, []).append(self._reading(value, step, place.polarity))
            elif isinstance(value, Group) and name not in FOREIGN[self.answer]:
                inner.append((key, name, value))
        if self._only and place.known and not own and self._answers_plainly(group):
            own[self._only.id] = [self._from_object(group, self._only, place.polarity)]
            inner = []
        for step_id, readings in own.items():
            found.setdefault(step_id, []).append(_agreed(readings))
        named = [item for item in inner if item[1] in self._answers]
        for key, name, value in named or inner:
            known = place.known and name in WRAPPERS
            skill = place.skill if name in WRAPPERS else key
            listed = known or (skill is not None and self.names.group(skill) is not None)
            self._walk(value, _Place(skill, known, listed, POLARITY.get(name, place.polarity)), found)
        self._without_keys(group, place, found)

    def _find(self, name: str, place: _Place) -> RubricStep | None:
        return self.names.find(name, place.skill, by_number=place.skill is None)

    def _without_keys(self, group: Group, place: _Place, found: _Found) -> None:
        """Values without keys: steps of one verdict, one value per asked step in order, or objects that say whose."""
        values = [value for key, value in group.entries if key is None]
        if group.bracket == "[" and group.closed and not group.odd and len(values) == len(group.entries):
            if place.polarity != NEUTRAL and self._lists_steps(values, place.polarity, found):
                return
            steps = self.names.steps if place.skill is None else self.names.group(place.skill) or ()
            if place.listed and len(values) == len(steps) and all(map(self._nameless, values)):
                for step, value in zip(steps, values, strict=True):
                    found.setdefault(step.id, []).append(self._reading(value, step, place.polarity))
                return
        inner = replace(place, known=place.known and (self._only is None or len(values) == 1), listed=False)
        for value in values:
            if isinstance(value, Group) and value.entries:
                self._walk(value, inner, found)

    def _lists_steps(self, values: Iterable[Value], polarity: int, found: _Found) -> bool:
        """``"incorrect": ["cpr_03", "cpr_07"]``."""
        steps = [
            self.names.find(value.text, by_number=False) if isinstance(value, Scalar) else None for value in values
        ]
        if not steps or None in steps:
            return False
        for step in filter(None, steps):
            found.setdefault(step.id, []).append(float(polarity == DENIED))
        return True

    def _nameless(self, value: Value) -> bool:
        """Whether a value of a list can only be told by its place."""
        if not isinstance(value, Group):
            return True
        return not self._names_its_step(value) and any(key_name(key) in self._answers for key, _ in value.entries)

    def _names_its_step(self, group: Group) -> bool:
        """``{"step": ..., "score": ...}``."""
        names = {key_name(key) for key, value in group.entries if key is not None and not isinstance(value, Group)}
        return not names.isdisjoint(self._answers) and not names.isdisjoint(ID_KEYS)

    def _named_step(self, group: Group, place: _Place) -> RubricStep | None:
        said = [value.text for key, value in group.entries if key_name(key) in ID_KEYS and isinstance(value, Scalar)]
        steps = {step.id: step for text in said if (step := self._find(text, place)) is not None}
        if not steps and self._only and said and not any(map(self.names.might_be_id, said)):
            return self._only  # a paraphrased name; there is one step that it can mean
        return next(iter(steps.values())) if len(steps) == 1 else None

    def _answers_plainly(self, group: Group) -> bool:
        """``{"score": 2}``, but not ``{"score": {"cpr_01": 2}}``."""
        for key, value in group.entries:
            if key_name(key) in self._answers and not (isinstance(value, Group) and self._speaks_of_steps(value)):
                return True
        return False

    def _speaks_of_steps(self, group: Group) -> bool:
        loose = [value.text for key, value in group.entries if key is None and isinstance(value, Scalar)]
        keys = [key for key, _ in group.entries if key is not None and key_name(key) not in self._answers | ASIDE]
        return any(self.names.find(text, by_number=False) for text in loose) or any(
            self.names.find(key) or self.names.might_be_id(key) for key in keys
        )

    def _reading(self, value: Value, step: RubricStep, polarity: int) -> Reading:
        if isinstance(value, Broken):
            return "cut_off" if value is Broken.CUT else "unreadable"
        if isinstance(value, Scalar):
            return points(value.text, step.max_score) if self.answer == "score" else verdict(value.text, polarity)
        if value.closed and len(value.entries) == 1 and value.entries[0][0] is None:
            return self._reading(value.entries[0][1], step, polarity)  # [2]
        return self._from_object(value, step, polarity)

    def _from_object(self, group: Group, step: RubricStep, polarity: int) -> Reading:
        """The answer of ``{"score": 2, "max_score": 3, "reason": ...}``; all its answer keys must say the same."""
        readings: list[Reading] = []
        for key, value in group.entries:
            name = key_name(key)
            if name in self._answers or (isinstance(value, Group) and name in WRAPPERS - FOREIGN[self.answer]):
                readings.append(self._reading(value, step, POLARITY.get(name, polarity)))
            elif self.answer == "score" and name in MAXIMUM_KEYS and _other_maximum(value, step):
                return "off_scale"
        if not readings:
            return "unreadable" if group.closed else "cut_off"
        return _combine(readings)


def _other_maximum(value: Value, step: RubricStep) -> bool:
    return isinstance(value, Scalar) and number(value.text) not in (None, step.max_score)


def _agreed(readings: list[Reading]) -> Reading:
    """One reading out of several of the same key: they are equal, or the step is in conflict."""
    return readings[0] if len(set(readings)) == 1 else "conflict"


def _combine(readings: list[Reading]) -> Reading:
    """One reading out of several places, of which those that hold no answer may be about something else."""
    telling = [reading for reading in readings if reading not in ("unreadable", "absent")]
    return _agreed(telling) if telling else readings[0]

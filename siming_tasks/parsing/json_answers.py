"""Answers to the asked steps in the JSON values of a reply."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from siming_tasks.common.schema import Answer
from siming_tasks.parsing.grammar import DENIED, NEUTRAL, STEP, UNKNOWN, Family
from siming_tasks.parsing.keys import Key, key_of
from siming_tasks.parsing.lenient_json import Broken, Group, Scalar, Value
from siming_tasks.parsing.parsed_reply import ABSTAINED
from siming_tasks.parsing.step_matching import StepNames
from siming_tasks.parsing.values import abstains, last_number, points, verdict
from siming_tasks.rubrics import RubricStep

__all__ = ["Collector", "Reading", "combined"]

_POINTS = re.compile(r"\s*(?:points?|pts?|marks?|分|)\s*", re.IGNORECASE)

Reading = float | str
"""An answer, one of the missing reasons, or ``abstained``."""

_Readings = dict[str, list[Reading]]


@dataclass(frozen=True)
class _Place:
    """Surroundings of a bracket.

    ``skill``: what the reply calls the part that it is in. ``known``: only known wrappers are around it, so that a
    plain ``score`` can mean our step. ``listed``: a bare list may be the answer. ``polarity``: what a yes says here.
    ``top``: the maximum that the reply says holds here.
    """

    skill: str | None
    known: bool
    listed: bool
    polarity: int
    top: float | None = None


class Collector:
    """Reads brackets for one question: the asked steps, and whether scores or errors are asked for.

    ``abstain``: whether "not visible" is a reading of its own.
    """

    def __init__(self, names: StepNames, answer: Answer, abstain: bool = False) -> None:
        self.names = names
        self.answer = answer
        self.abstain = abstain
        self._only = names.steps[0] if len(names.steps) == 1 else None

    def read_bracket(self, root: Group, *, stands_alone: bool) -> dict[str, Reading]:
        """Step id -> reading. ``alone``: the bracket is all there is, so that a bare list may be the answer."""
        readings_of: _Readings = {}
        self._walk(root, _Place(None, known=True, listed=stands_alone, polarity=NEUTRAL), readings_of)
        readings = {step_id: combined(readings) for step_id, readings in readings_of.items()}
        if root.torn:
            return {name: _doubted(named) for name, named in readings.items()}
        return readings

    def _walk(self, group: Group, place: _Place, readings_of: _Readings) -> None:
        keys = [key_of(key) for key, _ in group.entries]
        for key, (_, value) in zip(keys, group.entries, strict=True):
            if key.family.name == "skill" and isinstance(value, Scalar):
                place = replace(place, skill=value.text)
        if self._names_its_step(group, keys):
            step = self._named_step(group, keys, place)
            if step is not None:
                readings_of.setdefault(step.id, []).append(self._from_object(group, step, place))
            return
        own: _Readings = {}
        inner: list[tuple[str, Key, Group]] = []
        for key, (written, value) in zip(keys, group.entries, strict=True):
            step = None if written is None or key.family.answers(self.answer) else self._find(written, place)
            if written is not None and step is not None:
                own.setdefault(step.id, []).append(self._reading(value, step, STEP, place))
            elif written is not None and isinstance(value, Group) and self._enters(key.family):
                inner.append((written, key, value))
        if self._only and place.known and not own and self._answers_plainly(group, keys):
            own[self._only.id] = [self._from_object(group, self._only, place)]
            inner = []
        for step_id, readings in own.items():
            readings_of.setdefault(step_id, []).append(_agreed(readings))
        if self.answer == "score" and (top := _scale_of(group, keys, self.names.steps)) is not None:
            place = replace(place, top=top)
        self._into(inner, place, readings_of)
        self._without_keys(group, place, readings_of)

    def _enters(self, family: Family) -> bool:
        """Test whether answers may stand in a bracket under such a key."""
        return family is UNKNOWN or self.answer in family.holds

    def _into(self, inner: list[tuple[str, Key, Group]], place: _Place, readings_of: _Readings) -> None:
        """Answers in the brackets of a group: those under an answer's key, if there are any, else all."""
        answers = [item for item in inner if item[1].family.answers(self.answer)]
        unknown: list[_Readings] = []
        for written, key, value in answers or inner:
            known = key.family is not UNKNOWN
            skill = written if key.family is UNKNOWN or key.family.name == "skill" else place.skill
            grouped = skill is not None and self.names.group(skill) is not None
            polarity = place.polarity if key.polarity is None else key.polarity
            inside = _Place(
                skill, place.known and known, (place.known and known) or grouped, polarity, key.top or place.top
            )
            if key.family.name == "version":
                version: _Readings = {}
                self._walk(value, inside, version)
                for step_id, readings in version.items():
                    readings_of.setdefault(step_id, []).extend(map(_doubted, readings))
            elif known or grouped:
                self._walk(value, inside, readings_of)
            else:
                unknown.append({})
                self._walk(value, inside, unknown[-1])
        self._under_unknown_keys([section for section in unknown if section], readings_of)

    def _under_unknown_keys(self, sections: Sequence[_Readings], readings_of: _Readings) -> None:
        """Answers under keys that are in no table: believed if two or more sections part the asked steps among them."""
        ids = [step_id for section in sections for step_id in section]
        parted = len(sections) > 1 and len(ids) == len(set(ids)) == len(self.names.steps)
        for section in sections:
            for step_id, readings in section.items():
                if step_id not in readings_of and not parted:
                    readings = list(map(_doubted, readings))
                readings_of.setdefault(step_id, []).extend(readings)

    def _find(self, name: str, place: _Place) -> RubricStep | None:
        return self.names.find(name, place.skill, by_number=place.skill is None)

    def _without_keys(self, group: Group, place: _Place, readings_of: _Readings) -> None:
        """Values without keys: steps of one verdict, one value per asked step in order, or objects that say whose."""
        values = [value for key, value in group.entries if key is None]
        if group.bracket == "[" and group.closed and not group.odd and len(values) == len(group.entries):
            if place.polarity != NEUTRAL and self._lists_steps(values, place.polarity, readings_of):
                return
            steps = self.names.steps if place.skill is None else self.names.group(place.skill) or ()
            if place.listed and len(values) == len(steps) and all(map(self._nameless, values)):
                for step, value in zip(steps, values, strict=True):
                    readings_of.setdefault(step.id, []).append(self._reading(value, step, STEP, place))
                return
        inner = replace(place, known=place.known and (self._only is None or len(values) == 1), listed=False)
        for value in values:
            if isinstance(value, Group) and value.entries:
                self._walk(value, inner, readings_of)

    def _lists_steps(self, values: Iterable[Value], polarity: int, readings_of: _Readings) -> bool:
        """``"incorrect": ["cpr_03", "cpr_07"]``."""
        steps = [self.names.exact(value.text) if isinstance(value, Scalar) else None for value in values]
        if not steps or None in steps:
            return False
        for step in filter(None, steps):
            readings_of.setdefault(step.id, []).append(float(polarity == DENIED))
        return True

    def _nameless(self, value: Value) -> bool:
        """Test whether a value of a list can be told by its place alone."""
        if not isinstance(value, Group):
            return True
        keys = [key_of(key) for key, _ in value.entries]
        return not self._names_its_step(value, keys) and any(key.family.answers(self.answer) for key in keys)

    def _names_its_step(self, group: Group, keys: Sequence[Key]) -> bool:
        """``{"step": ..., "score": ...}``."""
        plain = [
            key.family
            for key, (written, value) in zip(keys, group.entries, strict=True)
            if written is not None and not isinstance(value, Group)
        ]
        return any(family.name == "step" for family in plain) and any(family.answers(self.answer) for family in plain)

    def _named_step(self, group: Group, keys: Sequence[Key], place: _Place) -> RubricStep | None:
        named = [
            value.text
            for key, (_, value) in zip(keys, group.entries, strict=True)
            if key.family.name == "step" and isinstance(value, Scalar)
        ]
        exact = {step.id: step for text in named if (step := self.names.exact(text)) is not None}
        steps = exact or {step.id: step for text in named if (step := self._find(text, place)) is not None}
        if not steps and self._only and any(map(self.names.paraphrases, named)):
            return self._only
        return next(iter(steps.values())) if len(steps) == 1 else None

    def _answers_plainly(self, group: Group, keys: Sequence[Key]) -> bool:
        """``{"score": 2}``, but not ``{"score": {"cpr_01": 2}}``."""
        return any(
            key.family.answers(self.answer) and not (isinstance(value, Group) and self._speaks_of_steps(value))
            for key, (_, value) in zip(keys, group.entries, strict=True)
        )

    def _speaks_of_steps(self, group: Group, depth: int = 3) -> bool:
        loose = [value.text for key, value in group.entries if key is None and isinstance(value, Scalar)]
        keys = [key for key, _ in group.entries if key is not None and key_of(key).family.name in ("unknown", "step")]
        if any(map(self.names.exact, loose)) or any(
            self.names.find(key) or self.names.might_be_id(key) for key in keys
        ):
            return True
        return depth > 0 and any(self._speaks_of_steps(inner, depth - 1) for inner in group.groups)

    def _reading(self, value: Value, step: RubricStep, family: Family, place: _Place) -> Reading:
        if isinstance(value, Broken):
            return "cut_off" if value is Broken.CUT else "unreadable"
        if isinstance(value, Scalar):
            if self.abstain and abstains(value.text):
                return ABSTAINED
            if self.answer == "error":
                return verdict(value.text, place.polarity, nouns=family.nouns)
            reading = points(value.text, step.max_score, step.score_increment)
            other_scale = isinstance(reading, float) and place.top not in (None, step.max_score)
            return "off_scale" if other_scale else reading
        if value.closed and len(value.entries) == 1 and value.entries[0][0] is None:
            return self._reading(value.entries[0][1], step, family, place)  # [2]
        return self._from_object(value, step, place)

    def _from_object(self, group: Group, step: RubricStep, place: _Place) -> Reading:
        """The answer of ``{"score": 2, "max_score": 3, "reason": ...}``; all its answer keys must say the same."""
        keys = [key_of(key) for key, _ in group.entries]
        readings: list[Reading] = []
        doubtful = False
        for key, (written, value) in zip(keys, group.entries, strict=True):
            holds = isinstance(value, Group) and key.family is not UNKNOWN and self.answer in key.family.holds
            if written is None or not (key.family.answers(self.answer) or holds):
                continue
            polarity = place.polarity if key.polarity is None else key.polarity
            inside = replace(place, polarity=polarity, top=key.top or place.top)
            reading = self._reading(value, step, key.family, inside)
            if key.family.name == "version":
                reading = _doubted(reading)
            doubtful |= reading == "unreadable" and polarity == DENIED and not _empty(value)
            readings.append(reading)
        if not readings:
            return "unreadable" if group.closed else "cut_off"
        reading = combined(readings)
        if isinstance(reading, float) and self.answer == "score":
            return _off_scale(group, keys, reading, step.max_score) or reading
        return "ambiguous" if doubtful and reading == 0.0 else reading  # {"verdict": "correct", "error": "too shallow"}


def _doubted(reading: Reading) -> Reading:
    return "ambiguous" if isinstance(reading, float) or reading == ABSTAINED else reading


def _empty(value: Value) -> bool:
    return not value.entries if isinstance(value, Group) else isinstance(value, Scalar) and not value.text.strip()


def _agreed(readings: list[Reading]) -> Reading:
    """One reading out of several of the same key: they are equal, or the step is in conflict."""
    return readings[0] if len(set(readings)) == 1 else "conflict"


def combined(readings: list[Reading]) -> Reading:
    """One reading out of several places, of which those that hold no answer may be about something else."""
    if "ambiguous" in readings:
        return "ambiguous"
    telling = [reading for reading in readings if reading not in ("unreadable", "absent")]
    return _agreed(telling) if telling else readings[0]


def _off_scale(group: Group, keys: Sequence[Key], points: float, maximum: float) -> str | None:
    """The reason why ``points``, read in this object, are not points out of ``maximum``; None if they are."""
    for key, (_, value) in zip(keys, group.entries, strict=True):
        stated = _number(value)
        if key.family.name in ("maximum", "scale"):
            if stated is None and not _blank(value):
                return "ambiguous"
            if stated not in (None, maximum):
                return "off_scale"
        elif key.family.name == "unit":
            if not isinstance(value, Scalar) or not _POINTS.fullmatch(value.text):
                return "ambiguous"
        elif key.family.name == "total":
            if stated not in (None, points, maximum):
                return "ambiguous"
        elif key.family.name == "percent" and stated is not None:
            share = 100 * points / maximum
            if min(abs(stated - share), abs(100 * stated - share)) > 1:
                return "ambiguous"
    return None


def _scale_of(group: Group, keys: Sequence[Key], steps: Sequence[RubricStep]) -> float | None:
    """The maximum that an object says holds for all steps in it; None if it says none, or the maximum of their sum."""
    for key, (_, value) in zip(keys, group.entries, strict=True):
        if key.family.name not in ("maximum", "scale") or isinstance(value, Group):
            continue
        stated = _number(value)
        if stated is not None and stated != sum(step.max_score for step in steps):
            return stated
    return None


def _number(value: Value) -> float | None:
    return last_number(value.text) if isinstance(value, Scalar) else None


def _blank(value: Value) -> bool:
    return isinstance(value, Scalar) and value.text.strip().casefold() in ("", "null", "none", "n/a")

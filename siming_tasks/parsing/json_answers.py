"""Answers to the asked steps in the JSON values of a reply."""

from __future__ import annotations

import re
from collections import defaultdict
from dataclasses import dataclass, replace

from siming_tasks.common.schema import Answer
from siming_tasks.parsing.grammar import DENIED, NEUTRAL, STEP, UNKNOWN, Family, Key, key_of
from siming_tasks.parsing.lenient_json import Broken, Group, Scalar, Value
from siming_tasks.parsing.parsed_reply import ABSTAINED
from siming_tasks.parsing.step_matching import StepNames, words
from siming_tasks.parsing.values import abstains, last_number, points, verdict
from siming_tasks.rubrics import RubricStep

_POINTS = re.compile(r"\s*(?:points?|pts?|marks?|分|)\s*", re.IGNORECASE)
_PAIR = re.compile(r"(?P<name>[^:：=]{1,80}?)\s*[:：=]\s*(?P<value>.{1,200})", re.DOTALL)
_OUT_OF = re.compile(r"(?<![0-9./])(?P<value>[0-9]{1,3}(?:\.5)?)\s*/\s*(?P<top>[0-9]{1,3})(?![0-9./])")
_PLACEHOLDER = re.compile(
    r"\b(?:placeholder|dummy|assumed|assumption|guess(?:ed)?|hypothetical|by default|default value|made up|example)\b"
    r"|占位|假[设定]|猜测|示例",
    re.IGNORECASE,
)
"""Words of a value that is none."""
_SOURCE = frozenset(
    ["truth", "reference", "gold", "expert", "human", "physician", "official", "teacher", "instructor", "colleague"]
)
"""Words of keys of somebody else's answers."""
Reading = float | str  # an answer, one of the missing reasons, or ``abstained``
_Readings = defaultdict[str, list[Reading]]
_Entries = list[tuple[Key, str | None, Value]]
"""The meaning of each key of a bracket, the key as written, and the value."""


@dataclass(frozen=True)
class _Place:
    """Surroundings of a bracket."""

    skill: str | None  # what the reply calls the part that it is in
    known: bool  # only known wrappers are around it, so that a plain ``score`` can mean our step
    listed: bool  # a bare list may be the answer
    polarity: int  # what a yes says here
    top: float | None = None  # the maximum that the reply says holds here


class Collector:
    """Reads brackets for one question: the asked steps, and whether scores or errors are asked for.

    ``abstain``: whether "not visible" is a reading of its own.
    """

    def __init__(self, names: StepNames, answer: Answer, abstain: bool = False) -> None:
        self.names = names
        self.answer = answer
        self.abstain = abstain
        self._only = names.steps[0] if len(names.steps) == 1 else None

    def read_bracket(self, root: Group, *, stands_alone: bool = False) -> dict[str, Reading]:
        """Step id -> reading. ``stands_alone``: the bracket is all there is, so that a bare list may be the answer."""
        readings_of: _Readings = defaultdict(list)
        self._walk(root, _Place(None, known=True, listed=stands_alone, polarity=NEUTRAL), readings_of)
        readings = {step_id: combined(readings) for step_id, readings in readings_of.items()}
        return {name: _doubted(reading) for name, reading in readings.items()} if root.torn else readings

    def _walk(self, group: Group, place: _Place, readings_of: _Readings) -> None:
        entries = _entries(group)
        for key, _, value in entries:
            if key.family.name == "skill" and isinstance(value, Scalar):
                place = replace(place, skill=value.text)
        if columns := self._columns(entries):
            for named, told in columns:
                readings_of[named.id].append("ambiguous" if told is None else self._reading(told, named, STEP, place))
            return
        if self._names_its_step(entries):
            step = self._named_step(entries, place)
            if step is not None:
                readings_of[step.id].append(self._from_object(group, step, place))
            return
        own: _Readings = defaultdict(list)
        inner: list[tuple[str, Key, Group]] = []
        for key, written, value in entries:
            if written is None:
                continue
            step = None if key.family.answers(self.answer) else self._find(written, place)
            if step is not None:
                own[step.id].append(self._reading(value, step, STEP, place))
            elif isinstance(value, Group) and (key.family is UNKNOWN or self.answer in key.family.holds):
                inner.append((written, key, value))
        if self._only and place.known and not own and self._answers_plainly(entries):
            own[self._only.id] = [self._from_object(group, self._only, place)]
            inner = []
        for step_id, readings in own.items():
            readings_of[step_id].append(_agreed(readings))
        if self.answer == "score" and (top := self._stated_scale(entries)) is not None:
            place = replace(place, top=top)
        self._into(inner, place, readings_of)
        self._without_keys(group, place, readings_of)

    def _into(self, inner: list[tuple[str, Key, Group]], place: _Place, readings_of: _Readings) -> None:
        """Answers in the brackets of a group: those under an answer's key, if there are any, else all."""
        answers = [item for item in inner if item[1].family.answers(self.answer)]
        unknown: list[_Readings] = []
        for written, key, value in answers or inner:
            in_table = key.family is not UNKNOWN
            skill = written if not in_table or key.family.name == "skill" else place.skill
            grouped = skill is not None and self.names.group(skill) is not None
            polarity = place.polarity if key.polarity is None else key.polarity
            known = place.known and in_table
            inside = _Place(skill, known, known or grouped, polarity, key.top or place.top)
            readings: _Readings = defaultdict(list)
            if key.family.name != "version" and (in_table or grouped):
                readings = readings_of
            elif key.family.name != "version":
                unknown.append(readings)
            self._walk(value, inside, readings)
            if key.family.name == "version":
                for step_id, versions in readings.items():
                    readings_of[step_id].extend(map(_doubted, versions))
        # Answers under keys that are in no table are believed if two or more sections part the asked steps among them.
        sections = [section for section in unknown if section]
        ids = [step_id for section in sections for step_id in section]
        parted = len(sections) > 1 and len(ids) == len(set(ids)) == len(self.names.steps)
        for section in sections:
            for step_id, found in section.items():
                believed = parted or step_id in readings_of
                readings_of[step_id].extend(found if believed else map(_doubted, found))

    def _columns(self, entries: _Entries) -> list[tuple[RubricStep, Value | None]]:
        """``{"step_id": [...], "score": [...]}`` as pairs; None for the value where the columns differ in length."""
        named = [value for key, _, value in entries if key.family.name == "step" and isinstance(value, Group)]
        told = [value for key, _, value in entries if key.family.answers(self.answer) and isinstance(value, Group)]
        if len(named) != 1 or len(told) != 1:
            return []
        names, values = ([value for key, value in group.entries if key is None] for group in (named[0], told[0]))
        steps = [self.names.exact(name.text) if isinstance(name, Scalar) else None for name in names]
        if not steps or None in steps:
            return []
        whole = len(values) == len(steps) and len(set(map(id, steps))) == len(steps)
        every = self.names.steps if not whole else filter(None, steps)
        return [(step, values[place] if whole else None) for place, step in enumerate(every)]

    def _find(self, name: str, place: _Place) -> RubricStep | None:
        return self.names.find(name, place.skill, by_number=place.skill is None)

    def _without_keys(self, group: Group, place: _Place, readings_of: _Readings) -> None:
        """Values without keys: steps of one verdict, one value per asked step in order, or objects that say whose."""
        values = [value for key, value in group.entries if key is None]
        if group.bracket == "[" and group.closed and not group.odd and len(values) == len(group.entries):
            if place.polarity != NEUTRAL:  # "incorrect": ["cpr_03", "cpr_07"]
                named = [self.names.exact(value.text) if isinstance(value, Scalar) else None for value in values]
                if named and None not in named:
                    for step in filter(None, named):
                        readings_of[step.id].append(float(place.polarity == DENIED))
                    return
            if pairs := self._pairs(values):  # ["cpr_01: correct", ...]
                for whose, said in pairs:
                    readings_of[whose.id].append(self._reading(said, whose, STEP, place))
                return
            steps = self.names.steps if place.skill is None else self.names.group(place.skill) or ()
            if place.listed and len(values) == len(steps) and all(map(self._is_told_by_place, values)):
                for step, value in zip(steps, values, strict=True):
                    readings_of[step.id].append(self._reading(value, step, STEP, place))
                return
        inner = replace(place, known=place.known and (self._only is None or len(values) == 1), listed=False)
        for value in values:
            if isinstance(value, Group) and value.entries:
                self._walk(value, inner, readings_of)

    def _pairs(self, values: list[Value]) -> list[tuple[RubricStep, Scalar]]:
        """Texts that each name a step and go on with its answer; none if one of them does not."""
        pairs = []
        for value in values:
            match = _PAIR.fullmatch(value.text) if isinstance(value, Scalar) else None
            step = self.names.exact(match["name"]) if match else None
            if match is None or step is None:
                return []
            pairs.append((step, Scalar(match["value"], quoted=True)))
        return pairs

    def _is_told_by_place(self, value: Value) -> bool:
        """Test whether the place of a value in a list alone says whose it is."""
        if not isinstance(value, Group):
            return True
        entries = _entries(value)
        return not self._names_its_step(entries) and any(key.family.answers(self.answer) for key, _, _ in entries)

    def _names_its_step(self, entries: _Entries) -> bool:
        """``{"step": ..., "score": ...}``."""
        plain = [key.family for key, written, value in entries if written is not None and not isinstance(value, Group)]
        return any(family.name == "step" for family in plain) and any(family.answers(self.answer) for family in plain)

    def _named_step(self, entries: _Entries, place: _Place) -> RubricStep | None:
        named = [value.text for key, _, value in entries if key.family.name == "step" and isinstance(value, Scalar)]
        exact = {step.id: step for text in named if (step := self.names.exact(text)) is not None}
        steps = exact or {step.id: step for text in named if (step := self._find(text, place)) is not None}
        if not steps and self._only and any(map(self.names.paraphrases, named)):
            return self._only
        return next(iter(steps.values())) if len(steps) == 1 else None

    def _answers_plainly(self, entries: _Entries) -> bool:
        """``{"score": 2}``, but not ``{"score": {"cpr_01": 2}}``."""
        return any(
            key.family.answers(self.answer) and not (isinstance(value, Group) and self._speaks_of_steps(value))
            for key, _, value in entries
        )

    def _speaks_of_steps(self, group: Group, depth: int = 3) -> bool:
        for key, written, value in _entries(group):
            if written is None:
                speaks = isinstance(value, Scalar) and self.names.exact(value.text) is not None
            else:
                # What looks like an id or a number rather than a description may be another step's.
                speaks = key.family.name in ("unknown", "step") and (
                    self.names.find(written) is not None or (words(written) or ("0",))[-1].isdecimal()
                )
            if speaks:
                return True
        return depth > 0 and any(self._speaks_of_steps(inner, depth - 1) for inner in group.groups)

    def _reading(self, value: Value, step: RubricStep, family: Family, place: _Place) -> Reading:
        if isinstance(value, Broken):
            return "cut_off" if value is Broken.CUT else "unreadable"
        if isinstance(value, Scalar):
            if self.abstain and abstains(value.text):
                return ABSTAINED
            if _PLACEHOLDER.search(value.text):
                return "ambiguous"
            if self.answer == "error":
                reading = verdict(value.text, place.polarity, nouns=family.nouns)
                out_of = _OUT_OF.search(value.text)  # "correct (1/2)"
                full = out_of is not None and float(out_of["value"]) == step.max_score
                fits = out_of is None or float(out_of["top"]) != step.max_score or reading == float(not full)
                return reading if fits else _doubted(reading)
            reading = points(value.text, step.max_score, step.score_increment)
            other_scale = isinstance(reading, float) and place.top not in (None, step.max_score)
            return "off_scale" if other_scale else reading
        if value.closed and len(value.entries) == 1 and value.entries[0][0] is None:
            return self._reading(value.entries[0][1], step, family, place)  # [2]
        return self._from_object(value, step, place)

    def _from_object(self, group: Group, step: RubricStep, place: _Place) -> Reading:
        """The answer of ``{"score": 2, "max_score": 3, "reason": ...}``; all its answer keys must say the same."""
        entries = _entries(group)
        readings: list[Reading] = []
        doubtful = False
        for key, written, value in entries:
            holds = isinstance(value, Group) and key.family is not UNKNOWN and self.answer in key.family.holds
            if written is None or not (key.family.answers(self.answer) or holds):
                continue
            polarity = place.polarity if key.polarity is None else key.polarity
            inside = replace(place, polarity=polarity, top=key.top or place.top)
            reading = self._reading(value, step, key.family, inside)
            if reading == "unreadable" and polarity == DENIED:
                doubtful |= bool(value.entries if isinstance(value, Group) else not _is_text(value, ""))
            readings.append(_doubted(reading) if key.family.name == "version" else reading)
        if not readings:
            return "unreadable" if group.closed else "cut_off"
        reading = combined(readings)
        if isinstance(reading, float) and self._says_otherwise(entries, reading, step):
            return "ambiguous"
        if isinstance(reading, float) and self.answer == "score":
            return _other_scale(entries, reading, step.max_score) or reading
        return "ambiguous" if doubtful and reading == 0.0 else reading  # {"verdict": "correct", "error": "too shallow"}

    def _says_otherwise(self, entries: _Entries, reading: float, step: RubricStep) -> bool:
        """Test whether what stands beside an answer says another: points beside a verdict, somebody else's, ..."""
        for key, written, value in entries:
            if written is None or not isinstance(value, Scalar) or key.family.answers(self.answer):
                continue
            scored = points(value.text, step.max_score, step.score_increment)
            judged = verdict(value.text, NEUTRAL, nouns=False)
            if self.answer == "error":
                if key.family.name == "points" and isinstance(scored, float):
                    judged = float(scored < step.max_score)
                elif key.family is not UNKNOWN:
                    continue
                if isinstance(judged, float) and judged != reading:
                    return True
            elif key.family.name == "verdict" and isinstance(judged, float):
                if reading == (step.max_score if judged else 0.0):
                    return True
            elif (
                key.family is UNKNOWN
                and _SOURCE & {*words(written)}
                and scored not in (reading, "unreadable", "absent")
            ):
                return True
        return False

    def _stated_scale(self, entries: _Entries) -> float | None:
        """The maximum that an object says holds for all steps in it; None if none, or the maximum of their sum."""
        stated = (_number(value) for key, _, value in entries if key.family.name in ("maximum", "scale"))
        total = sum(step.max_score for step in self.names.steps)
        return next((top for top in stated if top not in (None, total)), None)


def _entries(group: Group) -> _Entries:
    return [(key_of(written), written, value) for written, value in group.entries]


def _doubted(reading: Reading) -> Reading:
    return "ambiguous" if isinstance(reading, float) or reading == ABSTAINED else reading


def _agreed(readings: list[Reading]) -> Reading:
    """One reading out of several of the same key: they are equal, or the step is in conflict."""
    return readings[0] if len(set(readings)) == 1 else "conflict"


def combined(readings: list[Reading]) -> Reading:
    """One reading out of several places, of which those that hold no answer may be about something else."""
    if "ambiguous" in readings:
        return "ambiguous"
    telling = [reading for reading in readings if reading not in ("unreadable", "absent")]
    return _agreed(telling) if telling else readings[0]


def _other_scale(entries: _Entries, points: float, maximum: float) -> str | None:
    """The reason why ``points``, read in this object, are not points out of ``maximum``; None if they are."""
    for key, _, value in entries:
        stated = _number(value)
        if key.family.name in ("maximum", "scale"):
            if stated is None and not _is_text(value, "", "null", "none", "n/a"):
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


def _number(value: Value) -> float | None:
    return last_number(value.text) if isinstance(value, Scalar) else None


def _is_text(value: Value, *texts: str) -> bool:
    return isinstance(value, Scalar) and value.text.strip().casefold() in texts

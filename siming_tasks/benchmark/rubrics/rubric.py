"""The rubric as frozen, self-checking models (file contract: ``schema_version: 1``), and what its entries contradict.

A rubric may state the score increment (``score_increment: 0.5`` for the rubric, for a step). Where it does not, a step
has half points if its maximum, a deduction or a cap has a half in it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Annotated, Any, Literal, NamedTuple

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, model_validator

from siming_tasks.common.display import short_repr
from siming_tasks.common.files import check_file_name

WHOLE, HALF = 1.0, 0.5
HALF_POINTS_HINT = (
    "If half points are meant, write `score_increment: 0.5` in the rubric (for all steps, or for this one)."
)
"""Way out of a message where a half point meets whole ones."""

_NUMBER = re.compile(r"[-+]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][-+]?[0-9]+)?")

Place = tuple[str | int, ...]
"""Keys and positions down to an entry: ``("skills", 0, "steps", 2, "id")``."""


def is_on_increment(points: float, score_increment: float) -> bool:
    """Test whether points are a multiple of the score increment.

    Example:
        >>> [is_on_increment(points, HALF) for points in (1.5, 1.25, float("nan"))], is_on_increment(1.5, WHOLE)
        ([True, False, False], False)
    """
    return float(points / score_increment).is_integer()


def _parse_number(value: Any) -> Any:
    """Text of a file as people read it: 010 is 10, and ``yes``, ``1:30`` and ``2,5`` are no numbers."""
    if isinstance(value, bool) or (isinstance(value, str) and not _NUMBER.fullmatch(value.strip())):
        shown = {True: "yes", False: "no"}[value] if isinstance(value, bool) else value[:40]
        raise ValueError(f"`{shown}` is not a number; write points such as 2 or 2.5")
    return value


def _check_half_points(value: float) -> float:
    if not is_on_increment(value, HALF):
        raise ValueError(f"{value:g} is neither whole nor half points; write the scale in larger points")
    return value


def _check_increment(value: float) -> float:
    if value not in (WHOLE, HALF):
        raise ValueError(f"{value:g} is not a score_increment; 1 (whole points) and 0.5 (half points) are")
    return value


Points = Annotated[float, BeforeValidator(_parse_number), AfterValidator(_check_half_points)]
"""A number of points, whole or half."""
ScoreIncrement = Annotated[float, BeforeValidator(_parse_number), AfterValidator(_check_increment)]
"""1 (whole points) or 0.5 (half points)."""

Id = Field(pattern=r"^[A-Za-z0-9_-]+$", max_length=64)
Text = Field(min_length=1, max_length=2000)


class _Model(BaseModel):
    model_config = ConfigDict(
        frozen=True, extra="forbid", ignored_types=(cached_property,), serialize_by_alias=True, validate_by_alias=True
    )

    def __repr__(self) -> str:
        """The class and its fields in a few characters."""
        return short_repr(type(self).__name__, {name: getattr(self, name) for name in type(self).model_fields})


def _optional(**more: Any) -> Any:
    """A field that is left out of a rubric's digest where it is not used: rubrics without it keep theirs."""
    return Field(default=None, exclude_if=lambda value: value is None, **more)


class Criteria(_Model):
    """Conditions under which the step earns all, some or none of its points."""

    full: str = Text
    partial: str = Text
    fail: str = Text


class StepError(_Model):
    """A named way to get the step wrong, what an observer sees, and the points it costs."""

    id: str = Field(pattern=r"^[A-Za-z0-9_.-]+$", max_length=96)
    observable: str = Text
    deduct: Points = Field(gt=0)

    @property
    def name(self) -> str:
        """The error's own name, without its step (``mostly_shallow`` of ``cpr_11.mostly_shallow``)."""
        return self.id.rpartition(".")[2]


class Requirement(_Model):
    """Effect of the failure (label 0) of an earlier step on this step's *reference* label; never on predictions.

    ``void``: this step scores 0. ``cap``: at most ``cap`` points. ``context``: no automatic change.
    """

    id: str = Id
    effect: Literal["void", "cap", "context"] = "context"
    cap: Points | None = Field(default=None, ge=0)

    @model_validator(mode="after")
    def _cap_with_effect(self) -> Requirement:
        if (self.effect == "cap") != (self.cap is not None):
            raise ValueError("give `cap` with `effect: cap`, and only there")
        return self


class Evidence(_Model):
    """Evidence that a judge must be shown: the channel, and the lowest sampling rate (frames/s) that can carry it."""

    channel: Literal["visual", "audio", "audio_visual", "visual_device"] = "visual"
    min_fps: float = Field(default=0.5, gt=0, le=240)

    @property
    def is_heard(self) -> bool:
        """True if sound is needed, alone or with the picture."""
        return self.channel in ("audio", "audio_visual")


class RubricStep(_Model):
    """One line of the score sheet."""

    id: Annotated[str, AfterValidator(check_file_name)] = Id  # the step's page has its name
    name: str = Text
    requirement: str = Text
    max_score: Points = Field(gt=0, le=1000)
    stated_score_increment: ScoreIncrement | None = _optional(alias="score_increment")
    criteria: Criteria
    errors: tuple[StepError, ...] = ()
    requires: tuple[Requirement, ...] = ()
    establishes: tuple[str, ...] = ()
    scope: Literal["local", "mixed", "history"] = "local"
    evidence: Evidence = Evidence()
    critical: bool = False
    facts: tuple[dict[str, Any], ...] = ()
    name_zh: str | None = None
    note: str | None = None

    @cached_property
    def score_increment(self) -> float:
        """1.0 (whole points) or 0.5 (half points): stated for the step or the rubric, else what its numbers show."""
        return self.stated_score_increment or min((is_on_increment(n, WHOLE) and WHOLE) or HALF for n in self._numbers)

    @property
    def _numbers(self) -> tuple[float, ...]:
        caps = (need.cap for need in self.requires if need.cap is not None)
        return (self.max_score, *(error.deduct for error in self.errors), *caps)

    def on_scale(self, points: float) -> bool:
        """Test whether these are points that the step can be given: from 0 to its maximum, on its score increment."""
        return 0 <= points <= self.max_score and is_on_increment(points, self.score_increment)

    def error(self, name: str) -> StepError:
        """The error of that name or id; KeyError if the step has none."""
        for error in self.errors:
            if name in (error.id, error.name):
                return error
        raise KeyError(f"{self.id} has no error {name!r}")


class Skill(_Model):
    """A skill (CPR, AED, bag-mask ventilation) and its steps in order."""

    id: str = Id
    name: str = Text
    steps: tuple[RubricStep, ...] = Field(min_length=1)
    name_zh: str | None = None


class Rubric(_Model):
    """A checked score sheet: unique ids, scales, requirements that name *earlier* steps only (hence acyclic).

    ``title`` and ``setting`` ("on a suture pad") are what the prompt says of the exam. ``exam`` is what it calls the
    exam in place of the title, ``{skill}`` in it standing for the names of the skills that are asked about;
    ``examiner`` is who the model is ("an examiner of cooking") in place of *a physician examiner*.
    ``score_increment`` is that of every step that states none.
    """

    schema_version: Literal[1]
    rubric_id: str = Id
    version: str = Text
    skills: tuple[Skill, ...] = Field(min_length=1)
    title: str | None = None
    setting: str | None = _optional(min_length=1, max_length=300)
    exam: str | None = _optional(min_length=1, max_length=300)
    examiner: str | None = _optional(min_length=1, max_length=300)
    score_increment: ScoreIncrement | None = _optional()
    status: str | None = None
    sources: dict[str, dict[str, Any]] = Field(default_factory=dict)

    @model_validator(mode="before")
    @classmethod
    def _increment_of_all(cls, data: Any) -> Any:
        """The rubric's score increment holds for every step that states none."""
        score_increment = data.get("score_increment") if isinstance(data, dict) else None
        if score_increment is None or not isinstance(data.get("skills"), list | tuple):
            return data
        skills = []
        for skill in data["skills"]:
            if isinstance(skill, dict) and isinstance(skill.get("steps"), list | tuple):
                stated = {"score_increment": score_increment}
                steps = [stated | step if isinstance(step, dict) else step for step in skill["steps"]]
                skill = {**skill, "steps": steps}
            skills.append(skill)
        return {**data, "skills": skills}

    @model_validator(mode="after")
    def _consistent(self) -> Rubric:
        if found := list(_conflicts(self)):
            raise Conflicts(found)
        return self

    @cached_property
    def steps(self) -> tuple[RubricStep, ...]:
        """All steps of all skills, in order."""
        return tuple(step for skill in self.skills for step in skill.steps)

    @cached_property
    def by_id(self) -> dict[str, RubricStep]:
        """Steps by id."""
        return {step.id: step for step in self.steps}

    @cached_property
    def skill_of(self) -> dict[str, str]:
        """Skill id of each step id."""
        return {step.id: skill.id for skill in self.skills for step in skill.steps}

    @property
    def max_score(self) -> float:
        """Points of the whole sheet."""
        return sum(step.max_score for step in self.steps)


def allowed_points(step: RubricStep) -> tuple[float, ...]:
    """All points that a physician may give, ascending from 0 to the step's maximum, in steps of its score increment.

    Example:
        >>> from siming_tasks.benchmark.rubrics import default_rubric
        >>> allowed_points(default_rubric().by_id["cpr_01"])
        (0.0, 1.0, 2.0)
    """
    return tuple(step.score_increment * count for count in range(round(step.max_score / step.score_increment) + 1))


class Conflict(NamedTuple):
    """A fault between entries: where the second of them is, what is wrong, how to fix it."""

    place: Place
    what: str
    fix: str


class Conflicts(ValueError):
    """All contradictions between the entries of a rubric whose entries are each well formed."""

    def __init__(self, found: Sequence[Conflict]) -> None:
        super().__init__("; ".join(conflict.what for conflict in found))
        self.found = found


def _conflicts(rubric: Rubric) -> Iterator[Conflict]:
    """Names that are given twice or to nothing, and points that do not go together."""
    known: dict[tuple[str, str], str] = {}
    every, earlier = {step.id for step in rubric.steps}, set[str]()

    def repeated(kind: str, name: str, place: Place) -> Iterator[Conflict]:
        key = (kind, name.casefold().replace("-", "_"))  # as replies are read
        if key in known:
            what = f"{kind}s {[known[key], name]!r} differ only in case or dashes; replies could not be told apart"
            what = f"{kind} {name!r} appears twice" if known[key] == name else what
            yield Conflict((*place, "id"), what, "Rename one.")
        known.setdefault(key, name)

    for s, skill in enumerate(rubric.skills):
        yield from repeated("skill id", skill.id, ("skills", s))
        for n, step in enumerate(skill.steps):
            place: Place = ("skills", s, "steps", n)
            yield from repeated("step id", step.id, place)
            for e, error in enumerate(step.errors):
                yield from repeated("error id", error.id, (*place, "errors", e))
                if error.deduct > step.max_score:
                    what = f"error {error.id!r} deducts {error.deduct:g} of {step.max_score:g} points"
                    yield Conflict((*place, "errors", e, "deduct"), what, "Deduct at most `max_score`.")
            for r, need in enumerate(step.requires):
                if need.id not in earlier:
                    which = "a later step or itself" if need.id in every else "no step of this rubric"
                    what = f"step {step.id!r} requires {need.id!r}, which is {which}"
                    yield Conflict((*place, "requires", r, "id"), what, "Name an earlier step, or delete the entry.")
            for f, fact in enumerate(step.facts):
                if str(fact.get("source")) not in rubric.sources:
                    what = f"step {step.id!r} cites source {fact.get('source')!r}, which `sources` lacks"
                    yield Conflict((*place, "facts", f, "source"), what, "Add it there, or correct the name.")
            for value in step._numbers if step.stated_score_increment == WHOLE else ():
                if not is_on_increment(value, WHOLE):
                    what = f"score_increment is 1, but step {step.id!r} has {value:g} points"
                    yield Conflict(place, what, "State `score_increment: 0.5` for it, or write whole points.")
            earlier.add(step.id)

"""The rubric as frozen, self-checking models (file contract: ``schema_version: 1``)."""

from __future__ import annotations

from functools import cached_property
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator

from siming_tasks.common.version_0_1 import translate_rubric
from siming_tasks.rubrics.conflicts import conflicts
from siming_tasks.rubrics.score_increment import Points, ScoreIncrement, is_on_increment, visible_score_increment

__all__ = ["Criteria", "Evidence", "Requirement", "Rubric", "RubricStep", "Skill", "StepError", "allowed_points"]

Id = Field(pattern=r"^[A-Za-z0-9_-]+$", max_length=64)
Text = Field(min_length=1, max_length=2000)


class _Model(BaseModel):
    model_config = ConfigDict(
        frozen=True, extra="forbid", ignored_types=(cached_property,), serialize_by_alias=True, validate_by_alias=True
    )


def _optional(**more: Any) -> Any:
    """A field that is left out of a rubric's digest where it is not used: rubrics without it keep theirs."""
    return Field(default=None, exclude_if=lambda value: value is None, **more)


class Criteria(_Model):
    """Conditions under which the step earns all, some or none of its points."""

    full: str = Text
    partial: str = Text
    fail: str = Text


class StepError(_Model):
    """A named way to get the step wrong, what an observer sees of it, and the points it costs."""

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


class RubricStep(_Model):
    """One line of the score sheet."""

    id: str = Id
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

    def _points(self) -> list[tuple[str, float]]:
        """Everything that the step says in points."""
        points = [("max_score", self.max_score)]
        points += [(f"the deduction of {error.id!r}", error.deduct) for error in self.errors]
        return points + [("a cap", each.cap) for each in self.requires if each.cap is not None]

    @cached_property
    def score_increment(self) -> float:
        """1.0 (whole points) or 0.5 (half points): stated for the step or the rubric, else what the step shows."""
        if self.stated_score_increment is not None:
            return self.stated_score_increment
        return visible_score_increment((value for _, value in self._points()), self.criteria.model_dump().values())

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


def _with_score_increment(skill: Any, score_increment: Any) -> Any:
    if not isinstance(skill, dict) or not isinstance(skill.get("steps"), list | tuple):
        return skill
    steps = [
        {"score_increment": score_increment, **step} if isinstance(step, dict) else step for step in skill["steps"]
    ]
    return {**skill, "steps": steps}


class Rubric(_Model):
    """A checked score sheet: unique ids, scales, requirements that name *earlier* steps only (hence acyclic).

    ``title`` and ``setting`` ("on a suture pad") are what the prompt says of the exam; ``score_increment`` is that of
    every step that states none. A rubric may also call it ``grain``, as rubrics of version 0.1 did.
    """

    schema_version: Literal[1]
    rubric_id: str = Id
    version: str = Text
    skills: tuple[Skill, ...] = Field(min_length=1)
    title: str | None = None
    setting: str | None = _optional(min_length=1, max_length=300)
    score_increment: ScoreIncrement | None = _optional()
    status: str | None = None
    sources: dict[str, dict[str, Any]] = Field(default_factory=dict)

    @model_validator(mode="before")
    @classmethod
    def _increment_of_all(cls, data: Any) -> Any:
        """The rubric's score increment holds for every step that states none."""
        data = translate_rubric(data)
        score_increment = data.get("score_increment") if isinstance(data, dict) else None
        if score_increment is None or not isinstance(data.get("skills"), list | tuple):
            return data
        return {**data, "skills": [_with_score_increment(skill, score_increment) for skill in data["skills"]]}

    @model_validator(mode="after")
    def _consistent(self) -> Rubric:
        for conflict in conflicts(self.model_dump()):
            raise ValueError(conflict.what)
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
        >>> from siming_tasks.rubrics import default_rubric
        >>> allowed_points(default_rubric().by_id["cpr_01"])
        (0.0, 1.0, 2.0)
    """
    return tuple(step.score_increment * count for count in range(round(step.max_score / step.score_increment) + 1))

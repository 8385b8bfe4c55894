"""The shapes of ``videos.jsonl`` and ``dataset.yaml`` (the file contract, version 1)."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import asdict
from functools import lru_cache, partial
from typing import Annotated, Any, Literal

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    StrictBool,
    ValidationError,
    model_validator,
)

from siming_tasks.benchmark.exams import PERSON, Attempt, AttemptRule, Finding, Rater, RaterKind, StepLabel, Video
from siming_tasks.common.doc_pages import see
from siming_tasks.common.errors import Problem, field_message
from siming_tasks.common.files import check_file_name
from siming_tasks.common.hosts import stated_host
from siming_tasks.common.person_names import LOST
from siming_tasks.common.sanitize import shown_name
from siming_tasks.data.jsonl import MAX_ERRORS

VIDEO_ID = r"^[A-Za-z0-9_-][A-Za-z0-9._-]*$"
MAX_VIDEO_ID = 128


def check_name(name: str) -> str:
    """A name in a data set, if it is stored as it is shown (ValueError: it is not; names the first difference)."""
    if LOST in name:
        raise ValueError(f"the name {name!r} has a letter that was lost (U+FFFD); write it again")
    if (shown := shown_name(name)) == name:
        return name
    odd = re.search(r"⟦(U\+[0-9A-F]+)⟧", shown)
    why = f"contains {odd[1]}, which is invisible" if odd else "has extra spaces or is not composed (Unicode's NFC)"
    raise ValueError(f"the name {shown!r} {why}; write it again by hand")


PersonName = Annotated[str, AfterValidator(lru_cache(maxsize=4096)(check_name))]
Number = Annotated[float, Field(strict=True, allow_inf_nan=False)]
Sha256 = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]


class _Timed(BaseModel):
    """A part of the video in seconds: both times in their order, or neither."""

    model_config = ConfigDict(extra="allow")

    start: Number | None = None
    end: Number | None = None

    @model_validator(mode="after")
    def _span_whole(self) -> _Timed:
        if (self.start is None) != (self.end is None):
            raise ValueError("give both `start` and `end` or neither")
        if self.start is not None and self.end is not None and not 0 <= self.start < self.end:
            raise ValueError(f"the span {self.start:g}-{self.end:g} s is not `0 <= start < end`")
        return self


class AttemptRow(_Timed):
    """One of several attempts at a step; without times it has no clip."""

    correct: StrictBool
    errors: tuple[str, ...] = ()
    reason: str = ""


class RaterRow(BaseModel):
    """Facts about one rater; a key beyond these is an error, as a misspelt ``kind`` would make a person of a sensor."""

    model_config = ConfigDict(extra="forbid")

    kind: RaterKind = PERSON
    heard: StrictBool | None = None
    saw: Literal["recording", "present"] | None = None
    note: str = Field(default="", max_length=1000)

    def rater(self) -> Rater:
        """The entry as the suite's own type."""
        return Rater(self.kind, self.heard, self.saw)


def stated_raters(facts: Mapping[str, Rater]) -> dict[str, Any]:
    """The key ``raters`` of ``dataset.yaml``; nothing where nothing is known."""
    stated = {name: {key: value for key, value in asdict(rater).items() if value is not None}
              for name, rater in facts.items()}  # fmt: skip
    return {"raters": stated} if stated else {}


class FindingRow(BaseModel):
    """Errors that one rater saw in a step, and why."""

    model_config = ConfigDict(extra="forbid")

    errors: tuple[str, ...] | None = None
    reason: str = ""


class StepRow(_Timed):
    """One step of one video; its own span and points are those of the attempt that decides."""

    step_id: str
    score: dict[PersonName, Number | None] = Field(default_factory=dict)
    applicable: StrictBool = True
    errors: tuple[str, ...] | None = None
    reason: str | None = None
    findings: dict[PersonName, FindingRow] = Field(default_factory=dict)
    attempts: tuple[AttemptRow, ...] = ()

    def label(self, alike: dict[Any, Any]) -> StepLabel:
        """The row as the suite's own type; equal points of any step share one object in ``alike``."""
        points = tuple(self.score.items())
        scores = alike.get(points) or alike.setdefault(points, dict(points))
        return StepLabel(
            self.step_id,
            self.start,
            self.end,
            scores,
            self.applicable,
            self.errors,
            self.reason or "",
            {rater: Finding(row.errors, row.reason) for rater, row in self.findings.items()},
            tuple(Attempt(row.start, row.end, row.correct, row.errors, row.reason) for row in self.attempts),
        )


def _addressable(name: str) -> str:
    """Name of a split or a part that ``--split SPLIT:PART`` can say (ValueError: it cannot)."""
    if ":" in name or not name.strip():
        raise ValueError("names of splits and parts must not be empty or contain a colon: `--split SPLIT:PART`")
    return name


_Part = Annotated[str, AfterValidator(_addressable)]


class VideoRow(BaseModel):
    """One line of ``videos.jsonl``; keys beyond the contract (``student``, ``performance``...) are kept."""

    model_config = ConfigDict(extra="allow")

    video_id: Annotated[str, AfterValidator(check_file_name)] = Field(pattern=VIDEO_ID, max_length=MAX_VIDEO_ID)
    media: str = Field(min_length=1, max_length=1024)
    duration: Number = Field(gt=0, le=86_400)
    site: PersonName | None = None
    split: _Part | None = None
    splits: dict[_Part, _Part] = Field(default_factory=dict)
    steps: tuple[StepRow, ...] = Field(min_length=1)

    @model_validator(mode="after")
    def _named(self) -> VideoRow:
        if "split" in self.splits:
            raise ValueError(
                "the name `split` is reserved for the main split, whose part goes in `split`, not in `splits`"
            )
        for name in ("student", "performance"):
            if isinstance(value := (self.model_extra or {}).get(name), str):
                check_name(value)
        return self

    def video(self, order: dict[str, int], alike: dict[Any, Any]) -> Video:
        """The row as the suite's own type, steps in rubric ``order``; ``alike`` is shared by the rows of a data set."""
        steps = sorted(self.steps, key=lambda step: order[step.step_id])
        labels = tuple(step.label(alike) for step in steps)
        splits = {name: value for name in ("split", "splits") if (value := getattr(self, name))}
        extra = {**splits, **(self.model_extra or {})}
        return Video(self.video_id, self.media, self.duration, labels, self.site, extra)


class Simulated(BaseModel):
    """Parts of a data set that are simulated: its videos, which then show nobody, and its labels."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    videos: StrictBool = False
    labels: StrictBool = False


class ConsentRow(BaseModel):
    """Hosts that may receive recordings, each in its one form.

    Attributes:
        services: those of others, or ``any``; a name stands for all that end in it, after a dot.
        here: machines that count as this one.
    """

    model_config = ConfigDict(extra="allow")

    services: Literal["any"] | tuple[Annotated[str, AfterValidator(stated_host)], ...] = ()
    here: tuple[Annotated[str, AfterValidator(partial(stated_host, ours=True))], ...] = ()


class DatasetInfo(BaseModel):
    """``dataset.yaml``; keys beyond the contract are kept."""

    model_config = ConfigDict(extra="allow", coerce_numbers_to_str=True)

    name: str = Field(min_length=1, max_length=200)
    version: str = "0"
    license: str | None = None
    simulated: Simulated = Simulated()
    languages: tuple[str, ...] = ()
    label_sources: Any = None
    raters: dict[str, RaterRow] = Field(default_factory=dict)
    different: tuple[tuple[str, str], ...] = ()
    attempts: AttemptRule | None = None
    sound: StrictBool | None = None
    consent: ConsentRow | None = None
    digest: Sha256 | None = None
    media_sha256: dict[str, Sha256] = Field(default_factory=dict)

    @model_validator(mode="before")
    @classmethod
    def _simulated(cls, stated: Any) -> Any:
        if not isinstance(stated, dict):
            return stated
        if "synthetic" in stated:
            raise ValueError(
                "`synthetic` does not say what is simulated. Write `simulated: {videos: true, labels: true}`, or the "
                "one that is; leave it out of a data set of real recordings and labels"
            )
        both = {"videos": True, "labels": True}
        if stated.get("simulation") and (said := stated.get("simulated", both)) != both:
            raise ValueError(
                f"a `simulation` makes both videos and labels, but `simulated` says {said}. Correct one of them"
            )
        return {**stated, "simulated": both} if stated.get("simulation") else stated


def problems_of(
    error: ValidationError, file: str, line: int | None = None, row: Any = None, code: str = "row-invalid"
) -> list[Problem]:
    """Pydantic's findings as ours; ``row`` is the raw data, from which the step's id is read."""
    problems = []
    for item in error.errors(include_url=False)[:MAX_ERRORS]:
        value = item.get("input")
        without_value = isinstance(value, dict | list) or item["type"] in ("missing", "extra_forbidden")
        what = field_message(item) + ("" if without_value else f", found {str(value)[:60]!r}")
        fix = f"See {see('data')} for the format."
        problems.append(Problem(code, f"{what}.", fix, file, line, _where(item["loc"], row)))
    return problems


def _where(place: tuple[int | str, ...], row: Any) -> str | None:
    """``steps[3] (cpr_04).score.rater_a``: the path of a finding in the row."""
    text, value = "", row
    for part in place:
        try:
            value = value[part]
        except (KeyError, IndexError, TypeError):
            value = None
        text += f"[{part}]" if isinstance(part, int) else f".{part}" if text else str(part)
        if isinstance(part, int) and isinstance(value, dict) and isinstance(value.get("step_id"), str):
            text += f" ({value['step_id'][:64]})"
    return text or None

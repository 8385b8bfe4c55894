"""One line of a prediction file or sample log to the record of one request."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, Literal, TypeGuard, cast

from pydantic import BaseModel, ConfigDict, Field, ValidationError, create_model, field_validator

from siming_tasks.common.doc_pages import see
from siming_tasks.common.errors import Problem
from siming_tasks.common.schema import CORRECT, INCORRECT, Video
from siming_tasks.common.version_0_1 import translate_row
from siming_tasks.data.dataset import Dataset
from siming_tasks.data.row_schema import problems_of
from siming_tasks.parsing import STATUSES, Parsed
from siming_tasks.parsing.parsed_reply import MISSING
from siming_tasks.results.compact_records import KeptRecord, Reading, Shelf
from siming_tasks.results.record import read_as, record_of
from siming_tasks.results.supervised import stated_judge
from siming_tasks.results.usage import Usage
from siming_tasks.rubrics import RubricStep
from siming_tasks.tasks import ANSWER_FORMATS, RECORD_FIELDS, TASKS, TaskSpec
from siming_tasks.tasks.expected_requests import asked_steps, record_id
from siming_tasks.tasks.prompting import PromptOptions, steps_in_part

__all__ = ["RowReader"]

Record = dict[str, Any]

MOST_NAMED = 40
"""Unknown steps of one line that are named one by one."""
_RECORD_KEYS = frozenset(("id", "setting", "answers", "status"))


Short = Annotated[str, Field(max_length=200)]
Whole = Annotated[int, Field(strict=True, ge=0, lt=10**12)]
Seconds = Annotated[float, Field(strict=True, ge=-1e9, le=1e9, allow_inf_nan=False)]


class _Media(BaseModel):
    """What is read anywhere of what a model was shown; other keys may be there and are nobody's concern."""

    mode: Short | None = None
    n_frames: Whole | None = None
    file_frames: Whole | None = None
    indices: list[Whole] | None = None
    range: Annotated[list[Whole], Field(min_length=2, max_length=2)] | None = None
    start: Seconds | None = None
    end: Seconds | None = None
    fps: Seconds | None = None
    size: Whole | None = None
    density: Short | None = None
    quality: Whole | None = None
    encoding: Short | None = None
    bytes: Whole | None = None
    sampler: Short | int | None = None
    reader: Short | None = None
    steps: dict[Short, Whole] | None = None
    ablation: Short | None = None
    mismatched_video: Short | None = None


class _Line(BaseModel):
    """The types of what both forms of a line have in common."""

    model_config = ConfigDict(extra="ignore")

    setting: str
    video_id: str
    step_id: str | None = None
    status: str | None = None
    missing: dict[str, str] | None = None
    prompt: Short | None = None
    dataset: Short | None = None
    media: dict[str, Any] | None = None
    usage: Usage | None = None
    asking: Short | None = None
    part: Short | None = None
    parts: dict[str, str] | None = None
    judge: dict[str, str] | None = None

    @field_validator("judge", mode="before")
    @classmethod
    def _trained(cls, judge: Any) -> dict[str, str] | None:
        return stated_judge(judge)

    @field_validator("asking")
    @classmethod
    def _put(cls, asking: str | None) -> str | None:
        return PromptOptions.from_label(asking).label if asking else None

    @field_validator("media")
    @classmethod
    def _shown(cls, media: dict[str, Any] | None) -> dict[str, Any] | None:
        if media:
            _Media.model_validate(media)
        return media

    @cached_property
    def request(self) -> str:
        """The id of the request that the line answers."""
        clip = self.setting in TASKS and TASKS[self.setting].scope == "clip"
        return record_id(self.setting, self.video_id, self.step_id if clip else None)


_LINE_FIELDS = {
    name: (kind | None, None) for form in ANSWER_FORMATS.values() for name, kind in form.field_types().items()
}
_LineOfAnyFormat: type[_Line] = create_model("_LineOfAnyFormat", __base__=_Line, **cast(Any, _LINE_FIELDS))
"""A line with the fields that answer formats add."""

REQUEST_FAILED = "[LMMS_EVAL_REQUEST_FAILED]"
"""Begins the reply of a request that no model answered."""

_Steps = Mapping[str, RubricStep]
_Bare = tuple[str, str, Any, type]


@dataclass
class RowReader:
    """Reads lines against one dataset.

    Attributes:
        dataset: what was asked about.
        problems: what was found so far.
    """

    dataset: Dataset
    problems: list[Problem] = field(default_factory=list)
    _steps: dict[tuple[str, str], _Steps] = field(default_factory=dict, init=False)
    _alike: dict[tuple[str, ...], _Steps] = field(default_factory=dict, init=False)
    _known: dict[_Bare, Reading] = field(default_factory=dict, init=False)
    _shelf: Shelf = field(default_factory=Shelf, init=False)

    def read(self, row: dict[str, Any], file: Path, line: int) -> KeptRecord | None:
        """The record of a line; None, and a problem in most cases, if there is none.

        A clip's line that says of a step what an earlier line said of the same step of another video is read as that
        one was: there may be a million lines, and a few hundred different ones.
        """
        if (bare := _bare(row)) is None:
            return self._read(row, file, line)
        video = self.dataset.by_id.get(row["video_id"])
        if video and bare in self._known and bare[1] in self._asked_of(TASKS[bare[0]], video):
            return KeptRecord(bare[0], video.video_id, bare[1], self._known[bare])
        known = len(self.problems)
        record = self._read(row, file, line)
        if record is not None and len(self.problems) == known:
            self._known[bare] = record.reading
        return record

    def _read(self, row: dict[str, Any], file: Path, line: int) -> KeptRecord | None:
        row = translate_row(row)
        record = row if _is_record(row) else next(filter(_is_record, reversed(row.values())), None)
        record = translate_row(record) if record else None
        place = _Place(self.problems, str(file), line)
        if record is None and _is_reply(row):
            named = _reply_line(row)
            if other := next((key for key in named if key in row and (row[key] or None) != named[key]), None):
                what = f"the id {row['id'][:200]!r} and its {other} {str(row[other])[:64]!r} do not fit."
                place.error("prediction-invalid", what, "Leave the id as the request has it.", other)
                return None
            row = {**row, **named}
        if record is None and "setting" not in row:
            if "doc_id" not in row:  # else a sample of some other task of the same run
                fix = "A line needs `setting`, `video_id` and an answer."
                place.error("prediction-invalid", "neither a prediction nor a record.", fix)
            return None
        try:
            source = _LineOfAnyFormat.model_validate(record or row)
        except ValidationError as error:
            self.problems += problems_of(error, str(file), line, code="prediction-invalid")
            return None
        asked = self._asked(source, place)
        if asked is None:
            return None
        found = self._prediction(row, source, asked, place) if record is None else _record(record, source, asked, place)
        if found is None:
            return None
        clip = TASKS[source.setting].scope == "clip"
        video_id = self.dataset.video(source.video_id).video_id
        return self._shelf.keep(found, video_id, asked[0].id if clip else None)

    def _asked(self, source: _Line, place: _Place) -> tuple[RubricStep, ...] | None:
        """The steps that the line's request asks about; None, and a problem, if there is no such request."""
        if source.setting in TASKS and source.video_id in self.dataset.by_id:
            steps = self._asked_of(TASKS[source.setting], self.dataset.video(source.video_id))
            asked = tuple(steps.values())
            if TASKS[source.setting].scope == "clip":
                asked = (steps[source.step_id],) if source.step_id and source.step_id in steps else ()
            elif source.part:
                names = steps_in_part(source.part, tuple(steps), self.dataset.rubric.skill_of)
                asked = tuple(steps[name] for name in names)
            if asked:
                return asked
        if source.setting not in TASKS:
            what, fix = f"unknown setting {source.setting[:64]!r}.", f"One of {', '.join(TASKS)}."
            place.error("setting-unknown", what, fix, "setting")
        elif source.video_id not in self.dataset.by_id:
            what = f"the dataset has no video {source.video_id[:64]!r}; the line is not counted."
            place.warning("video-unknown", what, "Correct the id.", "video_id")
        elif source.part:
            what = f"video {source.video_id!r} has no part {source.part[:64]!r}; the line is not counted."
            place.warning("step-unknown", what, "Correct the part.", "part")
        else:
            what = (
                f"video {source.video_id!r} has no clip of step {str(source.step_id)[:64]!r}; the line is not counted."
            )
            place.warning("step-unknown", what, "Correct the id.", "step_id")
        return None

    def _asked_of(self, setting: TaskSpec, video: Video) -> _Steps:
        """All steps of a video that the requests of a setting are about, by id."""
        key = setting.scope, video.video_id
        if key not in self._steps:
            names = asked_steps(setting, video)
            steps = self._alike.setdefault(names, {name: self.dataset.rubric.by_id[name] for name in names})
            self._steps[key] = steps
        return self._steps[key]

    def _prediction(
        self, row: Mapping[str, Any], source: _Line, asked: tuple[RubricStep, ...], place: _Place
    ) -> Record | None:
        """A line of the prediction format. Parsed fields go through the reply parser unless they are beyond doubt."""
        setting = TASKS[source.setting]
        key = setting.field
        if ("response" in row) == (key in row):
            what = f"a {setting.name} line needs either `{key}` or `response`."
            place.error("prediction-invalid", what, f"See {see('data')}.")
            return None
        if isinstance(row.get(key), dict):
            unknown = sorted(row[key].keys() - {step.id for step in asked})
            for name in unknown[:MOST_NAMED]:
                what = f"step {name[:64]!r} was not asked of video {source.video_id!r}; it is not counted."
                place.warning("step-unknown", what, "Correct the id.", key)
            if (more := len(unknown) - MOST_NAMED) > 0:
                what = f"{more:,} more steps were not asked of video {source.video_id!r}; they are not counted."
                place.warning("step-unknown", what, "Correct the ids.", key)
        reply = row.get("response", json.dumps({key: row.get(key)}))
        parsed = _plain(row.get(key), asked, setting) or read_as(setting, reply, asked)
        if stated := setting.answer_format.stated_details(_format_fields(source), {step.id for step in asked}):
            parsed = replace(parsed, details={**parsed.details, **stated})
        if source.status in STATUSES and key in row:
            names = parsed.missing.keys()
            reasons = {k: v for k, v in (source.missing or {}).items() if k in names and v in MISSING}
            parsed = replace(parsed, status=source.status, missing={**parsed.missing, **reasons})
        for name, reason in parsed.missing.items():
            what = f"step {name!r} has no usable answer ({reason}); it counts as missing."
            place.warning("answer-missing", what, "Give points on the step's scale.", key)
        return record_of(
            setting.name,
            source.video_id,
            asked[0].id if setting.scope == "clip" else None,
            parsed,
            prompt=source.prompt,
            dataset=source.dataset or self.dataset.digest,
            media=source.media,
            asking=source.asking or "",
            part=source.part or "",
            judge=source.judge,
            usage=source.usage.model_dump() if source.usage else None,
        )


@dataclass(frozen=True)
class _Place:
    """Where problems are noted."""

    problems: list[Problem]
    file: str
    line: int

    def error(self, code: str, what: str, fix: str, where: str | None = None) -> None:
        self._note(code, what, fix, where, "error")

    def warning(self, code: str, what: str, fix: str, where: str | None = None) -> None:
        self._note(code, what, fix, where, "warning")

    def _note(self, code: str, what: str, fix: str, where: str | None, severity: Literal["error", "warning"]) -> None:
        self.problems.append(Problem(code, what, fix, self.file, self.line, where, severity))


_VERDICTS = {CORRECT: 0.0, INCORRECT: 1.0}


def _plain(value: Any, asked: Sequence[RubricStep], setting: TaskSpec) -> Parsed | None:
    """A parsed field that gives every asked step points on its scale, or one of the two words; else None."""
    given = {asked[0].id: value} if setting.scope == "clip" else value
    if not isinstance(given, dict) or len(given) != len(asked):
        return None
    answers = {}
    for step in asked:
        one = given.get(step.id)
        if setting.answer == "error":
            found = _VERDICTS.get(one) if isinstance(one, str) else None
        else:
            found = float(one) if _on_scale(one, step) else None
        if found is None:
            return None
        answers[step.id] = found
    return Parsed("ok", answers)


def _on_scale(value: Any, step: RubricStep) -> TypeGuard[float]:
    """Whether a value is points on the step's scale and score_increment: what a reply may say."""
    return isinstance(value, int | float) and not isinstance(value, bool) and step.on_scale(value)


def _is_verdict(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and value in (0, 1)


def _bare(row: Mapping[str, Any]) -> _Bare | None:
    """What a prediction line of a clip says that has nothing but its answer; None for any other line."""
    setting, step_id, video_id = row.get("setting"), row.get("step_id"), row.get("video_id")
    if len(row) != 4 or not (isinstance(setting, str) and isinstance(step_id, str) and isinstance(video_id, str)):
        return None
    kind = TASKS.get(setting)
    value = row.get(kind.field) if kind and kind.scope == "clip" else None
    return (setting, step_id, value, type(value)) if isinstance(value, str | int | float) else None


def _is_reply(row: Mapping[str, Any]) -> bool:
    """Whether a line answers a request of ``siming run requests``: its id, and the reply or why there is none."""
    return isinstance(row.get("id"), str) and ("reply" in row or "error" in row) and "response" not in row


def _reply_line(row: Mapping[str, Any]) -> dict[str, Any]:
    """What the id of such a line says, and its reply; one that failed is told as lmms-eval's own classes tell it."""
    setting, _, rest = row["id"].partition("/")
    video_id, _, rest = rest.partition("/")
    part, step_id = (rest, None) if ":" in rest else (None, rest or None)
    failed = row.get("reply") is None and row.get("error")
    response = f"{REQUEST_FAILED} {row['error']}"[:2000] if failed else row.get("reply")
    asking = row.get("asking") or (part and part.partition(":")[0])
    about = {"setting": setting, "video_id": video_id, "step_id": step_id, "part": part, "asking": asking}
    return {**about, "response": response}


def _is_record(value: Any) -> bool:
    return isinstance(value, dict) and value.keys() >= _RECORD_KEYS


def _record(record: Mapping[str, Any], source: _Line, asked: tuple[RubricStep, ...], place: _Place) -> Record | None:
    """A record as the suite wrote it, after making sure that nobody edited it into nonsense."""
    if fault := _fault(record, source, {step.id: step for step in asked}):
        place.error("record-invalid", f"{fault}.", "Score the run's own output, unedited.")
        return None
    usage = source.usage.model_dump() if source.usage else None
    return {**record, "missing": source.missing or {}, "media": source.media or {}, "usage": usage,
            "judge": source.judge, **{name: record.get(name) for name in RECORD_FIELDS}}  # fmt: skip


def _fault(record: Mapping[str, Any], source: _Line, steps: Mapping[str, RubricStep]) -> str | None:
    if record["id"] != source.request:
        return f"id {str(record['id'])[:64]!r} is not {source.request!r}"
    if not isinstance(record["status"], str) or record["status"] not in STATUSES:
        return f"unknown status {str(record['status'])[:64]!r}"
    if not isinstance(record["answers"], dict):
        return "`answers` is not an object"
    points = TASKS[source.setting].answer == "score"
    for name, value in record["answers"].items():
        if name not in steps or not (_on_scale(value, steps[name]) if points else _is_verdict(value)):
            return f"answer {str(value)[:64]} to {name[:64]!r} is off the scale or was not asked"
    for name, reason in (source.missing or {}).items():
        if name not in steps or reason not in MISSING:
            return f"missing {name[:64]!r}: {reason[:64]!r} was not asked or is no reason"
    fields, own = _format_fields(source), TASKS[source.setting].answer_format
    for form in ANSWER_FORMATS.values():
        # A format that the task does not have finds fault with every one of its fields: no step may state it.
        if fault := form.fault(fields, record["answers"], steps if form is own else {}):
            return fault
    return None


def _format_fields(source: _Line) -> dict[str, Any]:
    return {name: getattr(source, name) for name in RECORD_FIELDS}

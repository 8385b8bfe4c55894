"""Parser of one line of a prediction file or sample log: the record of one request, or the problem with the line."""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, Literal, cast

from pydantic import BaseModel, ConfigDict, Field, ValidationError, create_model, field_validator

from siming_tasks.benchmark.exams import Video
from siming_tasks.benchmark.parsing import STATUSES, Parsed
from siming_tasks.benchmark.parsing.parsed_reply import MISSING
from siming_tasks.benchmark.record import REQUEST_FAILED, SUPERVISED, Conditions, Record, logged_reply, same_answers
from siming_tasks.benchmark.rubrics import RubricStep
from siming_tasks.benchmark.tasks import ANSWER_FORMATS, RECORD_FIELDS, TASKS, TaskSpec
from siming_tasks.benchmark.tasks.expected_requests import asked_steps, record_id
from siming_tasks.benchmark.tasks.prompting import PromptOptions, steps_in_part
from siming_tasks.benchmark.types import CORRECT, INCORRECT
from siming_tasks.common.doc_pages import see
from siming_tasks.common.errors import Problem
from siming_tasks.common.printed_value import counted
from siming_tasks.common.public_facts import public_name, public_word
from siming_tasks.common.sanitize import is_number, well_formed
from siming_tasks.data.dataset import Dataset
from siming_tasks.data.row_schema import problems_of
from siming_tasks.study.results.usage import Short, Usage

_RECORD_KEYS = frozenset(("id", "setting", "answers", "status"))
_VERDICTS = {CORRECT: 0.0, INCORRECT: 1.0}

Whole = Annotated[int, Field(strict=True, ge=0)]
Seconds = Annotated[float, Field(strict=True, allow_inf_nan=False)]


class _Media(BaseModel):
    """Types of the media facts that are read anywhere; other keys may be there and are not looked at."""

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
    pixels: Short | int | None = None
    decoder: dict[Short, Short] | None = None
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
    missing: dict[str, str] = {}
    prompt: Short | None = None
    dataset: Short | None = None
    media: dict[str, Any] | None = None
    usage: Usage | None = None
    asking: Short | None = None
    reply_schema: Short | None = None
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

    @field_validator("usage", mode="before")
    @classmethod
    def _used(cls, usage: Any) -> Any:
        """Usage without numbers that are no count: what is unknown costs no reply."""
        if not isinstance(usage, dict):
            return usage
        return {name: value for name, value in usage.items() if not isinstance(value, float) or math.isfinite(value)}

    @field_validator("media")
    @classmethod
    def _check_media(cls, media: dict[str, Any] | None) -> dict[str, Any] | None:
        if media:
            _Media.model_validate(media)
        return media

    @cached_property
    def format_fields(self) -> dict[str, Any]:
        """The fields that answer formats add."""
        return {name: getattr(self, name) for name in RECORD_FIELDS}


_LINE_FIELDS = {
    name: (kind | None, None) for form in ANSWER_FORMATS.values() for name, kind in form.field_types().items()
}
_LineOfAnyFormat: type[_Line] = create_model("_LineOfAnyFormat", __base__=_Line, **cast(Any, _LINE_FIELDS))
"""A line with the fields that answer formats add."""

_Steps = Mapping[str, RubricStep]


@dataclass
class RecordParser:
    """Parser of lines about one data set.

    Attributes:
        dataset: what was asked about.
        problems: findings so far, errors and warnings.
    """

    dataset: Dataset
    problems: list[Problem] = field(default_factory=list)
    _steps: dict[tuple[str, str], _Steps] = field(default_factory=dict, init=False)
    _place: tuple[str, int] = field(default=("", 0), init=False)
    _disagree: dict[str, list[str]] = field(default_factory=dict, init=False)

    @property
    def disagreements(self) -> list[Problem]:
        """A warning for each file with replies that read otherwise than their records say."""
        problems = []
        for file, names in self._disagree.items():
            shown = ", ".join(names[:3]) + (", ..." if len(names) > 3 else "")
            what = f"{counted(len(names), 'reply')} read otherwise than recorded ({shown}); the replies count."
            fix = "The log was made by another version or edited; find out which."
            problems.append(Problem("reply-disagrees", what, fix, file, severity="warning"))
        return problems

    def _note(
        self, code: str, what: str, fix: str, where: str | None = None, severity: Literal["error", "warning"] = "error"
    ) -> None:
        self.problems.append(Problem(code, what, fix, *self._place, where, severity))

    def parse(self, row: dict[str, Any], file: Path, line: int) -> Record | None:
        """The record of a line; None, and a problem in most cases, if there is none."""
        self._place = str(file), line
        logged = row if _is_record(row) else next(filter(_is_record, reversed(row.values())), None)
        if logged is None and "setting" not in row:
            if "doc_id" not in row:  # else a sample of some other task of the same run
                fix = "A line needs `setting`, `video_id` and an answer."
                self._note("prediction-invalid", "neither a prediction nor a record.", fix)
            return None
        try:
            source = _LineOfAnyFormat.model_validate(logged or row)
        except ValidationError as error:
            self.problems += problems_of(error, *self._place, code="prediction-invalid")
            return None
        asked = self._asked(source)
        if asked is None:
            return None
        parsed = self._parsed_line(row, source, asked) if logged is None else self._parsed_record(logged, source, asked)
        if parsed is None:
            return None
        reply = raw_reply(row) if logged else None
        conditions = Conditions(
            prompt=sys.intern(source.prompt) if source.prompt else source.prompt,
            dataset=sys.intern(source.dataset) if source.dataset else None if logged else self.dataset.digest,
            media=source.media or {},
            usage=source.usage.model_dump() if source.usage else None,
            asking=source.asking or "",
            reply_schema=source.reply_schema or "",
            part=source.part or "",
            parts=source.parts or None,
            judge=source.judge,
        )
        setting, video_id = sys.intern(source.setting), self.dataset.video(source.video_id).video_id
        step_id = asked[0].id if TASKS[setting].scope == "clip" else None
        if logged is None:
            return Record.from_reply(setting, video_id, step_id, parsed, conditions)
        record = Record(setting, video_id, step_id, parsed, conditions)
        if reply is None or conditions.parts:
            return record
        anew = TASKS[setting].answer_format.parse(reply, asked, TASKS[setting].answer)
        read = Record.from_reply(setting, video_id, step_id, anew, conditions)
        if not same_answers(read, record) or (read.status, read.missing) != (record.status, record.missing):
            self._disagree.setdefault(self._place[0], []).append(record.id)
        return read

    def _asked(self, source: _Line) -> tuple[RubricStep, ...] | None:
        """The steps that the line's request asks about; None, and a problem, if there is no such request."""
        if source.setting not in TASKS:
            what, fix = f"unknown setting {source.setting[:64]!r}.", f"One of {', '.join(TASKS)}."
            self._note("setting-unknown", what, fix, "setting")
            return None
        if self.dataset.whole and source.video_id in self.dataset.whole.by_id.keys() - self.dataset.by_id.keys():
            return None  # a video outside of the part that is scored
        if source.video_id not in self.dataset.by_id:
            what = f"the dataset has no video {source.video_id[:64]!r}; the line is not counted."
            self._note("video-unknown", what, "Correct the id.", "video_id", "warning")
            return None
        steps = self._steps_of(TASKS[source.setting], self.dataset.video(source.video_id))
        asked = tuple(steps.values())
        if TASKS[source.setting].scope == "clip":
            asked = (steps[source.step_id],) if source.step_id and source.step_id in steps else ()
        elif source.part:
            names = steps_in_part(source.part, tuple(steps), self.dataset.rubric.skill_of)
            asked = tuple(steps[name] for name in names)
        if asked:
            return asked
        if TASKS[source.setting].scope == "clip" and source.step_id is None:
            self._note("prediction-invalid", f"a {source.setting} line needs a `step_id`.", f"See {see('data')}.")
            return None
        key, kind, name = ("part", "part", source.part) if source.part else ("step_id", "clip of step", source.step_id)
        what = f"video {source.video_id!r} has no {kind} {str(name)[:64]!r}; the line is not counted."
        self._note("step-unknown", what, f"Correct the {'part' if source.part else 'id'}.", key, "warning")
        return None

    def _steps_of(self, setting: TaskSpec, video: Video) -> _Steps:
        """All steps of a video that the requests of a setting are about, by id."""
        key = setting.scope, video.video_id
        if key not in self._steps:
            self._steps[key] = {name: self.dataset.rubric.by_id[name] for name in asked_steps(setting, video)}
        return self._steps[key]

    def _parsed_line(self, row: Mapping[str, Any], source: _Line, asked: tuple[RubricStep, ...]) -> Parsed | None:
        """Answers of a prediction line. Parsed fields go through the reply parser unless they are beyond doubt."""
        setting = TASKS[source.setting]
        key = setting.field
        if ("response" in row) == (key in row):
            what = f"a {setting.name} line needs either `{key}` or `response`."
            self._note("prediction-invalid", what, f"See {see('data')}.")
            return None
        given = row.get(key)
        if isinstance(given, dict) and (unknown := sorted(given.keys() - {step.id for step in asked})):
            shown = ", ".join(repr(name[:64]) for name in unknown[:3]) + ", ..." * (len(unknown) > 3)
            what = (
                f"{counted(len(unknown), 'answer')} on steps not asked of {source.video_id!r} ({shown}); not counted."
            )
            self._note("step-unknown", what, "Correct the ids.", key, "warning")
        reply = raw_reply(row) if "response" in row else json.dumps({key: row.get(key)})
        form = setting.answer_format
        parsed = _parse_plain_answers(row.get(key), asked, setting) or form.parse(reply, asked, setting.answer)
        if stated := form.stated_details(source.format_fields, {step.id: step for step in asked}):
            parsed = replace(parsed, details={**parsed.details, **stated})
        if source.status in STATUSES and key in row:
            names = parsed.missing.keys()
            reasons = {k: v for k, v in source.missing.items() if k in names and v in MISSING}
            parsed = replace(parsed, status=source.status, missing={**parsed.missing, **reasons})
        self._note_missing(parsed, source, is_reply="response" in row)
        return parsed

    def _note_missing(self, parsed: Parsed, source: _Line, *, is_reply: bool) -> None:
        """Note the steps of a prediction line without an answer: of a reply together, of answers one by one."""
        setting = TASKS[source.setting]
        request = record_id(setting.name, source.video_id, source.step_id if setting.scope == "clip" else None)
        count, steps = len(parsed.missing), counted(len(parsed.missing), "step")
        if parsed.status == REQUEST_FAILED:
            what = f"{request} failed; {steps} without an answer."
            self._note(
                "request-failed", what, "Ask it again; `siming score RUN --show missing` says how.", severity="warning"
            )
        elif is_reply and count:
            shown = ", ".join(f"{name} {reason}" for name, reason in [*parsed.missing.items()][:3])
            what = f"the reply to {request} leaves {steps} without a usable answer ({shown}"
            what += f"{', ...' * (count > 3)}); they count as missing."
            self._note("reply-unread", what, f"See {see('parsing')}.", "response", "warning")
        else:
            fix = (
                "Give points on the step's scale."
                if setting.answer == "score"
                else f'Write "{CORRECT}" or "{INCORRECT}".'
            )
            for name, reason in parsed.missing.items():
                what = f"step {name!r} has no usable answer ({reason}); it counts as missing."
                self._note("answer-missing", what, fix, setting.field, "warning")

    def _parsed_record(self, logged: Mapping[str, Any], source: _Line, asked: tuple[RubricStep, ...]) -> Parsed | None:
        """Answers of a record as the suite wrote it, after making sure that nobody edited it into nonsense."""
        if fault := _fault(logged, source, {step.id: step for step in asked}):
            self._note("record-invalid", f"{fault}.", "Score the run's own output, unedited.")
            return None
        # As they stand in the file: a validated time is the same number, but not always of the same type.
        return logged_reply(logged, logged["status"], source.missing)


def _fault(record: Mapping[str, Any], source: _Line, steps: _Steps) -> str | None:
    """First contradiction between a logged record and its question, in words; None if there is none."""
    setting = TASKS[source.setting]
    request = record_id(source.setting, source.video_id, source.step_id if setting.scope == "clip" else None)
    if record["id"] != request:
        return f"id {str(record['id'])[:64]!r} is not {request!r}"
    if record["status"] not in STATUSES:
        return f"unknown status {str(record['status'])[:64]!r}"
    if not isinstance(record["answers"], dict):
        return "`answers` is not an object"
    for name, value in record["answers"].items():
        is_usable = name in steps and is_number(value)
        if not is_usable or not (steps[name].on_scale(value) if setting.answer == "score" else value in (0, 1)):
            return f"answer {str(value)[:64]} to {name[:64]!r} is outside the step's range or was not asked"
    for name, reason in source.missing.items():
        if name not in steps or reason not in MISSING:
            return f"missing {name[:64]!r}: {reason[:64]!r} was not asked or is not a reason"
    for form in ANSWER_FORMATS.values():
        # A format that the task does not have finds fault with every one of its fields: no step may state it.
        own_steps = steps if form is setting.answer_format else {}
        if fault := form.fault(source.format_fields, record["answers"], own_steps):
            return fault
    return None


def _parse_plain_answers(value: Any, asked: Sequence[RubricStep], setting: TaskSpec) -> Parsed | None:
    """A parsed field that gives every asked step points on its scale, or one of the two words; else None."""
    values = {asked[0].id: value} if setting.scope == "clip" else value
    if not isinstance(values, dict) or len(values) != len(asked):
        return None
    answers = {}
    for step in asked:
        answer = values.get(step.id)
        if setting.answer == "error":
            step_answer = _VERDICTS.get(answer) if isinstance(answer, str) else None
        else:
            step_answer = float(answer) if is_number(answer) and step.on_scale(answer) else None
        if step_answer is None:
            return None
        answers[step.id] = step_answer
    return Parsed("ok", answers)


def raw_reply(line: Mapping[str, Any]) -> str | None:
    """The reply in a line of a sample log or prediction file, as text; None if the line has none."""
    reply = next((line[key] for key in ("filtered_resps", "resps", "response") if line.get(key) is not None), None)
    while isinstance(reply, list) and len(reply) == 1:
        reply = reply[0]
    if reply is None:
        return None
    return well_formed(reply if isinstance(reply, str) else json.dumps(reply, ensure_ascii=False))


def _is_record(value: Any) -> bool:
    return isinstance(value, dict) and value.keys() >= _RECORD_KEYS


def stated_judge(stated: Any) -> dict[str, str] | None:
    """Facts that a line states about a judge that was trained on these data: ``kind``, then how; None for others."""
    if not isinstance(stated, dict) or stated.get("kind") != SUPERVISED:
        return None
    about = {name: public_word(stated[name]) for name in ("folds", "unit") if name in stated}
    backbone = {"backbone": public_name(stated["backbone"])} if "backbone" in stated else {}
    return {"kind": SUPERVISED, **backbone, **about}

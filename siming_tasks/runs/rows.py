"""One line of a prediction file or sample log to the record of one request."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, ValidationError

from siming_tasks.data.dataset import Dataset
from siming_tasks.data.rows import problems_of
from siming_tasks.errors import Problem
from siming_tasks.parsing import STATUSES, Parsed, parse_reply
from siming_tasks.rubrics import RubricStep
from siming_tasks.runs.record import record_of
from siming_tasks.settings import SETTINGS
from siming_tasks.settings.requests import asked_steps, expected_requests, record_id

__all__ = ["Record", "RowReader"]

Record = dict[str, Any]

_FIELD = {"full_score": "scores", "full_error": "verdicts", "clip_score": "score", "clip_error": "verdict"}
_RECORD_KEYS = frozenset(("id", "setting", "answers", "status"))


class _Line(BaseModel):
    """The types of what both forms of a line have in common."""

    model_config = ConfigDict(extra="ignore")

    setting: str
    video_id: str
    step_id: str | None = None
    status: str | None = None
    missing: dict[str, str] | None = None
    prompt: str | None = None
    dataset: str | None = None
    media: dict[str, Any] | None = None

    @cached_property
    def request(self) -> str:
        """The id of the request that the line answers."""
        clip = self.setting in SETTINGS and SETTINGS[self.setting].scope == "clip"
        return record_id(self.setting, self.video_id, self.step_id if clip else None)


@dataclass
class RowReader:
    """Reads lines against one dataset.

    Attributes:
        dataset: what was asked about.
        requests: every request of the dataset in order, by id, with the steps that it asks about.
        problems: what was found so far.
    """

    dataset: Dataset
    requests: Mapping[str, tuple[RubricStep, ...]] = field(init=False)
    problems: list[Problem] = field(default_factory=list)

    def __post_init__(self) -> None:
        requests = {}
        steps = self.dataset.rubric.by_id
        for name, setting in SETTINGS.items():
            for video_id, step_id in expected_requests(setting, self.dataset.videos):
                names = (step_id,) if step_id else asked_steps(setting, self.dataset.video(video_id))
                requests[record_id(name, video_id, step_id)] = tuple(steps[step] for step in names)
        self.requests = requests

    def read(self, row: dict[str, Any], file: Path, line: int) -> Record | None:
        """The record of a line; None, and a problem in most cases, if there is none."""
        record = row if _is_record(row) else next(filter(_is_record, reversed(row.values())), None)
        place = _Place(self.problems, str(file), line)
        if record is None and "setting" not in row:
            if "doc_id" not in row:  # else a sample of some other task of the same run
                fix = "A line needs `setting`, `video_id` and an answer."
                place.error("prediction-invalid", "neither a prediction nor a record.", fix)
            return None
        try:
            source = _Line.model_validate(record or row)
        except ValidationError as error:
            self.problems += problems_of(error, str(file), line, code="prediction-invalid")
            return None
        asked = self._asked(source, place)
        if asked is None:
            return None
        return self._prediction(row, source, asked, place) if record is None else _record(record, source, asked, place)

    def _asked(self, source: _Line, place: _Place) -> tuple[RubricStep, ...] | None:
        """The steps that the line's request asks about; None, and a problem, if there is no such request."""
        if asked := self.requests.get(source.request):
            return asked
        if source.setting not in SETTINGS:
            what, fix = f"unknown setting {source.setting[:64]!r}.", f"One of {', '.join(SETTINGS)}."
            place.error("setting-unknown", what, fix, "setting")
        elif source.video_id not in self.dataset.by_id:
            what = f"the dataset has no video {source.video_id[:64]!r}; the line is not counted."
            place.warning("video-unknown", what, "Correct the id.", "video_id")
        else:
            what = (
                f"video {source.video_id!r} has no clip of step {str(source.step_id)[:64]!r}; the line is not counted."
            )
            place.warning("step-unknown", what, "Correct the id.", "step_id")
        return None

    def _prediction(
        self, row: Mapping[str, Any], source: _Line, asked: tuple[RubricStep, ...], place: _Place
    ) -> Record | None:
        """A line of the prediction format. Parsed fields go through the reply parser too, as the JSON they are."""
        key, setting = _FIELD[source.setting], SETTINGS[source.setting]
        if ("response" in row) == (key in row):
            what = f"a {setting.name} line needs either `{key}` or `response`."
            place.error("prediction-invalid", what, "See docs/data.md.")
            return None
        if isinstance(row.get(key), dict):
            for name in sorted(row[key].keys() - {step.id for step in asked}):
                what = f"step {name[:64]!r} was not asked of video {source.video_id!r}; it is not counted."
                place.warning("step-unknown", what, "Correct the id.", key)
        parsed = parse_reply(row.get("response", json.dumps({key: row.get(key)})), asked, setting.answer)
        if source.status in STATUSES and key in row:
            parsed = Parsed(source.status, parsed.answers, source.missing or {})
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


def _is_record(value: Any) -> bool:
    return isinstance(value, dict) and value.keys() >= _RECORD_KEYS


def _record(record: Mapping[str, Any], source: _Line, asked: tuple[RubricStep, ...], place: _Place) -> Record | None:
    """A record as the suite wrote it, after making sure that nobody edited it into nonsense."""
    if fault := _fault(record, source, {step.id: step.max_score for step in asked}):
        place.error("record-invalid", f"{fault}.", "Score the run's own output, unedited.")
        return None
    return {**record, "missing": source.missing or {}, "media": source.media or {}}


def _fault(record: Mapping[str, Any], source: _Line, scale: Mapping[str, float]) -> str | None:
    if record["id"] != source.request:
        return f"id {record['id']!r} is not {source.request!r}"
    if record["status"] not in STATUSES:
        return f"unknown status {record['status']!r}"
    if not isinstance(record["answers"], dict):
        return "`answers` is not an object"
    points = SETTINGS[source.setting].answer == "score"
    for name, value in record["answers"].items():
        top = (scale[name] if points else 1.0) if name in scale else -1.0
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= top:
            return f"answer {value!r} to {name!r} is off the scale or was not asked"
    return None

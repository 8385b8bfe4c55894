"""Prediction files and lmms-eval sample logs in, one record per request out."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, ValidationError

from siming_tasks.data.dataset import Dataset
from siming_tasks.data.jsonl import read_jsonl
from siming_tasks.data.rows import problems_of
from siming_tasks.errors import DataError, Problem
from siming_tasks.files import atomic_write
from siming_tasks.parsing import STATUSES, Parsed, parse_reply
from siming_tasks.rubrics import RubricStep
from siming_tasks.schema import SETTINGS, Setting, Video
from siming_tasks.scoring import asked_steps, expected_requests, prediction_line, record_id, record_of

__all__ = ["Predictions", "load_predictions", "read_records", "write_predictions"]

Record = dict[str, Any]

MAX_LOG_LINE = 256_000_000
"""Longest line of a sample log in bytes: a reply of many megabytes is a model's fault and must still be counted."""

_FIELD = {"full_score": "scores", "full_error": "verdicts", "clip_score": "score", "clip_error": "verdict"}
_KEPT = ("status", "missing", "prompt", "dataset", "media")
"""What a prediction line may add to say how its reply was read; the suite's own files have it."""
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


@dataclass(frozen=True)
class Predictions:
    """What prediction files hold.

    Attributes:
        records: by setting, in dataset order; settings without any line are absent.
        problems: errors (the file cannot be trusted) and warnings (entries that count as missing).
        files: the files read.
    """

    records: Mapping[str, list[Record]]
    problems: tuple[Problem, ...]
    files: tuple[Path, ...]


@dataclass
class _Join:
    """Records by id with the place each came from; a second, different record of one id is a conflict."""

    found: dict[str, tuple[Record, Path, int]] = field(default_factory=dict)

    def add(self, record: Record, path: Path, line: int) -> Problem | None:
        mine = (record, path, line)
        first = self.found.setdefault(record["id"], mine)
        if first is mine:
            return None
        same_file = first[1] == path
        if not same_file and _answer(first[0]) == _answer(record):
            return None
        other = "" if same_file else ", with another answer"
        what = f"{record['id']} stands in {first[1]}:{first[2]} already{other}."
        fix = "Keep one of them." if same_file else "Score two runs apart; of one run, remove the stale file."
        return Problem("prediction-twice", what, fix, str(path), line)


def read_records(path: str | Path, dataset: Dataset) -> dict[str, list[Record]]:
    """The records of a prediction file, a sample log, or a folder of several (partial ones are joined).

    Returns:
        By setting name, one record per request that has a line, in dataset order. Entries that name an unknown video
        or step are left out: what was asked and has no record counts as missing when it is scored.

    Raises:
        DataError: nothing to read, a line that is not JSON, or two different answers to one request (both named).
    """
    predictions = load_predictions(path, dataset)
    if errors := [problem for problem in predictions.problems if problem.severity == "error"]:
        raise DataError.of(errors)
    return dict(predictions.records)


def load_predictions(path: str | Path, dataset: Dataset) -> Predictions:
    """Like :func:`read_records`, but with every problem in the result instead of an exception."""
    files, problems = _files(Path(path))
    join = _Join()
    for file in files:
        log = "_samples_" in file.name
        for line, row in read_jsonl(file, str(file), MAX_LOG_LINE, strict=not log):
            result = row if isinstance(row, Problem) else _read_row(row, dataset, file, line)
            for item in [result] if isinstance(result, Problem) else result:
                found = item if isinstance(item, Problem) else join.add(item, file, line)
                problems += [found] if found else []
    if not join.found and not problems:
        fix = "Give a prediction file (docs/data.md) or the output of lmms-eval --log_samples."
        problems.append(Problem("no-predictions", "no line holds a prediction.", fix, str(path)))
    order = {name: index for index, name in enumerate(_requests(dataset))}
    records: dict[str, list[Record]] = {}
    for record in sorted((entry[0] for entry in join.found.values()), key=lambda record: order[record["id"]]):
        records.setdefault(record["setting"], []).append(record)
    problems += _unanswered(records, order, str(path))
    problems += _mixed(records, dataset, str(path))
    return Predictions(records, tuple(problems), tuple(files))


def write_predictions(records: Iterable[Mapping[str, Any]], path: Path) -> Path:
    """Write records as a prediction file, from which :func:`read_records` gets the same records back.

    Returns:
        ``path``.
    """
    with atomic_write(path) as stream:
        for record in records:
            stream.write(json.dumps(_prediction(record), ensure_ascii=False) + "\n")
    return path


def _prediction(record: Mapping[str, Any]) -> dict[str, Any]:
    kept = {key: record[key] for key in _KEPT if record.get(key) is not None}
    return {**prediction_line(record), **kept}


def _requests(dataset: Dataset) -> Iterator[str]:
    """The id of every request that a dataset gives rise to."""
    for name, setting in SETTINGS.items():
        for video_id, step_id in expected_requests(setting, dataset):
            yield record_id(name, video_id, step_id)


def _files(path: Path) -> tuple[list[Path], list[Problem]]:
    if path.is_file():
        return [path], []
    files = sorted(path.rglob("*_samples_*.jsonl")) or sorted(path.rglob("*.jsonl"))
    if files:
        return files, []
    what = "no *.jsonl file in this folder." if path.is_dir() else "no such file or folder."
    fix = "Give a prediction file, or the --output_path of a run with --log_samples."
    return [], [Problem("no-predictions", what, fix, str(path))]


def _read_row(row: Record, dataset: Dataset, file: Path, line: int) -> list[Record | Problem] | Problem:
    record = row if row.keys() >= _RECORD_KEYS else next(filter(_is_record, row.values()), None)
    if record is None and "setting" not in row:
        if "doc_id" in row:  # a sample of some other task of the same run
            return []
        fix = "A line needs `setting`, `video_id` and an answer."
        return Problem("prediction-invalid", "neither a prediction nor a record.", fix, str(file), line)
    try:
        source = _Line.model_validate(record or row)
    except ValidationError as error:
        return list(problems_of(error, str(file), line, code="prediction-invalid"))

    def problem(code: str, what: str, fix: str, where: str, severity: Any = "error") -> Problem:
        return Problem(code, what, fix, str(file), line, where, severity)

    setting = SETTINGS.get(source.setting)
    if setting is None:
        fix = f"One of {', '.join(SETTINGS)}."
        return problem("setting-unknown", f"unknown setting {source.setting[:64]!r}.", fix, "setting")
    video = dataset.by_id.get(source.video_id)
    if video is None:
        what = f"the dataset has no video {source.video_id[:64]!r}; the line is not counted."
        return problem("video-unknown", what, "Correct the id.", "video_id", "warning")
    asked = _asked(dataset, setting, video, source.step_id)
    if not asked:
        what = f"video {video.video_id!r} has no clip of step {str(source.step_id)[:64]!r}; the line is not counted."
        return problem("step-unknown", what, "Correct the id.", "step_id", "warning")
    if record is not None:
        fault = _record_fault(record, setting, video, {step.id: step for step in asked})
        if fault:
            return problem("record-invalid", f"{fault}.", "Score the run's own output, unedited.", "siming_record")
        return [dict(record)]
    return _from_prediction(row, source, dataset, setting, video, asked, str(file), line)


def _is_record(value: Any) -> bool:
    return isinstance(value, dict) and value.keys() >= _RECORD_KEYS


def _asked(dataset: Dataset, setting: Setting, video: Video, step_id: str | None) -> list[RubricStep]:
    """The rubric steps that one request asks about; empty if there is no such request."""
    steps = asked_steps(setting, video)
    return [dataset.rubric.by_id[name] for name in steps if setting.scope == "full" or name == step_id]


def _record_fault(record: Record, setting: Setting, video: Video, asked: Mapping[str, RubricStep]) -> str | None:
    step_id = record.get("step_id") if setting.scope == "clip" else None
    if record["id"] != (expected := record_id(setting.name, video.video_id, step_id)):
        return f"id {record['id']!r} is not {expected!r}"
    if record["status"] not in STATUSES:
        return f"unknown status {record['status']!r}"
    if not isinstance(record["answers"], dict):
        return "`answers` is not an object"
    for name, value in record["answers"].items():
        top = (asked[name].max_score if setting.answer == "score" else 1.0) if name in asked else -1.0
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= top:
            return f"answer {value!r} to {name!r} is off the scale or was not asked"
    return None


def _from_prediction(
    row: Record,
    source: _Line,
    dataset: Dataset,
    setting: Setting,
    video: Video,
    asked: list[RubricStep],
    file: str,
    line: int,
) -> list[Record | Problem] | Problem:
    """A line of the prediction format. Parsed fields go through the reply parser too, as the JSON they are."""
    key = _FIELD[setting.name]
    if ("response" in row) == (key in row):
        what = f"a {setting.name} line needs either `{key}` or `response`."
        return Problem("prediction-invalid", what, "See docs/data.md.", file, line)
    found: list[Record | Problem] = []
    if isinstance(row.get(key), dict):
        for name in sorted(row[key].keys() - {step.id for step in asked}):
            what = f"step {name[:64]!r} was not asked of video {video.video_id!r}; it is not counted."
            found.append(Problem("step-unknown", what, "Correct the id.", file, line, key, "warning"))
    parsed = parse_reply(row.get("response", json.dumps({key: row.get(key)})), asked, setting.answer)
    if source.status in STATUSES and key in row:
        parsed = Parsed(source.status, parsed.answers, source.missing or {})
    step_id = asked[0].id if setting.scope == "clip" else None
    record = record_of(
        setting.name,
        video.video_id,
        step_id,
        parsed,
        prompt=source.prompt,
        dataset=source.dataset or dataset.digest,
        media=source.media,
    )
    for name, reason in parsed.missing.items():
        what = f"step {name!r} has no usable answer ({reason}); it counts as missing."
        found.append(Problem("answer-missing", what, "Give points on the step's scale.", file, line, key, "warning"))
    return [*found, record]


def _answer(record: Record) -> tuple[Any, ...]:
    """What makes two records of one request the same."""
    return record["status"], record["answers"], record.get("missing"), record.get("prompt"), record.get("media")


def _unanswered(records: Mapping[str, list[Record]], order: Mapping[str, int], file: str) -> Iterator[Problem]:
    """One warning per setting that has some lines and lacks others."""
    for name, present in records.items():
        have = {record["id"] for record in present}
        asked = [request for request in order if request.startswith(f"{name}/")]
        if lacking := [request.partition("/")[2] for request in asked if request not in have]:
            shown = ", ".join(lacking[:3]) + (", ..." if len(lacking) > 3 else "")
            what = f"{len(lacking)} of {len(asked)} requests have no line ({shown}); they count as missing."
            yield Problem("prediction-missing", what, "Add them, or accept the coverage.", file, None, name, "warning")


def _mixed(records: Mapping[str, list[Record]], dataset: Dataset, file: str) -> Iterator[Problem]:
    """Warnings about records that were not made under one and the same condition."""
    every = [record for present in records.values() for record in present]
    if other := {record.get("dataset") for record in every} - {dataset.digest, None}:
        names = ", ".join(name[:12] for name in sorted(map(str, other)))
        what = f"made on dataset {names}, scored on {dataset.digest[:12]}."
        fix = "Fine if only labels changed in between."
        yield Problem("dataset-differs", what, fix, file, severity="warning")
    for name, present in records.items():
        modes = Counter(str((record.get("media") or {}).get("mode")) for record in present)
        if len(modes) > 1:
            shown = ", ".join(f"{mode} {count}" for mode, count in modes.items())
            fix = "Score runs with different settings apart."
            yield Problem("media-mixed", f"media modes differ ({shown}).", fix, file, None, name, "warning")

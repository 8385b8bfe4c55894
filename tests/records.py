"""Records, prediction files and tables of labels, for tests that write or compare them."""

import csv
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from siming_tasks.benchmark.exams import Video
from siming_tasks.benchmark.metrics import Estimate, Rows
from siming_tasks.benchmark.metrics.evaluate import ALL, ANSWERED
from siming_tasks.benchmark.parsing import Parsed
from siming_tasks.benchmark.record import Conditions, Record, distinct_records
from siming_tasks.data import Dataset
from siming_tasks.study.results import read_predictions

__all__ = ["change_rows", "distinct", "number_of", "prediction", "read_rows", "record_json", "sample", "write_labels",
           "write_predictions", "write_rater", "write_rows"]  # fmt: skip


def read_rows(path: Path) -> list[Any]:
    """The values of a file of JSON lines."""
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def write_rows(path: Path, rows: Iterable[Any]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def change_rows(path: Path, how: Callable[[list[Any]], object]) -> None:
    """Change the values of a file of JSON lines in place."""
    how(rows := read_rows(path))
    write_rows(path, rows)


def sample(schema: Mapping[str, Any]) -> Any:
    """A small value that a JSON schema of a step's detail allows."""
    if "enum" in schema:
        return schema["enum"][0]
    if schema["type"] == "array":
        return [sample(schema["items"])] * schema.get("minItems", 0)
    return "seen" if schema["type"] == "string" else schema.get("minimum", 1)


def record_json(setting: str, video_id: str, step_id: str | None, parsed: Parsed, **conditions: Any) -> dict[str, Any]:
    """The JSON object of a record, with any of the attributes of ``Conditions``."""
    known = Conditions(**{name: value for name, value in conditions.items() if value is not None})
    return Record.from_reply(setting, video_id, step_id, parsed, known).to_json()


def number_of(result: Mapping[str, Any], metric: str, table: str = ANSWERED, row: str = ALL) -> Estimate:
    """One number of an evaluated setting, or of anything else that has ``rows`` as plain JSON."""
    return Rows.from_json(result["rows"]).one(table, row, metric)


def distinct(records: Iterable[Mapping[str, Any]]) -> tuple[list[dict[str, Any]], list[str]]:
    found, conflicts = distinct_records(map(Record.from_json, records))
    return [record.to_json() for record in found], conflicts


def write_predictions(records: Iterable[Record | Mapping[str, Any]], path: Path) -> Path:
    known = (record if isinstance(record, Record) else Record.from_json(record) for record in records)
    return read_predictions.write_predictions(known, path)


def prediction(setting: str, video_id: str, points: Mapping[str, float], top: Mapping[str, float], **more: Any) -> str:
    """A line of a prediction file about a full video: points, or the verdicts that they are."""
    words = {step: "correct" if value == top[step] else "incorrect" for step, value in points.items()}
    answers = {"scores": points} if setting == "full_score" else {"verdicts": words}
    return json.dumps({"setting": setting, "video_id": video_id, **answers, **more}) + "\n"


def write_rater(dataset: Dataset, path: Path, rater: str | None, settings: Sequence[str] = ("full_score",)) -> Path:
    """A prediction file of what a rater says of the full videos; None: full points everywhere."""
    top = {step.id: step.max_score for step in dataset.rubric.steps}
    lines = []
    for setting in settings:
        for video in dataset.videos:
            points = {step.step_id: step.scores[rater] if rater else top[step.step_id] for step in video.applicable}
            lines.append(prediction(setting, video.video_id, points, top))  # type: ignore[arg-type]
    path.write_text("".join(lines))
    return path


def write_labels(videos: Iterable[Video], path: Path, raters: Sequence[str]) -> Path:
    with path.open("w", newline="") as stream:
        sheet = csv.writer(stream)
        sheet.writerow(["video_id", "step_id", "start", "end", "rater", "points"])
        for video in videos:
            for step in video.steps:
                about = [video.video_id, step.step_id, step.start, step.end]
                sheet.writerows([*about, name, step.scores[name]] for name in raters)
    return path

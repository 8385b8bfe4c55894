"""Records as the JSON objects that stand in sample logs, for tests that write or compare them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from siming_tasks.metrics import Estimate, Rows
from siming_tasks.metrics.evaluate import ALL, ANSWERED
from siming_tasks.parsing import Parsed
from siming_tasks.results import read_predictions
from siming_tasks.results.record import Conditions, Record, distinct_records

__all__ = ["distinct", "number_of", "record_json", "write_predictions"]


def record_json(setting: str, video_id: str, step_id: str | None, parsed: Parsed, **conditions: Any) -> dict[str, Any]:
    """The JSON object of a record, with any of the attributes of ``Conditions``."""
    known = Conditions(**{name: value for name, value in conditions.items() if value is not None})
    return Record.from_reply(setting, video_id, step_id, parsed, known).to_json()


def number_of(result: Mapping[str, Any], metric: str, table: str = ANSWERED, row: str = ALL) -> Estimate:
    """One number of an evaluated setting, or of anything else that has ``rows`` as plain JSON."""
    return Rows.from_json(result["rows"]).one(table, row, metric)


def distinct(records: Iterable[Mapping[str, Any]]) -> tuple[list[dict[str, Any]], list[str]]:
    """``distinct_records`` of JSON objects."""
    found, conflicts = distinct_records(map(Record.from_json, records))
    return [record.to_json() for record in found], conflicts


def write_predictions(records: Iterable[Record | Mapping[str, Any]], path: Path) -> Path:
    """Write records, or their JSON objects, as a prediction file."""
    known = (record if isinstance(record, Record) else Record.from_json(record) for record in records)
    return read_predictions.write_predictions(known, path)

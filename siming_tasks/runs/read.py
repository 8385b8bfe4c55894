"""Prediction files and lmms-eval sample logs in, one record per request out."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from siming_tasks.data.dataset import Dataset
from siming_tasks.data.jsonl import read_jsonl
from siming_tasks.errors import DataError, Problem
from siming_tasks.files import atomic_write
from siming_tasks.runs.record import prediction_line
from siming_tasks.runs.rows import Record, RowReader

__all__ = ["Predictions", "load_predictions", "read_records", "write_predictions"]

MAX_LOG_LINE = 256_000_000
"""Longest line of a sample log in bytes: a reply of many megabytes is a model's fault and must still be counted."""

_KEPT = ("status", "missing", "prompt", "dataset", "media")
"""What a prediction line may add to say how its reply was read; the suite's own files have it."""


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

    def add(self, record: Record, path: Path, line: int) -> list[Problem]:
        mine = (record, path, line)
        first = self.found.setdefault(record["id"], mine)
        if first is mine:
            return []
        same_file = first[1] == path
        if not same_file and _answer(first[0]) == _answer(record):
            return []
        other = "" if same_file else ", with another answer"
        what = f"{record['id']} stands in {first[1]}:{first[2]} already{other}."
        fix = "Keep one of them." if same_file else "Score two runs apart; of one run, remove the stale file."
        return [Problem("prediction-twice", what, fix, str(path), line)]


Seen = Callable[[Record, Mapping[str, Any]], object]


def read_records(path: str | Path, dataset: Dataset, seen: Seen | None = None) -> dict[str, list[Record]]:
    """The records of a prediction file, a sample log, or a folder of several (partial ones are joined).

    Args:
        path: what to read.
        dataset: what was asked about.
        seen: is given each record with the whole line that it came from, once per request, as it is read; for what
            is too large to be kept, such as raw replies.

    Returns:
        By setting name, one record per request that has a line, in dataset order. Entries that name an unknown video
        or step are left out: what was asked and has no record counts as missing when it is scored.

    Raises:
        DataError: nothing to read, a line that is not JSON, or two different answers to one request (both named).
    """
    predictions = load_predictions(path, dataset, seen)
    if errors := [problem for problem in predictions.problems if problem.severity == "error"]:
        raise DataError.of(errors)
    return dict(predictions.records)


def load_predictions(path: str | Path, dataset: Dataset, seen: Seen | None = None) -> Predictions:
    """Like :func:`read_records`, but with every problem in the result instead of an exception."""
    files, problems = _files(Path(path))
    reader = RowReader(dataset, problems)
    join = _Join()
    for file in files:
        for line, row in read_jsonl(file, str(file), MAX_LOG_LINE, strict="_samples_" not in file.name):
            if isinstance(row, Problem):
                problems.append(row)
            elif record := reader.read(row, file, line):
                if seen and record["id"] not in join.found:
                    seen(record, row)
                problems += join.add(record, file, line)
    if not join.found and not problems:
        fix = "Give a prediction file (docs/data.md) or the output of lmms-eval --log_samples."
        problems.append(Problem("no-predictions", "no line holds a prediction.", fix, str(path)))
    records: dict[str, list[Record]] = {}
    for request in reader.requests:
        if request in join.found:
            record = join.found[request][0]
            records.setdefault(record["setting"], []).append(record)
    problems += _unanswered(records, reader.requests, str(path))
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


def _files(path: Path) -> tuple[list[Path], list[Problem]]:
    if path.is_file():
        return [path], []
    files = sorted(path.rglob("*_samples_*.jsonl")) or sorted(path.rglob("*.jsonl"))
    if files:
        return files, []
    what = "no *.jsonl file in this folder." if path.is_dir() else "no such file or folder."
    fix = "Give a prediction file, or the --output_path of a run with --log_samples."
    return [], [Problem("no-predictions", what, fix, str(path))]


def _answer(record: Record) -> tuple[Any, ...]:
    """What makes two records of one request the same."""
    return record["status"], record["answers"], record.get("missing"), record.get("prompt"), record.get("media")


def _unanswered(records: Mapping[str, list[Record]], requests: Iterable[str], file: str) -> Iterator[Problem]:
    """One warning per setting that has some lines and lacks others."""
    for name, present in records.items():
        have = {record["id"] for record in present}
        asked = [request for request in requests if request.startswith(f"{name}/")]
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

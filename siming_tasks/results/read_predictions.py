"""Reader of prediction files and lmms-eval sample logs: one record per request."""

from __future__ import annotations

import json
from array import array
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from siming_tasks.common.doc_pages import see
from siming_tasks.common.errors import Problem
from siming_tasks.common.files import atomic_write
from siming_tasks.data.dataset import Dataset
from siming_tasks.data.jsonl import read_jsonl
from siming_tasks.media import UNKNOWN_MODE
from siming_tasks.results.record import REQUEST_FAILED, Record, merge_parts, same_answers
from siming_tasks.results.record_parser import RecordParser
from siming_tasks.tasks import TASKS
from siming_tasks.tasks.expected_requests import Requests

__all__ = ["MAX_LOG_LINE", "Predictions", "Seen", "load_predictions", "write_predictions"]

MAX_LOG_LINE = 256_000_000
"""Longest line of a sample log in bytes: a reply of many megabytes is a model's fault and must still be counted."""

MAX_ERRORS = 1_000
"""Errors after which a file is left: it is another kind of file, and the first ones say so."""

_UNKNOWN_MODES = (None, UNKNOWN_MODE)

Seen = Callable[[Record, Mapping[str, Any]], object]
"""Callback that is given each record with the whole line that it came from."""


@dataclass(frozen=True)
class Predictions:
    """Content of prediction files.

    Attributes:
        records: by setting, one record per request that has a line, in dataset order; settings without any line are
            absent.
        problems: errors (the file cannot be trusted) and warnings (entries that count as missing).
        files: the files read.
    """

    records: Mapping[str, Sequence[Record]]
    problems: tuple[Problem, ...]
    files: tuple[Path, ...]


@dataclass
class _Collector:
    """Records by the number of their request, with the place each came from; a second, different one is a conflict.

    A request that failed (no model answered) has no answer that another part of the run could contradict; but who is
    asked again is asked the same, with the same prompt, data and media.
    """

    dataset: Dataset
    records: dict[str, list[Record | None]] = field(default_factory=dict)
    parts: dict[tuple[str, int], dict[str, tuple[Record, Path, int]]] = field(default_factory=dict)
    _requests: dict[str, Requests] = field(default_factory=dict)
    _lines: dict[str, array[int]] = field(default_factory=dict)
    _files: dict[str, array[int]] = field(default_factory=dict)
    _paths: list[Path] = field(default_factory=list)

    def add(self, record: Record, path: Path, line: int) -> list[Problem]:
        """Keep a record, unless its request has one already (:meth:`keeps`); the problems with that."""
        if not self._paths or self._paths[-1] != path:
            self._paths.append(path)
        name = record.setting
        if name not in self.records:
            requests = self._requests[name] = Requests(TASKS[name], self.dataset.videos)
            self.records[name] = [None] * requests.count
            self._lines[name], self._files[name] = (array("q", bytes(8 * requests.count)) for _ in range(2))
        number = self._requests[name].number(record.video_id, record.step_id)
        first, first_path, first_line = self._first(name, number, record)
        if first is None:
            self._put(name, number, record, line)
            return []
        same_file = first_path == path
        if not same_file:
            if _is_same(first, record):
                return []
            if REQUEST_FAILED in (first.status, record.status):
                if first.status == REQUEST_FAILED:  # asked again, and perhaps answered this time
                    self._put(name, number, record, line)
                if difference := _differing_condition(first, record):
                    what = (
                        f"{record.id} was asked with another {difference} in {first_path}:{first_line}, where one of "
                        "the two failed."
                    )
                    fix = "Ask failed requests again under the options of their run."
                    return [Problem("asked-otherwise", what, fix, str(path), line)]
                return []
        other = "" if same_file else ", with another answer"
        what = f"{record.id} stands in {first_path}:{first_line} already{other}."
        fix = "Keep one of them." if same_file else "Score two runs apart; of one run, remove the stale file."
        return [Problem("prediction-twice", what, fix, str(path), line)]

    def _first(self, name: str, number: int, record: Record) -> tuple[Record | None, Path, int]:
        """The record that a request has already, and its place; for a part of an exam also a record of all of it."""
        whole, parts = self.records[name][number], self.parts.get((name, number), {})
        if whole is None and parts and not record.conditions.part:
            return next(iter(parts.values()))
        if whole is None:
            return parts.get(record.conditions.part, (None, self._paths[-1], 0))
        return whole, self._paths[self._files[name][number]], self._lines[name][number]

    def _put(self, name: str, number: int, record: Record, line: int) -> None:
        if part := record.conditions.part:
            self.parts.setdefault((name, number), {})[part] = record, self._paths[-1], line
            return
        self.records[name][number] = record
        self._lines[name][number], self._files[name][number] = line, len(self._paths) - 1

    def keeps(self, record: Record) -> bool:
        """True if a record that was added stands for its request."""
        number = self._requests[record.setting].number(record.video_id, record.step_id)
        if part := record.conditions.part:
            return self.parts.get((record.setting, number), {}).get(part, (None,))[0] is record
        return self.records[record.setting][number] is record

    def finish(self) -> dict[str, Sequence[Record]]:
        """Records by setting, in dataset order, with one record for each exam that was asked about in parts."""
        for (name, number), parts in self.parts.items():
            self.records[name][number] = merge_parts([record for record, _, _ in parts.values()])
        return {
            name: [record for record in self.records.pop(name) if record is not None]
            for name in TASKS
            if name in self.records
        }


def load_predictions(
    path: str | Path | Sequence[Path], dataset: Dataset, seen: Seen | None = None, *, allow: Collection[str] = ()
) -> Predictions:
    """Read the records of a prediction file, a sample log, or a folder of several (partial ones are joined).

    Args:
        path: the file or folder; several are read as one.
        dataset: what was asked about.
        seen: called with each record and the whole line that it came from, as it is read; for what is too large to be
            kept, such as raw replies. A second record of one request takes the place of the first, which had failed.
        allow: ``dataset`` accepts predictions that were made on another version of the data set.

    Returns:
        One record per request that has a line, in dataset order, and every problem. Entries that name an unknown video
        or step are left out.
    """
    paths = [Path(path)] if isinstance(path, str | Path) else list(path)
    shown = str(paths[0]) if len(paths) == 1 else f"{len(paths)} folders"
    files: list[Path] = []
    problems: list[Problem] = []
    for folder in paths:
        logs, unreadable = _files(folder)
        files += logs
        problems += unreadable
    parser = RecordParser(dataset, problems)
    collector = _Collector(dataset)
    for file in files:
        errors = 0
        for line, row in _lines(file):
            n_problems = len(problems)
            if isinstance(row, Problem):
                problems.append(row)
            elif record := parser.parse(row, file, line):
                problems += collector.add(record, file, line)
                if seen and collector.keeps(record):
                    seen(record, row)
            errors += sum(problem.severity == "error" for problem in problems[n_problems:])
            if errors >= MAX_ERRORS:
                what = f"{errors:,} errors; the rest of the file was not read."
                problems.append(Problem("too-many-errors", what, "Correct those first.", str(file), line))
                break
    if not collector.records and not problems:
        fix = f"Give a prediction file ({see('data')}) or the output of lmms-eval --log_samples."
        problems.append(Problem("no-predictions", "no line holds a prediction.", fix, shown))
    records = collector.finish()
    problems += _condition_problems(records, dataset, shown, allow)
    return Predictions(records, tuple(problems), tuple(files))


def write_predictions(records: Iterable[Record], path: Path) -> Path:
    """Write records as a prediction file, from which :func:`load_predictions` gets the same records back.

    Returns:
        ``path``.
    """
    with atomic_write(path) as stream:
        for record in records:
            conditions = record.conditions
            # Beside the answers a line says how its reply was read, and under which conditions it was asked for.
            line: dict[str, Any] = {**record.to_prediction(), "status": record.status, "missing": dict(record.missing)}
            line |= {name: value for name in ("prompt", "dataset") if (value := getattr(conditions, name)) is not None}
            line["media"] = dict(conditions.media)
            line |= {name: value for name in ("asking", "part") if (value := getattr(conditions, name))}
            line |= {"judge": dict(conditions.judge)} if conditions.judge else {}
            stream.write(json.dumps(line, ensure_ascii=False) + "\n")
    return path


def _files(path: Path) -> tuple[list[Path], list[Problem]]:
    if path.is_file():
        return [path], []
    files = sorted(path.rglob("*_samples_*.jsonl")) or sorted(path.rglob("*.jsonl"))
    if files:
        return files, []
    what = "no *.jsonl file in this folder." if path.is_dir() else "no such file or folder."
    fix = "Give a prediction file, or the --output_path of a run with --log_samples."
    return [], [Problem("no-predictions", what, fix, str(path))]


def _lines(file: Path) -> Iterator[tuple[int, dict[str, Any] | Problem]]:
    try:
        yield from read_jsonl(file, str(file), MAX_LOG_LINE, strict="_samples_" not in file.name)
    except OSError as error:
        fix = "Give a prediction file, or the --output_path of a run with --log_samples."
        yield 0, Problem("predictions-unreadable", f"{error.strerror}.", fix, str(file))


def _is_same(first: Record, second: Record) -> bool:
    """True where two records of one request cannot be told apart."""
    if not same_answers(first, second) or (first.status, first.missing) != (second.status, second.missing):
        return False
    return (first.conditions.prompt, first.media) == (second.conditions.prompt, second.media)


def _differing_condition(first: Record, second: Record) -> str | None:
    """Difference between two records of one request besides the answer; None where only one of them states it."""
    prompts = {record.conditions.prompt for record in (first, second)} - {None, ""}
    if len(prompts) == 2:
        return "prompt"
    shown = [record.media for record in (first, second) if record.media.get("mode") not in _UNKNOWN_MODES]
    return "view of the video" if len(shown) == 2 and shown[0] != shown[1] else None


def _condition_problems(
    records: Mapping[str, Sequence[Record]], dataset: Dataset, file: str, allow: Collection[str]
) -> Iterator[Problem]:
    """Problems of records that were not made on these data, or not all under one mode of the media."""
    digests = {record.conditions.dataset for present in records.values() for record in present}
    if others := digests - {dataset.digest, None}:
        names = ", ".join(name[:12] for name in sorted(map(str, others)))
        what = f"made on dataset {names}, scored on {dataset.digest[:12]}."
        fix = "Give the data set that it was made on, or, if only labels changed, allow the difference (dataset)."
        severity: Literal["error", "warning"] = "warning" if "dataset" in allow else "error"
        yield Problem("dataset-differs", what, fix, file, severity=severity)
    for name, present in records.items():
        modes = Counter(str(record.media.get("mode")) for record in present)
        if len(modes) > 1:
            shown = ", ".join(f"{mode} {count}" for mode, count in modes.items())
            fix = "Score runs with different settings apart."
            yield Problem("media-mixed", f"media modes differ ({shown}).", fix, file, None, name, "warning")

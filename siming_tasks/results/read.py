"""Prediction files and lmms-eval sample logs in, one record per request out."""

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
from siming_tasks.results.compact_records import ALL, KeptRecord
from siming_tasks.results.record import Distinct, Record, merged, prediction_line, stated_answers
from siming_tasks.results.record_parser import RowReader
from siming_tasks.results.uncollected import uncollected
from siming_tasks.tasks import TASKS
from siming_tasks.tasks.expected_requests import Requests

__all__ = ["Predictions", "load_predictions", "write_predictions"]

MAX_LOG_LINE = 256_000_000
"""Longest line of a sample log in bytes: a reply of many megabytes is a model's fault and must still be counted."""

MAX_ERRORS = 1_000
"""Errors after which a file is left: it is another kind of file, and the first ones say so."""

FAILED = "request_failed"

_UNTOLD = (None, "unknown")
_KEPT = ("status", "missing", "prompt", "dataset", "media", "asking", "part", "judge")
"""What a prediction line may add to say how its reply was read; the suite's own files have it."""


@dataclass(frozen=True)
class Predictions:
    """What prediction files hold.

    Attributes:
        records: by setting, in dataset order; settings without any line are absent.
        problems: errors (the file cannot be trusted) and warnings (entries that count as missing).
        files: the files read.
    """

    records: Mapping[str, Sequence[Record]]
    problems: tuple[Problem, ...]
    files: tuple[Path, ...]


@dataclass
class _Join:
    """Records by the number of their request, with the place each came from; a second, different one is a conflict.

    A request that failed (no model answered) has no answer that another part of the run could contradict; but who is
    asked again is asked the same, with the same prompt, data and media.
    """

    dataset: Dataset
    found: dict[str, list[KeptRecord | None]] = field(default_factory=dict)
    parts: dict[tuple[str, int], dict[str, tuple[KeptRecord, Path, int]]] = field(default_factory=dict)
    _requests: dict[str, Requests] = field(default_factory=dict)
    _lines: dict[str, array[int]] = field(default_factory=dict)
    _files: dict[str, array[int]] = field(default_factory=dict)
    _paths: list[Path] = field(default_factory=list)

    def add(self, record: KeptRecord, path: Path, line: int) -> list[Problem]:
        """Whether that record is kept, :meth:`keeps` tells afterwards."""
        if not self._paths or self._paths[-1] != path:
            self._paths.append(path)
        name = record.setting
        if name not in self.found:
            requests = self._requests[name] = Requests(TASKS[name], self.dataset.videos)
            self.found[name] = [None] * requests.count
            self._lines[name], self._files[name] = (array("q", bytes(8 * requests.count)) for _ in range(2))
        number = self._requests[name].number(record.video_id, record.step_id)
        first, file, known = self._known(name, number, record)
        if first is None:
            self._put(name, number, record, line)
            return []
        same_file = file == path
        if not same_file:
            if _answer(first) == _answer(record):
                return []
            if FAILED in (first["status"], record["status"]):
                if first["status"] == FAILED:  # asked again, and perhaps answered this time
                    self._put(name, number, record, line)
                if other := _asked_otherwise(first, record):
                    what = (
                        f"{record['id']} was asked with another {other} in {file}:{known}, where one of the two failed."
                    )
                    fix = "Ask failed requests again under the options of their run."
                    return [Problem("asked-otherwise", what, fix, str(path), line)]
                return []
        other = "" if same_file else ", with another answer"
        what = f"{record['id']} stands in {file}:{known} already{other}."
        fix = "Keep one of them." if same_file else "Score two runs apart; of one run, remove the stale file."
        return [Problem("prediction-twice", what, fix, str(path), line)]

    def _known(self, name: str, number: int, record: KeptRecord) -> tuple[KeptRecord | None, Path, int]:
        """What there is of a request, with its place; of one about a part of an exam also a record of all of it."""
        whole, of = self.found[name][number], self.parts.get((name, number), {})
        if whole is None and of and not record["part"]:
            return next(iter(of.values()))
        if whole is None:
            return of.get(record["part"] or "", (None, self._paths[-1], 0))
        return whole, self._paths[self._files[name][number]], self._lines[name][number]

    def merge(self) -> None:
        """One record for each exam that was asked about in parts."""
        for (name, number), of in self.parts.items():
            one = merged([record for record, _, _ in of.values()])
            video, step = one["video_id"], one["step_id"]
            self.found[name][number] = KeptRecord(name, video, step, tuple(one.get(key) for key in ALL))
        self.parts.clear()

    def _put(self, name: str, number: int, record: KeptRecord, line: int) -> None:
        if record["part"]:
            self.parts.setdefault((name, number), {})[record["part"]] = record, self._paths[-1], line
            return
        self.found[name][number] = record
        self._lines[name][number], self._files[name][number] = line, len(self._paths) - 1

    def keeps(self, record: KeptRecord) -> bool:
        """Whether a record that was added stands for its request."""
        number = self._requests[record.setting].number(record.video_id, record.step_id)
        if record["part"]:
            return self.parts.get((record.setting, number), {}).get(record["part"], (None,))[0] is record
        return self.found[record.setting][number] is record


Seen = Callable[[Record, Mapping[str, Any]], object]


def load_predictions(
    path: str | Path | Sequence[Path], dataset: Dataset, seen: Seen | None = None, *, allow: Collection[str] = ()
) -> Predictions:
    """The records of a prediction file, a sample log, or a folder of several (partial ones are joined).

    Args:
        path: what to read; several are read as one.
        dataset: what was asked about.
        seen: is given each record with the whole line that it came from, as it is read; for what is too large to be
            kept, such as raw replies. A second record of one request takes the place of the first, which had failed.
        allow: ``dataset`` accepts predictions that were made on another version of the data set.

    Returns:
        One record per request that has a line, in dataset order, and every problem. Entries that name an unknown video
        or step are left out.
    """
    paths = [Path(path)] if isinstance(path, str | Path) else list(path)
    named = str(paths[0]) if len(paths) == 1 else f"{len(paths)} folders"
    files: list[Path] = []
    problems: list[Problem] = []
    for one in paths:
        logs, wrong = _files(one)
        files += logs
        problems += wrong
    reader = RowReader(dataset, problems)
    join = _Join(dataset)
    with uncollected():
        for file in files:
            errors = 0
            for line, row in _lines(file):
                known = len(problems)
                if isinstance(row, Problem):
                    problems.append(row)
                elif record := reader.read(row, file, line):
                    problems += join.add(record, file, line)
                    if seen and join.keeps(record):
                        seen(record, row)
                errors += sum(problem.severity == "error" for problem in problems[known:])
                if errors >= MAX_ERRORS:
                    what = f"{errors:,} errors; the rest of the file was not read."
                    problems.append(Problem("too-many-errors", what, "Mend those first.", str(file), line))
                    break
    join.merge()
    if not join.found and not problems:
        fix = f"Give a prediction file ({see('data')}) or the output of lmms-eval --log_samples."
        problems.append(Problem("no-predictions", "no line holds a prediction.", fix, named))
    records: dict[str, Sequence[Record]] = {
        name: Distinct(name, (record for record in join.found.pop(name) if record is not None))
        for name in TASKS
        if name in join.found
    }
    problems += _mixed(records, dataset, named, allow)
    return Predictions(records, tuple(problems), tuple(files))


def write_predictions(records: Iterable[Mapping[str, Any]], path: Path) -> Path:
    """Write records as a prediction file, from which :func:`load_predictions` gets the same records back.

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


def _lines(file: Path) -> Iterator[tuple[int, dict[str, Any] | Problem]]:
    try:
        yield from read_jsonl(file, str(file), MAX_LOG_LINE, strict="_samples_" not in file.name)
    except OSError as error:
        fix = "Give a prediction file, or the --output_path of a run with --log_samples."
        yield 0, Problem("predictions-unreadable", f"{error.strerror}.", fix, str(file))


def _answer(record: Record) -> tuple[Any, ...]:
    """What makes two records of one request the same."""
    return record["status"], stated_answers(record), record.get("missing"), record.get("prompt"), record.get("media")


def _asked_otherwise(first: Record, second: Record) -> str | None:
    """In what two records of one request differ besides the answer; nothing where only one of them tells."""
    if first.get("prompt") and second.get("prompt") and first["prompt"] != second["prompt"]:
        return "prompt"
    shown = [media for record in (first, second) if (media := record.get("media") or {}).get("mode") not in _UNTOLD]
    return "view of the video" if len(shown) == 2 and shown[0] != shown[1] else None


def _mixed(
    records: Mapping[str, Sequence[Record]], dataset: Dataset, file: str, allow: Collection[str]
) -> Iterator[Problem]:
    """Records that were not made on these data, or not under one and the same condition."""
    made = {record["dataset"] for present in records.values() for record in present}
    if other := made - {dataset.digest, None}:
        names = ", ".join(name[:12] for name in sorted(map(str, other)))
        what = f"made on dataset {names}, scored on {dataset.digest[:12]}."
        fix = "Give the data set that it was made on, or, if only labels changed, allow the difference (dataset)."
        severity: Literal["error", "warning"] = "warning" if "dataset" in allow else "error"
        yield Problem("dataset-differs", what, fix, file, severity=severity)
    for name, present in records.items():
        modes = Counter(str((record.get("media") or {}).get("mode")) for record in present)
        if len(modes) > 1:
            shown = ", ".join(f"{mode} {count}" for mode, count in modes.items())
            fix = "Score runs with different settings apart."
            yield Problem("media-mixed", f"media modes differ ({shown}).", fix, file, None, name, "warning")

"""Reader of prediction files and lmms-eval sample logs: one record per request."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from siming_tasks.benchmark.record import (
    ASKED_AGAIN,
    Record,
    answered_more,
    merge_parts,
    same_answers,
)
from siming_tasks.benchmark.tasks import TASKS
from siming_tasks.benchmark.tasks.expected_requests import expected_ids
from siming_tasks.benchmark.types import UNKNOWN_MODE
from siming_tasks.common.doc_pages import see
from siming_tasks.common.errors import Problem
from siming_tasks.common.files import atomic_write
from siming_tasks.common.sanitize import well_formed
from siming_tasks.data.dataset import Dataset
from siming_tasks.data.jsonl import read_jsonl
from siming_tasks.study.results.discovery import GIVE_A_RUN
from siming_tasks.study.results.record_parser import RecordParser, raw_reply
from siming_tasks.study.results.run_parts import condition_problems

MAX_LOG_LINE = 256_000_000
"""Longest line of a sample log in bytes: a reply of many megabytes is a model's fault and must still be counted."""

Seen = Callable[[Record, str | None], object]
"""Callback that is given each record with the text of its reply; None where the file has none."""


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
    """Records by request and part, each with the place it came from; a second, different one is a conflict.

    What the same command asks again (:data:`~siming_tasks.benchmark.record.ASKED_AGAIN`) is no answer that another
    part of the run could contradict; but who is asked again is asked the same, with the same prompt, data and media.
    """

    problems: list[Problem]
    found: dict[str, dict[str, tuple[Record, Path, int]]] = field(default_factory=dict)

    def add(self, record: Record, path: Path, line: int) -> bool:
        """Keep a record, unless its request has one already, and note the problems with that; True if it was kept."""
        entries, part = self.found.setdefault(record.id, {}), record.conditions.part
        known = entries.get(part) or (entries.get("") if part else next(iter(entries.values()), None))
        if known:
            first, first_path, first_line = known
            if first_path == path or not _is_same(first, record):
                self._note_conflict(first, f"{first_path}:{first_line}", first_path == path, record, path, line)
            if first_path == path:
                return False
            is_later = record.status == first.status and _attempts(record) > _attempts(first)
            if not (is_later or answered_more(record.status, first.status)):
                entries[first.conditions.part] = _with_usage_of(record, first), first_path, first_line
                return False
            record = _with_usage_of(first, record)
        entries[part] = record, path, line
        return True

    def _note_conflict(self, first: Record, place: str, same_file: bool, record: Record, path: Path, line: int) -> None:
        if same_file or not {first.status, record.status} & set(ASKED_AGAIN):
            what = f"{record.id} is already in {place}{'' if same_file else ', with a different answer'}."
            fix = "If these are two runs, give them different names; if they are one run, remove the old file."
            fix = "Keep one of them." if same_file else fix
            self.problems.append(Problem("prediction-twice", what, fix, str(path), line))
            return
        asked = (first.conditions, record.conditions)
        shown = [
            {**stated.media, "decoder": None}  # which gives what the number of the pixels says
            for stated in asked
            if stated.media.get("mode") not in (None, UNKNOWN_MODE)
        ]
        differs = {
            "prompt": len({stated.prompt for stated in asked} - {None, ""}) == 2,
            "JSON schema": len({stated.reply_schema for stated in asked if stated.prompt}) == 2,
            "view of the video": len(shown) == 2 and shown[0] != shown[1],
        }
        if difference := next((name for name, is_other in differs.items() if is_other), None):
            what = f"{record.id} has another {difference} in {place}, and one of the two has no answer."
            fix = "Repeat requests only with the options of their run."
            self.problems.append(Problem("asked-otherwise", what, fix, str(path), line))

    def records(self, dataset: Dataset) -> dict[str, Sequence[Record]]:
        """Records by setting, in dataset order, with one record for each exam that was asked about in parts."""
        records: dict[str, Sequence[Record]] = {}
        for name in {request.partition("/")[0] for request in self.found} & TASKS.keys():
            there = (self.found.get(request) for request in expected_ids(TASKS[name], dataset.videos))
            parts = [[record for record, _, _ in entries.values()] for entries in there if entries]
            records[name] = [one[0] if not one[0].conditions.part else merge_parts(one) for one in parts]
        return {name: records[name] for name in TASKS if name in records}


def load_predictions(
    path: str | Path | Sequence[Path], dataset: Dataset, seen: Seen | None = None, *, allow: Collection[str] = ()
) -> Predictions:
    """Read the records of a prediction file, a sample log, or a folder of several (partial ones are joined).

    Args:
        path: the file or folder; several are read as one.
        dataset: what was asked about.
        seen: called with each record and its raw reply, which is too large to be kept, as it is read. A second record
            of one request takes the place of the first if it has more of an answer, or as much after more attempts.
        allow: ``dataset`` accepts predictions that were made on another version of the data set.

    Returns:
        One record per request that has a line, in dataset order, and every problem. Entries that name an unknown video
        or step are left out.
    """
    paths = [Path(path)] if isinstance(path, str | Path) else list(path)
    shown = ", ".join(map(str, paths))
    files: list[Path] = []
    problems: list[Problem] = []
    for folder in paths:
        logs = [folder] if folder.is_file() else sorted(folder.rglob("*_samples_*.jsonl"))
        logs = logs or sorted(folder.rglob("*.jsonl"))
        files += logs
        if not logs:
            what = "no *.jsonl file in this folder." if folder.is_dir() else "no such file or folder."
            problems.append(Problem("no-predictions", what, GIVE_A_RUN, str(folder)))
    parser, collector = RecordParser(dataset, problems), _Collector(problems)
    for file in files:
        for line, row in _lines(file, problems):
            if (record := parser.parse(row, file, line)) and collector.add(record, file, line) and seen:
                seen(record, raw_reply(row))
    if not collector.found and not any(problem.severity == "error" for problem in problems):
        fix = f"Give the data set that they were made on, a prediction file ({see('data')}) or lmms-eval's sample logs."
        part = f"the split {dataset.part!r} of " if dataset.part else ""
        what = f"no line is a prediction for {part}{dataset.name}, {dataset.version}."
        what += "".join(f" The first: {problem}" for problem in problems[:1])
        problems.append(Problem("no-predictions", what, fix, shown))
    counted_lines = {(str(file), line) for parts in collector.found.values() for _, file, line in parts.values()}
    of_answers = ("request-failed", "reply-unread", "answer-missing")  # not of a line in whose place another counts
    problems[:] = [each for each in problems if each.code not in of_answers or (each.file, each.line) in counted_lines]
    records = collector.records(dataset)
    problems += parser.disagreements
    problems += condition_problems(records, dataset, shown, allow)
    return Predictions(records, tuple(problems), tuple(files))


def _lines(file: Path, found: list[Problem]) -> Iterator[tuple[int, dict[str, Any]]]:
    try:
        yield from read_jsonl(file, found, str(file), MAX_LOG_LINE, strict="_samples_" not in file.name)
    except OSError as error:
        found.append(Problem("predictions-unreadable", f"{error.strerror}.", GIVE_A_RUN, str(file)))


def _is_same(first: Record, second: Record) -> bool:
    """True where two records of one request cannot be told apart."""
    if not same_answers(first, second) or (first.status, first.missing) != (second.status, second.missing):
        return False
    return (first.conditions.prompt, first.media) == (second.conditions.prompt, second.media)


def _attempts(record: Record) -> int:
    """Number of attempts of all commands until this record; 0 where it is not known."""
    return (record.conditions.usage or {}).get("attempts") or 0


def _with_usage_of(other: Record, kept: Record) -> Record:
    """The record of a request that counts, with the usage of all attempts, those of another record included.

    The usage of a later command contains that of an earlier one, hence more attempts; but not if the replies were not
    stored in one folder, as of two jobs of a batch.
    """
    used, more = dict(kept.conditions.usage or {}), other.conditions.usage or {}
    if other.status not in ASKED_AGAIN or not more:
        return kept
    apart = False in (used.get("stored"), more.get("stored")) and used != more  # equal ones are of a copied file
    if kept.status in ASKED_AGAIN and not apart:
        used = dict(more) if _attempts(other) > _attempts(kept) else used
    elif used and (apart or _attempts(kept) <= _attempts(other)):
        for name in ("prompt_tokens", "completion_tokens", "cost", "attempts", "failed_attempts"):
            known = [usage[name] for usage in (used, more) if usage.get(name) is not None]
            used[name] = sum(known) if known else None
    return replace(kept, conditions=replace(kept.conditions, usage=used))


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
            line |= {name: value for name in ("asking", "reply_schema", "part") if (value := getattr(conditions, name))}
            line |= {"judge": dict(conditions.judge)} if conditions.judge else {}
            stream.write(well_formed(json.dumps(line, ensure_ascii=False)) + "\n")
    return path

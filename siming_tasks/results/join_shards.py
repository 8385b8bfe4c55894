"""Shards of a run made one run again, with nothing missing, nothing twice, and the numbers of a run made at once."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from siming_tasks.common.errors import DataError, Problem
from siming_tasks.common.files import read_bytes
from siming_tasks.common.output_folder import check_place, output_folder
from siming_tasks.data import Dataset
from siming_tasks.metrics.catalogue import CATALOGUE
from siming_tasks.options import Options
from siming_tasks.results.discovery import MAX_RESULTS, RequestSlice, RunSource
from siming_tasks.results.evaluate_records import evaluate_records
from siming_tasks.results.read_predictions import MAX_LOG_LINE, load_predictions
from siming_tasks.results.record import Record, is_asked_again
from siming_tasks.tasks import TASKS
from siming_tasks.tasks.expected_requests import check_shards, expected_ids

_ALIKE = ("model", "model_name", "generation", "gen_kwargs", "lmms_eval_version")
"""Facts of a run that its shards share. Arguments of the model may differ: each server has its own address."""


@dataclass(frozen=True)
class Joined:
    """Result of joining: the folder of the one run, its requests by setting, and the slices that are missing."""

    folder: Path
    requests: Mapping[str, int]
    missing: Mapping[str, tuple[RequestSlice, ...]]


def missing_slices(setting: str, dataset: Dataset, have: Iterable[str]) -> tuple[RequestSlice, ...]:
    """The unbroken rows of a setting's requests that are not among these ids."""
    known = set(have)
    rows: list[list[int]] = []
    for number, name in enumerate(expected_ids(TASKS[setting], dataset.videos)):
        if name in known:
            continue
        if rows and sum(rows[-1]) == number:
            rows[-1][1] += 1
        else:
            rows.append([number, 1])
    return tuple(RequestSlice(offset, limit) for offset, limit in rows)


def unanswered(
    folder: Path, dataset: Dataset, settings: Sequence[str], shard: str
) -> dict[str, tuple[int, dict[str, str]]]:
    """By setting, how many requests a run (or a shard of it) makes, and those that its command would ask once more.

    Each of these has its status, "" without a record in the folder. A damaged log counts as far as it can be read; a
    folder that does not exist has no record.

    Raises:
        OptionsError: the shard has nothing to ask in one of the settings.
    """
    if shard:
        check_shards(dataset.videos, [TASKS[name] for name in settings], int(shard.partition("/")[2]))
    records = load_predictions([folder], dataset).records if folder.exists() else {}
    left = {}
    for name in settings:
        asked = RequestSlice(shard=shard).of(list(expected_ids(TASKS[name], dataset.videos)))
        again = dict.fromkeys(asked, "")
        for record in records.get(name, ()):
            statuses = [record.status, *(record.conditions.parts or {}).values()]
            if status := next((one for one in statuses if is_asked_again(one, record.conditions.usage)), None):
                again |= {record.id: status} if record.id in again else {}
            else:
                again.pop(record.id, None)
        left[name] = (len(asked), again)
    return left


def join_shards(sources: Sequence[RunSource], dataset: Dataset, out: Path, *, partial: bool = False) -> Joined:
    """One run of several shards, written whole or not at all.

    Args:
        sources: the shards, each a folder with sample logs and the results file of lmms-eval.
        dataset: what they were asked about.
        out: folder that the run is written to; must not exist, or be empty.
        partial: join although requests are missing; the run then says which it was asked.

    Raises:
        DataError: ``out`` holds something, shards are of different models, prompts, data or options, a request has two
            different answers, or (unless ``partial``) some requests are missing.
    """
    check_place(out)
    _check_alike(sources)
    joined = load_predictions([source.path for source in sources], dataset)
    if errors := [problem for problem in joined.problems if problem.severity == "error"]:
        raise DataError.of(errors)
    settings = [name for name in TASKS if joined.records.get(name) or any(name in s.slices for s in sources)]
    have = {name: [record.id for record in joined.records.get(name, ())] for name in settings}
    missing = {name: rows for name in settings if (rows := missing_slices(name, dataset, have[name]))}
    if missing and not partial:
        raise DataError.of([_missing_problem(name, rows, dataset, out) for name, rows in missing.items()])
    folders = [source.path for source in sources if source.path.is_dir()]
    with output_folder(out) as made:
        files = sorted(file for folder in folders for file in folder.rglob("*_results.json"))
        results = [json.loads(read_bytes(file, MAX_RESULTS)) for file in files]
        names = {
            file.parent.name for file, result in zip(files, results, strict=True) if result.get("model_name_sanitized")
        }
        folder = made / (names.pop() if len(names) == 1 else "")
        folder.mkdir(exist_ok=True)
        date = max((file.name.removesuffix("_results.json") for file in files), default="joined")
        _copy_samples(sources, joined.records, folder, date)
        written = {f"{date}-{number:04d}": result for number, result in enumerate(results)}
        if results and not missing:
            written = {date: _merged(results, joined.records, dataset)}
        for name, result in written.items():
            text = json.dumps(result, indent=1, ensure_ascii=False, default=str)
            (folder / f"{name}_results.json").write_text(text, encoding="utf-8")
    return Joined(out, {name: len(ids) for name, ids in have.items()}, missing)


def _check_alike(sources: Sequence[RunSource]) -> None:
    """Refuse shards of different models, prompts, data or options (DataError)."""
    known: dict[str, tuple[str, Any]] = {}
    for source in sources:
        facts = {name: source.facts[name] for name in _ALIKE if name in source.facts}
        for task, metadata in (source.facts.get("tasks") or {}).items():
            facts |= {f"{name} of {task}": value for name, value in metadata.items() if name.startswith("siming_")}
        for name, value in facts.items():
            path, first = known.setdefault(name, (str(source.path), value))
            if first != value:
                raise DataError(
                    f"{source.path}: {name} is {value!r}, but {first!r} in {path}. They are no shards of one run."
                )


def _missing_problem(setting: str, rows: Sequence[RequestSlice], dataset: Dataset, out: Path) -> Problem:
    count = sum(int(row.limit or 0) for row in rows)
    every = sum(1 for _ in expected_ids(TASKS[setting], dataset.videos))
    shown = "; ".join(f"--offset {row.offset} --limit {row.limit:g}" for row in rows[:5])
    shown += "; ..." if len(rows) > 5 else ""
    what = f"{count:,} of {every:,} requests of {TASKS[setting].task_name} are in no shard ({shown})."
    return Problem("shard-missing", what, "Run them, or join what is there with --partial.", str(out), None, setting)


def _copy_samples(
    sources: Sequence[RunSource], records: Mapping[str, Sequence[Record]], folder: Path, date: str
) -> None:
    """The lines that the joined records came from: of a request that failed and was asked again, the answer."""
    logs = {
        file
        for path in (source.path for source in sources)
        for file in ([path] if path.is_file() else path.rglob("*_samples_siming_*.jsonl"))
    }
    for name, present in records.items():
        wanted = {record.id: record.status for record in present}
        task = TASKS[name].task_name
        with (folder / f"{date}_samples_{task}.jsonl").open("wb") as target:
            for file in sorted(logs):
                if file.stem.rpartition("_samples_")[2] != task:
                    continue
                with file.open("rb") as stream:
                    while line := stream.readline(MAX_LOG_LINE):
                        record = _record_in(line)
                        if record and wanted.get(record["id"]) == record.get("status"):
                            del wanted[record["id"]]
                            target.write(line if line.endswith(b"\n") else line + b"\n")
        if wanted:
            raise DataError(
                f"{len(wanted)} answers of {task} stand in no sample log. Join the output of --log_samples."
            )


def _record_in(line: bytes) -> Mapping[str, Any] | None:
    try:
        row = json.loads(line)
    except ValueError:
        return None
    parts = (value for value in reversed(row.values()) if isinstance(value, dict)) if isinstance(row, dict) else ()
    return next((value for value in parts if {"id", "setting", "answers", "status"} <= value.keys()), None)


def _merged(
    results: Sequence[dict[str, Any]], records: Mapping[str, Sequence[Record]], dataset: Dataset
) -> dict[str, Any]:
    """The results file of the whole run: its configuration without limit, its numbers computed anew."""
    merged = dict(results[-1])
    for key in ("configs", "versions", "n-shot", "higher_is_better", "results"):
        merged[key] = {name: value for result in results for name, value in (result.get(key) or {}).items()}
    merged["config"] = {**(merged.get("config") or {}), "limit": None, "offset": None}
    for facts in merged["configs"].values():
        (facts.get("metadata") or {}).pop("shard", None)
    merged["results"] = {
        task: _task_numbers(row, records[name], dataset, name)
        for task, row in merged["results"].items()
        if (name := task.removeprefix("siming_")) in records
    }
    counts = {TASKS[name].task_name: len(present) for name, present in records.items()}
    merged["n-samples"] = {task: {"original": count, "effective": count} for task, count in counts.items()}
    seconds = sum(float(result.get("total_evaluation_time_seconds") or 0) for result in results)
    merged["total_evaluation_time_seconds"] = str(seconds)
    for key in ("groups", "group_subtasks", "samples"):
        merged.pop(key, None)
    return merged


def _task_numbers(row: Mapping[str, Any], records: Sequence[Record], dataset: Dataset, name: str) -> dict[str, Any]:
    """One task's row as lmms-eval has it, for all records; computed under the options that the shards were."""
    stated = (row.get("siming_stderr,none") or {}).get("options") or {}
    chosen = {key: stated[key] for key in ("mapping", "positive", "rater", "resamples", "seed") if key in stated}
    evaluation = evaluate_records(records, dataset, replace(Options.from_env(), **chosen), name)
    numbers = dict(row)
    for key in row:
        metric = key.partition(",")[0]
        kind, is_error = metric.removesuffix("_stderr"), metric.endswith("_stderr")
        if metric == "siming_stderr":
            numbers[key] = evaluation
        elif kind in evaluation["metrics"] and (CATALOGUE[kind].compared or not is_error):
            numbers[key] = evaluation["metrics"][kind].get("stderr" if is_error else "value")
    return numbers

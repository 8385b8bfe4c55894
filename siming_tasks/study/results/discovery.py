"""Finding runs on disk: their names, what lmms-eval wrote about them, and the requests that they were to make."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from itertools import chain, count
from pathlib import Path
from typing import Any

from siming_tasks.benchmark.exams import Video
from siming_tasks.benchmark.record import SUPERVISED, Record, has_supervised_judge
from siming_tasks.benchmark.tasks import TASKS
from siming_tasks.benchmark.tasks.expected_requests import expected_ids, shard_slice
from siming_tasks.common.errors import DataError, Problem
from siming_tasks.common.files import open_regular, read_text
from siming_tasks.common.input_kinds import misplaced, path_of
from siming_tasks.common.public_facts import public_name, public_run
from siming_tasks.common.sanitize import alike, shown_name
from siming_tasks.data.splits import in_part
from siming_tasks.options import shard_of
from siming_tasks.study.results.record_parser import stated_judge
from siming_tasks.study.results.run_parts import Result, check_alike, whole_task

REFERENCE_MODEL = "siming_reference"
MAX_FIRST_LINE = 1_000_000
"""Bytes of the first line of a prediction file in which its judge is looked for."""
MAX_RESULTS = 256_000_000
"""Largest results file in bytes; one of 20,000 videos has some megabytes."""

GIVE_A_RUN = "Give a prediction file, or the --output_path of a run with --log_samples."
_NO_RUN = "No run was given. Give at least one prediction file or lmms-eval output folder."


@dataclass(frozen=True)
class RequestSlice:
    """Requests that one command made of a task: of its ``shard``, ``limit`` of them (None: the rest) after ``offset``.

    ``split``: the part of a split whose videos these are of (empty: of all videos). ``parts``: it counts parts of exams
    (``SIMING_ASK``), so that only the exams with a record are known to be asked.
    """

    offset: int = 0
    limit: float | None = None
    parts: bool = False
    shard: str = ""
    split: str = ""

    def of(self, ids: Sequence[str]) -> Sequence[str]:
        """The ids of its requests among all of the task's."""
        ids = ids[shard_slice(shard_of(self.shard), len(ids))]
        return ids[self.offset : None if self.limit is None else self.offset + int(self.limit)]


def slices_of(results: Iterable[Mapping[str, Any]]) -> dict[str, tuple[RequestSlice, ...]]:
    """By setting, the slices that lmms-eval's results files say were run; all shards together are the whole task."""
    slices: dict[str, list[RequestSlice]] = {}
    for result in results:
        config = result.get("config") or {}
        limit, offset = config.get("limit"), int(config.get("offset") or 0)
        limit = None if limit is None or float(limit) < 0 else float(limit)
        for task, facts in (result.get("configs") or {}).items():
            name = str(task).removeprefix("siming_")
            if name not in TASKS:
                continue
            metadata = facts.get("metadata") if isinstance(facts, dict) else None
            metadata = metadata if isinstance(metadata, dict) else {}
            try:
                parts = bool(json.loads(metadata["siming_options"]).get("ask"))
            except (AttributeError, KeyError, TypeError, ValueError):
                parts = False
            shard = str(metadata.get("shard") or "")
            shard_of(shard)  # refuses what is none
            split = str(metadata.get("split") or "")
            slices.setdefault(name, []).append(RequestSlice(offset, limit, parts, shard, split))
    for rows in slices.values():
        for split in {row.split for row in rows}:
            uncut = [row.shard for row in rows if row.split == split and not row.offset and row.limit is None]
            rows += [RequestSlice(split=split)] if whole_task(uncut) else []
    return {name: tuple(rows) for name, rows in slices.items()}


def asked_ids(
    setting: str,
    videos: Sequence[Video],
    have: Collection[str],
    *,
    slices: Collection[RequestSlice] = (),
    partial: bool = False,
) -> frozenset[str]:
    """Ids of the requests that count as asked; one of them without a record is a missing answer.

    A run that was not limited was to make every request of the data set; one made with ``--limit`` or ``--offset``
    those of its slices, in the order of :func:`~siming_tasks.benchmark.tasks.expected_requests.expected_requests`.

    Args:
        setting: name of the setting.
        videos: of the data set.
        have: ids of the requests that have a record; they were asked whatever else is known.
        slices: those that the run states; none: it was not limited.
        partial: count only ``have``, for a run that was limited and does not say so. So it is with a limit below 1, a
            share of the *first* task in lmms-eval 0.7.3.
    """
    some = [part for part in slices if part.offset or part.limit is not None or part.shard]
    if partial or any(part.parts for part in some):
        return frozenset(have)
    if not slices:
        return frozenset(expected_ids(TASKS[setting], videos))
    asked = set(have)
    for split in {part.split for part in slices}:
        among = [video for video in videos if in_part(video, split)] if split else videos
        every = list(expected_ids(TASKS[setting], among))
        for part in slices:
            asked.update(part.of(every) if part.split == split else ())
    return frozenset(asked)


@dataclass(frozen=True)
class RunSource:
    """Path and name of a run, and the facts that its results files state.

    Attributes:
        name: shown to readers; unique within a report.
        slug: the same as a file name; unique within a report.
        path: prediction file, or folder with sample logs; of several parts the first.
        facts: model, model_args, date, versions... as far as they are known and may be named
            (:func:`siming_tasks.common.public_facts.public_run`).
        slices: by setting, which requests the run was told to make; nothing for a prediction file.
        paths: all its parts, files or folders.
        data_folder: of the data set that it was asked about, as its results files name it.
    """

    name: str
    slug: str
    path: Path
    facts: Mapping[str, Any] = field(default_factory=dict)
    slices: Mapping[str, tuple[RequestSlice, ...]] = field(default_factory=dict)
    paths: tuple[Path, ...] = ()
    data_folder: Path | None = None

    @property
    def part(self) -> str:
        """The part of a split that every command of the run asked about; empty: all videos, or several parts."""
        stated = {part.split for parts in self.slices.values() for part in parts}
        return stated.pop() if len(stated) == 1 else ""

    @property
    def role(self) -> str:
        """Word for its role in tables and charts (:func:`role_of`)."""
        return role_of(self.facts, {})


def role_of(facts: Mapping[str, Any], records: Mapping[str, Sequence[Record]]) -> str:
    """Role of a judge by a run's facts or its records: ``supervised``, ``reference`` (no model) or ``model``."""
    if facts.get("judge") == SUPERVISED or has_supervised_judge(records):
        return "supervised"
    return "reference" if facts.get("model") == REFERENCE_MODEL else "model"


def find_runs(arguments: Sequence[str]) -> list[RunSource]:
    """The runs behind the command line's arguments, in their order.

    Args:
        arguments: ``PATH`` or ``NAME=PATH``. A folder counts as one run for each folder in it that contains sample
            logs, but the shards of one model are one run; so are the paths of one ``NAME``.

    Returns:
        Runs with unique names: what was run, or the file's name; the folder's name is added where two are alike.

    Raises:
        DataError: a path does not exist, nothing was given, or paths of one name are not parts of one run.
    """
    runs: dict[tuple[object, ...], tuple[str | None, list[tuple[Path, list[Result]]]]] = {}
    for number, argument in enumerate(arguments):
        name, _, rest = argument.rpartition("=")
        is_named = bool(name) and not Path(argument).exists()
        path = Path(rest if is_named else argument)
        folders = sorted({log.parent for log in path.rglob("*_samples_siming_*.jsonl")}) if path.is_dir() else []
        found = {folder: results_at(folder) for folder in folders or [path]}
        models = {folder: _sharded_model(results) for folder, results in found.items()}
        is_one = len({model or folder for folder, model in models.items()}) == 1
        for folder, results in found.items():
            named = name if is_named and is_one else None
            key = (named,) if named else (number, models[folder] or folder)
            parts = runs.setdefault(key, (named, []))[1]
            if any(folder == part for part, _ in parts):
                raise DataError(
                    f"{folder} is given twice under the name {named}; paths with the same name are read as parts "
                    "of one run. Give it once, or choose another name."
                )
            parts.append((folder, results))
    if not runs:
        raise DataError(_NO_RUN)
    return unique_names([_source(parts, name) for name, parts in runs.values()])


def unique_names(sources: Sequence[RunSource]) -> list[RunSource]:
    """The same runs with names and slugs of their own: the part of the path that differs is added to alike ones."""
    same: dict[str, list[Path]] = {}
    for source in sources:
        same.setdefault(alike(source.name), []).append(source.path.absolute())
    taken: set[str] = set()

    def untaken(name: str, pattern: str) -> str:
        numbered = (name + pattern.format(number) for number in count(2))
        free = next(each for each in chain([name], numbered) if each + pattern not in taken)
        taken.add(free + pattern)
        return free

    unique = []
    for source in sources:
        paths, name = same[alike(source.name)], source.name
        if len(paths) > 1:
            name = f"{name} ({public_name(_own_part(source.path.absolute(), paths))})"
        name = untaken(name, " ({})")
        unique.append(replace(source, name=name, slug=untaken(slug_of(name), "-{}")))
    return unique


def _own_part(path: Path, paths: Sequence[Path]) -> str:
    """The last part of a path, counted from its end, in which all these paths differ; else the file's name."""

    def part(one: Path, depth: int) -> str:
        return one.parents[depth - 1].name if depth else one.stem

    depths = range(min(len(one.parts) for one in paths) - 1)
    depth = next((each for each in depths if len({alike(part(one, each)) for one in paths}) == len(paths)), 0)
    return part(path, depth)


def slug_of(name: str) -> str:
    """A file name for a run: lower-case letters, digits, dots and dashes; never empty, never hidden."""
    return re.sub(r"[^a-z0-9.]+", "-", name.lower()).strip("-.")[:60].rstrip("-.") or "run"


def run_at(path: str | Path | Sequence[str | Path], name: str | None = None) -> RunSource:
    """The one run in a prediction file, a sample log, or a folder with the parts of a run; or in several of these.

    Raises:
        DataError: there is no such path, nothing in it, a results file was not written by lmms-eval, or the parts have
            different models, prompts or options.
    """
    given = [path] if isinstance(path, str | os.PathLike) or not isinstance(path, Sequence) else path
    paths = [path_of(each, "run", "run") for each in given]
    if not paths:
        raise DataError(_NO_RUN)
    return _source([(each, results_at(each)) for each in paths], name)


def results_at(path: Path) -> list[Result]:
    """The results files of lmms-eval at a path (DataError: there is nothing to read, or one is damaged)."""
    if not path.exists():
        raise DataError.of([Problem("run-missing", "no such file or folder.", GIVE_A_RUN, str(path))])
    if why := misplaced(path, "run"):
        raise DataError.of([Problem("other-kind", *why, str(path))])
    results: list[Result] = []
    for file in path.rglob("*_results.json") if path.is_dir() else ():
        with _named(file):
            result = json.loads(read_text(file, MAX_RESULTS))
            results.append((file, {**result, "config": result.get("config") or {}}))
    if next(path.rglob("*.jsonl"), None) is None if path.is_dir() else path.is_file() and not path.stat().st_size:
        what = "no *.jsonl file in this folder." if path.is_dir() else "the file is empty; it has no predictions."
        raise DataError.of([Problem("no-predictions", what, GIVE_A_RUN, str(path))])
    return results


def _source(parts: Sequence[tuple[Path, Sequence[Result]]], name: str | None) -> RunSource:
    """The run of these parts, each a path with its results files (DataError: they are no parts of one run)."""
    path = parts[0][0]
    found = sorted((item for _, results in parts for item in results), key=lambda item: item[0].name)  # oldest first
    with _named(found[-1][0] if found else path):
        check_alike(found)
        results = [result for _, result in found]
        facts = _facts(results) if results else _stated_facts(path)
        name = shown_name(name or _name_of(facts, path))
        slices = slices_of(results)
        for task in facts.get("tasks", {}).values():
            if len(results) > 1:
                task.pop("shard", None)  # each part has its own
    folder = _data_folder(results[-1]) if results else None
    return RunSource(name, slug_of(name), path, facts, slices, tuple(path for path, _ in parts), folder)


@contextmanager
def _named(file: Path) -> Iterator[None]:
    """Whatever is wrong with the form of a results file while the block runs is told as an error of this file."""
    try:
        yield
    except (ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError) as error:
        raise DataError(f"{file}: not a results file of lmms-eval ({error}). Remove it, or run again.") from None


def _sharded_model(results: Sequence[Result]) -> str:
    """The model of a folder that holds shards of a run alone; empty for any other folder."""
    if not results:
        return ""
    with _named(results[-1][0]):
        slices = [part for parts in slices_of(result for _, result in results).values() for part in parts]
    return str(results[-1][1].get("model_name")) if slices and all(part.shard for part in slices) else ""


def dataset_folder(sources: Sequence[RunSource]) -> Path | None:
    """The dataset folder that the runs' results files name, if it is still there."""
    folders = (source.data_folder for source in sources if source.data_folder)
    return next((folder for folder in folders if (folder / "videos.jsonl").is_file()), None)


def _stated_facts(path: Path) -> dict[str, Any]:
    """Facts that the first lines of prediction files state about their judge; mostly none."""
    for file in [path] if path.is_file() else sorted(path.rglob("*.jsonl")):
        try:
            with open_regular(file) as stream:
                judge = stated_judge(json.loads(stream.readline(MAX_FIRST_LINE))["judge"]) or {}
        except (OSError, ValueError, LookupError, TypeError, AttributeError, RecursionError):
            continue  # unreadable: whoever reads the predictions says so
        if judge:
            trained = ", ".join(f"{key}={value}" for key, value in judge.items() if key != "kind")
            return {"judge": judge["kind"], "trained": trained}
    return {}


def _facts(results: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Facts of a run's results files, of the newest, about how it was made; the seconds of all of them together."""
    newest = results[-1]
    config, tasks = newest["config"], _our_tasks(newest)
    return public_run({
        **{name: config.get(name) for name in ("model", "model_args", "gen_kwargs", "limit", "batch_size")},
        "offset": config.get("offset") or None,
        **{name: newest.get(name) for name in ("model_name", "date", "lmms_eval_version", "git_hash")},
        "generation": next((task.get("generation_kwargs") for task in tasks.values()), None),
        "seeds": [config.get(f"{kind}_seed") for kind in ("random", "numpy", "torch", "fewshot")],
        "seconds": sum(float(one.get("total_evaluation_time_seconds") or 0) for one in results) or None,
        "tasks": {name: task.get("metadata") or {} for name, task in tasks.items()},
    })  # fmt: skip


def _our_tasks(result: Mapping[str, Any]) -> dict[str, Mapping[str, Any]]:
    return {name: task for name, task in (result.get("configs") or {}).items() if name.startswith("siming_")}


def _data_folder(result: Mapping[str, Any]) -> Path | None:
    """Folder of the data set that a results file names."""
    task: Mapping[str, Any] = next(iter(_our_tasks(result).values()), {})
    data_file = ((task.get("dataset_kwargs") or {}).get("data_files") or {}).get("test")
    return Path(data_file).parent if data_file else None


def _name_of(facts: Mapping[str, Any], path: Path) -> str:
    arguments: dict[str, str] = dict(part.partition("=")[::2] for part in facts.get("model_args", "").split(","))
    if facts.get("model") == REFERENCE_MODEL:
        return arguments.get("kind", "oracle")
    asked = (arguments.get(key) for key in ("pretrained", "model_version", "model"))
    known = facts.get("model_name") or next(filter(None, asked), facts.get("model"))
    return str(known or public_name(path.stem if path.is_file() else path.resolve().name))

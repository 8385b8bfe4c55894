"""Finding runs on disk: their names and what lmms-eval wrote about them."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from siming_tasks.common.errors import DataError, Problem
from siming_tasks.common.files import open_regular, read_bytes
from siming_tasks.common.redact import redact
from siming_tasks.common.version_0_1 import translate_results
from siming_tasks.results.record import SUPERVISED, stated_judge
from siming_tasks.results.request_slices import RequestSlice, slices_of

__all__ = [
    "REFERENCE_MODEL",
    "RunSource",
    "dataset_folder",
    "find_runs",
    "run_at",
    "slug_of",
    "unique_names",
]

REFERENCE_MODEL = "siming_reference"
MAX_FIRST_LINE = 1_000_000
"""Bytes of the first line of a prediction file in which its judge is looked for."""
MAX_RESULTS = 256_000_000
"""Largest results file in bytes; one of 20,000 videos has some megabytes."""


@dataclass(frozen=True)
class RunSource:
    """Path and name of a run, and the facts that its results files state.

    Attributes:
        name: shown to readers; unique within a report.
        slug: the same as a file name; unique within a report.
        path: prediction file, or folder with sample logs.
        facts: model, model_args, date, versions... as far as they are known, without secrets
            (:func:`siming_tasks.common.redact.redact`; the name has none either).
        slices: by setting, which requests the run was told to make; nothing for a prediction file.
    """

    name: str
    slug: str
    path: Path
    facts: Mapping[str, Any] = field(default_factory=dict)
    slices: Mapping[str, tuple[RequestSlice, ...]] = field(default_factory=dict)

    @property
    def limited(self) -> bool:
        """True if it was to make only some of the requests of some setting."""
        return any(not any(part.whole for part in parts) for parts in self.slices.values())

    @property
    def reference(self) -> bool:
        """True for a judge without a model (``--model siming_reference``)."""
        return self.facts.get("model") == REFERENCE_MODEL

    @property
    def kind(self) -> str | None:
        """Name of the reference judge: ``oracle``, a rater, ...; None for a model or a bare prediction file."""
        return _kind(self.facts) if self.reference else None

    @property
    def role(self) -> str:
        """Word for its role in tables and charts: ``supervised``, ``reference`` or ``model``."""
        if self.facts.get("judge") == SUPERVISED:
            return "supervised"
        return "reference" if self.reference else "model"


def find_runs(arguments: Sequence[str]) -> list[RunSource]:
    """The runs behind the command line's arguments, in their order.

    Args:
        arguments: ``PATH`` or ``NAME=PATH``. A folder counts as one run for each folder in it that holds sample logs.

    Returns:
        Runs with unique names: what was run, or the file's name; the folder's name is added where two are alike.

    Raises:
        DataError: a path does not exist, or nothing was given.
    """
    named_paths: list[tuple[str | None, Path]] = []
    for argument in arguments:
        name, _, rest = argument.rpartition("=")
        is_named = bool(name) and not Path(argument).exists()
        path = Path(rest if is_named else argument)
        folders = sorted({log.parent for log in path.rglob("*_samples_siming_*.jsonl")}) if path.is_dir() else []
        named_paths += [(name if is_named and len(folders) < 2 else None, folder) for folder in folders or [path]]
    if not named_paths:
        raise DataError("There is no run to read. Give at least one prediction file or lmms-eval output folder.")
    return unique_names([run_at(path, name) for name, path in named_paths])


def unique_names(sources: Sequence[RunSource]) -> list[RunSource]:
    """The same runs with names and slugs of their own: the file's or folder's name is added where two are alike."""
    shared = {name for name, count in Counter(source.name for source in sources).items() if count > 1}
    names: set[str] = set()
    slugs: set[str] = set()
    unique = []
    for source in sources:
        name = f"{source.name} ({redact(source.path.stem)})" if source.name in shared else source.name
        name = _unique(name, names, " ({})")
        unique.append(replace(source, name=name, slug=_unique(slug_of(name), slugs, "-{}")))
    return unique


def run_at(path: str | Path, name: str | None = None) -> RunSource:
    """The one run in a prediction file, a sample log, or a folder with the parts of a run.

    Raises:
        DataError: there is no such path.
    """
    path = Path(path)
    if not path.exists():
        fix = "Give a prediction file, or the --output_path of a run with --log_samples."
        raise DataError.of([Problem("run-missing", "no such file or folder.", fix, str(path))])
    results = _results(path)
    try:
        facts = _facts(_main_results(results)) if results else _stated(path)
        name = redact(name or _name_of(facts, path))
        slices = slices_of(result for _, result in results)
    except (ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError) as error:
        fix = "Remove it, or run again."
        raise DataError(f"{results[-1][0]}: not a results file of lmms-eval ({error}). {fix}") from None
    return RunSource(name, slug_of(name), path, facts, slices)


def slug_of(name: str) -> str:
    """A file name for a run: lower-case letters, digits, dots and dashes; never empty, never hidden."""
    return re.sub(r"[^a-z0-9.]+", "-", name.lower()).strip("-.")[:60].rstrip("-.") or "run"


def dataset_folder(sources: Sequence[RunSource]) -> Path | None:
    """The dataset folder that the runs' results files name, if it is still there."""
    for source in sources:
        folder = source.facts.get("data_folder")
        if folder and (Path(folder) / "videos.jsonl").is_file():
            return Path(folder)
    return None


def _results(path: Path) -> list[tuple[Path, dict[str, Any]]]:
    """The results files beside the logs, oldest first; none for a prediction file."""
    results_files = []
    for file in sorted(path.rglob("*_results.json"), key=lambda file: file.name) if path.is_dir() else []:
        try:
            results = translate_results(json.loads(read_bytes(file, MAX_RESULTS)))
            results_files.append((file, {**results, "config": results.get("config") or {}}))
        except (ValueError, AttributeError, TypeError, RecursionError) as error:
            raise DataError(f"{file}: not a results file of lmms-eval ({error}). Remove it, or run again.") from None
    return results_files


def _stated(path: Path) -> dict[str, Any]:
    """Facts that the first lines of prediction files state about their judge; mostly none."""
    files = [path] if path.is_file() else sorted(path.rglob("*.jsonl"))
    return next(filter(None, map(_stated_in, files)), {})


def _stated_in(path: Path) -> dict[str, Any]:
    try:
        with open_regular(path) as stream:
            first = stream.readline(MAX_FIRST_LINE)
        judge = stated_judge(json.loads(first)["judge"]) or {}
    except (OSError, ValueError, LookupError, TypeError, AttributeError, RecursionError):
        return {}  # unreadable: whoever reads the predictions says so
    trained = ", ".join(f"{key}={value}" for key, value in judge.items() if key != "kind")
    return {"judge": judge["kind"], "trained": trained} if judge else {}


def _main_results(results: Sequence[tuple[Path, dict[str, Any]]]) -> dict[str, Any]:
    """The newest results, but of a run whose failed requests were asked again those of the run itself."""
    every = [result for _, result in results]
    whole = [result for result in every if all(part.whole for parts in slices_of([result]).values() for part in parts)]
    return (whole or every)[-1]


def _facts(results: Mapping[str, Any]) -> dict[str, Any]:
    """Facts of a results file about how the run was made, without secrets."""
    config = results["config"]
    tasks = {name: task for name, task in (results.get("configs") or {}).items() if name.startswith("siming_")}
    first: Mapping[str, Any] = next(iter(tasks.values()), {})
    data_file = ((first.get("dataset_kwargs") or {}).get("data_files") or {}).get("test")
    facts = {
        "model": config.get("model"),
        "model_name": results.get("model_name") or None,
        "model_args": _joined_arguments(redact(config.get("model_args"))),
        "generation": first.get("generation_kwargs"),
        "gen_kwargs": config.get("gen_kwargs") or None,
        "batch_size": config.get("batch_size"),
        "seeds": [config.get(f"{kind}_seed") for kind in ("random", "numpy", "torch", "fewshot")],
        "limit": config.get("limit"),
        "offset": config.get("offset") or None,
        "date": results.get("date"),
        "lmms_eval_version": results.get("lmms_eval_version"),
        "git_hash": results.get("git_hash"),
        "seconds": float(results["total_evaluation_time_seconds"])
        if results.get("total_evaluation_time_seconds")
        else None,
        "tasks": {name: (task.get("metadata") or {}) for name, task in tasks.items()},
    }
    known = {name: value for name, value in redact(facts).items() if value not in (None, "", {})}
    return {**known, "data_folder": str(Path(data_file).parent)} if data_file else known


def _joined_arguments(arguments: Any) -> str | None:
    """Model arguments as the command line has them."""
    if isinstance(arguments, Mapping):
        return ",".join(f"{key}={value}" for key, value in arguments.items())
    return arguments if isinstance(arguments, str) else None


def _arguments(facts: Mapping[str, Any]) -> dict[str, str]:
    return dict(part.partition("=")[::2] for part in str(facts.get("model_args", "")).split(","))


def _kind(facts: Mapping[str, Any]) -> str:
    return _arguments(facts).get("kind", "oracle")


def _name_of(facts: Mapping[str, Any], path: Path) -> str:
    if facts.get("model") == REFERENCE_MODEL:
        return _kind(facts)
    arguments = _arguments(facts)
    known = facts.get("model_name") or next(
        (arguments[key] for key in ("pretrained", "model_version", "model") if arguments.get(key)), facts.get("model")
    )
    if known:
        return Path(known).name if Path(known).is_absolute() else str(known)
    return path.stem if path.is_file() else path.resolve().name


def _unique(name: str, taken: set[str], pattern: str) -> str:
    candidate, number = name, 2
    while candidate in taken:
        candidate, number = name + pattern.format(number), number + 1
    taken.add(candidate)
    return candidate

"""Kinds of inputs, told by the files at a path; one that stands where another kind is wanted is named, with a way out.

The words of commands and the arguments of Python's functions are refused by the same rules.
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TypeVar

from siming_tasks.common.errors import OptionsError

_T = TypeVar("_T")
_ARCHIVES = (".zip", ".tar", ".tgz", ".gz", ".bz2", ".xz", ".zst", ".7z", ".rar")
_VIDEOS = (".mp4", ".mov", ".mkv", ".avi", ".webm", ".m4v")


def _is_file(*suffixes: str) -> Callable[[Path], bool]:
    return lambda path: path.suffix.lower() in suffixes and path.is_file()


def _is_run(path: Path) -> bool:
    logs = (path.rglob(pattern) for pattern in ("*_samples_siming_*.jsonl", "*_results.json"))
    return any(next(found, None) for found in logs) if path.is_dir() else _is_file(".jsonl")(path)


_SIGNS: Mapping[str, Callable[[Path], bool]] = {
    "data set": lambda path: (path / "dataset.yaml").is_file(),
    "report": lambda path: (path / "report.json").is_file() and (path / "index.html").is_file(),
    "archive": _is_file(*_ARCHIVES),
    "event log": _is_file(".sqlite"),
    "YAML file": _is_file(".yaml", ".yml"),
    "video": _is_file(*_VIDEOS),
    "workbook": _is_file(".xlsx", ".xls"),
    "run": _is_run,
}
"""Sign of each kind, the first that holds decides."""

_WAYS_OUT = {
    "archive": "Unpack it and give the folder.",
    "report": "`siming view {path}` shows it; give the runs that it was made of.",
    "data set": "It is given as --data {path}.",
    "run": "`siming score {path}` scores it; give the data set, a folder with dataset.yaml.",
    "event log": "`siming data build` makes a data set of it.",
    "video": "Give the folder that it is in.",
}
"""Sentence for something that stands in the wrong place, by its kind."""

_WAYS_OUT_BETWEEN = {
    ("run", "report"): "`siming report {path}` makes one.",
    ("data set", "report"): "`siming report RUN --data {path}` makes one.",
    ("data set", "rubric"): "Give {path}/rubric.yaml.",
    ("data set", "run"): "Give the predictions after it.",
}
"""The same where it depends on what is wanted; the last of a command with a word for the data set."""


def kind_of(path: str | Path) -> str | None:
    """Kind of what is at a path: ``data set``, ``run``, ``report``, ``archive``, ...; None for anything else."""
    try:
        return next((kind for kind, holds in _SIGNS.items() if holds(Path(path).expanduser())), None)
    except (OSError, ValueError):  # too long a name, a NUL: whoever opens it says so
        return None


def misplaced(path: str | Path, wanted: str) -> tuple[str, str] | None:
    """Two sentences about an argument of another kind than the wanted one: what it is, and the way out; else None."""
    kind = kind_of(path)
    if kind in (None, wanted):
        return None
    remedy = "Give the predictions, and this as data=..." if kind == "data set" else way_out(str(kind), wanted, path)
    return f"{with_article(str(kind))}, and {with_article(wanted)} is wanted.", remedy


def way_out(kind: str, wanted: str, path: str | Path, *, between: bool = True) -> str:
    """The way out for a path of one kind where another is wanted; empty if none is known.

    Without ``between`` it is that of the kind alone, whatever is wanted.
    """
    text = (between and _WAYS_OUT_BETWEEN.get((kind, wanted))) or _WAYS_OUT.get(kind, "")
    return text.format(path=shlex.quote(str(path)))


def with_article(kind: str) -> str:
    """``a run``, ``an archive``."""
    return f"{'an' if kind[0].lower() in 'aeiou' else 'a'} {kind}"


def path_of(given: object, name: str, wanted: str) -> Path:
    """The path that an argument of a function is (OptionsError: it is none, or empty)."""
    if isinstance(given, str | os.PathLike) and str(given):
        return Path(given).expanduser()
    raise OptionsError(f"{name}: the path of {with_article(wanted)} is wanted, not {_described(given)}.")


def expect(given: object, kind: type[_T], name: str, remedy: str) -> _T:
    """An argument of a function, if it is of the kind that is wanted (OptionsError: it is another)."""
    if isinstance(given, kind):
        return given
    raise OptionsError(f"{name}: {with_article(kind.__name__)} is wanted, not {_described(given)}. {remedy}")


def _described(given: object) -> str:
    """The kind of a value in words."""
    if given is None or given == "":
        return "nothing" if given is None else "an empty text"
    return f"the text {given[:60]!r}" if isinstance(given, str) else with_article(type(given).__name__)

"""Kinds of inputs, recognised by the files at a path; the error for the wrong kind says what to do."""

from __future__ import annotations

import os
import shlex
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TypeVar

from siming_tasks.common.errors import OptionsError

_T = TypeVar("_T")
_ARCHIVES = (".zip", ".tar", ".tgz", ".gz", ".bz2", ".xz", ".zst", ".7z", ".rar")


def _is_run(path: Path) -> bool:
    logs = (path.rglob(pattern) for pattern in ("*_samples_siming_*.jsonl", "*_results.json"))
    return any(next(found, None) for found in logs) if path.is_dir() else path.suffix == ".jsonl" and path.is_file()


_SIGNS: Mapping[str, Callable[[Path], bool]] = {
    "data set": lambda path: (path / "dataset.yaml").is_file(),
    "report": lambda path: (path / "report.json").is_file() and (path / "index.html").is_file(),
    "archive": lambda path: path.suffix.lower() in _ARCHIVES and path.is_file(),
    "event log": lambda path: path.suffix.lower() == ".sqlite" and path.is_file(),
    "run": _is_run,
}
"""Test of each kind; the first that is true decides."""

_WAYS_OUT = {
    "archive": "Unpack it and give the folder.",
    "report": "Show it with `siming view {path}`; here, give the runs that it was made from.",
    "data set": "Give it as --data {path} (data=... in Python).",
    "run": "Score it with `siming score {path}`, or make pages with `siming report {path}`.",
    "event log": "Turn it into a data set with `siming data build`.",
}
"""What to do with an input of the wrong kind, by its kind."""


def kind_of(path: str | Path) -> str | None:
    """Kind of what is at a path: ``data set``, ``report``, ``archive``, ``event log``, ``run``; None: anything else."""
    try:
        return next((kind for kind, matches in _SIGNS.items() if matches(Path(path).expanduser())), None)
    except (OSError, ValueError):  # too long a name, a NUL: whoever opens it says so
        return None


def misplaced(path: str | Path, wanted: str) -> tuple[str, str] | None:
    """Two sentences about an argument of the wrong kind: what it is, and what to do; None if it is right."""
    kind = kind_of(path)
    if kind is None or kind == wanted:
        return None
    way_out = _WAYS_OUT[kind].format(path=shlex.quote(str(path)))
    return f"this is {_with_article(kind)}; {_with_article(wanted)} is expected here.", way_out


def _with_article(kind: str) -> str:
    """``a run``, ``an archive``."""
    return f"{'an' if kind[0].lower() in 'aeiou' else 'a'} {kind}"


def path_of(given: object, name: str, wanted: str) -> Path:
    """The argument of a function as a path (OptionsError: it is not a path, or empty)."""
    if isinstance(given, str | os.PathLike) and str(given):
        return Path(given).expanduser()
    what = "nothing" if given is None else "an empty text" if given == "" else _with_article(type(given).__name__)
    raise OptionsError(f"{name}: expected the path of {_with_article(wanted)}, not {what}.")


def expect(given: object, kind: type[_T], name: str, remedy: str) -> _T:
    """An argument of a function, if it is of the expected type (OptionsError: it is not)."""
    if isinstance(given, kind):
        return given
    what = f"the text {given[:60]!r}" if isinstance(given, str) else _with_article(type(given).__name__)
    raise OptionsError(f"{name}: expected {_with_article(kind.__name__)}, not {what}. {remedy}")

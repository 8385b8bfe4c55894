"""Data sets that are made on first use, found by name: the demo and the public sets.

Whatever makes one registers an entry point of the group ``siming_tasks.datasets`` under the name of the set: a
:class:`Maker`. So do the sets of this package (``pyproject.toml``), and so can any other package.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path

from siming_tasks.benchmark.tasks import TaskSpec, tasks_of
from siming_tasks.common.errors import DataError

DEMO = "demo"


@dataclass(frozen=True)
class Maker:
    """Maker of a data set folder.

    Attributes:
        make: called with the name of the set, the new folder and a folder for downloads; raises DataError.
        version: moves when the same name stands for other exams; part of the name of the folder in the cache.
    """

    make: Callable[[str, Path, Path], object]
    version: str = "1"


@cache
def _registered() -> dict[str, EntryPoint]:
    return {entry.name: entry for entry in entry_points(group="siming_tasks.datasets")}


def public_sets() -> tuple[str, ...]:
    """Names that stand for a public set in place of its folder, each with a variable ``<NAME>_VIDEO_DIR``."""
    return tuple(sorted(_registered().keys() - {DEMO}))


def maker_of(name: str) -> Maker:
    """The maker that is registered under a name (DataError: there is none)."""
    if name not in _registered():
        raise DataError(f"No maker of {name!r} is installed. Install the package again: pip install -e .")
    found: Maker = _registered()[name].load()
    return found


def set_of_group(group: str) -> str:
    """The public set that a group of lmms-eval tasks (``siming_egooops``) is about; empty for any other name."""
    name = group.removeprefix("siming_")
    return name if group.startswith("siming_") and name in public_sets() else ""


def tasks_named(name: str) -> tuple[TaskSpec, ...]:
    """The tasks that a task or group of lmms-eval runs, those of a public set's group too; none if it is not ours."""
    return tasks_of("siming" if set_of_group(name) else name)

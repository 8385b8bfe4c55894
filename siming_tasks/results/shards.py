"""A run in parts: which requests of which tasks each of N shards makes, and the commands or SLURM script that do it."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from siming_tasks.common.errors import OptionsError
from siming_tasks.data import Dataset
from siming_tasks.results.command import command_of
from siming_tasks.results.expected import Slice
from siming_tasks.tasks import BENCHMARK_TASKS, TASKS, TaskSpec
from siming_tasks.tasks.expected_requests import expected_requests

__all__ = ["Part", "settings_named", "shards", "slurm_script"]


@dataclass(frozen=True)
class Part:
    """What one command of a shard asks: the same slice of tasks that have as many requests."""

    tasks: tuple[str, ...]
    slice: Slice

    def command(self, facts: Mapping[str, Any], data: str, folder: Path, more: Sequence[str] = ()) -> str:
        """The line for a shell (:func:`~siming_tasks.results.command.command_of`)."""
        line = command_of(facts, self.tasks, self.slice, data=data, output=folder)
        return f"{line} {shlex.join(more)}" if more else line


def settings_named(names: Iterable[str]) -> list[TaskSpec]:
    """The settings of tasks and groups, in their usual order.

    Raises:
        OptionsError: there is no such task or group.

    Example:
        >>> [setting.name for setting in settings_named(["siming_clip"])]
        ['clip_score', 'clip_error']
    """
    groups: dict[str, set[str]] = {"siming": set(BENCHMARK_TASKS)}
    for setting in TASKS.values():
        groups.setdefault(setting.group, set()).add(setting.name)
        groups[setting.task_name] = {setting.name}
    wanted: set[str] = set()
    for name in names:
        if name not in groups:
            raise OptionsError(f"--tasks {name!r} is none of {', '.join(groups)}.")
        wanted |= groups[name]
    return [setting for name, setting in TASKS.items() if name in wanted]


def shards(dataset: Dataset, settings: Iterable[TaskSpec], number: int) -> list[list[Part]]:
    """For each of ``number`` shards, its parts: unbroken rows of requests that differ by one in length at most.

    lmms-eval takes one offset and limit for all tasks of a command, so that tasks of different size are asked by
    commands of their own. Together the shards ask every request once.

    Raises:
        OptionsError: a shard would have nothing to do.
    """
    sizes: dict[int, list[str]] = {}
    for setting in settings:
        if size := len(expected_requests(setting, dataset.videos)):
            sizes.setdefault(size, []).append(setting.task_name)
    if number > max(sizes, default=0):
        raise OptionsError(f"{number} shards of at most {max(sizes, default=0):,} requests: some would be empty.")
    found = []
    for shard in range(number):
        bounds = {size: (shard * size // number, (shard + 1) * size // number) for size in sizes}
        found.append(
            [
                Part(tuple(sizes[size]), Slice(begin, end - begin))
                for size, (begin, end) in sorted(bounds.items())
                if end > begin
            ]
        )
    return found


def slurm_script(commands: Sequence[Sequence[str]], folders: Sequence[Path], join: str) -> str:
    """An array job with one task per shard, which fails if lmms-eval leaves no results (it exits 0 after a crash)."""
    lines = [
        "#!/bin/bash",
        "#SBATCH --job-name=siming",
        f"#SBATCH --array=0-{len(commands) - 1}",
        "#SBATCH --output=siming-%A_%a.log",
        "# Add what your cluster wants: #SBATCH --partition=... --gres=gpu:1 --time=... --mem=...",
        f"# When all are done: {join}",
        "set -euo pipefail",
        'case "${SLURM_ARRAY_TASK_ID:?run it with sbatch}" in',
    ]
    for shard, (words, folder) in enumerate(zip(commands, folders, strict=True)):
        lines += [f"{shard})", f"  folder={shlex.quote(str(folder))} expected={len(words)}"]
        lines += [f"  {word}" for word in words] + ["  ;;"]
    lines += [
        "esac",
        'mkdir -p "$folder"',
        'found=$(find "$folder" -name "*_results.json" | wc -l)',
        'if [ "$found" -lt "$expected" ]; then echo "shard $SLURM_ARRAY_TASK_ID: results are missing" >&2; exit 1; fi',
    ]
    return "\n".join(lines) + "\n"

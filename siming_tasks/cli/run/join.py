"""``siming run join``: one run of its shards."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from siming_tasks.cli.parameters import DatasetChoice, command, dataset_flags
from siming_tasks.options import Options

__all__ = ["join"]


@command()
@dataset_flags()
@click.argument(
    "folders", nargs=-1, required=True, metavar="DIR...", help="folders of the shards, and last the one to write"
)
@click.option("--partial", is_flag=True, help="join although requests are missing, and say which")
def join(
    chosen: DatasetChoice,
    options: Options,
    folders: tuple[str, ...],
    partial: bool,
) -> int:
    """Write the joined run and count its requests; 0."""
    from siming_tasks.common.errors import OptionsError
    from siming_tasks.results.discovery import find_runs
    from siming_tasks.results.join_shards import join_shards
    from siming_tasks.tasks import TASKS

    *shards, out = folders
    if not shards:
        raise OptionsError("Give the folders of the shards, and after them the folder to write.")
    sources = find_runs(shards)
    dataset = chosen.open(sources)
    joined = join_shards(sources, dataset, Path(out), partial=partial)
    for name, count in joined.requests.items():
        print(f"{TASKS[name].task_name}: {count:,} requests" + _missing(joined.missing.get(name, ())))
    label = " SYNTHETIC" if dataset.synthetic else ""
    print(f"{len(sources)} shards of {dataset.name}{label} joined in {joined.folder}")
    return 0


def _missing(rows: Any) -> str:
    if not rows:
        return ""
    places = ", ".join(f"{row.offset}-{row.offset + int(row.limit) - 1}" for row in rows[:8]) + ", ..." * (
        len(rows) > 8
    )
    return f"; MISSING {sum(int(row.limit) for row in rows):,}: documents {places}"

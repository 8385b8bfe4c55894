"""``siming join``: one run of its shards."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from siming_tasks.cli.dataset import add_data, open_chosen
from siming_tasks.cli.flags import options_from

__all__ = ["add"]


def add(commands: Any) -> None:
    """Add this module's subcommand."""
    command = commands.add_parser("join", help="make one run of its shards")
    command.add_argument("shards", nargs="+", metavar="DIR", help="folders of the shards, and last the one to write")
    add_data(command)
    command.add_argument("--partial", action="store_true", help="join although requests are missing, and say which")
    command.set_defaults(run=_join)


def _join(arguments: argparse.Namespace) -> int:
    from siming_tasks.common.errors import OptionsError
    from siming_tasks.results.discovery import find_runs
    from siming_tasks.results.join import join_shards
    from siming_tasks.tasks import TASKS

    *shards, out = arguments.shards
    if not shards:
        raise OptionsError("Give the folders of the shards, and after them the folder to write.")
    options = options_from(arguments)
    sources = find_runs(shards)
    dataset = open_chosen(arguments, options, sources)
    joined = join_shards(sources, dataset, Path(out), partial=arguments.partial)
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

"""``siming board``: a static leaderboard of submitted archives."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from siming_tasks.cli.arguments import Checked
from siming_tasks.cli.dataset import add_data, open_chosen
from siming_tasks.cli.flags import SCORED, add_options, options_from
from siming_tasks.cli.terminal import say
from siming_tasks.options import Decimal

__all__ = ["add"]


def add(commands: Any) -> None:
    """Add this module's subcommand."""
    command = commands.add_parser(
        "board",
        help="build a static leaderboard from submitted archives",
        description="Scores every *.zip of a folder. A row is verified if the host's own run in --reruns gave the same "
        "answers. Exit code 1 if an archive was refused.",
    )
    command.add_argument("folder", type=Path, metavar="INBOX", help="folder of archives")
    add_data(command, labels=True)
    command.add_argument("--out", type=Path, default=Path("siming_board"), metavar="DIR", help="default: %(default)s")
    command.add_argument("--reruns", type=Path, metavar="DIR", help="the host's own runs, one folder per archive name")
    command.add_argument(
        "--match",
        action=Checked,
        kind=Decimal(above=0, most=1, metavar="SHARE"),
        default=1.0,
        help="equal answers that verify (default 1)",
    )
    add_options(command, *SCORED)
    command.set_defaults(run=board)


def board(arguments: argparse.Namespace) -> int:
    """Build the board; 1 if an archive was refused."""
    from siming_tasks.tools.board.build import build_board

    options = options_from(arguments)
    dataset = open_chosen(arguments, options)
    entries, refused = build_board(
        arguments.folder, dataset, arguments.out, options, reruns=arguments.reruns, match=arguments.match
    )
    for line in refused:
        say(f"refused: {line}", error=True)
    verified = sum(entry.verified for entry in entries)
    say(f"{arguments.out / 'index.html'}: {verified} verified, {len(entries) - verified} community rows.")
    return 1 if refused else 0

"""``siming board build``: a static leaderboard of submitted archives."""

from __future__ import annotations

from pathlib import Path

import click

from siming_tasks.cli.parameters import SCORING_OPTIONS, Checked, DatasetChoice, command, dataset_flags, option_flags
from siming_tasks.cli.terminal import say
from siming_tasks.options import Decimal, Options

__all__ = ["build"]


@command(
    "Scores every *.zip of a folder. A row is verified if the organiser's own run in --reruns gave the same answers. "
    "Exit code 1 if an archive was refused."
)
@dataset_flags(labels=True)
@click.argument("folder", type=Path, metavar="INBOX", help="folder of archives")
@click.option(
    "--out", type=Path, default=Path("siming_board"), metavar="DIR", help="the new folder (default: siming_board)"
)
@click.option("--reruns", type=Path, metavar="DIR", help="the organiser's own runs, one folder per archive name")
@click.option(
    "--match",
    type=Checked(Decimal(above=0, most=1)),
    default=1.0,
    metavar="SHARE",
    help="share of equal answers that verifies a row (default 1)",
)
@option_flags(*SCORING_OPTIONS)
def build(
    chosen: DatasetChoice,
    options: Options,
    folder: Path,
    out: Path,
    reruns: Path | None,
    match: float,
) -> int:
    """Build the board; 1 if an archive was refused."""
    from siming_tasks.tools.board.build import build_board

    dataset = chosen.open()
    entries, refused = build_board(folder, dataset, out, options, reruns=reruns, match=match)
    for line in refused:
        say(f"refused: {line}", error=True)
    verified = sum(entry.verified for entry in entries)
    say(f"{out / 'index.html'}: {verified} verified, {len(entries) - verified} community rows.")
    return 1 if refused else 0

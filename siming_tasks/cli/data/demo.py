"""``siming demo``: make a dataset of simulated exams."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from siming_tasks.cli.arguments import Checked
from siming_tasks.cli.terminal import say
from siming_tasks.options import Whole

__all__ = ["add"]


def add(commands: Any) -> None:
    """Add this module's subcommands."""
    command = commands.add_parser("demo", help="make a SYNTHETIC dataset: simulated exams whose labels are known")
    command.add_argument("out", metavar="OUT", type=Path, help="the new folder")
    command.add_argument("--videos", action=Checked, kind=Whole(), default=16, help="number of exams (default 16)")
    command.add_argument(
        "--seed",
        action=Checked,
        kind=Whole(0),
        default=0,
        metavar="S",
        help="of trainees, raters and looks (default 0)",
    )
    command.add_argument("--short", action="store_true", help="half a minute a video instead of three; for tests")
    command.add_argument("--pairs", action="store_true", help="counterfactual minimal_pairs, for the pair metric")
    command.add_argument(
        "--jobs", action=Checked, kind=Whole(), default=2, metavar="J", help="worker processes (default 2)"
    )
    command.add_argument("--no-contact", action="store_true", help="no contact sheets")
    command.set_defaults(run=demo)


def demo(arguments: argparse.Namespace) -> int:
    """Make the folder and say what it is."""
    from siming_tasks.tools.simulator import make_demo

    out = make_demo(
        arguments.out,
        videos=arguments.videos,
        seed=arguments.seed,
        short=arguments.short,
        pairs=arguments.pairs,
        jobs=arguments.jobs,
        contact=not arguments.no_contact,
    )
    say(f"{out}: SYNTHETIC dataset (simulated exams, labels true by construction; see its README.md).")
    return 0

"""``siming demo``: make a dataset of simulated exams."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

__all__ = ["add"]


def add(commands: Any) -> None:
    """Add this module's subcommands."""
    command = commands.add_parser("demo", help="make a SYNTHETIC dataset: simulated exams whose labels are known")
    command.add_argument("out", metavar="OUT", type=Path, help="the new folder")
    command.add_argument("--videos", type=int, default=16, metavar="N", help="number of exams (default 16)")
    command.add_argument("--seed", type=int, default=0, metavar="S", help="seed of trainees, raters and looks")
    command.add_argument("--short", action="store_true", help="half a minute a video instead of three; for tests")
    command.add_argument("--pairs", action="store_true", help="counterfactual twins, for the pair metric")
    command.add_argument("--jobs", type=int, default=2, metavar="J", help="worker processes (default 2)")
    command.add_argument("--no-contact", action="store_true", help="no contact sheets")
    command.set_defaults(run=demo)


def demo(arguments: argparse.Namespace) -> int:
    """Make the folder and say what it is."""
    from siming_tasks.errors import OptionsError
    from siming_tasks.simulate import make_demo

    if arguments.videos < 1 or arguments.jobs < 1 or arguments.seed < 0:
        raise OptionsError("--videos and --jobs must be at least 1, --seed at least 0.")
    out = make_demo(
        arguments.out,
        videos=arguments.videos,
        seed=arguments.seed,
        short=arguments.short,
        pairs=arguments.pairs,
        jobs=arguments.jobs,
        contact=not arguments.no_contact,
    )
    print(f"{out}: SYNTHETIC dataset (simulated exams, labels true by construction; see its README.md).")
    return 0

"""``siming data demo``: make a dataset of simulated exams."""

from __future__ import annotations

from pathlib import Path

import click

from siming_tasks.cli.parameters import Checked, command
from siming_tasks.cli.terminal import say
from siming_tasks.options import Whole

__all__ = ["demo"]


@command()
@click.argument("out", type=Path, metavar="OUT", help="the new folder")
@click.option(
    "--videos",
    type=Checked(Whole()),
    default=16,
    metavar="N",
    help="number of exams (default 16)",
)
@click.option(
    "--seed",
    type=Checked(Whole(0)),
    default=0,
    metavar="S",
    help="of trainees, raters and looks (default 0)",
)
@click.option("--short", is_flag=True, help="half a minute of video per exam instead of three; for tests")
@click.option("--pairs", is_flag=True, help="add counterfactual minimal pairs, for the pair metric")
@click.option(
    "--jobs",
    type=Checked(Whole()),
    default=2,
    metavar="J",
    help="worker processes (default 2)",
)
@click.option("--no-contact", is_flag=True, help="write no contact sheets")
def demo(
    out: Path,
    videos: int,
    seed: int,
    short: bool,
    pairs: bool,
    jobs: int,
    no_contact: bool,
) -> int:
    """Make the folder and say what it is."""
    from siming_tasks.tools.simulator import make_demo

    out = make_demo(
        out,
        videos=videos,
        seed=seed,
        short=short,
        pairs=pairs,
        jobs=jobs,
        contact=not no_contact,
    )
    say(f"{out}: SYNTHETIC dataset (simulated exams, labels true by construction; see its README.md).")
    return 0

"""``siming data edit``: counterfactual pairs of a data set's own recordings."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import click

from siming_tasks.cli.parameters import Checked, DatasetChoice, command, dataset_flags
from siming_tasks.cli.terminal import say
from siming_tasks.options import Options, Whole

__all__ = ["edit"]

OPERATIONS: tuple[Literal["drop", "freeze", "swap"], ...] = ("drop", "freeze", "swap")


@command(
    "Writes a data set of edited videos, each beside an untouched copy encoded in the same way, and pairs.jsonl. "
    "Labels stand only where spans and the rubric's requirements make them certain."
)
@dataset_flags(word=True)
@click.argument("out", type=Path, metavar="OUT", help="the new folder")
@click.option(
    "--only",
    type=click.Choice(OPERATIONS),
    multiple=True,
    metavar="EDIT",
    help="drop, freeze or swap; may be repeated",
)
@click.option(
    "--each",
    type=Checked(Whole()),
    default=1,
    metavar="N",
    help="edits of each kind a video (default 1)",
)
@click.option(
    "--seed",
    type=Checked(Whole(0)),
    default=0,
    metavar="S",
    help="decides which steps (default 0)",
)
def edit(
    chosen: DatasetChoice,
    options: Options,
    out: Path,
    only: tuple[Literal["drop", "freeze", "swap"], ...],
    each: int,
    seed: int,
) -> int:
    """Make the folder; say what is certain and what was left out."""
    from siming_tasks.tools.builder.edits.build_edits import edit_dataset

    dataset = chosen.open(media=True)
    wanted = tuple(only or OPERATIONS)
    edited = edit_dataset(dataset, out, operations=wanted, each=each, seed=seed, progress=True)
    videos, pairs = sum(edited.edits.values()), sum(edited.pairs.values())
    kinds = ", ".join(f"{name} {count:,}" for name, count in edited.edits.items())
    say(
        f"{edited.dataset.root}: {videos:,} edited videos ({kinds}), {len(edited.dataset.videos) - videos:,} untouched."
    )
    kinds = ", ".join(f"{count:,} {name}" for name, count in edited.pairs.items())
    say(f"{pairs:,} pairs ({kinds}), in pairs.jsonl.")
    left = sum(edited.unsure.values())
    reasons = "; ".join(f"{count:,}: {why}" for why, count in edited.unsure.items())
    reasons = f" ({reasons})" if left else ""
    say(f"Labels of the edited videos: {edited.certain:,} certain, {left:,} left out{reasons}.")
    if missing := set(wanted) - set(edited.edits):
        say(f"No video has a step for {', '.join(sorted(missing))}.")
    if edited.without:
        shown = ", ".join(edited.without[:5]) + (", ..." if len(edited.without) > 5 else "")
        say(f"Of {len(edited.without):,} videos no edit could be made ({shown}).")
    return 0

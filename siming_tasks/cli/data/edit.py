"""``siming edit``: counterfactual pairs of a data set's own recordings."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from siming_tasks.cli.arguments import Checked
from siming_tasks.cli.dataset import add_data, open_chosen
from siming_tasks.cli.flags import options_from
from siming_tasks.cli.terminal import say
from siming_tasks.options import Whole

__all__ = ["add"]

OPERATIONS = ("drop", "freeze", "swap")


def add(commands: Any) -> None:
    """Add this module's subcommand."""
    command = commands.add_parser(
        "edit",
        help="edited copies of recordings whose labels then must differ: counterfactual pairs",
        description="Writes a data set of edited videos, each beside an untouched copy encoded in the same way, and "
        "pairs.jsonl. Labels stand only where spans and the rubric's requirements make them certain.",
    )
    add_data(command, word=True)
    command.add_argument("out", type=Path, metavar="OUT", help="the new folder")
    command.add_argument(
        "--only", action="append", choices=OPERATIONS, metavar="EDIT", help="drop, freeze or swap; may be repeated"
    )
    command.add_argument(
        "--each", action=Checked, kind=Whole(), default=1, metavar="N", help="edits of each kind a video (default 1)"
    )
    command.add_argument(
        "--seed", action=Checked, kind=Whole(0), default=0, metavar="S", help="decides which steps (default 0)"
    )
    command.set_defaults(run=edit)


def edit(arguments: argparse.Namespace) -> int:
    """Make the folder; say what is certain and what was left out."""
    from siming_tasks.tools.builder.edits.build_edits import edit_dataset

    dataset = open_chosen(arguments, options_from(arguments), media=True)
    wanted = tuple(arguments.only or OPERATIONS)
    found = edit_dataset(
        dataset, arguments.out, operations=wanted, each=arguments.each, seed=arguments.seed, progress=True
    )
    videos, pairs = sum(found.edits.values()), sum(found.pairs.values())
    kinds = ", ".join(f"{name} {count:,}" for name, count in found.edits.items())
    say(f"{found.dataset.root}: {videos:,} edited videos ({kinds}), {len(found.dataset.videos) - videos:,} untouched.")
    kinds = ", ".join(f"{count:,} {name}" for name, count in found.pairs.items())
    say(f"{pairs:,} pairs ({kinds}), in pairs.jsonl.")
    left = sum(found.unsure.values())
    reasons = "; ".join(f"{count:,}: {why}" for why, count in found.unsure.items())
    reasons = f" ({reasons})" if left else ""
    say(f"Labels of the edited videos: {found.certain:,} certain, {left:,} left out{reasons}.")
    if missing := set(wanted) - set(found.edits):
        say(f"No video has a step for {', '.join(sorted(missing))}.")
    if found.without:
        shown = ", ".join(found.without[:5]) + (", ..." if len(found.without) > 5 else "")
        say(f"Of {len(found.without):,} videos no edit could be made ({shown}).")
    return 0

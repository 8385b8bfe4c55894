"""``siming withhold``: a public folder and a private label file."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from siming_tasks.cli.dataset import add_data, folder_of
from siming_tasks.cli.flags import options_from
from siming_tasks.cli.terminal import say

__all__ = ["add"]


def add(commands: Any) -> None:
    """Add this module's subcommand."""
    withhold = commands.add_parser("withhold", help="split a dataset into a public folder and a private label file")
    add_data(withhold, word=True)
    withhold.add_argument("out", type=Path, metavar="OUT", help="the public folder")
    withhold.add_argument("--key", type=Path, required=True, metavar="KEYFILE", help="the label file to keep")
    withhold.set_defaults(run=_withhold)


def _withhold(arguments: argparse.Namespace) -> int:
    from siming_tasks.data import withhold

    public = withhold(folder_of(arguments, options_from(arguments)), arguments.out, arguments.key)
    say(f"{public.root}: {len(public.videos)} videos without labels, digest {public.digest[:12]}. This part is public.")
    say(f"{arguments.key}: the labels. Keep it; `siming score {public.root} PREDICTIONS --labels {arguments.key}`.")
    return 0

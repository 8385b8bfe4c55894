"""``siming withhold``: a public folder and a private label file."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

__all__ = ["add"]


def add(commands: Any) -> None:
    """Add this module's subcommand."""
    withhold = commands.add_parser("withhold", help="split a dataset into a public folder and a private label file")
    withhold.add_argument("root", type=Path, metavar="DIR")
    withhold.add_argument("out", type=Path, metavar="OUT", help="the public folder")
    withhold.add_argument("--key", type=Path, required=True, metavar="KEYFILE", help="the label file to keep")
    withhold.set_defaults(run=_withhold)


def _withhold(arguments: argparse.Namespace) -> int:
    from siming_tasks.data import withhold

    public = withhold(arguments.root, arguments.out, arguments.key)
    print(
        f"{public.root}: {len(public.videos)} videos without labels, digest {public.digest[:12]}. This part is public."
    )
    print(f"{arguments.key}: the labels. Keep it; `siming score {public.root} PREDICTIONS --labels {arguments.key}`.")
    return 0

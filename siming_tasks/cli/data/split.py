"""``siming data split``: a public folder without labels, and a private label file."""

from __future__ import annotations

from pathlib import Path

import click

from siming_tasks.cli.parameters import DatasetChoice, command, dataset_flags
from siming_tasks.cli.terminal import say
from siming_tasks.options import Options

__all__ = ["split"]


@command()
@dataset_flags(word=True)
@click.argument("out", type=Path, metavar="OUT", help="the public folder")
@click.option("--key", type=Path, required=True, metavar="KEYFILE", help="the label file to keep")
def split(
    chosen: DatasetChoice,
    options: Options,
    out: Path,
    key: Path,
) -> int:
    """Write the public folder and the label file; 0."""
    from siming_tasks.data import withhold

    public = withhold(chosen.folder(), out, key)
    say(f"{public.root}: {len(public.videos)} videos without labels, digest {public.digest[:12]}. This part is public.")
    say(f"{key}: the labels. Keep it; `siming score {public.root} PREDICTIONS --labels {key}`.")
    return 0

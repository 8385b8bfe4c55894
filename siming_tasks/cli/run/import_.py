"""``siming run import``: replies made by another harness, to be scored here."""

from __future__ import annotations

from pathlib import Path

import click

from siming_tasks.cli.parameters import Checked, command
from siming_tasks.cli.terminal import say
from siming_tasks.options import Whole

__all__ = ["import_"]


@command()
@click.argument("file", type=Path, metavar="FILE", help="result file of VLMEvalKit, or log of Inspect")
@click.argument("out", type=Path, metavar="OUT", help="the file (.jsonl) for `siming score`")
@click.option(
    "--format", type=click.Choice(("vlmevalkit", "inspect")), required=True, help="the harness that wrote the file"
)
@click.option(
    "--epoch",
    type=Checked(Whole()),
    metavar="N",
    help="epoch to take from a log with several",
)
def import_(
    file: Path,
    out: Path,
    format: str,
    epoch: int | None,
) -> int:
    """Write the replies and name the next command; 0."""
    from siming_tasks.tools.exchange.imported_replies import import_replies

    counts = import_replies(file, format, out, epoch=epoch)
    statuses = ", ".join(f"{name} {count:,}" for name, count in counts.items())
    say(f"{out}: {sum(counts.values()):,} replies ({statuses}). Score them: siming score DIR {out}")
    return 0

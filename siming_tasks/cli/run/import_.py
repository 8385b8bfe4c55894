"""``siming import``: replies made by another harness, to be scored here."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from siming_tasks.cli.arguments import Checked
from siming_tasks.cli.terminal import say
from siming_tasks.options import Whole

__all__ = ["add"]


def add(commands: Any) -> None:
    """Add this module's subcommand."""
    command = commands.add_parser("import", help="replies made by VLMEvalKit or Inspect, as a file to be scored")
    command.add_argument("file", type=Path, metavar="FILE", help="result file of VLMEvalKit, or log of Inspect")
    command.add_argument("out", type=Path, metavar="OUT", help="the file (.jsonl) for `siming score`")
    command.add_argument("--format", choices=("vlmevalkit", "inspect"), required=True, help="whose file it is")
    command.add_argument("--epoch", action=Checked, kind=Whole(), help="of a log with several: which one")
    command.set_defaults(run=_import)


def _import(arguments: argparse.Namespace) -> int:
    from siming_tasks.tools.exchange.replies import import_replies

    counts = import_replies(arguments.file, arguments.format, arguments.out, epoch=arguments.epoch)
    found = ", ".join(f"{name} {count:,}" for name, count in counts.items())
    say(f"{arguments.out}: {sum(counts.values()):,} replies ({found}). Score them: siming score DIR {arguments.out}")
    return 0

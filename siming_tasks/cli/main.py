"""Entry point of ``siming``: finds the subcommand modules, turns deliberate errors into a message and an exit code."""

from __future__ import annotations

import argparse
import importlib
import sys
from collections.abc import Sequence

from siming_tasks import __version__
from siming_tasks.cli.arguments import Command, Parser
from siming_tasks.cli.terminal import harmless_terminal
from siming_tasks.common.errors import OptionsError, SimingError
from siming_tasks.common.redact import redact

__all__ = ["main"]

MODULES = (
    *("data.rubric", "data.template", "data.build", "data.check", "data.split", "data.push", "data.edit", "data.demo"),
    *("run.prepare", "run.plan", "run.shards", "run.join", "score", "compare", "study.raters", "study.diagnose"),
    *("study.power", "study.lint_table", "report", "view", "board.submit", "board.build", "data.rate", "tasks_path"),
    *("run.recipe", "run.requests", "run.import_", "run.export", "run.baseline", "docs"),
)
"""Modules of this package, one for each subcommand; ``add(commands)`` adds it and imports nothing of what it runs."""


def parser() -> argparse.ArgumentParser:
    """The whole command line."""
    top = Parser(prog="siming", description="SiMing-Bench: data, media, statistics and reports.")
    top.add_argument("--version", action="version", version=f"siming-tasks {__version__}")
    commands = top.add_subparsers(dest="command", required=True, metavar="COMMAND", parser_class=Command)
    for name in MODULES:
        importlib.import_module(f"siming_tasks.cli.{name}").add(commands)
    return top


def main(argv: Sequence[str] | None = None) -> int:
    """Run one subcommand.

    Returns:
        Its exit code: 0 well, 1 findings or bad data, 2 bad usage (a flag, a word or a SIMING_ variable cannot be
        used), 130 interrupted.
    """
    with harmless_terminal():
        return _main(argv)


def _main(argv: Sequence[str] | None) -> int:
    try:
        arguments = parser().parse_args(argv)
    except SystemExit as done:  # argparse has said what there is to say
        return int(done.code or 0)
    try:
        return int(arguments.run(arguments) or 0)
    except OptionsError as error:
        print(f"siming {arguments.command}: {redact(str(error))}", file=sys.stderr)
        return 2
    except SimingError as error:
        print(f"siming {arguments.command}: {redact(str(error))}", file=sys.stderr)
        return 1
    except BrokenPipeError:
        return 0
    except KeyboardInterrupt:
        print(f"siming {arguments.command}: interrupted; run the same command again to go on.", file=sys.stderr)
        return 130

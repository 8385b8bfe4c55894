"""The ``siming`` command: one module per group of subcommands, the only place that prints or exits."""

from siming_tasks.cli.main import main

__all__ = ["main"]

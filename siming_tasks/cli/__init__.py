"""The ``siming`` command: one module per subcommand or two, the only place that prints or exits."""

from siming_tasks.cli.main import main

__all__ = ["main"]

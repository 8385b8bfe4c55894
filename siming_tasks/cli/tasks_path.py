"""``siming tasks-path``: where the task files are, for ``lmms-eval --include_path``."""

from __future__ import annotations

import argparse
from importlib import resources
from typing import Any

__all__ = ["add"]


def add(commands: Any) -> None:
    """Add this module's subcommands."""
    command = commands.add_parser("tasks-path", help="print the folder of the task files, for lmms-eval --include_path")
    command.set_defaults(run=tasks_path)


def tasks_path(arguments: argparse.Namespace) -> None:
    """Print the folder."""
    print(resources.files("siming_tasks.yaml_tasks"))

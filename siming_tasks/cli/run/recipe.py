"""``siming recipe``: how to run a model."""

from __future__ import annotations

import argparse
from typing import Any

from siming_tasks.cli.markdown import show

__all__ = ["add"]


def add(commands: Any) -> None:
    """Add this module's subcommand."""
    command = commands.add_parser("recipe", help="how to run the paper's models and their successors")
    command.add_argument("model", nargs="?", metavar="MODEL", help="one of them; without it, a list")
    command.set_defaults(run=_recipe)


def _recipe(arguments: argparse.Namespace) -> None:
    from siming_tasks.models.recipes import recipe, recipes
    from siming_tasks.models.recipes.page import as_text

    if arguments.model:
        print(as_text(recipe(arguments.model)))
        return
    from siming_tasks.report.table import Table

    rows = []
    for name, one in recipes().items():
        gone = one.retired and one.retired <= one.checked
        state = f"retired {one.retired}" if gone else one.how if one.model else "no backend"
        rows.append([name, one.title, str(one.full_frames), one.model or "-", state])
    show(Table.of(["recipe", "model", "frames", "--model", "state"], rows, left=(0, 1, 3, 4)))

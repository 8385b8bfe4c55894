"""``siming docs``: the pages of the documentation, on the terminal."""

from __future__ import annotations

import argparse
import difflib
from typing import Any

from siming_tasks.common.errors import DataError

__all__ = ["add"]


def add(commands: Any) -> None:
    """Add this module's subcommand."""
    command = commands.add_parser("docs", help="list the pages of the documentation, or print one")
    command.add_argument("page", nargs="?", metavar="PAGE", help="name of a page; none: list all")
    command.set_defaults(run=docs)


def docs(arguments: argparse.Namespace) -> None:
    """Print a page, or what there is.

    Raises:
        DataError: there is no such page; names the nearest.
    """
    from siming_tasks.common.doc_pages import pages, read_page

    there = pages()
    if arguments.page in there:
        print(read_page(arguments.page).rstrip())
        return
    if arguments.page:
        near = difflib.get_close_matches(arguments.page, there, 1)
        meant = f"Did you mean `{near[0]}`? " if near else ""
        raise DataError(f"there is no page {arguments.page!r}. {meant}`siming docs` lists all.")
    wide = max(map(len, there)) + 2
    for kind in dict.fromkeys(path.parent.name for path in there.values()):
        print(kind)
        for name, path in there.items():
            if path.parent.name == kind:
                print(f"  {name:<{wide}}{_title(path.read_text(encoding='utf-8'))}")
    print("`siming docs PAGE` prints one.")


def _title(text: str) -> str:
    return next((line[2:].replace("`", "") for line in text.splitlines() if line.startswith("# ")), "")

"""``siming docs``: the pages of the documentation, on the terminal."""

from __future__ import annotations

import difflib

import click

from siming_tasks.cli.parameters import command
from siming_tasks.common.errors import DataError

__all__ = ["docs"]


@command()
@click.argument("page", required=False, metavar="[PAGE]", help="the name of a page; without it, all are listed")
def docs(page: str | None) -> None:
    """Print a page, or what there is.

    Raises:
        DataError: there is no such page; names the nearest.
    """
    from siming_tasks.common.doc_pages import pages, read_page

    there = pages()
    if page and page in there:
        print(read_page(page).rstrip())
        return
    if page:
        near = difflib.get_close_matches(page, there, 1)
        meant = f"Did you mean `{near[0]}`? " if near else ""
        raise DataError(f"there is no page {page!r}. {meant}`siming docs` lists all.")
    wide = max(map(len, there)) + 2
    for kind in dict.fromkeys(path.parent.name for path in there.values()):
        print(kind)
        for name, path in there.items():
            if path.parent.name == kind:
                print(f"  {name:<{wide}}{_title(path.read_text(encoding='utf-8'))}")
    print("`siming docs PAGE` prints one.")


def _title(text: str) -> str:
    return next((line[2:].replace("`", "") for line in text.splitlines() if line.startswith("# ")), "")

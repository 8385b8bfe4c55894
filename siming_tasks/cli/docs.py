"""``siming docs``: the pages of the documentation."""

from __future__ import annotations

import difflib

import click

from siming_tasks.cli import parameters as cli
from siming_tasks.common.errors import DataError


@cli.command("docs first-model", "siming docs troubles")
@click.argument("page", required=False, metavar="[PAGE]", help="a page (default: list all)")
def docs(page: str | None) -> None:
    """List the pages of the documentation, or print one."""
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
                lines = path.read_text(encoding="utf-8").splitlines()
                heading = next((line[2:].replace("`", "") for line in lines if line.startswith("# ")), "")
                print(f"  {name:<{wide}}{heading}")
    print("`siming docs PAGE` prints a page.")

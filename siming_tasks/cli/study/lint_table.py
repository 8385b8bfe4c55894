"""``siming study lint-table``: what the printed numbers of a table imply about each other."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click

from siming_tasks.cli.parameters import Checked, command
from siming_tasks.cli.terminal import show_markdown
from siming_tasks.options import Whole

__all__ = ["lint_table"]


@command(
    "Recomputes what printed numbers imply about each other, allowing for rounding. Exit code 1 if some cannot all be "
    "right as printed."
)
@click.argument("file", metavar="FILE", help="a .csv, .json or .yaml table, or 'paper' for the paper's tables 3-6")
@click.option(
    "--n-videos",
    type=Checked(Whole()),
    metavar="N",
    help="videos behind each PLCC and SRCC",
)
@click.option(
    "--n-items",
    type=Checked(Whole()),
    metavar="N",
    help="items (steps) behind each P, R, F1 and MCC",
)
@click.option("--json", "as_json", is_flag=True, help="print JSON instead of Markdown")
def lint_table(
    file: str,
    n_videos: int | None,
    n_items: int | None,
    as_json: bool,
) -> int:
    """Print the report; 1 if numbers contradict each other."""
    from dataclasses import replace

    from siming_tasks.report.published_tables.read import paper_tables, read_document
    from siming_tasks.tools.table_lint.lint import lint

    document = paper_tables() if file == "paper" else read_document(Path(file))
    sizes: dict[str, Any] = {key: size for key, size in (("n_videos", n_videos), ("n_items", n_items)) if size}
    document = replace(document, tables=tuple(replace(table, **sizes) for table in document.tables))
    report = lint(document)
    if as_json:
        print(json.dumps(report.to_json(), indent=2, allow_nan=False))
    else:
        show_markdown(report.to_markdown())
    return 1 if report.inconsistent else 0

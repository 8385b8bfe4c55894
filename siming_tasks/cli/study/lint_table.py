"""``siming lint-table``: what the printed numbers of a table imply about each other."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

from siming_tasks.cli.arguments import Checked
from siming_tasks.cli.markdown import show
from siming_tasks.options import Whole

__all__ = ["add"]


def add(commands: Any) -> None:
    """Add this module's subcommands."""
    command = commands.add_parser(
        "lint-table",
        help="check the arithmetic of a published table (P, R, F1, MCC, PLCC, deltas, shares)",
        description="Recomputes what printed numbers imply about each other, allowing for rounding. "
        "Exit code 1 if some cannot all be right as printed.",
    )
    command.add_argument(
        "file", metavar="FILE", help="a .csv, .json or .yaml table, or 'paper' for the paper's tables 3-6"
    )
    command.add_argument("--n-videos", action=Checked, kind=Whole(), help="videos behind each PLCC and SRCC")
    command.add_argument("--n-items", action=Checked, kind=Whole(), help="items (steps) behind each P, R, F1 and MCC")
    command.add_argument("--json", action="store_true", help="print JSON instead of Markdown")
    command.set_defaults(run=lint_table)


def lint_table(arguments: argparse.Namespace) -> int:
    """Print the report; 1 if numbers contradict each other."""
    from dataclasses import replace

    from siming_tasks.report.published_tables.read import paper_tables, read_document
    from siming_tasks.tools.table_lint.lint import lint

    document = paper_tables() if arguments.file == "paper" else read_document(Path(arguments.file))
    sizes = {key: getattr(arguments, key) for key in ("n_videos", "n_items") if getattr(arguments, key)}
    document = replace(document, tables=tuple(replace(table, **sizes) for table in document.tables))
    report = lint(document)
    if arguments.json:
        print(json.dumps(report.to_json(), indent=2, allow_nan=False))
    else:
        show(report.to_markdown())
    return 1 if report.inconsistent else 0

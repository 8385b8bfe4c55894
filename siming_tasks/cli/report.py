"""``siming report``: pages, Markdown and JSON from finished runs."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from siming_tasks.cli.arguments import Checked
from siming_tasks.cli.dataset import add_data, open_chosen
from siming_tasks.cli.flags import SCORED, add_options, options_from
from siming_tasks.cli.terminal import say
from siming_tasks.options import Whole

__all__ = ["add"]

VIDEO_FILES = ("link", "copy", "none")


def add(commands: Any) -> None:
    """Add this module's subcommand."""
    command = commands.add_parser(
        "report",
        help="make a folder of pages from finished runs",
        description="Reads lmms-eval output folders (made with --log_samples) or prediction files and writes a folder "
        "that opens from disk: index.html, report.md, report.json.",
    )
    command.add_argument(
        "runs", nargs="+", metavar="RUN", help="PATH or NAME=PATH; a folder with several models is split"
    )
    add_data(command, labels=True)
    command.add_argument("--out", type=Path, default=Path("siming_report"), metavar="DIR", help="default: %(default)s")
    command.add_argument(
        "--video-files",
        choices=VIDEO_FILES,
        default="link",
        help="videos: link to the data set (default), copy into the report, or leave out",
    )
    command.add_argument("--media", dest="video_files", choices=VIDEO_FILES, help=argparse.SUPPRESS)
    command.add_argument("--title", metavar="TEXT", help="at the head of every page (default: SiMing-Bench report)")
    command.add_argument("--partial", action="store_true", help="count only requests that have a line")
    command.add_argument(
        "--allow",
        action="append",
        default=[],
        metavar="WHAT",
        help="rank runs that differ in WHAT (as compare --allow)",
    )
    add_options(command, *SCORED, "prices")
    command.add_argument(
        "--jobs", action=Checked, kind=Whole(), metavar="J", help="worker processes (default: one for each core)"
    )
    command.set_defaults(run=report)


def report(arguments: argparse.Namespace) -> int:
    """Write the report and say where it is."""
    from siming_tasks.report.build import TITLE, write_report
    from siming_tasks.report.pool import cores
    from siming_tasks.results.comparable import check_allowed
    from siming_tasks.results.discovery import find_runs

    options = options_from(arguments)
    check_allowed(arguments.allow)
    sources = find_runs(arguments.runs)
    dataset = open_chosen(arguments, options, sources, media=True)
    out = write_report(
        sources,
        dataset,
        arguments.out,
        options,
        media=arguments.video_files,
        jobs=arguments.jobs or cores(),
        partial=arguments.partial,
        allow=arguments.allow,
        title=arguments.title or TITLE,
    )
    what = "SYNTHETIC data" if dataset.synthetic else dataset.name
    say(f"{out / 'index.html'}: {len(sources)} run{'s' if len(sources) != 1 else ''} on {what}.")
    return 0

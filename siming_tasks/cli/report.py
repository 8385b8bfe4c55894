"""``siming report``: pages, Markdown and JSON from finished runs."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

import click

from siming_tasks.cli.parameters import SCORING_OPTIONS, Checked, DatasetChoice, command, dataset_flags, option_flags
from siming_tasks.cli.terminal import say
from siming_tasks.options import Options, Whole

__all__ = ["report"]

VIDEO_FILES = ("link", "copy", "none")


@command(
    "Reads lmms-eval output folders (made with --log_samples) or prediction files and writes a folder that opens from "
    "disk: index.html, report.md, report.json."
)
@dataset_flags(labels=True)
@click.argument(
    "runs", nargs=-1, required=True, metavar="RUN...", help="PATH or NAME=PATH; a folder with several models is split"
)
@click.option(
    "--out", type=Path, default=Path("siming_report"), metavar="DIR", help="the new folder (default: siming_report)"
)
@click.option(
    "--video-files",
    type=click.Choice(VIDEO_FILES),
    default="link",
    help="videos: link to the data set (default), copy into the report, or leave out",
)
@click.option("--title", metavar="TEXT", help="title of every page (default: SiMing-Bench report)")
@click.option("--partial", is_flag=True, help="count only requests that have a line")
@click.option("--allow", multiple=True, metavar="WHAT", help="rank runs that differ in WHAT (as compare --allow)")
@option_flags(*SCORING_OPTIONS, "prices")
@click.option(
    "--jobs",
    type=Checked(Whole()),
    metavar="J",
    help="worker processes (default: one for each core)",
)
def report(
    chosen: DatasetChoice,
    options: Options,
    runs: tuple[str, ...],
    out: Path,
    video_files: Literal["link", "copy", "none"],
    title: str | None,
    partial: bool,
    allow: tuple[str, ...],
    jobs: int | None,
) -> int:
    """Write the report and say where it is."""
    from siming_tasks.report.build import TITLE, available_cores, write_report
    from siming_tasks.results.comparable import check_allowed
    from siming_tasks.results.discovery import find_runs

    check_allowed(allow)
    sources = find_runs(runs)
    dataset = chosen.open(sources, media=True)
    how: dict[str, Any] = {"media": video_files, "partial": partial, "allow": allow, "title": title or TITLE}
    out = write_report(sources, dataset, out, options, jobs=jobs or available_cores(), **how)
    what = "SYNTHETIC data" if dataset.synthetic else dataset.name
    say(f"{out / 'index.html'}: {len(sources)} run{'s' if len(sources) != 1 else ''} on {what}.")
    return 0

"""``siming report`` and ``siming view``: pages of finished runs, and the same in the browser with their videos."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

import click

from siming_tasks.cli import parameters as cli
from siming_tasks.cli.terminal import say
from siming_tasks.common.schema import DIFFERENCES
from siming_tasks.options import Options


@cli.command(
    "Reads lmms-eval output folders (made with --log_samples) or prediction files and writes a folder that opens from "
    "disk: index.html, report.md, report.json."
)
def report(
    chosen: cli.DatasetChoice = cli.dataset_flags(labels=True),
    runs: tuple[str, ...] = cli.word("RUN...", "PATH or NAME=PATH; a folder with several models is split"),
    out: Path = cli.option("DIR", "the new folder (default: siming_report)", cli.NEW_FOLDER, Path("siming_report")),
    video_files: Literal["link", "copy", "none"] = cli.option(
        "",
        "videos: link to the data set (default), copy into the report, or leave out",
        ("link", "copy", "none"),
        "link",
    ),
    title: str | None = cli.option("TEXT", "title of every page (default: SiMing-Bench report)"),
    partial: bool = cli.switch("count only requests that have a line"),
    allow: tuple[str, ...] = cli.several("WHAT", "rank runs that differ in WHAT (see compare)", DIFFERENCES),
    options: Options = cli.option_flags(*cli.SCORING_OPTIONS, "prices"),
    jobs: int | None = cli.option("J", "worker processes (default: one for each core)", click.IntRange(1)),
) -> None:
    """Write the report and say where it is."""
    from siming_tasks.report.build import TITLE, available_cores, write_report
    from siming_tasks.results.discovery import find_runs

    sources = find_runs(runs)
    dataset = chosen.open(sources, media=True)
    how: dict[str, Any] = {"media": video_files, "partial": partial, "allow": allow, "title": title or TITLE}
    out = write_report(sources, dataset, out, options, jobs=jobs or available_cores(), **how)
    what = "SYNTHETIC data" if dataset.synthetic else dataset.name
    say(f"{out / 'index.html'}: {len(sources)} run{'s' if len(sources) != 1 else ''} on {what}.")


@cli.command(
    "Serves a report's pages on 127.0.0.1, and the videos of the data set named with --data; a report is data, and no "
    "script of its own runs. On another machine: "
    "ssh -L PORT:127.0.0.1:PORT HOST, and open the printed address here."
)
def view(
    chosen: cli.DatasetChoice = cli.dataset_flags(),
    report: Path = cli.word("REPORT", "what `siming report --out` wrote", Path),
    options: Options = cli.option_flags("cache"),
    port: int = cli.option("N", "port of the page (default: a free one)", click.IntRange(0), 0),
    no_browser: bool = cli.switch("print the address only"),
) -> None:
    """Serve the report until the process is interrupted."""
    from siming_tasks.report.viewer_files import read_media_links
    from siming_tasks.tools.local_server.local_server import serve
    from siming_tasks.tools.local_server.report_viewer import ViewedReport, application

    folder = report.expanduser()
    named = chosen.folder() if chosen.data is not None else None
    shown = ViewedReport.of(folder, read_media_links(folder), named, options.cache_dir)
    if remark := shown.remark():
        say(remark, error=True)
    serve(
        lambda key: application(shown, key=key),
        port=port,
        browser=not no_browser,
        say=lambda address: print(f"Open this address in a browser here; end with Ctrl+C:\n{address}", flush=True),
    )

"""``siming report`` and ``siming view``: pages of finished runs, and the same in the browser with their videos."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

import click

from siming_tasks.cli import parameters as cli
from siming_tasks.cli.terminal import say
from siming_tasks.common.printed_value import counted
from siming_tasks.options import Options


@cli.command("report runs/qwen runs/gpt --data exams --out report", "siming view report --data exams")
@click.argument(
    "runs", nargs=-1, required=True, metavar="RUN...", help="folder, sample log or prediction file; or NAME=PATH"
)
@cli.option_flags("data", "split", *cli.SCORING_OPTIONS, "prices")
@cli.LABELS
@click.option("--out", type=cli.NEW_FOLDER, default="siming_report", help="the new folder")
@click.option(
    "--video-files",
    type=click.Choice(["link", "copy", "none"]),
    default="link",
    help="link to the videos, copy them, or leave them out",
)
@click.option("--title", help="title of every page (default: SiMing-Bench report)")
@cli.PARTIAL
@cli.ALLOW
@click.option("--jobs", type=click.IntRange(1), help="worker processes (default: one per core)")
def report(
    runs: tuple[str, ...],
    options: Options,
    labels: Path | None,
    out: Path,
    video_files: Literal["link", "copy", "none"],
    title: str | None,
    partial: bool,
    allow: tuple[str, ...],
    jobs: int | None,
) -> None:
    """Make a folder of pages from finished runs: index.html (opens without a server), report.md, report.json.

    Reads lmms-eval output folders (made with --log_samples) or prediction files.
    """
    from siming_tasks.study.report.build import TITLE, available_cores, write_report
    from siming_tasks.study.results.discovery import find_runs

    sources = find_runs(runs)
    dataset = cli.open_dataset(options, sources, labels=labels, media=True)
    how: dict[str, Any] = {"media": video_files, "partial": partial, "allow": allow, "title": title or TITLE}
    again = (out / "report.json").exists()
    out = write_report(sources, dataset, out, options, jobs=jobs or available_cores(), **how)
    what = "SYNTHETIC data" if dataset.synthetic else dataset.name
    replaced = " It replaces the report that was there." if again else ""
    say(f"{out / 'index.html'}: {counted(len(sources), 'run')} on {what}.{replaced}")


@cli.command("view report --data exams", "siming score RUN --show card")
@click.argument("folder", type=Path, metavar="REPORT", help="folder that `siming report --out` wrote")
@cli.option_flags("data", "cache")
@cli.PORT
@cli.NO_BROWSER
def view(folder: Path, options: Options, port: int, no_browser: bool) -> None:
    """Serve a report's pages on 127.0.0.1, and the videos of the data set named with --data.

    A report is treated as data: none of its scripts run. For a report on another machine: ssh -L PORT:127.0.0.1:PORT
    HOST, then open the printed address here.
    """
    from siming_tasks.study.report.viewer_files import read_media_links
    from siming_tasks.tools.local_server.local_server import serve
    from siming_tasks.tools.local_server.report_viewer import ViewedReport, application

    folder = folder.expanduser()
    named = cli.dataset_folder(options) if cli.given("data") else None
    shown = ViewedReport.of(folder, read_media_links(folder), named, options.cache_dir)
    if remark := shown.remark():
        say(remark, error=True)
    serve(
        lambda key: application(shown, key=key),
        port=port,
        browser=not no_browser,
        say=lambda address: print(
            f"Open this address in a browser on this machine (Ctrl+C stops the server):\n{address}", flush=True
        ),
    )

"""``siming view``: a report in the browser, with the videos of its data set."""

from __future__ import annotations

from pathlib import Path

import click

from siming_tasks.cli.parameters import Checked, DatasetChoice, command, dataset_flags, option_flags
from siming_tasks.cli.terminal import say
from siming_tasks.options import Options, Whole

__all__ = ["view"]


@command(
    "Serves a report's pages and the videos of its data set on 127.0.0.1, and nothing else. On another machine: "
    "ssh -L PORT:127.0.0.1:PORT HOST, and open the printed address here."
)
@dataset_flags()
@click.argument("report", type=Path, metavar="REPORT", help="what `siming report --out` wrote")
@option_flags("cache")
@click.option("--port", type=Checked(Whole(0)), default=0, metavar="N", help="port of the page (default: a free one)")
@click.option("--no-browser", is_flag=True, help="print the address only")
def view(
    chosen: DatasetChoice,
    options: Options,
    report: Path,
    port: int,
    no_browser: bool,
) -> int:
    """Serve the report until the process is interrupted; 0."""
    from siming_tasks.report.media_links import read_media_links
    from siming_tasks.tools.local_server.local_server import serve
    from siming_tasks.tools.local_server.report_viewer import ViewedReport, application, find_dataset

    folder = report.expanduser()
    links = read_media_links(folder)
    named = chosen.folder() if chosen.data is not None else None
    shown = ViewedReport(folder, links, find_dataset(folder, links, named), options.cache_dir)
    if remark := shown.remark():
        say(remark, error=True)
    serve(
        lambda key: application(shown, key=key),
        name="siming_view",
        port=port,
        browser=not no_browser,
        say=lambda address: print(f"Open this address in a browser here; end with Ctrl+C:\n{address}", flush=True),
    )
    return 0

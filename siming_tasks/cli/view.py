"""``siming view``: a report in the browser, with the videos of its data set."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from siming_tasks.cli.arguments import Checked
from siming_tasks.cli.dataset import add_data, folder_of
from siming_tasks.cli.flags import add_options, options_from
from siming_tasks.cli.terminal import say
from siming_tasks.options import Whole

__all__ = ["add"]


def add(commands: Any) -> None:
    """Add this module's subcommand."""
    command = commands.add_parser(
        "view",
        help="serve a report to this machine, with its videos",
        description="Serves a report's pages and the videos of its data set on 127.0.0.1, and nothing else. On another "
        "machine: ssh -L PORT:127.0.0.1:PORT HOST, and open the printed address here.",
    )
    command.add_argument("report", type=Path, metavar="REPORT", help="what `siming report --out` wrote")
    add_data(command)
    add_options(command, "cache")
    command.add_argument("--port", action=Checked, kind=Whole(least=0), default=0, help="default: a free one")
    command.add_argument("--no-browser", action="store_true", help="print the address only")
    command.set_defaults(run=_view)


def _view(arguments: argparse.Namespace) -> int:
    from siming_tasks.report.links import read_links
    from siming_tasks.tools.local_server.report_viewer import Shown, application, find_dataset
    from siming_tasks.tools.local_server.serve import serve

    options = options_from(arguments)
    folder = arguments.report.expanduser()
    links = read_links(folder)
    named = folder_of(arguments, options) if arguments.data is not None else None
    shown = Shown(folder, links, find_dataset(folder, links, named), options.cache_dir)
    if remark := shown.remark():
        say(remark, error=True)
    serve(
        lambda key: application(shown, key=key),
        name="siming_view",
        port=arguments.port,
        browser=not arguments.no_browser,
        say=lambda address: print(f"Open this address in a browser here; end with Ctrl+C:\n{address}", flush=True),
    )
    return 0

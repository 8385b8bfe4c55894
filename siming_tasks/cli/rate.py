"""``siming rate``: the rating station, a local page on which one physician marks spans and scores exams."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from siming_tasks.cli.arguments import Checked
from siming_tasks.cli.flags import add_options, options_from
from siming_tasks.options import Whole

__all__ = ["add"]


def add(commands: Any) -> None:
    """Add this module's subcommand."""
    rate = commands.add_parser("rate", help="a local page on which a physician scores exams")
    rate.add_argument("dir", type=Path, metavar="DIR", help="folder of videos, or a built data set")
    rate.add_argument("--rater", metavar="NAME", help="who rates")
    rate.add_argument("--rubric", type=Path, help="rubric.yaml, for plain videos (default: the embedded one)")
    rate.add_argument("--store", type=Path, metavar="FILE", help="the journal (default: DIR.ratings.sqlite)")
    rate.add_argument("--port", action=Checked, kind=Whole(least=0), default=0, help="default: a free one")
    rate.add_argument("--no-browser", action="store_true", help="print the address only")
    add_options(rate, "cache")
    rate.set_defaults(run=_rate)


def _rate(arguments: argparse.Namespace) -> int:
    from siming_tasks.data.journal import Journal
    from siming_tasks.errors import DataError, OptionsError
    from siming_tasks.station.exams import find_exams
    from siming_tasks.station.rate import Rating
    from siming_tasks.station.serve import serve
    from siming_tasks.station.work import rater_name

    options = options_from(arguments)
    if not arguments.rater:
        raise OptionsError("--rater NAME: say who rates.")
    rater = rater_name(arguments.rater)
    folder = arguments.dir.expanduser()
    if not folder.is_dir():
        raise DataError(f"{folder}: no such folder. Give a folder of videos, or a built data set.")
    exams = find_exams(folder, options.cache_dir, arguments.rubric)
    store = arguments.store or default_store(folder)
    journal = Journal.begin(store, exams.rubric, synthetic=exams.synthetic)
    try:
        work = Rating(journal, rater, exams)
        print(f"{len(work.items)} exams, {sum(not work.left(item) for item in work.items)} finished by {rater}.")
        print(f"Every act is kept in {store}: back it up, keep it private.")
        say = "Open this address, in this machine's browser only; end with Ctrl+C:\n{}"
        serve(
            work,
            port=arguments.port,
            cache=options.cache_dir,
            browser=not arguments.no_browser,
            say=lambda address: print(say.format(address), flush=True),
        )
        done = sum(not work.left(item) for item in work.items)
        print(f"\n{done} of {len(work.items)} exams finished by {rater}; all of it is in {store}.")
    finally:
        journal.close()
    return 0


def default_store(folder: Path) -> Path:
    """Beside the folder, as everything that holds original names."""
    whole = folder.resolve()
    return whole.with_name(f"{whole.name}.ratings.sqlite")

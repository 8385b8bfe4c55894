"""``siming data rate``: the rating station, a local page on which one physician marks spans and scores exams."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Literal

import click

from siming_tasks.cli import parameters as cli
from siming_tasks.common.errors import DataError, OptionsError
from siming_tasks.options import Options

if TYPE_CHECKING:
    from siming_tasks.tools.station.worklist import Work


@cli.command(
    "data rate videos --rater 'Dr. Li' --rubric rubric.yaml",
    "siming data build exams --rubric rubric.yaml --labels videos.ratings.sqlite --videos videos",
)
@click.argument("dir", type=Path, metavar="DIR", help="folder of videos, or a built data set")
@cli.option_flags("cache")
@click.option("--rater", help="name of the physician who scores; saved with each score and mark")
@click.option("--rubric", type=Path, help="rubric.yaml, for plain videos (default: the embedded one)")
@click.option("--store", type=cli.NEW_FILE, help="file of all scores and marks (default: DIR.ratings.sqlite)")
@cli.PORT
@cli.NO_BROWSER
@click.option(
    "--language", type=click.Choice(["en", "zh"]), help="language of the page (default: as last chosen there)"
)
@click.option("--adjudicate", is_flag=True, help="decide the steps on which two raters differ")
@click.option("--raters", nargs=2, metavar="A B", help="with --adjudicate: the two raters, if more have rated")
@click.option("--different", nargs=2, multiple=True, metavar="A B", help="take these similar names for two")
@click.option("--join", multiple=True, type=Path, help="first add another event log; may be repeated")
def rate(
    dir: Path,
    options: Options,
    rater: str | None,
    rubric: Path | None,
    store: Path | None,
    port: int,
    no_browser: bool,
    language: Literal["en", "zh"] | None,
    adjudicate: bool,
    raters: tuple[str, str] | None,
    different: tuple[tuple[str, str], ...],
    join: tuple[Path, ...],
) -> None:
    """Open the rating page in the browser, where a physician scores exams (Ctrl+C stops it)."""
    from siming_tasks.tools.local_server.local_server import serve
    from siming_tasks.tools.station.app import application
    from siming_tasks.tools.station.event_log import RATING, EventLog
    from siming_tasks.tools.station.station_exams import find_exams
    from siming_tasks.tools.station.words import LANGUAGES, say
    from siming_tasks.tools.station.worklist import Adjudication, Rating, rater_name

    folder = dir.expanduser()
    if not folder.is_dir():
        what = "a file, not a folder" if folder.exists() else "no such folder"
        raise DataError(f"{folder}: {what}. Give a folder of videos, or a built data set.")
    if adjudicate and rater:
        raise OptionsError("--adjudicate rates as `consensus`; leave out --rater.")
    if not adjudicate and not rater:
        raise OptionsError("give the rater's name: --rater NAME.")
    if raters and not adjudicate:
        raise OptionsError("--raters A B goes with --adjudicate.")
    if rater:
        rater_name(rater)  # before a file is made
    # By default beside the folder, like everything that holds original names.
    log_file = store or (whole := folder.resolve()).with_name(f"{whole.name}.ratings.sqlite")
    exams = find_exams(folder, options.cache_dir, rubric)
    event_log = EventLog.begin(log_file, exams.rubric, synthetic=exams.synthetic)
    try:
        for path in join:
            other = EventLog.read(path)
            print(f"{path}: {event_log.join(other)} new events added.")
            other.close()
        name = rater_name(rater, event_log.raters(RATING), different) if rater else ""
        work = Adjudication(event_log, exams, raters) if adjudicate else Rating(event_log, name, exams)
        work.language, spoken = language, language or LANGUAGES[0]
        print(_progress(work, spoken), say("say_kept", spoken, file=event_log.path))
        serve(
            lambda key: application(work, key=key, cache=options.cache_dir),
            port=port,
            usual_port=work.usual_port,
            browser=not no_browser,
            say=lambda address: print(f"{say('say_address', spoken)}\n{address}", flush=True),
        )
        print(f"\n{_progress(work, spoken)}", say("say_end", spoken, file=event_log.path))
    finally:
        event_log.close()


def _progress(work: Work, language: str) -> str:
    """Sentence on the exams that are finished, and on those that cannot be adjudicated yet."""
    from siming_tasks.tools.station.words import say

    done = say("say_finished", language, done=work.open_steps().count(0), of=len(work.items), rater=work.rater)
    waiting = getattr(work, "waiting", 0)
    return f"{done} {say('say_waiting', language, count=waiting)}" if waiting else done

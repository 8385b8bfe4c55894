"""``siming data rate``: the rating station, a local page on which one physician marks spans and scores exams."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from siming_tasks.cli.parameters import Checked, command, option_flags
from siming_tasks.options import Options, Whole

if TYPE_CHECKING:
<<<<<<< HEAD
    from siming_tasks.options import Options
    from siming_tasks.tools.station.event_log import EventLog
=======
    from siming_tasks.tools.station.event_log import Journal
>>>>>>> d82fd9e (Commands by audience: siming data, run, study and board beside score, compare, report and view)
    from siming_tasks.tools.station.worklist import Work

__all__ = ["rate"]


<<<<<<< HEAD
def add(commands: Any) -> None:
    """Add this module's subcommand."""
    rate = commands.add_parser("rate", help="a local page on which a physician scores exams")
    rate.add_argument("dir", type=Path, metavar="DIR", help="folder of videos, or a built data set")
    rate.add_argument("--rater", metavar="NAME", help="who rates")
    rate.add_argument("--rubric", type=Path, help="rubric.yaml, for plain videos (default: the embedded one)")
    rate.add_argument("--store", type=Path, metavar="FILE", help="file of the event log (default: DIR.ratings.sqlite)")
    rate.add_argument("--port", action=Checked, kind=Whole(least=0), default=0, help="default: a free one")
    rate.add_argument("--no-browser", action="store_true", help="print the address only")
    rate.add_argument("--adjudicate", action="store_true", help="decide the steps on which two raters differ")
    rate.add_argument("--raters", nargs=2, metavar=("A", "B"), help="with --adjudicate, if more than two have rated")
    rate.add_argument(
        "--join",
        type=Path,
        action="append",
        default=[],
        metavar="FILE",
        help="first take over another event log's events",
    )
    rate.add_argument("--as-model", action="store_true", help="answer a setting from the frames that a model gets")
    rate.add_argument("--setting", help="with --as-model: full_score, full_error, clip_score or clip_error")
    rate.add_argument("--out", type=Path, metavar="FILE", help="with --as-model: the prediction file to write")
    add_options(rate, "frames", "clip_frames", "frame_size", "clip_density", "cache", "cache_gb")
    rate.set_defaults(run=_rate)


def _rate(arguments: argparse.Namespace) -> int:
=======
@command()
@click.argument("dir", type=Path, metavar="DIR", help="folder of videos, or a built data set")
@click.option("--rater", metavar="NAME", help="who rates")
@click.option("--rubric", type=Path, help="rubric.yaml, for plain videos (default: the embedded one)")
@click.option("--store", type=Path, metavar="FILE", help="the journal (default: DIR.ratings.sqlite)")
@click.option("--port", type=Checked(Whole(0)), default=0, metavar="N", help="default: a free one")
@click.option("--no-browser", is_flag=True, help="print the address only")
@click.option("--adjudicate", is_flag=True, help="decide the steps on which two raters differ")
@click.option("--raters", nargs=2, metavar="A B", help="with --adjudicate, if more than two have rated")
@click.option("--join", type=Path, multiple=True, metavar="FILE", help="first take over another journal's acts")
@click.option("--as-model", is_flag=True, help="answer a setting from the frames that a model gets")
@click.option("--setting", help="with --as-model: full_score, full_error, clip_score or clip_error")
@click.option("--out", type=Path, metavar="FILE", help="with --as-model: the prediction file to write")
@option_flags("frames", "clip_frames", "frame_size", "clip_density", "cache", "cache_gb")
def rate(
    options: Options,
    dir: Path,
    rater: str | None,
    rubric: Path | None,
    store: Path | None,
    port: int,
    no_browser: bool,
    adjudicate: bool,
    raters: tuple[str, str] | None,
    join: tuple[Path, ...],
    as_model: bool,
    setting: str | None,
    out: Path | None,
) -> int:
    """Serve the page until the process is interrupted, and say how much is rated; 0."""
>>>>>>> d82fd9e (Commands by audience: siming data, run, study and board beside score, compare, report and view)
    from siming_tasks.common.errors import DataError
    from siming_tasks.tools.local_server.serve import serve
    from siming_tasks.tools.station.adjudicate import Adjudication
    from siming_tasks.tools.station.app import application
    from siming_tasks.tools.station.event_log import Journal
    from siming_tasks.tools.station.rater import rater_name
    from siming_tasks.tools.station.rating import Rating
    from siming_tasks.tools.station.station_exams import find_exams

    _refuse_conflicts(adjudicate, rater, raters, as_model, setting, out, rubric)
    folder = dir.expanduser()
    if not folder.is_dir():
        raise DataError(f"{folder}: no such folder. Give a folder of videos, or a built data set.")
<<<<<<< HEAD
    work, event_log = _work(arguments, folder, options)
=======
    journal_file = store or _journal_beside(folder)
    work: Work
    if as_model:
        work, journal = _model_work(
            folder, journal_file, join, options, rater_name(str(rater)), str(setting), Path(str(out))
        )
    else:
        exams = find_exams(folder, options.cache_dir, rubric)
        journal = Journal.begin(journal_file, exams.rubric, synthetic=exams.synthetic)
        _join(journal, join)
        work = Adjudication(journal, exams, raters) if adjudicate else Rating(journal, rater_name(str(rater)), exams)
>>>>>>> d82fd9e (Commands by audience: siming data, run, study and board beside score, compare, report and view)
    try:
        print(f"{_progress(work)}. Every event is kept in {event_log.path}: back it up, keep it private.")
        say = "Open this address in a browser on this machine; end with Ctrl+C:\n{}"
        serve(
            lambda key: application(work, key=key, cache=options.cache_dir),
            name="siming_rate",
            port=port,
            browser=not no_browser,
            say=lambda address: print(say.format(address), flush=True),
        )
        print(f"\n{_progress(work)}. All of it is in {event_log.path}.")
        if said := work.end():
            print(said)
    finally:
        event_log.close()
    return 0


def _refuse_conflicts(
    adjudicate: bool,
    rater: str | None,
    raters: tuple[str, str] | None,
    as_model: bool,
    setting: str | None,
    out: Path | None,
    rubric: Path | None,
) -> None:
    """Refuse flags that do not go together, before anything is read."""
    from siming_tasks.common.errors import OptionsError
    from siming_tasks.tasks import BENCHMARK_TASKS

    if adjudicate and as_model:
        raise OptionsError("--adjudicate and --as-model are two works; give one.")
    if adjudicate and rater:
        raise OptionsError("--adjudicate is the work of the rater `consensus`; leave out --rater.")
    if not adjudicate and not rater:
        raise OptionsError("--rater NAME: say who rates.")
    if raters and not adjudicate:
        raise OptionsError("--raters A B goes with --adjudicate.")
    if as_model and (setting not in BENCHMARK_TASKS or not out):
        raise OptionsError(f"--as-model needs --setting ({', '.join(BENCHMARK_TASKS)}) and --out FILE.")
    if not as_model and (setting or out):
        raise OptionsError("--setting and --out go with --as-model.")
    if as_model and rubric:
        raise OptionsError("--as-model asks by the data set's rubric; leave out --rubric.")


<<<<<<< HEAD
def _work(arguments: argparse.Namespace, folder: Path, options: Options) -> tuple[Work, EventLog]:
    """What there is to do, and the event log it goes to."""
    from siming_tasks.tools.station.adjudicate import Adjudication
    from siming_tasks.tools.station.answer_as_model import AsModel
    from siming_tasks.tools.station.event_log import EventLog
    from siming_tasks.tools.station.rater import rater_name
    from siming_tasks.tools.station.rating import Rating
    from siming_tasks.tools.station.station_exams import find_exams

    store = arguments.store or _beside(folder)
    if arguments.as_model:
        from siming_tasks.data import open_dataset, verify_media
        from siming_tasks.tasks import TASKS

        dataset = open_dataset(folder)
        verify_media(dataset, options.cache_dir)
        event_log = EventLog.begin(store, dataset.rubric, synthetic=dataset.synthetic)
        _join(event_log, arguments.join)
        setting, rater = TASKS[arguments.setting], rater_name(arguments.rater)
        return AsModel(event_log, rater, dataset, setting, options, arguments.out), event_log
    exams = find_exams(folder, options.cache_dir, arguments.rubric)
    event_log = EventLog.begin(store, exams.rubric, synthetic=exams.synthetic)
    _join(event_log, arguments.join)
    if arguments.adjudicate:
        return Adjudication(event_log, exams, arguments.raters), event_log
    return Rating(event_log, rater_name(arguments.rater), exams), event_log
=======
def _model_work(
    folder: Path, store: Path, join: Sequence[Path], options: Options, rater: str, setting: str, out: Path
) -> tuple[Work, Journal]:
    """The requests of one setting as work for a rater, and the journal that keeps the answers."""
    from siming_tasks.data import open_dataset, verify_media
    from siming_tasks.tasks import TASKS
    from siming_tasks.tools.station.answer_as_model import AsModel
    from siming_tasks.tools.station.event_log import Journal

    dataset = open_dataset(folder)
    verify_media(dataset, options.cache_dir)
    journal = Journal.begin(store, dataset.rubric, synthetic=dataset.synthetic)
    _join(journal, join)
    return AsModel(journal, rater, dataset, TASKS[setting], options, out), journal
>>>>>>> d82fd9e (Commands by audience: siming data, run, study and board beside score, compare, report and view)


def _join(event_log: EventLog, others: Sequence[Path]) -> None:
    """Take over the events of event logs that were written on other machines."""
    from siming_tasks.tools.station.event_log import EventLog

    for path in others:
        other = EventLog.read(path)
        print(f"{path}: {event_log.join(other)} new events taken over.")
        other.close()


def _progress(work: Work) -> str:
    done = work.open_steps().count(0)
    return f"{done} of {len(work.items)} {work.unit} finished by {work.rater}{work.remark()}"


<<<<<<< HEAD
def _beside(folder: Path) -> Path:
    """Where the event log lies: beside the folder, as everything that holds original names."""
=======
def _journal_beside(folder: Path) -> Path:
    """The default path of the journal: beside the folder, like everything that holds original names."""
>>>>>>> d82fd9e (Commands by audience: siming data, run, study and board beside score, compare, report and view)
    whole = folder.resolve()
    return whole.with_name(f"{whole.name}.ratings.sqlite")

"""``siming rate``: the rating station, a local page on which one physician marks spans and scores exams."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from siming_tasks.cli.arguments import Checked
from siming_tasks.cli.flags import add_options, options_from
from siming_tasks.options import Whole

if TYPE_CHECKING:
    from siming_tasks.options import Options
    from siming_tasks.tools.station.event_log import EventLog
    from siming_tasks.tools.station.worklist import Work

__all__ = ["add"]


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
    from siming_tasks.common.errors import DataError
    from siming_tasks.tools.local_server.serve import serve
    from siming_tasks.tools.station.app import application

    options = options_from(arguments)
    _fitting(arguments)
    folder = arguments.dir.expanduser()
    if not folder.is_dir():
        raise DataError(f"{folder}: no such folder. Give a folder of videos, or a built data set.")
    work, event_log = _work(arguments, folder, options)
    try:
        print(f"{_progress(work)}. Every event is kept in {event_log.path}: back it up, keep it private.")
        say = "Open this address in a browser on this machine; end with Ctrl+C:\n{}"
        serve(
            lambda key: application(work, key=key, cache=options.cache_dir),
            name="siming_rate",
            port=arguments.port,
            browser=not arguments.no_browser,
            say=lambda address: print(say.format(address), flush=True),
        )
        print(f"\n{_progress(work)}. All of it is in {event_log.path}.")
        if said := work.end():
            print(said)
    finally:
        event_log.close()
    return 0


def _fitting(arguments: argparse.Namespace) -> None:
    """Refuse flags that do not go together, before anything is read."""
    from siming_tasks.common.errors import OptionsError
    from siming_tasks.tasks import BENCHMARK_TASKS

    if arguments.adjudicate and arguments.as_model:
        raise OptionsError("--adjudicate and --as-model are two works; give one.")
    if arguments.adjudicate and arguments.rater:
        raise OptionsError("--adjudicate is the work of the rater `consensus`; leave out --rater.")
    if not arguments.adjudicate and not arguments.rater:
        raise OptionsError("--rater NAME: say who rates.")
    if arguments.raters and not arguments.adjudicate:
        raise OptionsError("--raters A B goes with --adjudicate.")
    if arguments.as_model and (arguments.setting not in BENCHMARK_TASKS or not arguments.out):
        raise OptionsError(f"--as-model needs --setting ({', '.join(BENCHMARK_TASKS)}) and --out FILE.")
    if not arguments.as_model and (arguments.setting or arguments.out):
        raise OptionsError("--setting and --out go with --as-model.")
    if arguments.as_model and arguments.rubric:
        raise OptionsError("--as-model asks by the data set's rubric; leave out --rubric.")


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


def _beside(folder: Path) -> Path:
    """Where the event log lies: beside the folder, as everything that holds original names."""
    whole = folder.resolve()
    return whole.with_name(f"{whole.name}.ratings.sqlite")

"""``siming data rate``: the rating station, a local page on which one physician marks spans and scores exams."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from siming_tasks.cli.parameters import Checked, command, option_flags
from siming_tasks.options import Options, Whole

if TYPE_CHECKING:
    from siming_tasks.tools.station.event_log import EventLog
    from siming_tasks.tools.station.worklist import Work

__all__ = ["rate"]


@command()
@click.argument("dir", type=Path, metavar="DIR", help="folder of videos, or a built data set")
@click.option("--rater", metavar="NAME", help="name of the rater")
@click.option("--rubric", type=Path, help="rubric.yaml, for plain videos (default: the embedded one)")
@click.option("--store", type=Path, metavar="FILE", help="the event log (default: DIR.ratings.sqlite)")
@click.option("--port", type=Checked(Whole(0)), default=0, metavar="N", help="port of the page (default: a free one)")
@click.option("--no-browser", is_flag=True, help="print the address only")
@click.option("--adjudicate", is_flag=True, help="decide the steps on which two raters differ")
@click.option("--raters", nargs=2, metavar="A B", help="with --adjudicate: the two raters, if more have rated")
@click.option("--join", type=Path, multiple=True, metavar="FILE", help="first take over another event log's events")
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
    from siming_tasks.common.errors import DataError
    from siming_tasks.tools.local_server.local_server import serve
    from siming_tasks.tools.station.adjudicate import Adjudication
    from siming_tasks.tools.station.app import application
    from siming_tasks.tools.station.event_log import EventLog
    from siming_tasks.tools.station.rater import rater_name
    from siming_tasks.tools.station.rating import Rating
    from siming_tasks.tools.station.station_exams import find_exams

    _refuse_conflicts(adjudicate, rater, raters, as_model, setting, out, rubric)
    folder = dir.expanduser()
    if not folder.is_dir():
        raise DataError(f"{folder}: no such folder. Give a folder of videos, or a built data set.")
    log_file = store or _log_beside(folder)
    work: Work
    if as_model:
        work, event_log = _model_work(
            folder, log_file, join, options, rater_name(str(rater)), str(setting), Path(str(out))
        )
    else:
        exams = find_exams(folder, options.cache_dir, rubric)
        event_log = EventLog.begin(log_file, exams.rubric, synthetic=exams.synthetic)
        _join(event_log, join)
        work = (
            Adjudication(event_log, exams, raters) if adjudicate else Rating(event_log, rater_name(str(rater)), exams)
        )
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
        if message := work.end():
            print(message)
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


def _model_work(
    folder: Path, store: Path, join: Sequence[Path], options: Options, rater: str, setting: str, out: Path
) -> tuple[Work, EventLog]:
    """The requests of one setting as work for a rater, and the event log that keeps the answers."""
    from siming_tasks.data import open_dataset, verify_media
    from siming_tasks.tasks import TASKS
    from siming_tasks.tools.station.answer_as_model import AsModel
    from siming_tasks.tools.station.event_log import EventLog

    dataset = open_dataset(folder)
    verify_media(dataset, options.cache_dir)
    event_log = EventLog.begin(store, dataset.rubric, synthetic=dataset.synthetic)
    _join(event_log, join)
    return AsModel(event_log, rater, dataset, TASKS[setting], options, out), event_log


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


def _log_beside(folder: Path) -> Path:
    """The default path of the event log: beside the folder, like everything that holds original names."""
    whole = folder.resolve()
    return whole.with_name(f"{whole.name}.ratings.sqlite")

"""``siming data rate``: the rating station, a local page on which one physician marks spans and scores exams."""

from __future__ import annotations

import shlex
import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import click

from siming_tasks.cli import parameters as cli
from siming_tasks.common.errors import DataError, OptionsError
from siming_tasks.options import Options, Whole

if TYPE_CHECKING:
    from siming_tasks.tools.station.worklist import Work


@cli.command()
def rate(
    dir: Path = cli.word("DIR", "folder of videos, or a built data set", cli.VIDEOS),
    rater: str | None = cli.option("NAME", "name of the rater"),
    rubric: Path | None = cli.option("FILE", "rubric.yaml, for plain videos (default: the embedded one)", cli.RUBRIC),
    store: Path | None = cli.option("FILE", "the event log (default: DIR.ratings.sqlite)", cli.NEW_FILE),
    port: int = cli.option("N", "port of the page (default: a free one)", Whole(0), 0),
    no_browser: bool = cli.switch("print the address only"),
    language: Literal["en", "zh"] | None = cli.option("", "of the page: en or zh (default: as last chosen there)"),
    desktop: bool = cli.switch("write a launcher for the file manager beside DIR, and do no more"),
    adjudicate: bool = cli.switch("decide the steps on which two raters differ"),
    raters: tuple[str, str] | None = cli.option(
        "A B", "with --adjudicate: the two raters, if more have rated", nargs=2
    ),
    join: tuple[Path, ...] = cli.several("FILE", "first take over another event log's events", Path),
    as_model: bool = cli.switch("answer a setting from the frames that a model gets"),
    setting: str | None = cli.option(
        "NAME", "with --as-model: full_score, full_error, clip_score or clip_error", cli.SETTING
    ),
    out: Path | None = cli.option("FILE", "with --as-model: the prediction file to write", cli.NEW_FILE),
    options: Options = cli.option_flags("frames", "clip_frames", "frame_size", "clip_density", "cache", "cache_gb"),
) -> None:
    """Serve the page until the process is interrupted, and say how much is rated."""
    from siming_tasks.data import open_dataset, verify_media
    from siming_tasks.tasks import TASKS
    from siming_tasks.tools.local_server.local_server import serve
    from siming_tasks.tools.station.answer_as_model import AsModel
    from siming_tasks.tools.station.app import application
    from siming_tasks.tools.station.event_log import EventLog
    from siming_tasks.tools.station.station_exams import find_exams
    from siming_tasks.tools.station.words import LANGUAGES, say
    from siming_tasks.tools.station.worklist import Adjudication, Rating, rater_name

    folder = dir.expanduser()
    if not folder.is_dir():
        raise DataError(f"{folder}: no such folder. Give a folder of videos, or a built data set.")
    _refuse_conflicts(adjudicate, rater, raters, as_model, setting, out, rubric)
    # by default beside the folder, like everything that holds original names
    log_file = store or (whole := folder.resolve()).with_name(f"{whole.name}.ratings.sqlite")
    if desktop:
        print(_write_launcher(folder.resolve(), rater or "consensus", language or LANGUAGES[0]))
        return
    work: Work
    if as_model:
        name = rater_name(str(rater))
        dataset = open_dataset(folder)
        verify_media(dataset, options.cache_dir)
        event_log = EventLog.begin(log_file, dataset.rubric, synthetic=dataset.synthetic)
    else:
        exams = find_exams(folder, options.cache_dir, rubric)
        event_log = EventLog.begin(log_file, exams.rubric, synthetic=exams.synthetic)
    for path in join:
        other = EventLog.read(path)
        print(f"{path}: {event_log.join(other)} new events taken over.")
        other.close()
    if as_model:
        work = AsModel(event_log, name, dataset, TASKS[str(setting)], options, Path(str(out)))
    else:
        work = (
            Adjudication(event_log, exams, raters) if adjudicate else Rating(event_log, rater_name(str(rater)), exams)
        )
    work.language, spoken = language, language or LANGUAGES[0]
    try:
        print(_progress(work, spoken), say("say_kept", spoken, file=event_log.path))
        serve(
            lambda key: application(work, key=key, cache=options.cache_dir),
            name="siming_rate",
            port=port,
            usual_port=work.usual_port,
            browser=not no_browser,
            say=lambda address: print(f"{say('say_address', spoken)}\n{address}", flush=True),
        )
        print(f"\n{_progress(work, spoken)}", say("say_end", spoken, file=event_log.path))
        if message := work.end():
            print(message)
    finally:
        event_log.close()


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
    from siming_tasks.tasks import BENCHMARK_TASKS

    settings = ", ".join(BENCHMARK_TASKS)
    for conflict, message in (
        (adjudicate and as_model, "--adjudicate and --as-model are two works; give one."),
        (adjudicate and rater, "--adjudicate is the work of the rater `consensus`; leave out --rater."),
        (not adjudicate and not rater, "--rater NAME: say who rates."),
        (raters and not adjudicate, "--raters A B goes with --adjudicate."),
        (
            as_model and (setting not in BENCHMARK_TASKS or not out),
            f"--as-model needs --setting ({settings}) and --out FILE.",
        ),
        (not as_model and (setting or out), "--setting and --out go with --as-model."),
        (as_model and rubric, "--as-model asks by the data set's rubric; leave out --rubric."),
    ):
        if conflict:
            raise OptionsError(message)


def _progress(work: Work, language: str) -> str:
    from siming_tasks.tools.station.words import say

    facts = {"done": work.open_steps().count(0), "of": len(work.items), "rater": work.rater}
    remark = work.remark(language)
    return say("say_finished", language, unit=say(f"unit_{work.unit}", language).lower(), remark=remark, **facts)


def _write_launcher(exams: Path, rater: str, language: str) -> str:
    """Write a launcher of the command that is running, without --desktop; a sentence about it."""
    from siming_tasks.tools.station.launcher import write_launcher
    from siming_tasks.tools.station.words import say

    siming = shutil.which("siming", path=str(Path(sys.executable).parent)) or shutil.which("siming")
    if siming is None:
        raise OptionsError("--desktop: no program `siming` is installed beside Python, which a launcher could start.")
    typed = [word for word in click.get_current_context().find_root().obj if word != "--desktop"]
    name = f"{exams.name} - {say('rate', language)} ({rater})"
    path = write_launcher(exams.parent, name, [siming, *typed], Path.cwd(), sys.platform)
    return say("say_desktop", language, file=path, command=shlex.join(["siming", *typed]))

"""``siming data template`` and ``siming data build``: from a table of labels to a data set folder."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from siming_tasks.cli import parameters as cli
from siming_tasks.cli.terminal import say, show_markdown, show_problems
from siming_tasks.common.errors import DataError, OptionsError
from siming_tasks.common.printed_value import counted

if TYPE_CHECKING:
    from siming_tasks.tools.builder.build_plan import BuildPlan


@cli.command(
    "data template sheet.xlsx --rubric rubric.yaml --videos videos",
    "siming data build exams --rubric rubric.yaml --labels sheet.xlsx --videos videos",
)
@click.argument("out", metavar="OUT", type=cli.NEW_FILE, help="the new .xlsx file; or .html, a page to print")
@click.option("--rubric", type=Path, help="rubric.yaml (default: the embedded one)")
@click.option("--videos", type=Path, help="folder of the video files, for a workbook")
@click.option("--raters", metavar="NAME,...", default="a,b", help="names of the physicians: Li,Wang")
@click.option("--skill", multiple=True, help="only these skills")
def template(out: Path, rubric: Path | None, videos: Path | None, raters: str, skill: tuple[str, ...]) -> None:
    """Make a workbook in which physicians enter points and spans, or the rubric's sheets to print."""
    from siming_tasks.benchmark.rubrics import default_rubric, load_rubric
    from siming_tasks.common.files import atomic_write
    from siming_tasks.study.report.rubric_sheet import render_rubric_html
    from siming_tasks.tools.builder.template import write_template

    steps = load_rubric(rubric) if rubric else default_rubric()
    if out.suffix.lower() == ".html":
        with atomic_write(out) as stream:
            stream.write(render_rubric_html(steps, skill))
        say(f"{out}: ready to print, one sheet per skill.")
        return
    if out.suffix.lower() != ".xlsx":
        raise OptionsError(
            f"{out}: unknown extension {out.suffix!r}; give .xlsx for a workbook or .html for sheets to print."
        )
    if videos is None:
        raise OptionsError("a workbook needs --videos DIR, the folder of the video files.")
    if raters.strip().isdigit():
        raise OptionsError(f"--raters {raters}: give names, such as a,b.")
    made = write_template(out, steps, videos, raters.replace("，", ",").split(","), skill)
    sheets = ", ".join(made.raters)
    say(f"{out}: {counted(len(made.videos), 'video')}, {counted(len(made.steps), 'step')}, sheets {sheets} and spans.")
    words = ["--rubric", str(rubric or "rubric.yaml"), "--labels", str(out), "--videos", str(videos)]
    say(f"Next: siming data build exams {shlex.join(words)}")


@cli.command("data build exams --rubric rubric.yaml --labels sheet.xlsx --videos videos", "siming data check exams")
@click.argument(
    "out", required=False, metavar="[OUT]", type=cli.NEW_FOLDER, help="the new folder (default: only show the table)"
)
@click.option("--rubric", type=Path, required=True, help="rubric.yaml")
@click.option(
    "--labels", multiple=True, required=True, type=Path, help="tables of labels or times, or event logs of `data rate`"
)
@click.option("--videos", type=Path, required=True, help="folder of the video files")
@click.option("--spans-from", help="event log only: take the spans of this rater")
@click.option("--finished", is_flag=True, help="event log only: use finished exams only")
@click.option("--instrument", multiple=True, help="rater that is an instrument, not a person")
@click.option(
    "--transcripts", multiple=True, type=Path, help="WebVTT or Whisper's JSON, named like its video, or a folder"
)
@click.option("--names", type=Path, help="table of names to replace in transcripts")
@click.option("--consensus", default="agree", help="agree, mean, or the rater whose points are taken")
@click.option(
    "--physician",
    "physicians",
    multiple=True,
    metavar="NAME",
    help="keep this rater as a physician, even as --consensus",
)
@click.option("--different", nargs=2, multiple=True, metavar="A B", help="take these similar names for two")
@click.option("--name", default="", help="name of the data set (default: that of the folder)")
@click.option("--version", default="1", help="version of the data set")
@click.option("--license", default="", help="what others may do with the data set, such as cc-by-nc-4.0")
@click.option("--language", "languages", multiple=True, help="language of the exams, such as zh")
@click.option("--keep-audio", is_flag=True, help="keep the sound; voices identify people")
@click.option("--keep-ids", is_flag=True, help="keep the table's video names as ids")
@click.option("--keep-rater-names", is_flag=True, help="keep the table's names of raters")
@click.option("--consent", multiple=True, metavar="HOST", help="who may receive recordings: api.openai.com, or any")
@click.option("--allow-loss", is_flag=True, help="accept videos that lost more than 5 % of their frames")
@click.option("--simulated-videos", is_flag=True, help="the videos are drawings and may be sent anywhere")
@click.option("--simulated-labels", is_flag=True, help="the labels are simulated")
@click.option("--jobs", type=click.IntRange(1), default=2, help="videos processed at the same time")
def build(
    out: Path | None,
    rubric: Path,
    labels: tuple[Path, ...],
    videos: Path,
    spans_from: str | None,
    finished: bool,
    instrument: tuple[str, ...],
    transcripts: tuple[Path, ...],
    names: Path | None,
    jobs: int,
    **kept: Any,
) -> None:
    """Make a data set folder from a rubric, a table of labels and videos."""
    from siming_tasks.benchmark.exams import Rater
    from siming_tasks.tools.builder import BuildOptions, UseRatings, build_dataset
    from siming_tasks.tools.builder.build_plan import Inputs, make_plan

    options = BuildOptions(**kept, rater_facts={each: Rater("instrument") for each in instrument})
    inputs = Inputs(rubric, labels, videos, UseRatings(spans_from, finished), transcripts, names)
    if out is None:
        plan, problems = make_plan(inputs, options)
        _show(plan)
        show_problems(problem for problem in problems if problem.severity == "warning")
        if errors := [problem for problem in problems if problem.severity == "error"]:
            raise DataError.of(errors, shown=20)
        return
    try:
        built = build_dataset(out, **vars(inputs), options=options, jobs=jobs, progress=True, show=_show)
    except DataError as error:
        show_problems(problem for problem in error.problems if problem.severity == "warning")
        raise
    show_problems(built.warnings)
    dataset = built.dataset
    applicable = sum(len(video.applicable) for video in dataset.videos)
    steps = counted(applicable, "step" if dataset.withheld else "judged step")
    say(f"{dataset.root}: {counted(len(dataset.videos), 'video')}, {steps}, digest {dataset.digest[:12]}")
    say(f"{built.names_file}: original names and ids. Keep it private.")
    say(f"Next: {shlex.join(['siming', 'data', 'check', str(dataset.root)])}")


def _show(plan: BuildPlan) -> None:
    """Print the table of labels in short."""
    from siming_tasks.study.report.table import Table
    from siming_tasks.tools.builder.build_folder import overview

    heads, rows, notes = overview(plan)
    show_markdown(Table(heads, rows))
    say("\n".join(notes))

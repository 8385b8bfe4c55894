"""``siming data template`` and ``siming data build``: from a table of labels to a data set folder."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from siming_tasks.cli import parameters as cli
from siming_tasks.cli.terminal import say, say_next, show_markdown, show_problems
from siming_tasks.common.errors import DataError, OptionsError

if TYPE_CHECKING:
    from siming_tasks.tools.builder.build_plan import BuildPlan


@cli.command()
def template(
    out: Path = cli.word("OUT", "the new .xlsx file", cli.NEW_FILE),
    rubric: Path = cli.option("FILE", "rubric.yaml", Path, required=True),
    videos: Path = cli.option("DIR", "folder of the video files", Path, required=True),
    raters: str = cli.option("N|NAMES", "how many physicians (default 2), or names: Li,Wang", default="2"),
    skill: tuple[str, ...] = cli.several("ID", "only this skill; may be repeated"),
) -> None:
    """Write the workbook and name the next command."""
    from siming_tasks.rubrics import load_rubric
    from siming_tasks.tools.builder.template import MAX_RATERS, write_template

    names = [name.strip() for name in raters.replace("，", ",").split(",")]
    if len(names) == 1 and names[0].isascii() and names[0].lstrip("-").isdigit():
        count = int(names[0]) if len(names[0]) < 4 else 0
        if not 1 <= count <= MAX_RATERS:
            raise OptionsError(f"--raters {raters!r} must be 1 to {MAX_RATERS}, or names.")
        names = [chr(ord("a") + index) for index in range(count)]
    made = write_template(out, load_rubric(rubric), videos, names, skill)
    sheets = ", ".join(made.raters)
    say(f"{out}: {len(made.videos)} videos, {len(made.steps)} steps, sheets {sheets} and spans.")
    step = ["siming", "data", "build", "exams", "--rubric", str(rubric), "--labels", str(out), "--videos", str(videos)]
    say_next(shlex.join(step))


@cli.command()
def build(
    out: Path | None = cli.word("[OUT]", "the new folder; without it the table is only shown", cli.NEW_FOLDER),
    rubric: Path = cli.option("FILE", "rubric.yaml", Path, required=True),
    labels: tuple[Path, ...] = cli.several(
        "FILE",
        "table of labels (.csv, .xlsx) or of times, or event log of `siming data rate`; may be repeated",
        Path,
    ),
    videos: Path | None = cli.option("DIR", "folder of the video files", Path),
    spans_from: str | None = cli.option("NAME", "with an event log: the rater whose marks are the spans"),
    finished: bool = cli.switch("with an event log: leave out exams that are not finished"),
    instrument: tuple[str, ...] = cli.several(
        "NAME", "a rater that is an instrument, without a voice in the consensus; may be repeated"
    ),
    transcripts: tuple[Path, ...] = cli.several(
        "FILE",
        "what is said, as WebVTT or Whisper's JSON, named like its video, or a folder of them; may be repeated",
        Path,
    ),
    names: Path | None = cli.option("FILE", "table of names to replace in transcripts: name, replacement", Path),
    consensus: str = cli.option("RULE", "agree (default), mean, or a rater's name", default="agree"),
    name: str = cli.option("", "name of the data set (default: name of the folder)", default=""),
    version: str = cli.option("", "version of the data set (default: 1)", default="1"),
    license: str = cli.option("", "license as an SPDX name, e.g. cc-by-nc-4.0", default=""),
    language: tuple[str, ...] = cli.several("CODE", "language of the exams, e.g. zh; may be repeated"),
    keep_audio: bool = cli.switch("keep the sound (voices identify people)"),
    keep_ids: bool = cli.switch("keep the table's video names as ids"),
    keep_rater_names: bool = cli.switch("keep the table's names of raters"),
    synthetic: bool = cli.switch("the videos or labels are simulated"),
    jobs: int = cli.option("N", "videos worked on at once (default 2)", click.IntRange(1), 2),
) -> None:
    """Show the table of labels, build the folder and name the next command."""
    from siming_tasks.common.schema import Rater
    from siming_tasks.tools.builder import BuildOptions, UseRatings, build_dataset
    from siming_tasks.tools.builder.build_plan import Inputs, make_plan

    needed: dict[str, Any] = {"--labels": labels, "--videos": videos}
    if missing := [flag for flag, value in needed.items() if not value]:
        raise OptionsError(f"{', '.join(missing)} must be given (see siming data build --help).")
    assert videos is not None
    options = BuildOptions(
        name=name,
        version=version,
        license=license,
        languages=language,
        consensus=consensus,
        keep_audio=keep_audio,
        keep_ids=keep_ids,
        keep_rater_names=keep_rater_names,
        synthetic=synthetic,
        rater_facts={each: Rater("instrument") for each in instrument},
    )
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
    steps = sum(len(video.applicable) for video in dataset.videos)
    say(f"{dataset.root}: {len(dataset.videos)} videos, {steps} judged steps, digest {dataset.digest[:12]}")
    say(f"{built.names_file}: original names and ids. Keep it private.")
    say_next(shlex.join(["siming", "data", "check", str(dataset.root)]))


def _show(plan: BuildPlan) -> None:
    """Print the table of labels in short."""
    from siming_tasks.report.table import Table
    from siming_tasks.tools.builder.build_folder import overview

    heads, rows, notes = overview(plan)
    show_markdown(Table.of(heads, rows))
    say("\n".join(notes))

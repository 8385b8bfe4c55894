"""``siming data template`` and ``siming data build``: from a physicians' workbook to a data set folder."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from siming_tasks.cli import parameters as cli
from siming_tasks.cli.terminal import say, say_next, show_markdown, show_problems
from siming_tasks.common.errors import DataError, OptionsError


@cli.command()
def template(
    out: Path = cli.word("OUT", "the new .xlsx file", cli.NEW_FILE),
    rubric: Path = cli.option("FILE", "rubric.yaml", cli.RUBRIC, required=True),
    videos: Path = cli.option("DIR", "folder of the video files", cli.VIDEOS, required=True),
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
    sheets = ", ".join(made.titles)
    say(f"{out}: {len(made.videos)} videos, {len(made.steps)} steps, sheets {sheets} and spans.")
    step = ["siming", "data", "build", "exams", "--rubric", str(rubric), "--labels", str(out), "--videos", str(videos)]
    say_next(shlex.join(step))


@cli.command()
def build(
    out: Path | None = cli.word("[OUT]", "the new folder", cli.NEW_FOLDER),
    rubric: Path = cli.option("FILE", "rubric.yaml", cli.RUBRIC, required=True),
    labels: tuple[str, ...] = cli.several(
        "[NAME=]FILE",
        "score sheet (.csv, .xlsx, .jsonl) or event log of `siming data rate`; may be repeated, one per physician",
    ),
    videos: Path | None = cli.option("DIR", "folder of the video files", cli.VIDEOS),
    spans: tuple[Path, ...] = cli.several(
        "FILE",
        "for wide score sheets: a sheet with video_id, step_id, start, end, or a file of ELAN (.eaf), BORIS "
        "(aggregated events) or Label Studio (.json), or their folder; may be repeated",
        Path,
    ),
    spans_fps: float | None = cli.option("X", "frames per second, where --spans counts frames", cli.Number(1, 1000)),
    list_only: bool = cli.switch("only list what labels --spans has, and build nothing", "--list"),
    draft: Path | None = cli.option("FILE", "with --list: write a mapping file to begin with", cli.NEW_FILE),
    spans_from: str | None = cli.option("NAME", "with an event log: the rater whose marks are the spans"),
    finished: bool = cli.switch("with an event log: leave out exams that are not finished"),
    transcripts: tuple[Path, ...] = cli.several(
        "FILE",
        "what is said, as WebVTT or Whisper's JSON, named like its video, or a folder of them; may be repeated",
        Path,
    ),
    adjudicated: Path | None = cli.option("", "the list of undecided rows, with the consensus filled in", Path),
    columns: Path | None = cli.option("", "YAML file that says what the sheet's columns and raters are", Path),
    encoding: str | None = cli.option("", "encoding of CSV files, if neither UTF-8 nor GB 18030"),
    consensus: str = cli.option("RULE", "agree (default), mean, or a rater's name", default="agree"),
    name: str = cli.option("", "name of the data set (default: name of the folder)", default=""),
    version: str = cli.option("", "version of the data set (default: 1)", default="1"),
    license: str = cli.option("", "license as an SPDX name, e.g. cc-by-nc-4.0", default=""),
    language: tuple[str, ...] = cli.several("CODE", "language of the exams, e.g. zh; may be repeated"),
    keep_audio: bool = cli.switch("keep the sound (voices identify people)"),
    keep_ids: bool = cli.switch("keep the sheet's video names as ids"),
    keep_rater_names: bool = cli.switch("keep the sheet's names of raters"),
    synthetic: bool = cli.switch("the videos or labels are simulated"),
    jobs: int = cli.option("N", "videos worked on at once (default 2)", click.IntRange(1), 2),
) -> None:
    """Build the folder and name the next command."""
    from siming_tasks.tools.builder import BuildOptions, UseRatings, build_dataset

    listing = list_only or draft
    needed: dict[str, Any] = {"--spans": spans} if listing else {"OUT": out, "--labels": labels, "--videos": videos}
    if missing := [flag for flag, value in needed.items() if not value]:
        raise OptionsError(f"{', '.join(missing)} must be given (see siming data build --help).")
    if listing or out is None or videos is None:
        _list_spans(rubric, spans, videos, columns, spans_fps, encoding, draft)
        return
    try:
        built = build_dataset(
            out,
            rubric=rubric,
            labels=labels,
            videos=videos,
            spans=spans,
            spans_fps=spans_fps,
            adjudicated=adjudicated,
            mapping=columns,
            encoding=encoding,
            ratings=UseRatings(spans_from, finished),
            transcripts=transcripts,
            options=BuildOptions(
                name=name,
                version=version,
                license=license,
                languages=language,
                consensus=consensus,
                keep_audio=keep_audio,
                keep_ids=keep_ids,
                keep_rater_names=keep_rater_names,
                synthetic=synthetic,
            ),
            jobs=jobs,
            progress=True,
        )
    except DataError as error:
        show_problems(problem for problem in error.problems if problem.severity == "warning")
        raise
    show_problems(built.warnings)
    dataset = built.dataset
    steps = sum(len(video.applicable) for video in dataset.videos)
    say(f"{dataset.root}: {len(dataset.videos)} videos, {steps} judged steps, digest {dataset.digest[:12]}")
    say(f"{built.names_file}: original names and ids. Keep it private.")
    say_next(shlex.join(["siming", "data", "check", str(dataset.root)]))


def _list_spans(
    rubric_file: Path,
    spans: Sequence[Path],
    videos: Path | None,
    columns: Path | None,
    spans_fps: float | None,
    encoding: str | None,
    draft: Path | None,
) -> None:
    """Print the labels, annotators and videos of ``--spans``; write the mapping file of ``--draft``."""
    from siming_tasks.common.sanitize import one_line
    from siming_tasks.report.table import Name, Table
    from siming_tasks.rubrics import load_rubric
    from siming_tasks.tools.builder.annotations import survey, write_draft

    rubric = load_rubric(rubric_file)
    span_survey = survey(spans, rubric, videos, columns, spans_fps, encoding)
    show_problems(span_survey.problems)
    rows = []
    for label in span_survey.labels:
        step = label.step or ("left out" if label.left_out else f"? {label.like}".rstrip())
        rows.append([Name(one_line(label.name, 50)), f"{label.count:,}", f"{label.spans:,}", Name(step)])
    show_markdown(Table.of(["label", "count", "spans", "step"], rows, left=(0, 3)))
    for name, count in span_survey.annotators.items():
        say(f"annotator {one_line(name)}: {count:,}")
    for name, count in span_survey.videos.items():
        say(f"video {one_line(name)}: {count:,}{'; no such file' if name in span_survey.missing else ''}")
    unknown = sum(not label.step and not label.left_out for label in span_survey.labels)
    print(f"{len(span_survey.labels)} labels, {unknown} of them no step of the rubric.")
    if draft:
        write_draft(draft, span_survey)
        say(f"{draft}: complete it and give it as --columns.")

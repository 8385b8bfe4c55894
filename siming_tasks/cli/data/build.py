"""``siming data build``: a dataset folder of a rubric, a score sheet and videos."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from siming_tasks.cli.parameters import Checked, command
from siming_tasks.cli.terminal import say, show_markdown, show_problems
from siming_tasks.options import Decimal, Whole

__all__ = ["build"]


@command()
@click.argument("out", type=Path, required=False, metavar="[OUT]", help="the new folder")
@click.option("--rubric", type=Path, required=True, help="rubric.yaml")
@click.option(
    "--labels",
    multiple=True,
    metavar="[NAME=]FILE",
    help="score sheet (.csv, .xlsx, .jsonl) or event log of `siming data rate`; may be repeated, one per physician",
)
@click.option("--videos", type=Path, help="folder of the video files")
@click.option(
    "--spans",
    type=Path,
    multiple=True,
    metavar="FILE",
    help="for wide score sheets: a sheet with video_id, step_id, start, end, or a file of ELAN (.eaf), BORIS "
    "(aggregated events) or Label Studio (.json), or their folder; may be repeated",
)
@click.option(
    "--spans-fps",
    type=Checked(Decimal(least=1, most=1000)),
    metavar="X",
    help="frames per second, where --spans counts frames",
)
@click.option("--list", "list_only", is_flag=True, help="only list what labels --spans has, and build nothing")
@click.option("--draft", type=Path, metavar="FILE", help="with --list: write a mapping file to begin with")
@click.option("--spans-from", metavar="NAME", help="with an event log: the rater whose marks are the spans")
@click.option("--finished", is_flag=True, help="with an event log: leave out exams that are not finished")
@click.option("--adjudicated", type=Path, help="the list of undecided rows, with the consensus filled in")
@click.option("--columns", type=Path, help="YAML file that says what the sheet's columns and raters are")
@click.option("--encoding", help="encoding of CSV files, if neither UTF-8 nor GB 18030")
@click.option("--consensus", default="agree", metavar="RULE", help="agree (default), mean, or a rater's name")
@click.option("--name", default="", help="name of the data set (default: name of the folder)")
@click.option("--version", default="1", help="version of the data set (default: 1)")
@click.option("--license", default="", help="license as an SPDX name, e.g. cc-by-nc-4.0")
@click.option("--language", multiple=True, metavar="CODE", help="language of the exams, e.g. zh; may be repeated")
@click.option("--keep-audio", is_flag=True, help="keep the sound (voices identify people)")
@click.option("--keep-ids", is_flag=True, help="keep the sheet's video names as ids")
@click.option("--keep-rater-names", is_flag=True, help="keep the sheet's names of raters")
@click.option("--synthetic", is_flag=True, help="the videos or labels are simulated")
@click.option(
    "--jobs",
    type=Checked(Whole()),
    default=2,
    metavar="N",
    help="videos worked on at once (default 2)",
)
def build(
    out: Path | None,
    rubric: Path,
    labels: tuple[str, ...],
    videos: Path | None,
    spans: tuple[Path, ...],
    spans_fps: float | None,
    list_only: bool,
    draft: Path | None,
    spans_from: str | None,
    finished: bool,
    adjudicated: Path | None,
    columns: Path | None,
    encoding: str | None,
    consensus: str,
    name: str,
    version: str,
    license: str,
    language: tuple[str, ...],
    keep_audio: bool,
    keep_ids: bool,
    keep_rater_names: bool,
    synthetic: bool,
    jobs: int,
) -> int:
    """Build the folder and name the next command; 0."""
    from siming_tasks.common.errors import DataError, OptionsError
    from siming_tasks.tools.builder import BuildOptions, UseRatings, build_dataset

    listing = list_only or draft
    needed: dict[str, Any] = {"--spans": spans} if listing else {"OUT": out, "--labels": labels}
    needed |= {} if listing else {"--videos": videos}
    if missing := [name for name, value in needed.items() if not value]:
        raise OptionsError(f"{', '.join(missing)} must be given (see siming data build --help).")
    if listing or out is None or videos is None:
        return _list_spans(rubric, spans, videos, columns, spans_fps, encoding, draft)

    options = BuildOptions(
        name=name,
        version=version,
        license=license,
        languages=tuple(language),
        consensus=consensus,
        keep_audio=keep_audio,
        keep_ids=keep_ids,
        keep_rater_names=keep_rater_names,
        synthetic=synthetic,
    )
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
            options=options,
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
    say(f"Next: siming data check {dataset.root}")
    return 0


def _list_spans(
    rubric_file: Path,
    spans: Sequence[Path],
    videos: Path | None,
    columns: Path | None,
    spans_fps: float | None,
    encoding: str | None,
    draft: Path | None,
) -> int:
    """Print the labels, annotators and videos of ``--spans``; write the mapping file of ``--draft``; 0."""
    from siming_tasks.common.sanitize import one_line
    from siming_tasks.report.table import Name, Table
    from siming_tasks.rubrics import load_rubric
    from siming_tasks.tools.builder.annotations.draft_mapping import survey, write_draft

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
    return 0

"""``siming build``: a dataset folder of a rubric, a score sheet and videos."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from siming_tasks.cli.arguments import Checked
from siming_tasks.cli.findings import show
from siming_tasks.cli.spans import list_spans
from siming_tasks.cli.terminal import say
from siming_tasks.options import Decimal, Whole

__all__ = ["add"]


def add(commands: Any) -> None:
    """Add this module's subcommand."""
    build = commands.add_parser("build", help="make a dataset folder of a rubric, a score sheet and videos")
    build.add_argument("out", type=Path, nargs="?", metavar="OUT", help="the new folder")
    build.add_argument("--rubric", type=Path, required=True, help="rubric.yaml")
    build.add_argument(
        "--labels",
        action="append",
        metavar="[NAME=]FILE",
        help="score sheet (.csv, .xlsx, .jsonl) or event log of `siming rate`; may be repeated, one for each physician",
    )
    build.add_argument("--videos", type=Path, help="folder of the video files")
    build.add_argument(
        "--spans",
        type=Path,
        action="append",
        metavar="FILE",
        help="for wide score sheets: a sheet with video_id, step_id, start, end, or a file of ELAN (.eaf), BORIS "
        "(aggregated events) or Label Studio (.json), or their folder; may be repeated",
    )
    build.add_argument(
        "--spans-fps",
        action=Checked,
        kind=Decimal(least=1, most=1000),
        help="frames per second, where --spans counts frames",
    )
    build.add_argument("--list", action="store_true", help="only list what labels --spans has, and build nothing")
    build.add_argument("--draft", type=Path, metavar="FILE", help="with --list: write a mapping file to begin with")
    build.add_argument("--spans-from", metavar="NAME", help="of an event log: whose marks are the spans")
    build.add_argument("--finished", action="store_true", help="of an event log: leave out exams that are not finished")
    build.add_argument("--adjudicated", type=Path, help="the list of undecided rows, with the consensus filled in")
    build.add_argument("--columns", type=Path, help="YAML file that says what the sheet's columns and raters are")
    build.add_argument("--mapping", dest="columns", type=Path, help=argparse.SUPPRESS)  # its name in earlier versions
    build.add_argument("--encoding", help="of CSV files, if neither UTF-8 nor GB 18030")
    build.add_argument("--consensus", default="agree", metavar="RULE", help="agree (default), mean, or a rater's name")
    build.add_argument("--name", default="", help="of the dataset (default: name of the folder)")
    build.add_argument("--version", default="1", help="of the dataset")
    build.add_argument("--license", default="", help="SPDX name, e.g. cc-by-nc-4.0")
    build.add_argument("--language", action="append", default=[], metavar="CODE", help="e.g. zh; may be repeated")
    build.add_argument("--keep-audio", action="store_true", help="keep the sound (voices identify people)")
    build.add_argument("--keep-ids", action="store_true", help="keep the sheet's video names as ids")
    build.add_argument("--keep-rater-names", action="store_true", help="keep the sheet's names of raters")
    build.add_argument("--synthetic", action="store_true", help="the videos or labels are simulated")
    build.add_argument("--jobs", action=Checked, kind=Whole(), default=2, help="videos worked on at once (default 2)")
    build.set_defaults(run=_build)


def _build(arguments: argparse.Namespace) -> int:
    from siming_tasks.common.errors import DataError, OptionsError
    from siming_tasks.tools.builder import BuildOptions, UseRatings, build_dataset

    listing = arguments.list or arguments.draft
    needed = {"--spans": arguments.spans} if listing else {"OUT": arguments.out, "--labels": arguments.labels}
    needed |= {} if listing else {"--videos": arguments.videos}
    if missing := [name for name, value in needed.items() if not value]:
        raise OptionsError(f"{', '.join(missing)} must be given (see siming build --help).")
    if listing:
        return list_spans(arguments)

    options = BuildOptions(
        name=arguments.name,
        version=arguments.version,
        license=arguments.license,
        languages=tuple(arguments.language),
        consensus=arguments.consensus,
        keep_audio=arguments.keep_audio,
        keep_ids=arguments.keep_ids,
        keep_rater_names=arguments.keep_rater_names,
        synthetic=arguments.synthetic,
    )
    try:
        built = build_dataset(
            arguments.out,
            rubric=arguments.rubric,
            labels=arguments.labels,
            videos=arguments.videos,
            spans=arguments.spans,
            spans_fps=arguments.spans_fps,
            adjudicated=arguments.adjudicated,
            mapping=arguments.columns,
            encoding=arguments.encoding,
            ratings=UseRatings(arguments.spans_from, arguments.finished),
            options=options,
            jobs=arguments.jobs,
            progress=True,
        )
    except DataError as error:
        show(problem for problem in error.problems if problem.severity == "warning")
        raise
    show(built.warnings)
    dataset = built.dataset
    steps = sum(len(video.applicable) for video in dataset.videos)
    say(f"{dataset.root}: {len(dataset.videos)} videos, {steps} judged steps, digest {dataset.digest[:12]}")
    say(f"{built.names_file}: original names and ids. Keep it private.")
    say(f"Next: siming check {dataset.root}")
    return 0

"""``siming data fetch``: a public data set of real procedures as a data set folder."""

from __future__ import annotations

import shlex
from pathlib import Path

import click

from siming_tasks.cli import parameters as cli
from siming_tasks.cli.terminal import say, show_markdown, show_problems
from siming_tasks.common.errors import OptionsError
from siming_tasks.options import Options


@cli.command("data fetch egooops exams --videos recordings", "siming data check exams")
@click.argument("name", required=False, metavar="[NAME]", help="the set")
@click.argument("out", required=False, metavar="[OUT]", type=cli.NEW_FOLDER, help="the new folder")
@cli.option_flags("cache")
@click.option("--annotations", type=Path, help="folder with the published annotation files")
@click.option("--videos", type=Path, help="folder with the videos, one file a recording")
@click.option("--keep-audio", is_flag=True, help="keep the sound (voices identify people)")
@click.option("--jobs", type=click.IntRange(1), default=2, help="videos worked on at once")
def fetch(
    name: str | None,
    out: Path | None,
    options: Options,
    annotations: Path | None,
    videos: Path | None,
    keep_audio: bool,
    jobs: int,
) -> None:
    """Make a data set folder of a public set of real procedures (EgoOops, EgoEMS, ...).

    Without NAME it lists the sets. Nothing is redistributed: annotations are downloaded from their published place at
    a pinned commit, or read from --annotations; videos come from --videos or the folder in NAME_VIDEO_DIR.
    """
    from siming_tasks.report.table import Name, Table
    from siming_tasks.tools.public_sets import SETS
    from siming_tasks.tools.public_sets import fetch as make

    if name is None:
        rows = [[Name(key), public.repository, public.commit[:12]] for key, public in SETS.items()]
        show_markdown(Table.of(["set", "annotations", "commit"], rows, left=(0, 1, 2)))
        return
    if out is None:
        raise OptionsError("OUT must be given: siming data fetch NAME OUT.")
    how = {"annotations": annotations, "videos": videos, "cache": options.cache_dir}
    dataset, warnings = make(name, out, **how, keep_audio=keep_audio, jobs=jobs)
    show_problems(warnings)
    labels = [step.consensus for video in dataset.videos for step in video.applicable]
    what = f"{len(dataset.videos)} recordings, {len(labels):,} steps, {labels.count(0):,} of them wrong"
    say(f"{dataset.root}: {what}, digest {dataset.digest[:12]}, license {dataset.meta['license']}")
    if (dataset.root / "media").is_dir():
        say(f"Next: {shlex.join(['siming', 'data', 'check', str(dataset.root)])}")
    else:
        say(f"{dataset.meta['processing']}. Then give their folder as --videos, with another OUT.")

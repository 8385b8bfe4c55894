"""``siming data fetch``: a public data set of real procedures as a data set folder."""

from __future__ import annotations

import shlex
from pathlib import Path

import click

from siming_tasks.cli import parameters as cli
from siming_tasks.cli.terminal import say, say_next, show_markdown, show_problems
from siming_tasks.common.errors import OptionsError
from siming_tasks.options import Options


@cli.command(
    "Without NAME it lists the sets. Nothing is redistributed: annotations are downloaded from their published place "
    "at a pinned commit, or read from --annotations; videos come from --videos or the folder in NAME_VIDEO_DIR."
)
def fetch(
    name: str | None = cli.word("[NAME]", "the set"),
    out: Path | None = cli.word("[OUT]", "the new folder", cli.NEW_FOLDER),
    annotations: Path | None = cli.option("DIR", "folder with the published annotation files", Path),
    videos: Path | None = cli.option("DIR", "folder with the videos, one file a recording", Path),
    keep_audio: bool = cli.switch("keep the sound (voices identify people)"),
    jobs: int = cli.option("N", "videos worked on at once (default 2)", click.IntRange(1), 2),
    options: Options = cli.option_flags("cache"),
) -> None:
    """Make the folder, print what it holds and the next command."""
    from siming_tasks.report.table import Name, Table
    from siming_tasks.tools.public_sets import SETS
    from siming_tasks.tools.public_sets import fetch as make

    if name is None:
        rows = [[Name(key), public.repository, public.commit[:12]] for key, public in SETS.items()]
        show_markdown(Table.of(["set", "annotations", "commit"], rows, left=(0, 1, 2)))
        return
    if out is None:
        raise OptionsError("OUT must be given: siming data fetch NAME OUT.")
    dataset, warnings = make(
        name,
        out,
        annotations=annotations,
        videos=videos,
        cache=options.cache_dir,
        keep_audio=keep_audio,
        jobs=jobs,
    )
    show_problems(warnings)
    labels = [step.consensus for video in dataset.videos for step in video.applicable]
    what = f"{len(dataset.videos)} recordings, {len(labels):,} steps, {labels.count(0):,} of them wrong"
    say(f"{dataset.root}: {what}, digest {dataset.digest[:12]}, license {dataset.meta['license']}")
    if (dataset.root / "media").is_dir():
        say_next(shlex.join(["siming", "data", "check", str(dataset.root)]))
    else:
        say(f"{dataset.meta['processing']}. Then give their folder as --videos, with another OUT.")

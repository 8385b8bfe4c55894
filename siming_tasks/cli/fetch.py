"""``siming data fetch``: a public data set of real procedures as a data set folder."""

from __future__ import annotations

import shlex
from pathlib import Path

from siming_tasks.cli import parameters as cli
from siming_tasks.cli.terminal import say, say_next, show_markdown, show_problems
from siming_tasks.common.errors import OptionsError
from siming_tasks.common.schema import ATTEMPT_RULES, AttemptRule
from siming_tasks.options import Options, Whole


@cli.command(
    "Without NAME it lists the sets. Nothing is redistributed: annotations are downloaded from their published place "
    "at a pinned commit, or read from --annotations; videos come from --videos or the folder in NAME_VIDEO_DIR."
)
def fetch(
    name: str | None = cli.word("[NAME]", "the set"),
    out: Path | None = cli.word("[OUT]", "the new folder", cli.NEW_FOLDER),
    annotations: Path | None = cli.option("DIR", "folder with the published annotation files", Path),
    videos: Path | None = cli.option("DIR", "folder with the videos, one file a recording", Path),
    attempts: AttemptRule | None = cli.option(
        "RULE",
        "of several attempts at a step, the one that is its label and its clip (default: the set's own rule)",
        ATTEMPT_RULES,
    ),
    keep_audio: bool = cli.switch("keep the sound (voices identify people)"),
    jobs: int = cli.option("N", "videos worked on at once (default 2)", Whole(), 2),
    options: Options = cli.option_flags("cache"),
) -> None:
    """Make the folder, print what the annotations hold and the next command."""
    from siming_tasks.report.table import Name, Table
    from siming_tasks.tools.public_sets import SETS
    from siming_tasks.tools.public_sets import fetch as make

    if name is None:
        places = {key: source.published for key, source in SETS.items()}
        rows = [[Name(key), place.repository, place.commit[:12] or "-"] for key, place in places.items()]
        show_markdown(Table.of(["set", "annotations", "commit"], rows, left=(0, 1, 2)))
        return
    if out is None:
        raise OptionsError("OUT must be given: siming data fetch NAME OUT.")
    found = make(
        name,
        out,
        annotations=annotations,
        videos=videos,
        rule=attempts,
        cache=options.cache_dir,
        keep_audio=keep_audio,
        jobs=jobs,
        progress=True,
    )
    show_problems(found.warnings)
    partial = found.made["recordings"] < found.published["recordings"]
    for counts, of in ((found.published, "The published set"), *([(found.made, "The folder made")] if partial else [])):
        say(f"{of}{'' if partial else ', all of which is in the folder'}:")
        for fact, value in counts.items():
            shown = ", ".join(f"{k} {n:,}" for k, n in value.items()) if isinstance(value, dict) else f"{value:,}"
            say(f"  {fact.replace('_', ' ')}: {shown}")
    dataset = found.dataset
    about = f"digest {dataset.digest[:12]}, license {dataset.meta['license']}"
    say(f"{dataset.root}: {len(dataset.videos)} recordings, {about}")
    if found.videos:
        say_next(shlex.join(["siming", "data", "check", str(dataset.root)]))
    else:
        say(f"Labels alone. The videos: {found.videos_from}. Then give their folder as --videos, with another OUT.")

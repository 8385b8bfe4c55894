"""``siming data fetch``, ``split``, ``push`` and ``demo``: another data set folder, or one that is published."""

from __future__ import annotations

import shlex
from pathlib import Path

import click

from siming_tasks.cli import parameters as cli
from siming_tasks.cli.terminal import marked_name, say, show_markdown, show_problems
from siming_tasks.common.errors import OptionsError
from siming_tasks.common.printed_value import counted
from siming_tasks.options import Options


@cli.command("data fetch egooops exams --videos recordings", "siming data check exams")
@click.argument("name", required=False, metavar="[NAME]", help="the public set")
@click.argument("out", required=False, metavar="[OUT]", type=cli.NEW_FOLDER, help="the new folder")
@cli.option_flags("cache")
@click.option("--annotations", type=Path, help="folder with the published annotation files")
@click.option("--videos", type=Path, help="folder with the videos, one file per recording")
@click.option("--keep-audio", is_flag=True, help="keep the sound; voices identify people")
@click.option("--jobs", type=click.IntRange(1), default=2, help="videos processed at the same time")
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

    Without NAME it lists the sets. Nothing is redistributed: annotations are downloaded from their publisher at a
    pinned commit, or read from --annotations; videos are read from --videos or the folder in NAME_VIDEO_DIR.
    """
    from siming_tasks.study.report.table import Name, Table
    from siming_tasks.tools.public_sets import SETS
    from siming_tasks.tools.public_sets import fetch as make

    if name is None:
        rows = [[Name(key), public.repository, public.commit[:12]] for key, public in SETS.items()]
        show_markdown(Table(["set", "annotations", "commit"], rows, left=(0, 1, 2)))
        return
    if out is None:
        raise OptionsError("OUT is missing. Usage: siming data fetch NAME OUT.")
    how = {"annotations": annotations, "videos": videos, "cache": options.cache_dir}
    dataset, warnings = make(name, out, **how, keep_audio=keep_audio, jobs=jobs)
    show_problems(warnings)
    labels = [step.consensus for video in dataset.videos for step in video.applicable]
    what = f"{counted(len(dataset.videos), 'recording')}, {counted(len(labels), 'step')}"
    what += f", {labels.count(0):,} of them wrong, digest {dataset.digest[:12]}"
    say(f"{dataset.root}: {what}, license {dataset.meta['license']}")
    if (dataset.root / "media").is_dir():
        say(f"Next: {shlex.join(['siming', 'data', 'check', str(dataset.root)])}")
    else:
        say(f"{dataset.meta['processing']}. Then run again with --videos FOLDER and another OUT.")


@cli.command("data split exams public --key labels.json", "siming data push public ORG/NAME")
@cli.data_folder(required=True)
@click.argument("out", metavar="OUT", type=cli.NEW_FOLDER, help="the public folder")
@cli.option_flags()
@click.option("--key", required=True, type=cli.NEW_FILE, help="the label file to keep")
def split(dir: str, options: Options, out: Path, key: Path) -> None:
    """Split a data set into a public folder and a private label file."""
    from siming_tasks.data import withhold

    public = withhold(cli.dataset_folder(options, dir=dir), out, key)
    say(
        f"{public.root}: {counted(len(public.videos), 'video')} without labels, digest "
        f"{public.digest[:12]}. This folder is public."
    )
    say(f"{key}: the labels. Keep it private. To score: `siming score RUN --data {public.root} --labels {key}`.")


@cli.command("data push public ORG/NAME", "siming run plan --data ORG/NAME")
@cli.data_folder(required=True)
@click.argument("repo", metavar="ORG/NAME", help="the repository; created if it does not exist")
@cli.option_flags("cache")
@click.option(
    "--gated",
    type=click.Choice(["auto", "manual", "no"]),
    help="how access requests are approved (default: manual; simulated videos: no)",
)
@click.option("--private", is_flag=True, help="make a new repository private")
def push(dir: str, repo: str, options: Options, gated: str | None, private: bool) -> None:
    """Upload a public folder made by `data split` to the Hugging Face Hub; folders with labels are rejected.

    Uses HF_TOKEN and HF_ENDPOINT as huggingface_hub does.
    """
    from siming_tasks.data import is_hub_name
    from siming_tasks.tools.exchange.hub_upload import push as push_dataset

    if not is_hub_name(repo) or "@" in repo:
        raise OptionsError(f"{repo!r} is not a repository name. Give ORG/NAME.")
    dataset = cli.open_dataset(options, dir=dir, media=True)
    gate = gated or ("no" if dataset.simulated.videos else "manual")
    revision = push_dataset(dataset, repo, gate=gate, private=private)  # type: ignore[arg-type]
    say(f"{repo}: {marked_name(dataset)}, without labels, revision {revision}.")
    say(f"SIMING_DATA={repo}@{revision}")


@cli.command(
    "data demo exams --videos 4 --short",
    "SIMING_DATA=exams lmms-eval --model siming_nano --tasks siming_full --output_path runs/nano --log_samples",
)
@click.argument("out", metavar="OUT", type=cli.NEW_FOLDER, help="the new folder")
@click.option("--videos", type=click.IntRange(1), default=16, help="number of exams")
@click.option("--seed", type=click.IntRange(0), default=0, help="random seed")
@click.option("--short", is_flag=True, help="half a minute per exam instead of four, for tests only")
@click.option("--pairs", is_flag=True, help="draw pairs of exams that differ in one act and its consequences")
@click.option("--jobs", type=click.IntRange(1), default=2, help="worker processes")
@click.option("--sound", is_flag=True, help="add a sound track and a transcript")
def demo(out: Path, videos: int, seed: int, short: bool, pairs: bool, jobs: int, sound: bool) -> None:
    """Make a SYNTHETIC data set: simulated exams whose labels are known."""
    from siming_tasks.tools.simulator import make_demo

    out = make_demo(out, videos=videos, seed=seed, short=short, pairs=pairs, jobs=jobs, sound=sound)
    say(f"{out}: SYNTHETIC dataset (simulated exams, labels true by construction; see its README.md).")

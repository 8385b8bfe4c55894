"""Commands that make another data set folder or publish one: ``siming data split``, ``push``, ``edit``, ``demo`` ..."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import click

from siming_tasks.cli import parameters as cli
from siming_tasks.cli.terminal import marked_name, say
from siming_tasks.common.errors import OptionsError
from siming_tasks.options import Options


@cli.command()
def split(
    chosen: cli.DatasetChoice = cli.dataset_flags(word=True, split=False),
    out: Path = cli.word("OUT", "the public folder", cli.NEW_FOLDER),
    key: Path = cli.option("KEYFILE", "the label file to keep", cli.NEW_FILE, required=True),
) -> None:
    """Write the public folder and the label file."""
    from siming_tasks.data import withhold

    public = withhold(chosen.folder(), out, key)
    say(f"{public.root}: {len(public.videos)} videos without labels, digest {public.digest[:12]}. This part is public.")
    say(f"{key}: the labels. Keep it; `siming score {public.root} PREDICTIONS --labels {key}`.")


@cli.command(
    "Uploads the public folder of `siming data split` and refuses any other. HF_TOKEN and HF_ENDPOINT are those of "
    "huggingface_hub."
)
def push(
    chosen: cli.DatasetChoice = cli.dataset_flags(word=True, split=False),
    repo: str = cli.word("ORG/NAME", "the repository; is made if it is not there"),
    gated: Literal["auto", "manual", "no"] | None = cli.option(
        "",
        "who gets in: who asks, person by person, everybody (default manual, for SYNTHETIC data no)",
        ("auto", "manual", "no"),
    ),
    private: bool = cli.switch("make a new repository private"),
    options: Options = cli.option_flags("cache"),
) -> None:
    """Upload the public folder."""
    from siming_tasks.data import is_hub_name
    from siming_tasks.tools.exchange.hub_upload import push as push_dataset

    if not is_hub_name(repo) or "@" in repo:
        raise OptionsError(f"{repo!r} is no name of a repository (org/name).")
    dataset = chosen.open(media=True)
    gate = gated or ("no" if dataset.synthetic else "manual")
    revision = push_dataset(dataset, repo, gate=gate, private=private)
    say(f"{repo}: {marked_name(dataset)}, without labels, revision {revision}.")
    say(f"SIMING_DATA={repo}@{revision}")


@cli.command()
def demo(
    out: Path = cli.word("OUT", "the new folder", cli.NEW_FOLDER),
    videos: int = cli.option("N", "number of exams (default 16)", click.IntRange(1), 16),
    seed: int = cli.option("S", "of trainees, raters and looks (default 0)", click.IntRange(0), 0),
    short: bool = cli.switch("half a minute of video per exam instead of three; for tests"),
    pairs: bool = cli.switch("add counterfactual minimal pairs, for the pair metric"),
    jobs: int = cli.option("J", "worker processes (default 2)", click.IntRange(1), 2),
    sound: bool = cli.switch("add a sound track (compressions, breaths, the device) and the words as transcript"),
) -> None:
    """Make the folder and say what it is."""
    from siming_tasks.tools.simulator import make_demo

    out = make_demo(out, videos=videos, seed=seed, short=short, pairs=pairs, jobs=jobs, sound=sound)
    say(f"{out}: SYNTHETIC dataset (simulated exams, labels true by construction; see its README.md).")

"""``siming run baseline``: a supervised baseline on one's own exams, cross-fitted."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import click

from siming_tasks.cli.parameters import MEDIA_OPTIONS, Checked, DatasetChoice, command, dataset_flags, option_flags
from siming_tasks.cli.terminal import say
from siming_tasks.options import Options, Whole

__all__ = ["baseline"]


@command(
    "Trains a head per step over frozen features of the frames that a model is shown, fold by fold, and writes what "
    "the heads predict for the exams that they were not trained on; with --fine-tune it trains a whole network. "
    "Features and finished folds are kept, so that a command that was interrupted goes on."
)
@dataset_flags(word=True, labels=True)
@click.option(
    "--out", type=Path, default=Path("baseline.jsonl"), metavar="FILE", help="prediction file (default baseline.jsonl)"
)
@click.option(
    "--folds",
    type=Checked(Whole(2)),
    default=5,
    metavar="N",
    help="number of folds (default 5)",
)
@click.option(
    "--group", type=click.Choice(("student", "site")), help="keep all exams of a student, or of a site, in one fold"
)
@click.option(
    "--backbone",
    metavar="NAME",
    help="folder, or name on the hub, of an image model whose features are taken (default: siming_nano's encoder)",
)
@click.option("--fine-tune", is_flag=True, help="train siming_nano's own network, fold by fold, instead of heads")
@click.option(
    "--epochs",
    type=Checked(Whole()),
    metavar="N",
    help="with --fine-tune: number of epochs (default 3)",
)
@click.option(
    "--device", default="auto", metavar="NAME", help="auto, cpu, cuda, ... (default auto: a GPU where there is one)"
)
@option_flags(*MEDIA_OPTIONS, "cache", "cache_gb", "seed")
def baseline(
    chosen: DatasetChoice,
    options: Options,
    out: Path,
    folds: int,
    group: str | None,
    backbone: str | None,
    fine_tune: bool,
    epochs: int | None,
    device: str,
) -> int:
    """Train the baseline and write its predictions; 1 if videos could not be read."""
    from tqdm import tqdm

    from siming_tasks.common.errors import OptionsError
    from siming_tasks.tools.baseline.backbones import BackboneFeatures
    from siming_tasks.tools.baseline.encoders import NanoFeatures
    from siming_tasks.tools.baseline.predict import write_baseline
    from siming_tasks.tools.baseline.tuning import Tuner

    dataset = chosen.open(media=True)
    if backbone and fine_tune:
        raise OptionsError(
            "--fine-tune trains the network of siming_nano. Leave one of --fine-tune and --backbone out."
        )
    if epochs and not fine_tune:
        raise OptionsError("--epochs is for --fine-tune, which is not given. Leave --epochs out, or add --fine-tune.")

    learner: Any
    if fine_tune:
        learner = Tuner(device, epochs or Tuner.epochs)
    else:
        learner = BackboneFeatures(backbone, device) if backbone else NanoFeatures(device)

    def watched(some: list[Any], what: str) -> Iterable[Any]:
        return tqdm(some, unit=what, smoothing=0.1)

    saved = write_baseline(
        dataset,
        options,
        learner,
        out,
        folds=folds,
        group=group,
        watched=watched,
    )
    for why in saved.unreadable:
        say(f"Not shown, and neither learnt from nor predicted: {why}")
    label = "SYNTHETIC " if dataset.synthetic else ""
    say(
        f"{saved.path}: {label}{dataset.name}, supervised, cross-fitted: {folds} folds over {saved.groups} "
        f"groups of {len(dataset.videos)} videos."
    )
    if saved.constant:
        say(f"{saved.constant} of {saved.heads} heads had one label only to learn from, and say that one.")
    if saved.untrained:
        lacked = "no label to learn from" + (" or no output of the network" if fine_tune else "")
        say(f"{saved.untrained} of {saved.heads} heads had {lacked}; what they would say is missing.")
    if saved.unchosen:
        say(
            f"{saved.unchosen} of {saved.heads} heads had too few labels to choose their penalty, and have the default."
        )
    if not group and (known := _repeated(dataset)):
        say(f"{known} videos share their student with another; --group student keeps these on one side.")
    say(f"Next: siming score {dataset.root} {saved.path}")
    return 1 if saved.unreadable else 0


def _repeated(dataset: Any) -> int:
    """Count the videos of students of whom there are several."""
    students = Counter(str(video.extra["student"]) for video in dataset.videos if video.extra.get("student"))
    return sum(videos for videos in students.values() if videos > 1)

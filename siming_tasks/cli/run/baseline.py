"""``siming baseline``: a supervised baseline on one's own exams, cross-fitted."""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from siming_tasks.cli.arguments import Checked
from siming_tasks.cli.dataset import add_data, open_chosen
from siming_tasks.cli.flags import add_options, options_from
from siming_tasks.cli.terminal import say
from siming_tasks.options import Whole

__all__ = ["add"]


def add(commands: Any) -> None:
    """Add this module's subcommand."""
    command = commands.add_parser(
        "baseline",
        help="train a baseline on a data set's own labels, and predict every exam with what never saw it",
        description="Trains a head per step over frozen features of the frames that a model is shown, fold by fold, "
        "and writes what the heads say of the exams that they were not trained on; with --fine-tune it trains a whole "
        "network. Features, or finished folds, are kept: a command that was interrupted goes on.",
    )
    add_data(command, word=True, labels=True)
    command.add_argument(
        "--out", type=Path, default=Path("baseline.jsonl"), metavar="FILE", help="prediction file (default %(default)s)"
    )
    command.add_argument("--folds", action=Checked, kind=Whole(2), default=5, help="how many (default 5)")
    command.add_argument(
        "--group", choices=("student", "site"), help="keep all exams of a student, or of a site, in one fold"
    )
    command.add_argument(
        "--backbone",
        metavar="NAME",
        help="folder, or name on the hub, of an image model whose features are taken (default: siming_nano's encoder)",
    )
    command.add_argument(
        "--fine-tune", action="store_true", help="train siming_nano's own network, fold by fold, instead of heads"
    )
    command.add_argument("--epochs", action=Checked, kind=Whole(1), help="of --fine-tune, how many (default 3)")
    command.add_argument(
        "--device", default="auto", metavar="NAME", help="auto, cpu, cuda, ... (default auto: a GPU where there is one)"
    )
    add_options(command, "demo_videos", "frames", "clip_frames", "frame_size", "clip_density", "sampler")
    add_options(command, "cache", "cache_gb", "seed")
    command.set_defaults(run=_baseline)


def _baseline(arguments: argparse.Namespace) -> int:
    from tqdm import tqdm

    from siming_tasks.common.errors import OptionsError
    from siming_tasks.tools.baseline.backbones import BackboneFeatures
    from siming_tasks.tools.baseline.encoders import NanoFeatures
    from siming_tasks.tools.baseline.predict import write_baseline
    from siming_tasks.tools.baseline.tuning import Tuner

    options = options_from(arguments)
    dataset = open_chosen(arguments, options, media=True)
    device, named = arguments.device, arguments.backbone
    if named and arguments.fine_tune:
        raise OptionsError(
            "--fine-tune trains the network of siming_nano. Leave one of --fine-tune and --backbone out."
        )
    if arguments.epochs and not arguments.fine_tune:
        raise OptionsError("--epochs is for --fine-tune, which is not given. Leave --epochs out, or add --fine-tune.")

    learner: Any
    if arguments.fine_tune:
        learner = Tuner(device, arguments.epochs or Tuner.epochs)
    else:
        learner = BackboneFeatures(named, device) if named else NanoFeatures(device)

    def watched(some: list[Any], what: str) -> Iterable[Any]:
        return tqdm(some, unit=what, smoothing=0.1)

    found = write_baseline(
        dataset,
        options,
        learner,
        arguments.out,
        folds=arguments.folds,
        group=arguments.group,
        watched=watched,
    )
    for why in found.unreadable:
        say(f"Not shown, and neither learnt from nor predicted: {why}")
    label = "SYNTHETIC " if dataset.synthetic else ""
    say(
        f"{found.path}: {label}{dataset.name}, supervised, cross-fitted: {arguments.folds} folds over {found.groups} "
        f"groups of {len(dataset.videos)} videos."
    )
    if found.constant:
        say(f"{found.constant} of {found.heads} heads had one label only to learn from, and say that one.")
    if found.untrained:
        lacked = "no label to learn from" + (" or no output of the network" if arguments.fine_tune else "")
        say(f"{found.untrained} of {found.heads} heads had {lacked}; what they would say is missing.")
    if found.unchosen:
        say(
            f"{found.unchosen} of {found.heads} heads had too few labels to choose their penalty, and have the default."
        )
    if not arguments.group and (known := _repeated(dataset)):
        say(f"{known} videos share their student with another; --group student keeps these on one side.")
    say(f"Next: siming score {dataset.root} {found.path}")
    return 1 if found.unreadable else 0


def _repeated(dataset: Any) -> int:
    """How many videos are of a student of whom there are several."""
    students = Counter(str(video.extra["student"]) for video in dataset.videos if video.extra.get("student"))
    return sum(videos for videos in students.values() if videos > 1)

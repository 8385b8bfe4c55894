"""``siming run baseline``: a supervised baseline on one's own exams, cross-fitted."""

from __future__ import annotations

from pathlib import Path

import click

from siming_tasks.cli import parameters as cli
from siming_tasks.cli.terminal import marked_name, say
from siming_tasks.options import Options


@cli.command("run baseline --data exams --backbone facebook/dinov2-base", "siming score baseline.jsonl --data exams")
@cli.option_flags("data", *cli.MEDIA_OPTIONS, "cache", "cache_gb")
@cli.LABELS
@click.option("--backbone", required=True, help="folder, or name on the hub, of the image model")
@click.option("--out", type=cli.NEW_FILE, default="baseline.jsonl", help="prediction file")
def baseline(options: Options, labels: Path | None, backbone: str, out: Path) -> int:
    """Train a baseline on a data set's own labels and predict the exams it has not seen.

    Averages a frozen image model's features over the frames of each step's clip, learns a logistic regression a step
    and writes, for clip_score and clip_error, what it says of the clusters that it did not learn from.
    """
    from tqdm import tqdm

    from siming_tasks.tools.baseline.backbone import Backbone
    from siming_tasks.tools.baseline.crossfit import write_baseline

    dataset = cli.open_dataset(options, labels=labels, media=True)
    found = write_baseline(
        dataset, options, Backbone(backbone), out, lambda videos: tqdm(videos, unit="video", smoothing=0.1)
    )
    for why in found.unreadable:
        say(f"Not shown, and neither learnt from nor judged: {why}")
    how = f"{found.folds} folds over {found.clusters} clusters ({found.unit})"
    say(f"{out}: {marked_name(dataset)}, supervised, cross-fitted: {how}.")
    if found.unlearned:
        say(f"{found.unlearned} clips had no label to learn from in the other folds; their answers are missing.")
    say(f"Next: siming score {out} --data {dataset.root}")
    return 1 if found.unreadable else 0

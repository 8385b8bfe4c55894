"""``siming run baseline``: a supervised baseline on one's own exams, cross-fitted."""

from __future__ import annotations

from pathlib import Path

from siming_tasks.cli import parameters as cli
from siming_tasks.cli.terminal import marked_name, say
from siming_tasks.options import Options


@cli.command(
    "Averages a frozen image model's features over the frames of each step's clip, learns a logistic regression a step "
    "and writes, for clip_score and clip_error, what it says of the clusters that it did not learn from."
)
def baseline(
    chosen: cli.DatasetChoice = cli.dataset_flags(word=True, labels=True, split=False),
    backbone: str = cli.option("NAME", "folder, or name on the hub, of the image model", required=True),
    out: Path = cli.option("FILE", "prediction file (default baseline.jsonl)", cli.NEW_FILE, Path("baseline.jsonl")),
    options: Options = cli.option_flags(*cli.MEDIA_OPTIONS, "cache", "cache_gb"),
) -> int:
    """Train the baseline and write its predictions; 1 if videos could not be read."""
    from tqdm import tqdm

    from siming_tasks.tools.baseline.backbone import Backbone
    from siming_tasks.tools.baseline.crossfit import write_baseline

    dataset = chosen.open(media=True)
    found = write_baseline(
        dataset, options, Backbone(backbone), out, lambda videos: tqdm(videos, unit="video", smoothing=0.1)
    )
    for why in found.unreadable:
        say(f"Not shown, and neither learnt from nor judged: {why}")
    how = f"{found.folds} folds over {found.clusters} clusters ({found.unit})"
    say(f"{out}: {marked_name(dataset)}, supervised, cross-fitted: {how}.")
    if found.unlearned:
        say(f"{found.unlearned} clips had no label to learn from in the other folds; their answers are missing.")
    say(f"Next: siming score {dataset.root} {out}")
    return 1 if found.unreadable else 0

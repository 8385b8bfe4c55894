"""``siming run baseline``: a supervised baseline on one's own exams, cross-fitted."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from siming_tasks.cli import parameters as cli
from siming_tasks.cli.terminal import marked_name, say
from siming_tasks.common.errors import OptionsError
from siming_tasks.data import Dataset
from siming_tasks.options import Options, Whole


@cli.command(
    "Trains a head per step over frozen features of the frames that a model is shown, fold by fold, and writes what "
    "the heads predict for the exams that they were not trained on; with --fine-tune it trains a whole network, with "
    "--labels-only nothing but what labels and spans tell. --by-split keeps to a split that the data set states. "
    "Features and finished folds are kept, so that a command that was interrupted goes on."
)
def baseline(
    chosen: cli.DatasetChoice = cli.dataset_flags(word=True, labels=True, split=False),
    out: Path = cli.option("FILE", "prediction file (default baseline.jsonl)", cli.NEW_FILE, Path("baseline.jsonl")),
    folds: int | None = cli.option("N", "number of folds (default 5)", Whole(2)),
    group: str | None = cli.option("", "keep all exams of a student, or of a site, on one side", ("student", "site")),
    by_split: str | None = cli.option("NAME", "a split of the data: train, tune on validation, judge the test part"),
    labels_only: bool = cli.switch("learn from labels and spans alone; no video is opened"),
    backbone: str | None = cli.option(
        "NAME",
        "folder, or name on the hub, of an image model whose features are taken (default: siming_nano's encoder)",
    ),
    fine_tune: bool = cli.switch("train siming_nano's own network, fold by fold, instead of heads"),
    epochs: int | None = cli.option("N", "with --fine-tune: number of epochs (default 3)", Whole()),
    device: str = cli.option("NAME", "auto, cpu, cuda, ... (default auto: a GPU where there is one)", default="auto"),
    options: Options = cli.option_flags(*cli.MEDIA_OPTIONS, "cache", "cache_gb", "seed"),
) -> int:
    """Train the baseline and write its predictions; 1 if videos could not be read."""
    from tqdm import tqdm

    from siming_tasks.tools.baseline.features import BackboneFeatures, NanoFeatures
    from siming_tasks.tools.baseline.labels_alone import write_labels_baseline
    from siming_tasks.tools.baseline.official_split import official_split
    from siming_tasks.tools.baseline.predict import write_baseline
    from siming_tasks.tools.baseline.tuning import Tuner

    if by_split and folds:
        raise OptionsError("--by-split has its own parts, --folds deals the exams anew. Leave one of them out.")
    if labels_only and (backbone or fine_tune or ((folds or group) and not by_split)):
        raise OptionsError("--labels-only takes --by-split and --out alone; its folds keep the highest unit apart.")
    dataset = chosen.open(media=not labels_only)
    official = official_split(dataset, by_split, group) if by_split else None
    for warning in official.warnings if official else ():
        say(f"Split {by_split}: {warning}")
    if labels_only:
        videos = write_labels_baseline(dataset, out, split=official)
        kind = f"trained and tuned on split {by_split}" if by_split else "cross-fitted"
        say(f"{out}: {marked_name(dataset)}, from labels and spans alone, {kind}: {videos:,} videos judged.")
        return _next(dataset, out, by_split)
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

    folds = folds or 5
    saved = write_baseline(
        dataset, options, learner, out, folds=folds, group=None if by_split else group, split=official, watched=watched
    )
    for why in saved.unreadable:
        say(f"Not shown, and neither learnt from nor predicted: {why}")
    how = f"cross-fitted: {folds} folds over {saved.groups} groups of {len(dataset.videos)} videos"
    say(f"{saved.path}: {marked_name(dataset)}, supervised, {f'by split {by_split}' if by_split else how}.")
    lacked = "no label to learn from" + (" or no output of the network" if fine_tune else "")
    for count, words in (
        (saved.constant, "had one label only to learn from, and say that one."),
        (saved.untrained, f"had {lacked}; what they would say is missing."),
        (saved.unchosen, "had too few labels to choose their penalty, and have the default."),
    ):
        if count:
            say(f"{count} of {saved.heads} heads {words}")
    students = Counter(str(video.extra["student"]) for video in dataset.videos if video.extra.get("student"))
    repeated = sum(videos for videos in students.values() if videos > 1)
    if repeated and not group and not by_split:
        say(f"{repeated} videos share their student with another; --group student keeps these on one side.")
    _next(dataset, saved.path, by_split)
    return 1 if saved.unreadable else 0


def _next(dataset: Dataset, path: Path, split: str | None) -> int:
    """Say which command scores the file; of a split it is about the test part alone."""
    from siming_tasks.tools.baseline.official_split import TEST, part_of

    tested = (
        next((video.splits[split] for video in dataset.videos if part_of(video, split) == TEST), "") if split else ""
    )
    say(f"Next: siming score {dataset.root} {path}{f' --split {split}:{tested}' if tested else ''}")
    return 0

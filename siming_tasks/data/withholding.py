"""Public folder and private labels: one dataset split so that models can be run without the answers."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from siming_tasks.common.errors import DataError
from siming_tasks.common.files import sha256_file
from siming_tasks.common.schema import StepLabel, Video
from siming_tasks.data.dataset import Dataset, open_dataset
from siming_tasks.data.digest import media_difference
from siming_tasks.data.folder_files import write_folder
from siming_tasks.data.label_key import Points, read_key, write_key

__all__ = ["check_reference", "with_labels", "withhold", "write_public"]

_PUBLIC = ("name", "version", "license", "synthetic", "languages", "processing", "created", "canary", "url", "citation")


def withhold(root: str | Path, out: str | Path, key: str | Path) -> Dataset:
    """Write a copy of a dataset without labels, and the labels as one file to keep.

    The public part holds what a model must be shown and nothing else: ids, media, spans, which steps apply. Keys that
    other tools added to the rows, event logs and label statistics do not travel.

    Args:
        root: the full dataset.
        out: the public folder; must not exist.
        key: the label file, outside ``out``; readable by its owner only.

    Returns:
        The public dataset.

    Raises:
        DataError: a target exists, the key would lie inside the public folder, or there is nothing to withhold.
    """
    dataset, out, key = open_dataset(root), Path(out), Path(key)
    if key.resolve().is_relative_to(out.resolve()):
        raise DataError(f"{key}: the label file must lie outside the public folder {out}.")
    if taken := next((path for path in (out, key) if path.exists()), None):
        raise DataError(f"{taken}: exists. Name another place, or delete it.")
    if dataset.withheld:
        raise DataError(f"{root}: holds no consensus; there is nothing to withhold.")
    out.parent.mkdir(parents=True, exist_ok=True)
    part = Path(tempfile.mkdtemp(prefix=f".{out.name}.", dir=out.parent))
    try:
        write_public(dataset, part)
        write_key(key, dataset, open_dataset(part).digest)
        part.chmod(0o755)
        os.replace(part, out)
    except BaseException:
        shutil.rmtree(part, ignore_errors=True)
        raise
    return open_dataset(out)


def with_labels(dataset: Dataset, key: str | Path) -> Dataset:
    """The public dataset with the points of a label file, its digest unchanged so that predictions still fit.

    Raises:
        DataError: not a label file, one of another dataset, or one that was changed; lists what is wrong.
    """
    scores = read_key(Path(key), dataset)
    return replace(dataset, videos=tuple(_labelled(video, scores[video.video_id]) for video in dataset.videos))


def check_reference(dataset: Dataset, rater: str) -> None:
    """Check that the rater has points to score against.

    Raises:
        DataError: the rater is unknown, or the points are withheld.
    """
    if rater not in dataset.raters:
        raise DataError(f"{dataset.root}: no rater {rater!r}; there are {', '.join(dataset.raters) or 'none'}.")
    if all(step.scores.get(rater) is None for video in dataset.videos for step in video.applicable):
        raise DataError(
            f"{dataset.root}: the labels are withheld. Give the label file with --labels, or only check the "
            "predictions (`siming score --validate-only`) and send them to the keeper of the labels."
        )


def _labelled(video: Video, scores: Mapping[str, Points]) -> Video:
    def labelled(step: StepLabel) -> StepLabel:
        return replace(step, scores=dict(scores.get(step.step_id, {})))

    return replace(video, steps=tuple(map(labelled, video.steps)))


def write_public(
    dataset: Dataset,
    part: Path,
    more: Mapping[str, Any] | None = None,
    place: Callable[[Path, Path], Any] = shutil.copyfile,
) -> None:
    """Write the public part of a data set into an empty folder.

    Args:
        dataset: with labels or without.
        part: the folder.
        more: added to ``dataset.yaml``.
        place: puts a video's file in its place there (default: a copy).

    Raises:
        DataError: a video is not the one that is stated.
    """
    (part / "media").mkdir()
    rows, media = [], {}
    for video in dataset.videos:
        target = f"media/{video.video_id}.mp4"
        place(dataset.media_path(video), part / target)
        media[target] = sha256_file(part / target)
        if (stated := dataset.meta["media_sha256"].get(video.media, media[target])) != media[target]:
            raise DataError.of([media_difference(dataset.root, video.media, stated, media[target])])
        rows.append(_public_row(video, target))
    known = {"name": dataset.name, "version": dataset.version, "synthetic": dataset.synthetic, **dataset.meta}
    info = {name: known[name] for name in _PUBLIC if known.get(name) is not None}
    write_folder(part, dataset.root / "rubric.yaml", rows, {**info, **(more or {}), "labels": "withheld"}, media)


def _public_row(video: Video, media: str) -> dict[str, Any]:
    def step(label: StepLabel) -> dict[str, Any]:
        if not label.applicable:
            return {"step_id": label.step_id, "applicable": False}
        return {"step_id": label.step_id, "start": label.start, "end": label.end, "score": {"consensus": None}}

    about = {"site": video.site, "split": video.extra.get("split"), "canary": video.extra.get("canary")}
    return {
        "video_id": video.video_id,
        "media": media,
        "duration": video.duration,
        **{name: value for name, value in about.items() if value is not None},
        "steps": [step(label) for label in video.steps],
    }

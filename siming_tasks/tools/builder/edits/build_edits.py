"""A data set of edited exams, each beside an untouched copy that was encoded in the same way, and its pairs."""

from __future__ import annotations

import datetime
import json
import os
import shutil
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from tqdm import tqdm

from siming_tasks import __version__
from siming_tasks.common.errors import DataError
from siming_tasks.common.files import atomic_write, sha256_file
from siming_tasks.common.schema import CONSENSUS, Video
from siming_tasks.data.dataset import Dataset, open_dataset
from siming_tasks.data.folder_files import write_folder
from siming_tasks.media import read_timeline
from siming_tasks.tools.builder.edits.edited_labels import OPERATIONS, Edit, Labels, Operation, candidates, labels_after
from siming_tasks.tools.builder.edits.edited_video import Film, film_of

__all__ = ["Edited", "edit_dataset"]


@dataclass(frozen=True)
class Edited:
    """Summary of the data set that was made.

    Attributes:
        dataset: the new data set.
        edits: how many videos, by operation.
        pairs: lines of ``pairs.jsonl`` by kind.
        certain: labels of edited videos that are certain.
        unsure: labels that were left out, by reason.
        without: videos of which no edit could be made.
    """

    dataset: Dataset
    edits: Mapping[str, int]
    pairs: Mapping[str, int]
    certain: int
    unsure: Mapping[str, int]
    without: Sequence[str]


@dataclass
class _Made:
    rows: list[dict[str, Any]] = field(default_factory=list)
    pairs: list[dict[str, Any]] = field(default_factory=list)
    media: dict[str, str] = field(default_factory=dict)
    edits: Counter[str] = field(default_factory=Counter)
    unsure: Counter[str] = field(default_factory=Counter)
    certain: int = 0


def edit_dataset(
    dataset: Dataset,
    out: Path,
    *,
    operations: Collection[Operation] = tuple(OPERATIONS),
    each: int = 1,
    seed: int = 0,
    progress: bool = False,
) -> Edited:
    """Make edited videos, their labels and pairs.

    Args:
        dataset: with labels, spans and media.
        out: the new folder.
        operations: which edits.
        each: how many of each operation a video, at most.
        seed: decides which steps.
        progress: show a bar on stderr.

    Raises:
        DataError: ``out`` exists, or no edit can be made of any video.
        MediaError: a video cannot be read.
    """
    if out.exists():
        raise DataError(f"{out}: exists. Name another folder, or delete that one.")
    chosen = [(video, _chosen(dataset, number, operations, each, seed)) for number, video in enumerate(dataset.videos)]
    without = [video.video_id for video, edits in chosen if not edits]
    if len(without) == len(chosen):
        raise DataError(
            f"{dataset.root}: no edit changes a label for certain. It takes steps with points to lose and a span of "
            "their own (`start` and `end`), which no other step shares."
        )
    part = out.with_name(f".{out.name}.part")
    shutil.rmtree(part, ignore_errors=True)
    (part / "media").mkdir(parents=True)
    made = _Made()
    try:
        with tqdm(total=sum(1 + len(edits) for _, edits in chosen if edits), unit="video", disable=not progress) as bar:
            for video, edits in chosen:
                for _ in _video(dataset, video, edits, part, made):
                    bar.update()
        _write(dataset, part, made)
        os.replace(part, out)
    except BaseException:
        shutil.rmtree(part, ignore_errors=True)
        raise
    kinds = Counter(pair["kind"] for pair in made.pairs)
    return Edited(open_dataset(out), made.edits, kinds, made.certain, made.unsure, without)


def _chosen(dataset: Dataset, number: int, operations: Collection[Operation], each: int, seed: int) -> list[Edit]:
    """The edits of one video, by a draw of its own."""
    rng = np.random.default_rng([seed, number])
    edits = candidates(dataset.videos[number], dataset.rubric)
    return [
        edits[name][at]
        for name in OPERATIONS
        for at in sorted(rng.permutation(len(edits[name]))[:each].tolist())
        if name in operations
    ]


def _video(dataset: Dataset, video: Video, edits: Sequence[Edit], part: Path, made: _Made) -> Iterator[None]:
    """The untouched copy and the edits of one video."""
    if not edits:
        return
    source = dataset.media_path(video)
    timeline = read_timeline(source)
    for number, edit in enumerate((None, *edits)):
        film = film_of(video, timeline, edit)
        name = f"{video.video_id}_{number}" if edit else f"{video.video_id}_0"
        media = f"media/{name}.mp4"
        film.write(source, timeline, part / media)
        made.media[media] = sha256_file(part / media)
        labels = None if edit is None else labels_after(video, dataset.rubric, edit)
        made.rows.append(_row(video, name, media, film, labels, edit))
        if edit is not None and labels is not None:
            made.edits[edit.operation] += 1
            made.certain += len(labels.points)
            made.unsure.update(_reason(why) for why in labels.unsure.values())
            made.pairs += _pairs(dataset, video, edit, labels, f"{video.video_id}_0", name)
        yield


def _reason(why: str) -> str:
    """Without the names of steps, so that reasons can be counted."""
    return "has a changed step as its context" if why.startswith("has ") and why.endswith("context") else (
        "requires a step that is not certain" if why.startswith("requires ") else why
    )  # fmt: skip


def _row(video: Video, name: str, media: str, film: Film, labels: Labels | None, edit: Edit | None) -> dict[str, Any]:
    """The object of ``videos.jsonl``; raters are kept where the step is as they saw it."""
    steps = []
    for step in video.steps:
        if not step.applicable:
            steps.append({"step_id": step.step_id, "applicable": False})
            continue
        scores: dict[str, float | None] = dict(step.scores)
        if labels is not None and step.step_id in labels.unsure:
            scores = {}
        elif labels is not None and labels.points[step.step_id] != step.consensus:
            scores = {CONSENSUS: labels.points[step.step_id]}
        start, end = film.spans.get(step.step_id, (None, None))
        steps.append({"step_id": step.step_id, "start": start, "end": end, "score": scores})
    extra = {key: value for key, value in video.extra.items() if key not in ("sha256", "canary")}
    who = {"student": video.video_id, **extra, "source_video": video.video_id}
    site = {"site": video.site} if video.site is not None else {}
    what = {"edit": {"operation": edit.operation, "step_id": edit.step} if edit else {"operation": "none"}}
    return {"video_id": name, "media": media, "duration": film.duration, **site, **who, **what, "steps": steps}


def _pairs(
    dataset: Dataset, video: Video, edit: Edit, labels: Labels, untouched: str, name: str
) -> Iterator[dict[str, Any]]:
    """A line for every label that the edit changed; the others that are certain must not move."""
    changed = labels.changed(video)
    omitted = f"{edit.step}.omitted"
    known = any(error.id == omitted for error in dataset.rubric.by_id[edit.step].errors)
    event = omitted if known and edit.operation != "swap" else f"{edit.step}: {OPERATIONS[edit.operation]}"
    for step in changed:
        own = step == edit.step and edit.operation != "swap"
        yield {
            "pair_id": f"{name}-{step}",
            "kind": "local" if own else "history",
            "video_a": untouched,
            "video_b": name,
            "changed_act": [event],
            "step_id": step,
            "direction": -1,
            "points": [video.step(step).consensus, labels.points[step]],
            "unchanged_steps": [other for other in labels.points if other not in changed],
        }


def _write(dataset: Dataset, part: Path, made: _Made) -> None:
    with atomic_write(part / "pairs.jsonl") as stream:
        stream.writelines(json.dumps(pair) + "\n" for pair in made.pairs)
    info = {
        "name": f"{dataset.name}-edits",
        "version": dataset.version,
        "license": dataset.meta.get("license"),
        "synthetic": dataset.synthetic,
        "languages": list(dataset.meta.get("languages") or ()),
        "label_sources": {"source": dataset.digest, "edited": "by the rubric's requirements; uncertain ones left out"},
        "processing": "Frames of the source in another order, without some, or one held; every video, edited or not, "
        "encoded once in the same way (H.264, a keyframe every 25 frames, no sound).",
        "created": datetime.datetime.now(datetime.timezone.utc).date().isoformat(),
        "edits": {"tool": f"siming-tasks {__version__}", "source": dataset.digest},
    }
    write_folder(part, dataset.root / "rubric.yaml", made.rows, info, made.media)

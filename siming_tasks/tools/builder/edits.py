"""A data set of edited exams, each beside an untouched copy that was encoded in the same way, and its pairs.

Only an act can be taken out of a film: of a step that leaves a state (pads on the chest), the state is seen later all
the same. The labels after an edit are those that spans and the rubric's requirements decide and that the film does not
contradict; the rest is left out.
"""

from __future__ import annotations

import datetime
import json
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from tqdm import tqdm

from siming_tasks import __version__
from siming_tasks.common.errors import DataError
from siming_tasks.common.files import atomic_write, sha256_file
from siming_tasks.common.output_folder import check_place, output_folder
from siming_tasks.common.schema import CONSENSUS, Video
from siming_tasks.data.dataset import Dataset, open_dataset
from siming_tasks.data.folder_files import write_folder
from siming_tasks.data.row_schema import stated_raters
from siming_tasks.media import Timeline, frame_range, read_timeline
from siming_tasks.media.clips import write_sequence
from siming_tasks.rubrics import Rubric

Operation = Literal["drop", "freeze", "swap"]

OPERATIONS: Mapping[Operation, str] = {
    "drop": "the step's seconds are cut out",
    "freeze": "the step's first picture stands still for its length",
    "swap": "the step is shown before the one that it requires",
}


@dataclass(frozen=True)
class Edit:
    """One operation on one exam.

    Attributes:
        operation: see :data:`OPERATIONS`.
        step: whose label it changes.
        before: of a swap, the required step, which the source shows right before it.
    """

    operation: Operation
    step: str
    before: str = ""


@dataclass(frozen=True)
class Labels:
    """The consensus after an edit: points of every step whose label is certain, and why each other one is not."""

    points: Mapping[str, float]
    unsure: Mapping[str, str]

    def changed(self, video: Video) -> list[str]:
        """The certain steps whose points are other than in the source."""
        return [step for step, points in self.points.items() if points != video.step(step).consensus]


def candidates(video: Video, rubric: Rubric) -> dict[Operation, list[Edit]]:
    """The edits of an exam that change a label for certain, by operation.

    A step can be dropped or frozen that is an act (``kind``), has points to lose and shares no second with another. Two
    such steps can be swapped of which the second requires the first (``void`` or ``cap``), with nothing marked between.
    """
    spans = {step.step_id: step.span for step in video.applicable if step.span}

    def is_alone(step: str) -> bool:
        start, end = spans[step]
        return not any(start < until and begin < end for other, (begin, until) in spans.items() if other != step)

    alone = [step for step in spans if rubric.by_id[step].kind == "act" and is_alone(step)]
    gone = [step for step in alone if (video.step(step).consensus or 0) > 0]
    neighbours = set(pairwise(sorted(spans, key=lambda step: spans[step])))
    by_operation: dict[Operation, list[Edit]] = {
        "drop": [Edit("drop", step) for step in gone],
        "freeze": [Edit("freeze", step) for step in gone],
        "swap": [
            Edit("swap", step, need.id)
            for step in gone
            for need in rubric.by_id[step].requires
            if need.effect != "context" and need.id in alone and (need.id, step) in neighbours
        ],
    }
    return {
        name: [edit for edit in edits if edit.step in labels_after(video, rubric, edit).changed(video)]
        for name, edits in by_operation.items()
    }


def labels_after(video: Video, rubric: Rubric, edit: Edit) -> Labels:
    """The labels of the edited exam.

    An act that was cut out is worth 0 points, and what requires it is worth what the rubric says (``void``, ``cap``),
    as is an act that comes before the one that it requires. Not certain are: a step that is no act and was cut (what
    it brought about is seen later); the step that a swap shows too late; steps without a span (they may lie in the
    part that was changed); steps that have a changed one as their ``context``; and what requires a step that is not
    certain, or one that only the rubric calls failed and the film still shows.
    """
    points: dict[str, float] = {}
    unsure: dict[str, str] = {}
    unseen: set[str] = set()  # what the film does not show any more
    voided: set[str] = set()  # what it shows, and the rubric gives no points for
    for step in rubric.steps:
        label = next((each for each in video.applicable if each.step_id == step.id), None)
        if label is None:
            continue
        is_cut = step.id == edit.step and edit.operation != "swap"
        if label.consensus is None:
            unsure[step.id] = "has no label"
        elif step.id == edit.before:
            unsure[step.id] = "is shown later than it should be"
        elif label.span is None:
            unsure[step.id] = "has no span"
        elif is_cut and step.kind != "act":
            unsure[step.id] = "leaves what is seen later"
        else:
            left = 0.0 if is_cut else label.consensus
            why = ""
            for need in step.requires:
                missed = need.id in unseen or (step.id == edit.step and need.id == edit.before)
                if need.effect == "context":
                    touched = missed or need.id in voided or (need.id == edit.step and need.id in unsure)
                    why = f"has {need.id} as its context" if touched else why
                elif missed:
                    left = min(left, need.cap if need.cap is not None else 0.0)
                elif need.id in unsure:
                    why = f"requires {need.id}, which is not certain"
                elif need.id in voided:
                    why = f"requires {need.id}, which is still seen"
            if why and left > 0:
                unsure[step.id] = why
            else:
                points[step.id] = left
                if is_cut:
                    unseen.add(step.id)
                elif left == 0 and label.consensus > 0:
                    voided.add(step.id)
    return Labels(points, unsure)


@dataclass(frozen=True, eq=False)
class Film:
    """A recording made of another's frames.

    Attributes:
        shown: the source's frames in the order in which they are shown, int64[N].
        slots: whose length each of them has, int64[N]: another one's only where the picture stands still.
        pts: when each is shown, in the source's time base, int64[N].
        spans: by step, (start, end) in seconds; a step that is not shown is absent.
        duration: seconds.
    """

    shown: NDArray[np.int64]
    slots: NDArray[np.int64]
    pts: NDArray[np.int64]
    spans: dict[str, tuple[float, float]]
    duration: float


def film_of(video: Video, timeline: Timeline, edit: Edit | None) -> Film:
    """The film of an edit; of None the untouched copy.

    Raises:
        MediaError: a span lies beyond the video.
    """
    bounds = {step.step_id: frame_range(timeline.times, *step.span) for step in video.steps if step.span}
    slots = np.arange(timeline.n_frames)
    shown = slots.copy()
    if edit is not None:
        first, last = bounds[edit.step]
        if edit.operation == "drop":
            shown = slots = np.delete(slots, slice(first, last + 1))
        elif edit.operation == "freeze":
            shown[first : last + 1] = first
        else:
            begin, end = bounds[edit.before]
            between = np.arange(end + 1, first)
            order = [np.arange(begin), np.arange(first, last + 1), between, np.arange(begin, end + 1)]
            shown = slots = np.concatenate([*order, np.arange(last + 1, timeline.n_frames)])
    # The last frame is shown for one mean period, as everywhere.
    period = max(1, round(float(1 / timeline.rate / timeline.time_base)))
    lengths = np.diff(timeline.pts, append=timeline.pts[-1] + period)
    ends = np.cumsum(lengths[slots])
    pts = ends - lengths[slots]
    place = {int(slot): at for at, slot in enumerate(slots)}
    base = float(timeline.time_base)
    spans = {
        step: (round(float(pts[place[first]]) * base, 6), round(float(ends[place[last]]) * base, 6))
        for step, (first, last) in bounds.items()
        if first in place and last in place
    }
    return Film(shown, slots, pts, spans, round(float(ends[-1]) * base, 6))


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
    edits: Counter[str]
    pairs: Counter[str]
    certain: int
    unsure: Counter[str]
    without: Sequence[str]


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
    check_place(out)
    chosen: list[tuple[Video, list[Edit]]] = []
    for number, video in enumerate(dataset.videos):
        rng = np.random.default_rng([seed, number])  # each video has a draw of its own
        possible = candidates(video, dataset.rubric)
        drawn = {name: sorted(rng.permutation(len(possible[name]))[:each].tolist()) for name in OPERATIONS}
        chosen.append((video, [possible[name][at] for name in OPERATIONS if name in operations for at in drawn[name]]))
    without = [video.video_id for video, edits in chosen if not edits]
    if len(without) == len(chosen):
        raise DataError(
            f"{dataset.root}: no edit changes a label for certain. It takes acts (`kind: act` in rubric.yaml: nothing "
            "is seen of them once they are over) with points to lose and a span of their own (`start` and `end`), "
            "which no other step shares."
        )
    rows: list[dict[str, Any]] = []
    pairs: list[dict[str, Any]] = []
    media: dict[str, str] = {}
    made: Counter[str] = Counter()
    unsure: Counter[str] = Counter()
    certain = 0
    with output_folder(out) as part:
        (part / "media").mkdir()
        with tqdm(total=sum(1 + len(edits) for _, edits in chosen if edits), unit="video", disable=not progress) as bar:
            for video, edits in chosen:
                for row, edit, labels in _make_videos(dataset, video, edits, part) if edits else ():
                    rows.append(row)
                    media[row["media"]] = sha256_file(part / row["media"])
                    if edit and labels:
                        made[edit.operation] += 1
                        certain += len(labels.points)
                        unsure.update(map(_reason, labels.unsure.values()))
                        pairs += _pairs(dataset, video, edit, labels, row["video_id"])
                    bar.update()
        _write(dataset, part, rows, pairs, media)
    kinds = Counter(pair["kind"] for pair in pairs)
    return Edited(open_dataset(out), made, kinds, certain, unsure, without)


def _reason(why: str) -> str:
    """Without the names of steps, so that reasons can be counted."""
    if why.startswith("requires "):
        return f"requires a step that is {'still seen' if why.endswith('still seen') else 'not certain'}"
    return "has a changed step as its context" if why.endswith(" as its context") else why


def _make_videos(
    dataset: Dataset, video: Video, edits: Sequence[Edit], part: Path
) -> Iterator[tuple[dict[str, Any], Edit | None, Labels | None]]:
    """The untouched copy and the edits of one video, each with its object of ``videos.jsonl``.

    Raters are kept where the step is as they saw it.
    """
    source = dataset.media_path(video)
    timeline = read_timeline(source)
    # A transcript has the clock of the source, and the film has no sound.
    extra = {key: value for key, value in video.extra.items() if key not in ("sha256", "canary", "transcript")}
    who = {"student": video.video_id, **extra, "source_video": video.video_id}
    site = {"site": video.site} if video.site is not None else {}
    for number, edit in enumerate((None, *edits)):
        film = film_of(video, timeline, edit)
        name = f"{video.video_id}_{number}"
        write_sequence(source, timeline, film.shown.tolist(), film.pts, part / "media" / f"{name}.mp4")
        labels = labels_after(video, dataset.rubric, edit) if edit else None
        steps: list[dict[str, Any]] = []
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
        what = {"edit": {"operation": edit.operation, "step_id": edit.step} if edit else {"operation": "none"}}
        head = {"video_id": name, "media": f"media/{name}.mp4", "duration": film.duration}
        yield {**head, **site, **who, **what, "steps": steps}, edit, labels


def _pairs(dataset: Dataset, video: Video, edit: Edit, labels: Labels, name: str) -> Iterator[dict[str, Any]]:
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
            "video_a": f"{video.video_id}_0",
            "video_b": name,
            "changed_act": [event],
            "step_id": step,
            "direction": -1,
            "points": [video.step(step).consensus, labels.points[step]],
            "unchanged_steps": [other for other in labels.points if other not in changed],
        }


def _write(
    dataset: Dataset, part: Path, rows: list[dict[str, Any]], pairs: list[dict[str, Any]], media: dict[str, str]
) -> None:
    with atomic_write(part / "pairs.jsonl") as stream:
        stream.writelines(json.dumps(pair) + "\n" for pair in pairs)
    still = {name for row in rows for step in row["steps"] for name in step.get("score", ())}
    info = {
        "name": f"{dataset.name}-edits",
        "version": dataset.version,
        "license": dataset.meta.get("license"),
        "synthetic": dataset.synthetic,
        "languages": list(dataset.meta.get("languages") or ()),
        "label_sources": {"source": dataset.digest, "edited": "by the rubric's requirements; uncertain ones left out"},
        **stated_raters(dataset.rater_facts, still),
        "sound": False,
        "processing": "Frames of the source in another order, without some, or one held; every video, edited or not, "
        "encoded once in the same way (H.264, a keyframe every 25 frames, no sound).",
        "created": datetime.datetime.now(datetime.timezone.utc).date().isoformat(),
        "edits": {"tool": f"siming-tasks {__version__}", "source": dataset.digest},
    }
    write_folder(part, dataset.root / "rubric.yaml", rows, info, media)

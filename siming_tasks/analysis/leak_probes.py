"""Probes of a leak audit: everything that goes with an exam but its pixels, as features of each video and step.

What a judge is sent beside the pictures: seconds, numbers of frames, the order of the steps, the steps that are asked
about. And what only the folder tells, which a judge that opens files could read: bytes, coding, dates, names.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from siming_tasks.common.errors import DataError, MediaError
from siming_tasks.common.schema import Video
from siming_tasks.data import Dataset
from siming_tasks.media import Policy
from siming_tasks.media.container import open_video
from siming_tasks.media.timeline import Timeline, read_timeline
from siming_tasks.metrics.score_matrix import FloatArray
from siming_tasks.metrics.timing import Timing
from siming_tasks.options import Options

Kind = Literal["sent", "file"]


class FileFacts(NamedTuple):
    """Facts of one media file: the timeline, those that are numbers, those that are names, and dates in seconds."""

    timeline: Timeline
    sizes: tuple[float, ...]
    coding: tuple[str, ...]
    dates: tuple[float, ...]


@dataclass(frozen=True)
class AuditedExams:
    """Videos of a data set in the order of an audit, and what goes with them.

    Attributes:
        dataset: where they come from.
        videos: V videos.
        step_ids: S steps.
        options: number of frames and how they are taken.
        media: whether files may be opened.
    """

    dataset: Dataset
    videos: Sequence[Video]
    step_ids: Sequence[str]
    options: Options
    media: bool = True

    @cached_property
    def spans(self) -> FloatArray:
        """Start and end of each step in seconds, ``float[V, S, 2]``; NaN without a span."""
        spans = np.full((len(self.videos), len(self.step_ids), 2), np.nan)
        column = {name: index for index, name in enumerate(self.step_ids)}
        for row, video in enumerate(self.videos):
            for label in video.applicable:
                if label.span and label.step_id in column:
                    spans[row, column[label.step_id]] = label.span
        return spans

    @cached_property
    def durations(self) -> FloatArray:
        """Seconds of each video, ``float[V]``."""
        return np.array([video.duration for video in self.videos])

    @cached_property
    def files(self) -> list[FileFacts]:
        """Facts of every file (MediaError: one cannot be opened, or none may be)."""
        if not self.media:
            raise MediaError("the media files were not looked at")
        if self.unreadable:
            raise MediaError(self.unreadable[0])
        return [facts for facts in self._opened if isinstance(facts, FileFacts)]

    @cached_property
    def _opened(self) -> list[FileFacts | str]:
        return [_file_facts(self.dataset, video) for video in self.videos]

    @property
    def unreadable(self) -> list[str]:
        """A sentence for each file that cannot be opened."""
        return [facts for facts in self._opened if isinstance(facts, str)]

    def whole(self, values: Any) -> FloatArray:
        """Values of the videos, ``[V]`` or ``[V, F]``, as features of each of their steps, ``float[V, S, F]``."""
        columns = np.asarray(values, np.float64).reshape(len(self.videos), 1, -1)
        return np.broadcast_to(columns, (len(self.videos), len(self.step_ids), columns.shape[2]))


def _file_facts(dataset: Dataset, video: Video) -> FileFacts | str:
    """The facts of a file, or why it cannot be opened."""
    try:
        return _read_facts(dataset.media_path(video), video)
    except (MediaError, DataError) as error:
        return str(error)


def _read_facts(path: Path, video: Video) -> FileFacts:
    timeline = read_timeline(path)
    with open_video(path) as (container, stream):
        context = stream.codec_context
        notes = {**container.metadata, **stream.metadata}
        coding = [container.format.name, context.name, context.profile, context.format and context.format.name]
        coding += [notes.get(name) for name in ("encoder", "handler_name", "major_brand", "title", "comment")]
        coding += [str(len(container.streams.audio)), str(timeline.rate)]
        sizes = float(path.stat().st_size), float(context.width), float(context.height)
        created = str(notes.get("creation_time", ""))
    try:
        since = datetime.fromisoformat(created).timestamp()
    except ValueError:
        since = float("nan")
    bitrate = 8 * sizes[0] / max(video.duration, 1e-9)
    return FileFacts(
        timeline,
        (*sizes, bitrate, float(timeline.n_frames), float(len(timeline.keyframes))),
        tuple(str(value) for value in coding),
        (since, path.stat().st_mtime),
    )


def _codes(values: Sequence[str]) -> NDArray[np.int64]:
    """The place of each value among the sorted different ones."""
    return np.unique(np.asarray(values, dtype=str), return_inverse=True)[1]


def span_length(exams: AuditedExams) -> FloatArray:
    """Seconds of the step's clip: what captions and the length of a clip tell."""
    timing = Timing(np.full(len(exams.videos), np.nan), exams.spans)
    return timing.features()[:, :, [0, 4]]


def place(exams: AuditedExams) -> FloatArray:
    """Begin and end of the step, its share of the video, and the video's duration: what step times tell."""
    return np.concatenate([Timing(exams.durations, exams.spans).features(), exams.spans[:, :, 1:]], axis=2)


def duration(exams: AuditedExams) -> FloatArray:
    """Seconds of the whole video."""
    return exams.whole(np.round(exams.durations, 1))


def frames(exams: AuditedExams) -> FloatArray:
    """Numbers of frames and the time of the last, of the clip and of the whole video, as they are captioned."""
    policy = Policy.of(exams.options)
    shown = np.full((len(exams.videos), len(exams.step_ids), 4), np.nan)
    for row, (video, file) in enumerate(zip(exams.videos, exams.files, strict=True)):
        whole = policy.request(video.duration, None, "full").uniform().indices(file.timeline)
        shown[row, :, 2:] = len(whole), round(float(file.timeline.times[whole[-1]]), 1)
        for column, span in enumerate(exams.spans[row]):
            if not np.isnan(span).any():
                part = policy.request(video.duration, (span[0], span[1]), "clip").uniform().indices(file.timeline)
                first, last = file.timeline.times[[part[0], part[-1]]]
                shown[row, column, :2] = len(part), round(float(last - first), 1)
    return shown


def order(exams: AuditedExams) -> FloatArray:
    """The step's rank by its start and end, the pause ahead of it, and how many steps share its span."""
    start, end = np.moveaxis(exams.spans, 2, 0)
    before = end[:, None, :] <= start[:, :, None] + 1e-6  # NaN is before nothing
    latest = np.where(before, end[:, None, :], -np.inf).max(axis=2)
    pause = np.where(np.isfinite(latest), start - latest, start)
    same = (exams.spans[:, :, None] == exams.spans[:, None, :]).all(axis=3).sum(axis=2)
    earlier = (start[:, None, :] < start[:, :, None]).sum(axis=2)
    return np.stack([earlier, before.sum(axis=2), pause, same], axis=2).astype(np.float64)


def prompt(exams: AuditedExams) -> FloatArray:
    """Steps that the prompt asks about: which, how many, and which of them have a clip."""
    column = {name: index for index, name in enumerate(exams.step_ids)}
    asked = np.zeros((len(exams.videos), 2 * len(column)))
    for row, video in enumerate(exams.videos):
        for offset, names in ((0, video.applicable_ids), (len(column), video.timed_ids)):
            asked[row, [offset + column[name] for name in names if name in column]] = 1
    varying = asked[:, (asked != asked[0]).any(axis=0)]
    return exams.whole(np.column_stack([asked.sum(axis=1), varying]).tolist())


def size(exams: AuditedExams) -> FloatArray:
    """Bytes, width, height, bits a second, frames and keyframes of the file."""
    return exams.whole([file.sizes for file in exams.files])


def coding(exams: AuditedExams) -> FloatArray:
    """Container, codec, profile, encoder, title, frame rate and sound of the file."""
    return exams.whole(
        np.stack([_codes(fact) for fact in zip(*(f.coding for f in exams.files), strict=True)], 1).tolist()
    )


def dates(exams: AuditedExams) -> FloatArray:
    """Dates: when the file was made, as its container says, and when it was last written."""
    return exams.whole([file.dates for file in exams.files])


def names(exams: AuditedExams) -> FloatArray:
    """Order of the ids and of the files' names, the place in videos.jsonl, and the last sign of the id."""
    ids, files = [video.video_id for video in exams.videos], [os.path.basename(video.media) for video in exams.videos]
    place = {video.video_id: index for index, video in enumerate(exams.dataset.videos)}
    line = np.array([place[name] for name in ids])
    return exams.whole(np.stack([_codes(ids), _codes(files), line, line % 2, [ord(i[-1]) for i in ids]], 1).tolist())


class Probe(NamedTuple):
    """Features of one kind, whether they are sent to a judge or stand in the file, and the same in words."""

    features: Callable[[AuditedExams], FloatArray]
    kind: Kind
    what: str


PROBES: Mapping[str, Probe] = {
    "span length": Probe(span_length, "sent", "seconds of each step's clip"),
    "frames": Probe(frames, "sent", "number of frames and time of the last, of clip and video"),
    "duration": Probe(duration, "sent", "seconds of the whole video"),
    "place": Probe(place, "sent", "when a step begins and ends, in seconds and as a share of the video"),
    "order": Probe(order, "sent", "order of the steps, pauses between them, steps that share a span"),
    "prompt": Probe(prompt, "sent", "which steps are asked about"),
    "size": Probe(size, "file", "bytes, bits a second, width, height, keyframes"),
    "coding": Probe(coding, "file", "codec, profile, encoder, frame rate, sound, title"),
    "dates": Probe(dates, "file", "when the file was made and last written"),
    "names": Probe(names, "file", "ids, file names, order of the lines"),
}
"""Every probe by name."""


def probe_features(exams: AuditedExams, name: str) -> FloatArray | str:
    """Features of one probe, ``float[V, S, F]``, or why there are none: a sentence's end."""
    try:
        features = PROBES[name].features(exams)
    except (MediaError, DataError) as error:
        return str(error)
    return "no step has a span" if np.isnan(features).all() else features

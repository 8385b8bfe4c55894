"""Named splits of a data set: the videos of one part (train, test, ...), by recording, person or site."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from siming_tasks.benchmark.exams import Video
from siming_tasks.common.errors import DataError
from siming_tasks.data.dataset import Dataset


def in_part(video: Video, part: str) -> bool:
    """True if the video is in a part of a split: ``test`` of the main one, or ``person:test`` of another.

    Example:
        >>> video = Video("v1", "media/v1.mp4", 9.0, (), extra={"split": "train", "splits": {"person": "test"}})
        >>> [in_part(video, part) for part in ("train", "split:train", "person:test", "test")]
        [True, True, True, False]
    """
    name, _, value = part.rpartition(":")
    return video.splits.get(name or "split") == value


def parts_of(videos: Sequence[Video]) -> dict[str, int]:
    """Number of videos of each part of each split, as :func:`in_part` names them."""
    named = Counter((name, part) for video in videos for name, part in video.splits.items())
    return {part if name == "split" else f"{name}:{part}": count for (name, part), count in sorted(named.items())}


def take_part(dataset: Dataset, part: str) -> Dataset:
    """The data set with the videos of one part alone, and its digest unchanged; ``part`` as for :func:`in_part`.

    The whole remains in ``whole``. An empty part is the data set as it is.

    Raises:
        DataError: no video is in that part; names those that the data set states.
    """
    whole = dataset.whole or dataset
    if not part or part == dataset.part:
        return dataset
    videos = tuple(video for video in whole.videos if in_part(video, part))
    if not videos:
        stated = ", ".join(f"{name} ({count})" for name, count in parts_of(whole.videos).items()) or "none"
        raise DataError(f"{whole.root}: no video is in the split {part!r}. Its videos state {stated}.")
    return replace(whole, videos=videos, part=part, whole=whole)

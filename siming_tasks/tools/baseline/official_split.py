"""A split that a data set states: its parts, and who stands on both sides of it."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from siming_tasks.common.errors import DataError, OptionsError
from siming_tasks.common.schema import Video
from siming_tasks.data import Dataset
from siming_tasks.data.clusters import clusters_of

TRAIN, TUNE, TEST = "train", "validation", "test"
_PARTS = {"train": TRAIN, "training": TRAIN, "val": TUNE, "valid": TUNE, "validation": TUNE, "dev": TUNE, "test": TEST}
"""Parts by the names that sets give them."""


@dataclass(frozen=True)
class OfficialSplit:
    """One split of a data set.

    Attributes:
        name: as the data set states it.
        parts: of each video in the data set's order: train, validation, test; empty where it is in none.
        on_both_sides: by unit (``student``, ``site``), the names that are in the test part and in another one.
    """

    name: str
    parts: tuple[str, ...]
    on_both_sides: Mapping[str, tuple[str, ...]]

    @property
    def fold(self) -> NDArray[np.int64]:
        """0 for training videos, 1 for those that are judged, -1 for those of the validation part and of none."""
        return np.array([{TRAIN: 0, TEST: 1}.get(part, -1) for part in self.parts], np.int64)

    @property
    def tune(self) -> NDArray[np.bool_]:
        """Videos of the validation part, ``bool[V]``."""
        return np.array([part == TUNE for part in self.parts])

    @property
    def warnings(self) -> tuple[str, ...]:
        """A sentence for each unit that stands on both sides: the test is then of the same people or places."""
        return tuple(
            f"{len(names)} of the {unit}s in the test part are in another part as well ({', '.join(names[:5])}"
            f"{', ...' if len(names) > 5 else ''}): results say nothing of new {unit}s."
            for unit, names in self.on_both_sides.items()
        )


def official_split(dataset: Dataset, name: str, group: str | None = None) -> OfficialSplit:
    """The split of that name; ``split`` is the main one. ``group``: the unit that may not stand on both sides.

    Raises:
        OptionsError: the data set states no such split.
        DataError: a part has a name that is none of train, validation and test, training or test part is empty, or one
            performance (or one of ``group``) is in the test part and in another one: its answers would be known.
    """
    stated = {split for video in dataset.videos for split in video.splits}
    if name not in stated:
        has = f"It states {', '.join(sorted(stated))}." if stated else "It states none; leave --by-split out."
        raise OptionsError(f"--by-split {name}: {dataset.name} has no such split. {has}")
    parts = []
    for video in dataset.videos:
        if (part := part_of(video, name)) is None:
            what = f"video {video.video_id!r} is in part {video.splits[name]!r} of split {name!r}"
            raise DataError(f"{dataset.root / 'videos.jsonl'}: {what}. Name the parts train, validation and test.")
        parts.append(part)
    for part in (TRAIN, TEST):
        if part not in parts:
            raise DataError(f"{dataset.root}: split {name!r} has no video in its {part} part. Take another split.")
    performances = {video.video_id: video.video_id for video in dataset.videos}
    with suppress(DataError):  # no video shares a performance with another
        performances |= clusters_of(dataset, "performance").names
    if leaked := _on_both_sides([performances[video.video_id] for video in dataset.videos], parts):
        what = f"{leaked[0]!r} is in the test part of split {name!r} and in another part"
        raise DataError(f"{dataset.root / 'videos.jsonl'}: {what}. Put all its videos in one part.")
    units = {
        "student": [str(video.extra.get("student") or "") for video in dataset.videos],
        "site": [str(video.site or "") for video in dataset.videos],
    }
    both = {unit: found for unit, names in units.items() if (found := _on_both_sides(names, parts))}
    split = OfficialSplit(name, tuple(parts), both)
    if group in both:
        raise DataError(f"{dataset.root}: split {name!r}: {split.warnings[list(both).index(group)]} Leave --group out.")
    return split


def part_of(video: Video, split: str) -> str | None:
    """The part of a split that a video is in, by our name for it; empty for none, None for one with another name."""
    written = video.splits.get(split, "")
    return _PARTS.get(written.casefold()) if written else ""


def _on_both_sides(names: list[str], parts: list[str]) -> tuple[str, ...]:
    """Names, but for the empty one, of test videos that other parts have too, sorted."""
    sides = [{name for name, part in zip(names, parts, strict=True) if (part == TEST) is test and part}
             for test in (True, False)]  # fmt: skip
    return tuple(sorted((sides[0] & sides[1]) - {""}))

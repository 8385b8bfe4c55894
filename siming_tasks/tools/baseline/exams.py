"""Input and output of a baseline, whatever it learns with."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from siming_tasks.common.schema import Scope, Video
from siming_tasks.data import Dataset
from siming_tasks.options import Options
from siming_tasks.tools.baseline.crossfit import StepJudgments

__all__ = ["SCOPES", "BaselineResult", "Exams", "Key", "Watched"]

SCOPES: tuple[Scope, ...] = ("full", "clip")

T = TypeVar("T")
Watched = Callable[[list[T], str], Iterable[T]]
"""Is given a list and what its members are, and gives them back one by one, such as a progress bar."""

Key = tuple[Scope, str]
"""A scope and a step."""


@dataclass(frozen=True)
class Exams:
    """Exams with labels, dealt into folds.

    Attributes:
        dataset: the exams.
        options: of the run: which frames, where the cache is, the seed.
        digests: of every video's file, by video id.
        groups: of every video: what is in one group is never on both sides of a split.
        fold: of every video.
        watched: shows progress.
    """

    dataset: Dataset
    options: Options
    digests: Mapping[str, str]
    groups: NDArray[np.int64]
    fold: NDArray[np.int64]
    watched: Watched[Any]

    def questions(self) -> list[Key]:
        """All that can be asked."""
        return [(scope, step.id) for scope in SCOPES for step in self.dataset.rubric.steps]

    def asked(self, key: Key, shown: Mapping[str, Any]) -> Iterator[tuple[int, Video]]:
        """The videos, with their places, that are asked about this and can be shown."""
        scope, step = key
        for place, video in enumerate(self.dataset.videos):
            if video.video_id in shown and step in (video.applicable_ids if scope == "full" else video.timed_ids):
                yield place, video


@dataclass(frozen=True)
class BaselineResult:
    """Result of training and judging.

    Attributes:
        judged: by scope and step, what is said, and of which videos (their places).
        media: by video id, and within it by step id of a clip or the empty name, which frames were shown.
        unreadable: why which videos could not be shown.
        facts: how it was made, for the prediction file.
    """

    judged: Mapping[Key, tuple[StepJudgments, list[int]]]
    media: Mapping[str, Mapping[str, Mapping[str, Any]]]
    unreadable: tuple[str, ...]
    facts: Mapping[str, Any]

"""Times that go with a panel: how long each video lasts and when each step is shown, in seconds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from siming_tasks.common.errors import DataError

FloatArray = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Timing:
    """Durations of V videos and the spans of their S steps, as far as a judge could be told of them.

    Attributes:
        durations: of each video in seconds, ``float[V]``; NaN where unknown.
        spans: start and end of each step in seconds, ``float[V, S, 2]``; NaN where unknown, or where the setting does
            not show when a step is (the whole video is).

    Raises:
        DataError: the shapes do not fit each other.
    """

    durations: FloatArray
    spans: FloatArray

    def __post_init__(self) -> None:
        for name in ("durations", "spans"):
            array = np.array(getattr(self, name), dtype=np.float64)
            array.setflags(write=False)
            object.__setattr__(self, name, array)
        if self.durations.ndim != 1 or self.spans.ndim != 3 or self.spans.shape[::2] != (len(self.durations), 2):
            shapes = f"{self.durations.shape} and {self.spans.shape}"
            raise DataError(f"Timing: durations and spans have shapes {shapes}, not (videos,) and (videos, steps, 2).")

    def videos(self, index: NDArray[np.int64]) -> Timing:
        """The videos at these positions."""
        return Timing(self.durations[index], self.spans[index])

    def steps(self, index: Sequence[int] | NDArray[np.intp]) -> Timing:
        """The steps at these positions."""
        return Timing(self.durations, self.spans[:, index])

    def features(self) -> FloatArray:
        """Everything that a stop-watch tells of each step, ``float[V, S, 6]``; NaN where unknown.

        Seconds of the span, of the video and until the span starts (in tenths, as frames are captioned); the share of
        the video that the span takes; and how far seconds of span and video lie from the step's median over the videos,
        in standard deviations.
        """
        start, end = np.moveaxis(self.spans, 2, 0)
        length, start = np.round(end - start, 1), np.round(start, 1)
        duration = np.broadcast_to(np.round(self.durations, 1)[:, None], length.shape)
        with np.errstate(invalid="ignore", divide="ignore"):
            columns = [length, duration, start, length / duration]
        return np.stack([*columns, _standardised(length), _standardised(duration)], axis=2)


def _standardised(values: FloatArray) -> FloatArray:
    """Distance from the median of each column in its standard deviations; 0 where a column is constant."""
    known = ~np.isnan(values)
    masked = np.ma.masked_array(values, ~known)
    ma: Any = np.ma
    middle, spread = ma.median(masked, axis=0), masked.std(axis=0)
    distance = (masked - middle) / ma.maximum(spread, 1e-9)
    return np.asarray(ma.filled(distance, np.nan), np.float64)

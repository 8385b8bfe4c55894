"""Frames that a request takes of a video: so many, evenly by index.

``docs/reference/media.md`` states the rule: positions are rounded *down*, as lmms-eval's readers, the decord recipe and
most model cards do.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from siming_tasks.common.errors import MediaError

SAMPLER = "uniform-floor/1"
"""Name and version of the rule; it moves when any index moves, and is part of every record."""

UNIFORM = "uniform"
"""Sampler of a request that takes its frames by this rule."""

SAMPLERS: dict[str, str] = {"motion": "motion-grid/1"}
"""Name and version of the rule by content (:mod:`siming_tasks.media.motion`), as records state it."""

SLACK = 0.0005  # spans are written to the millisecond; a frame within half of one of a boundary counts as on it (s)
OVERRUN = 0.5  # tolerance (s) for a span that ends after the last frame: container lengths often include audio


def sample_indices(n_frames: int, frames: int, span: tuple[int, int] | None = None) -> NDArray[np.int64]:
    """Compute the indices of (at most) ``frames`` frames, int64, of the whole video, ascending, by the uniform rule.

    Args:
        n_frames: frames of the whole video.
        frames: how many to take.
        span: first and last frame index, both included; None for the whole video.

    Raises:
        ValueError: no frame is asked for, or the span is not inside ``0 .. n_frames - 1``.

    Example:
        >>> sample_indices(100, 4).tolist()
        [0, 33, 66, 99]
        >>> sample_indices(100, 64, span=(10, 12)).tolist()
        [10, 11, 12]
    """
    first, last = (0, n_frames - 1) if span is None else span
    if frames < 1:
        raise ValueError(f"frames={frames}; ask for at least 1")
    if not 0 <= first <= last < n_frames:
        raise ValueError(f"frames {first}..{last} are not within 0..{n_frames - 1}")
    return np.linspace(first, last, min(frames, last - first + 1), dtype=np.int64)


def frame_range(times: NDArray[np.float64], start: float, end: float) -> tuple[int, int]:
    """Find the first and last frame of the span ``[start, end)``: those that begin in it, so that spans share none.

    A span too short to contain the beginning of a frame is the one frame on screen at ``start``.

    ``times`` are those of every frame in seconds from second 0, ascending; ``start`` and ``end`` are seconds too.

    Raises:
        MediaError: the span is empty, negative, or reaches past the last frame by more than half a second.
    """
    if not 0 <= start < end < math.inf:
        raise MediaError(f"span {start:g}-{end:g} s is empty or negative; a step needs 0 <= start < end.")
    period = float(times[-1] - times[0]) / (len(times) - 1) if len(times) > 1 else 0.0
    if start > times[-1] + period or end > times[-1] + period + OVERRUN:
        raise MediaError(f"span {start:g}-{end:g} s reaches past the last frame at {times[-1]:.3f} s.")
    first = int(np.searchsorted(times, start - SLACK, side="left"))
    last = int(np.searchsorted(times, end - SLACK, side="left")) - 1
    if last < first:
        first = last = max(0, min(last, len(times) - 1))
    return first, last

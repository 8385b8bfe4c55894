"""Which frames a budget takes: pure functions of frame times, span and budget, documented to the index.

**The rule.** The frames of a span are ``first .. last`` (both included, presentation order, as a linear decode gives
them). A budget takes ``k`` of them, ``k = min(frames, floor(fps * duration), last - first + 1)``, at the indices
``np.linspace(first, last, k, dtype=int)``: first and last frame included, positions in between rounded *down*.
This is what lmms-eval's readers, the decord recipe and most model cards do. qwen-vl-utils rounds to the *nearest*
frame instead (``rounding="nearest"``): its inner indices are the same or one higher. Both space frames evenly by
*index*; in a file of variable rate the times are then uneven, and :class:`~siming_tasks.media.timeline.Timeline`
carries the true ones.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from siming_tasks.common.errors import MediaError, OptionsError

__all__ = ["SAMPLER", "UNIFORM", "Budget", "frame_range", "matched_budget", "sample_count", "sample_indices"]

SAMPLER = "uniform-floor/1"
"""Name and version of the rule; it moves when any index moves, and is part of every record."""

UNIFORM = "uniform"
"""What a request says that wants its frames by this rule; rules by content: :mod:`siming_tasks.media.signal`."""

SLACK = 0.0005
"""Spans are written to the millisecond; a frame within half of one of a boundary counts as on it (s)."""

OVERRUN = 0.5
"""How far a span may reach past the last frame before it is an error (s): container lengths often include audio."""


@dataclass(frozen=True)
class Budget:
    """How many frames a request may show: at most ``frames``, at most ``fps`` a second, or both (the smaller wins).

    Raises:
        OptionsError: neither is given, or one is not positive.
    """

    frames: int | None = None
    fps: float | None = None

    def __post_init__(self) -> None:
        if self.frames is None and self.fps is None:
            raise OptionsError("A frame budget needs `frames`, `fps` or both.")
        if self.frames is not None and self.frames < 1:
            raise OptionsError(f"A frame budget of {self.frames} frames shows nothing; give at least 1.")
        if self.fps is not None and not 0 < self.fps < math.inf:
            raise OptionsError(f"A frame budget of {self.fps} frames per second is not a positive number.")


def sample_count(n_frames: int, rate: float, budget: Budget, *, even: bool = False) -> int:
    """Number of frames that ``budget`` takes of ``n_frames`` frames at ``rate`` frames/s.

    Args:
        n_frames: frames available.
        rate: mean frame rate of the video (frames/s), used by an ``fps`` budget only.
        budget: the limit.
        even: round down to an even count of at least 2 (models with a temporal patch of 2); one frame counts twice.
    """
    count = n_frames
    if budget.frames is not None:
        count = min(count, budget.frames)
    if budget.fps is not None:
        count = min(count, math.floor(n_frames / rate * budget.fps))
    count = max(1, count)
    return max(2, count - count % 2) if even else count


def sample_indices(
    n_frames: int,
    *,
    budget: Budget,
    rate: float = 1.0,
    span: tuple[int, int] | None = None,
    even: bool = False,
    rounding: Literal["floor", "nearest"] = "floor",
) -> NDArray[np.int64]:
    """Frame indices that ``budget`` takes, ascending; the rule stands at the top of this module.

    Args:
        n_frames: frames of the whole video.
        budget: the limit.
        rate: mean frame rate (frames/s), used by an ``fps`` budget only.
        span: first and last frame index, both included; None for the whole video.
        even: an even count of at least 2 (see :func:`sample_count`).
        rounding: ``floor`` (ours, lmms-eval, decord recipes) or ``nearest`` (qwen-vl-utils).

    Returns:
        int64 array of frame indices of the whole video.

    Raises:
        ValueError: the span is not inside ``0 .. n_frames - 1``.

    Example:
        >>> sample_indices(100, budget=Budget(frames=4)).tolist()
        [0, 33, 66, 99]
        >>> sample_indices(100, budget=Budget(frames=64), span=(10, 12)).tolist()
        [10, 11, 12]
    """
    first, last = (0, n_frames - 1) if span is None else span
    if not 0 <= first <= last < n_frames:
        raise ValueError(f"frames {first}..{last} do not lie inside 0..{n_frames - 1}")
    count = sample_count(last - first + 1, rate, budget, even=even)
    if rounding == "floor":
        return np.linspace(first, last, count, dtype=np.int64)
    return np.rint(np.linspace(first, last, count)).astype(np.int64)


def frame_range(times: NDArray[np.float64], start: float, end: float) -> tuple[int, int]:
    """First and last frame of the span ``[start, end)``: the frames that begin in it, so that spans do not share one.

    A span too short to hold the beginning of a frame is the one frame on screen at ``start``.

    Args:
        times: presentation time of every frame, seconds from the first (ascending).
        start: begin of the span (s).
        end: end of the span (s), exclusive.

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


def matched_budget(duration: float, frames: int, span: tuple[float, float]) -> Budget:
    """The clip budget that samples ``span`` as densely as ``frames`` frames sample a video of ``duration`` seconds.

    It takes out of "full video against clip" what is only sampling density: what remains is localisation.

    Example:
        >>> matched_budget(168.9, 64, (10.0, 20.0))
        Budget(frames=4, fps=None)
    """
    share = (span[1] - span[0]) / duration
    return Budget(frames=max(1, round(frames * share)))

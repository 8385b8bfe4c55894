"""Frames that a budget takes of a video: evenly by index, or more where the picture changes.

**The uniform rule.** The frames of a span are ``first .. last`` (both included, presentation order, as a linear decode
gives them). A budget takes ``k`` of them, ``k = min(frames, floor(fps * duration), last - first + 1)``, at the indices
``np.linspace(first, last, k, dtype=int)``: first and last frame included, positions in between rounded *down*.
This is what lmms-eval's readers, the decord recipe and most model cards do. qwen-vl-utils rounds to the *nearest*
frame instead (``rounding="nearest"``): its inner indices are the same or one higher. Both space frames evenly by
*index*; in a file of variable rate the times are then uneven, and :class:`~siming_tasks.media.timeline.Timeline`
carries the true ones.

**The rules by content** look at a coarse grid of frames: every ``s``-th frame from the first on,
``s = max(1, round(rate / 2.5))``: two or three a second. Each is reduced to 64 x 36 grey pixels, levels 0..255: each
the mean of 5 x 5 values of the luma, evenly spread over its part. The change of a frame of the grid, the first of which
has none, is

* ``motion``: the mean absolute difference to the frame of the grid before it.
* ``scene``: the least such difference to any of the ten before it. What moves to and fro (compressions) looks like
  itself again and changes little; what was not there before counts.

Let ``first .. last`` and ``k`` be as above, ``g`` the frames of the grid among them, with weights
``w = sqrt(change) + mean(sqrt(change)) / 4`` (0 for the first), so that a fifth of the frames goes by time alone, and
``W`` their running sum. For every ``t`` of ``np.linspace(0, W[-1], k)`` the first ``j`` with ``W[j] >= t`` is taken.
Where that takes a frame twice, the widest gap by ``W`` that has frames of the grid inside is halved at its middle frame
(the lower of two), the first of equally wide ones, until there are ``k``. A grid of fewer than ``1.5 k`` frames offers
no choice: the uniform rule holds, as it does for most clips.
"""

from __future__ import annotations

import json
import math
from collections import deque
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from siming_tasks.common.errors import MediaError, OptionsError
from siming_tasks.common.files import atomic_write

if TYPE_CHECKING:
    from av.video.frame import VideoFrame

    from siming_tasks.media.timeline import Timeline

SAMPLER = "uniform-floor/1"
"""Name and version of the uniform rule; it moves when any index moves, and is part of every record."""

UNIFORM = "uniform"
"""Sampler of a request that takes its frames by this rule."""

SAMPLERS: dict[str, str] = {"motion": "motion-grid/1", "scene": "scene-grid/1"}
"""Name and version of each rule by content, as records state it; it moves when any index moves."""

SLACK = 0.0005  # spans are written to the millisecond; a frame within half of one of a boundary counts as on it (s)
OVERRUN = 0.5  # tolerance (s) for a span that ends after the last frame: container lengths often include audio
GRID_RATE = 2.5
TIME_SHARE = 0.25  # weight of every frame of the grid, in means of the square root of the change
CHOICE = 1.5  # frames of the grid for each frame taken, below which there is no choice
PAST, WIDTH, HEIGHT, WITHIN = 10, 64, 36, 5
_LUMA_FIRST = ("yuv420p", "yuvj420p", "yuv422p", "yuvj422p", "yuv444p", "yuvj444p", "nv12", "gray")
"""Formats whose first plane is the luma in 8 bits; others are converted first."""


@dataclass(frozen=True)
class Budget:
    """Limit of the frames that a request may show: at most ``frames``, ``fps`` a second, or the smaller of both.

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
    """Count the frames that ``budget`` takes of ``n_frames`` frames at ``rate`` frames/s.

    The rate is used by an ``fps`` budget only. ``even`` rounds down to an even count of at least 2 (models with a
    temporal patch of 2); one frame then counts twice.
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
    """Compute the frame indices (int64, of the whole video) that ``budget`` takes, ascending, by the uniform rule.

    Args:
        n_frames: frames of the whole video.
        budget: the limit.
        rate: mean frame rate (frames/s), used by an ``fps`` budget only.
        span: first and last frame index, both included; None for the whole video.
        even: as for :func:`sample_count`.
        rounding: ``floor`` (ours, lmms-eval, decord recipes) or ``nearest`` (qwen-vl-utils).

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
    """Find the first and last frame of the span ``[start, end)``: those that begin in it, so that spans share none.

    A span too short to hold the beginning of a frame is the one frame on screen at ``start``.

    ``times`` are those of every frame in seconds from the first, ascending; ``start`` and ``end`` are seconds too.

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
    """Compute the clip budget that samples ``span`` as densely as ``frames`` frames sample ``duration`` seconds.

    It takes out of "full video against clip" what is only sampling density: what remains is localisation.

    Example:
        >>> matched_budget(168.9, 64, (10.0, 20.0))
        Budget(frames=4, fps=None)
    """
    share = (span[1] - span[0]) / duration
    return Budget(frames=max(1, round(frames * share)))


def grid_frames(timeline: Timeline) -> NDArray[np.int64]:
    """Frames that the rules by content look at, ascending."""
    return np.arange(0, timeline.n_frames, max(1, round(float(timeline.rate) / GRID_RATE)))


@dataclass(frozen=True, eq=False)
class ChangeSignal:
    """Change of every frame of the grid: their indices, int64[G], and by sampler float64[G] in grey levels."""

    frames: NDArray[np.int64]
    change: dict[str, NDArray[np.float64]]

    def write(self, path: Path) -> None:
        """Write JSON, to a hundredth of a grey level, so that two machines' arithmetic does not choose differently."""
        change: dict[str, Any] = {name: np.round(values, 2).tolist() for name, values in self.change.items()}
        with atomic_write(path) as stream:
            json.dump({"samplers": SAMPLERS, "frames": self.frames.tolist(), **change}, stream)

    @classmethod
    def read(cls, path: Path) -> ChangeSignal | None:
        """Read what :meth:`write` wrote; None if it is not there, or by another version."""
        try:
            data = json.loads(path.read_text())
            if data["samplers"] != SAMPLERS:
                return None
            change = {name: np.asarray(data[name], np.float64) for name in SAMPLERS}
            return cls(np.asarray(data["frames"], np.int64), change)
        except (OSError, ValueError, KeyError, TypeError):
            return None


class ChangeMeter:
    """Measures the change of the frames of the grid as a decoder yields them."""

    def __init__(self) -> None:
        self._past: deque[NDArray[np.float32]] = deque(maxlen=PAST)
        self._rows: list[tuple[int, float, float]] = []  # frame, motion, scene

    def add(self, index: int, frame: VideoFrame) -> None:
        """Measure the next frame of the grid."""
        plane = (frame if frame.format.name in _LUMA_FIRST else frame.reformat(format="gray")).planes[0]
        pixels: Any = plane
        luma = np.frombuffer(pixels, np.uint8).reshape(plane.height, plane.line_size)
        # Samples of the luma in place of a scaled picture: a tenth of the time.
        rows, columns = (
            ((np.arange(parts * WITHIN) + 0.5) * side / (parts * WITHIN)).astype(np.intp)
            for parts, side in ((HEIGHT, plane.height), (WIDTH, plane.width))
        )
        samples = luma[rows[:, None], columns].reshape(HEIGHT, WITHIN, WIDTH, WITHIN)
        grey = np.asarray(samples.mean(axis=(1, 3)), np.float32)
        differences = [float(np.abs(before - grey).mean()) for before in self._past] or [0.0]
        self._rows.append((index, differences[-1], min(differences)))
        self._past.append(grey)

    def signal(self) -> ChangeSignal:
        """Signal of the frames so far."""
        frames, motion, scene = zip(*self._rows, strict=True) if self._rows else ((), (), ())
        return ChangeSignal(np.asarray(frames, np.int64), {"motion": np.round(motion, 2), "scene": np.round(scene, 2)})


def offers_choice(frames: NDArray[np.int64], bounds: tuple[int, int], count: int) -> bool:
    """Decide whether the grid has enough frames in a part to take ``count`` of by content; else the rule is uniform."""
    inside = int(np.searchsorted(frames, bounds[1], side="right") - np.searchsorted(frames, bounds[0]))
    return count > 1 and inside >= CHOICE * count


def choose_by_content(signal: ChangeSignal, sampler: str, bounds: tuple[int, int], count: int) -> list[int] | None:
    """Choose ``count`` frames of ``bounds``, first and last, by content; None where the grid offers no choice.

    Example:
        >>> still = np.r_[np.zeros(8), 9.0, 9.0, np.zeros(6)]
        >>> signal = ChangeSignal(np.arange(16) * 6, {"motion": still})
        >>> choose_by_content(signal, "motion", (0, 95), 5)
        [0, 24, 48, 54, 90]
    """
    if not offers_choice(signal.frames, bounds, count):
        return None
    inside = (signal.frames >= bounds[0]) & (signal.frames <= bounds[1])
    frames, root = signal.frames[inside], np.sqrt(signal.change[sampler][inside])
    root[0] = 0.0  # the difference to a frame before the part says nothing of it
    weight = root + TIME_SHARE * root.mean() if root.any() else np.ones(len(root))
    weight[0] = 0.0

    total = np.cumsum(weight)
    taken = sorted(set(np.searchsorted(total, np.linspace(0, total[-1], count) * (1 - 1e-12)).tolist()))
    while len(taken) < count:  # one frame more, in the widest gap that has one inside
        width = np.where(np.diff(taken) > 1, np.diff(total[taken]), -1.0)
        at = int(width.argmax())
        taken.insert(at + 1, (taken[at] + taken[at + 1]) // 2)
    return [int(index) for index in frames[taken]]

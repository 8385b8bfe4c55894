"""How much a video changes, frame by frame on a coarse grid, and which frames a budget takes by that.

**The grid.** Every ``s``-th frame from the first on, ``s = max(1, round(rate / 2.5))``: two or three a second. Each is
looked at as 64 x 36 grey pixels, levels 0..255: each the mean of 5 x 5 values of the luma, evenly spread over its part.

**The change** of a frame of the grid, the first of which has none:

* ``motion``: the mean absolute difference to the frame of the grid before it.
* ``scene``: the least such difference to any of the ten before it. What moves to and fro (compressions) looks like
  itself again and changes little; what was not there before counts.

**The rule.** Frames ``first .. last`` and a count ``k`` as in :mod:`siming_tasks.media.sampler`. ``g`` are the frames
of the grid among them, with weights ``w = sqrt(change) + mean(sqrt(change)) / 4`` (0 for the first), so that a fifth of
the frames goes by time alone, and ``W`` their running sum. For every ``t`` of ``np.linspace(0, W[-1], k)`` the first
``j`` with ``W[j] >= t`` is taken. Where that takes a frame twice, the widest gap by ``W`` that has frames of the grid
inside is halved at its middle frame (the lower of two), the first of equally wide ones, until there are ``k``. A grid
of fewer than ``1.5 k`` frames offers no choice: the uniform rule holds, as it does for most clips.
"""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from siming_tasks.common.files import atomic_write

if TYPE_CHECKING:
    from av.video.frame import VideoFrame

    from siming_tasks.media.timeline import Timeline

__all__ = ["SAMPLERS", "Sampler", "Signal", "Watcher", "chosen", "grid", "offers_choice"]

Sampler = Literal["uniform", "motion", "scene"]

SAMPLERS: dict[str, str] = {"motion": "motion-grid/1", "scene": "scene-grid/1"}
"""Name and version of each rule by content, as records state it; it moves when any index moves."""

GRID = 2.5
"""Frames of the grid a second."""

FLOOR = 0.25
CHOICE = 1.5
PAST = 10
WIDTH, HEIGHT, WITHIN = 64, 36, 5
_PLANAR = ("yuv420p", "yuvj420p", "yuv422p", "yuvj422p", "yuv444p", "yuvj444p", "nv12", "gray")
"""Formats whose first plane is the luma in 8 bits; others are converted first."""


def grid(timeline: Timeline) -> NDArray[np.int64]:
    """The frames that are looked at, ascending."""
    return np.arange(0, timeline.n_frames, max(1, round(float(timeline.rate) / GRID)))


@dataclass(frozen=True, eq=False)
class Signal:
    """The change of every frame of the grid.

    Attributes:
        frames: their indices, int64[G].
        change: by sampler, float64[G] in grey levels.
    """

    frames: NDArray[np.int64]
    change: dict[str, NDArray[np.float64]]

    def write(self, path: Path) -> None:
        """As JSON, to a hundredth of a grey level, so that two machines' arithmetic does not choose differently."""
        said: dict[str, Any] = {name: np.round(values, 2).tolist() for name, values in self.change.items()}
        with atomic_write(path) as stream:
            json.dump({"samplers": SAMPLERS, "frames": self.frames.tolist(), **said}, stream)

    @classmethod
    def read(cls, path: Path) -> Signal | None:
        """What :meth:`write` wrote; None if it is not there, or by another version."""
        try:
            said = json.loads(path.read_text())
            if said["samplers"] != SAMPLERS:
                return None
            change = {name: np.asarray(said[name], np.float64) for name in SAMPLERS}
            return cls(np.asarray(said["frames"], np.int64), change)
        except (OSError, ValueError, KeyError, TypeError):
            return None


class Watcher:
    """Looks at the frames of the grid as they pass."""

    def __init__(self) -> None:
        self._past: deque[NDArray[np.float32]] = deque(maxlen=PAST)
        self._frames: list[int] = []
        self._motion: list[float] = []
        self._scene: list[float] = []

    def see(self, index: int, frame: VideoFrame) -> None:
        """The next frame of the grid."""
        grey = _small(frame)
        apart = [float(np.abs(before - grey).mean()) for before in self._past]
        self._frames.append(index)
        self._motion.append(apart[-1] if apart else 0.0)
        self._scene.append(min(apart, default=0.0))
        self._past.append(grey)

    def signal(self) -> Signal:
        """What was seen."""
        change = {"motion": np.round(self._motion, 2), "scene": np.round(self._scene, 2)}
        return Signal(np.asarray(self._frames, np.int64), change)


def _small(frame: VideoFrame) -> NDArray[np.float32]:
    """The picture as ``HEIGHT`` x ``WIDTH`` grey levels; a tenth of the time that scaling it would take."""
    plane = (frame if frame.format.name in _PLANAR else frame.reformat(format="gray")).planes[0]
    pixels: Any = plane
    luma = np.frombuffer(pixels, np.uint8).reshape(plane.height, plane.line_size)
    rows, columns = (
        ((np.arange(parts * WITHIN) + 0.5) * side / (parts * WITHIN)).astype(np.intp)
        for parts, side in ((HEIGHT, plane.height), (WIDTH, plane.width))
    )
    taken = luma[rows[:, None], columns].reshape(HEIGHT, WITHIN, WIDTH, WITHIN)
    return np.asarray(taken.mean(axis=(1, 3)), np.float32)


def offers_choice(frames: NDArray[np.int64], bounds: tuple[int, int], count: int) -> bool:
    """Whether a rule by content has enough frames of the grid in a part to take ``count`` of; else it is uniform."""
    inside = int(np.searchsorted(frames, bounds[1], side="right") - np.searchsorted(frames, bounds[0]))
    return count > 1 and inside >= CHOICE * count


def chosen(signal: Signal, sampler: str, bounds: tuple[int, int], count: int) -> list[int] | None:
    """The frames that a rule by content takes of ``first .. last``; None where the grid offers no choice.

    Args:
        signal: of the video.
        sampler: ``motion`` or ``scene``.
        bounds: first and last frame.
        count: how many.

    Example:
        >>> still = np.r_[np.zeros(8), 9.0, 9.0, np.zeros(6)]
        >>> signal = Signal(np.arange(16) * 6, {"motion": still})
        >>> chosen(signal, "motion", (0, 95), 5)
        [0, 24, 48, 54, 90]
    """
    if not offers_choice(signal.frames, bounds, count):
        return None
    inside = (signal.frames >= bounds[0]) & (signal.frames <= bounds[1])
    frames, root = signal.frames[inside], np.sqrt(signal.change[sampler][inside])
    root[0] = 0.0  # the difference to a frame before the part says nothing of it
    weight = root + FLOOR * root.mean() if root.any() else np.ones(len(root))
    weight[0] = 0.0
    total = np.cumsum(weight)
    taken = sorted(set(np.searchsorted(total, np.linspace(0, total[-1], count) * (1 - 1e-12)).tolist()))
    while len(taken) < count:
        taken = _halved(taken, total)
    return [int(index) for index in frames[taken]]


def _halved(taken: Sequence[int], total: NDArray[np.float64]) -> list[int]:
    """One frame more, in the widest gap that has one inside."""
    places = np.asarray(taken)
    width = np.where(np.diff(places) > 1, np.diff(total[places]), -1.0)
    at = int(width.argmax())
    return [*taken[: at + 1], (taken[at] + taken[at + 1]) // 2, *taken[at + 1 :]]

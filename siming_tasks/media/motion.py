"""Frames taken where the picture moves (``SIMING_SAMPLER=motion``), a control of the even rule.

The rule looks at a coarse grid: every ``s``-th frame from the first on, ``s = max(1, round(rate / 2.5))``: two or three
a second. Each is reduced to 64 x 36 grey pixels, levels 0..255: each the mean of 5 x 5 values of the luma, evenly
spread over its part. The change of a frame of the grid is the mean absolute difference to the one before it, to a
hundredth of a level; that of the first is 0.

Let ``first .. last`` be the frames of a part and ``k`` the number to take, ``g`` the frames of the grid among them,
with weights ``w = sqrt(change) + mean(sqrt(change)) / 4`` (0 for the first), so that a fifth of the frames goes by
time alone, and ``W`` their running sum. For every ``t`` of ``np.linspace(0, W[-1], k)`` the first ``j`` with
``W[j] >= t`` is taken. Where that takes a frame twice, the widest gap by ``W`` that has frames of the grid inside is
halved at its middle frame (the lower of two), the first of equally wide ones, until there are ``k``. A grid of fewer
than ``1.5 k`` frames offers no choice: frames are even, as for most clips.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from siming_tasks.media.decode import decode
from siming_tasks.media.picture import to_numbers

if TYPE_CHECKING:
    from av.video.frame import VideoFrame

    from siming_tasks.media.timeline import Timeline

GRID_RATE = 2.5
TIME_SHARE = 0.25  # weight of every frame of the grid, in means of the square root of the change
CHOICE = 1.5  # frames of the grid for each frame taken, below which there is no choice
WIDTH, HEIGHT, WITHIN = 64, 36, 5


def grid_frames(timeline: Timeline) -> NDArray[np.int64]:
    """Frames that the rule looks at, ascending."""
    return np.arange(0, timeline.n_frames, max(1, round(float(timeline.rate) / GRID_RATE)))


def measure_change(path: Path, timeline: Timeline) -> NDArray[np.float64]:
    """Measure the change of every frame of the grid, in one pass: float64, one a frame, in grey levels.

    Raises:
        MediaError: a frame cannot be decoded.
    """
    change, before = [], None
    for _, frame in decode(path, timeline, grid_frames(timeline).tolist()):
        grey = _thumbnail(frame)
        change.append(0.0 if before is None else round(float(np.abs(before - grey).mean()), 2))
        before = grey
    return np.asarray(change)


def _thumbnail(frame: VideoFrame) -> NDArray[np.float32]:
    luma = to_numbers(frame)[0]
    # Samples of the luma in place of a scaled picture: a tenth of the time.
    rows, columns = (
        ((np.arange(parts * WITHIN) + 0.5) * side / (parts * WITHIN)).astype(np.intp)
        for parts, side in ((HEIGHT, frame.height), (WIDTH, frame.width))
    )
    samples = luma[rows[:, None], columns].reshape(HEIGHT, WITHIN, WIDTH, WITHIN)
    return np.asarray(samples.mean(axis=(1, 3)), np.float32)


def offers_choice(grid: NDArray[np.int64], bounds: tuple[int, int], count: int) -> bool:
    """True if a part of the grid has enough frames to choose ``count`` by content; otherwise frames are even."""
    inside = int(np.searchsorted(grid, bounds[1], side="right") - np.searchsorted(grid, bounds[0]))
    return count > 1 and inside >= CHOICE * count


def choose_by_motion(
    grid: NDArray[np.int64], change: NDArray[np.float64], bounds: tuple[int, int], count: int
) -> list[int]:
    """Choose ``count`` frames of a part, from its first to its last frame (``bounds``), where the grid offers a choice.

    Example:
        >>> still = np.r_[np.zeros(8), 9.0, 9.0, np.zeros(6)]
        >>> choose_by_motion(np.arange(16) * 6, still, (0, 95), 5)
        [0, 24, 48, 54, 90]
    """
    inside = (grid >= bounds[0]) & (grid <= bounds[1])
    frames, root = grid[inside], np.sqrt(change[inside])
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

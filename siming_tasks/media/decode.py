"""Exact frames by index: decode forward from a keyframe, take a frame only if its timestamp is the expected one."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from siming_tasks.errors import MediaError
from siming_tasks.media.timeline import REMUX, Timeline, open_video

if TYPE_CHECKING:
    from av.video.frame import VideoFrame

__all__ = ["decode", "fitted", "rgb"]


def decode(path: Path, timeline: Timeline, indices: Iterable[int]) -> Iterator[tuple[int, VideoFrame]]:
    """Yield ``(index, frame)`` for the wanted indices, ascending, in one forward pass and constant memory.

    Decoding starts at the last keyframe before the first wanted frame. If what comes out after that seek is not what
    the timeline promises (a wrong index, an intra-refresh stream), the pass starts again from the first frame.

    Raises:
        MediaError: a frame cannot be decoded or its timestamp is out of order; names file and time.
    """
    wanted = sorted(set(indices))
    if not wanted:
        return
    key = int(timeline.keyframes[np.searchsorted(timeline.keyframes, wanted[0], side="right") - 1])
    done = 0
    if key:
        try:
            for pair in _forward(path, timeline, wanted, key):
                yield pair
                done += 1
            return
        except _Missed:
            pass
    try:
        yield from _forward(path, timeline, wanted[done:], 0)
    except _Missed as missed:
        raise MediaError(str(missed)) from None


class _Missed(Exception):
    """The pass did not produce the frames that the timeline promises."""


def _forward(path: Path, timeline: Timeline, wanted: list[int], key: int) -> Iterator[tuple[int, VideoFrame]]:
    times, position = timeline.times, 0
    expected = key
    with open_video(path) as (container, stream):
        stream.thread_type = "AUTO"
        if key:
            container.seek(int(timeline.pts[key]), stream=stream)
        try:
            for frame in container.decode(stream):
                if frame.pts is not None and key and frame.pts < timeline.pts[expected]:
                    continue  # before the keyframe: possibly built on frames that the seek skipped
                if frame.pts != timeline.pts[expected]:
                    raise _Missed(_mismatch(path, timeline, expected, frame.pts))
                if expected == wanted[position]:
                    if frame.is_corrupt:
                        raise _Missed(f"{path}: the frame at {times[expected]:.3f} s is damaged. {REMUX}")
                    yield expected, frame
                    position += 1
                    if position == len(wanted):
                        return
                expected += 1
        except OSError as error:  # the decoder's own errors derive from it
            at = times[wanted[position]]
            raise _Missed(f"{path}: the frame at {at:.3f} s cannot be decoded ({error.strerror}).") from error
    raise _Missed(f"{path}: the frame at {times[wanted[position]]:.3f} s cannot be decoded. The file is damaged.")


def _mismatch(path: Path, timeline: Timeline, expected: int, pts: int | None) -> str:
    at = timeline.times[expected]
    if pts is None or pts < timeline.pts[expected]:
        return f"{path}: timestamps go backwards at {at:.3f} s. {REMUX}"
    return f"{path}: the frame at {at:.3f} s cannot be decoded; the file is damaged there. {REMUX}"


def fitted(width: int, height: int, size: int | None) -> tuple[int, int]:
    """``(width, height)`` scaled down, never up, so that the longer side has at most ``size`` pixels."""
    longer = max(width, height)
    if size is None or longer <= size:
        return width, height
    return max(1, round(width * size / longer)), max(1, round(height * size / longer))


def rgb(frame: VideoFrame, size: int | None = None) -> NDArray[np.uint8]:
    """The upright picture, uint8 ``[height, width, 3]``, longer side at most ``size`` pixels."""
    width, height = fitted(frame.width, frame.height, size)
    array = frame.to_ndarray(format="rgb24", width=width, height=height, interpolation="AREA")
    turned = np.rot90(array, round(frame.rotation / 90)) if frame.rotation else array
    return np.ascontiguousarray(turned, dtype=np.uint8)

"""Exact frames by index: a frame counts only if it comes out of the decoder undamaged, in order, at its timestamp."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from siming_tasks.errors import MediaError
from siming_tasks.media.timeline import REENCODE, Timeline, open_video

if TYPE_CHECKING:
    from av.video.frame import VideoFrame

__all__ = ["decode"]


class _Missed(Exception):
    """A pass did not produce what the timeline promises; the message says what is wrong with the file."""


def decode(path: Path, timeline: Timeline, indices: Iterable[int]) -> Iterator[tuple[int, VideoFrame]]:
    """Yield ``(index, frame)`` for the wanted indices, ascending, in one forward pass and in constant memory.

    The first attempt starts at the last keyframe before the first wanted frame and leaves out unwanted frames that no
    other frame is built on (about half the work in a file with B-frames). Should anything come out otherwise than the
    timeline promises, a second attempt decodes from the first frame and checks every one.

    Raises:
        MediaError: a frame cannot be decoded, is damaged or out of order; names the file and the time.
    """
    wanted = deque(sorted(set(indices)))
    if not wanted:
        return
    start = int(timeline.keyframes[np.searchsorted(timeline.keyframes, wanted[0], side="right") - 1])
    if start or timeline.reordered:
        try:
            yield from _sparse(path, timeline, wanted, start)
            return
        except _Missed:
            pass
    try:
        yield from _linear(path, timeline, wanted)
    except _Missed as missed:
        raise MediaError(str(missed)) from None


def _sparse(path: Path, timeline: Timeline, wanted: deque[int], start: int) -> Iterator[tuple[int, VideoFrame]]:
    pts_wanted = {int(pts) for pts in timeline.pts[list(wanted)]}
    floor = latest = int(timeline.pts[start])
    with open_video(path) as (container, stream):
        import av

        stream.thread_type = "AUTO"
        if start:
            container.seek(floor, stream=stream)
        for packet in container.demux(stream):
            # Safe only where storage order differs from display order: elsewhere timestamps may be guesses.
            if timeline.reordered:
                skip = packet.pts is not None and packet.pts not in pts_wanted
                stream.codec_context.skip_frame = "NONREF" if skip else "DEFAULT"
            try:
                frames = stream.decode(packet)
            except av.error.FFmpegError as error:
                raise _Missed(str(error)) from error
            for frame in frames:
                if frame.pts is not None and frame.pts < floor:
                    continue  # shown before the keyframe: may be built on frames that the seek left out
                if frame.pts is None or frame.pts < latest or frame.is_corrupt or frame.pts > timeline.pts[wanted[0]]:
                    raise _Missed
                latest = frame.pts
                if frame.pts == timeline.pts[wanted[0]]:
                    yield wanted.popleft(), frame
                    if not wanted:
                        return
    raise _Missed


def _linear(path: Path, timeline: Timeline, wanted: deque[int]) -> Iterator[tuple[int, VideoFrame]]:
    times, expected = timeline.times, 0
    with open_video(path) as (container, stream):
        import av

        stream.thread_type = "AUTO"
        frames = container.decode(stream)
        while wanted:
            where = f"{path}: the frame at {times[expected]:.3f} s"
            try:
                frame = next(frames)
            except StopIteration:
                raise _Missed(f"{where} cannot be decoded; the file is cut short there. {REENCODE}") from None
            except av.error.FFmpegError as error:
                raise _Missed(f"{where} or soon after cannot be decoded ({error.strerror}). {REENCODE}") from error
            if frame.pts is None or frame.pts != timeline.pts[expected]:
                raise _Missed(f"{where} is missing or out of order. {REENCODE}")
            if frame.is_corrupt:
                raise _Missed(f"{where} is damaged. {REENCODE}")
            if expected == wanted[0]:
                yield wanted.popleft(), frame
            expected += 1

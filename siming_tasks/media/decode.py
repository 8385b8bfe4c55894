"""Exact frames by index: a frame counts only if it comes out of the decoder undamaged, in order, at its timestamp."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from siming_tasks.common.errors import MediaError
from siming_tasks.media.container import open_video
from siming_tasks.media.timeline import REENCODE, Timeline

if TYPE_CHECKING:
    from av.video.frame import VideoFrame


PIXELS = 4
"""Number of what becomes of a recording here: pixels, times, names of files in the store. It moves when one does."""

TESTED = (61, 62)
"""Major versions of libavcodec (FFmpeg 7 and 8) for which a test confirms the same pixels."""


def pixels() -> int | str:
    """Give :data:`PIXELS`; with the decoder's version where no test has shown that it gives the same."""
    import av

    major = av.library_versions["libavcodec"][0]
    return PIXELS if major in TESTED else f"{PIXELS}-libavcodec{major}"


def decoder() -> dict[str, str]:
    """List the versions of PyAV and of FFmpeg's libraries in it, for the record of a request."""
    import av

    return {"av": av.__version__, **{name: ".".join(map(str, parts)) for name, parts in av.library_versions.items()}}


class _Missed(Exception):
    """Frames of a pass are not those that the timeline promises; the message is the decoder's."""


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
    before = timeline.keyframes[timeline.keyframes <= wanted[0]]
    start = int(before[-1]) if len(before) else 0
    if (start or timeline.reordered) and not timeline.by_order:
        with suppress(_Missed):
            yield from _sparse(path, timeline, wanted, start)
            return
    times, expected = timeline.times, 0
    frames = _frames(path, None if timeline.by_order else int(timeline.pts[0]), None, seek=False)
    while wanted:
        where = f"{path}: the frame at {times[expected]:.3f} s"
        try:
            frame = next(frames)
        except _Missed as missed:
            raise MediaError(f"{where} or soon after is damaged ({missed}). {REENCODE}") from None
        except StopIteration:
            raise MediaError(f"{where} cannot be decoded; the file is cut short there. {REENCODE}") from None
        if not timeline.by_order and frame.pts != timeline.pts[expected]:
            raise MediaError(f"{where} is missing or out of order. {REENCODE}")
        if expected == wanted[0]:
            yield wanted.popleft(), frame
        expected += 1


def _sparse(path: Path, timeline: Timeline, wanted: deque[int], start: int) -> Iterator[tuple[int, VideoFrame]]:
    """Decode from the keyframe at ``start`` on, leaving out what no wanted frame is built on."""
    needed = {int(pts) for pts in timeline.pts[list(wanted)]}
    # Leaving frames out is safe only where storage order differs from display order; elsewhere times may be guesses.
    frames = _frames(path, int(timeline.pts[start]), needed if timeline.reordered else None, seek=start > 0)
    latest = int(timeline.pts[start]) - 1
    for frame in frames:
        due = int(timeline.pts[wanted[0]])
        if frame.pts is None or frame.pts <= latest or frame.pts > due:
            raise _Missed
        latest = frame.pts
        if frame.pts == due:
            yield wanted.popleft(), frame
            if not wanted:
                return
    raise _Missed


def _frames(path: Path, first: int | None, needed: set[int] | None, *, seek: bool) -> Iterator[VideoFrame]:
    """Frames as the decoder returns them, from the keyframe at timestamp ``first`` on (None: from the first frame).

    What comes before that keyframe, errors included, is built on frames that are not there and is dropped. If
    ``needed`` is given, frames at other timestamps are left out as long as no other frame refers to them.
    """
    import av

    started = False
    with open_video(path) as (container, stream):
        stream.thread_type = "AUTO"
        if seek and first is not None:
            container.seek(first, stream=stream)
        for packet in container.demux(stream):
            if needed is not None:
                spare = packet.pts is not None and packet.pts not in needed and packet.pts != first
                stream.codec_context.skip_frame = "NONREF" if spare else "DEFAULT"
            try:
                frames = stream.decode(packet)
            except av.error.FFmpegError as error:
                if started:
                    raise _Missed(error.strerror) from None
                continue
            for frame in frames:
                if started or first is None or frame.pts is None or frame.pts >= first:
                    if frame.is_corrupt or not (started or first is None or frame.pts == first):
                        raise _Missed("the decoder reports errors")
                    started = True
                    yield frame

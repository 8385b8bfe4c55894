"""Exact frames by index: a frame counts only if it comes out of the decoder undamaged, in order, at its timestamp."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from siming_tasks.common.errors import MediaError
from siming_tasks.media.container import open_video
from siming_tasks.media.picture import Colour
from siming_tasks.media.timeline import REENCODE, Timeline, read_timeline

if TYPE_CHECKING:
    from av.video.frame import VideoFrame


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
    if start or timeline.reordered:
        with suppress(_Missed):
            yield from _sparse(path, timeline, wanted, start)
            return
    times, expected = timeline.times, 0
    frames = _frames(path, int(timeline.pts[0]), None, seek=False)
    while wanted:
        where = f"{path}: the frame at {times[expected]:.3f} s"
        try:
            frame = next(frames)
        except _Missed as missed:
            raise MediaError(f"{where} or soon after is damaged ({missed}). {REENCODE}") from None
        except StopIteration:
            raise MediaError(f"{where} cannot be decoded; the file is cut short there. {REENCODE}") from None
        if frame.pts != timeline.pts[expected]:
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


def _frames(path: Path, first: int, needed: set[int] | None, *, seek: bool) -> Iterator[VideoFrame]:
    """Frames as the decoder returns them, from the keyframe at timestamp ``first`` on.

    What comes before that keyframe, errors included, is built on frames that are not there and is dropped. If
    ``needed`` is given, frames at other timestamps are left out as long as no other frame refers to them.
    """
    import av

    started = False
    with open_video(path) as (container, stream):
        stream.thread_type = "AUTO"
        if seek:
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
                if started or frame.pts is None or frame.pts >= first:
                    if frame.is_corrupt or not (started or frame.pts == first):
                        raise _Missed("the decoder reports errors")
                    started = True
                    yield frame


@dataclass(frozen=True)
class MediaInfo:
    """Facts about one video file: counted, not taken from its header.

    Attributes:
        n_frames: exact number of frames that a decoder returns.
        fps: mean frame rate (frames/s).
        duration: from the first frame to the end of the last (s).
        width: pixels of the upright picture; as ``height``.
        rotation: degrees counter-clockwise by which players turn the stored picture.
        codec: of the video (``h264``); ``pix_fmt``: its pixel format (``yuv420p``).
        variable_rate: whether ``index / fps`` is anywhere wrong by more than half a frame.
        start: seconds by which the picture begins later than the file; times here count from the first picture.
        decoded: whether every frame was decoded (the full form) or only counted.
        stream: number of the video stream that is shown (see :func:`siming_tasks.media.container.main_stream`).
        n_streams: how many video streams there are, cover pictures included.
        colours: meaning of the numbers: matrix and range, by its tags or by convention (``bt709, limited range``).
        metadata: tags of the container and its video stream, as found (may identify people or places).
    """

    n_frames: int
    fps: float
    duration: float
    width: int
    height: int
    rotation: int
    codec: str
    pix_fmt: str
    has_audio: bool
    variable_rate: bool
    start: float
    decoded: bool
    stream: int
    n_streams: int
    colours: str
    metadata: Mapping[str, str]

    def to_json(self) -> dict[str, Any]:
        """Plain JSON types."""
        return asdict(self)


def read_media_info(path: Path, *, full: bool = False, timeline: Timeline | None = None) -> MediaInfo:
    """Read the facts about a video file, whose timeline may have been read already.

    ``full`` also decodes every frame, so that damage anywhere is found (about real time / 30 for 720p on two cores);
    else packets are counted and the first frame is decoded (tens of milliseconds).

    Raises:
        MediaError: the file is not a readable video, or, in the full form, some frame is damaged; names the time.
    """
    timeline = timeline or read_timeline(path)
    rotation, pix_fmt, width, height, colours = 0, "", 0, 0, ""
    for index, frame in decode(path, timeline, range(timeline.n_frames if full else 1)):
        if index == 0:
            rotation, pix_fmt, width, height = frame.rotation, frame.format.name, frame.width, frame.height
            colours = str(Colour.of(frame))
    even = np.linspace(0, timeline.times[-1], timeline.n_frames)
    varies = timeline.n_frames > 2 and np.abs(timeline.times - even).max() > even[1] / 2
    with open_video(path) as (container, stream):
        video_start = float((stream.start_time or 0) * (stream.time_base or 0))
        return MediaInfo(
            n_frames=timeline.n_frames,
            fps=float(timeline.rate),
            duration=timeline.duration,
            width=height if rotation % 180 else width,
            height=width if rotation % 180 else height,
            rotation=rotation,
            codec=stream.codec_context.codec.canonical_name,
            pix_fmt=pix_fmt,
            has_audio=bool(container.streams.audio),
            variable_rate=bool(varies),
            start=max(0.0, video_start - (container.start_time or 0) / 1e6),
            decoded=full,
            stream=container.streams.video.index(stream),
            n_streams=len(container.streams.video),
            colours=colours,
            metadata={**container.metadata, **stream.metadata},
        )

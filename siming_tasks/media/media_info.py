"""Facts about a video file: counted, not taken from its header."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from siming_tasks.media.container import open_video
from siming_tasks.media.decode import decode
from siming_tasks.media.picture import Colour
from siming_tasks.media.timeline import Timeline, read_timeline

__all__ = ["MediaInfo", "read_media_info"]


@dataclass(frozen=True)
class MediaInfo:
    """Facts about one video file.

    Attributes:
        n_frames: exact number of frames that a decoder returns.
        fps: mean frame rate (frames/s).
        duration: from the first frame to the end of the last (s).
        width: pixels of the upright picture.
        height: pixels of the upright picture.
        rotation: degrees counter-clockwise by which players turn the stored picture.
        codec: name of the video codec (``h264``).
        pix_fmt: pixel format (``yuv420p``).
        has_audio: whether there is a sound track.
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
    """Read the facts about a video file.

    Args:
        path: the file.
        full: also decode every frame, so that damage anywhere is found (about real time / 30 for 720p on two cores);
            else packets are counted and the first frame is decoded (tens of milliseconds).
        timeline: the file's, if it was read already.

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

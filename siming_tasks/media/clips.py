"""Frame-exact video files cut from a longer one: step clips and full-video proxies (H.264, 8-bit 4:2:0, no audio)."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from siming_tasks.files import atomic_path
from siming_tasks.media.colour import BT601, Colour, copy_tags
from siming_tasks.media.container import open_video
from siming_tasks.media.decode import decode
from siming_tasks.media.timeline import Timeline

if TYPE_CHECKING:
    from av.video.frame import VideoFrame

__all__ = ["write_frames"]

EIGHT_BIT = ("yuv420p", "yuvj420p")
NOTHING_ELSE = {"a53cc": "0", "udu_sei": "0"}
"""Captions and user data that the decoder found beside the pictures are not written again."""


def write_frames(
    source: Path, timeline: Timeline, indices: Sequence[int], target: Path, *, intra: bool = False, crf: int = 16
) -> None:
    """Write exactly the frames ``indices`` of ``source`` as an .mp4 whose first frame is at time 0.

    Frame ``i`` of the new file is frame ``indices[i]`` of the source, at its original distance from the first. The
    last frame lasts the mean period, so that ``index / average rate`` is right at both ends for readers that compute
    times so. No B-frames: every reader counts and seeks alike. An odd side is padded by one repeated row of pixels.
    A single frame is written twice, because readers with a temporal patch of two refuse less.

    Args:
        source: the video.
        timeline: its timeline.
        indices: strictly ascending frame indices.
        target: the file to write (atomic).
        intra: make every frame a keyframe (a proxy with few frames far apart).
        crf: x264 quality; 16 keeps about 45 dB (36 where a camera's noise fills the picture).

    Raises:
        MediaError: a frame cannot be decoded.
    """
    import av

    pts = timeline.pts[np.asarray(indices)] - timeline.pts[indices[0]]
    period = int(pts[-1]) / (len(pts) - 1) if len(pts) > 1 else float(1 / timeline.rate / timeline.time_base)
    if len(pts) == 1:
        pts = np.asarray([0, max(1, round(period))])
    with (
        open_video(source) as (_, original),
        atomic_path(target) as temporary,
        av.open(str(temporary), "w", format="mp4") as output,
    ):
        stream: Any = None
        for number, (_, frame) in enumerate(decode(source, timeline, indices)):
            colour = Colour.of(frame)
            picture = _plain(frame, colour)
            if stream is None:
                stream = output.add_stream("libx264", rate=timeline.rate)
                stream.width, stream.height, stream.pix_fmt = picture.width, picture.height, picture.format.name
                stream.time_base = stream.codec_context.time_base = timeline.time_base
                copy_tags(original.codec_context, stream.codec_context, colour.matrix, colour.full)
                how = {"crf": str(crf), "preset": "veryfast", "bf": "0", "g": "1" if intra else "25", "forced-idr": "1"}
                stream.options = {**how, **NOTHING_ELSE}
            for at in pts if len(indices) == 1 else pts[number : number + 1]:
                picture.pts, picture.time_base, picture.pict_type = int(at), timeline.time_base, 0
                _mux(output, stream.encode(picture), pts, period)
        _mux(output, stream.encode(None), pts, period)


def _mux(output: Any, packets: list[Any], pts: Any, period: float) -> None:
    for packet in packets:
        number = int(np.searchsorted(pts, packet.pts))
        packet.duration = int(pts[number + 1] - pts[number]) if number + 1 < len(pts) else max(1, round(period))
        output.mux(packet)


def _plain(frame: VideoFrame, colour: Colour) -> VideoFrame:
    """The frame as upright 8-bit 4:2:0 with even sides; itself if it already is.

    The numbers keep their matrix and range: FFmpeg leaves the range alone among "j" formats and among others, and takes
    grey for one of the former. RGB alone is converted, by the matrix that it will be tagged with.
    """
    import av

    name = frame.format.name
    if name in EIGHT_BIT and not (frame.rotation or frame.width % 2 or frame.height % 2):
        return frame
    like = "yuvj444p" if name.startswith("yuvj") or colour.grey else "yuv444p"
    matrix = {} if colour.coded else {"src_colorspace": BT601, "dst_colorspace": colour.matrix}
    planes: NDArray[Any] = frame.reformat(format=like, **matrix).to_ndarray()
    planes = np.pad(planes, ((0, 0), (0, frame.height % 2), (0, frame.width % 2)), mode="edge")
    planes = np.ascontiguousarray(np.rot90(planes, round(frame.rotation / 90), axes=(1, 2)))
    kind = "yuvj" if colour.full else "yuv"
    return av.VideoFrame.from_ndarray(planes, format=f"{kind}444p").reformat(format=f"{kind}420p")

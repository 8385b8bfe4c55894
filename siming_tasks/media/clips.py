"""Frame-exact video files cut from a longer one: step clips and full-video proxies (H.264, 8-bit 4:2:0, no audio).

Every file is encoded alike: the same bytes each time, and nothing but pictures in them. Its first frame is at time 0;
the last lasts the mean period, so that ``index / average rate`` is right at both ends for readers that compute times
so. No B-frames: every reader counts and seeks alike. An odd side is padded by one repeated row of pixels. A single
frame is written twice, because readers with a temporal patch of two refuse less.
"""

from __future__ import annotations

import platform
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from tempfile import TemporaryFile
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from siming_tasks.common.files import atomic_path
from siming_tasks.media.container import open_video
from siming_tasks.media.decode import decode
from siming_tasks.media.picture import BT601, Colour, copy_colour_tags
from siming_tasks.media.timeline import Timeline

if TYPE_CHECKING:
    from av.video.frame import VideoFrame

_Picture: TypeAlias = "tuple[VideoFrame, Colour]"
"""A frame as it is encoded, and the colours it was decoded with."""

CRF = 16
"""x264's quality: about 45 dB (36 where a camera's noise fills the picture)."""


def x264_options(options: Mapping[str, str], params: str = "") -> dict[str, str]:
    """Build FFmpeg's options for ``libx264``.

    Closed captions and whatever else travels beside a camera's pictures are left out. The AVX-512 code of x264 164 for
    macroblock trees decides by what was left in memory: of files of 480 x 272 one in eight differed from the others by
    a grey level or two. It is not used.

    Args:
        options: FFmpeg's own.
        params: x264's, ``name=value`` with colons between them.
    """
    asm = _instruction_sets()
    chosen = ":".join(filter(None, (params, asm and f"asm={asm}")))
    return {**options, "a53cc": "0", "udu_sei": "0", **({"x264-params": chosen} if chosen else {})}


@cache
def _instruction_sets() -> str:
    """Instruction sets that x264 may use of this processor; empty for one that is not an x86."""
    if platform.machine().lower() not in ("x86_64", "amd64"):
        return ""
    import cv2

    avx2 = 11  # OpenCV's number of the question; it has no name in Python
    return "MMX2,SSE2Fast,SSSE3,SSE4.2,AVX,FMA3,BMI2,AVX2" if cv2.checkHardwareSupport(avx2) else "MMX2,SSE2"


def write_frames(
    source: Path, timeline: Timeline, indices: Sequence[int], target: Path, *, intra: bool = False
) -> None:
    """Write exactly the frames ``indices`` of ``source`` as an .mp4.

    Frame ``i`` of the new file is frame ``indices[i]`` of the source, at its original distance from the first; they
    are strictly ascending. ``intra`` makes every frame a keyframe (a proxy with few frames far apart).

    Raises:
        MediaError: a frame cannot be decoded.
    """
    pts = timeline.pts[np.asarray(indices)] - timeline.pts[indices[0]]
    pictures = ((picture, colour) for _, picture, colour in _decode_upright(source, timeline, indices))
    _encode(source, timeline, pictures, pts, target, "1" if intra else "25")


def write_reordered(
    source: Path, timeline: Timeline, indices: Sequence[int], pts: NDArray[np.int64], target: Path
) -> None:
    """Write frames of ``source`` in any order, a frame as often as it is named, each a keyframe.

    Decoded in one pass; the pictures wait in a file beside the target, so that memory does not grow with their number.

    Args:
        source: the video.
        timeline: its timeline.
        indices: of its frames, in the order in which the new file shows them.
        pts: when it shows them, from 0 on, strictly ascending, in the source's time base; shape of ``indices``.
        target: the file to write (atomic).

    Raises:
        MediaError: a frame cannot be decoded.
    """
    import av

    target.parent.mkdir(parents=True, exist_ok=True)
    with TemporaryFile(dir=target.parent) as spool:
        waiting = {}
        for index, picture, colour in _decode_upright(source, timeline, sorted(set(indices))):
            planes = picture.to_ndarray()
            waiting[index] = (spool.tell(), planes.shape, picture.format.name, colour)
            spool.write(planes.tobytes())

        def in_order() -> Iterator[_Picture]:
            for index in indices:
                place, shape, name, colour = waiting[index]
                spool.seek(place)
                planes = np.frombuffer(spool.read(int(np.prod(shape))), np.uint8).reshape(shape)
                yield av.VideoFrame.from_ndarray(planes, format=name), colour

        _encode(source, timeline, in_order(), np.asarray(pts), target, "1")


def _decode_upright(
    source: Path, timeline: Timeline, indices: Sequence[int]
) -> Iterator[tuple[int, VideoFrame, Colour]]:
    """Decode frames as upright 8-bit 4:2:0 pictures with even sides; a frame that already is one stays itself.

    The numbers keep their matrix and range: FFmpeg leaves the range alone among "j" formats and among others, and takes
    grey for one of the former. RGB alone is converted, by the matrix that it will be tagged with.
    """
    import av

    for index, frame in decode(source, timeline, indices):
        colour, name = Colour.of(frame), frame.format.name
        if name not in ("yuv420p", "yuvj420p") or frame.rotation or frame.width % 2 or frame.height % 2:
            planar = "yuvj444p" if name.startswith("yuvj") or colour.grey else "yuv444p"
            matrix = {} if colour.coded else {"src_colorspace": BT601, "dst_colorspace": colour.matrix}
            planes: NDArray[Any] = frame.reformat(format=planar, **matrix).to_ndarray()
            planes = np.pad(planes, ((0, 0), (0, frame.height % 2), (0, frame.width % 2)), mode="edge")
            planes = np.ascontiguousarray(np.rot90(planes, round(frame.rotation / 90), axes=(1, 2)))
            kind = "yuvj" if colour.full else "yuv"
            frame = av.VideoFrame.from_ndarray(planes, format=f"{kind}444p").reformat(format=f"{kind}420p")
        yield index, frame, colour


def _encode(
    source: Path,
    timeline: Timeline,
    pictures: Iterable[_Picture],
    pts: NDArray[np.int64],
    target: Path,
    group: str,
    params: str = "",
) -> None:
    """Encode pictures at these times, ``group`` of them from keyframe to keyframe; a single one is shown twice."""
    import av

    number = len(pts)
    period = int(pts[-1]) / (number - 1) if number > 1 else float(1 / timeline.rate / timeline.time_base)
    if number == 1:
        pts = np.asarray([0, max(1, round(period))])

    def mux(packets: list[Any]) -> None:
        for packet in packets:
            place = int(np.searchsorted(pts, packet.pts))
            packet.duration = int(pts[place + 1] - pts[place]) if place + 1 < len(pts) else max(1, round(period))
            output.mux(packet)

    with (
        open_video(source) as (_, original),
        atomic_path(target) as temporary,
        av.open(str(temporary), "w", format="mp4") as output,
    ):
        stream: Any = None
        for place, (picture, colour) in enumerate(pictures):
            if stream is None:
                stream = output.add_stream("libx264", rate=timeline.rate)
                stream.width, stream.height, stream.pix_fmt = picture.width, picture.height, picture.format.name
                stream.time_base = stream.codec_context.time_base = timeline.time_base
                copy_colour_tags(original.codec_context, stream.codec_context, colour.matrix, colour.full)
                options = {"crf": str(CRF), "preset": "veryfast", "bf": "0", "g": group, "forced-idr": "1"}
                stream.options = x264_options(options, params)
            for at in pts if number == 1 else pts[place : place + 1]:
                picture.pts, picture.time_base, picture.pict_type = int(at), timeline.time_base, 0
                mux(stream.encode(picture))
        mux(stream.encode(None))

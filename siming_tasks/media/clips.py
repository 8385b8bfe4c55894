"""Frame-exact video files cut from a longer one: step clips and full-video proxies (H.264, 8-bit 4:2:0, no audio)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from tempfile import TemporaryFile
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from siming_tasks.common.files import atomic_path
from siming_tasks.media.colour import BT601, Colour, copy_tags
from siming_tasks.media.container import open_video
from siming_tasks.media.decode import decode
from siming_tasks.media.timeline import Timeline
from siming_tasks.media.x264 import x264

if TYPE_CHECKING:
    from av.video.frame import VideoFrame

__all__ = ["write_frames", "write_reordered", "write_sequence"]

_Picture: TypeAlias = "tuple[int, VideoFrame, Colour]"
"""Number of a frame, the frame as it is encoded, and the colours it was decoded with."""

EIGHT_BIT = ("yuv420p", "yuvj420p")


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
    pts = timeline.pts[np.asarray(indices)] - timeline.pts[indices[0]]
    _encode(source, timeline, _decoded(source, timeline, indices), pts, target, "1" if intra else "25", crf)


def write_reordered(
    source: Path, timeline: Timeline, indices: Sequence[int], pts: NDArray[np.int64], target: Path, *, crf: int = 16
) -> None:
    """Write frames of ``source`` in any order, a frame as often as it is named, each a keyframe.

    Decoded in one pass; the pictures wait in a file beside the target, so that memory does not grow with their number.

    Args:
        source: the video.
        timeline: its timeline.
        indices: of its frames, in the order in which the new file shows them.
        pts: when it shows them, from 0 on, strictly ascending, in the source's time base; shape of ``indices``.
        target: the file to write (atomic).
        crf: x264 quality.

    Raises:
        MediaError: a frame cannot be decoded.
    """
    target.parent.mkdir(parents=True, exist_ok=True)
    with TemporaryFile(dir=target.parent) as spool:
        waiting = {}
        for index, picture, colour in _decoded(source, timeline, sorted(set(indices))):
            planes = picture.to_ndarray()
            waiting[index] = (spool.tell(), planes.shape, picture.format.name, colour)
            spool.write(planes.tobytes())

        def in_order() -> Iterator[_Picture]:
            import av

            for index in indices:
                place, shape, name, colour = waiting[index]
                spool.seek(place)
                planes = np.frombuffer(spool.read(int(np.prod(shape))), np.uint8).reshape(shape)
                yield index, av.VideoFrame.from_ndarray(planes, format=name), colour

        _encode(source, timeline, in_order(), np.asarray(pts), target, "1", crf)


def write_sequence(
    source: Path, timeline: Timeline, indices: Sequence[int], pts: NDArray[np.int64], target: Path, *, crf: int = 16
) -> None:
    """Write frames of ``source`` in any order with keyframes at fixed distances, wherever the pictures come from.

    Nothing in the coding tells a cut: a keyframe is every 25th frame, in an untouched copy as in an edited one. Every
    run of ascending frames is one pass of the decoder; memory does not grow with length.

    Args:
        source: the video.
        timeline: its timeline.
        indices: of its frames, in the order in which the new file shows them; the same one again holds the picture.
        pts: when it shows them, from 0 on, strictly ascending, in the source's time base; shape of ``indices``.
        target: the file to write (atomic).
        crf: x264 quality.

    Raises:
        MediaError: a frame cannot be decoded.
    """

    def pictures() -> Iterator[_Picture]:
        for run in _runs(indices):
            times = Counter(run)
            for index, picture, colour in _decoded(source, timeline, list(times)):
                for _ in range(times[index]):
                    yield index, picture, colour

    _encode(source, timeline, pictures(), np.asarray(pts), target, "25", crf, "scenecut=0")


def _runs(indices: Sequence[int]) -> Iterator[list[int]]:
    """The longest parts in which no frame comes before the one ahead of it."""
    run: list[int] = []
    for index in indices:
        if run and index < run[-1]:
            yield run
            run = []
        run.append(index)
    if run:
        yield run


def _decoded(source: Path, timeline: Timeline, indices: Sequence[int]) -> Iterator[_Picture]:
    for index, frame in decode(source, timeline, indices):
        colour = Colour.of(frame)
        yield index, _plain(frame, colour), colour


def _encode(
    source: Path,
    timeline: Timeline,
    pictures: Iterable[_Picture],
    pts: NDArray[np.int64],
    target: Path,
    group: str,
    crf: int,
    params: str = "",
) -> None:
    """The pictures at these times, ``group`` of them from keyframe to keyframe; a single one is shown twice."""
    import av

    number = len(pts)
    period = int(pts[-1]) / (number - 1) if number > 1 else float(1 / timeline.rate / timeline.time_base)
    if number == 1:
        pts = np.asarray([0, max(1, round(period))])
    with (
        open_video(source) as (_, original),
        atomic_path(target) as temporary,
        av.open(str(temporary), "w", format="mp4") as output,
    ):
        stream: Any = None
        for place, (_, picture, colour) in enumerate(pictures):
            if stream is None:
                stream = output.add_stream("libx264", rate=timeline.rate)
                stream.width, stream.height, stream.pix_fmt = picture.width, picture.height, picture.format.name
                stream.time_base = stream.codec_context.time_base = timeline.time_base
                copy_tags(original.codec_context, stream.codec_context, colour.matrix, colour.full)
                how = {"crf": str(crf), "preset": "veryfast", "bf": "0", "g": group, "forced-idr": "1"}
                stream.options = x264(how, params)
            for at in pts if number == 1 else pts[place : place + 1]:
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

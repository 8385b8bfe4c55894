"""Video files for a model's own reader: the exact cut of a clip, and a film of exactly the images of ``frames`` mode.

``docs/reference/media.md`` says how they are made: the same bytes each time, and nothing but pictures in them. Without
B-frames every reader counts and seeks alike; a single frame is written twice, because readers with a temporal patch of
two refuse less.
"""

from __future__ import annotations

import platform
from collections.abc import Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from siming_tasks.common.files import atomic_path
from siming_tasks.media.container import tags_of
from siming_tasks.media.decode import decode
from siming_tasks.media.picture import BT601, Colour, Tags, to_yuv420
from siming_tasks.media.timeline import Timeline

if TYPE_CHECKING:
    from av.video.frame import VideoFrame

CRF = 16
"""x264's quality: about 45 dB (36 where a camera's noise fills the picture)."""

IMAGE_CLOCK = Fraction(1, 90_000)
"""Unit of the times in a film of images (s)."""


def x264_options(options: Mapping[str, str], params: str = "") -> dict[str, str]:
    """Build FFmpeg's options for ``libx264``.

    Closed captions and other data between a camera's pictures are left out. The AVX-512 code of x264 164 for
    macroblock trees decides by what was left in memory: of files of 480 x 272 one in eight differed from the others by
    a grey level or two. It is not used. ``params``: x264's own, ``name=value`` with colons between them.
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


def write_clip(source: Path, timeline: Timeline, first: int, last: int, target: Path) -> None:
    """Write the frames ``first .. last`` (both included) of ``source`` as an .mp4, each at its distance from the first.

    Size, matrix and range stay those of the source; its display matrix is applied.

    Raises:
        MediaError: a frame cannot be decoded.
    """
    pts = timeline.pts[first : last + 1] - timeline.pts[first]
    shown = (frame for _, frame in decode(source, timeline, range(first, last + 1)))
    _encode(shown, pts, timeline.time_base, timeline.rate, target, "25", tags_of(source))


def write_images(images: Iterable[Image.Image], times: Sequence[float], target: Path) -> None:
    """Write RGB images of one size as an .mp4, each a keyframe, shown at ``times`` (s, ascending) from the first on.

    The film is tagged BT.601 of limited range, which is how readers take every film.
    """
    import av

    pts = np.rint((np.asarray(times) - times[0]) / float(IMAGE_CLOCK)).astype(np.int64)
    rate = (
        Fraction((len(pts) - 1) / IMAGE_CLOCK / int(pts[-1])).limit_denominator(1001) if len(pts) > 1 else Fraction(1)
    )

    def frames() -> Iterator[VideoFrame]:
        for image in images:
            frame = av.VideoFrame.from_ndarray(np.asarray(image), format="rgb24")
            frame.colorspace = BT601
            yield frame

    _encode(frames(), pts, IMAGE_CLOCK, rate, target, "1")


def _encode(
    frames: Iterable[VideoFrame],
    pts: NDArray[np.int64],
    time_base: Fraction,
    rate: Fraction,
    target: Path,
    group: str,
    tags: Tags | None = None,
) -> None:
    """Encode frames at these times, ``group`` of them from keyframe to keyframe; a single one is shown twice.

    ``rate`` is stated, and is the period of a single picture. Primaries and curve are those of ``tags``, if given.
    """
    import av

    number = len(pts)
    period = max(1, round(int(pts[-1]) / (number - 1) if number > 1 else float(1 / rate / time_base)))
    if number == 1:
        pts = np.asarray([0, period])

    def mux(packets: list[Any]) -> None:
        for packet in packets:
            packet.duration = period  # of the last; an .mp4 has the others by their times
            output.mux(packet)

    with atomic_path(target) as temporary, av.open(str(temporary), "w", format="mp4") as output:
        stream: Any = None
        for place, frame in enumerate(frames):
            picture = to_yuv420(frame)
            if stream is None:
                stream = output.add_stream("libx264", rate=rate)
                stream.width, stream.height, stream.pix_fmt = picture.width, picture.height, picture.format.name
                stream.time_base = stream.codec_context.time_base = time_base
                colour = Colour.of(frame)
                (tags or Tags())._replace(matrix=colour.matrix).write(stream.codec_context, full=colour.full)
                options = {"crf": str(CRF), "preset": "veryfast", "bf": "0", "g": group, "forced-idr": "1"}
                stream.options = x264_options(options)
            for at in pts if number == 1 else pts[place : place + 1]:
                picture.pts, picture.time_base, picture.pict_type = int(at), time_base, 0
                mux(stream.encode(picture))
        mux(stream.encode(None))

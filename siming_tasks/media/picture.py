"""Pictures: the colours that a decoded frame's numbers mean, upright RGB pixels, JPEG bytes.

Colours go by the stream's tags, and where there are none by the usual rule. Numbers of matrices, transfer curves and
ranges are those of ITU-T H.273, which FFmpeg uses too.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from siming_tasks.common.errors import MediaError

if TYPE_CHECKING:
    from av.video.codeccontext import VideoCodecContext
    from av.video.frame import VideoFrame
    from av.video.plane import VideoPlane

LIMITED_RANGE, FULL_RANGE = 1, 2
BT709, BT601, BT2020 = 1, 5, 9
MATRICES = {1: BT709, 5: BT601, 6: BT601, 9: BT2020}
"""Matrices that recorders write: BT.709, BT.601 under two numbers, BT.2020 (not constant)."""

MATRIX_NAMES = {BT709: "bt709", BT601: "smpte170m", BT2020: "bt2020nc"}

UNREAD_MATRICES = {
    4: "FCC", 7: "SMPTE 240M", 8: "YCgCo", 10: "BT.2020 constant luminance", 11: "SMPTE 2085",
    12: "chromaticity-derived", 13: "chromaticity-derived", 14: "ICtCp", 15: "IPT-C2", 16: "YCgCo-Re", 17: "YCgCo-Ro",
}  # fmt: skip
HDR_CURVES = {16: "PQ", 18: "HLG"}
UNREAD_CURVES = {8: "linear", 9: "logarithmic", 10: "logarithmic", 17: "SMPTE 428"}

WIDE_GAMUTS = {9: "bt2020", 11: "smpte431", 12: "smpte432"}
"""Primaries with which saturated colours look pale on a common screen, by FFmpeg's names; the last two are P3."""

CURVES = {
    1: "bt709", 4: "bt470m", 5: "bt470bg", 6: "smpte170m", 11: "iec61966-2-4", 13: "iec61966-2-1", 14: "bt2020-10",
    15: "bt2020-12",
}  # fmt: skip
"""FFmpeg's names of the transfer curves that its filter ``colorspace`` knows and recorders write."""

TONE_MAP = (
    "ffmpeg -i IN -vf zscale=t=linear:npl=100,format=gbrpf32le,zscale=p=bt709,tonemap=hable,"
    "zscale=t=bt709:m=bt709:r=tv,format=yuv420p OUT.mp4"
)

BILINEAR, AREA, EXACT = 0x2, 0x20, 0x40000 | 0x2000
"""FFmpeg's SWS_BILINEAR and SWS_AREA; SWS_ACCURATE_RND with SWS_FULL_CHR_H_INT."""

STRETCH = np.clip(np.round((np.arange(256) - 16) * 255 / 219), 0, 255).astype(np.uint8)
"""From limited to full range."""


@dataclass(frozen=True)
class Colour:
    """Meaning of a picture's numbers.

    Attributes:
        matrix: from YCbCr to RGB; one of ``MATRICES``' values.
        full: whether black and white are 0 and 255 (full range), not 16 and 235.
        coded: whether the picture is YCbCr at all; RGB needs no conversion.
        grey: whether it has brightness only.
    """

    matrix: int
    full: bool
    coded: bool = True
    grey: bool = False

    @classmethod
    def of(cls, frame: VideoFrame) -> Colour:
        """Read the frame's own tags, else apply the usual rule.

        An untagged picture is BT.709 if it is HD (a side of 1280 or both above 576 pixels), else BT.601, and of limited
        range unless its pixel format says otherwise.
        """
        name = frame.format.name
        sides = sorted((frame.width, frame.height))
        usual = BT709 if sides[1] >= 1280 or sides[0] > 576 else BT601
        grey = name.startswith("gray")
        full = name.startswith("yuvj") or frame.color_range == FULL_RANGE
        full = full or (grey and frame.color_range != LIMITED_RANGE)
        coded = not (frame.format.is_rgb or frame.format.has_palette)
        return cls(MATRICES.get(frame.colorspace, usual), full and coded, coded, grey)


def to_bt709_filter(tags: Tags, matrix: int) -> str | None:
    """Arguments of FFmpeg's filter ``colorspace`` from wide gamut to BT.709; None if the gamut is not wide."""
    if tags.primaries not in WIDE_GAMUTS:
        return None
    source = f"iprimaries={WIDE_GAMUTS[tags.primaries]}:itrc={CURVES.get(tags.curve, 'bt709')}"
    return f"{source}:ispace={MATRIX_NAMES[matrix]}:irange=tv:all=bt709:range=tv:format=yuv420p"


def refuse_colours(path: Path, tags: Tags) -> None:
    """Refuse colours that would come out wrong: HDR curves, and matrices and curves that no recorder writes.

    Raises:
        MediaError: names the file, the colours and the way out.
    """
    if tags.curve in HDR_CURVES:
        raise MediaError(
            f"{path}: is HDR ({HDR_CURVES[tags.curve]}), which would be shown pale and dark. "
            f"Export it as SDR, or tone-map it: {TONE_MAP}"
        )
    if unread := UNREAD_MATRICES.get(tags.matrix) or UNREAD_CURVES.get(tags.curve):
        raise MediaError(f"{path}: has {unread} colours, which are not read. Export it in BT.709.")


def fit_size(width: int, height: int, size: int | None) -> tuple[int, int]:
    """Scale ``(width, height)`` down, never up, so that the longer side has at most ``size`` pixels."""
    longer = max(width, height)
    if size is None or longer <= size:
        return width, height
    return max(1, round(width * size / longer)), max(1, round(height * size / longer))


class Orientation(NamedTuple):
    """Steps that bring a stored picture upright: rows and columns swapped, then rows or columns reversed."""

    transposed: bool = False
    rows: bool = False
    columns: bool = False

    @classmethod
    def of(cls, frame: VideoFrame) -> Orientation:
        """Read the frame's display matrix, which maps ``(x, y)`` to ``(a x + c y, b x + d y)``: turns and flips.

        Angles between quarter turns count as the nearest one.
        """
        from av.sidedata.sidedata import SideDataContainer

        container: Any = SideDataContainer  # frame.side_data would keep every frame until Python looks for cycles
        for data in list(container(frame)):
            if data.type.name == "DISPLAYMATRIX":
                a, b, _, c, d = np.frombuffer(bytes(data), np.int32)[:5].tolist()
                if abs(a) + abs(d) >= abs(b) + abs(c):
                    return cls(False, d < 0, a < 0)
                return cls(True, b < 0, c < 0)
        return cls()

    def apply(self, picture: NDArray[Any]) -> NDArray[Any]:
        """The upright form of ``[height, width, ...]``, a view."""
        picture = picture.swapaxes(0, 1) if self.transposed else picture
        return picture[:: -1 if self.rows else 1, :: -1 if self.columns else 1]

    def size(self, width: int, height: int) -> tuple[int, int]:
        """Width and height of the upright picture."""
        return (height, width) if self.transposed else (width, height)


class Tags(NamedTuple):
    """Facts that a video's first picture states, colours by the numbers of H.273; its container may state others."""

    matrix: int = 2  # not stated
    primaries: int = 2
    curve: int = 2
    orientation: Orientation = Orientation()

    @classmethod
    def of(cls, frame: VideoFrame, decoder: VideoCodecContext) -> Tags:
        """Read them of a frame that the decoder has just returned.

        Frames of PyAV 15 have neither primaries nor curve; its decoder has those of the frame once it is decoded.
        """
        given: Any = frame if hasattr(frame, "color_trc") else decoder
        return cls(int(frame.colorspace), given.color_primaries, given.color_trc, Orientation.of(frame))

    def write(self, encoder: VideoCodecContext, *, full: bool) -> None:
        """Tag what will be encoded, of full or limited range; how it is turned is not written."""
        encoder.colorspace, encoder.color_range = self.matrix, FULL_RANGE if full else LIMITED_RANGE
        encoder.color_primaries, encoder.color_trc = self.primaries, self.curve


def to_rgb(frame: VideoFrame, size: int | None = None, order: str = "rgb24") -> NDArray[np.uint8]:
    """Convert a frame to the upright picture, uint8 ``[height, width, 3]``, longer side at most ``size`` pixels.

    Matrix and range are those of :class:`Colour`. A BT.601 picture of limited range in 8-bit 4:2:0 has, at its own
    size, the colours that PyAV 15's readers return (``to_ndarray(format="rgb24")``); others are converted with FFmpeg's
    exact arithmetic (51 dB and better, where its fast one has 41 to 50).

    Args:
        frame: the decoded frame; its display matrix is applied, as players do.
        size: longest side, None for the original.
        order: ``rgb24`` or ``bgr24``.
    """
    import cv2

    colour, name = Colour.of(frame), frame.format.name
    width, height = fit_size(frame.width, frame.height, size)
    same = (width, height) == (frame.width, frame.height)
    # FFmpeg converts BT.601 of limited range rightly without being told
    fast = colour == Colour(BT601, full=False) and name == "yuv420p"
    scaler = (BILINEAR if same else AREA) | (0 if fast else EXACT)
    how: dict[str, Any] = {"width": width, "height": height, "interpolation": scaler}
    array: NDArray[Any]
    if colour.grey:  # versions of FFmpeg differ in the range of grey
        grey = frame.reformat(format="gray", **how).to_ndarray()
        array = cv2.cvtColor(grey if colour.full else STRETCH[grey], cv2.COLOR_GRAY2RGB)
    else:
        if colour.coded:  # PyAV 15 hands matrix and range on only where those of source and target differ
            how |= {"src_colorspace": colour.matrix, "src_color_range": FULL_RANGE if colour.full else LIMITED_RANGE}
            how |= {"dst_colorspace": BT601, "dst_color_range": LIMITED_RANGE}
        bare = _bare(frame, colour)
        if fast:
            array = bare.to_ndarray(format=order, **how)
        else:  # versions agree about planes alone, which are also written in a third of the time
            planes = bare.reformat(format="gbrp", **how).planes
            green, blue, red = (rows_of(plane)[:, : plane.width] for plane in planes)
            array = cv2.merge((red, green, blue) if order == "rgb24" else (blue, green, red))
    return np.ascontiguousarray(Orientation.of(frame).apply(array), dtype=np.uint8)


def rows_of(plane: VideoPlane) -> NDArray[np.uint8]:
    """Give the bytes of a plane, uint8 ``[height, bytes and padding]``; writing there changes the frame."""
    return np.frombuffer(plane, np.uint8).reshape(plane.height, -1)  # type: ignore[call-overload, no-any-return]


def _bare(frame: VideoFrame, colour: Colour) -> VideoFrame:
    """Copy a YCbCr frame's numbers, matrix and range, and nothing else.

    FFmpeg 8 converts by where in the stream's pixels the samples of colour lie; FFmpeg 7, and readers that build on it,
    take all for centred, as is right for a frame that states no place.
    """
    import av

    if not colour.coded or colour.grey:
        return frame
    bare = av.VideoFrame(frame.width, frame.height, frame.format.name)
    bare.colorspace, bare.color_range = frame.colorspace, frame.color_range
    for rows, stored in zip(map(rows_of, bare.planes), map(rows_of, frame.planes), strict=True):
        used = min(rows.shape[1], stored.shape[1])  # the rest of a row is padding
        rows[:, :used] = stored[:, :used]
    return bare


def to_numbers(frame: VideoFrame) -> NDArray[np.uint8]:
    """Give a frame's own numbers in 8 bits, not turned: uint8 ``[3, height, width]``, of grey ``[1, height, width]``.

    They keep their matrix and range: of a grey frame, and between formats of one kind ("j" or not), FFmpeg leaves them
    alone. RGB alone is converted, by the matrix that it will be tagged with, to limited range.
    """
    colour, name = Colour.of(frame), frame.format.name
    planar = "gray" if colour.grey else "yuvj444p" if name.startswith("yuvj") else "yuv444p"
    rgb = {"src_colorspace": BT601, "dst_colorspace": colour.matrix, "dst_color_range": LIMITED_RANGE}
    numbers: NDArray[Any] = _bare(frame, colour).reformat(format=planar, **({} if colour.coded else rgb)).to_ndarray()
    return numbers[None] if colour.grey else numbers


def to_yuv420(frame: VideoFrame) -> VideoFrame:
    """Convert a frame to an upright 8-bit 4:2:0 picture with even sides, of its own matrix and range.

    One that already is one stays itself; an odd side gets its last row of pixels twice.
    """
    import av

    colour, orientation = Colour.of(frame), Orientation.of(frame)
    if frame.format.name in ("yuv420p", "yuvj420p") and not (any(orientation) or frame.width % 2 or frame.height % 2):
        return frame
    planes = np.pad(to_numbers(frame), ((0, 0), (0, frame.height % 2), (0, frame.width % 2)), mode="edge")
    if colour.grey:
        planes = np.concatenate([planes, np.full((2, *planes.shape[1:]), 128, np.uint8)])
    upright = np.stack([orientation.apply(plane) for plane in planes])
    kind = "yuvj" if colour.full else "yuv"
    return av.VideoFrame.from_ndarray(upright, format=f"{kind}444p").reformat(format=f"{kind}420p")


def to_jpeg(frame: VideoFrame, size: int | None, quality: int) -> bytes:
    """Encode the upright picture as JPEG (4:2:0). OpenCV writes the same bytes as Pillow in two thirds of the time."""
    import cv2

    done, data = cv2.imencode(".jpg", to_rgb(frame, size, "bgr24"), [cv2.IMWRITE_JPEG_QUALITY, quality])
    if not done:
        raise RuntimeError("OpenCV could not write a JPEG")
    return bytes(data)

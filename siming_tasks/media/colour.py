"""How a picture's numbers are meant as colours: by the stream's tags, and where there are none by the usual rule.

Numbers of matrices, transfer curves and ranges are those of ITU-T H.273, which FFmpeg uses too.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from siming_tasks.common.errors import MediaError

if TYPE_CHECKING:
    from av.video.codeccontext import VideoCodecContext
    from av.video.frame import VideoFrame

__all__ = ["FULL", "LIMITED", "WIDE", "Colour", "copy_tags", "narrowed", "refuse_colours"]

LIMITED, FULL = 1, 2
BT709, BT601 = 1, 5
MATRICES = {1: BT709, 4: 4, 5: BT601, 6: BT601, 7: 7, 9: 9}
"""Matrices that can be converted: BT.709, FCC, BT.601 under two numbers, SMPTE 240M, BT.2020 (not constant)."""

NAMES = {BT709: "bt709", 4: "fcc", BT601: "bt601", 7: "smpte240m", 9: "bt2020nc"}

UNREAD_MATRICES = {
    8: "YCgCo",
    10: "BT.2020 constant luminance",
    11: "SMPTE 2085",
    12: "chromaticity-derived",
    13: "chromaticity-derived",
    14: "ICtCp",
    15: "IPT-C2",
    16: "YCgCo-Re",
    17: "YCgCo-Ro",
}
HDR = {16: "PQ", 18: "HLG"}
UNREAD_CURVES = {8: "linear", 9: "logarithmic", 10: "logarithmic", 17: "SMPTE 428"}

WIDE = {9: "bt2020", 11: "smpte431", 12: "smpte432"}
"""Primaries with which saturated colours look pale on a common screen, by FFmpeg's names; the last two are P3."""
CURVES = {
    1: "bt709",
    4: "bt470m",
    5: "bt470bg",
    6: "smpte170m",
    7: "smpte240m",
    11: "iec61966-2-4",
    13: "iec61966-2-1",
    14: "bt2020-10",
    15: "bt2020-12",
}
"""FFmpeg's names of the transfer curves that its filter ``colorspace`` knows."""

TONE_MAP = (
    "ffmpeg -i IN -vf zscale=t=linear:npl=100,format=gbrpf32le,zscale=p=bt709,tonemap=hable,"
    "zscale=t=bt709:m=bt709:r=tv,format=yuv420p OUT.mp4"
)


@dataclass(frozen=True)
class Colour:
    """What a picture's numbers mean.

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
        """By the frame's own tags, else by the usual rule.

        An untagged picture is BT.709 if it is HD (a side of 1280 or both above 576 pixels), else BT.601, and of limited
        range unless its pixel format says otherwise.
        """
        name = frame.format.name
        sides = sorted((frame.width, frame.height))
        usual = BT709 if sides[1] >= 1280 or sides[0] > 576 else BT601
        grey = name.startswith("gray")
        full = name.startswith("yuvj") or frame.color_range == FULL or (grey and frame.color_range != LIMITED)
        coded = not (frame.format.is_rgb or frame.format.has_palette)
        return cls(MATRICES.get(frame.colorspace, usual), full and coded, coded, grey)

    @property
    def range(self) -> int:
        """``LIMITED`` or ``FULL``."""
        return FULL if self.full else LIMITED

    @property
    def plain(self) -> bool:
        """Whether FFmpeg's conversion to RGB takes it rightly without being told: BT.601, limited range."""
        return self.coded and not self.grey and self.matrix == BT601 and not self.full

    def to_rgb(self) -> dict[str, Any]:
        """Arguments of PyAV's ``reformat`` and ``to_ndarray`` with which a conversion to RGB comes out right.

        PyAV hands matrix and range on to FFmpeg only if those of source and target differ. FFmpeg would take grey
        pictures for full range, whose matrix does not matter.
        """
        if not self.coded:
            return {}
        return {
            "src_colorspace": BT709 if self.grey else self.matrix,
            "dst_colorspace": BT601,
            "src_color_range": self.range,
            "dst_color_range": LIMITED,
        }

    def __str__(self) -> str:
        return f"{NAMES[self.matrix]}, {'full' if self.full else 'limited'} range" if self.coded else "rgb"


def copy_tags(source: VideoCodecContext, target: VideoCodecContext, matrix: int, full: bool) -> None:
    """Tag what will be encoded: matrix and range as given, primaries and transfer curve as the source says."""
    target.colorspace, target.color_range = matrix, FULL if full else LIMITED
    target.color_primaries, target.color_trc = source.color_primaries, source.color_trc


def narrowed(coded: VideoCodecContext, matrix: int) -> str | None:
    """Arguments of FFmpeg's filter ``colorspace`` from wide gamut to BT.709; None if the gamut is not wide."""
    if coded.color_primaries not in WIDE:
        return None
    source = f"iprimaries={WIDE[coded.color_primaries]}:itrc={CURVES.get(coded.color_trc, 'bt709')}"
    names = {BT601: "smpte170m"}
    return f"{source}:ispace={names.get(matrix) or NAMES[matrix]}:irange=tv:all=bt709:range=tv:format=yuv420p"


def refuse_colours(path: Path, coded: VideoCodecContext) -> None:
    """Raise MediaError for colours that would come out wrong: HDR curves and matrices that FFmpeg does not convert."""
    if coded.color_trc in HDR:
        what = f"{path}: is HDR ({HDR[coded.color_trc]}), which would be shown pale and dark."
        raise MediaError(f"{what} Export it as SDR, or tone-map it: {TONE_MAP}")
    odd = UNREAD_MATRICES.get(coded.colorspace) or UNREAD_CURVES.get(coded.color_trc)
    if odd:
        raise MediaError(f"{path}: has {odd} colours, which are not read. Export it in BT.709.")

"""Tiny videos whose frames carry their own number, in every shape that real files come in."""

import struct
from collections.abc import Callable, Iterable, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

import av
import numpy as np
import pytest

from tests.conftest import film
from tests.footage import psnr

BITS, BLOCK = 10, 8
WIDTH, HEIGHT = BITS * BLOCK, 48


def picture(number: int, width: int = WIDTH, height: int = HEIGHT) -> np.ndarray:
    """RGB: the top row is ``number`` in black and white blocks, the rest a coloured pattern that moves."""
    y, x = np.mgrid[:height, :width]
    red = (x * 2 + number * 5) % 256
    image = np.stack([abs(red - 128) + 60, (y * 3) % 160 + 40, np.full_like(x, 90)], axis=-1).astype(np.uint8)
    for bit in range(BITS):
        image[:BLOCK, bit * BLOCK : (bit + 1) * BLOCK] = 235 if number >> bit & 1 else 20
    return image


def number(image: np.ndarray) -> int:
    """The number that a picture carries, read back from its pixels."""
    middle = BLOCK // 2
    return sum((int(image[middle, bit * BLOCK + middle].mean()) > 128) << bit for bit in range(BITS))


def make(
    path: Path,
    frames: int = 60,
    *,
    rate: int = 25,
    codec: str = "libx264",
    pix_fmt: str = "yuv420p",
    size: tuple[int, int] = (WIDTH, HEIGHT),
    pts: Sequence[int] | None = None,
    time_base: Fraction | None = None,
    options: dict[str, str] | None = None,
    container: dict[str, str] | None = None,
    tags: dict[str, Any] | None = None,
    draw: Callable[..., np.ndarray] = picture,
) -> Path:
    """Encode a video; frame i shows number i (or what ``draw`` makes of it) at ``pts[i] * time_base``."""
    with av.open(str(path), "w", options=container or {}) as output:
        stream = output.add_stream(codec, rate=rate)
        stream.width, stream.height = size
        stream.pix_fmt = pix_fmt
        stream.options = {"crf": "12", "g": "12", "bf": "2", **(options or {})} if codec == "libx264" else options or {}
        for name, value in (tags or {}).items():
            setattr(stream.codec_context, name, value)
        if time_base:
            stream.time_base = stream.codec_context.time_base = time_base
        for index in range(frames):
            frame = av.VideoFrame.from_ndarray(draw(index, *size), format="rgb24")
            frame.pts = index if pts is None else pts[index]
            frame.time_base = time_base or Fraction(1, rate)
            output.mux(stream.encode(frame))
        output.mux(stream.encode(None))
    return path


def remux(source: Path, target: Path, keep: Iterable[int], shift: int = 0) -> Path:
    """Copy the packets ``keep`` (in stored order), their times moved by ``shift`` units; nothing is encoded."""
    kept = set(keep)
    with av.open(str(source)) as reader, av.open(str(target), "w") as writer:
        stream = writer.add_stream_from_template(reader.streams.video[0])
        for index, packet in enumerate(packet for packet in reader.demux(video=0) if packet.size):
            if index in kept:
                packet.stream = stream
                packet.pts += shift
                packet.dts += shift
                writer.mux(packet)
    return target


MATRICES_OF_PHONES = {
    "rotated_90": (0, 1, -1, 0), "rotated_180": (-1, 0, 0, -1), "rotated_270": (0, -1, 1, 0),
    "mirrored": (-1, 0, 0, 1), "upside_down": (1, 0, 0, -1), "transposed": (0, 1, 1, 0), "transversed": (0, -1, -1, 0),
}  # fmt: skip
"""``a b c d`` of a display matrix, which shows the pixel of column x and row y at (a x + c y, b x + d y)."""


def turned(path: Path, target: Path, matrix: tuple[int, int, int, int]) -> Path:
    a, b, c, d = (65536 * value for value in matrix)
    data = bytearray(path.read_bytes())
    at = data.index(b"tkhd") + 4 + 40
    data[at : at + 36] = struct.pack(">9i", a, b, 0, c, d, 0, 0, 0, 0x40000000)
    target.write_bytes(data)
    return target


def upright(picture: np.ndarray, matrix: tuple[int, int, int, int]) -> np.ndarray:
    """A picture pixel by pixel where the matrix puts it, moved so that it begins at (0, 0)."""
    a, b, c, d = matrix
    height, width = picture.shape[:2]
    y, x = np.mgrid[:height, :width]
    column, row = a * x + c * y, b * x + d * y
    shown = np.zeros((height, width, 3) if a else (width, height, 3), picture.dtype)
    shown[row - row.min(), column - column.min()] = picture
    return shown


def linear(path: Path) -> list[tuple[int, np.ndarray]]:
    """The reference: every frame that a plain, single-threaded decode returns, with its timestamp."""
    with av.open(str(path)) as container:
        container.streams.video[0].thread_type = "NONE"
        return [(frame.pts, frame.to_ndarray(format="rgb24")) for frame in container.decode(video=0)]


MATRICES = {1: (0.2126, 0.0722), 5: (0.299, 0.114), 6: (0.299, 0.114), 7: (0.212, 0.087), 9: (0.2627, 0.0593)}
"""Kr and Kb of ITU-T H.273, table 4, by their numbers there."""


def planes(frame: av.VideoFrame) -> list[np.ndarray]:
    """The numbers of a YCbCr or grey picture, one array a component, as they are stored."""
    sample = "<u2" if frame.format.components[0].bits > 8 else "u1"
    arrays = []
    for plane in frame.planes:
        rows = np.frombuffer(bytes(plane), sample).reshape(plane.height, -1)
        if len(frame.planes) == 2 and arrays:  # nv12, p010: both colours side by side
            arrays += [rows[:, : 2 * plane.width : 2], rows[:, 1 : 2 * plane.width : 2]]
        else:
            arrays.append(rows[:, : plane.width])
    return arrays


def by_hand(frame: av.VideoFrame) -> np.ndarray:
    """The upright picture in RGB, converted in floats by the formulas of ITU-T H.273 (E-1 to E-30) and its tags.

    Colour samples are repeated, not interpolated. An untagged picture is taken for BT.601, or for BT.709 if it is HD.
    """
    height, width, bits = frame.height, frame.width, frame.format.components[0].bits
    hd = max(width, height) >= 1280 or min(width, height) > 576
    kr, kb = MATRICES.get(frame.colorspace, MATRICES[1 if hd else 5])
    unit = 2 ** (bits - 8)
    luma, *colour = planes(frame)
    if frame.color_range == 2 or frame.format.name.startswith("yuvj"):
        low, across, colours = 0, 256 * unit - 1, 256 * unit - 1
    else:
        low, across, colours = 16 * unit, 219 * unit, 224 * unit
    y = (luma.astype(float) - low) / across
    cb = cr = np.zeros_like(y)
    if colour:
        down, right = round(height / colour[0].shape[0]), round(width / colour[0].shape[1])
        cb, cr = ((c.repeat(down, 0).repeat(right, 1)[:height, :width] - 128.0 * unit) / colours for c in colour)
    red, blue = y + 2 * (1 - kr) * cr, y + 2 * (1 - kb) * cb
    green = (y - kr * red - kb * blue) / (1 - kr - kb)
    image = np.clip(np.stack([red, green, blue], -1) * 255, 0, 255)
    beside = [np.frombuffer(bytes(data), np.int32) for data in frame.side_data if data.type.name == "DISPLAYMATRIX"]
    return upright(image, tuple(int(np.sign(beside[0][place])) for place in (0, 1, 3, 4))) if beside else image


def shown(path: Path) -> list[np.ndarray]:
    with av.open(str(path)) as container:
        return [by_hand(frame) for frame in container.decode(video=0)]


class Videos:
    """The functions above for tests, and a folder where each named file is made once."""

    matrices = MATRICES_OF_PHONES
    picture, number = map(staticmethod, (picture, number))
    make, remux, upright = map(staticmethod, (make, remux, upright))
    linear, by_hand, shown, psnr = map(staticmethod, (linear, by_hand, shown, psnr))

    def __init__(self, root: Path) -> None:
        self.root = root

    def get(self, name: str) -> Path:
        """A file by the name of its peculiarity, see :data:`SHAPES`."""
        path = self.root / f"{name}{'.ts' if name == 'ts' else '.mkv' if name == 'mkv' else '.mp4'}"
        if not path.is_file():
            SHAPES[name](self, path)
        return path


OPEN_GOP = {"x264-params": "open-gop=1:bframes=3:keyint=10:min-keyint=10:scenecut=0"}


def _cut_open_gop(videos: Videos, path: Path) -> None:
    """Output of a lossless cutter: begins at the second keyframe, whose leading B-frames have lost their reference."""
    source = videos.get("open_gop")
    with av.open(str(source)) as container:
        keys = [n for n, packet in enumerate(p for p in container.demux(video=0) if p.size) if packet.is_keyframe]
    remux(source, path, range(keys[1], 60))


def _trimmed(videos: Videos, path: Path) -> None:
    """An edit list that shows the first second only, as phones and QuickTime write it."""
    data = bytearray(videos.get("plain").read_bytes())
    at = data.index(b"elst") + 12
    data[at : at + 4] = struct.pack(">I", 1000)
    path.write_bytes(data)


SHAPES: dict[str, Any] = {
    "plain": lambda videos, path: make(path),
    "b_pyramid": lambda videos, path: make(path, options={"bf": "4", "x264-params": "b-pyramid=normal:keyint=20"}),
    "no_b": lambda videos, path: make(path, options={"bf": "0"}),
    "open_gop": lambda videos, path: make(path, options=OPEN_GOP),
    "cut_open_gop": _cut_open_gop,
    "vfr": lambda videos, path: make(path, pts=[i * i + 10 * i for i in range(60)], time_base=Fraction(1, 600)),
    "odd": lambda videos, path: make(path, size=(81, 49), pix_fmt="yuv444p"),
    "ten_bit": lambda videos, path: make(path, pix_fmt="yuv420p10le", tags={"colorspace": 1, "color_range": 1}),
    "full_range": lambda videos, path: make(path, pix_fmt="yuvj420p"),
    "bt709": lambda videos, path: make(path, tags={"colorspace": 1, "color_range": 1}),
    "photo": lambda videos, path: film(path, 60, 25, 320, 192),
    "hevc": lambda videos, path: make(path, codec="libx265", options={"x265-params": "log-level=none"}),
    "vp9": lambda videos, path: make(path, codec="libvpx-vp9", options={"cpu-used": "8", "deadline": "realtime"}),
    "ts": lambda videos, path: make(path),
    "mkv": lambda videos, path: make(path),
    **{
        name: lambda videos, path, matrix=matrix: turned(videos.get("plain"), path, matrix)
        for name, matrix in MATRICES_OF_PHONES.items()
    },
    "started_early": lambda videos, path: remux(videos.get("plain"), path, range(60), shift=-5 * 512),
    "trimmed": _trimmed,
    "one_frame": lambda videos, path: make(path, 1),
}


@pytest.fixture(scope="session")
def videos(tmp_path_factory: pytest.TempPathFactory) -> Videos:
    return Videos(tmp_path_factory.mktemp("videos"))

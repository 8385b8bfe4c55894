"""Tiny videos whose frames carry their own number, in every shape that real files come in."""

from __future__ import annotations

import struct
from collections.abc import Iterable, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

import av
import numpy as np

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
) -> Path:
    """Encode a video; frame i shows number i at ``pts[i] * time_base``."""
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
            frame = av.VideoFrame.from_ndarray(picture(index, *size), format="rgb24")
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


def rotate(path: Path, target: Path, degrees: int) -> Path:
    """Set the display matrix of an .mp4: players then turn the picture clockwise by ``degrees`` (90, 180 or 270)."""
    one = 65536
    a, b = {90: (0, one), 180: (-one, 0), 270: (0, -one)}[degrees]
    data = bytearray(path.read_bytes())
    at = data.index(b"tkhd") + 4 + 40
    data[at : at + 36] = struct.pack(">9i", a, b, 0, -b, a, 0, 0, 0, 0x40000000)
    target.write_bytes(data)
    return target


def linear(path: Path) -> list[tuple[int, np.ndarray]]:
    """The reference: every frame that a plain, single-threaded decode returns, with its timestamp."""
    with av.open(str(path)) as container:
        container.streams.video[0].thread_type = "NONE"
        return [(frame.pts, frame.to_ndarray(format="rgb24")) for frame in container.decode(video=0)]


def psnr(first: np.ndarray, second: np.ndarray) -> float:
    """Peak signal-to-noise ratio in dB."""
    error = float(((first.astype(float) - second.astype(float)) ** 2).mean())
    return 99.0 if error == 0 else 10 * float(np.log10(255**2 / error))

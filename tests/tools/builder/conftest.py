"""The dataset folder that tests of the builder spoil, and real recordings whose sound begins late."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import av
import numpy as np
import pytest

from tests.data.conftest import _good, edit, folder

__all__ = ["_good", "damage_sound", "edit", "film_with_tone", "folder", "footage", "late_sound"]
FOOTAGE = Path(__file__).parents[4] / "shared" / "footage"


@pytest.fixture
def footage() -> Path:
    """The folder of real recordings; without it the test is skipped."""
    if not FOOTAGE.is_dir():
        pytest.skip("the recordings are not there")
    return FOOTAGE


def late_sound(source: Path, target: Path, late: float) -> Path:
    """A copy whose sound begins this many seconds later, as a camera with a slow microphone writes it."""
    with av.open(str(source)) as old, av.open(str(target), "w") as new:
        streams = {stream: new.add_stream_from_template(stream) for stream in old.streams.get(video=0, audio=0)}
        for packet in old.demux(list(streams)):
            if packet.dts is None:
                continue
            if packet.stream.type == "audio":
                shift = round(Fraction(late) / packet.time_base)
                packet.pts, packet.dts = packet.pts + shift, packet.dts + shift
            packet.stream = streams[packet.stream]
            new.mux(packet)
    return target


def film_with_tone(
    path: Path, layout: str, *, start: float = 0.0, codec: str = "pcm_s16le", rate: int = 48_000
) -> Path:
    """One second of pictures with 440 Hz at half of the highest level in every channel, from ``start`` on."""
    with av.open(str(path), "w") as out:
        video = out.add_stream("libx264", rate=10, options={"bf": "0"})
        video.width = video.height = 64
        track = out.add_stream(codec, rate=rate, layout=layout)
        for index in range(10):
            frame = av.VideoFrame.from_ndarray(np.full((64, 64, 3), 20 * index, np.uint8), format="rgb24")
            frame.pts, frame.time_base = round(10 * start) + index, Fraction(1, 10)
            out.mux(video.encode(frame))
        out.mux(video.encode(None))
        tone = np.int16(np.round(16_384 * np.sin(2 * np.pi * 440 * np.arange(rate) / rate)))
        packed = np.repeat(tone, track.layout.nb_channels)[None]
        sound = av.AudioFrame.from_ndarray(packed, format="s16", layout=layout)
        sound.sample_rate, sound.pts, sound.time_base = rate, round(start * rate), Fraction(1, rate)
        out.mux(track.encode(sound))
        out.mux(track.encode(None))
    return path


def damage_sound(source: Path, target: Path, packets: range) -> Path:
    """A copy in which these packets of sound hold nothing that can be decoded."""
    with av.open(str(source)) as old, av.open(str(target), "w") as new:
        streams = {stream: new.add_stream_from_template(stream) for stream in old.streams.get(video=0, audio=0)}
        number = -1
        for packet in old.demux(list(streams)):
            if packet.dts is None:
                continue
            kept, number = packet, number + (packet.stream.type == "audio")
            if packet.stream.type == "audio" and number in packets:
                kept = av.Packet(b"\xff" * packet.size)
                kept.pts, kept.dts, kept.time_base = packet.pts, packet.dts, packet.time_base
            kept.stream = streams[packet.stream]
            new.mux(kept)
    return target

"""The dataset folder that tests of the builder spoil, and real recordings whose sound begins late."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import av
import pytest

from tests.data.conftest import _good, edit, folder

__all__ = ["_good", "edit", "folder", "footage", "late_sound"]
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

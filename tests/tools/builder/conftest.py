"""What a hospital has (videos, a rubric, a table of labels), and recordings whose sound is late or damaged."""

import csv
import shutil
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import av
import numpy as np
import pytest
import yaml

from tests.data.conftest import RUBRIC, STEPS, write_video

FOOTAGE = Path(__file__).parents[4] / "shared" / "footage"
NAMES = ("Zhang San 2024-03-01", "李四", "exam 003")


@pytest.fixture
def footage() -> Path:
    if not FOOTAGE.is_dir():
        pytest.skip("the recordings are not there")
    return FOOTAGE


def long_table(path: Path, names: tuple[str, ...] = NAMES, *, differ: bool = False) -> Path:
    """A table of labels whose raters agree (except, on demand, on cpr_02 of the first video)."""
    with path.open("w", encoding="utf-8-sig", newline="") as stream:
        writer = csv.writer(stream)
        writer.writerow(["video_id", "step_id", "start", "end", "rater", "points", "student", "site"])
        for number, name in enumerate(names):
            for index, (step, top) in enumerate(STEPS):
                a = int(top) - (number + index) % 2
                b = a - 1 if differ and (number, index) == (0, 1) else a
                for rater, points in (("rater_a", a), ("rater_b", b)):
                    times = [0.5 * index, 0.5 * index + 0.4]
                    writer.writerow([name, step, *times, rater, points, f"student of {name}", "A"])
    return path


@pytest.fixture(scope="session")
def _hospital(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("hospital")
    write_video(place / "videos" / f"{NAMES[0]}.mp4", seed=1, metadata={"title": "Zhang San", "comment": "ward 7"})
    write_video(place / "videos" / f"{NAMES[1]}.avi", seed=2, codec="mpeg4")
    write_video(place / "videos" / "camera 2" / f"{NAMES[2]}.mkv", seed=3, audio=True)
    (place / "rubric.yaml").write_text(yaml.safe_dump(RUBRIC))
    long_table(place / "labels.csv")
    return place


@pytest.fixture
def given(_hospital: Path, tmp_path: Path) -> dict[str, Path]:
    """A copy of what a hospital has, by the names of ``build_dataset``."""
    place = Path(shutil.copytree(_hospital, tmp_path / "given"))
    return {"rubric": place / "rubric.yaml", "labels": place / "labels.csv", "videos": place / "videos"}


def edit(given: dict[str, Path], old: str, new: str, count: int = -1) -> None:
    text = given["labels"].read_text(encoding="utf-8-sig")
    assert old in text
    given["labels"].write_text(text.replace(old, new, count), encoding="utf-8-sig")


def with_other_sound(source: Path, target: Path, change: Callable[[int, Any], Any]) -> Path:
    with av.open(str(source)) as old, av.open(str(target), "w") as new:
        streams = {stream: new.add_stream_from_template(stream) for stream in old.streams.get(video=0, audio=0)}
        number = -1
        for packet in old.demux(list(streams)):
            if packet.dts is None:
                continue
            kept = packet
            if packet.stream.type == "audio":
                number += 1
                kept = change(number, packet)
            kept.stream = streams[packet.stream]
            new.mux(kept)
    return target


def late_sound(source: Path, target: Path, late: float) -> Path:
    """A copy whose sound begins this many seconds later, as a camera with a slow microphone writes it."""

    def later(_: int, packet: Any) -> Any:
        shift = round(Fraction(late) / packet.time_base)
        packet.pts, packet.dts = packet.pts + shift, packet.dts + shift
        return packet

    return with_other_sound(source, target, later)


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

"""A good dataset folder with tiny videos, made once and copied for every test that spoils it."""

import shutil
from collections.abc import Callable, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

import av
import numpy as np
import pytest
import yaml

from siming_tasks.common.files import sha256_file
from siming_tasks.data.folder_files import write_folder
from tests.records import change_rows

Edit = Callable[[Callable[[list[dict[str, Any]]], Any]], None]
"""Changes the rows of the folder's ``videos.jsonl``."""
STEPS = [("cpr_01", 2.0), ("cpr_02", 2.0), ("cpr_03", 5.0), ("aed_01", 3.0)]

CRITERIA = {"full": "all", "partial": "some", "fail": "none"}
RUBRIC: dict[str, Any] = {
    "schema_version": 1, "rubric_id": "tiny", "version": "1", "title": "Tiny exam",
    "skills": [
        {"id": skill, "name": skill.upper(), "steps": [
            {"id": step, "name": step, "requirement": "Does it.", "max_score": top, "criteria": dict(CRITERIA)}
            for step, top in STEPS if step.startswith(skill)
        ]}
        for skill in ("cpr", "aed")
    ],
}  # fmt: skip


def write_video(
    path: Path,
    *,
    seed: int = 0,
    frames: int = 20,
    rate: int = 10,
    size: tuple[int, int] = (64, 48),
    codec: str = "libx264",
    pixels: str = "yuv420p",
    pts: Sequence[int] | None = None,
    audio: bool = False,
    metadata: dict[str, str] | None = None,
    options: dict[str, str] | None = None,
) -> Path:
    """A square that wanders over a textured ground (``seed``); ``pts`` in ms gives frames uneven times."""
    rng = np.random.default_rng(seed)
    room = np.random.default_rng(seed)
    blocks = np.kron(room.integers(40, 180, (4, 4)), np.ones((size[1] // 4 + 1, size[0] // 4 + 1)))
    ground = (blocks[: size[1], : size[0], None] + room.integers(0, 40, (size[1], size[0], 3))).astype(np.uint8)
    path.parent.mkdir(parents=True, exist_ok=True)
    with av.open(str(path), "w") as out:
        out.metadata.update(metadata or {})
        stream = out.add_stream(codec, rate=rate)
        stream.width, stream.height, stream.pix_fmt, stream.options = *size, pixels, options or {}
        if pts is not None:
            stream.time_base = stream.codec_context.time_base = Fraction(1, 1000)
        sound = out.add_stream("aac", rate=16000) if audio else None
        for number in range(frames):
            picture = ground.copy()
            x, y = rng.integers(0, size[0] - 16), rng.integers(0, size[1] - 16)
            picture[y : y + 16, x : x + 16] = 250
            frame = av.VideoFrame.from_ndarray(picture, format="rgb24")
            frame.pts = number if pts is None else int(pts[number])
            frame.time_base = Fraction(1, rate) if pts is None else Fraction(1, 1000)
            out.mux(stream.encode(frame))
            if sound is not None:
                samples = 16000 // rate
                wave = av.AudioFrame.from_ndarray(np.zeros((1, samples), np.float32), format="fltp", layout="mono")
                wave.sample_rate, wave.pts = 16000, number * samples
                out.mux(sound.encode(wave))
        out.mux(stream.encode(None))
        if sound is not None:
            out.mux(sound.encode(None))
    return path


def turn(path: Path) -> None:
    data = bytearray(path.read_bytes())
    upright = np.array([0x10000, 0, 0, 0, 0x10000, 0, 0, 0, 0x40000000], ">i4").tobytes()
    turned = np.array([0, 0x10000, 0, -0x10000, 0, 0, 0, 0, 0x40000000], ">i4").tobytes()
    at = data.index(upright, data.index(b"tkhd"))
    data[at : at + 36] = turned
    path.write_bytes(data)


def video_row(number: int) -> dict[str, Any]:
    """Video ``number`` of the good folder: 2 s long, its points varied, its raters nearly agreeing."""
    steps: list[dict[str, Any]] = []
    for index, (step, top) in enumerate(STEPS):
        points = int(top) - (number + index) % 2
        score = {"rater_a": points, "rater_b": max(0, points - (index == 2)), "consensus": points}
        steps.append({"step_id": step, "start": 0.5 * index, "end": 0.5 * index + 0.4, "score": score})
    name = f"v{number:03}"
    return {"video_id": name, "media": f"media/{name}.mp4", "duration": 2.0, "site": "A", "steps": steps}


def make_folder(root: Path, videos: int = 3) -> Path:
    """A dataset folder without a single finding."""
    media = {}
    rows = [video_row(number) for number in range(1, videos + 1)]
    for number, row in enumerate(rows):
        write_video(root / row["media"], seed=number)
        media[row["media"]] = sha256_file(root / row["media"])
    rubric = root.parent / f"{root.name}.rubric.yaml"
    rubric.write_text(yaml.safe_dump(RUBRIC, sort_keys=False))
    info = {"name": "tiny", "version": "1", "license": "cc0-1.0", "simulated": {"videos": True, "labels": True}}
    write_folder(root, rubric, rows, info, media)
    return root


@pytest.fixture(scope="session")
def _good(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_folder(tmp_path_factory.mktemp("good") / "tiny")


@pytest.fixture
def folder(_good: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(_good, tmp_path / "tiny"))


def state(folder: Path, **facts: Any) -> None:
    path = folder / "dataset.yaml"
    path.write_text(yaml.safe_dump({**yaml.safe_load(path.read_text()), **facts}))


def unstate(root: Path) -> None:
    """Take the digest out of ``dataset.yaml``: a folder written by hand, which may say anything."""
    info = yaml.safe_load((root / "dataset.yaml").read_text())
    info.pop("digest", None)
    (root / "dataset.yaml").write_text(yaml.safe_dump(info, sort_keys=False))


@pytest.fixture
def edit(folder: Path) -> Edit:
    """Change the rows of the folder's ``videos.jsonl`` in place; it states no digest any more."""

    def change(how: Callable[[list[dict[str, Any]]], Any]) -> None:
        change_rows(folder / "videos.jsonl", how)
        unstate(folder)

    return change


def damage(path: Path) -> None:
    """Flip bits inside every fourth picture between keyframes; lengths and headers stay."""
    with av.open(str(path)) as container:
        packets = [(packet.pos, packet.size) for packet in container.demux(video=0) if not packet.is_keyframe]
    data = bytearray(path.read_bytes())
    for start, size in packets[::4]:
        for at in range((start or 0) + 20, (start or 0) + size, 5):
            data[at] ^= 0x5A
    path.write_bytes(data)

"""Tiny models of many architectures through the command: what the processor received is what the record says.

One in every run, the rest with ``pytest -m weekly``.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from siming_tasks.data import open_dataset
from siming_tasks.media import backends, view
from siming_tasks.tasks import TASKS
from siming_tasks.tasks.expected_requests import expected_requests

pytestmark = pytest.mark.host

ROOT = Path(__file__).parents[2]
SPIED = str(Path(__file__).with_name("spy.py"))
FRAMES, CLIP_FRAMES, SIZE = 6, 3, 256
FOUR = ("full_score", "full_error", "clip_score", "clip_error")


@dataclass(frozen=True)
class Case:
    """A model of the host with a tiny model behind it, of an architecture and in a folder of this name."""

    model: str
    make: str
    folder: str = ""
    simple: bool = False

    @property
    def name(self) -> str:
        """Its row in the table of backends."""
        return f"{'simple' if self.simple else 'chat'}.{self.model}"


CASES = [
    Case("qwen2_5_vl", "qwen2_5_vl"),
    Case("qwen2_5_vl", "qwen2_5_vl", simple=True),
    Case("qwen3_vl", "qwen3_vl"),
    Case("qwen3_vl", "qwen3_vl", simple=True),
    Case("qwen3_vl", "qwen3_vl_moe", "tiny-A3B"),
]
"""Other classes of lmms-eval run with a stand-in for their weights (``test_stand_ins``)."""


def thumbs(images: list[Image.Image]) -> np.ndarray:
    small = [image.convert("L").resize((48, 27), Image.Resampling.BOX) for image in images]
    return np.array([np.asarray(image, dtype=float).ravel() for image in small])


def expected(data: Path, cache: Path) -> dict[str, np.ndarray]:
    """Expected images of a scope's first request, read from the video itself."""
    dataset, images = open_dataset(data), {}
    for scope, frames in (("full", FRAMES), ("clip", CLIP_FRAMES)):
        video_id, step = expected_requests(TASKS[f"{scope}_score"], dataset.videos)[0]
        video = dataset.video(video_id)
        span = video.step(step).span if step else None
        shown = view(dataset.media_path(video), span=span, frames=frames, cache=cache, size=SIZE)
        images[scope] = thumbs(shown.images())
    return images


def received(log: Path) -> list[tuple[str, np.ndarray]]:
    """For each call of ``generate``: whether pictures or a film came before it, and their grey thumbs in order."""
    images, kind, seen = [], "", []
    for line in map(json.loads, log.read_text().splitlines()):
        if line["kind"] == "generate":
            assert any("pixel" in name for name in line["tensors"]), line
            images.append((kind, np.array(seen, dtype=float)))
            kind, seen = "", []
        elif line["thumbs"]:
            kind, seen = line["kind"], [*seen, *line["thumbs"]]
    return images


def in_order(got: np.ndarray, wanted: np.ndarray) -> bool:
    """True if each image is nearest to the one expected in its place."""
    if got.shape != wanted.shape:
        return False
    errors = np.abs(got[:, None] - wanted[None]).mean(axis=2)
    return bool((errors.diagonal() <= errors.min(axis=1) + 0.5).all() and (errors.diagonal() < 12).all())


@pytest.mark.parametrize(
    "case",
    [
        pytest.param(one, id=f"{one.name}-{one.make}", marks=[pytest.mark.weekly] * (one is not CASES[0]))
        for one in CASES
    ],
)
def test_the_processor_receives_the_expected_images(
    host: Callable[..., Any], tiny_model: Callable[..., Path], short_demo: Path, tmp_path: Path, case: Case
) -> None:
    log = tmp_path / "spy.jsonl"
    folder = tiny_model(case.make, case.folder)
    model = f"pretrained={folder},device=cpu,device_map=cpu,max_pixels=50176,min_pixels=3136"
    run = host(
        "--model", case.model, "--model_args", model, "--tasks", ",".join(f"siming_{name}" for name in FOUR),
        "--limit", "1", "--gen_kwargs", "max_new_tokens=4", *["--force_simple"] * case.simple,
        data=short_demo, script=SPIED, SPY_LOG=str(log), SIMING_FRAMES=str(FRAMES),
        SIMING_CLIP_FRAMES=str(CLIP_FRAMES), SIMING_FRAME_SIZE=str(SIZE),
    )  # fmt: skip
    shown = [run.samples(name)[0]["siming_stderr"]["media"] for name in FOUR]
    mode = backends()[case.name].media.name
    assert [media["mode"] for media in shown] == [mode] * 4
    got = received(log)
    assert len(got) == 4
    if mode == "video":
        assert {kind for kind, _ in got} == {"videos"} and all("n_frames" not in media for media in shown)
        assert max(len(pictures) for _, pictures in got) == FRAMES  # its budget is the run's
        return
    wanted = expected(short_demo, tmp_path / "cache")
    assert [media["n_frames"] for media in shown] == [FRAMES, FRAMES, CLIP_FRAMES, CLIP_FRAMES]
    assert {kind for kind, _ in got} == {"images"}
    for scope, pictures in wanted.items():
        assert sum(in_order(seen, pictures) for _, seen in got) == 2, (scope, [seen.shape for _, seen in got])

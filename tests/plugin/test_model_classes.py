"""Tiny models of many architectures through the command: what the processor received is what the record says.

One in every run, the rest with ``pytest -m weekly``.
"""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from siming_tasks.benchmark.tasks import TASKS
from siming_tasks.benchmark.tasks.expected_requests import expected_requests
from siming_tasks.data import open_dataset
from siming_tasks.media import backends, view

pytestmark = pytest.mark.host

ROOT = Path(__file__).parents[2]
SPIED = str(Path(__file__).with_name("spy.py"))
FRAMES, CLIP_FRAMES, SIZE = 6, 3, 256
FOUR = ("full_score", "full_error", "clip_score", "clip_error")


CASES = [
    # row of the table; architecture; folder, by whose name lmms-eval takes it for a mixture of experts
    ("chat.qwen2_5_vl", "qwen2_5_vl", ""),
    ("simple.qwen2_5_vl", "qwen2_5_vl", ""),
    ("chat.qwen3_vl", "qwen3_vl", ""),
    ("simple.qwen3_vl", "qwen3_vl", ""),
    ("chat.qwen3_vl", "qwen3_vl_moe", "tiny-A3B"),
    ("chat.qwen3_5", "qwen3_5", ""),
    ("simple.qwen3_5", "qwen3_5", ""),
]
"""Tiny models; the other classes run with a stand-in for their weights (``test_stand_ins``)."""


def expected(data: Path, cache: Path) -> dict[str, np.ndarray]:
    """Expected images of a scope's first request, read from the video itself, as 27 rows of 48 grey values."""
    dataset, images = open_dataset(data), {}
    for scope, frames in (("full", FRAMES), ("clip", CLIP_FRAMES)):
        video_id, step = expected_requests(TASKS[f"{scope}_score"], dataset.videos)[0]
        video = dataset.video(video_id)
        span = video.step(step).span if step else None
        shown = view(dataset.media_path(video), span=span, frames=frames, cache=cache, size=SIZE)
        small = [image.convert("L").resize((48, 27), Image.Resampling.BOX) for image in shown.images()]
        images[scope] = np.array([np.asarray(image, dtype=float).ravel() for image in small])
    return images


def in_order(got: np.ndarray, wanted: np.ndarray) -> bool:
    """True if each image is nearest to the one expected in its place."""
    if got.shape != wanted.shape:
        return False
    errors = np.abs(got[:, None] - wanted[None]).mean(axis=2)
    return bool((errors.diagonal() <= errors.min(axis=1) + 0.5).all() and (errors.diagonal() < 12).all())


@pytest.mark.parametrize(
    ("row", "make", "folder"), [CASES[0], *(pytest.param(*case, marks=pytest.mark.weekly) for case in CASES[1:])]
)
def test_the_processor_receives_the_expected_images(
    host: Callable[..., Any], tiny_model: Callable[..., Path], short_demo: Path, tmp_path: Path,
    row: str, make: str, folder: str,
) -> None:  # fmt: skip
    registry, _, name = row.partition(".")
    model = f"pretrained={tiny_model(make, folder)},device=cpu,device_map=cpu,max_pixels=50176,min_pixels=3136"
    run = host(
        "--model", name, "--model_args", model, "--tasks", ",".join(f"siming_{name}" for name in FOUR),
        "--limit", "1", "--gen_kwargs", "max_new_tokens=4", *["--force_simple"] * (registry == "simple"),
        data=short_demo, script=SPIED, SPY_LOG=str(log := tmp_path / "spy.jsonl"), SIMING_FRAMES=str(FRAMES),
        SIMING_CLIP_FRAMES=str(CLIP_FRAMES), SIMING_FRAME_SIZE=str(SIZE),
    )  # fmt: skip
    shown = [run.samples(name)[0]["siming_stderr"]["media"] for name in FOUR]
    counts = [FRAMES, FRAMES, CLIP_FRAMES, CLIP_FRAMES]
    assert [(media["mode"], media["n_frames"]) for media in shown] == [("frames", count) for count in counts]
    assert {media.get("encoding") for media in shown} == {"jpeg90" if backends()[row].sent else None}
    lines = [json.loads(line) for line in log.read_text().splitlines()]  # one for each call of `generate`
    assert len(lines) == 4 and all(any("pixel" in name for name in line["tensors"]) for line in lines)
    got = [np.array(line["pictures"], dtype=float) for line in lines]
    for scope, pictures in expected(short_demo, tmp_path / "cache").items():
        assert sum(in_order(seen, pictures) for seen in got) == 2, (scope, [seen.shape for seen in got])

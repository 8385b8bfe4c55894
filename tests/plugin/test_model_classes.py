"""Tiny models of many architectures through the command: what the processor received is what the record says.

One in every run, the rest with ``pytest -m weekly``.
"""

from __future__ import annotations

import importlib.util
import json
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from filelock import FileLock
from packaging.requirements import Requirement
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
CPU = "device=cpu,device_map=cpu"


@dataclass(frozen=True)
class Case:
    """A model of the host with a tiny model behind it."""

    model: str
    make: str
    folder: str = ""
    arguments: str = CPU
    flags: tuple[str, ...] = ()
    simple: bool = False
    env: tuple[tuple[str, str], ...] = ()

    @property
    def name(self) -> str:
        """Its row in the table of backends."""
        chat = f"chat.{self.model}" in backends() and not self.simple
        return f"{'chat' if chat else 'simple'}.{self.model}"


PIXELS = f"{CPU},max_pixels=50176,min_pixels=3136"
SIMPLE = ("--force_simple",)
CASES = [
    Case("qwen2_5_vl", "qwen2_5_vl", arguments=PIXELS),
    Case("qwen2_5_vl", "qwen2_5_vl", arguments=PIXELS, flags=SIMPLE, simple=True),
    Case("qwen3_vl", "qwen3_vl", arguments=PIXELS),
    Case("qwen3_vl", "qwen3_vl", arguments=PIXELS, flags=SIMPLE, simple=True),
    Case("qwen3_vl", "qwen3_vl_moe", "tiny-A3B", arguments=PIXELS),
    Case("qwen2_vl", "qwen2_vl", arguments=PIXELS),
    Case("qwen3_5", "qwen3_5", arguments=PIXELS),
    Case("qwen3_5", "qwen3_5", arguments=PIXELS, flags=SIMPLE, simple=True),
    Case("qwen3_omni", "qwen3_omni", arguments="device_map=auto", env=(("SPY_CPU", "1"),)),
    Case("llava_hf", "llava_onevision"),
    Case("llava_hf", "llava_onevision", flags=SIMPLE, simple=True),
    Case("internvl_hf", "internvl"),
    Case("gemma3", "gemma3"),
    Case("gemma4", "gemma4"),
    Case("glm4v", "glm4v", "glm4v-Flash"),
    Case("mistral3_vl", "mistral3"),
    Case("idefics2", "idefics2", arguments=f"{CPU},attn_implementation=sdpa,dtype=float32"),
    Case("aria", "aria"),
    Case("llama_vision", "mllama"),
]


def cases() -> list[Any]:
    return [pytest.param(c, id=f"{c.name}-{c.make}", marks=() if c is CASES[0] else pytest.mark.weekly) for c in CASES]


@pytest.fixture
def model(shared: Path, warm: Any) -> Callable[[Case], Path]:
    def make(case: Case) -> Path:
        folder = shared / "tiny-models" / (case.folder or case.make)
        folder.parent.mkdir(exist_ok=True)
        with FileLock(f"{folder}.lock"):
            if not folder.exists():
                script, log = str(ROOT / "utils" / "make_tiny_model.py"), Path(f"{folder}.log")
                code = warm.run([case.make, str(folder)], shared, dict(os.environ), log, script=script)
                assert code == 0, log.read_text()
        return folder

    return make


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


@pytest.mark.parametrize("case", cases())
def test_the_processor_receives_the_expected_images(
    host: Callable[..., Any], model: Callable[[Case], Path], short_demo: Path, tmp_path: Path, case: Case
) -> None:
    for need in map(Requirement, backends()[case.name].needs):
        if importlib.util.find_spec(need.name.replace("-", "_")) is None:
            pytest.skip(f"{need} is not installed")
    log = tmp_path / "spy.jsonl"
    run = host(
        "--model", case.model, "--model_args", f"pretrained={model(case)},{case.arguments}", "--tasks",
        ",".join(f"siming_{name}" for name in FOUR), "--limit", "1", "--gen_kwargs", "max_new_tokens=4", *case.flags,
        data=short_demo, script=SPIED, SPY_LOG=str(log), SIMING_FRAMES=str(FRAMES),
        SIMING_CLIP_FRAMES=str(CLIP_FRAMES), SIMING_FRAME_SIZE=str(SIZE), **dict(case.env),
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


AUTO = {"arguments": "device=cpu,device_map=auto", "env": (("SPY_CPU", "1"),)}
HEARING = [
    Case("qwen2_audio", "qwen2_audio", **AUTO),
    Case("qwen2_5_omni", "qwen2_5_omni", **AUTO),
    Case("qwen3_omni", "qwen3_omni", **AUTO),
]


@pytest.mark.weekly
@pytest.mark.parametrize("case", HEARING, ids=lambda case: case.make)
def test_the_processor_receives_the_samples_that_the_record_states(
    host: Callable[..., Any], model: Callable[[Case], Path], heard_demo: Path, tmp_path: Path, case: Case
) -> None:
    """All of them, in one piece or in windows one after the other; with transformers 5 one class fails after that."""
    log, beside = tmp_path / "spy.jsonl", "" if backends()[case.name].listens else "video_"
    tasks = [f"sound_{beside}audio_{part}_score" for part in ("full", "clip")]
    run = host(
        "--model", case.model, "--model_args", f"pretrained={model(case)},{case.arguments}", "--limit", "2",
        "--tasks", ",".join(f"siming_{name}" for name in tasks), "--gen_kwargs", "max_new_tokens=4",
        data=heard_demo, script=SPIED, SPY_LOG=str(log), SPY_OMNI=str(model(case)), SIMING_FRAMES="2",
        SIMING_CLIP_FRAMES="2", SIMING_FRAME_SIZE="128", **dict(case.env),
    )  # fmt: skip
    samples = [sample for name in tasks for sample in run.samples(name)]
    recorded = sorted(sample["siming_stderr"]["media"]["sound"]["sha256"] for sample in samples)
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    assert sorted(line["sha256"] for line in lines if line["kind"] == "sound") == recorded, run.output[-3000:]
    assert len(recorded) == 4
    if "transformers<5" in backends()[case.name].needs:
        return
    heard = [line["tensors"] for line in lines if line["kind"] == "generate"]
    assert len(heard) == 4 and all(any("feature" in name for name in tensors) for tensors in heard)
    assert all(any("pixel" in name for name in tensors) == bool(beside) for tensors in heard)


@pytest.mark.weekly
def test_a_batch_never_mixes_tasks(
    host: Callable[..., Any], model: Callable[[Case], Path], short_demo: Path, tmp_path: Path
) -> None:
    """Three requests of each of two tasks, two at a time: the pictures of 2, 1, 2 and 1 requests."""
    log, case = tmp_path / "spy.jsonl", CASES[0]
    run = host(
        "--model", case.model, "--model_args", f"pretrained={model(case)},{case.arguments}", "--batch_size", "2",
        "--tasks", "siming_full_score,siming_clip_score", "--limit", "3", "--gen_kwargs", "max_new_tokens=4",
        data=short_demo, script=SPIED, SPY_LOG=str(log), SIMING_FRAMES=str(FRAMES),
        SIMING_CLIP_FRAMES=str(CLIP_FRAMES), SIMING_FRAME_SIZE=str(SIZE),
    )  # fmt: skip
    assert sum(run.task("clip_score")["siming_stderr"]["statuses"].values()) == 3
    counts = sorted(len(pictures) for _, pictures in received(log))
    assert counts == sorted([2 * FRAMES, FRAMES, 2 * CLIP_FRAMES, CLIP_FRAMES])

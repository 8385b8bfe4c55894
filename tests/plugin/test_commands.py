"""Other jobs of the whole command: our small judge, every ablation, and a run that needs no network."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from siming_tasks.benchmark.tasks import INPUT_ABLATIONS

pytestmark = pytest.mark.host


@pytest.mark.parametrize("mode", ["frames", pytest.param("video", marks=pytest.mark.weekly)])
def test_siming_nano_runs_like_any_model(mode: str, host: Callable[..., Any], short_demo: Path) -> None:
    run = host(
        "--model", "siming_nano", "--model_args", "frames=6,clip_frames=3", "--batch_size", "4",
        "--tasks", "siming_full_score,siming_clip_error",
        data=short_demo, SIMING_MEDIA=mode, SIMING_FRAMES="6", SIMING_CLIP_FRAMES="3", name=mode,
    )  # fmt: skip
    full, clip = run.task("full_score"), run.task("clip_error")
    assert (full["coverage"], clip["coverage"], full["siming_stderr"]["media"]["modes"]) == (1.0, 1.0, {mode: 4})
    assert len({str(sample["filtered_resps"]) for sample in run.samples("full_score")}) > 1  # it looks at something


@pytest.mark.weekly
@pytest.mark.parametrize("media", ["video", "frames"])
def test_a_real_model_is_asked_in_every_ablation(
    host: Callable[..., Any], short_demo: Path, tiny_model: Callable[..., Path], media: str
) -> None:
    sizes = "max_num_frames=4,max_pixels=50176,min_pixels=3136"
    model = f"pretrained={tiny_model('qwen2_5_vl')},device=cpu,device_map=cpu,{sizes}"
    names = [f"ablation_{ablation}_{scope}_score" for ablation in INPUT_ABLATIONS for scope in ("full", "clip")]
    run = host(
        "--model", "qwen2_5_vl", "--model_args", model, "--tasks", ",".join(f"siming_{name}" for name in names),
        "--limit", "1", "--gen_kwargs", "max_new_tokens=4",
        data=short_demo, SIMING_MEDIA=media, SIMING_FRAMES="4", SIMING_CLIP_FRAMES="4",
    )  # fmt: skip
    for name in names:
        (sample,) = run.samples(name)
        shown = sample["siming_stderr"]["media"]
        assert sample["siming_stderr"]["status"] != "request_failed" and shown["ablation"] in name
        assert shown["mode"] == ("none" if "no_video" in name else "proxy" if media == "video" else "frames")
    assert run.task("ablation_no_video_full_score")["coverage"] == 0.0


PATCH = """
import os, socket

def refuse(host, *args, **kwargs):
    with open(os.environ["LOOKED_UP"], "a") as stream:
        stream.write(f"{host}\\n")
    raise socket.gaierror("no network in this test")

socket.getaddrinfo = socket.gethostbyname = socket.gethostbyname_ex = refuse
"""


def test_a_plain_run_looks_up_no_name(
    host: Callable[..., Any], command: tuple[str, ...], short_demo: Path, tmp_path: Path
) -> None:
    """In a process of its own: also what is asked while modules are imported."""
    (tmp_path / "sitecustomize.py").write_text(PATCH)
    (looked_up := tmp_path / "names").touch()
    run = host(
        "--model", "siming_reference", "--model_args", "kind=oracle", "--tasks", "siming_clip_score", "--limit", "1",
        data=short_demo, launcher=command, SIMING_FRAMES="2", SIMING_CLIP_FRAMES="2", HF_HUB_OFFLINE="0",
        PYTHONPATH=str(tmp_path), LOOKED_UP=str(looked_up),
    )  # fmt: skip
    assert run.task("clip_score")["coverage"] == 1.0
    assert looked_up.read_text() == ""

"""Every ablation through the unmodified command and a real model class."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from siming_tasks.tasks import INPUT_ABLATIONS

pytestmark = [pytest.mark.host, pytest.mark.weekly]


@pytest.mark.parametrize("media", ["video", "frames"])
def test_a_real_model_is_asked_in_every_ablation(
    host: Callable[..., Any], short_demo: Path, tiny_model: Callable[..., Path], media: str
) -> None:
    model = f"pretrained={tiny_model('qwen2_5_vl')},device=cpu,device_map=cpu,max_num_frames=4,max_pixels=50176"
    tasks = [f"siming_ablation_{ablation}_{scope}_score" for ablation in INPUT_ABLATIONS for scope in ("full", "clip")]
    run = host(
        "--model", "qwen2_5_vl", "--model_args", model, "--tasks", ",".join(tasks), "--limit", "1",
        "--gen_kwargs", "max_new_tokens=4", data=short_demo,
        SIMING_MEDIA=media, SIMING_FRAMES="4", SIMING_CLIP_FRAMES="4",
    )  # fmt: skip
    for ablation in INPUT_ABLATIONS:
        for scope in ("full", "clip"):
            (sample,) = run.samples(f"ablation_{ablation}_{scope}_score")
            shown = sample["siming_stderr"]["media"]
            assert sample["siming_stderr"]["status"] != "request_failed" and shown["ablation"] == ablation
            assert shown["mode"] == ("none" if ablation == "no_video" else "proxy" if media == "video" else "frames")
    assert run.task("ablation_no_video_full_score")["coverage"] == 0.0

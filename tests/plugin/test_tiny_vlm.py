"""A real model class on the CPU, unmodified: noise in, "no data" out."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

pytestmark = [pytest.mark.host, pytest.mark.weekly]


@pytest.mark.parametrize("media", ["video", "proxy", "frames"])
def test_all_four_settings_run_and_noise_is_no_data(
    host: Callable[..., Any], command: tuple[str, ...], short_demo: Path, tiny_vlm: Path, media: str
) -> None:
    model = f"pretrained={tiny_vlm},device=cpu,device_map=cpu,max_num_frames=4,max_pixels=50176,min_pixels=3136"
    run = host(
        "--model", "qwen2_5_vl", "--model_args", model, "--tasks", "siming_full,siming_clip", "--limit", "3",
        "--gen_kwargs", "max_new_tokens=8", data=short_demo,
        launcher=command if media == "video" else (), SIMING_MEDIA=media, SIMING_FRAMES="4", SIMING_CLIP_FRAMES="4",
    )  # fmt: skip
    for name in ("full_score", "full_error", "clip_score", "clip_error"):
        task = run.task(name)
        assert task["coverage"] == 0.0
        assert all(task[metric] is None for metric in ("qwk", "plcc", "srcc", "mcc", "f1") if metric in task)
        details = task["siming_stderr"]
        assert sum(details["statuses"].values()) == 3 and details["statuses"]["ok"] == 0
        assert details["media"]["modes"] == {media: 3}
    record = run.samples("clip_score")[1]["siming_stderr"]
    assert record["step_id"] and record["media"]["mode"] == media

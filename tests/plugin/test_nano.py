"""``--model siming_nano`` through the real command: images and files, every step answered, weights checked first."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.host

TASKS = "siming_full_score,siming_clip_error"


@pytest.mark.parametrize("mode", ["frames", pytest.param("video", marks=pytest.mark.weekly)])
def test_it_runs_like_any_model(mode: str, host: Callable[..., Any], short_demo: Path) -> None:
    run = host(
        "--model", "siming_nano", "--model_args", "frames=6,clip_frames=3", "--tasks", TASKS, "--batch_size", "4",
        data=short_demo, SIMING_MEDIA=mode, SIMING_FRAMES="6", SIMING_CLIP_FRAMES="3", name=mode,
    )  # fmt: skip
    full, clip = run.task("full_score"), run.task("clip_error")
    assert (full["coverage"], clip["coverage"]) == (1.0, 1.0)
    assert full["siming_stderr"]["media"]["modes"] == {mode: 4}
    assert full["siming_stderr"]["statuses"]["ok"] == 4
    assert len({str(sample["filtered_resps"]) for sample in run.samples("full_score")}) > 1  # it looks at something

"""Other jobs of the whole command: our small judge, every ablation, and a run that needs no network."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.host


@pytest.mark.parametrize("mode", ["frames", pytest.param("video", marks=pytest.mark.weekly)])
def test_siming_nano_runs_like_any_model(mode: str, host: Callable[..., Any], short_demo: Path) -> None:
    run = host(
        "--model", "siming_nano", "--model_args", "frames=6,clip_frames=3", "--batch_size", "4",
        "--tasks", "siming_full_score,siming_clip_error", "--limit", "12",
        data=short_demo, SIMING_MEDIA=mode, SIMING_FRAMES="6", SIMING_CLIP_FRAMES="3", name=mode,
    )  # fmt: skip
    full, clip = run.task("full_score"), run.task("clip_error")
    assert (full["coverage"], clip["coverage"], full["siming_stderr"]["media"]["modes"]) == (1.0, 1.0, {mode: 4})
    assert len({str(sample["filtered_resps"]) for sample in run.samples("full_score")}) > 1  # it looks at something


PATCH = """
import os, socket

def refuse(host, *args, **kwargs):
    with open(os.environ["LOOKED_UP"], "a") as stream:
        stream.write(f"{host}\\n")
    raise socket.gaierror("no network in this test")

socket.getaddrinfo = socket.gethostbyname = socket.gethostbyname_ex = refuse
"""


@pytest.mark.weekly
def test_a_plain_run_looks_up_no_name(
    host: Callable[..., Any], command: tuple[str, ...], short_demo: Path, tmp_path: Path
) -> None:
    """In a process of its own, whose imports take 15 s: also what is asked while modules are imported."""
    (tmp_path / "sitecustomize.py").write_text(PATCH)
    (looked_up := tmp_path / "names").touch()
    run = host(
        "--model", "siming_reference", "--model_args", "kind=oracle", "--tasks", "siming_clip_score", "--limit", "1",
        data=short_demo, launcher=command, SIMING_FRAMES="2", SIMING_CLIP_FRAMES="2", HF_HUB_OFFLINE="0",
        PYTHONPATH=str(tmp_path), LOOKED_UP=str(looked_up),
    )  # fmt: skip
    assert run.task("clip_score")["coverage"] == 1.0
    assert looked_up.read_text() == ""

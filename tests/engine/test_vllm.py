"""The four settings through vLLM: as a server, and inside lmms-eval."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.engine.conftest import OFFLINE
from tests.records import number_of

pytestmark = [pytest.mark.engine, pytest.mark.timeout(1800)]

FEW = {"SIMING_FRAMES": "4", "SIMING_CLIP_FRAMES": "2", "SIMING_FRAME_SIZE": "224"}
NAMES = ("full_score", "full_error", "clip_score", "clip_error")


def check(run: Any) -> None:
    """Every reply is read, and the precision of "correct" everywhere is undefined."""
    for name in NAMES:
        task = run.task(name)
        assert task["coverage"] == 1.0 and task["siming_stderr"]["statuses"]["ok"] == len(run.samples(name))
        for sample in run.samples(name):
            assert set(sample["siming_stderr"]["answers"].values()) == {1.0 if "score" in name else 0.0}
    for scope in ("full", "clip"):
        assert number_of(run.task(f"{scope}_error")["siming_stderr"], "mcc").value is None


def test_a_server_answers_all_four_settings(served: str, host: Callable[..., Any], short_demo: Path) -> None:
    args = f"model_version=tiny,base_url={served}/v1,api_key=none,num_cpus=4,timeout=60"
    tasks = ("--tasks", "siming_full,siming_clip")
    check(host("--model", "async_openai", "--model_args", args, *tasks, data=short_demo, **FEW))


def test_vllm_inside_lmms_eval(vllm: Path, speaking: Path, host: Callable[..., Any], short_demo: Path) -> None:
    args = f"model={speaking},max_model_len=16384,dtype=float32,enforce_eager=True,tensor_parallel_size=1"
    run = host(
        "--model", "vllm", "--model_args", args, "--tasks", "siming_full,siming_clip", data=short_demo,
        launcher=(str(vllm.with_name("lmms-eval")),), **FEW, **OFFLINE,
    )  # fmt: skip
    check(run)

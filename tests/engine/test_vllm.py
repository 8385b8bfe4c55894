"""The four settings through vLLM: as a server, with a replica killed, and inside lmms-eval."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.engine.conftest import OFFLINE, Engine
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


def asking(engine: Engine, retries: int = 5) -> tuple[str, ...]:
    args = f"model_version=tiny,base_url={engine.url}/v1,api_key=none,num_cpus=4,timeout=60,max_retries={retries}"
    return ("--model", "async_openai", "--model_args", args, "--tasks", "siming_full,siming_clip")


def test_a_server_answers_all_four_settings(
    serve: Callable[..., Engine], host: Callable[..., Any], short_demo: Path
) -> None:
    check(host(*asking(serve()), data=short_demo, **FEW))


def test_a_replica_that_is_killed_costs_no_answer(
    serve: Callable[..., Engine], host: Callable[..., Any], short_demo: Path, tmp_path: Path
) -> None:
    """vLLM ends the whole server with it. What was answered is kept; the same command asks the rest of a new server."""
    engine = serve("--data-parallel-size", "2")
    cores = engine.engines()
    assert len(cores) == 2

    def kill() -> None:
        while engine.log.read_text().count("POST /v1/chat/completions") < 6:
            time.sleep(0.1)
        os.kill(cores[1], signal.SIGKILL)

    threading.Thread(target=kill, daemon=True).start()
    kept = {"SIMING_REPLIES": str(tmp_path / "replies")}
    cut = host(*asking(engine, retries=1), "--limit", "8", data=short_demo, name="cut", **FEW, **kept)
    statuses = [cut.task(name)["siming_stderr"]["statuses"] for name in NAMES]
    lost = sum(counts["request_failed"] + counts["empty"] for counts in statuses)  # empty: in flight when it died
    occurring = {name for counts in statuses for name, n in counts.items() if n}
    assert lost > 0 and occurring <= {"ok", "request_failed", "empty"}, statuses
    again = serve(port=engine.port)
    whole = host(*asking(again), "--limit", "8", data=short_demo, name="again", **FEW, **kept)
    assert [whole.task(name)["coverage"] for name in NAMES] == [1.0] * 4
    assert again.log.read_text().count('"POST /v1/chat/completions HTTP/1.1" 200') == lost


def test_vllm_inside_lmms_eval(vllm: Path, speaking: Path, host: Callable[..., Any], short_demo: Path) -> None:
    args = f"model={speaking},max_model_len=16384,dtype=float32,enforce_eager=True,tensor_parallel_size=1"
    run = host(
        "--model", "vllm", "--model_args", args, "--tasks", "siming_full,siming_clip", data=short_demo,
        launcher=(str(vllm.with_name("lmms-eval")),), **FEW, **OFFLINE,
    )  # fmt: skip
    check(run)

"""The four settings through vLLM: as a server, with a replica killed, and inside lmms-eval."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.metrics import cohen_kappa_score

from siming_tasks import open_dataset
from tests.engine.conftest import OFFLINE, Engine
from tests.records import number_of

pytestmark = [pytest.mark.engine, pytest.mark.timeout(1800)]

FEW = {"SIMING_FRAMES": "4", "SIMING_CLIP_FRAMES": "2", "SIMING_FRAME_SIZE": "224"}
NAMES = ("full_score", "full_error", "clip_score", "clip_error")


def labels(points: np.ndarray, best: np.ndarray) -> np.ndarray:
    """The four labels of the paper's equation, absolute reading."""
    lost = best - points
    return np.where(points <= 0, 0, np.where(lost == 0, 3, np.where(lost <= 1, 2, 1)))


def constant_kappa(data: Path, clips: bool) -> float:
    """Quadratic weighted kappa of "one point everywhere", by scikit-learn."""
    dataset = open_dataset(data)
    rows = [
        (step.consensus, dataset.rubric.by_id[step.step_id].max_score)
        for video in dataset.videos
        for step in video.applicable
        if step.span or not clips
    ]
    truth, best = np.array(rows, dtype=float).T
    return float(
        cohen_kappa_score(labels(truth, best), labels(np.ones_like(truth), best), weights="quadratic", labels=range(4))
    )


def check(run: Any, data: Path) -> None:
    for name in NAMES:
        task = run.task(name)
        assert task["coverage"] == 1.0
        assert set(task["siming_stderr"]["statuses"]) >= {"ok"}
    for scope in ("full", "clip"):
        assert run.task(f"{scope}_score")["qwk"] == pytest.approx(constant_kappa(data, scope == "clip"), abs=1e-12)
        assert number_of(run.task(f"{scope}_error")["siming_stderr"], "mcc").value is None


def asking(engine: Engine, retries: int = 5) -> tuple[str, ...]:
    args = f"model_version=tiny,base_url={engine.url}/v1,api_key=none,num_cpus=4,timeout=60,max_retries={retries}"
    return ("--model", "async_openai", "--model_args", args, "--tasks", "siming_full,siming_clip")


def test_a_server_answers_all_four_settings(
    serve: Callable[..., Engine], host: Callable[..., Any], short_demo: Path
) -> None:
    check(host(*asking(serve()), data=short_demo, **FEW), short_demo)


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
    check(run, short_demo)

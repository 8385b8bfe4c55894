"""A real vLLM server on the CPU with a tiny model that always says the same readable JSON.

`bash utils/make_engine_env.sh DIR` makes the environment; `SIMING_VLLM=DIR/bin/vllm pytest -m engine` runs these tests.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from siming_tasks.rubrics import default_rubric
from tests.lmms_eval_runs import environment

ROOT = Path(__file__).parents[2]
START = 600
OFFLINE = {"VLLM_NO_USAGE_STATS": "1", "DO_NOT_TRACK": "1"}
OFFLINE |= {"VLLM_CPU_KVCACHE_SPACE": "1", "VLLM_CPU_NUM_OF_RESERVED_CPU": "0"}
SHAPE = ["--dtype", "float32", "--max-model-len", "16384", "--limit-mm-per-prompt", '{"image":64,"video":1}']
SHAPE += ["--enforce-eager", "--max-num-seqs", "4"]


@pytest.fixture(scope="session")
def vllm() -> Path:
    """The executable that SIMING_VLLM names."""
    if not (name := os.environ.get("SIMING_VLLM")):
        pytest.skip("SIMING_VLLM does not name a vllm executable (utils/make_engine_env.sh)")
    return Path(name)


@pytest.fixture(scope="session")
def speaking(vllm: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One point for every step, "correct" for every step: a constant judge."""
    says = json.dumps({step.id: {"score": 1, "verdict": "correct"} for step in default_rubric().steps})
    out = tmp_path_factory.mktemp("speaking") / "tiny"
    script = ROOT / "utils" / "make_tiny_model.py"
    subprocess.run([sys.executable, str(script), "qwen2_5_vl", str(out), "--head", "64", "--says", says], check=True)
    return out


class Engine:
    """``vllm serve`` in a process group of its own."""

    def __init__(self, vllm: Path, model: Path, log: Path, *more: str, port: int = 0) -> None:
        with socket.socket() as ablation:
            ablation.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            ablation.bind(("127.0.0.1", port))
            port = ablation.getsockname()[1]
        self.port, self.url, self.log = port, f"http://127.0.0.1:{port}", log
        argv = [str(vllm), "serve", str(model), "--served-model-name", "tiny"]
        argv += ["--host", "127.0.0.1", "--port", str(port)]
        with log.open("w") as stream:
            self.process = subprocess.Popen(
                [*argv, *SHAPE, *more], env=environment(**OFFLINE), stdout=stream, stderr=subprocess.STDOUT,
                start_new_session=True,
            )  # fmt: skip
        until = time.monotonic() + START
        while time.monotonic() < until:
            assert self.process.poll() is None, log.read_text()[-5000:]
            try:
                urllib.request.urlopen(f"{self.url}/health", timeout=5)
                return
            except OSError:
                time.sleep(1)
        raise TimeoutError(log.read_text()[-5000:])

    def engines(self) -> list[int]:
        """Process ids of the engine cores."""
        listed = subprocess.run(["ps", "-eo", "pid,pgid,args"], capture_output=True, text=True, check=True).stdout
        rows = [line.split(None, 2) for line in listed.splitlines()[1:]]
        return [int(pid) for pid, group, args in rows if int(group) == self.process.pid and "EngineCore" in args]

    def close(self) -> None:
        """SIGTERM to the group: a kill would leave orphans and shared memory behind."""
        if self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGTERM)
            try:
                self.process.wait(60)
            except subprocess.TimeoutExpired:
                os.killpg(self.process.pid, signal.SIGKILL)
                self.process.wait()


@pytest.fixture
def serve(vllm: Path, speaking: Path, tmp_path: Path) -> Iterator[Callable[..., Engine]]:
    started: list[Any] = []

    def start(*more: str, port: int = 0) -> Engine:
        started.append(Engine(vllm, speaking, tmp_path / f"engine{len(started)}.log", *more, port=port))
        return started[-1]

    yield start
    for engine in started:
        engine.close()

"""A real vLLM server on the CPU with a tiny model that always says the same readable JSON.

`bash utils/make_engine_env.sh DIR` makes the environment; `SIMING_VLLM=DIR/bin/vllm pytest -m engine` runs these tests.
"""

import json
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest

from siming_tasks.benchmark.rubrics import default_rubric
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


@pytest.fixture
def served(vllm: Path, speaking: Path, tmp_path: Path) -> Iterator[str]:
    """Address of ``vllm serve`` in a process group of its own."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = str(free.getsockname()[1])
    argv = [str(vllm), "serve", str(speaking), "--served-model-name", "tiny", "--host", "127.0.0.1", "--port", port]
    url, log = f"http://127.0.0.1:{port}", tmp_path / "engine.log"
    with log.open("w") as stream:
        process = subprocess.Popen(
            [*argv, *SHAPE], env=environment(**OFFLINE), stdout=stream, stderr=subprocess.STDOUT, start_new_session=True
        )
    try:
        until = time.monotonic() + START
        while True:
            assert process.poll() is None and time.monotonic() < until, log.read_text()[-5000:]
            try:
                urllib.request.urlopen(f"{url}/health", timeout=5)
                break
            except OSError:
                time.sleep(1)
        yield url
    finally:  # SIGTERM to the group: a kill would leave orphans and shared memory behind
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGTERM)
            try:
                process.wait(60)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()

"""Several processes and nodes: torchrun on loopback, uneven shares, a rank that dies."""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.lmms_eval_runs import TIMEOUT, Run, Warm, environment

pytestmark = [pytest.mark.host, pytest.mark.weekly]

TASKS = "siming_full"
FEW = {"SIMING_FRAMES": "4", "SIMING_CLIP_FRAMES": "2"}


def free_port() -> int:
    with socket.socket() as ablation:
        ablation.bind(("127.0.0.1", 0))
        return int(ablation.getsockname()[1])


class Nodes:
    """One torchrun agent for each node, all on this machine, with a shared output folder."""

    def __init__(
        self, folder: Path, shared: Path, data: Path, nodes: int, ranks: int, warm: Warm | None, *arguments: str
    ) -> None:
        self.folder, port = folder, free_port()
        folder.mkdir()
        env = environment(SIMING_CACHE=str(shared / "siming-cache"), SIMING_DATA=str(data), **FEW)
        self.agents = []
        for rank in range(nodes):
            launcher = [warm.command("torchrun")] if warm else [sys.executable, "-m", "torch.distributed.run"]
            launcher += ["--nnodes", str(nodes), "--node_rank", str(rank), "--nproc_per_node", str(ranks)]
            launcher += ["--master_addr", "127.0.0.1", "--master_port", str(port)]
            launcher += ["--no-python", warm.command()] if warm else ["-m", "lmms_eval"]
            argv = [*launcher, *arguments, "--output_path", str(folder / "out"), "--log_samples"]
            with (folder / f"log{rank}").open("w") as log:
                self.agents.append(
                    subprocess.Popen(
                        argv, cwd=folder, env=env, stdout=log, stderr=subprocess.STDOUT, start_new_session=True
                    )
                )

    def log(self, rank: int) -> str:
        return (self.folder / f"log{rank}").read_text(errors="replace")

    def wait(self) -> list[Run]:
        codes = [agent.wait(TIMEOUT) for agent in self.agents]
        return [Run(code, self.log(rank), self.folder / "out") for rank, code in enumerate(codes)]

    def close(self) -> None:
        for agent in self.agents:
            if agent.poll() is None:
                os.killpg(agent.pid, signal.SIGKILL)
                agent.wait()


@pytest.fixture
def nodes(tmp_path: Path, shared: Path, short_demo: Path, warm: Warm) -> Any:
    started: list[Nodes] = []

    def start(name: str, *arguments: str, count: int = 2, ranks: int = 1, forks: bool = True) -> Nodes:
        server = warm if forks else None
        started.append(Nodes(tmp_path / name, shared, short_demo, count, ranks, server, *arguments))
        return started[-1]

    yield start
    for each in started:
        each.close()


def reference(kind: str, *more: str) -> tuple[str, ...]:
    return ("--model", "siming_reference", "--model_args", f"kind={kind}", "--tasks", TASKS, *more)


def test_two_nodes_with_uneven_shares_give_the_numbers_of_one(
    nodes: Callable[..., Nodes], host: Callable[..., Run], short_demo: Path
) -> None:
    """Three exams on two nodes: one has two requests of a setting, the other one."""
    single = host(*reference("rater_b", "--limit", "3"), data=short_demo, **FEW)
    two = nodes("two", *reference("rater_b", "--limit", "3")).wait()
    assert [run.code for run in two] == [0, 0]
    for name in ("full_score", "full_error"):
        for rank, run in enumerate(two):
            assert f"Building contexts for siming_{name} on rank {rank}" in run.output
        (share,) = re.findall(rf"Postprocessed (\d+) docs for siming_{name}/", two[0].output)
        assert int(share) == 2  # of three; the other node's log does not say
        assert two[0].task(name) == single.task(name)
        assert len(two[0].samples(name)) == 3


def test_a_dead_rank_ends_the_run_and_a_rerun_finishes(nodes: Callable[..., Nodes]) -> None:
    """The other rank does not wait for ever, and nothing that it leaves looks like a result."""
    dying = nodes("dying", *reference("rater_b"), count=1, ranks=2, forks=False)
    until = time.monotonic() + TIMEOUT
    while not re.search("Building contexts .* on rank 1", dying.log(0)) and time.monotonic() < until:
        time.sleep(0.05)
    (agent,) = dying.agents
    ranks = subprocess.run(["pgrep", "-P", str(agent.pid)], capture_output=True, text=True).stdout.split()
    (second,) = [pid for pid in ranks if b"\0RANK=1\0" in Path(f"/proc/{pid}/environ").read_bytes()]
    os.kill(int(second), signal.SIGKILL)
    killed = time.monotonic()
    (run,) = dying.wait()
    assert run.code != 0 and time.monotonic() - killed < 120
    assert "Signal 9 (SIGKILL)" in run.output  # torchrun's own sentence names the rank and the signal
    assert not list(run.folder.rglob("*_results.json"))
    (again,) = nodes("again", *reference("rater_b"), count=1, ranks=2).wait()
    assert again.code == 0 and len(again.samples("full_score")) == 4

"""Fixtures that run the real lmms-eval command; the results that it leaves behind."""

import importlib.util
import json
import os
import resource
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from filelock import FileLock

from tests.plugin import warm_client
from tests.plugin.serving import Server

ROOT = Path(__file__).parents[1]
TIMEOUT = 600


@contextmanager
def files_end_at(size: int) -> Iterator[None]:
    """No file grows beyond so many bytes: what a full disk does, without one."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


@dataclass(frozen=True)
class Run:
    """One finished lmms-eval command."""

    code: int
    output: str
    folder: Path

    def results(self) -> dict[str, Any]:
        """The results file; a crash exits 0 and leaves none, so its presence is part of every test."""
        files = sorted(self.folder.rglob("*_results.json"))
        assert len(files) == 1, self.output[-5000:]
        text = files[0].read_text()
        assert "NaN" not in text
        return json.loads(text)

    def task(self, name: str) -> dict[str, Any]:
        row = self.results()["results"][f"siming_{name}"]
        return {key.removesuffix(",none"): value for key, value in row.items()}

    def samples(self, name: str) -> list[dict[str, Any]]:
        (file,) = self.folder.rglob(f"*_samples_siming_{name}.jsonl")
        return [json.loads(line) for line in file.read_text().splitlines()]


class Warm:
    """A server of ``warm.py``, one for all processes of a test run, started when it is first asked for."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.socket = folder / "warm.sock"
        self.starting = threading.Lock()
        self.lease: socket.socket | None = None
        self.process: subprocess.Popen[bytes] | None = None
        self.pid = 0
        """Process id of the present run, or of the last one."""

    def start(self) -> None:
        """Connect to the server, which ends when nobody is connected any more; the first one starts it."""
        with self.starting, FileLock(self.folder / "warm.lock"):
            if self.lease:
                return
            if not self.socket.exists():
                server = [sys.executable, str(Path(warm_client.__file__).with_name("warm.py")), str(self.socket)]
                self.process = subprocess.Popen(server, stdin=subprocess.DEVNULL, env=environment())
                while not self.socket.exists():
                    assert self.process.poll() is None, "the server did not start"
                    time.sleep(0.02)
                for name, script in (("lmms-eval", ""), ("torchrun", torchrun_module())):
                    text = f"#!{sys.executable} -IS\n{Path(warm_client.__file__).read_text()}\nmain({script!r})\n"
                    (self.folder / name).write_text(text)
                    (self.folder / name).chmod(0o755)
            self.lease = warm_client.connect(str(self.socket), {"lease": True})

    def command(self, name: str = "lmms-eval") -> str:
        """An executable that runs ``lmms-eval`` or ``torchrun`` in a fork of the server."""
        self.start()
        return str(self.folder / name)

    def run(self, argv: list[str], cwd: Path, env: dict[str, str], output: Path, script: str = "") -> int:
        """Run ``lmms-eval`` (or a script) with these arguments in a fork; its exit code (negative: a signal)."""
        self.start()
        job = {"argv": argv, "cwd": str(cwd), "env": env, "script": script}
        with Path(os.devnull).open("rb") as nothing, output.open("wb") as log:
            files = nothing.fileno(), log.fileno(), log.fileno()
            connection = warm_client.connect(str(self.socket), job, files)
        with connection, connection.makefile() as answers:
            self.pid = int(answers.readline())
            killer = threading.Timer(TIMEOUT, os.kill, (self.pid, signal.SIGKILL))
            killer.start()
            try:
                return int(answers.readline())
            finally:
                killer.cancel()

    def close(self) -> None:
        if self.lease:
            with FileLock(self.folder / "warm.lock"), self.lease:
                self.lease.shutdown(socket.SHUT_WR)
                self.lease.recv(1)  # until the server has closed it too, and has gone if nobody else is connected
        if self.process:
            self.process.wait()  # for the last lease


def environment(**env: str) -> dict[str, str]:
    """This process's environment without settings of ours, offline."""
    ours = {key: value for key, value in os.environ.items() if not key.startswith(("SIMING_", "OPENAI_"))}
    loopback = {"NO_PROXY": "127.0.0.1", "no_proxy": "127.0.0.1"}
    return {**ours, **loopback, "HF_HUB_OFFLINE": "1", "OMP_NUM_THREADS": "1", **env}


def torchrun_module() -> str:
    spec = importlib.util.find_spec("torch")
    assert spec is not None and spec.origin is not None
    return str(Path(spec.origin).parent / "distributed" / "run.py")


@pytest.fixture(scope="session")
def warm(shared: Path) -> Iterator[Warm]:
    (folder := shared / "warm").mkdir(exist_ok=True)
    server = Warm(folder)
    yield server
    server.close()


@pytest.fixture(scope="session")
def forked(warm: Warm) -> tuple[str, ...]:
    """The console script as a launcher, for a process with limits and signals of its own; a fork does the work."""
    return (warm.command(),)


@pytest.fixture(scope="session")
def two_processes(warm: Warm) -> tuple[str, ...]:
    """A launcher that runs lmms-eval in two processes on this machine: torchrun, its ranks forks of the server."""
    return (warm.command("torchrun"), "--standalone", "--nproc_per_node", "2", "--no-python", warm.command())


@pytest.fixture
def host(tmp_path: Path, shared: Path, warm: Warm) -> Callable[..., Run]:
    """``host(*arguments, data=folder, name="run", launcher=(), script="", ENV=...)`` runs lmms-eval in an empty folder.

    In a fork of a process that has lmms-eval imported (``warm.py``); with a launcher as a process of its own; with a
    script through that, which ends in lmms-eval's ``main``.
    """

    def call(
        *arguments: str,
        data: Path | None,
        name: str = "run",
        launcher: tuple[str, ...] = (),
        script: str = "",
        **env: str,
    ) -> Run:
        folder = tmp_path / name
        folder.mkdir()
        own = "--output_path" in arguments
        out = Path(arguments[arguments.index("--output_path") + 1]) if own else folder / "out"
        argv = [*arguments, *(() if own else ("--output_path", str(out))), "--log_samples"]
        settings = {"SIMING_CACHE": str(shared / "siming-cache")}
        settings["SIMING_REPLIES"] = str(folder / "replies")  # each run asks anew unless a test says otherwise
        env = environment(**{**settings, **({"SIMING_DATA": str(data)} if data else {}), **env})
        if not launcher:
            code = warm.run(argv, folder, env, folder / "log", script)
            return Run(code, (folder / "log").read_text(errors="replace"), out)
        done = subprocess.run(
            [*launcher, *argv], cwd=folder, env=env, text=True, errors="replace", timeout=TIMEOUT,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        )  # fmt: skip
        return Run(done.returncode, done.stdout, out)

    return call


@pytest.fixture(scope="session")
def command() -> tuple[str, ...]:
    """The console script as a launcher: a process of its own, nothing imported before."""
    return (str(Path(sys.executable).with_name("lmms-eval")),)


@pytest.fixture
def serve() -> Iterator[Callable[..., Server]]:
    servers: list[Server] = []

    def start(answer: Callable[..., Any], port: int = 0) -> Server:
        servers.append(Server(answer, port))
        return servers[-1]

    yield start
    for server in servers:
        server.gone()


@pytest.fixture(scope="session")
def tiny_model(shared: Path, warm: Warm) -> Callable[..., Path]:
    """``tiny_model("qwen3_vl", folder="")``: the folder of a tiny model of some architecture, made once."""

    def make(name: str, folder: str = "") -> Path:
        out = shared / "tiny-models" / (folder or name)
        out.parent.mkdir(exist_ok=True)
        with FileLock(f"{out}.lock"):
            if not out.exists():
                script, log = str(ROOT / "utils" / "make_tiny_model.py"), Path(f"{out}.log")
                assert warm.run([name, str(out)], shared, dict(os.environ), log, script=script) == 0, log.read_text()
        return out

    return make

"""Processes side by side: one writer at a time also where files cannot be locked; workers end with who started them."""

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from siming_tasks.common.processes import locked, worker_pool

CC = shutil.which("cc")

WRITER = """
import sys, time
from pathlib import Path
from siming_tasks.common.processes import locked
folder, rounds, after = Path(sys.argv[1]), int(sys.argv[2]), float(sys.argv[3])
print("ready", flush=True)
sys.stdin.readline()
for _ in range(rounds):
    with locked(folder / "count.lock"):  # without a lock most of these additions would be lost
        number = int((folder / "count").read_text())
        time.sleep(0.001)
        (folder / "count").write_text(str(number + 1))
        print("held", flush=True)
        time.sleep(after)
"""


@pytest.fixture
def start(tmp_path: Path) -> Callable[..., subprocess.Popen[str]]:
    """Starts the writer in a process where ``flock`` fails as it does on NFS without its lock service."""
    if not CC or not sys.platform.startswith("linux"):
        pytest.skip("needs a C compiler")
    source, shim = tmp_path / "shim.c", tmp_path / "shim.so"
    source.write_text("#include <errno.h>\nint flock(int fd, int how) { errno = ENOLCK; return -1; }\n")
    subprocess.run([CC, "-shared", "-fPIC", "-o", str(shim), str(source)], check=True)
    (tmp_path / "count").write_text("0")

    def begin(rounds: int, after: float = 0) -> subprocess.Popen[str]:
        process = subprocess.Popen(
            [sys.executable, "-W", "ignore", "-c", WRITER, str(tmp_path), str(rounds), str(after)], text=True,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, env={**os.environ, "LD_PRELOAD": str(shim)},
        )  # fmt: skip
        assert process.stdout is not None and process.stdout.readline() == "ready\n"
        return process

    return begin


def test_no_write_is_lost_and_the_lock_of_a_killed_process_is_taken_away(
    start: Callable[..., subprocess.Popen[str]], tmp_path: Path
) -> None:
    writers = [start(12) for _ in range(2)]
    for writer in writers:
        assert writer.stdin is not None
        writer.stdin.write("\n")
        writer.stdin.flush()
    for writer in writers:
        writer.communicate(timeout=300)
    assert (tmp_path / "count").read_text() == "24"
    holder = start(1, 300)
    assert holder.stdin is not None and holder.stdout is not None
    holder.stdin.write("\n")
    holder.stdin.flush()
    assert holder.stdout.readline() == "held\n"
    holder.kill()
    holder.communicate()
    start(1).communicate("\n", timeout=300)
    assert (tmp_path / "count").read_text() == "26"


def test_another_error_is_no_reason_to_go_on_without(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(FileExistsError), locked(tmp_path / "file" / "lock"):
        pass
    with locked(tmp_path / "c"), pytest.raises(TimeoutError), locked(tmp_path / "c", timeout=0):
        pass
    with locked(tmp_path / "a"), locked(tmp_path / "b"):
        assert not list(tmp_path.glob("*.soft"))


STARTED = """
import multiprocessing, time
from siming_tasks.common.processes import worker_pool
if __name__ == "__main__":
    with worker_pool(2) as pool:
        for _ in range(2):
            pool.submit(time.sleep, 0.2).result()
        busy = [pool.submit(time.sleep, 600) for _ in range(2)]
        print(*(child.pid for child in multiprocessing.active_children()), flush=True)
        time.sleep(600)
"""


def alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="looks at processes through /proc")
def test_no_worker_outlives_a_process_that_is_killed(tmp_path: Path) -> None:
    (tmp_path / "started.py").write_text(STARTED)
    with subprocess.Popen([sys.executable, "started.py"], cwd=tmp_path, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        pids = [int(pid) for pid in process.stdout.readline().split()]
        assert len(pids) == 2 and all(map(alive, pids))
        process.kill()
        assert process.wait() == -signal.SIGKILL
    end = time.monotonic() + 120
    while any(map(alive, pids)) and time.monotonic() < end:
        time.sleep(0.05)
    assert not any(map(alive, pids))


def test_a_script_without_a_guard_ends_with_a_sentence(tmp_path: Path) -> None:
    """Its workers import the script again, in which they would wait for the lock that it holds."""
    (script := tmp_path / "script.py").write_text(
        "from siming_tasks.tools.simulator import make_demo\n"
        f"make_demo({str(tmp_path / 'demo')!r}, videos=2, short=True, jobs=2, progress=False)\n"
    )
    ended = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, timeout=100, check=False)
    assert ended.returncode == 1 and "A worker process runs the whole script again." in ended.stderr
    last = ended.stderr.strip().splitlines()[-1]
    assert "or could not start." in last and 'below `if __name__ == "__main__":`, or with jobs=1.' in last


def test_waiting_jobs_are_cancelled_when_the_block_fails() -> None:
    with pytest.raises(KeyError), worker_pool(1) as pool:
        waiting = [pool.submit(time.sleep, seconds) for seconds in (0.2, *[0.5] * 20)]
        waiting[0].result()
        raise KeyError
    assert sum(future.cancelled() for future in waiting) >= 10  # some are in the worker's hands already

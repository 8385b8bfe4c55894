"""Workers end with whoever started them, however that ends."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from siming_tasks.common.processes import worker_pool

STARTED = """
import multiprocessing, time
from siming_tasks.common.processes import worker_pool
if __name__ == "__main__":
    with worker_pool(2) as pool:
        for _ in range(2):
            pool.submit(time.sleep, 0.2).result()
        busy = [pool.submit(time.sleep, 120) for _ in range(2)]
        print(*(child.pid for child in multiprocessing.active_children()), flush=True)
        time.sleep(120)
"""


def alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="looks at processes through /proc")
@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGKILL])
def test_no_worker_outlives_a_process_that_is_killed(how: signal.Signals, tmp_path: Path) -> None:
    (tmp_path / "started.py").write_text(STARTED)
    with subprocess.Popen([sys.executable, "started.py"], cwd=tmp_path, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        pids = [int(pid) for pid in process.stdout.readline().split()]
        assert len(pids) == 2 and all(map(alive, pids))
        os.kill(process.pid, how)
        assert process.wait() == -how
    end = time.monotonic() + 30
    while any(map(alive, pids)) and time.monotonic() < end:
        time.sleep(0.05)
    assert not any(map(alive, pids))


def test_waiting_jobs_are_cancelled_when_the_block_fails() -> None:
    with pytest.raises(KeyError), worker_pool(1) as pool:
        waiting = [pool.submit(time.sleep, seconds) for seconds in (0.2, *[0.5] * 20)]
        waiting[0].result()
        raise KeyError
    assert sum(future.cancelled() for future in waiting) >= 15  # a few are in the worker's hands already

"""One writer at a time where files cannot be locked: real processes, whose kernel call says what such a mount says."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path

import pytest

from siming_tasks.common.processes import locked

CC = shutil.which("cc")

WRITER = """
import sys, time
from pathlib import Path
from siming_tasks.common.processes import locked
folder, rounds = Path(sys.argv[1]), int(sys.argv[2])
print("ready", flush=True)
sys.stdin.readline()
for _ in range(rounds):
    with locked(folder / "count.lock"):  # without a lock most of these additions would be lost
        number = int((folder / "count").read_text())
        time.sleep(0.001)
        (folder / "count").write_text(str(number + 1))
"""


@pytest.fixture(params=["ENOLCK", "EOPNOTSUPP", "ENOSYS"])
def start(request: pytest.FixtureRequest, tmp_path: Path) -> Callable[..., subprocess.Popen[str]]:
    """Starts Python in a process where ``flock`` fails as it does on such a mount."""
    if not CC or not sys.platform.startswith("linux"):
        pytest.skip("needs a C compiler")
    source, shim = tmp_path / "shim.c", tmp_path / "shim.so"
    source.write_text(f"#include <errno.h>\nint flock(int fd, int how) {{ errno = {request.param}; return -1; }}\n")
    subprocess.run([CC, "-shared", "-fPIC", "-o", str(shim), str(source)], check=True)

    def begin(script: str, *arguments: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [sys.executable, "-W", "ignore", "-c", textwrap.dedent(script), *arguments], text=True,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, env={**os.environ, "LD_PRELOAD": str(shim)},
        )  # fmt: skip

    return begin


def finish(process: subprocess.Popen[str]) -> int:
    process.communicate("\n", timeout=60)
    return process.returncode


def test_two_writers_do_not_lose_each_others_work(start: Callable[..., subprocess.Popen[str]], tmp_path: Path) -> None:
    (tmp_path / "count").write_text("0")
    writers = [start(WRITER, str(tmp_path), "12") for _ in range(2)]
    for writer in writers:
        assert writer.stdout is not None and writer.stdout.readline() == "ready\n"
    for writer in writers:
        assert writer.stdin is not None
        writer.stdin.write("\n")
        writer.stdin.flush()
    assert [finish(writer) for writer in writers] == [0, 0]
    assert (tmp_path / "count").read_text() == "24"


def test_the_lock_of_a_killed_process_is_taken_away(
    start: Callable[..., subprocess.Popen[str]], tmp_path: Path
) -> None:
    holder = start(
        """
        import sys, time
        from siming_tasks.common.processes import locked
        with locked(sys.argv[1] + "/count.lock"):
            print("held", flush=True)
            time.sleep(60)
        """,
        str(tmp_path),
    )
    assert holder.stdout is not None and holder.stdout.readline() == "held\n"
    holder.send_signal(signal.SIGKILL)
    holder.communicate()
    (tmp_path / "count").write_text("0")
    assert finish(start(WRITER, str(tmp_path), "1")) == 0
    assert (tmp_path / "count").read_text() == "1"


def test_another_error_is_no_reason_to_go_on_without(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(FileExistsError), locked(tmp_path / "file" / "lock"):
        pass
    with locked(tmp_path / "c"), pytest.raises(TimeoutError), locked(tmp_path / "c", timeout=0):
        pass
    with locked(tmp_path / "a"), locked(tmp_path / "b"):
        assert not list(tmp_path.glob("*.soft"))

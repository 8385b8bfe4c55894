"""Runs command lines of ``siming``, each in a process of its own: reads cases as JSON, prints how each one ended.

A case is ``{argv, cwd, room, plain, memory, seconds}``: the words; the folder to stand in; the largest file that may be
written; whether root, too, is held by permissions; bytes of memory beside what is loaded; seconds of processor time.
Modules are loaded once, before the processes are forked.
"""

import ctypes
import faulthandler
import json
import os
import resource
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

SECONDS = 120


def obey_permissions() -> None:
    """Give up every capability, so that root reads and writes what the permissions of the owner allow."""
    libc = ctypes.CDLL(None, use_errno=True)
    header = (ctypes.c_uint32 * 2)(0x20080522, 0)  # _LINUX_CAPABILITY_VERSION_3, this process
    if libc.capset(header, (ctypes.c_uint32 * 6)()):
        raise OSError(ctypes.get_errno(), "capset")


def child(case: dict[str, Any]) -> int:
    from siming_tasks.cli.main import main

    seconds = case.get("seconds", SECONDS)
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))
    if case.get("memory"):
        with open("/proc/self/statm") as stream:
            most = int(stream.read().split()[0]) * resource.getpagesize() + case["memory"]
        resource.setrlimit(resource.RLIMIT_AS, (most, most))
    os.chdir(case["cwd"])
    if case.get("room"):
        resource.setrlimit(resource.RLIMIT_FSIZE, (case["room"], case["room"]))
    if case.get("plain"):
        obey_permissions()
    return main(case["argv"])


def ended(case: dict[str, Any]) -> dict[str, Any]:
    reading, writing = os.pipe()
    pid = os.fork()
    if pid == 0:
        code = 99
        try:
            os.close(reading)
            os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
            os.dup2(writing, 2)
            faulthandler.enable()
            code = child(case)
        except BaseException:  # noqa: BLE001 - whatever it is, it is reported
            import traceback

            traceback.print_exc()
        finally:
            sys.stderr.flush()
            os._exit(code)
    os.close(writing)
    with os.fdopen(reading, encoding="utf-8", errors="replace") as stream:
        said = stream.read()
    _, status = os.waitpid(pid, 0)
    return {"code": os.waitstatus_to_exitcode(status), "said": said}


def run_cases(cases: list[dict[str, Any]], cache: Path) -> list[dict[str, Any]]:
    """How each case ended (``code``, ``said`` on standard error), run one after the other by one process.

    ``{BUSY-PORT}`` in a command line is the number of a port that is taken.
    """
    own = {"SIMING_CACHE": str(cache), "SIMING_DATA": "", "PYTHONDONTWRITEBYTECODE": "1"}
    environment = {**os.environ, **own, "HF_HUB_OFFLINE": "1"}  # a hub that does not answer is waited for
    done = subprocess.run([sys.executable, __file__], input=json.dumps(cases), capture_output=True, text=True,
                          check=True, env=environment)  # fmt: skip
    return list(map(json.loads, done.stdout.splitlines()))


if __name__ == "__main__":
    from siming_tasks.cli.main import COMMANDS, find_command

    list(map(find_command, COMMANDS))
    import siming_tasks.study.report.build
    import siming_tasks.tools.board.build
    import siming_tasks.tools.builder  # noqa: F401

    busy = socket.create_server(("127.0.0.1", 0))
    port = str(busy.getsockname()[1])
    cases = json.load(sys.stdin)
    for case in cases:
        case["argv"] = [port if word == "{BUSY-PORT}" else word for word in case["argv"]]
        sys.stdout.write(json.dumps(ended(case)) + "\n")

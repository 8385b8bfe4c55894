"""Client of ``warm.py``: asks its server for a fork that runs a command, and becomes what that fork was.

As a script it is ``lmms-eval`` (or ``torchrun``) for whoever starts it: the same arguments, folder, environment, open
files and limits; signals are handed on, its exit code is the fork's, and when it is killed the fork is killed too.
"""

import json
import os
import resource
import signal
import socket
import sys
from typing import Any


def connect(path: str, job: dict[str, Any], files: tuple[int, int, int] = (0, 1, 2)) -> socket.socket:
    connection = socket.socket(socket.AF_UNIX)
    connection.connect(path)
    text = json.dumps(job).encode()
    socket.send_fds(connection, [b"%08d" % len(text)], files)
    connection.sendall(text)
    return connection


def main(script: str) -> None:
    limit = resource.getrlimit(resource.RLIMIT_FSIZE)
    job = {"argv": sys.argv[1:], "cwd": os.getcwd(), "env": dict(os.environ), "script": script, "limit": limit}
    with connect(os.path.join(os.path.dirname(__file__), "warm.sock"), job).makefile() as answers:
        pid = int(answers.readline())
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, lambda number, _: os.kill(pid, number))
        code = int(answers.readline())
    if code < 0:
        signal.signal(-code, signal.SIG_DFL) if code != -signal.SIGKILL else None
        os.kill(os.getpid(), -code)
    sys.exit(code)

"""A running ``siming view``."""

from __future__ import annotations

import http.client
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

COMMAND = [sys.executable, "-c", "import sys; from siming_tasks.cli import main; sys.exit(main())"]


@dataclass
class Served:
    """Its address, with the key in it, and what it said before."""

    address: str
    said: str
    cookie: str = field(init=False)

    def __post_init__(self) -> None:
        self.cookie = f"siming_view_{self.port}={self.address.partition('token=')[2]}"

    @property
    def base(self) -> str:
        return self.address.partition("/?")[0]

    @property
    def port(self) -> int:
        return int(self.base.rpartition(":")[2])

    def ask(
        self, path: str, headers: dict[str, str] | None = None, *, key: bool = True, method: str = "GET"
    ) -> tuple[int, dict[str, str], bytes]:
        """Status, headers and body; the path is sent as it stands."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        try:
            connection.putrequest(method, path, skip_host="host" in (headers or {}))
            for name, text in {**({"cookie": self.cookie} if key else {}), **(headers or {})}.items():
                connection.putheader(name, text)
            connection.endheaders()
            answer = connection.getresponse()
            return answer.status, {name.lower(): text for name, text in answer.getheaders()}, answer.read()
        finally:
            connection.close()


@contextmanager
def viewing(report: Path, *words: Any, cache: Path) -> Iterator[Served]:
    """``siming view REPORT WORDS...`` in a process of its own, ended as Ctrl+C ends it."""
    command = [*COMMAND, "view", str(report), *map(str, words), "--no-browser"]
    env = {**os.environ, "SIMING_CACHE": str(cache), "PYTHONUNBUFFERED": "1"}
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=env) as process:
        assert process.stdout
        try:
            said = ""
            for line in process.stdout:
                if line.startswith("http://127.0.0.1:"):
                    yield Served(line.strip(), said)
                    break
                said += line
            else:
                raise AssertionError(said)
        finally:
            process.send_signal(signal.SIGINT)
            process.communicate(timeout=30)

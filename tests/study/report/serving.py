"""A running ``siming view``."""

import http.client
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

COMMAND = [sys.executable, "-c", "import sys; from siming_tasks.cli import main; sys.exit(main())"]


@dataclass
class Served:
    """Its address, with the key in it, and what it said before."""

    address: str
    said: str

    @property
    def base(self) -> str:
        """Address of the report's folder."""
        return f"{self.address}report"

    @property
    def port(self) -> int:
        return int(self.address.split("/")[2].rpartition(":")[2])

    @property
    def key(self) -> str:
        """The first part of every address."""
        return self.address.split("/")[3]

    def ask(
        self, path: str, headers: dict[str, str] | None = None, *, key: bool = True, method: str = "GET"
    ) -> tuple[int, dict[str, str], bytes]:
        """Status, headers and body; the path is sent as it stands, below the key unless told otherwise."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        try:
            path = f"/{self.key}{path}" if key else path
            connection.putrequest(method, path, skip_host="host" in (headers or {}))
            for name, text in (headers or {}).items():
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

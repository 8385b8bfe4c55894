"""Real stations: a process that serves, short encoded videos, a rubric of three steps, and a browser before it."""

import json
import os
import signal
import subprocess
import sys
import urllib.request
import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.error import HTTPError

import pytest
import yaml

from siming_tasks.benchmark.rubrics import Rubric, rubric_from
from siming_tasks.tools.station import event_log as event_log_module
from siming_tasks.tools.station.event_log import EventLog, Known
from tests.data.conftest import write_video

STEPS = {"look": 2, "call": 12, "press": 3}
"""The steps and their points; 12 takes two digits."""
UNEVEN = [0, 40, 80, 200, 240, 280, 600, 640, 680, 1000, 1040, 1080, 1500, 1540]
"""When the frames of exam b are shown, in ms: no constant rate describes them."""
EXAM = "a" * 64
"""Digest of the exam of logs without a video."""
COMMAND = [sys.executable, "-c", "import sys; from siming_tasks.cli import main; sys.exit(main())"]


def rubric_of(steps: dict[str, float]) -> dict[str, Any]:
    entries = [
        {
            "id": step,
            "name": f"To {step}",
            "requirement": f"Does {step}.",
            "max_score": top,
            "criteria": {"full": "all of it", "partial": "some of it", "fail": "none of it"},
        }
        for step, top in steps.items()
    ]
    skill = {"id": "cpr", "name": "CPR", "steps": entries}
    return {"schema_version": 1, "rubric_id": "three", "version": "1", "skills": [skill]}


def begun(path: Path, rubric: Rubric, *, safe: bool = True) -> EventLog:
    """An event log that knows one exam; ``safe=False`` where no power is cut."""
    log = EventLog.begin(path, rubric)
    if not safe:
        log._connection.execute("PRAGMA synchronous=OFF")
    log.know([Known("exam a", EXAM, tuple(STEPS))])
    return log


def act(log: EventLog, name: str, kind: str, step: str | None = None, value: Any = None, rater: str = "a") -> None:
    log.append(name, work="rate", rater=rater, exam=EXAM, kind=kind, step=step, value=value)


def set_clock(monkeypatch: pytest.MonkeyPatch, seconds: float) -> None:
    """What an event log takes for now: so many seconds after a fixed moment."""

    class Clock(event_log_module.datetime):
        @classmethod
        def now(cls, tz=None):  # type: ignore[no-untyped-def,override]
            return cls.fromtimestamp(1_790_000_000 + seconds, tz)

    monkeypatch.setattr(event_log_module, "datetime", Clock)


@dataclass
class Station:
    """A running ``siming data rate``."""

    process: subprocess.Popen[str]
    address: str
    said: list[str]

    @property
    def base(self) -> str:
        """Address with the key, without a slash at its end."""
        return self.address.rstrip("/")

    @property
    def server(self) -> str:
        return self.base.rpartition("/")[0]

    def ask(
        self, path: str, body: Any = None, headers: dict[str, str] | None = None, *, key: bool = True
    ) -> tuple[int, dict[str, str], bytes]:
        """Status, headers (small letters) and body of one request; below the key unless told otherwise."""
        given: dict[str, str] = {}
        data = None
        if body is not None:
            data, given["content-type"] = json.dumps(body).encode(), "application/json"
        request = urllib.request.Request((self.base if key else self.server) + path, data, {**given, **(headers or {})})
        try:
            with urllib.request.build_opener(_NoRedirect).open(request, timeout=20) as answer:
                return answer.status, {name.lower(): text for name, text in answer.headers.items()}, answer.read()
        except HTTPError as error:
            return error.code, {name.lower(): text for name, text in error.headers.items()}, error.read()

    def event(
        self, item: int, step: str | None, kind: str, value: Any = None, name: str | None = None
    ) -> dict[str, Any]:
        """An event as the page sends it; its answer, with the status under ``status``."""
        body = {"item": self.item(item), "step": step, "kind": kind, "value": value, "id": name or str(uuid.uuid4())}
        status, _, answer = self.ask("/act", body)
        return {"status": status, **json.loads(answer)}

    def open(self, item: int) -> dict[str, Any]:
        return dict(json.loads(self.ask("/open", {"item": self.item(item), "id": str(uuid.uuid4())})[2]))

    def item(self, number: int) -> str:
        return str(json.loads(self.ask("/work")[2])["items"][number]["id"])

    def number(self, name: str) -> int:
        """Which item an exam is, in this rater's order."""
        items = len(json.loads(self.ask("/work")[2])["items"])
        return next(number for number in range(items) if self.open(number)["name"] == name)

    def kill(self) -> None:
        self.process.send_signal(signal.SIGKILL)
        self.process.wait(20)

    def end(self) -> str:
        """As Ctrl+C does it; what it said last."""
        self.process.send_signal(signal.SIGINT)
        rest, _ = self.process.communicate(timeout=30)
        return rest


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *_: Any) -> None:
        return None


def start(*arguments: Any, cache: Path, browser: str = "") -> Station:
    """A station in a process of its own, when it has said its address."""
    env = {**os.environ, "SIMING_CACHE": str(cache), "PYTHONUNBUFFERED": "1", "BROWSER": browser}
    command = [*COMMAND, "data", "rate", *map(str, arguments), *([] if browser else ["--no-browser"])]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=env)
    assert process.stdout
    said = []
    for line in process.stdout:
        said.append(line)
        if line.startswith("http://127.0.0.1:"):
            return Station(process, line.strip(), said)
    raise AssertionError("".join(said))


@pytest.fixture(scope="session")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("cache")


@pytest.fixture(scope="session")
def rubric(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("rubric") / "rubric.yaml"
    path.write_text(yaml.safe_dump(rubric_of(STEPS), sort_keys=False))
    return path


@pytest.fixture
def three() -> Rubric:
    return rubric_from(rubric_of(STEPS))


@pytest.fixture(scope="session")
def videos(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two exams; exam b has frames at uneven times. Copy the folder to change it."""
    folder = tmp_path_factory.mktemp("videos") / "ward"
    write_video(folder / "exam a.mp4", seed=1, frames=30, size=(160, 90))
    # Without B-frames: with them, no seek of Chromium 150 shows every frame of a varying rate.
    write_video(folder / "exam b.mp4", seed=2, frames=len(UNEVEN), pts=UNEVEN, size=(160, 90), options={"bf": "0"})
    return folder


@pytest.fixture
def begin(cache: Path) -> Iterator[Callable[..., Station]]:
    running: list[Station] = []

    def one(*arguments: Any) -> Station:
        running.append(start(*arguments, cache=cache))
        return running[-1]

    yield one
    for station in running:
        if station.process.poll() is None:
            station.kill()
        assert station.process.stdout
        station.process.stdout.close()


@pytest.fixture
def browser(shared_browser: Any) -> Any:
    return shared_browser

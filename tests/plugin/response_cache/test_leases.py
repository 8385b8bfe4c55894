"""Equal runs at the same time share the requests: each is asked once, and a run that dies leaves none unanswered."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from filelock import SoftFileLease

from siming_tasks.plugin.response_cache import leases
from siming_tasks.plugin.response_cache.leases import Leases
from siming_tasks.plugin.response_cache.store import CachedReply, ReplyStore
from tests.plugin.response_cache.test_cache import ARGUMENTS, LOGGED, SMALL, points
from tests.plugin.serving import Server

HOLDER = """
import sys, time
from pathlib import Path
from siming_tasks.plugin.response_cache.leases import Leases
leases = Leases(Path(sys.argv[1]))
print(leases.take("k"), flush=True)
time.sleep(60)
"""


@pytest.fixture
def holder(tmp_path: Path) -> Iterator[subprocess.Popen[str]]:
    """A process that holds the lease of ``k``."""
    command = [sys.executable, "-c", HOLDER, str(tmp_path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None and process.stdout.readline() == "True\n"
        yield process
        process.kill()


def test_one_process_holds_a_lease_until_it_dies(holder: subprocess.Popen[str], tmp_path: Path) -> None:
    mine = Leases(tmp_path)
    assert not mine.take("k") and not mine.take("k") and mine.take("other#2")
    holder.kill()
    holder.wait()
    assert mine.take("k") and mine.take("k")
    others = Leases(tmp_path)
    assert not others.take("k")
    mine.close()
    assert others.take("k")
    others.give_back("k")
    others.give_back("k")
    assert not list(tmp_path.iterdir())


def test_a_machine_that_went_down_loses_its_leases(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its file says another host, whose processes nobody here can look for, and is renewed no more."""
    monkeypatch.setattr(leases, "LEASE_SECONDS", 0.5)
    (holder := SoftFileLease(tmp_path / "k", lease_duration=0.5)).acquire()
    record = (tmp_path / "k").read_text()
    holder.release()
    (tmp_path / "k").write_text("".join("host=gone\n" if "host=" in line else line for line in record.splitlines(True)))
    mine, began = Leases(tmp_path), time.monotonic()
    assert not mine.take("k")
    while not mine.take("k"):
        time.sleep(0.02)
    assert 0.5 <= time.monotonic() - began < 5


def test_a_process_killed_before_it_wrote_its_name_stops_nobody(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A holder makes an empty file first; one that is killed there leaves it, and filelock would wait forever."""
    monkeypatch.setattr(leases, "EMPTY_SECONDS", 0.2)
    (tmp_path / "k").touch()
    mine = Leases(tmp_path)
    assert not mine.take("k") and not mine.take("k")
    time.sleep(0.25)
    assert not mine.take("k") and mine.take("k")  # the file is removed, then the lease is free


def test_a_folder_without_leases_stops_no_run(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    assert Leases(tmp_path / "file" / "leases").take("k")


def test_replies_of_others_are_found_while_they_are_written(tmp_path: Path) -> None:
    """Whole lines alone, each once, none of this process's own; foreign files are named once."""
    mine, theirs = ReplyStore(tmp_path, "c"), ReplyStore(tmp_path, "c")
    theirs.add(CachedReply("k1", "r", "one", 1.0))
    assert mine.find(["k1"]) and mine.find_new() == []
    mine.add(CachedReply("k2", "r", "own", 2.0))
    theirs.add(CachedReply("k3", "r", "three", 3.0))
    assert [reply.key for reply in mine.find_new()] == ["k3"] and mine.find_new() == []
    theirs.add(CachedReply("k4", "r", "four", 4.0))
    (path,) = (path for path in tmp_path.glob("*.jsonl") if "three" in path.read_text())
    whole = path.read_bytes()
    path.write_bytes(whole[:-20])  # as if the rest of the line were still to come
    assert mine.find_new() == []
    path.write_bytes(whole)
    assert [reply.reply for reply in mine.find_new()] == ["four"]
    ReplyStore(tmp_path, "other").add(CachedReply("k5", "r", "five", 5.0))
    assert mine.find_new() == mine.find_new() == []
    assert len(mine.warnings) == 1 and "belongs to another model" in mine.warnings[0]


REQUESTS, AT_ONCE = 30, 3


class Twins:
    """Two runs of one command at the same time, each a process of its own, and a server that counts."""

    def __init__(self, host: Callable[..., Any], serve: Callable[..., Server], data: Path, folder: Path) -> None:
        self.host, self.data, self.folder = host, data, folder
        self.answer: Callable[..., Any] = points
        self.server = serve(lambda *request: self.answer(*request))

    def __call__(self, model: str, launcher: tuple[str, ...]) -> list[Any]:
        def run(name: str) -> Any:
            return self.host(
                "--model", model, "--model_args", ARGUMENTS[model] + self.server.url, "--tasks", "siming_clip_score",
                "--limit", str(REQUESTS), data=self.data, name=name, launcher=launcher,
                **SMALL, SIMING_REPLIES=str(self.folder / "kept"),
            )  # fmt: skip

        with ThreadPoolExecutor(2) as pool:
            return list(pool.map(run, ("first", "second")))

    def asked(self) -> Counter[Any]:
        """How often each request was asked."""
        return Counter(self.server.received)


@pytest.fixture
def twins(host: Callable[..., Any], serve: Callable[..., Server], short_demo: Path, tmp_path: Path) -> Twins:
    return Twins(host, serve, short_demo, tmp_path)


def slowly(*request: Any) -> Any:
    time.sleep(0.15)
    return points(*request)


@pytest.mark.host
@pytest.mark.parametrize("model", ARGUMENTS)
def test_two_equal_runs_ask_each_request_once(twins: Twins, forked: tuple[str, ...], model: str) -> None:
    twins.answer = slowly
    first, second = twins(model, forked)
    assert len(twins.server.received) == REQUESTS and set(twins.asked().values()) == {1}
    kept = []
    for run in (first, second):
        assert run.task("clip_score")["siming_stderr"]["statuses"]["ok"] == REQUESTS
        kept.append(run.task("clip_score")["siming_stderr"]["usage"]["kept"])
    assert sum(kept) == REQUESTS and min(kept) > 0  # each asked some, and took the other's
    for one, other in zip(first.samples("clip_score"), second.samples("clip_score"), strict=True):
        assert [one.get(key) for key in LOGGED] == [other.get(key) for key in LOGGED]
    assert not list(twins.folder.glob("kept/*/leases/*"))


@pytest.mark.host
@pytest.mark.parametrize("model", ARGUMENTS)
def test_a_run_asks_what_a_killed_one_was_asking(twins: Twins, forked: tuple[str, ...], model: str) -> None:
    """The other takes the dead one's leases at once; only what was in flight is asked again."""

    def kill_one(*request: Any) -> Any:
        if request[2] == 8:
            lease = next(iter(twins.folder.glob("kept/*/leases/*")))
            (pid,) = (line[4:] for line in lease.read_text().splitlines() if line.startswith("pid="))
            os.kill(int(pid), signal.SIGKILL)
        return slowly(*request)

    twins.answer, began = kill_one, time.monotonic()
    runs = twins(model, forked)
    assert time.monotonic() - began < leases.LEASE_SECONDS
    (killed,) = (run for run in runs if not list(run.folder.rglob("*_results.json")))
    (other,) = (run for run in runs if run is not killed)
    assert other.task("clip_score")["siming_stderr"]["statuses"]["ok"] == REQUESTS
    asked = twins.asked()
    assert len(asked) == REQUESTS <= len(twins.server.received) <= REQUESTS + AT_ONCE and max(asked.values()) <= 2


@pytest.mark.host
@pytest.mark.parametrize("model", ARGUMENTS)
def test_a_run_asks_itself_what_another_got_no_answer_to(twins: Twins, forked: tuple[str, ...], model: str) -> None:
    """The service refuses the first four requests, in a way that its client does not try again."""

    def refusing(images: tuple[str, ...], text: str, number: int) -> Any:
        time.sleep(0.3)
        return (422, {"error": {"message": "broken"}}) if number < 4 else points(images, text)

    twins.answer = refusing
    statuses = [run.task("clip_score")["siming_stderr"]["statuses"] for run in twins(model, forked)]
    assert sum(status["request_failed"] for status in statuses) == 4
    assert len(twins.server.received) == REQUESTS + 4 and len(twins.asked()) == REQUESTS

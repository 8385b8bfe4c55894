"""Joining event logs loses nothing and counts nothing twice, and never chooses between two answers without a word."""

from __future__ import annotations

import random
import sqlite3
import time
from itertools import permutations
from pathlib import Path
from typing import Any

import pytest

from siming_tasks.common.errors import DataError
from siming_tasks.rubrics import Rubric, rubric_from
from siming_tasks.tools.station import event_log as event_log_module
from siming_tasks.tools.station.event_log import EventLog, Known
from siming_tasks.tools.station.replay import ExamState, replay_exams
from tests.tools.station.conftest import STEPS, rubric_of

pytestmark = pytest.mark.fast
EXAM = "a" * 64


@pytest.fixture
def three() -> Rubric:
    return rubric_from(rubric_of(dict(STEPS)))


def begin(path: Path, rubric: Rubric) -> EventLog:
    log = EventLog.begin(path, rubric)
    log._connection.execute("PRAGMA synchronous=OFF")  # no power is cut here
    log.know([Known("exam a", EXAM, tuple(STEPS))])
    return log


def act(log: EventLog, name: str, kind: str, step: str | None = None, value: Any = None, rater: str = "a") -> None:
    log.append(name, work="rate", rater=rater, exam=EXAM, kind=kind, step=step, value=value)


def set_clock(monkeypatch: pytest.MonkeyPatch, seconds: float) -> None:
    class Clock(event_log_module.datetime):
        @classmethod
        def now(cls, tz=None):  # type: ignore[no-untyped-def,override]
            return cls.fromtimestamp(1_790_000_000 + seconds, tz)

    monkeypatch.setattr(event_log_module, "datetime", Clock)


def states(log: EventLog) -> dict[tuple[str, str], ExamState]:
    return replay_exams(log.events("rate"))


def joined(logs: list[Path], rubric: Rubric, target: Path) -> EventLog:
    """A copy of the first log that took over the others, in this order."""
    with sqlite3.connect(logs[0]) as old, sqlite3.connect(target) as new:
        old.backup(new)
    log = begin(target, rubric)
    for other in logs[1:]:
        opened = EventLog.read(other)
        log.join(opened)
        opened.close()
    return log


def test_joining_loses_nothing_and_counts_nothing_twice(
    tmp_path: Path, three: Rubric, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Three machines of two raters each, clocks off by up to a minute, logs that took over each other on the way.

    A rater works on a step at one machine alone, so that nothing contradicts; every order comes to the same.
    """
    rng = random.Random(5)
    steps = dict(zip("abc", STEPS, strict=True))
    for case in range(4):
        folder = tmp_path / str(case)
        folder.mkdir()
        logs = {name: begin(folder / name, three) for name in "abc"}
        skew = {name: rng.uniform(-60, 60) for name in logs}
        last: dict[tuple[str, str, str], Any] = {}
        for number in range(40):
            name, rater = rng.choice("abc"), rng.choice("xy")
            set_clock(monkeypatch, number * 3 + skew[name])
            kind = rng.choice(["points", "points", "comment"])
            value = rng.randint(0, 2) if kind == "points" else f"c{number}"
            act(logs[name], f"event-{number:04}", kind, steps[name], value, rater)
            last[rater, steps[name], kind] = value
            if rng.random() < 0.1:
                source, target = rng.sample("abc", 2)
                logs[target].join(logs[source])
        for log in logs.values():
            log.close()
        paths = [folder / name for name in "abc"]
        orders = [[*paths[k:], *paths[:k], *paths] for k in range(3)] + [list(order) for order in permutations(paths)]
        for number, order in enumerate(orders):
            log = joined(order, three, folder / f"joined {number}")
            assert len(log.events()) == 40
            found = states(log)
            assert {key: getattr(found[key[0], EXAM].step(key[1]), key[2]) for key in last} == last
            log.close()


def test_two_answers_of_one_rater_are_refused_by_name(
    tmp_path: Path, three: Rubric, monkeypatch: pytest.MonkeyPatch
) -> None:
    """1 point at one machine in the morning, 2 at another at noon; then the same in both, which is joined."""
    logs = []
    for name, hour, points in (("morning", 0, 1), ("noon", 14_400, 2)):
        set_clock(monkeypatch, hour)
        logs.append(begin(tmp_path / name, three))
        act(logs[-1], f"event-{name}", "points", "look", points)
        act(logs[-1], f"agree-{name}", "points", "call", 3)
    first, other = logs
    with pytest.raises(DataError) as refused:
        first.join(other)
    assert "\n  a, 'exam a', step look, points: 1 and 2\nGive the same answer in one of the two" in str(refused.value)
    assert len(first.events()) == 2, "nothing was taken over"
    act(first, "event-0003", "points", "look", 2)
    assert (first.join(other), first.join(other)) == (2, 0)
    act(first, "event-0004", "applicable", "look", False)  # follows what both have: it stands
    assert other.join(first) == 4 and not states(other)["a", EXAM].step("look").applicable


def test_work_goes_on_after_joining_where_a_clock_was_ahead(
    tmp_path: Path, three: Rubric, monkeypatch: pytest.MonkeyPatch
) -> None:
    set_clock(monkeypatch, 86_400)
    ahead = begin(tmp_path / "ahead", three)
    act(ahead, "event-0001", "points", "look", 1)
    set_clock(monkeypatch, 0)
    log = begin(tmp_path / "log", three)
    assert log.join(ahead) == 1
    act(log, "event-0002", "points", "look", 2)
    assert states(log)["a", EXAM].step("look").points == 2


def test_the_order_of_exams_comes_along_whole(tmp_path: Path, three: Rubric) -> None:
    log, other = (begin(tmp_path / name, three) for name in ("log", "other"))
    log.order("a", "rate", ["x", "y"])
    other.order("a", "rate", ["y", "z", "x"])
    log.join(other)
    assert log.orders("a", "rate") == ["x", "y", "z"]


def test_a_used_name_is_refused(tmp_path: Path, three: Rubric) -> None:
    log, other = (begin(tmp_path / name, three) for name in ("log", "other"))
    act(log, "event-0001", "points", "look", 1)
    act(log, "event-0001", "points", "look", 1)  # sent twice, done once
    with pytest.raises(DataError, match="another event has the name 'event-0001'"):
        act(log, "event-0001", "points", "look", 2)
    act(other, "event-0001", "points", "call", 1)
    with pytest.raises(DataError, match="another event has the name 'event-0001'"):
        log.join(other)
    assert len(log.events()) == 1


def test_a_log_of_300_000_acts_is_read_in_seconds(tmp_path: Path, three: Rubric) -> None:
    log = begin(tmp_path / "log", three)
    rows = (
        (f"event-{n:06}", f"2026-01-01T{n // 36_000:02}:{n // 600 % 60:02}:{n // 10 % 60:02}.{n % 10:03}+00:00", "rate",
         "a", EXAM, ("look", "call", "press")[n % 3], "points", str(n % 3))
        for n in range(300_000)
    )  # fmt: skip
    with log._writing():
        log._connection.executemany(f"INSERT INTO acts ({event_log_module._COLUMNS}) VALUES (?,?,?,?,?,?,?,?)", rows)
    began = time.process_time()
    found = states(log)["a", EXAM]
    assert time.process_time() - began < 5
    assert [found.step(step).points for step in STEPS] == [0, 1, 2]

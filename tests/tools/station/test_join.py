"""Joining event logs loses nothing and counts nothing twice, and never chooses between two answers without a word."""

import random
import sqlite3
from itertools import permutations
from pathlib import Path
from typing import Any

import pytest

from siming_tasks.benchmark.rubrics import Rubric
from siming_tasks.common.errors import DataError
from siming_tasks.tools.station.event_log import EventLog
from siming_tasks.tools.station.replay import ExamState, replay_exams
from tests.tools.station.conftest import EXAM, STEPS, act, begun, set_clock

pytestmark = pytest.mark.fast


def states(log: EventLog) -> dict[tuple[str, str], ExamState]:
    return replay_exams(log.events("rate"))


def joined(logs: list[Path], rubric: Rubric, target: Path) -> EventLog:
    """A copy of the first log that took over the others, in this order."""
    with sqlite3.connect(logs[0]) as old, sqlite3.connect(target) as new:
        old.backup(new)
    log = begun(target, rubric, safe=False)
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
    logs = {name: begun(tmp_path / name, three, safe=False) for name in "abc"}
    skew = {name: rng.uniform(-60, 60) for name in logs}
    last: dict[tuple[str, str, str], Any] = {}
    for number in range(60):
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
    for number, order in enumerate(permutations([tmp_path / name for name in "abc"])):
        log = joined([*order, *order], three, tmp_path / f"joined {number}")
        assert len(log.events()) == 60
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
        logs.append(begun(tmp_path / name, three))
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


def test_what_comes_along_and_what_comes_after(tmp_path: Path, three: Rubric, monkeypatch: pytest.MonkeyPatch) -> None:
    """An act after one by a clock that was ahead stands; a used name is refused."""
    set_clock(monkeypatch, 86_400)
    ahead = begun(tmp_path / "ahead", three)
    act(ahead, "event-0001", "points", "look", 1)
    set_clock(monkeypatch, 0)
    log = begun(tmp_path / "log", three)
    assert log.join(ahead) == 1
    for _ in range(2):  # sent twice, done once
        act(log, "event-0002", "points", "look", 2)
    assert states(log)["a", EXAM].step("look").points == 2 and len(log.events()) == 2
    other = begun(tmp_path / "other", three)
    act(other, "event-0001", "points", "call", 1)
    for again in (lambda: act(log, "event-0001", "points", "look", 2), lambda: log.join(other)):
        with pytest.raises(DataError, match="another event has the name 'event-0001'"):
            again()
    assert len(log.events()) == 2

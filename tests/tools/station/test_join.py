"""Joining event logs: whichever takes over which, in whatever order and however often, an exam comes to the same."""

from __future__ import annotations

import json
import random
import sqlite3
from itertools import permutations
from pathlib import Path

import pytest

from siming_tasks.rubrics import Rubric, rubric_from
from siming_tasks.tools.station import event_log as event_log_module
from siming_tasks.tools.station.event_log import EventLog, Known
from siming_tasks.tools.station.joined_acts import NOTHING
from siming_tasks.tools.station.replay import ExamState, replay, replay_exams
from tests.tools.station.conftest import STEPS, rubric_of

pytestmark = pytest.mark.fast
EXAM = "a" * 64
STEP_IDS = tuple(dict(STEPS))


@pytest.fixture
def three() -> Rubric:
    return rubric_from(rubric_of(dict(STEPS)))


def begin(path: Path, rubric: Rubric) -> EventLog:
    log = EventLog.begin(path, rubric)
    log._connection.execute("PRAGMA synchronous=OFF")  # no power is cut here
    log.know([Known("exam a", EXAM, STEP_IDS)])
    return log


def act(log: EventLog, name: str, kind: str, step: str | None = None, value: object = None, rater: str = "a") -> None:
    """One event as the page sends it: an undo and a redo name what they take back."""
    if kind in ("undo", "redo"):
        state = replay(log.events("rate", rater, EXAM))
        about = state.last if kind == "undo" else state.undone
        value = about.id if about else NOTHING
    log.append(name, work="rate", rater=rater, exam=EXAM, kind=kind, step=step, value=value)


def set_clock(monkeypatch: pytest.MonkeyPatch, seconds: float) -> None:
    class Clock(event_log_module.datetime):
        @classmethod
        def now(cls, tz=None):  # type: ignore[no-untyped-def,override]
            return cls.fromtimestamp(1_790_000_000 + seconds, tz)

    monkeypatch.setattr(event_log_module, "datetime", Clock)


def states(path: Path) -> dict[tuple[str, str], ExamState]:
    log = EventLog.read(path)
    try:
        return replay_exams(log.events("rate"))
    finally:
        log.close()


def copy(path: Path, target: Path) -> Path:
    with sqlite3.connect(path) as old, sqlite3.connect(target) as new:
        old.backup(new)
    return target


def joined(tmp_path: Path, logs: list[Path], rubric: Rubric, name: str) -> Path:
    target = copy(logs[0], tmp_path / name)
    log = EventLog.begin(target, rubric)
    log._connection.execute("PRAGMA synchronous=OFF")
    for other in logs[1:]:
        opened = EventLog.read(other)
        log.join(opened)
        opened.close()
    log.close()
    return target


def test_a_newer_act_stands_whichever_log_it_came_from(
    tmp_path: Path, three: Rubric, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One rater at two machines: 1 point in the morning, 2 points at noon."""
    for name, hour, points in (("morning", 0, 1), ("noon", 14_400, 2)):
        set_clock(monkeypatch, hour)
        log = begin(tmp_path / name, three)
        act(log, f"event-{name}", "points", "look", points)
        log.close()
    for first, other in permutations(("morning", "noon")):
        path = joined(tmp_path, [tmp_path / first, tmp_path / other], three, f"{first} first")
        assert states(path)["a", EXAM].step("look").points == 2


def test_an_undo_takes_back_what_it_took_back_where_it_was_made(
    tmp_path: Path, three: Rubric, monkeypatch: pytest.MonkeyPatch
) -> None:
    """At one machine 1 point for `look`, taken back; between the two, at another machine, 2 points for `call`."""
    set_clock(monkeypatch, 0)
    first = begin(tmp_path / "first", three)
    act(first, "event-0001", "points", "look", 1)
    set_clock(monkeypatch, 5)
    second = begin(tmp_path / "second", three)
    act(second, "event-0002", "points", "call", 2)
    set_clock(monkeypatch, 10)
    act(first, "event-0003", "undo")
    first.close(), second.close()
    for names in permutations(("first", "second")):
        state = states(joined(tmp_path, [tmp_path / name for name in names], three, f"{names[0]} took over"))["a", EXAM]
        assert state.step("look").points is None
        assert state.step("call").points == 2


def test_logs_of_the_first_format_whose_undos_name_nothing(tmp_path: Path, three: Rubric) -> None:
    """Undos without a name, a clock that was set back by an hour and two events of one millisecond."""
    log = begin(tmp_path / "old", three)
    rows = [
        ("event-zzzz", "2026-01-01T10:00:00.000+00:00", "look", "points", 1),
        ("event-aaaa", "2026-01-01T10:00:00.000+00:00", "look", "points", 2),
        ("event-mmmm", "2026-01-01T09:00:00.000+00:00", "call", "points", 1),
        ("event-nnnn", "2026-01-01T09:00:01.000+00:00", None, "undo", None),
        ("event-oooo", "2026-01-01T09:00:02.000+00:00", "call", "comment", "seen"),
    ]
    for name, time, step, kind, value in rows:
        row = (name, time, "rate", "a", EXAM, step, kind, json.dumps(value))
        log._connection.execute("INSERT INTO acts VALUES (NULL, ?, ?, ?, ?, ?, ?, ?, ?)", row)
    before = replay(log.events("rate", "a"))
    assert (before.step("look").points, before.step("call").points, before.step("call").comment) == (2, None, "seen")
    log.close()
    other = begin(tmp_path / "other", three)
    # Right before the undo, at another machine: the undo does not take this back.
    row = ("event-zz", "2026-01-01T10:00:00.002+00:00", "rate", "a", EXAM, "press", "points", "0")
    other._connection.execute("INSERT INTO acts VALUES (NULL, ?, ?, ?, ?, ?, ?, ?, ?)", row)
    other.close()
    for names in permutations(("old", "other")):
        after = states(joined(tmp_path, [tmp_path / name for name in names], three, f"{names[0]} joined"))["a", EXAM]
        assert {name: after.step(name) for name in ("look", "call")} == dict(before.steps)
        assert after.step("press").points == 0


def test_joining_is_commutative_associative_and_idempotent(
    tmp_path: Path, three: Rubric, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Three machines, two raters, clocks that are off by up to a minute, logs that took over each other on the way."""
    rng = random.Random(5)
    distinct = 0
    for case in range(8):
        folder = tmp_path / str(case)
        folder.mkdir()
        logs = {name: begin(folder / name, three) for name in "abc"}
        skew = {name: rng.uniform(-60, 60) for name in logs}
        for number in range(40):
            name = rng.choice("abc")
            set_clock(monkeypatch, number * rng.uniform(0, 3) + skew[name])
            kind = rng.choice(["points", "points", "applicable", "comment", "undo", "undo", "redo"])
            step = None if kind in ("undo", "redo") else rng.choice(STEP_IDS)
            value = {"points": rng.randint(0, 2), "applicable": rng.random() < 0.5, "comment": f"c{number}"}.get(kind)
            act(logs[name], f"event-{number:04}", kind, step, value, rng.choice("xy"))
            if rng.random() < 0.1:
                source, target = rng.sample("abc", 2)
                logs[target].join(logs[source])
        for log in logs.values():
            log.close()
        paths = [folder / name for name in "abc"]
        orders = [joined(folder, list(order), three, f"order {k}") for k, order in enumerate(permutations(paths))]
        pair = joined(folder, paths[1:], three, "pair")
        orders.append(joined(folder, [paths[0], pair], three, "a with (b with c)"))
        orders.append(joined(folder, [pair, paths[0], paths[1], pair, paths[2]], three, "again and again"))
        results = [{key: state.steps for key, state in states(path).items()} for path in orders]
        assert len(results) == 8 and all(result == results[0] for result in results)
        distinct += len({str(states(path)) for path in paths}) == 3
    assert distinct >= 4, "the logs must differ for this to say anything"


def test_work_goes_on_after_joining_where_a_clock_was_ahead(
    tmp_path: Path, three: Rubric, monkeypatch: pytest.MonkeyPatch
) -> None:
    set_clock(monkeypatch, 86_400)
    ahead = begin(tmp_path / "ahead", three)
    act(ahead, "event-0001", "points", "look", 1)
    ahead.close()
    set_clock(monkeypatch, 0)
    log = begin(tmp_path / "log", three)
    opened = EventLog.read(tmp_path / "ahead")
    assert log.join(opened) == 1
    act(log, "event-0002", "points", "look", 2)
    assert replay(log.events("rate", "a")).step("look").points == 2
    act(log, "event-0003", "undo")
    assert replay(log.events("rate", "a")).step("look").points == 1


def test_half_a_surrogate_pair_in_a_comment_can_be_shown(tmp_path: Path, three: Rubric) -> None:
    log = begin(tmp_path / "log", three)
    act(log, "event-0001", "comment", "look", "half \ud83d of a sign")
    (event,) = log.events()
    assert event.value == "half \ufffd of a sign"
    assert json.dumps(event.value, ensure_ascii=False).encode()

"""The event log by itself: what events come to, what is refused, what it says of damaged and foreign files."""

from __future__ import annotations

import sqlite3
import stat
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from siming_tasks.common.errors import DataError, SimingError
from siming_tasks.rubrics import Rubric, allowed_points, rubric_from
from siming_tasks.tools.builder.event_log_sheet import UseRatings, ratings_labels
from siming_tasks.tools.station.event_log import Event, EventLog, Known
from siming_tasks.tools.station.replay import replay
from tests.tools.station.conftest import STEPS, rubric_of

EXAM = "a" * 64


@pytest.fixture
def three() -> Rubric:
    return rubric_from(rubric_of(dict(STEPS)))


def events(*rows: tuple[str | None, str, Any]) -> list[Event]:
    """Acts one after the other, one a second."""
    times = [f"2026-01-01T10:00:{number:02}+00:00" for number in range(len(rows))]
    return [Event(time, time, "rate", "a", EXAM, *row) for time, row in zip(times, rows, strict=True)]


def write(
    event_log: EventLog, name: str, kind: str, step: str | None = None, value: Any = None, rater: str = "a"
) -> None:
    event_log.append(name, work="rate", rater=rater, exam=EXAM, kind=kind, step=step, value=value)


def test_points_and_not_applicable_put_each_other_out() -> None:
    step = replay(events(("look", "points", 1), ("look", "applicable", False))).step("look")
    assert (step.points, step.applicable, step.decided) == (None, False, True)
    step = replay(events(("look", "applicable", False), ("look", "points", 1))).step("look")
    assert (step.points, step.applicable) == (1, True)
    assert not replay(events(("look", "points", 1), ("look", "points", None))).step("look").decided


def test_time_is_counted_without_breaks() -> None:
    """Opened at 0 s, events at 10 s (look), 30 s (call), then 20 minutes of lunch, then an event after 5 s more."""
    rows = events(
        (None, "open", {"seconds": 9}),
        ("look", "points", 1),
        ("call", "points", 1),
        ("call", "points", 2),
        ("press", "points", 0),
    )
    times = ["10:00:00", "10:00:10", "10:00:30", "10:20:30", "10:20:35"]
    rows = [row._replace(time=f"2026-01-01T{time}+00:00") for row, time in zip(rows, times, strict=True)]
    assert replay(rows).seconds == 10 + 20 + 5


def test_half_points_and_odd_scales_are_kept() -> None:
    steps = rubric_from(rubric_of({"whole": 3, "odd": 2.5})).by_id
    assert allowed_points(steps["whole"]) == (0, 1, 2, 3)
    assert allowed_points(steps["odd"]) == (0, 0.5, 1, 1.5, 2, 2.5)


def test_event_log_is_private_and_append_only(tmp_path: Path, three: Rubric) -> None:
    path = tmp_path / "new" / "s.sqlite"
    event_log = EventLog.begin(path, three)
    event_log.know([Known("exam a", EXAM, ("look",))])
    write(event_log, "name-0001", "points", "look", 1)
    write(event_log, "name-0002", "comment", "look", "half \ud83d of a sign")
    assert {stat.S_IMODE(file.stat().st_mode) for file in path.parent.iterdir()} == {0o600}, "the log's files too"
    with sqlite3.connect(path) as other:
        for statement in ("DELETE FROM acts", "UPDATE acts SET value = '2'"):
            with pytest.raises(sqlite3.IntegrityError, match="acts are never"):
                other.execute(statement)
        assert other.execute("PRAGMA journal_mode").fetchone() == ("wal",)
    other.close()
    assert event_log._connection.execute("PRAGMA synchronous").fetchone() == (2,), "FULL"
    assert [event.value for event in EventLog.read(path).events()] == [1, "half \ufffd of a sign"]
    with pytest.raises(DataError, match="readonly"):
        write(EventLog.read(path), "name-0003", "points", "look", 2)


def test_each_rater_has_a_stable_order(tmp_path: Path, three: Rubric) -> None:
    from siming_tasks.tools.station.worklist import shuffled

    keys = [f"{number:064x}" for number in range(20)]
    mine, theirs = shuffled(keys, "a", "rate"), shuffled(keys, "b", "rate")
    assert sorted(mine) == sorted(theirs) == sorted(keys) and len({tuple(mine), tuple(theirs), tuple(keys)}) == 3
    assert shuffled(reversed(keys), "a", "rate") == mine
    event_log = EventLog.begin(tmp_path / "s.sqlite", three)
    assert event_log.order("a", "rate", mine) == mine
    assert event_log.order("a", "rate", shuffled([*keys, "new"], "a", "rate")) == [*mine, "new"], (
        "a new exam comes last"
    )


def test_swapped_and_renamed_videos_are_refused(tmp_path: Path, three: Rubric) -> None:
    event_log = EventLog.begin(tmp_path / "s.sqlite", three)
    event_log.know([Known("exam a", EXAM, ("look",)), Known("exam b", "b" * 64, ("look",))])
    with pytest.raises(DataError, match="'exam a' is not the video that was rated under this name"):
        event_log.know([Known("exam a", "b" * 64, ("look",)), Known("exam b", EXAM, ("look",))])
    with pytest.raises(DataError, match="'other' was rated as 'exam a'"):
        event_log.know([Known("exam c", "c" * 64, ("look",)), Known("other", EXAM, ("look",))])
    assert [exam.name for exam in event_log.exams().values()] == ["exam a", "exam b"], "all or nothing"


def test_another_rubric_or_kind_of_data_is_refused(tmp_path: Path, three: Rubric) -> None:
    EventLog.begin(tmp_path / "s.sqlite", three).close()
    with pytest.raises(DataError, match="was begun with another rubric"):
        EventLog.begin(tmp_path / "s.sqlite", rubric_from(rubric_of({"look": 2})))
    with pytest.raises(DataError, match="was begun with real videos, these are SYNTHETIC"):
        EventLog.begin(tmp_path / "s.sqlite", three, synthetic=True)
    EventLog.begin(tmp_path / "s.sqlite", three).close()


def test_files_that_are_no_event_log_are_refused(tmp_path: Path, three: Rubric) -> None:
    text = tmp_path / "s.csv"
    text.write_text("video_id,step_id\n" * 100)
    foreign = tmp_path / "f.sqlite"
    with sqlite3.connect(foreign) as other:
        other.execute("CREATE TABLE mine (x)")
    other.close()
    for path, said in ((text, "is no event log"), (tmp_path / "none", "no such file"), (foreign, "another program's")):
        with pytest.raises(DataError, match=said):
            EventLog.read(path)
    for path, said in ((text, "file is not a database"), (foreign, "another program's")):
        with pytest.raises(DataError, match=said):
            EventLog.begin(path, three)
    assert text.read_text().startswith("video_id") and len(text.read_bytes()) == 1700
    with pytest.raises(DataError, match="cannot be written"):
        EventLog.begin(tmp_path, three)


@pytest.mark.parametrize(
    ("column", "value"), [("value", "{"), ("time", "yesterday"), ("time", "2026-01-01"), ("step", b"\xff")]
)
def test_a_damaged_event_is_named(tmp_path: Path, three: Rubric, column: str, value: Any) -> None:
    event_log = EventLog.begin(tmp_path / "s.sqlite", three)
    event_log.know([Known("exam a", EXAM, ("look",))])
    write(event_log, "name-0001", "points", "look", 1)
    event_log.close()
    with sqlite3.connect(tmp_path / "s.sqlite") as other:
        other.execute("DROP TRIGGER acts_stay")
        other.execute(f"UPDATE acts SET {column} = ?", (value,))
    other.close()
    with pytest.raises(DataError, match="event 'name-0001' is damaged"):
        EventLog.read(tmp_path / "s.sqlite").events()


RATE = """
import sys
from pathlib import Path
from siming_tasks.tools.station.event_log import EventLog, Known
from siming_tasks.rubrics import load_rubric
path, rubric, rater = sys.argv[1:]
event_log = EventLog.begin(Path(path), load_rubric(rubric))
event_log.know([Known("exam a", "a" * 64, ("call",))])
for number in range(150):
    about = {"work": "rate", "rater": rater, "exam": "a" * 64, "step": "call"}
    event_log.append(f"{rater}-{number:07}", **about, kind="points", value=number % 13)
"""


def test_two_processes_lose_nothing(tmp_path: Path, rubric: Path) -> None:
    """Both begin the file at the same time and write 150 events each."""
    path = tmp_path / "s.sqlite"
    writers = [subprocess.Popen([sys.executable, "-c", RATE, path, rubric, rater]) for rater in ("a", "b")]
    assert [writer.wait(120) for writer in writers] == [0, 0]
    found = EventLog.read(path)
    for rater in ("a", "b"):
        assert [event.value for event in found.events("rate", rater)] == [number % 13 for number in range(150)]
    assert len(found.events()) == 300


def test_spoiled_files_are_refused_in_a_sentence(tmp_path: Path, three: Rubric) -> None:
    """Bytes overwritten at random: what is read is a sheet on the scale, or a sentence says why not."""
    event_log = EventLog.begin(tmp_path / "s.sqlite", three)
    event_log.know([Known("exam a", EXAM, tuple(STEPS))])
    for number, step in enumerate(STEPS):
        write(event_log, f"name-{number:04}", "points", step, 1)
    event_log.close()
    good = (tmp_path / "s.sqlite").read_bytes()
    rng, refused = np.random.default_rng(5), 0
    used = np.flatnonzero(np.frombuffer(good, np.uint8))
    for _ in range(80):
        data = bytearray(good)
        for at in rng.choice(used, rng.integers(1, 4)):
            data[at] = rng.integers(256)
        (tmp_path / "bad.sqlite").write_bytes(data)
        try:
            rows, _ = ratings_labels(tmp_path / "bad.sqlite", three, UseRatings())
        except SimingError as error:
            refused += 1
            assert "bad.sqlite" in str(error)
        else:
            for row in rows:
                assert not row.applicable or row.points in allowed_points(three.by_id[row.step_id])
    assert 10 < refused < 80


@pytest.mark.parametrize(
    "definition",
    [
        "CREATE VIEW acts AS WITH RECURSIVE n(seq) AS (SELECT 1 UNION ALL SELECT seq + 1 FROM n) "
        "SELECT seq, seq AS id, '' AS time, '' AS work, '' AS rater, '' AS exam, '' AS step, '' AS kind, '' AS value "
        "FROM n",
        "CREATE TABLE acts (seq, id, time, work, rater, exam, step, kind, value AS (hex(zeroblob(500000000))))",
    ],
)
def test_a_log_whose_tables_are_traps_is_refused_at_once(tmp_path: Path, three: Rubric, definition: str) -> None:
    """Reading either would never end, or take gigabytes: the definition is looked at first."""
    EventLog.begin(tmp_path / "s.sqlite", three).close()
    with sqlite3.connect(tmp_path / "s.sqlite") as other:
        for statement in ("DROP TABLE acts", definition):
            other.execute(statement)
    other.close()
    for door in (EventLog.read, lambda path: EventLog.begin(path, three)):
        with pytest.raises(DataError, match="holds what no station made"):
            door(tmp_path / "s.sqlite")


def test_a_trigger_of_a_stranger_is_refused(tmp_path: Path, three: Rubric) -> None:
    EventLog.begin(tmp_path / "s.sqlite", three).close()
    with sqlite3.connect(tmp_path / "s.sqlite") as other:
        other.execute("CREATE TRIGGER more AFTER INSERT ON acts BEGIN INSERT INTO about VALUES (new.id, 'x'); END")
    other.close()
    with pytest.raises(DataError, match="holds what no station made"):
        EventLog.begin(tmp_path / "s.sqlite", three)

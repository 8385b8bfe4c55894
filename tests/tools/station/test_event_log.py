"""The event log by itself: what events come to, what is refused, what it says of damaged and foreign files."""

import sqlite3
import stat
import subprocess
import sys
import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from siming_tasks.benchmark.rubrics import Rubric, allowed_points, default_rubric, rubric_from
from siming_tasks.common.errors import DataError
from siming_tasks.tools.station.event_log import Event, EventLog, Known
from siming_tasks.tools.station.replay import replay
from siming_tasks.tools.station.station_exams import Exam, Exams
from siming_tasks.tools.station.worklist import Adjudication, Rating
from tests.tools.station.conftest import EXAM, act, begun, rubric_of


def events(*rows: tuple[str, str | None, str, Any]) -> list[Event]:
    """Acts of one rater on one exam: minute and second, step, kind, value."""
    return [Event(time, f"2026-01-01T10:{time}+00:00", "rate", "a", EXAM, *row) for time, *row in rows]


def test_points_and_not_applicable_put_each_other_out_and_time_is_counted_without_breaks() -> None:
    """Opened at 0 s, events at 10 s and 30 s, then 20 minutes of lunch, then an event after 5 s more."""
    points, none, cleared = (
        ("00:00", "look", *what) for what in (("points", 1), ("applicable", False), ("points", None))
    )
    step = replay(events(points, none)).step("look")
    assert (step.points, step.applicable, step.decided) == (None, False, True)
    step = replay(events(none, points)).step("look")
    assert (step.points, step.applicable) == (1, True)
    assert not replay(events(points, cleared)).step("look").decided
    given = [(time, "look", "points", 1) for time in ("00:10", "00:30", "20:30", "20:35")]
    assert replay(events(("00:00", None, "open", {"seconds": 9}), *given)).seconds == 10 + 20 + 5
    steps = rubric_from(rubric_of({"whole": 3, "odd": 2.5})).by_id
    assert (allowed_points(steps["whole"]), allowed_points(steps["odd"])) == ((0, 1, 2, 3), (0, 0.5, 1, 1.5, 2, 2.5))


def test_event_log_is_private_and_append_only(tmp_path: Path, three: Rubric) -> None:
    path = tmp_path / "new" / "s.sqlite"
    event_log = begun(path, three)
    act(event_log, "name-0001", "points", "look", 1)
    act(event_log, "name-0002", "comment", "look", "half \ud83d of a sign")
    (copied := tmp_path / "copied.sqlite").write_bytes(path.read_bytes())  # as of a station that was killed
    assert [event.value for event in EventLog.read(copied).events()] == [1, "half \ufffd of a sign"]
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
        act(EventLog.read(path), "name-0003", "points", "look", 2)


def test_each_rater_has_a_stable_order_into_which_new_exams_fall(tmp_path: Path, three: Rubric) -> None:
    exams = tuple(Exam(f"exam {number}", Path(), f"{number:064x}", ("look",)) for number in range(20))

    def order(rater: str, exams: Sequence[Exam]) -> list[str]:
        log = EventLog.begin(tmp_path / "s.sqlite", three)
        return [item.exam.name for item in Rating(log, rater, Exams(three, tuple(exams))).items]

    a, b = order("a", exams), order("b", exams[::-1])
    assert sorted(a) == sorted(b) and len({tuple(a), tuple(b), tuple(exam.name for exam in exams)}) == 3
    assert order("a", exams[:15]) == [name for name in a if int(name[5:]) < 15]


def test_whose_points_stand_first_is_drawn_for_each_step(tmp_path: Path, three: Rubric) -> None:
    """The adjudicator cannot tell whose they are: of 20 exams rater a is first in some and not in others."""
    exams = Exams(three, tuple(Exam(f"exam {number}", Path(), f"{number:064x}", ("look",)) for number in range(20)))
    log = EventLog.begin(tmp_path / "s.sqlite", three)
    log.know(Known(exam.name, exam.digest, exam.steps) for exam in exams.exams)
    for exam in exams.exams:
        for rater, points in (("a", 0), ("b", 1)):
            name = f"{rater}-{exam.name[5:]:0>8}"
            log.append(name, work="rate", rater=rater, exam=exam.digest, kind="points", step="look", value=points)
    work = Adjudication(log, exams)
    assert {work.shown(item)["scores"]["look"][0]["points"] for item in work.items} == {0, 1}


def test_other_videos_rubrics_and_kinds_of_data_are_refused(tmp_path: Path, three: Rubric) -> None:
    path = tmp_path / "s.sqlite"
    event_log = EventLog.begin(path, three)
    event_log.know([Known("exam a", EXAM, ("look",)), Known("exam b", "b" * 64, ("look",))])
    with pytest.raises(DataError, match="'exam a' is not the video that was rated under this name"):
        event_log.know([Known("exam a", "b" * 64, ("look",)), Known("exam b", EXAM, ("look",))])
    with pytest.raises(DataError, match="'other' was rated as 'exam a'"):
        event_log.know([Known("exam c", "c" * 64, ("look",)), Known("other", EXAM, ("look",))])
    assert [exam.name for exam in event_log.exams().values()] == ["exam a", "exam b"], "all or nothing"
    with pytest.raises(DataError, match="was started with another rubric"):
        EventLog.begin(path, rubric_from(rubric_of({"look": 2})))
    with pytest.raises(DataError, match="was started with real videos, but these are SYNTHETIC"):
        EventLog.begin(path, three, synthetic=True)
    EventLog.begin(path, three).close()


def test_files_that_are_no_event_log_are_refused_and_left_alone(tmp_path: Path, three: Rubric) -> None:
    (text := tmp_path / "s.csv").write_text("video_id,step_id\n" * 100)
    foreign = tmp_path / "f.sqlite"
    with sqlite3.connect(foreign) as other:
        other.execute("CREATE TABLE mine (x)")
    other.close()
    for path, read, begin in (
        (text, "is not an event log", "file is not a database"),
        (foreign, "another program's", "another program's"),
        (tmp_path / "none", "no such file", ""),
        (tmp_path, "is not an event log", "cannot be written"),
    ):
        with pytest.raises(DataError, match=read):
            EventLog.read(path)
        if begin:
            with pytest.raises(DataError, match=begin):
                EventLog.begin(path, three)
    assert text.read_text() == "video_id,step_id\n" * 100


MORE = "CREATE TRIGGER more AFTER INSERT ON acts BEGIN INSERT INTO about VALUES (new.id, 'x'); END"


@pytest.mark.parametrize(
    ("statements", "said"),
    [
        (["DROP TRIGGER acts_stay", "UPDATE acts SET value = '{'"], "event 'name-0001' is damaged"),
        (["DROP TRIGGER acts_stay", "UPDATE acts SET time = '2026-01-01'"], "event 'name-0001' is damaged"),
        (["UPDATE exams SET steps = '{'"], "the list of exams is damaged"),
        (["DELETE FROM about WHERE key = 'rubric'"], "is incomplete"),
        ([MORE], "contains tables that no station made"),
    ],
)
def test_what_no_station_wrote_is_refused(tmp_path: Path, three: Rubric, statements: list[str], said: str) -> None:
    """A damaged act is named; a table that is a trap is not read at all."""
    event_log = begun(tmp_path / "s.sqlite", three)
    act(event_log, "name-0001", "points", "look", 1)
    event_log.close()
    with sqlite3.connect(tmp_path / "s.sqlite") as other:
        for statement in statements:
            other.execute(statement)
    other.close()
    with pytest.raises(DataError, match=said):
        EventLog.read(tmp_path / "s.sqlite").events()


def test_stations_that_begin_a_file_at_the_same_moment_wait_for_each_other(tmp_path: Path) -> None:
    """SQLite refuses at once whoever turns its log on while another does: in one of ten rounds, without waiting."""
    rubric = default_rubric()
    for number in range(60):
        gate, path = threading.Barrier(4), tmp_path / f"{number}.sqlite"

        def begin(gate: threading.Barrier = gate, path: Path = path) -> None:
            gate.wait()
            EventLog.begin(path, rubric).close()

        with ThreadPoolExecutor(4) as pool:
            for begun in [pool.submit(begin) for _ in range(4)]:
                begun.result()


RATE = """
import sys
from collections.abc import Sequence
from pathlib import Path
from siming_tasks.tools.station.event_log import EventLog, Known
from siming_tasks.benchmark.rubrics import load_rubric
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

"""Event log of a rating station: an append-only SQLite file of events, and everything that is read from it.

::

    about    key, value                     rubric and its digest, tool, date, whether the data are synthetic
    exams    digest, name, steps            SHA-256 of the video, its name in the folder, its score sheet (JSON)
    acts     id, time, work, rater, exam, step, kind, value (JSON)

An act sets one field of one step, and the latest one counts: an undo is an act, too. No act of a rater on an exam is
earlier than the one before it, so the state is that of the acts in the order of time, whichever log took over which.

Write-ahead logging lets several stations write and others read at the same time; ``synchronous=FULL`` waits for the
disk before an event is acknowledged, so that neither a killed process nor a power cut takes it back. Each event is
also written into the file itself (``wal_autocheckpoint=1``): a copy of that file alone has all events after a kill.
"""

from __future__ import annotations

import json
import os
import sqlite3
import threading
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any, NamedTuple

from siming_tasks import __version__
from siming_tasks.benchmark.rubrics import Rubric, allowed_points, rubric_from
from siming_tasks.common.errors import DataError
from siming_tasks.common.files import open_regular, sha256_json
from siming_tasks.common.sanitize import is_number, well_formed
from siming_tasks.tools.station.words import Sentence

RATING, ADJUDICATION = "rate", "adjudicate"
"""Kinds of work in an event log: scoring and marking spans; deciding where two raters differ."""
ABOUT_STEP = ("points", "applicable", "start", "end", "comment")
"""Acts that set a step's field; the value None clears it. Points and "not applicable" put each other out."""
ABOUT_EXAM = ("open", "played")
"""Acts about an exam: it was brought to the screen (the value says how many seconds it lasts); seconds of it were
played, with and without sound."""
PLAYED = ("heard", "silent")
"""Keys of the value of ``played``: seconds that were played with sound, and without."""
MAX_COMMENT = 2_000
"""Characters of a comment."""
MAX_SECONDS = 86_400
"""Of a video; no step has as many points."""
SHORTEST_SPAN = 0.1
"""Least seconds of a span: few cameras show more than one picture in less."""

_APPLICATION = 0x53694D52  # "SiMR": says whose file it is
_FORMAT = 1
_MAGIC = b"SQLite format 3\0"
_WAIT = 30.0
"""Seconds to wait for another process that is writing."""
_COLUMNS = "id, time, work, rater, exam, step, kind, value"
_RESTORE = "Restore a copy, or start another file with --store."
_MOST_NAMED = 10
"""Contradictions of two logs that are named; the rest is counted."""
_SCHEMA = """
CREATE TABLE about (key TEXT PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE exams (digest TEXT PRIMARY KEY, name TEXT NOT NULL UNIQUE, steps TEXT NOT NULL);
CREATE TABLE acts (
  id TEXT PRIMARY KEY,
  time TEXT NOT NULL,
  work TEXT NOT NULL,
  rater TEXT NOT NULL,
  exam TEXT NOT NULL REFERENCES exams (digest),
  step TEXT,
  kind TEXT NOT NULL,
  value TEXT NOT NULL
);
CREATE INDEX acts_of_an_exam ON acts (work, rater, exam, time);
CREATE TRIGGER acts_stay BEFORE UPDATE ON acts BEGIN SELECT RAISE(ABORT, 'acts are never changed'); END;
CREATE TRIGGER acts_remain BEFORE DELETE ON acts BEGIN SELECT RAISE(ABORT, 'acts are never deleted'); END;
"""
_STATEMENTS = {" ".join(text.split()) for text in _SCHEMA.split(";\n")}
"""All definitions that a log may contain, besides SQLite's own tables."""


class Event(NamedTuple):
    """One row of the event log.

    Attributes:
        id: its name, which no other event of any log has.
        time: when it was written, ISO 8601, UTC; later than all that the rater did on the exam before.
        work: ``rate`` or ``adjudicate``.
        exam: SHA-256 of the video.
        step: rubric step; None for an event about the whole exam.
        kind: one of :data:`ABOUT_STEP` and :data:`ABOUT_EXAM`.
        value: points; a bool; seconds; text; None clears.
    """

    id: str
    time: str
    work: str
    rater: str
    exam: str
    step: str | None
    kind: str
    value: Any


class Known(NamedTuple):
    """An exam as the event log knows it: its name, the SHA-256 of its video, and the steps on its score sheet."""

    name: str
    digest: str
    steps: tuple[str, ...]


class UsedName(DataError):
    """An event has the name of another one."""


def check_event(rubric: Rubric, step: str | None, kind: str, value: Any) -> Sentence | None:
    """Reason why an event cannot be in a log under this rubric; None if it can."""
    if kind in ABOUT_EXAM:
        keys = {"open": ["seconds"], "played": [*PLAYED]}[kind]
        fits = isinstance(value, dict) and sorted(value) == sorted(keys)
        least = 1e-6 if kind == "open" else 0
        fits = fits and all(is_number(each) and least <= each <= MAX_SECONDS for each in value.values())
        return None if fits and step is None else Sentence("bad_value", {"kind": kind})
    if kind not in ABOUT_STEP:
        return Sentence("no_event", {"kind": f"{kind!r:.40}"})
    rule = rubric.by_id.get(step or "")
    if rule is None:
        return Sentence("not_in_rubric", {"step": f"{step!r:.80}"})
    if value is None:
        return None
    if kind == "comment":
        fits = isinstance(value, str) and len(value) <= MAX_COMMENT
        return None if fits else Sentence("not_comment", {"most": f"{MAX_COMMENT:,}"})
    if kind == "applicable":
        return None if isinstance(value, bool) else Sentence("bad_value", {"kind": kind})
    number = is_number(value) and 0 <= value <= MAX_SECONDS  # no NaN
    if kind == "points" and (not number or value > rule.max_score or value % rule.score_increment):
        scale = ", ".join(f"{each:g}" for each in allowed_points(rule))
        return Sentence("off_scale", {"value": f"{value!r:.40}", "step": f"{rule.name} ({rule.id})", "scale": scale})
    return None if number else Sentence("bad_value", {"kind": kind})


def is_event_log(path: Path) -> bool:
    """True if a file is an SQLite file, by its first bytes (False if it cannot be read)."""
    try:
        with open_regular(path) as stream:
            return stream.read(len(_MAGIC)) == _MAGIC
    except OSError:
        return False


def rubric_digest(rubric: Rubric) -> str:
    """Digest of a rubric's content, however its file is laid out."""
    return sha256_json(rubric.model_dump(mode="json"))


class EventLog:
    """An open event log; may be used by several threads.

    Attributes:
        path: the file.
        rubric: what the events refer to.
        synthetic: whether the videos are simulated.
    """

    def __init__(self, path: Path, connection: sqlite3.Connection) -> None:
        self.path = path
        self._connection = connection
        self._lock = threading.RLock()
        (mark,), (version,) = (self._rows(f"PRAGMA {name}")[0] for name in ("application_id", "user_version"))
        if mark != _APPLICATION:
            raise DataError(f"{path}: is another program's SQLite file. Choose another file with --store.")
        if version != _FORMAT:
            what = f"was written by another version of siming-tasks (format {version})"
            raise DataError(f"{path}: {what}. Use that version.")
        # A view, a trigger or a computed column in a table's place could go on for ever or take all memory.
        query = "SELECT sql FROM sqlite_master WHERE sql IS NOT NULL AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\'"
        made = {" ".join(text.split()) for (text,) in self._rows(query)}
        if strange := made - _STATEMENTS:
            raise DataError(f"{path}: contains tables that no station made ({min(strange):.60}). {_RESTORE}")
        about = dict(self._rows("SELECT key, value FROM about"))
        try:
            self.rubric = rubric_from(json.loads(about["rubric"]), f"{path} (rubric)")
            self.synthetic = about["synthetic"] == "true"
        except (KeyError, TypeError, ValueError, RecursionError):
            raise DataError(f"{path}: is incomplete. {_RESTORE}") from None

    @classmethod
    def begin(cls, path: Path, rubric: Rubric, *, synthetic: bool = False) -> EventLog:
        """The event log at ``path``, made if it is not there: readable by its owner only.

        Raises:
            DataError: the file is something else, or was begun with another rubric or other data.
        """
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            os.close(os.open(path, os.O_RDWR | os.O_CREAT, 0o600))
        except OSError as error:
            raise DataError(
                f"{path}: cannot be written ({error.strerror}). Choose another file with --store."
            ) from None
        with _sqlite_messages(path):
            connection = _connect(path, "rw")
            if not _keeps_log(connection):
                what = "is on a file system where SQLite cannot keep its log"
                raise DataError(f"{path}: {what}. Choose a file on a local disk (--store).")
            connection.execute("BEGIN IMMEDIATE")  # of two stations that begin together, one makes the tables
            if not connection.execute("SELECT 1 FROM sqlite_master").fetchone():
                _make_tables(connection, rubric, synthetic)
            connection.execute("COMMIT")
            event_log = cls(path, connection)
        if rubric_digest(event_log.rubric) != rubric_digest(rubric):
            what = f"was started with another rubric ({event_log.rubric.rubric_id} {event_log.rubric.version})."
            raise DataError(f"{path}: {what} Give that rubric, or start another file with --store.")
        if event_log.synthetic != synthetic:
            kinds = ("real", "SYNTHETIC") if synthetic else ("SYNTHETIC", "real")
            raise DataError(
                f"{path}: was started with {kinds[0]} videos, but these are {kinds[1]}. Choose another --store."
            )
        return event_log

    @classmethod
    def read(cls, path: Path) -> EventLog:
        """An event log to read from only, also while others write.

        Raises:
            DataError: there is no such file, or it is not an event log.
        """
        if not is_event_log(path):
            missing = "is not an event log of `siming data rate`" if path.exists() else "no such file"
            raise DataError(f"{path}: {missing}. Give the file that `siming data rate` names when it starts.")
        with _sqlite_messages(path):
            connection = _connect(path, "ro")
            connection.execute("PRAGMA query_only=ON")
            return cls(path, connection)

    def close(self) -> None:
        """Close the file; what is in the log goes into it."""
        with self._lock:
            self._connection.close()

    def know(self, exams: Iterable[Known]) -> None:
        """Take note of exams.

        Raises:
            DataError: a name stood for another video when it was rated, or a video had another name; says which.
        """
        with self._writing():
            known = {digest: exam.name for digest, exam in self.exams().items()}
            names = {name: digest for digest, name in known.items()}
            for name, digest, steps in exams:
                if names.get(name, digest) != digest:
                    what = f"{name!r} is not the video that was rated under this name in {self.path}"
                    both = f"(rated {names[name][:12]}, found {digest[:12]})"
                    raise DataError(f"{what} {both}. Put the rated file back, or start another file with --store.")
                if known.get(digest, name) != name:
                    what = f"{name!r} was rated as {known[digest]!r} in {self.path}."
                    raise DataError(f"{what} Rename it back, or start another file with --store.")
                names[name], known[digest] = digest, name
                row = (digest, name, json.dumps(steps))
                self._connection.execute("INSERT OR IGNORE INTO exams VALUES (?, ?, ?)", row)

    def exams(self) -> dict[str, Known]:
        """All exams by their digest."""
        rows = self._rows("SELECT name, digest, steps FROM exams ORDER BY rowid")
        try:
            known = {digest: Known(name, digest, tuple(json.loads(steps))) for name, digest, steps in rows}
            sheets = [exam.steps for exam in known.values()]
            on_sheet = all(len(set(steps)) == len(steps) and set(steps) <= set(self.rubric.by_id) for steps in sheets)
            if on_sheet and all(isinstance(exam.name + exam.digest, str) for exam in known.values()):
                return known
        except (TypeError, ValueError, RecursionError):
            pass
        raise DataError(f"{self.path}: the list of exams is damaged. {_RESTORE}")

    def append(
        self, name: str, *, work: str, rater: str, exam: str, kind: str, step: str | None = None, value: Any = None
    ) -> None:
        """Write one event and wait until it is on the disk; one that is sent twice is written once.

        Raises:
            UsedName: another event has this name.
            DataError: it could not be written.
        """
        given = (work, rater, exam, step, kind, json.dumps(value))
        with self._writing():
            there = self._rows("SELECT work, rater, exam, step, kind, value FROM acts WHERE id = ?", name)
            if there and there != [given]:
                raise UsedName(f"{self.path}: another event has the name {name!r}.")
            if not there:
                # Now, or right after the last event of this rater on this exam where a clock was ahead.
                query = "SELECT max(time) FROM acts WHERE work = ? AND rater = ? AND exam = ?"
                ((last,),) = self._rows(query, work, rater, exam)
                now = datetime.now(timezone.utc)
                if last is not None:
                    now = max(now, datetime.fromisoformat(last) + timedelta(milliseconds=1))
                row = (name, now.isoformat(timespec="milliseconds"), *given)
                self._connection.execute(f"INSERT INTO acts ({_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?)", row)

    def has(self, name: str) -> bool:
        """True if an event of this name is there."""
        return bool(self._rows("SELECT 1 FROM acts WHERE id = ?", name))

    def join(self, other: EventLog) -> int:
        """Take over another event log's exams and events, and return how many events were new.

        Raises:
            DataError: another rubric, other data, exams that do not fit together, or one rater's answers that
                contradict each other (:func:`contradictions`); nothing is taken over then.
        """
        if rubric_digest(other.rubric) != rubric_digest(self.rubric) or other.synthetic != self.synthetic:
            what = "has another rubric, or one of the two is SYNTHETIC"
            raise DataError(f"{other.path}: {what}; it cannot be joined with {self.path}.")
        exams, mine, theirs = other.exams(), self.events(), other.events()
        names = {digest: exam.name for digest, exam in (self.exams() | exams).items()}
        known = {event.id: event for event in mine}
        if bad := next((event.id for event in theirs if known.get(event.id, event) != event), None):
            raise DataError(f"{other.path}: another event has the name {bad!r} in {self.path}. {_RESTORE}")
        if found := list(contradictions(mine, theirs, names)):
            listed = "".join(f"\n  {each}" for each in found[:_MOST_NAMED])
            more = f"\n  and {len(found) - _MOST_NAMED:,} more" * (len(found) > _MOST_NAMED)
            raise DataError(
                f"{other.path} and {self.path}: one rater gave different answers on two machines, and neither is "
                f"later:{listed}{more}\nGive the same answer in one of the two, then join again."
            )
        self.know(exams.values())
        rows = [(*event[:-1], json.dumps(event.value)) for event in theirs if event.id not in known]
        with self._writing():
            before = self._connection.total_changes
            query = f"INSERT OR IGNORE INTO acts ({_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?)"
            self._connection.executemany(query, rows)
            return self._connection.total_changes - before

    def events(self, work: str | None = None, rater: str | None = None, exam: str | None = None) -> list[Event]:
        """The events in the order of time, all or those that match.

        Raises:
            DataError: one of them cannot come from a station: it is damaged, off the scale, or of an unknown step or
                exam.
        """
        filters = {name: text for name, text in (("work", work), ("rater", rater), ("exam", exam)) if text is not None}
        where = " AND ".join(f"{name} = ?" for name in filters) or "1"
        rows = self._rows(f"SELECT {_COLUMNS} FROM acts WHERE {where} ORDER BY time, id", *filters.values())
        exams, events = self.exams(), [self._event(*row) for row in rows]
        for event in events:
            wrong = check_event(self.rubric, event.step, event.kind, event.value)
            if wrong or event.exam not in exams:
                raise DataError(f"{self.path}: event {event.id}: {wrong or 'there is no such exam.'} {_RESTORE}")
        return events

    def _event(self, name: Any, time: Any, *about: Any) -> Event:
        *texts, text = about
        try:
            if all(isinstance(each, str) for each in (name, *texts) if each is not None) and time.endswith("+00:00"):
                datetime.fromisoformat(time)
                value = json.loads(text)
                return Event._make([name, time, *texts, well_formed(value) if isinstance(value, str) else value])
        except (AttributeError, TypeError, ValueError, RecursionError):
            pass
        raise DataError(f"{self.path}: event {name!r:.80} is damaged. {_RESTORE}")

    def raters(self, work: str) -> list[str]:
        """Names of all who have given any point or word in a work, sorted."""
        rows = self._rows("SELECT DISTINCT rater FROM acts WHERE work = ? AND step IS NOT NULL ORDER BY rater", work)
        return [name for (name,) in rows]

    def _rows(self, query: str, *values: Any) -> list[tuple[Any, ...]]:
        with self._lock, _sqlite_messages(self.path):
            return self._connection.execute(query, values).fetchall()

    @contextmanager
    def _writing(self) -> Iterator[None]:
        """One transaction, all of it or nothing."""
        with self._lock, _sqlite_messages(self.path):
            self._connection.execute("BEGIN IMMEDIATE")
            try:
                yield
                self._connection.execute("COMMIT")
            except BaseException:
                self._connection.execute("ROLLBACK")
                raise


def contradictions(mine: Iterable[Event], theirs: Iterable[Event], names: dict[str, str]) -> Iterator[str]:
    """Fields of a rater's step that two logs set last to different values, each by an event that the other lacks.

    Where one log has the other's last event, its value is later, and counts. ``names`` are those of the exams.
    """

    def last(events: Iterable[Event]) -> dict[tuple[Any, ...], tuple[str, Any]]:
        found = {}
        for event in events:
            if event.kind in ABOUT_STEP:
                kind, value = event.kind, event.value
                if kind == "applicable":
                    kind, value = "points", "N/A" if value is False else None
                found[(event.work, event.rater, event.exam, event.step, kind)] = (event.id, value)
        return found

    ours, mine_ids, their_ids = last(mine), {event.id for event in mine}, {event.id for event in theirs}
    for place, (name, value) in last(theirs).items():
        own, here = ours.get(place, (name, value))
        if here != value and name not in mine_ids and own not in their_ids:
            _, rater, exam, step, kind = place
            yield f"{rater}, {names[exam]!r}, step {step}, {kind}: {here!r:.60} and {value!r:.60}"


def _keeps_log(connection: sqlite3.Connection) -> bool:
    """Switch to SQLite's log; SQLite itself does not wait for another that does so at the same moment."""
    until = time.monotonic() + _WAIT
    while True:
        try:
            return bool(connection.execute("PRAGMA journal_mode=WAL").fetchone() == ("wal",))
        except sqlite3.OperationalError as error:
            if error.args != ("database is locked",) or time.monotonic() > until:
                raise
        time.sleep(0.01)


def _connect(path: Path, mode: str) -> sqlite3.Connection:
    """An open connection, ``rw`` or ``ro``, that several threads may use and that believes nothing the file defines."""
    address = f"{path.absolute().as_uri()}?mode={mode}"
    connection = sqlite3.connect(address, uri=True, timeout=_WAIT, isolation_level=None, check_same_thread=False)
    for setting in (
        "trusted_schema=OFF",
        "cell_size_check=ON",
        "foreign_keys=ON",
        "synchronous=FULL",
        "wal_autocheckpoint=1",
    ):
        connection.execute(f"PRAGMA {setting}")
    return connection


def _make_tables(connection: sqlite3.Connection, rubric: Rubric, synthetic: bool) -> None:
    """Make an empty file an event log."""
    for statement in _SCHEMA.split(";\n"):
        connection.execute(statement)
    about = {
        "rubric": json.dumps(rubric.model_dump(mode="json"), ensure_ascii=False),
        "rubric_digest": rubric_digest(rubric),
        "synthetic": json.dumps(synthetic),
        "tool": f"siming-tasks {__version__}",
        "created": datetime.now(timezone.utc).isoformat(timespec="seconds"),
    }
    connection.executemany("INSERT INTO about VALUES (?, ?)", about.items())
    connection.execute(f"PRAGMA application_id={_APPLICATION}")
    connection.execute(f"PRAGMA user_version={_FORMAT}")


@contextmanager
def _sqlite_messages(path: Path) -> Iterator[None]:
    """SQLite's message about the file in a sentence."""
    try:
        yield
    except (sqlite3.Error, UnicodeDecodeError) as error:  # its own message may hold what it could not read
        raise DataError(f"{path}: {error}. Is the disk full, or the file damaged or another program's?") from None

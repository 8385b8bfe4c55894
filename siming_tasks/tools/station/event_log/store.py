"""The event log: what a station writes into its file, and what anybody reads there."""

from __future__ import annotations

import json
import os
import sqlite3
import threading
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime, timezone
from pathlib import Path
from typing import Any, NamedTuple

from siming_tasks.common.errors import DataError
from siming_tasks.rubrics import Rubric, rubric_from
from siming_tasks.tools.station.event_log.events import Event, check_event
from siming_tasks.tools.station.event_log.file import (
    check_ours,
    connect,
    is_event_log,
    make_tables,
    rubric_digest,
    said,
)

__all__ = ["EventLog", "Known"]

_RESTORE = "Restore a copy, or begin another file with --store."


class Known(NamedTuple):
    """An exam as the event log knows it: its name, the SHA-256 of its video, and the steps on its score sheet."""

    name: str
    digest: str
    steps: tuple[str, ...]


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
        about = dict(self._rows("SELECT key, value FROM about"))
        try:
            self.rubric = rubric_from(json.loads(about["rubric"]), f"{path} (rubric)")
            self.synthetic = about["synthetic"] == "true"
        except (KeyError, TypeError, ValueError, RecursionError):
            raise DataError(f"{path}: is not whole. {_RESTORE}") from None

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
            raise DataError(f"{path}: cannot be written ({error.strerror}). Name another file with --store.") from None
        with said(path):
            connection = connect(path, "rw")
            if connection.execute("PRAGMA journal_mode=WAL").fetchone() != ("wal",):
                raise DataError(
                    f"{path}: lies where SQLite cannot keep its log. Name a file on a local disk (--store)."
                )
            connection.execute("BEGIN IMMEDIATE")  # of two stations that begin together, one makes the tables
            if not connection.execute("SELECT 1 FROM sqlite_master").fetchone():
                make_tables(connection, rubric, synthetic)
            connection.execute("COMMIT")
            check_ours(path, connection)
            event_log = cls(path, connection)
        if rubric_digest(event_log.rubric) != rubric_digest(rubric):
            what = f"was begun with another rubric ({event_log.rubric.rubric_id} {event_log.rubric.version})."
            raise DataError(f"{path}: {what} Give that rubric, or begin another file with --store.")
        if event_log.synthetic != synthetic:
            kinds = ("real", "SYNTHETIC") if synthetic else ("SYNTHETIC", "real")
            raise DataError(f"{path}: was begun with {kinds[0]} videos, these are {kinds[1]}. Name another --store.")
        return event_log

    @classmethod
    def read(cls, path: Path) -> EventLog:
        """An event log to read from only, also while others write.

        Raises:
            DataError: there is no such file, or it is no event log.
        """
        if not is_event_log(path):
            missing = "is no event log of `siming data rate`" if path.exists() else "no such file"
            raise DataError(f"{path}: {missing}. Give the file that `siming data rate` names when it starts.")
        with said(path):
            connection = connect(path, "ro")
            connection.execute("PRAGMA query_only=ON")
            check_ours(path, connection)
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
                    raise DataError(f"{what} {both}. Put the rated file back, or begin another file with --store.")
                if known.get(digest, name) != name:
                    what = f"{name!r} was rated as {known[digest]!r} in {self.path}."
                    raise DataError(f"{what} Rename it back, or begin another file with --store.")
                names[name], known[digest] = digest, name
                row = (digest, name, json.dumps(steps))
                self._connection.execute("INSERT OR IGNORE INTO exams VALUES (?, ?, ?)", row)

    def exams(self) -> dict[str, Known]:
        """All exams by their digest."""
        rows = self._rows("SELECT name, digest, steps FROM exams ORDER BY rowid")
        try:
            known = [Known(name, digest, tuple(json.loads(steps))) for name, digest, steps in rows]
            if all(isinstance(exam.name + exam.digest, str) and self._on_sheet(exam.steps) for exam in known):
                return {exam.digest: exam for exam in known}
        except (TypeError, ValueError, RecursionError):
            pass
        raise DataError(f"{self.path}: the list of exams is damaged. {_RESTORE}")

    def _on_sheet(self, steps: tuple[Any, ...]) -> bool:
        return len(set(steps)) == len(steps) and set(steps) <= set(self.rubric.by_id)

    def order(self, rater: str, work: str, items: Sequence[str]) -> list[str]:
        """The recorded order of a rater's items; new ones of ``items`` are recorded behind those that are there."""
        with self._writing():
            known = self.orders(rater, work)
            new = [item for item in dict.fromkeys(items) if item not in set(known)]
            rows = [(rater, work, place, item) for place, item in enumerate(new, len(known))]
            self._connection.executemany("INSERT INTO orders VALUES (?, ?, ?, ?)", rows)
        return known + new

    def orders(self, rater: str, work: str) -> list[str]:
        """The recorded order of a rater's items."""
        query = "SELECT item FROM orders WHERE rater = ? AND work = ? ORDER BY place"
        return [item for (item,) in self._rows(query, rater, work)]

    def append(
        self, name: str, *, work: str, rater: str, exam: str, kind: str, step: str | None = None, value: Any = None
    ) -> int:
        """Write one event and wait until it is on the disk; an event of the same ``name`` is not written twice.

        Returns:
            Its number.

        Raises:
            DataError: it could not be written.
        """
        now = datetime.now(timezone.utc).isoformat(timespec="milliseconds")
        row = (name, now, work, rater, exam, step, kind, json.dumps(value))
        with self._writing():
            self._connection.execute(
                "INSERT OR IGNORE INTO acts (id, time, work, rater, exam, step, kind, value) VALUES (?,?,?,?,?,?,?,?)",
                row,
            )
            ((seq,),) = self._rows("SELECT seq FROM acts WHERE id = ?", name)
        return int(seq)

    def join(self, other: EventLog) -> int:
        """Take over another event log's exams, orders and events; what is here already is not taken twice.

        Returns:
            How many events were new. They keep their times and their order among themselves.

        Raises:
            DataError: another rubric, other data, or exams that do not fit together.
        """
        if rubric_digest(other.rubric) != rubric_digest(self.rubric) or other.synthetic != self.synthetic:
            what = "has another rubric, or one of the two is SYNTHETIC"
            raise DataError(f"{other.path}: {what}; it cannot be joined with {self.path}.")
        self.know(other.exams().values())
        columns = "id, time, work, rater, exam, step, kind, value"
        rows = other._rows(f"SELECT {columns} FROM acts ORDER BY seq")
        orders = other._rows("SELECT rater, work, place, item FROM orders ORDER BY rater, work, place")
        with self._writing():
            before = self._connection.total_changes
            marks = ", ".join("?" * 8)
            self._connection.executemany(f"INSERT OR IGNORE INTO acts ({columns}) VALUES ({marks})", rows)
            new = self._connection.total_changes - before
            self._connection.executemany("INSERT OR IGNORE INTO orders VALUES (?, ?, ?, ?)", orders)
        return new

    def events(self, work: str | None = None, rater: str | None = None, exam: str | None = None) -> list[Event]:
        """The events in the order in which they were written, all or those that match.

        Raises:
            DataError: one of them is none that a station writes: damaged, off the scale, of no step or exam.
        """
        filters = {name: text for name, text in (("work", work), ("rater", rater), ("exam", exam)) if text is not None}
        where = " AND ".join(f"{name} = ?" for name in filters) or "1"
        columns = "seq, time, work, rater, exam, step, kind, value"
        rows = self._rows(f"SELECT {columns} FROM acts WHERE {where} ORDER BY seq", *filters.values())
        exams = self.exams()
        events = [self._act(row) for row in rows]
        for event in events:
            wrong = check_event(self.rubric, event.step, event.kind, event.value)
            if wrong or event.exam not in exams:
                raise DataError(f"{self.path}: event {event.seq}: {wrong or 'there is no such exam.'} {_RESTORE}")
        return events

    def _act(self, row: tuple[Any, ...]) -> Event:
        seq, time, work, rater, exam, step, kind, value = row
        try:
            whole = all(isinstance(text, str) for text in (work, rater, exam, kind, step or ""))
            if whole and datetime.fromisoformat(time).tzinfo is not None:
                return Event(int(seq), time, work, rater, exam, step, kind, json.loads(value))
        except (TypeError, ValueError, RecursionError):
            pass
        raise DataError(f"{self.path}: event {seq} is damaged. {_RESTORE}")

    def raters(self, work: str) -> list[str]:
        """Names of all who have given any point, verdict or word in a worklist, sorted."""
        rows = self._rows("SELECT DISTINCT rater FROM acts WHERE work = ? AND step IS NOT NULL ORDER BY rater", work)
        return [name for (name,) in rows]

    def works(self) -> list[str]:
        """The works that there are events of, sorted."""
        return [work for (work,) in self._rows("SELECT DISTINCT work FROM acts ORDER BY work")]

    def _rows(self, query: str, *values: Any) -> list[tuple[Any, ...]]:
        with self._lock, said(self.path):
            return self._connection.execute(query, values).fetchall()

    @contextmanager
    def _writing(self) -> Iterator[None]:
        """One transaction, all of it or nothing."""
        with self._lock, said(self.path):
            self._connection.execute("BEGIN IMMEDIATE")
            try:
                yield
                self._connection.execute("COMMIT")
            except BaseException:
                self._connection.execute("ROLLBACK")
                raise

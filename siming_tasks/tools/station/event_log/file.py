"""The event log's file: SQLite, events are added and never changed, and what was acknowledged is on the disk.

::

    about    key, value                     rubric and its digest, tool, date, whether the data are synthetic
    exams    digest, name, steps            SHA-256 of the video, its name in the folder, its score sheet (JSON)
    orders   rater, work, place, item       in which order a rater gets the exams
    acts     seq, id, time, work, rater, exam, step, kind, value (JSON)

Write-ahead logging lets several stations write and others read at the same time; ``synchronous=FULL`` waits for the
disk before an event is acknowledged, so that neither a killed process nor a power cut takes it back.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime, timezone
from pathlib import Path

from siming_tasks import __version__
from siming_tasks.common.errors import DataError
from siming_tasks.common.files import open_regular, sha256_json
from siming_tasks.rubrics import Rubric

__all__ = ["check_ours", "connect", "is_event_log", "make_tables", "rubric_digest", "said"]

_APPLICATION = 0x53694D52  # "SiMR": says whose file it is
_VERSION = 1
_MAGIC = b"SQLite format 3\0"
_WAIT = 30.0
"""Seconds to wait for another process that is writing."""

_SCHEMA = """
CREATE TABLE about (key TEXT PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE exams (digest TEXT PRIMARY KEY, name TEXT NOT NULL UNIQUE, steps TEXT NOT NULL);
CREATE TABLE orders (
  rater TEXT NOT NULL, work TEXT NOT NULL, place INTEGER NOT NULL, item TEXT NOT NULL,
  PRIMARY KEY (rater, work, place), UNIQUE (rater, work, item)
);
CREATE TABLE acts (
  seq INTEGER PRIMARY KEY AUTOINCREMENT,
  id TEXT NOT NULL UNIQUE,
  time TEXT NOT NULL,
  work TEXT NOT NULL,
  rater TEXT NOT NULL,
  exam TEXT NOT NULL REFERENCES exams (digest),
  step TEXT,
  kind TEXT NOT NULL,
  value TEXT NOT NULL
);
CREATE INDEX acts_of_an_exam ON acts (work, rater, exam, seq);
CREATE TRIGGER acts_stay BEFORE UPDATE ON acts BEGIN SELECT RAISE(ABORT, 'acts are never changed'); END;
CREATE TRIGGER acts_remain BEFORE DELETE ON acts BEGIN SELECT RAISE(ABORT, 'acts are never deleted'); END;
"""


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


def connect(path: Path, mode: str) -> sqlite3.Connection:
    """An open connection, ``rw`` or ``ro``, that several threads may use and that believes nothing the file defines."""
    address = f"{path.absolute().as_uri()}?mode={mode}"
    connection = sqlite3.connect(address, uri=True, timeout=_WAIT, isolation_level=None, check_same_thread=False)
    for setting in ("trusted_schema=OFF", "cell_size_check=ON", "foreign_keys=ON", "synchronous=FULL"):
        connection.execute(f"PRAGMA {setting}")
    return connection


def make_tables(connection: sqlite3.Connection, rubric: Rubric, synthetic: bool) -> None:
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
    connection.execute(f"PRAGMA user_version={_VERSION}")


def check_ours(path: Path, connection: sqlite3.Connection) -> None:
    """DataError, unless the file is an event log of this format."""
    (mark,), (version,) = (
        connection.execute(f"PRAGMA {name}").fetchone() for name in ("application_id", "user_version")
    )
    if mark != _APPLICATION:
        raise DataError(f"{path}: is another program's SQLite file. Name another file with --store.")
    if version != _VERSION:
        raise DataError(f"{path}: was written by another version of siming-tasks (format {version}). Use that version.")


@contextmanager
def said(path: Path) -> Iterator[None]:
    """Message of SQLite about the file, in a sentence."""
    try:
        yield
    except (sqlite3.Error, UnicodeDecodeError) as error:  # its own message may hold what it could not read
        raise DataError(f"{path}: {error}. Is the disk full, or the file damaged or another program's?") from None

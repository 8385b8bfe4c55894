"""Store of replies and attempts: one folder for each model as it was asked, one file for each process that asked.

A file is only ever appended to, by one process, so that no lock is needed, also on a network file system, and others
can read it meanwhile. Each line carries a checksum of its own: a line that was cut short or altered is no reply. A line
is with the operating system before the next reply is handled (a killed process loses nothing) and on the disk a moment
later, as fast as the disk takes it (so that a power cut loses what came in that moment).
"""

from __future__ import annotations

import hashlib
import json
import os
import secrets
import socket
import sys
import threading
import time
from collections.abc import Collection, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from siming_tasks.common.files import open_regular
from siming_tasks.plugin.response_cache.attempts import Attempt

VERSION = 1
MAX_LINE = 64_000_000
"""Longest line in bytes; no reply is that long."""

_HEAD = '{"sum": "'
_MIDDLE = '", "kept": '
_SUM = 16


@dataclass(frozen=True)
class CachedReply:
    """One reply, as the class of models returned it, with everything that is known of it.

    Attributes:
        id: of its request's record, for people who look.
        at: when it came, in seconds since 1970.
        usage: tokens, finish reason and more (:mod:`siming_tasks.results.usage`).
        media: description of what the model was shown.
        tokens: token counts of the class; None if it gave none.
    """

    key: str
    id: str
    reply: str
    at: float
    usage: Mapping[str, Any] = field(default_factory=dict)
    media: Mapping[str, Any] = field(default_factory=dict)
    tokens: Mapping[str, Any] | None = None


class ReplyStore:
    """Replies of one model under one set of conditions.

    Attributes:
        folder: where they are.
        warnings: sentences about damaged or unwritable files that have not been shown yet.
    """

    def __init__(self, folder: Path, conditions: str) -> None:
        """Store in ``folder``, whose files name this hash of conditions; nothing is read or written yet."""
        self.folder, self.conditions = folder, conditions
        self.warnings: list[str] = []
        self.unsaved = 0
        self._unanswered: dict[Path, dict[str, dict[Attempt, None]]] = {}
        self._handle: int | None = None
        self._path: Path | None = None
        self._good = 0
        self._read_to: dict[Path, int] = {}
        self._waiting: list[bytes] = []
        self._lock = threading.Lock()
        self._dirty = threading.Event()
        self._closed = False

    def find(self, keys: Collection[str]) -> dict[str, CachedReply]:
        """Replies to the requests with these keys; of several to one request, the first that came."""
        self._unanswered.clear()
        wanted, damaged = set(keys), 0
        replies: dict[str, CachedReply] = {}
        for path in sorted(self.folder.glob("*.jsonl")):
            try:
                for reply in self._read(path):
                    if reply is None:
                        damaged += 1
                    elif reply.key in wanted and (reply.key not in replies or reply.at < replies[reply.key].at):
                        replies[reply.key] = reply
            except OSError as error:
                self.warnings.append(f"{path} cannot be read ({error.strerror}); its replies are asked for again.")
        if damaged:
            self.warnings.append(
                f"{damaged} lines in {self.folder} are cut short or altered and were left out; what they answered is "
                "asked for again."
            )
        return replies

    def unanswered(self, keys: Collection[str]) -> Iterator[Attempt]:
        """Attempts of these requests, as far as they were read, in processes that got no reply to keep from them."""
        for key in keys:
            for attempts in list(self._unanswered.values()):  # other threads may be reading
                yield from tuple(attempts.get(key, ()))

    def find_new(self) -> list[CachedReply]:
        """Replies that other processes have written since this store last looked, whatever they answer."""
        replies: list[CachedReply] = []
        for path in sorted(self.folder.glob("*.jsonl")):
            if path != self._path:
                with suppress(OSError):  # a file that cannot be read now is read the next time
                    replies += [reply for reply in self._read(path, self._read_to.get(path, 0)) if reply is not None]
        return replies

    def _read(self, path: Path, start: int = 0) -> Iterator[CachedReply | None]:
        """Replies of a file from the byte ``start`` on; None for a line that holds none."""
        with open_regular(path) as stream:
            head = b"" if start else stream.readline(MAX_LINE)
            if not start and (reason := self._foreign(head)):
                if os.fstat(stream.fileno()).st_size:  # another process may just have made it
                    self.warnings.append(f"{path} {reason} and is left alone.")
                    self._read_to[path] = sys.maxsize
                return
            end = stream.seek(start or len(head))
            attempts = self._unanswered.setdefault(path, {})
            while line := stream.readline(MAX_LINE):
                end += len(line)
                if line.endswith(b"\n"):  # else another process may be writing it
                    self._read_to[path] = end
                content = _unsealed(line) or {}
                if isinstance(row := content.get("attempt"), dict):
                    with suppress(TypeError):
                        attempts.setdefault(str(row.get("key")), {})[Attempt(**row)] = None
                    continue
                is_reply = isinstance(content.get("reply"), str) and isinstance(content.get("key"), str)
                try:
                    reply = CachedReply(**content) if is_reply else None
                except TypeError:
                    reply = None
                if reply:
                    attempts.pop(reply.key, None)  # its usage has them
                yield reply

    def _foreign(self, head: bytes) -> str | None:
        """Sentence about a file whose first line says that its replies are not of this store; None if they are."""
        if (facts := _unsealed(head)) is None or facts.get("siming_replies") != VERSION:
            return "was not written by this version"
        return None if facts.get("conditions") == self.conditions else "belongs to another model or other arguments"

    def add(self, reply: CachedReply) -> bool:
        """Write a reply; False if it could not be written (it is tried again with the next one)."""
        return self._add(vars(reply))

    def add_attempt(self, attempt: Attempt) -> bool:
        """Write an attempt, as :meth:`add` a reply."""
        return self._add({"attempt": attempt.to_json()})

    def _add(self, content: Mapping[str, Any]) -> bool:
        with self._lock:
            self._waiting.append(_sealed(content))
            return self._write()

    def _write(self) -> bool:
        """Write what is waiting; what cannot be written waits on, without the part of a line that was written."""
        try:
            handle = self._handle if self._handle is not None else self._open()
            while self._waiting:
                _write_whole(handle, self._waiting[0])
                self._good += len(self._waiting.pop(0))
        except OSError as error:
            if self._handle is not None:
                try:
                    os.ftruncate(self._handle, self._good)  # the next line would be glued to it
                except OSError:
                    os.close(self._handle)
                    self._handle = None  # the next reply begins a file of its own
            if not self.unsaved:
                self.warnings.append(
                    f"REPLIES ARE NOT KEPT: {self.folder}: {error.strerror}. The run goes on, but what it cannot keep "
                    "is lost if it is cut short. Make room there, or give another folder (SIMING_REPLIES)."
                )
            self.unsaved = len(self._waiting)
            return False
        self.unsaved = 0
        self._dirty.set()
        return True

    def _open(self) -> int:
        """Open the file of this process and write its first line."""
        self.folder.mkdir(parents=True, exist_ok=True)
        name = f"{time.strftime('%Y%m%dT%H%M%S', time.gmtime())}-{socket.gethostname()[:40]}-{os.getpid()}"
        path = self.folder / f"{name}-{secrets.token_hex(3)}.jsonl"
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND, 0o600)
        head = _sealed({"siming_replies": VERSION, "conditions": self.conditions})
        try:
            _write_whole(handle, head)
        except OSError:
            os.close(handle)
            path.unlink(missing_ok=True)
            raise
        self._handle, self._path, self._good = handle, path, len(head)
        threading.Thread(target=self._sync, name="siming-replies", daemon=True).start()
        return handle

    def _sync(self) -> None:
        """Flush what was written to the disk, again and again, while replies come."""
        while not self._closed:
            self._dirty.wait()
            self._dirty.clear()
            with self._lock:
                handle = os.dup(self._handle) if self._handle is not None else None
            if handle is not None:
                with suppress(OSError):  # a write will say so
                    os.fsync(handle)
                os.close(handle)

    def close(self) -> None:
        """Try once more to write what could not be written, and close the file."""
        with self._lock:
            if self._waiting:
                self._write()
            if self._handle is not None:
                try:
                    os.fsync(self._handle)
                finally:
                    os.close(self._handle)
                    self._handle = None
            self._closed = True
            self._dirty.set()


def _write_whole(handle: int, line: bytes) -> None:
    """Write all of a line (OSError)."""
    while line:
        line = line[os.write(handle, line) :]


def _sealed(content: Mapping[str, Any]) -> bytes:
    return _line(json.dumps(content, allow_nan=False)).encode("ascii")


def _line(body: str) -> str:
    return f"{_HEAD}{hashlib.sha256(body.encode('ascii')).hexdigest()[:_SUM]}{_MIDDLE}{body}}}\n"


def _unsealed(line: bytes) -> dict[str, Any] | None:
    """Content of a line; None if the line is cut short or altered."""
    start = len(_HEAD) + _SUM + len(_MIDDLE)
    try:
        text = line.decode("ascii")
        body = text[start:-2]
        if text != _line(body):
            return None
        content = json.loads(body)
    except (ValueError, RecursionError):
        return None
    return content if isinstance(content, dict) else None

"""Store of replies and attempts: one folder per model, one append-only file of JSON lines per process.

A line is with the operating system before the next reply is handled: a killed process loses nothing that came. A line
that cannot be read is left out and counted. After a line that could not be written nothing is written any more, and the
run is to end. A lock for each shard and rank makes a second equal run wait for the first.
"""

from __future__ import annotations

import json
import os
import secrets
import socket
import threading
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import field
from pathlib import Path
from typing import Any

import pydantic

from siming_tasks.common.files import open_regular
from siming_tasks.common.processes import locked
from siming_tasks.plugin.response_cache.attempt import Attempt
from siming_tasks.study.results.usage import Number


@pydantic.dataclasses.dataclass(frozen=True, config={"extra": "forbid"})
class KeptReply:
    """One reply, as the class of models returned it.

    Attributes:
        key: of its request.
        id: of its request's record, for people who look.
        at: when it came, in seconds since 1970.
        address: host of the server that answered; "" for none.
        media: description of what the model was shown.
        tokens: token counts of the class; None if it gave none.
    """

    key: str
    id: str
    reply: str
    at: Number
    address: str = ""
    media: dict[str, Any] = field(default_factory=dict)
    tokens: dict[str, int | None] | None = None


def once(attempts: Iterable[Attempt]) -> list[Attempt]:
    """Attempts in their order, of equal ones the last."""
    last: dict[Any, Attempt] = {}
    for attempt in attempts:
        last.pop(name := (attempt.sent, attempt.latency, attempt.error), None)
        last[name] = attempt
    return list(last.values())


class ReplyStore:
    """Replies of one model and the attempts that they took.

    Attributes:
        folder: where they are.
        unreadable: lines and files that were left out.
        error: sentence about the first line that could not be written; "" for none.
    """

    def __init__(self, folder: Path) -> None:
        """Store in ``folder``; nothing is read or written yet."""
        self.folder, self.unreadable, self.error = folder, 0, ""
        self._handle: int | None = None
        self._lock = threading.Lock()

    @contextmanager
    def only_one(self, name: str, waiting: Callable[[], object]) -> Iterator[None]:
        """While the block runs, no other process is in the block of this name; calls ``waiting`` before it waits.

        Where nothing can be written there is no lock, and nothing new to keep either.
        """
        path = self.folder / f"{name}.lock"
        with ExitStack() as stack:
            try:
                self.folder.mkdir(parents=True, exist_ok=True)
                stack.enter_context(locked(path, timeout=0))
            except TimeoutError:
                waiting()
                stack.enter_context(locked(path))
            except OSError:
                pass
            yield

    def find(self, keys: Collection[str]) -> tuple[dict[str, KeptReply], dict[str, list[Attempt]]]:
        """Replies to the requests with these keys, of several the first that came, and all their attempts.

        Each attempt of the folder counts once, those of the process that got the reply last; a copied file adds none.
        """
        replies: dict[str, tuple[KeptReply, Path]] = {}
        attempts: dict[str, dict[Path, list[Attempt]]] = {}
        for path in sorted(self.folder.glob("*.jsonl")):
            for line in self._lines(path):
                if line.key not in keys:
                    continue
                if isinstance(line, Attempt):
                    attempts.setdefault(line.key, {}).setdefault(path, []).append(line)
                elif line.key not in replies or line.at < replies[line.key][0].at:
                    replies[line.key] = line, path
        sent = {}
        for key, by_path in attempts.items():
            last = by_path.pop(replies[key][1], []) if key in replies else []
            others = sorted((one for here in by_path.values() for one in here), key=lambda attempt: attempt.sent)
            sent[key] = once([*others, *last])
        return {key: reply for key, (reply, _) in replies.items()}, sent

    def _lines(self, path: Path) -> Iterator[KeptReply | Attempt]:
        try:
            with open_regular(path) as stream:
                for line in stream:
                    try:
                        content = json.loads(line)
                        yield Attempt(**content["attempt"]) if "attempt" in content else KeptReply(**content)
                    except (ValueError, TypeError, RecursionError):  # cut short or altered
                        self.unreadable += 1
        except OSError:
            self.unreadable += 1

    def open(self) -> bool:
        """Open the file of this process, so that an answer is asked for only where it can be kept; False: it cannot."""
        try:
            if self._handle is None:
                self.folder.mkdir(parents=True, exist_ok=True)
                host = socket.gethostname()[:40]
                name = f"{time.strftime('%Y%m%dT%H%M%S', time.gmtime())}-{host}-{os.getpid()}-{secrets.token_hex(3)}"
                flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND
                self._handle = os.open(self.folder / f"{name}.jsonl", flags, 0o600)
        except OSError as error:
            self._fail(error)
        return not self.error

    def add(self, line: KeptReply | Attempt) -> None:
        """Write a line, unless one could not be written before (``error``)."""
        content: Mapping[str, Any] = {"attempt": line.to_json()} if isinstance(line, Attempt) else vars(line)
        data = json.dumps(content, allow_nan=False).encode("ascii") + b"\n"
        with self._lock:
            try:
                while data and self._handle is not None and not self.error:
                    data = data[os.write(self._handle, data) :]
            except OSError as error:
                self._fail(error)

    def _fail(self, error: OSError) -> None:
        self.error = (
            f"replies cannot be kept in {self.folder}: {error.strerror}. Earlier replies are kept. Free some "
            "space there, or give another folder (SIMING_REPLIES), and run the same command again: it sends only "
            "the remaining requests."
        )

    def close(self) -> None:
        """Bring what was written to the disk and close the file."""
        with self._lock:
            if self._handle is not None:
                handle, self._handle = self._handle, None
                try:
                    os.fsync(handle)
                except OSError as error:
                    self._fail(error)
                finally:
                    os.close(handle)

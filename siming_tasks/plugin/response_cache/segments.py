"""Exchange of kept replies with an object store: what a process has written since the last time is one object more.

The files of :mod:`~siming_tasks.plugin.response_cache.store` are only appended to, and an object cannot be. So the
whole lines that a file got since the last exchange go into a *segment*: an object with the file's first line and those
lines, named ``<file>.<first byte>-<last byte>.jsonl``. Their names say how far a file has been handed over: no
note is needed, and what a killed process left on its disk is handed over by the next run there. Segments of
other machines are files of the local folder like any other. There are no locks: two machines that ask the same request
at the same time both pay, and the reply that came first counts for all.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from siming_tasks.common.errors import DataError
from siming_tasks.common.files import atomic_write
from siming_tasks.common.object_store import ObjectFolder

EXCHANGE_SECONDS = 20.0
"""Seconds between two exchanges: what a machine that vanishes with its disk loses at most."""

_SEGMENT = re.compile(r"([^./]+)\.(\d{12})-(\d{12})\.jsonl")
DESCRIPTION = "model.json"


def process_of(path: Path) -> str:
    """Name of the process that wrote a file or segment."""
    return path.name.partition(".")[0]


def exchange(folder: Path, objects: ObjectFolder) -> None:
    """Fetch the segments that a folder lacks, and hand over what no segment has yet (DataError)."""
    names = objects.names()
    segments = {name: match for name in names if (match := _SEGMENT.fullmatch(name))}
    for name, match in sorted(segments.items()):
        if (folder / f"{match[1]}.jsonl").exists() or (folder / name).exists():
            continue
        content, start, end = objects.get(name), int(match[2]), int(match[3])
        repeated = content.index(b"\n") + 1 if start and b"\n" in content else 0
        if len(content) - repeated == end - start:  # else it is still being written, where a store is a plain folder
            folder.mkdir(parents=True, exist_ok=True)
            with atomic_write(folder / name, "wb") as stream:
                stream.write(content)
    if DESCRIPTION not in names and (folder / DESCRIPTION).is_file():
        objects.put(DESCRIPTION, (folder / DESCRIPTION).read_bytes())
    for path in sorted(folder.glob("*.jsonl")):
        if _SEGMENT.fullmatch(path.name):
            continue
        start = max((int(match[3]) for match in segments.values() if match[1] == path.stem), default=0)
        with path.open("rb") as file:
            head = file.readline() if start else b""
            file.seek(start)
            lines = file.read()
        lines = lines[: lines.rfind(b"\n") + 1]  # another process may be writing the rest
        if lines:
            objects.put(f"{path.stem}.{start:012d}-{start + len(lines):012d}.jsonl", head + lines)


@contextmanager
def exchanged(folder: Path, url: str, warn: Callable[[str], None]) -> Iterator[None]:
    """While the block runs, exchange a folder with an object store now, every 20 seconds, and once more at its end.

    Args:
        folder: of the replies of one model.
        url: address of the object store, which has the same folder.
        warn: gets a sentence when an exchange fails; the replies stay in the folder, and the next one hands them over.

    Raises:
        DataError: the store cannot be used at the beginning: better now than after everything was asked anew.
    """
    objects = ObjectFolder(f"{url.rstrip('/')}/{folder.name}")
    exchange(folder, objects)
    done = threading.Event()

    def try_to_exchange() -> None:
        try:
            exchange(folder, objects)
        except (DataError, OSError) as error:
            warn(f"{error} Replies stay in {folder}; the next run of the same command there hands them over.")

    def again_and_again() -> None:
        while not done.wait(EXCHANGE_SECONDS):
            try_to_exchange()

    thread = threading.Thread(target=again_and_again, name="siming-segments", daemon=True)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join()
        try_to_exchange()

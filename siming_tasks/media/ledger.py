"""What a video's folder in the store holds: noted by its last writer, counted where that is missing."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

from siming_tasks.files import atomic_write

__all__ = ["NOTE", "held", "measured", "noted", "settle", "sweep"]

NOTE = "bytes"
"""Name of the file with the number of bytes; it is absent while somebody writes, and so after a kill."""


def noted(folder: Path) -> int | None:
    """Bytes of a video's folder as its last writer noted them; None while one is at work, or after one was killed."""
    try:
        return int((folder / NOTE).read_text())
    except (OSError, ValueError):
        return None


def held(folder: Path) -> int:
    """Bytes of a video's folder: as noted, else counted."""
    known = noted(folder)
    return measured(folder) if known is None else known


def measured(folder: Path) -> int:
    """Bytes of the files in a video's folders of frames, clips and proxies, counted."""
    total = 0
    for path in folder.glob("*/*"):
        with suppress(FileNotFoundError):
            total += path.stat().st_size
    return total


def sweep(folder: Path) -> None:
    """Remove half-written files (call it with the lock held)."""
    for path in [*folder.glob(".*"), *folder.glob("*/.*")]:
        path.unlink(missing_ok=True)


def settle(folder: Path) -> None:
    """Note what the folder holds (call it with the lock held)."""
    total = measured(folder)
    with atomic_write(folder / NOTE) as stream:
        stream.write(str(total))

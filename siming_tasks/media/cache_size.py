"""What a video's folder in the store holds: noted by its last writer, counted where that is missing."""

from __future__ import annotations

import os
from pathlib import Path

from siming_tasks.common.files import atomic_write

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
    return sum(_size(file) for part in _parts(folder) for file in _entries(part))


def sweep(folder: Path) -> None:
    """Remove half-written files (call it with the lock held)."""
    for place in (folder, *_parts(folder)):
        for entry in _entries(place):
            if entry.name.startswith("."):
                Path(entry).unlink(missing_ok=True)


def _parts(folder: Path) -> list[Path]:
    return [Path(entry) for entry in _entries(folder) if entry.is_dir()]


def _entries(folder: Path) -> list[os.DirEntry[str]]:
    """``os.scandir``: half the time of ``Path.glob``, and there are hundreds of files a video."""
    try:
        with os.scandir(folder) as entries:
            return list(entries)
    except FileNotFoundError:
        return []


def _size(file: os.DirEntry[str]) -> int:
    try:
        return file.stat().st_size
    except FileNotFoundError:
        return 0  # evicted meanwhile


def settle(folder: Path) -> None:
    """Note what the folder holds (call it with the lock held)."""
    total = measured(folder)
    with atomic_write(folder / NOTE) as stream:
        stream.write(str(total))

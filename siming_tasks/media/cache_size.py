"""Size of the frame store: counted, noted in each video's folder, and kept below a limit.

The longest unused videos go first. A folder's note of its size is written by its last writer, and counted anew where it
is missing.
"""

from __future__ import annotations

import os
import shutil
from contextlib import AbstractContextManager
from functools import lru_cache
from pathlib import Path

from siming_tasks.common.files import atomic_write
from siming_tasks.common.locks import locked

__all__ = ["LAYOUT", "NOTE", "count_bytes", "evict", "lock_video", "note_bytes", "noted_bytes", "sweep"]

LAYOUT = "v2"
"""Layout of the store; moves when the same video gives other pixels, times or names of files."""

NOTE = "bytes"
"""Name of the file with the number of bytes; it is absent while somebody writes, and so after a kill."""


def lock_video(cache: Path, digest: str, timeout: float = -1) -> AbstractContextManager[None]:
    """Lock a video for one writer across processes (:func:`siming_tasks.common.locks.locked`); readers need no lock."""
    locks = cache / "media" / "locks"
    locks.mkdir(parents=True, exist_ok=True)
    return locked(locks / f"{digest}.lock", timeout)


def noted_bytes(folder: Path) -> int | None:
    """Bytes of a video's folder as its last writer noted them; None while one is at work, or after one was killed."""
    try:
        return int((folder / NOTE).read_text())
    except (OSError, ValueError):
        return None


def count_bytes(folder: Path) -> int:
    """Count the bytes of the files in a video's folders of frames, clips and proxies."""
    total = 0
    for part in _subfolders(folder):
        for file in _entries(part):
            try:
                total += file.stat().st_size
            except FileNotFoundError:  # evicted meanwhile
                continue
    return total


def note_bytes(folder: Path) -> None:
    """Note what the folder holds (call it with the lock held)."""
    total = count_bytes(folder)
    with atomic_write(folder / NOTE) as stream:
        stream.write(str(total))


def sweep(folder: Path) -> None:
    """Remove half-written files (call it with the lock held)."""
    for place in (folder, *_subfolders(folder)):
        for entry in _entries(place):
            if entry.name.startswith("."):
                Path(entry).unlink(missing_ok=True)


def _subfolders(folder: Path) -> list[Path]:
    return [Path(entry) for entry in _entries(folder) if entry.is_dir()]


def _entries(folder: Path) -> list[os.DirEntry[str]]:
    """List a folder with ``os.scandir``: half the time of ``Path.glob``, and there are hundreds of files a video."""
    try:
        with os.scandir(folder) as entries:
            return list(entries)
    except FileNotFoundError:
        return []


def evict(cache: Path, limit_gb: float, keep: str | None = None) -> list[str]:
    """Remove the longest unused videos until the store holds at most ``limit_gb`` gigabytes; returns their digests.

    Stores of other layouts count too, and go first. A video that another process is filling is left alone, and so is
    ``keep``. The first call of a process sweeps what killed processes left and checks every folder's note of its size
    against the disk.
    """
    _check_notes(cache)
    entries = sorted((folder.parent.name == LAYOUT, _last_use(folder), folder) for folder in _video_folders(cache))
    sizes = {folder: _held_bytes(folder) for *_, folder in entries}
    total = sum(sizes.values())
    removed: list[str] = []
    for current, _, folder in entries:
        if total <= limit_gb * 1e9:
            break
        if current and folder.name == keep:
            continue
        trash = cache / "media" / f"trash-{os.getpid()}-{folder.parent.name}-{folder.name}"
        try:
            with lock_video(cache, folder.name, timeout=0):
                os.replace(folder, trash)  # readers see all of it or none
        except OSError:  # in use (Timeout is one), gone, or not ours
            continue
        shutil.rmtree(trash, ignore_errors=True)
        total -= sizes[folder]
        removed.append(folder.name)
    return removed


def _held_bytes(folder: Path) -> int:
    noted = noted_bytes(folder)
    return count_bytes(folder) if noted is None else noted


def _video_folders(cache: Path) -> list[Path]:
    """Folders of all videos, whatever layout the store had when they were written."""
    return [folder for folder in (cache / "media").glob("v*/*") if folder.is_dir()]


def _last_use(folder: Path) -> float:
    """Time of a video's last use; while it is written, of its folder's last change; 0 if it is gone."""
    for path in (folder / NOTE, folder):
        try:
            return path.stat().st_mtime
        except FileNotFoundError:
            continue
    return 0.0


@lru_cache(maxsize=16)  # once a process and cache
def _check_notes(cache: Path) -> None:
    """Remove what killed processes left, and correct notes that do not say what the disk holds."""
    for trash in (cache / "media").glob("trash-*"):
        shutil.rmtree(trash, ignore_errors=True)
    for folder in _video_folders(cache):
        try:
            with lock_video(cache, folder.name, timeout=0):
                sweep(folder)
                if noted_bytes(folder) != count_bytes(folder):
                    used = _last_use(folder)
                    note_bytes(folder)
                    os.utime(folder / NOTE, (used, used))  # a correction is no use of the video
        except OSError:  # in use (Timeout is one), gone, or not ours
            continue

"""The limit of the frame store: the longest unused videos go first."""

from __future__ import annotations

import os
import shutil
from functools import lru_cache
from pathlib import Path

from siming_tasks.media.cache_size import NOTE, held, measured, noted, settle, sweep
from siming_tasks.media.store import LAYOUT, FrameStore

__all__ = ["evict"]


def evict(cache: Path, limit_gb: float, keep: str | None = None) -> list[str]:
    """Remove the longest unused videos until the store holds at most ``limit_gb`` gigabytes; returns their digests.

    Stores of other layouts count too, and go first. A video that another process is filling is left alone, and so is
    ``keep``. The first call of a process sweeps what killed processes left and checks every folder's note of its size
    against the disk.
    """
    _audit(cache)
    entries = sorted((folder.parent.name == LAYOUT, _used(folder), folder) for folder in _folders(cache))
    total = sum(held(folder) for *_, folder in entries)
    removed: list[str] = []
    for current, _, folder in entries:
        if total <= limit_gb * 1e9:
            break
        if current and folder.name == keep:
            continue
        size = held(folder)
        trash = cache / "media" / f"trash-{os.getpid()}-{folder.parent.name}-{folder.name}"
        try:
            with FrameStore(cache, folder, folder.name).lock(timeout=0):
                os.replace(folder, trash)  # readers see all of it or none
        except OSError:  # in use (Timeout is one), gone, or not ours
            continue
        shutil.rmtree(trash, ignore_errors=True)
        total -= size
        removed.append(folder.name)
    return removed


def _folders(cache: Path) -> list[Path]:
    """The folders of all videos, whatever layout the store had when they were written."""
    return [folder for folder in (cache / "media").glob("v*/*") if folder.is_dir()]


def _used(folder: Path) -> float:
    """When the video was last used; while it is written, when its folder last changed; 0 if it is gone."""
    for path in (folder / NOTE, folder):
        try:
            return path.stat().st_mtime
        except FileNotFoundError:
            continue
    return 0.0


@lru_cache(maxsize=16)
def _audit(cache: Path) -> None:
    for trash in (cache / "media").glob("trash-*"):
        shutil.rmtree(trash, ignore_errors=True)
    for folder in _folders(cache):
        try:
            with FrameStore(cache, folder, folder.name).lock(timeout=0):
                sweep(folder)
                if noted(folder) != measured(folder):
                    used = _used(folder)
                    settle(folder)
                    os.utime(folder / NOTE, (used, used))
        except OSError:  # in use (Timeout is one), gone, or not ours
            continue

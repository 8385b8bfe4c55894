"""The limit of the frame store: the longest unused videos go first."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from filelock import Timeout

from siming_tasks.media.store import LAYOUT, FrameStore, held

__all__ = ["evict"]


def evict(cache: Path, limit_gb: float, keep: str | None = None) -> list[str]:
    """Remove the longest unused videos until the store holds at most ``limit_gb`` gigabytes; returns their digests.

    A video that another process is filling is left alone, and so is ``keep``.
    """
    root = cache / "media" / LAYOUT
    entries = sorted((file.stat().st_mtime, file.parent) for file in root.glob("*/bytes"))
    total = sum(held(entry) for _, entry in entries)
    removed: list[str] = []
    for _, entry in entries:
        if total <= limit_gb * 1e9:
            break
        if entry.name == keep:
            continue
        size = held(entry)
        trash = root.parent / f"trash-{os.getpid()}-{entry.name}"
        try:
            with FrameStore(cache, entry, entry.name).lock().acquire(timeout=0):
                os.replace(entry, trash)  # readers see all of it or none
        except (Timeout, FileNotFoundError):
            continue
        shutil.rmtree(trash, ignore_errors=True)
        total -= size
        removed.append(entry.name)
    return removed

"""The frame store: everything decoded from one video, in one folder, shared by all settings, models and processes.

::

    <cache>/media/<LAYOUT>/<digest>/
        timeline.json               every frame's time
        1280q90/000123.jpg          frame 123, longer side at most 1280 pixels, JPEG quality 90
        clips/000100-000230.mp4     the span of frames 100..230
    <cache>/media/locks/<digest>.lock

The key is the video's content, not its name. A frame is stored once however many spans and budgets share it. Files
appear whole or not at all, so an interrupted pass leaves good frames and the next pass decodes only what is missing.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np
from filelock import FileLock, Timeout
from numpy.typing import NDArray
from PIL import Image

from siming_tasks.files import atomic_path, atomic_write, sha256_file
from siming_tasks.media.decode import decode, rgb
from siming_tasks.media.timeline import Timeline, read_timeline

__all__ = ["LAYOUT", "FrameStore", "digest_of", "evict"]

LAYOUT = "v1"


def digest_of(path: Path) -> str:
    """SHA-256 of the file, remembered as long as its size and modification time stay."""
    stat = path.stat()
    return _digest(str(path.resolve()), stat.st_size, stat.st_mtime_ns)


@lru_cache(maxsize=4096)
def _digest(path: str, size: int, mtime_ns: int) -> str:
    return sha256_file(Path(path))


@dataclass(frozen=True)
class FrameStore:
    """The stored frames of one video at one size and quality.

    Attributes:
        cache: the cache folder.
        source: the video file.
        digest: SHA-256 of its content.
        size: longest allowed side in pixels; None keeps the original.
        quality: JPEG quality, 1..100.
    """

    cache: Path
    source: Path
    digest: str
    size: int | None = 1280
    quality: int = 90

    @property
    def folder(self) -> Path:
        """Everything stored about this video."""
        return self.cache / "media" / LAYOUT / self.digest

    @property
    def frames(self) -> Path:
        """The folder of JPEG files."""
        return self.folder / f"{self.size or 'full'}q{self.quality}"

    def path(self, index: int) -> Path:
        """Where frame ``index`` is or will be."""
        return self.frames / f"{index:06d}.jpg"

    def lock(self) -> FileLock:
        """One writer per video across processes; readers need none."""
        locks = self.cache / "media" / "locks"
        locks.mkdir(parents=True, exist_ok=True)
        return FileLock(locks / f"{self.digest}.lock")

    def timeline(self) -> Timeline:
        """The video's timeline, read from the file once and from the store afterwards.

        Raises:
            MediaError: see :func:`~siming_tasks.media.timeline.read_timeline`.
        """
        stored = self.folder / "timeline.json"
        try:
            return Timeline.from_json(json.loads(stored.read_text()))
        except (FileNotFoundError, ValueError, KeyError):
            timeline = read_timeline(self.source)
            with atomic_write(stored) as stream:
                json.dump(timeline.to_json(), stream)
            return timeline

    def missing(self, indices: Iterable[int]) -> list[int]:
        """The wanted indices that are not stored yet, ascending."""
        try:
            have = {entry.name for entry in os.scandir(self.frames)}
        except FileNotFoundError:
            have = set()
        return [index for index in sorted(set(indices)) if f"{index:06d}.jpg" not in have]

    def fill(self, indices: Iterable[int], progress: Callable[[int], object] = lambda count: None) -> int:
        """Decode and store what is missing of ``indices`` in one pass; returns how many frames were written.

        Raises:
            MediaError: a frame cannot be decoded; frames before it are kept.
        """
        wanted = list(indices)
        if not self.missing(wanted):
            return 0
        with self.lock():
            missing = self.missing(wanted)
            for index, frame in decode(self.source, self.timeline(), missing):
                _write_jpeg(self.path(index), rgb(frame, self.size), self.quality)
                progress(1)
        return len(missing)

    def image(self, index: int) -> Image.Image:
        """Frame ``index`` as a fresh RGB image of the caller's; decoded now if it is not stored (any more)."""
        path = self.path(index)
        for _ in range(3):  # another process may evict the folder between the check and the read
            if path.is_file():
                break
            self.fill([index])
        picture: Image.Image
        with Image.open(path) as picture:
            return picture.convert("RGB")

    def touch(self) -> None:
        """Mark the video as used now; eviction takes the longest unused first."""
        if self.folder.is_dir():
            os.utime(self.folder)


def _write_jpeg(path: Path, array: NDArray[np.uint8], quality: int) -> None:
    with atomic_path(path) as temporary:
        Image.fromarray(array).save(temporary, format="JPEG", quality=quality)


def evict(cache: Path, limit_gb: float, keep: str | None = None) -> list[str]:
    """Remove the longest unused videos until the store holds at most ``limit_gb`` gigabytes; returns their digests.

    A video that another process is filling is left alone, and so is ``keep``.
    """
    root = cache / "media" / LAYOUT
    if not root.is_dir():
        return []
    entries = sorted((entry.stat().st_mtime, _size(entry), entry) for entry in root.iterdir() if entry.is_dir())
    total = sum(size for _, size, _ in entries)
    removed: list[str] = []
    for _, size, entry in entries:
        if total <= limit_gb * 1e9:
            break
        if entry.name == keep:
            continue
        try:
            with FrameStore(cache, entry, entry.name).lock().acquire(timeout=0):
                trash = root.parent / f"trash-{os.getpid()}-{entry.name}"
                os.replace(entry, trash)
        except Timeout:
            continue
        shutil.rmtree(trash, ignore_errors=True)
        total -= size
        removed.append(entry.name)
    return removed


def _size(folder: Path) -> int:
    return sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())

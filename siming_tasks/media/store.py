"""Frame store: everything decoded from one video, in one folder, shared by all settings, models and processes.

``docs/reference/media.md`` names its folders. The key is the video's content, not its name. A frame is stored once
however many requests share it. Files appear whole or not at all, so an interrupted pass leaves good frames and the next
pass decodes only what is missing. What a killed process leaves half-written is swept by the next writer; ``bytes`` is
absent while somebody writes, so what was written before a kill is counted, not forgotten. Reading needs no right to
write. After each writing the store is brought below its limit: the longest unused videos go first.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from dataclasses import dataclass
from functools import lru_cache
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from siming_tasks.common.errors import DISK_FULL, MediaError
from siming_tasks.common.files import atomic_write, digest_of
from siming_tasks.common.processes import locked
from siming_tasks.media.clips import write_clip, write_images
from siming_tasks.media.decode import decode, pixels
from siming_tasks.media.motion import measure_change
from siming_tasks.media.picture import to_jpeg
from siming_tasks.media.plain_copy import copy_plain
from siming_tasks.media.sampler import SAMPLERS
from siming_tasks.media.stored_image import SentImages, StoredImage
from siming_tasks.media.timeline import Timeline, read_timeline
from siming_tasks.options import Options

if TYPE_CHECKING:
    from av.video.frame import VideoFrame

NOTE = "bytes"
"""Name of the file with the number of bytes; it is absent while somebody writes, and so after a kill."""

SIZE = Options.frame_size
"""Longest side of stored frames in pixels, unless an option says otherwise."""

QUALITY = 90
"""JPEG quality of stored frames.

38 dB against the decoded frame where a camera's noise fills it, above 45 dB where it is smooth.
"""

READERS = 2  # threads that read JPEG files of one request
WRITERS = 2  # threads that turn frames into JPEG while the decoder goes on


@dataclass(frozen=True)
class FrameStore:
    """All that is stored about one video.

    Attributes:
        cache: the cache folder.
        source: the video file.
        digest: SHA-256 of its content.
        size: longest allowed side of its frames in pixels; None keeps the original.
        cache_gb: limit of the cache in gigabytes.
    """

    cache: Path
    source: Path
    digest: str
    size: int | None = SIZE
    cache_gb: float = Options.cache_gb

    @classmethod
    def of(
        cls, source: Path, cache: Path, *, digest: str | None = None, size: int | None = SIZE,
        cache_gb: float = Options.cache_gb,
    ) -> FrameStore:  # fmt: skip
        """Store of a video whose digest may not be known yet; it is then computed, once.

        Raises:
            MediaError: there is no such file.
        """
        if not os.path.isfile(source):
            raise MediaError(f"{source}: no such file.")
        return cls(cache, source, digest or digest_of(source, cache), size, cache_gb)

    @property
    def folder(self) -> Path:
        """Folder of everything stored about this video."""
        return self.cache / "media" / f"v{pixels()}" / self.digest

    @property
    def frames(self) -> Path:
        """Folder of the JPEG files."""
        return self.folder / f"{self.size or 'full'}q{QUALITY}"

    @property
    def motion_file(self) -> Path:
        """File of what :meth:`change` measured."""
        return self.folder / "motion.json"

    def path(self, index: int) -> Path:
        """Path at which frame ``index`` is or will be."""
        return self.frames / f"{index:06d}.jpg"

    def timeline(self) -> Timeline:
        """Read the video's timeline, from the file once and from the store afterwards.

        Raises:
            MediaError: see :func:`~siming_tasks.media.timeline.read_timeline`.
        """
        stored = self.folder / "timeline.json"
        try:
            stat = os.stat(stored)
            return _timeline(stored, stat.st_ino, stat.st_size, stat.st_mtime_ns)
        except (OSError, ValueError, KeyError):
            timeline = read_timeline(self.source)
            with suppress(OSError):  # a store that cannot be written still serves
                media_folder(self.cache)
                with atomic_write(stored) as stream:
                    json.dump(timeline.to_json(), stream)
            return timeline

    def change(self) -> NDArray[np.float64]:
        """Read how much each frame of the grid moves (:mod:`siming_tasks.media.motion`), measured if it is not known.

        Raises:
            MediaError: a frame cannot be decoded.
        """
        stored = self.motion_file
        with suppress(OSError, ValueError, KeyError, TypeError):
            data = json.loads(stored.read_text())
            if data["sampler"] == SAMPLERS["motion"]:
                return np.asarray(data["change"], np.float64)
        change = measure_change(self.source, self.timeline())
        with suppress(OSError), atomic_write(stored) as stream:
            json.dump({"sampler": SAMPLERS["motion"], "change": change.tolist()}, stream)
        return change

    def missing(self, indices: Iterable[int]) -> list[int]:
        """List the wanted indices that are not stored yet, ascending."""
        folder = str(self.frames)  # every request looks: as text, which is quicker
        return [index for index in sorted(set(indices)) if not os.path.exists(f"{folder}/{index:06d}.jpg")]

    def fill(self, indices: Iterable[int]) -> int:
        """Decode and store what is missing of ``indices`` in one pass; returns how many frames were written.

        Raises:
            MediaError: a frame cannot be decoded or stored; the frames before it stay stored.
        """
        wanted = list(indices)
        if not self.missing(wanted):
            return 0
        with self.writing():
            missing = self.missing(wanted)  # another process may have been faster
            pending: deque[Future[None]] = deque()
            with ThreadPoolExecutor(WRITERS) as writers:
                for index, frame in decode(self.source, self.timeline(), missing):
                    pending.append(writers.submit(self._write, index, frame))
                    if len(pending) > 2 * WRITERS:  # decoded frames are large: never hold more than a few
                        pending.popleft().result()
            for future in pending:
                future.result()
        return len(missing)

    def _write(self, index: int, frame: VideoFrame) -> None:
        with atomic_write(self.path(index), "wb") as stream:
            stream.write(to_jpeg(frame, self.size, QUALITY))

    def clip(self, first: int, last: int) -> Path:
        """Find or write the .mp4 of the frames ``first .. last``.

        Raises:
            MediaError: a frame cannot be decoded.
        """
        file = self.folder / "clips" / f"{first:06d}-{last:06d}.mp4"
        return self.make_file(file, lambda: write_clip(self.source, self.timeline(), first, last, file))

    def plain(self) -> Path:
        """Find or write a copy of only the recording's pictures; pictures that cannot be copied are re-encoded.

        Raises:
            MediaError: a frame cannot be decoded.
        """
        file = self.folder / "clips" / "whole.mp4"
        try:
            return self.make_file(file, lambda: copy_plain(self.source, file))
        except MediaError:
            return self.clip(0, self.timeline().n_frames - 1)

    def proxy(self, indices: Sequence[int], times: Sequence[float]) -> Path:
        """Find or write the .mp4 of the stored images ``indices``, in this order, each shown at its time (s).

        Raises:
            MediaError: a frame cannot be decoded.
        """
        which = hashlib.sha256(repr((self.size, list(indices), [round(time, 4) for time in times])).encode())
        file = self.folder / "proxies" / f"{which.hexdigest()[:12]}.mp4"
        if not file.is_file():
            self.fill(indices)  # takes the lock, too
        return self.make_file(file, lambda: write_images((Image.open(self.path(i)) for i in indices), times, file))

    def make_file(self, file: Path, write: Callable[[], None]) -> Path:
        """Write a file of the folder unless it is there; returns it."""
        if not file.is_file():
            with self.writing():
                if not file.is_file():  # another process may have been faster
                    write()
        return file

    def images(
        self, indices: Sequence[int], sent: SentImages | None = None, *, decode: bool = True
    ) -> list[Image.Image]:
        """Read fresh RGB images that the caller owns, in order; decoded now if they are not stored (any more).

        Args:
            indices: frames.
            sent: for images that are to be sent: they know their files, and note here how they were encoded
                (:class:`~siming_tasks.media.stored_image.StoredImage`).
            decode: True decodes now, on several threads; False decodes when pixels are first read.

        Raises:
            MediaError: a frame cannot be decoded, or is evicted as fast as it is written.
        """

        def read(path: Path, place: int) -> Image.Image:
            data = path.read_bytes()
            image = Image.open(BytesIO(data)) if sent is None else StoredImage(data, QUALITY, sent, place)
            if decode:
                image.load()  # closes the file; a copy to a plain Image would double the time
            return image

        for _ in range(3):  # another process may evict the folder between the check and the read
            self.fill(indices)
            self.touch()
            with suppress(FileNotFoundError), ThreadPoolExecutor(READERS) as readers:
                return list(readers.map(read, map(self.path, indices), range(len(indices))))
        raise MediaError(
            f"{self.frames}: frames are deleted as fast as they are written. Raise the "
            "limit of the cache (SIMING_CACHE_GB)."
        )

    @contextmanager
    def writing(self) -> Iterator[None]:
        """Hold the lock and remove what a killed writer left; afterwards note the size of the folder, and evict others.

        Raises:
            MediaError: the cache cannot be written, or its disk is full.
        """
        with ExitStack() as held:
            try:
                held.enter_context(lock_video(self.cache, self.digest))
            except OSError as error:
                raise self._unwritable(error) from error
            _sweep(self.folder)
            (self.folder / NOTE).unlink(missing_ok=True)
            try:
                yield
            except OSError as error:
                if error.errno in DISK_FULL:
                    raise self._unwritable(error) from error
                raise
            finally:
                with suppress(OSError), atomic_write(self.folder / NOTE) as stream:
                    stream.write(str(_count_bytes(self.folder)))
        evict(self.cache, self.cache_gb, keep=self.digest)

    def _unwritable(self, error: OSError) -> MediaError:
        full = error.errno in DISK_FULL
        way_out = "Free some space, or set SIMING_CACHE to a folder on another disk." if full else (
            "Set SIMING_CACHE to a folder that you can write to."
        )  # fmt: skip
        return MediaError(f"{self.cache}: the cache cannot be written ({error.strerror}) and is incomplete. {way_out}")

    def touch(self) -> None:
        """Mark the video as used now; eviction takes the longest unused first."""
        with suppress(OSError):  # absent, or not ours to write
            os.utime(self.folder / NOTE)


@lru_cache(maxsize=256)
def _timeline(stored: Path, *_look: int) -> Timeline:
    """Read a stored timeline, once as long as its file looks the same: every request asks for its video's."""
    return Timeline.from_json(json.loads(stored.read_text()))


def media_folder(cache: Path) -> Path:
    """The folder of all frames, which show faces: a new one is its owner's only, one that is there stays as it is."""
    cache.mkdir(parents=True, exist_ok=True)
    with suppress(FileExistsError):
        (cache / "media").mkdir(mode=0o700)
    return cache / "media"


def lock_video(cache: Path, digest: str, timeout: float = -1) -> AbstractContextManager[None]:
    """Lock a video for one writer (:func:`siming_tasks.common.processes.locked`); readers need no lock."""
    locks = media_folder(cache) / "locks"
    locks.mkdir(exist_ok=True)
    return locked(locks / f"{digest}.lock", timeout)


def evict(cache: Path, limit_gb: float, keep: str | None = None) -> list[str]:
    """Remove the longest unused videos until the store has at most ``limit_gb`` gigabytes; returns their digests.

    A video that another process is filling is left alone, and so is ``keep``. What a process that was killed here had
    set aside is removed.
    """
    media = cache / "media"
    for trash in media.glob("trash-*"):
        shutil.rmtree(trash, ignore_errors=True)
    sizes = {folder: _held_bytes(folder) for folder in media.glob("v*/*") if folder.is_dir()}
    total = sum(sizes.values())
    removed: list[str] = []
    for folder in sorted(sizes, key=_last_use):
        if total <= limit_gb * 1e9:
            break
        if folder.name == keep:
            continue
        trash = media / f"trash-{os.getpid()}-{folder.parent.name}-{folder.name}"
        try:
            with lock_video(cache, folder.name, timeout=0):
                os.replace(folder, trash)  # readers see all of it or none
        except OSError:  # in use (Timeout is one), gone, or not ours
            continue
        shutil.rmtree(trash, ignore_errors=True)
        total -= sizes[folder]
        removed.append(folder.name)
    return removed


def _last_use(folder: Path) -> float:
    """Time of a video's last use; while it is written, of its folder's last change; 0 if it is gone."""
    for path in (folder / NOTE, folder):
        with suppress(FileNotFoundError):
            return path.stat().st_mtime
    return 0.0


def _held_bytes(folder: Path) -> int:
    """Bytes of a video's folder as its last writer noted them; counted while one is at work, or after a kill."""
    try:
        return int((folder / NOTE).read_text())
    except (OSError, ValueError):
        return _count_bytes(folder)


def _count_bytes(folder: Path) -> int:
    """Count the bytes of all files of a video."""
    total = 0
    for file in _files(folder):
        with suppress(FileNotFoundError):  # evicted meanwhile
            total += file.stat().st_size
    return total


def _sweep(folder: Path) -> None:
    """Remove half-written files (call it with the lock held)."""
    for file in _files(folder):
        if file.name.startswith("."):
            Path(file).unlink(missing_ok=True)


def _files(folder: Path | str) -> Iterator[os.DirEntry[str]]:
    """Files in a folder and its folders, by ``os.scandir``: half the time of ``Path.glob``, and there are hundreds."""
    with suppress(FileNotFoundError), os.scandir(folder) as entries:
        for entry in entries:
            if entry.is_dir():
                yield from _files(entry.path)
            else:
                yield entry

"""Frame store: everything decoded from one video, in one folder, shared by all settings, models and processes.

::

    <cache>/media/<LAYOUT>/<digest>/
        timeline.json               every frame's time
        signal.json                 how much the video changes, if frames were ever chosen by that
        bytes                       what the folders below hold, for the disk limit; its date is the last use
        896q90/000123.jpg           frame 123, longer side at most 896 pixels, JPEG quality 90
        clips/000100-000230.mp4     frames 100..230
        proxies/000000-004224-a1b2c3d4e5f6.mp4   some frames of 0..4224; the digits stand for which
    <cache>/media/locks/<digest>.lock

The key is the video's content, not its name. A frame is stored once however many spans and budgets share it. Files
appear whole or not at all, so an interrupted pass leaves good frames and the next pass decodes only what is missing.
What a killed process leaves half-written is swept by the next writer; ``bytes`` is absent while somebody writes, so
what was written before a kill is counted, not forgotten. Reading needs no right to write. The store is kept below a
limit: the longest unused videos go first.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence, Set
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from PIL import Image

from siming_tasks.common.errors import MediaError
from siming_tasks.common.files import atomic_write, make_private
from siming_tasks.common.processes import locked
from siming_tasks.media.clips import write_frames
from siming_tasks.media.decode import decode
from siming_tasks.media.picture import to_jpeg
from siming_tasks.media.sampler import ChangeMeter, ChangeSignal, grid_frames
from siming_tasks.media.stored_image import Encoding, SentImages, StoredImage
from siming_tasks.media.timeline import Timeline, read_timeline
from siming_tasks.options import Options

if TYPE_CHECKING:
    from av.video.frame import VideoFrame

LAYOUT = "v2"
"""Layout of the store; moves when the same video gives other pixels, times or names of files."""

NOTE = "bytes"
"""Name of the file with the number of bytes; it is absent while somebody writes, and so after a kill."""

SIZE = Options.frame_size
"""Longest side of stored frames in pixels, unless an option says otherwise."""

QUALITY = 90
"""JPEG quality of stored frames, unless a caller says otherwise.

38 dB against the decoded frame where a camera's noise fills it, above 45 dB where it is smooth.
"""

READERS = 2  # threads that read JPEG files of one request
WRITERS = 2  # threads that turn frames into JPEG while the decoder goes on
USE_COUNTS = 5.0  # seconds for which a use of a video counts for the uses that follow: each request is one
SETTLED = 2_000_000_000  # ns after which a folder's date stands for its content: file systems' clocks tick as slowly


@dataclass(eq=False)
class FrameStore:
    """Stored frames of one video at one size and quality.

    Attributes:
        source: the video file.
        digest: SHA-256 of its content.
        size: longest allowed side in pixels; None keeps the original.
        quality: JPEG quality, 1..100.
    """

    cache: Path
    source: Path
    digest: str
    size: int | None = SIZE
    quality: int = QUALITY
    _used_until: float = field(default=0.0, init=False, repr=False)
    _listed: tuple[tuple[int, int], frozenset[str]] | None = field(default=None, init=False, repr=False)

    @cached_property
    def folder(self) -> Path:
        """Folder of everything stored about this video."""
        return self.cache / "media" / LAYOUT / self.digest

    @cached_property
    def frames(self) -> Path:
        """Folder of the JPEG files."""
        return self.folder / f"{self.size or 'full'}q{self.quality}"

    @cached_property
    def _paths(self) -> tuple[str, str, str]:
        """Paths that every request looks at: as text, which is quicker."""
        return str(self.folder / "timeline.json"), str(self.folder / NOTE), str(self.frames)

    def path(self, index: int) -> Path:
        """Path at which frame ``index`` is or will be."""
        return self.frames / f"{index:06d}.jpg"

    def timeline(self) -> Timeline:
        """Read the video's timeline, from the file once and from the store afterwards.

        Raises:
            MediaError: see :func:`~siming_tasks.media.timeline.read_timeline`.
        """
        stored = self._paths[0]
        try:
            stat = os.stat(stored)
            return _timeline(stored, stat.st_ino, stat.st_size, stat.st_mtime_ns)
        except (FileNotFoundError, ValueError, KeyError):
            timeline = read_timeline(self.source)
            with suppress(OSError), atomic_write(Path(stored)) as stream:  # a store that cannot be written still serves
                json.dump(timeline.to_json(), stream)
            return timeline

    def missing(self, indices: Iterable[int]) -> list[int]:
        """List the wanted indices that are not stored yet, ascending."""
        # The folder is listed again only when its inode or date differs: every request asks for its video's.
        try:
            stat = os.stat(self._paths[2])
            look, known = (stat.st_ino, stat.st_mtime_ns), self._listed
            if known is None or known[0] != look:
                known = (look, frozenset(os.listdir(self._paths[2])))
                self._listed = known if time.time_ns() - stat.st_mtime_ns > SETTLED else None
            names = known[1]
        except FileNotFoundError:
            self._listed, names = None, frozenset()
        return [index for index in sorted(set(indices)) if f"{index:06d}.jpg" not in names]

    def fill(self, indices: Iterable[int], progress: Callable[[int], object] = lambda count: None) -> int:
        """Decode and store what is missing of ``indices`` in one pass; returns how many frames were written.

        Raises:
            MediaError: a frame cannot be decoded; the frames before it stay stored.
        """
        wanted = list(indices)
        if not self.missing(wanted):
            return 0
        with self.writing():
            self._listed = None
            missing = self.missing(wanted)  # another process may have been faster
            self._decode_and_write(missing, set(missing), lambda index, frame: progress(1))
        return len(missing)

    def _decode_and_write(
        self, indices: Iterable[int], stored: Set[int], look: Callable[[int, VideoFrame], object]
    ) -> None:
        """Decode frames in one pass, look at each, and store those of ``stored`` while the decoder goes on."""
        pending: deque[Future[None]] = deque()
        with ThreadPoolExecutor(WRITERS) as writers:
            for index, frame in decode(self.source, self.timeline(), indices):
                look(index, frame)  # before a writer has it: two threads must not convert the same frame
                if index in stored:
                    pending.append(writers.submit(self._write, index, frame))
                if len(pending) > 2 * WRITERS:  # decoded frames are large: never hold more than a few
                    pending.popleft().result()
        for future in pending:
            future.result()

    def _write(self, index: int, frame: VideoFrame) -> None:
        data = to_jpeg(frame, self.size, self.quality)
        with atomic_write(self.path(index), "wb") as stream:
            stream.write(data)

    def signal(self) -> ChangeSignal | None:
        """Read how much the video changes, if that was measured (:meth:`measure_change`)."""
        stored = self.folder / "signal.json"
        try:
            stat = stored.stat()
        except OSError:
            return None
        return _signal(stored, stat.st_ino, stat.st_size, stat.st_mtime_ns)

    def measure_change(
        self, also: Iterable[int], keep: Callable[[ChangeSignal], Iterable[int]] | None
    ) -> tuple[ChangeSignal, int]:
        """Measure how much the video changes, in one pass over the frames of the grid that stores frames as well.

        Args:
            also: further frames to store.
            keep: chooses the frames that are wanted once the change is known: others of the grid are removed again;
                None: no frame is stored.

        Returns:
            The signal and the number of frames that were stored and kept.

        Raises:
            MediaError: a frame cannot be decoded.
        """
        with self.writing():
            if known := self.signal():  # another process may have been faster
                return known, 0
            looked_at = set(grid_frames(self.timeline()).tolist())
            self._listed = None
            new = set(self.missing([*looked_at, *also])) if keep else set()
            meter = ChangeMeter()

            def look(index: int, frame: VideoFrame) -> None:
                if index in looked_at:
                    meter.add(index, frame)

            self._decode_and_write(looked_at | new, new, look)
            signal = meter.signal()
            spare = new - set(keep(signal)) if keep else new
            for index in spare:
                self.path(index).unlink(missing_ok=True)
            self._listed = None
            signal.write(self.folder / "signal.json")
        return signal, len(new - spare)

    def video_file(self, indices: Sequence[int], *, apart: bool) -> tuple[Path, int]:
        """Find or write the .mp4 of exactly these frames; returns it and how many bytes had to be written.

        The frames are ascending; ``apart``: some that are far apart, each a keyframe; else all between two of them.
        """
        name = f"{indices[0]:06d}-{indices[-1]:06d}"
        if apart:
            name = f"{name}-{hashlib.sha256(repr(list(indices)).encode()).hexdigest()[:12]}"
        file = self.folder / ("proxies" if apart else "clips") / f"{name}.mp4"

        def write() -> None:
            write_frames(self.source, self.timeline(), list(dict.fromkeys(indices)), file, intra=apart)

        return file, file.stat().st_size if self.make_file(file, write) else 0

    def make_file(self, file: Path, write: Callable[[], None]) -> bool:
        """Write a file of the folder unless it is there; returns whether it had to be written."""
        if file.is_file():
            return False
        with self.writing():
            if file.is_file():  # another process was faster
                return False
            write()
            return True

    def images(self, indices: Sequence[int]) -> list[Image.Image]:
        """Read fresh RGB images that the caller owns, in order; decoded now if they are not stored (any more).

        Raises:
            MediaError: a frame cannot be decoded, or is evicted as fast as it is written.
        """

        def read(path: Path, place: int) -> Image.Image:
            image: Image.Image = Image.open(path)
            image.load()  # reads all and closes the file; a copy to a plain Image would double the time
            return image

        return self._read(indices, read)

    def to_send(
        self, indices: Sequence[int], encoding: Encoding, sent: SentImages, *, decode: bool
    ) -> list[Image.Image]:
        """:meth:`images` that know their files (:class:`~siming_tasks.media.stored_image.StoredImage`).

        They are to be sent in ``encoding``, and note in ``sent`` how they were. ``decode``: now, on several threads;
        else when somebody looks at their pixels.
        """

        def read(path: Path, place: int) -> Image.Image:
            image = StoredImage(path.read_bytes(), self.quality, encoding, sent, place)
            if decode:
                image.load()
            return image

        return self._read(indices, read)

    def _read(self, indices: Sequence[int], read: Callable[[Path, int], Image.Image]) -> list[Image.Image]:
        """Read each file with its place in the list."""
        for _ in range(3):  # another process may evict the folder between the check and the read
            self.fill(indices)
            self.touch()
            try:
                with ThreadPoolExecutor(READERS) as readers:
                    return list(readers.map(read, map(self.path, indices), range(len(indices))))
            except FileNotFoundError:
                self._listed = None
        raise MediaError(f"{self.frames}: frames vanish as fast as they are written. Raise the limit of the cache.")

    @contextmanager
    def writing(self) -> Iterator[None]:
        """Hold the lock; sweep what a killed writer left; count afterwards what the folder holds.

        Raises:
            MediaError: the cache cannot be written.
        """
        with ExitStack() as held_lock:
            try:
                held_lock.enter_context(lock_video(self.cache, self.digest))
            except OSError as error:
                raise MediaError(
                    f"{self.cache}: the cache cannot be written ({error.strerror}), and not all is in it yet. "
                    "Set SIMING_CACHE to a folder of your own."
                ) from error
            _sweep(self.folder)
            (self.folder / NOTE).unlink(missing_ok=True)
            try:
                yield
            finally:
                _note_bytes(self.folder)

    def touch(self) -> None:
        """Mark the video as used now; eviction takes the longest unused first. Not again within :data:`USE_COUNTS`."""
        now = time.monotonic()
        if now < self._used_until:
            return
        with suppress(OSError):  # absent, or not ours to write
            os.utime(self._paths[1])
            self._used_until = now + USE_COUNTS


@lru_cache(maxsize=256)
def _timeline(stored: str, *_look: int) -> Timeline:
    """Read a stored timeline, once as long as its file looks the same: every request asks for its video's."""
    return Timeline.from_json(json.loads(Path(stored).read_text()))


@lru_cache(maxsize=256)
def _signal(stored: Path, *_look: int) -> ChangeSignal | None:
    return ChangeSignal.read(stored)


def lock_video(cache: Path, digest: str, timeout: float = -1) -> AbstractContextManager[None]:
    """Lock a video for one writer (:func:`siming_tasks.common.processes.locked`); readers need no lock."""
    make_private(cache / "media")  # frames show faces
    locks = cache / "media" / "locks"
    locks.mkdir(exist_ok=True)
    return locked(locks / f"{digest}.lock", timeout)


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


@lru_cache(maxsize=16)  # once a process and cache
def _check_notes(cache: Path) -> None:
    """Remove what killed processes left, and correct notes that do not say what the disk holds."""
    for trash in (cache / "media").glob("trash-*"):
        shutil.rmtree(trash, ignore_errors=True)
    for folder in _video_folders(cache):
        try:
            with lock_video(cache, folder.name, timeout=0):
                _sweep(folder)
                if _noted_bytes(folder) != _count_bytes(folder):
                    used = _last_use(folder)
                    _note_bytes(folder)
                    os.utime(folder / NOTE, (used, used))  # a correction is no use of the video
        except OSError:  # in use (Timeout is one), gone, or not ours
            continue


def _video_folders(cache: Path) -> list[Path]:
    """Folders of all videos, whatever layout the store had when they were written."""
    return [folder for folder in (cache / "media").glob("v*/*") if folder.is_dir()]


def _last_use(folder: Path) -> float:
    """Time of a video's last use; while it is written, of its folder's last change; 0 if it is gone."""
    for path in (folder / NOTE, folder):
        with suppress(FileNotFoundError):
            return path.stat().st_mtime
    return 0.0


def _held_bytes(folder: Path) -> int:
    noted = _noted_bytes(folder)
    return _count_bytes(folder) if noted is None else noted


def _noted_bytes(folder: Path) -> int | None:
    """Bytes of a video's folder as its last writer noted them; None while one is at work, or after one was killed."""
    try:
        return int((folder / NOTE).read_text())
    except (OSError, ValueError):
        return None


def _note_bytes(folder: Path) -> None:
    """Note what the folder holds (call it with the lock held)."""
    total = _count_bytes(folder)
    with atomic_write(folder / NOTE) as stream:
        stream.write(str(total))


def _count_bytes(folder: Path) -> int:
    """Count the bytes of the files in a video's folders of frames, clips and proxies."""
    total = 0
    for part in _entries(folder):
        for file in _entries(part.path) if part.is_dir() else ():
            with suppress(FileNotFoundError):  # evicted meanwhile
                total += file.stat().st_size
    return total


def _sweep(folder: Path) -> None:
    """Remove half-written files (call it with the lock held)."""
    for entry in _entries(folder):
        for file in (entry, *(_entries(entry.path) if entry.is_dir() else ())):
            if file.name.startswith("."):
                Path(file).unlink(missing_ok=True)


def _entries(folder: Path | str) -> list[os.DirEntry[str]]:
    """List a folder with ``os.scandir``: half the time of ``Path.glob``, and there are hundreds of files a video."""
    try:
        with os.scandir(folder) as entries:
            return list(entries)
    except FileNotFoundError:
        return []

"""All videos of a build, in parallel, interruptible, and each only once."""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import asdict
from pathlib import Path
from typing import Any

from siming_tasks import __version__
from siming_tasks.common.errors import DataError, MediaError, Problem
from siming_tasks.common.files import atomic_write, sha256_file, sha256_json
from siming_tasks.media.container import DISK_FULL
from siming_tasks.tools.builder.sheets.normalize_video import CRF, normalise

__all__ = ["stamp", "transcode"]

Done = dict[str, Any]
"""What is known of a finished video: ``duration`` (s), ``sha256``, and the fields of ``Normalised``."""


def stamp(path: Path) -> list[Any]:
    """Place, size and time of change of a source file: they change when the file does."""
    status = path.stat()
    return [str(path.resolve()), status.st_size, status.st_mtime_ns]


def transcode(
    sources: Mapping[str, Path], part: Path, *, keep_audio: bool = False, jobs: int = 2, progress: bool = False
) -> dict[str, Done]:
    """Every source as ``part/media/<id>.mp4``; what an earlier, interrupted call finished is taken up.

    Args:
        sources: video files by id.
        part: the folder being built.
        keep_audio: keep the first audio stream.
        jobs: videos worked on at once.
        progress: show a bar on stderr.

    Returns:
        By id, in the order of ``sources``.

    Raises:
        DataError: lists every source that cannot be read; the others are finished first.
    """
    from tqdm import tqdm

    stop = threading.Event()

    def check() -> None:
        if stop.is_set():
            raise MediaError("stopped")

    threads = max(1, (os.cpu_count() or 1) // max(1, jobs))
    _tidy(part, sources)
    done: dict[str, Done] = {}
    problems: list[Problem] = []
    with (
        ThreadPoolExecutor(max(1, jobs)) as pool,
        tqdm(total=len(sources), unit="video", desc="Videos", disable=not progress) as bar,
    ):
        work = {pool.submit(_one, path, part, name, keep_audio, threads, check): name for name, path in sources.items()}
        try:
            for future in as_completed(work):
                try:
                    done[work[future]] = future.result()
                except MediaError as error:
                    _not_the_videos_fault(error)
                    source = str(sources[work[future]])
                    problems.append(Problem("media-unreadable", str(error), "Export that video again.", source))
                bar.update()
        except BaseException:
            stop.set()
            pool.shutdown(cancel_futures=True)
            raise
    if problems:
        raise DataError.of(problems, shown=20)
    return {name: done[name] for name in sources}


def _not_the_videos_fault(error: MediaError) -> None:
    """Raise the OSError behind an error of a full disk."""
    cause = error.__cause__
    if isinstance(cause, OSError) and cause.errno in DISK_FULL:
        raise OSError(cause.errno, cause.strerror) from error


def _one(source: Path, part: Path, name: str, keep_audio: bool, threads: int, check: Callable[[], None]) -> Done:
    note, target = part / "done" / f"{name}.json", part / "media" / f"{name}.mp4"
    key = sha256_json([*stamp(source), keep_audio, CRF, __version__])
    if note.is_file() and target.is_file():
        known: Done = json.loads(note.read_text(encoding="utf-8"))
        if known["key"] == key and known["sha256"] == sha256_file(target):
            return known
    result = normalise(source, target, keep_audio=keep_audio, threads=threads, check=check)
    entry = {"key": key, "sha256": sha256_file(target), "duration": result.duration, **asdict(result)}
    with atomic_write(note) as stream:
        json.dump(entry, stream)
    return entry


def _tidy(part: Path, sources: Mapping[str, Path]) -> None:
    """Remove what a killed build left behind, except finished videos."""
    for folder, suffix in ((part / "media", ".mp4"), (part / "done", ".json")):
        folder.mkdir(parents=True, exist_ok=True)
        for path in folder.iterdir():
            if path.suffix != suffix or path.stem not in sources:
                path.unlink()

"""Processes side by side: one writer at a time, and workers that are gone when the process that started them is."""

from __future__ import annotations

import errno
import logging
import os
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from functools import lru_cache
from multiprocessing import current_process, get_context, parent_process
from pathlib import Path
from typing import TYPE_CHECKING

from siming_tasks.common.doc_pages import see
from siming_tasks.common.errors import SimingError

if TYPE_CHECKING:
    from filelock import BaseFileLock

logger = logging.getLogger(__name__)

_CANNOT = frozenset({errno.ENOLCK, errno.ENOSYS, errno.ENOTSUP, errno.EOPNOTSUPP})
"""Error numbers of file systems without locks: NFS without its lock service, some parallel and FUSE mounts."""

_GUARD = 'In a script of your own, call this below `if __name__ == "__main__":`, or with jobs=1.'


@contextmanager
def locked(path: str | Path, timeout: float = -1) -> Iterator[None]:
    """Hold the lock of this path while the block runs; others wait, at most ``timeout`` seconds if it is not negative.

    Where files cannot be locked, a file ``<path>.soft`` that only one can make stands for the lock. One that a killed
    process left is taken away by the next on the same machine; of another machine, somebody has to remove it.

    Raises:
        OSError: the file cannot be made, or (``TimeoutError``) another holds the lock for longer.
    """
    from filelock import FileLock, SoftFileLock

    _refuse_reimport()
    lock: BaseFileLock = FileLock(path)
    try:
        lock.acquire(timeout=timeout)
    except (NotImplementedError, OSError) as error:
        if isinstance(error, OSError) and error.errno not in _CANNOT:
            raise
        _say(os.path.dirname(path))
        lock = SoftFileLock(f"{os.fspath(path)}.soft")
        lock.acquire(timeout=timeout)
    try:
        yield
    finally:
        lock.release()


@lru_cache(maxsize=8)
def _say(folder: str) -> None:
    logger.warning(
        "%s: files cannot be locked on this file system; files *.soft take the place of locks (%s).",
        folder,
        see("cluster"),
    )


@contextmanager
def worker_pool(number: int, start: Callable[[], None] | None = None) -> Iterator[ProcessPoolExecutor]:
    """Start a pool of processes; what still waits is given up when the block ends by an exception.

    They are spawned: a fork of a process that already runs threads (torch, OpenCV, FFmpeg, lmms-eval) can deadlock. A
    process that is killed cannot tell its workers to end, so each of them watches it.

    Args:
        number: of processes.
        start: called in each of them, before anything else.

    Raises:
        SimingError: a worker ended by itself.
    """
    _refuse_reimport()
    context = get_context("spawn")
    with ProcessPoolExecutor(number, mp_context=context, initializer=_start_worker, initargs=(start,)) as pool:
        try:
            yield pool
        except BaseException as error:
            pool.shutdown(wait=True, cancel_futures=True)
            if isinstance(error, BrokenProcessPool):
                what = "A worker process was killed (perhaps for memory), or could not start"
                raise SimingError(f"{what}. {_GUARD}") from error
            raise


def _refuse_reimport() -> None:
    """Refuse work in a worker that imports the script which started it: it would wait for the script's own lock."""
    if getattr(current_process(), "_inheriting", False):
        raise RuntimeError(f"A worker process runs the whole script again. {_GUARD}")


def _start_worker(start: Callable[[], None] | None) -> None:
    def end_with_parent() -> None:
        parent = parent_process()
        if parent:
            parent.join()
            os._exit(1)  # in the middle of its work: files are written whole or not at all

    threading.Thread(target=end_with_parent, daemon=True).start()
    if start:
        start()

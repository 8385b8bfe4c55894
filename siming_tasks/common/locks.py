"""One writer at a time, also where the file system cannot lock files, as some network mounts cannot."""

from __future__ import annotations

import errno
import logging
import os
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from siming_tasks.common.doc_pages import see

if TYPE_CHECKING:
    from filelock import BaseFileLock

__all__ = ["locked"]

logger = logging.getLogger(__name__)

_CANNOT = frozenset({errno.ENOLCK, errno.ENOSYS, errno.ENOTSUP, errno.EOPNOTSUPP})
"""Error numbers of file systems without locks: NFS without its lock service, some parallel and FUSE mounts."""


@contextmanager
def locked(path: str | Path, timeout: float = -1) -> Iterator[None]:
    """Hold the lock of this path while the block runs; others wait, at most ``timeout`` seconds if it is not negative.

    Where files cannot be locked, a file ``<path>.soft`` that only one can make stands for the lock. One that a killed
    process left is taken away by the next on the same machine; of another machine, somebody has to remove it.

    Raises:
        OSError: the file cannot be made, or (``TimeoutError``) another holds the lock for longer.
    """
    lock = _acquired(os.fspath(path), timeout)
    try:
        yield
    finally:
        lock.release()


def _acquired(path: str, timeout: float) -> BaseFileLock:
    from filelock import FileLock, SoftFileLock

    native: BaseFileLock = FileLock(path)
    try:
        native.acquire(timeout=timeout)
        return native
    except NotImplementedError:
        pass
    except OSError as error:
        if error.errno not in _CANNOT:
            raise
    _say(os.path.dirname(path))
    soft: BaseFileLock = SoftFileLock(f"{path}.soft")
    soft.acquire(timeout=timeout)
    return soft


@lru_cache(maxsize=8)
def _say(folder: str) -> None:
    logger.warning(
        "%s: files cannot be locked on this file system; files *.soft take the place of locks (%s).",
        folder,
        see("cluster"),
    )

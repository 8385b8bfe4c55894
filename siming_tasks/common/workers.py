"""Worker processes: started afresh, and gone when the process that started them is."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from multiprocessing import get_context, parent_process

__all__ = ["workers"]


@contextmanager
def workers(number: int, start: Callable[[], None] | None = None) -> Iterator[ProcessPoolExecutor]:
    """A pool of processes; what still waits is given up when the block ends by an exception.

    They are spawned: a fork of a process that already runs threads (torch, OpenCV, FFmpeg, lmms-eval) can deadlock. A
    process that is killed cannot tell its workers to end, so each of them watches it.

    Args:
        number: of processes.
        start: called in each of them, before anything else.
    """
    context = get_context("spawn")
    with ProcessPoolExecutor(number, mp_context=context, initializer=_begin, initargs=(start,)) as pool:
        try:
            yield pool
        except BaseException:
            pool.shutdown(wait=True, cancel_futures=True)
            raise


def _begin(start: Callable[[], None] | None) -> None:
    threading.Thread(target=_end_with_parent, daemon=True).start()
    if start:
        start()


def _end_with_parent() -> None:
    parent = parent_process()
    if parent:
        parent.join()
        os._exit(1)  # in the middle of whatever it does: files are written whole or not at all

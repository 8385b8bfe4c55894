"""Worker processes: started afresh, and gone when the process that started them is."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from multiprocessing import get_context, parent_process

__all__ = ["worker_pool"]


@contextmanager
def worker_pool(number: int, start: Callable[[], None] | None = None) -> Iterator[ProcessPoolExecutor]:
    """Start a pool of processes; what still waits is given up when the block ends by an exception.

    They are spawned: a fork of a process that already runs threads (torch, OpenCV, FFmpeg, lmms-eval) can deadlock. A
    process that is killed cannot tell its workers to end, so each of them watches it.

    Args:
        number: of processes.
        start: called in each of them, before anything else.
    """
    context = get_context("spawn")
    with ProcessPoolExecutor(number, mp_context=context, initializer=_start_worker, initargs=(start,)) as pool:
        try:
            yield pool
        except BaseException:
            pool.shutdown(wait=True, cancel_futures=True)
            raise


def _start_worker(start: Callable[[], None] | None) -> None:
    def end_with_parent() -> None:
        parent = parent_process()
        if parent:
            parent.join()
            os._exit(1)  # in the middle of its work: files are written whole or not at all

    threading.Thread(target=end_with_parent, daemon=True).start()
    if start:
        start()

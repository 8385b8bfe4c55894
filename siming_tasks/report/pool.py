"""Worker processes for parts of a report that do not need each other."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from threadpoolctl import threadpool_limits

from siming_tasks.common.workers import workers

__all__ = ["cores", "pool"]


def cores() -> int:
    """Cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@contextmanager
def pool(jobs: int, tasks: int) -> Iterator[Callable[..., Any]]:
    """``map`` over at most ``jobs`` worker processes, or in this process if there is little to share.

    Args:
        jobs: worker processes.
        tasks: how many things there are to do; more workers than that are not started.
    """
    number = min(jobs, tasks)
    if number < 2:
        with threadpool_limits(1):
            yield map
        return
    with workers(number, _alone) as executor:
        yield executor.map


def _alone() -> None:
    """One core for each worker: small matrix products gain nothing from threads, which wait for one another busily."""
    import numpy  # noqa: F401 - its threads can be limited once it is there

    threadpool_limits(1)

"""How many threads the numbers of one run are computed with."""

from __future__ import annotations

from threadpoolctl import threadpool_limits

__all__ = ["one_thread"]


def one_thread() -> threadpool_limits:
    """A context in which NumPy's linear algebra keeps to one thread.

    Resamples are many short matrix products. Waking the other threads for each takes more time than it saves: with
    2,000 videos ten times the processor time, and no less on the clock.
    """
    return threadpool_limits(1, user_api="blas")

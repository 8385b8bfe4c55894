"""A share of a count, with its Wilson interval."""

from __future__ import annotations

from dataclasses import dataclass

from siming_tasks.metrics.score_matrix import BoolArray
from siming_tasks.metrics.thresholds import LEVEL

__all__ = ["Proportion", "at_boundary", "share", "wilson"]


@dataclass(frozen=True)
class Proportion:
    """``count`` of ``n`` with its 95 % Wilson interval; all None without any."""

    count: int
    n: int
    value: float | None
    low: float | None
    high: float | None


def wilson(count: int, n: int, level: float = LEVEL) -> Proportion:
    """A share with its Wilson score interval (Wilson 1927), which stays inside 0..1 and has a width at 0 and 1.

    Example:
        >>> found = wilson(5, 10)
        >>> print(f"{found.value} [{found.low:.3f}, {found.high:.3f}]")
        0.5 [0.237, 0.763]
    """
    if n == 0:
        return Proportion(0, 0, None, None, None)
    from scipy.stats import binomtest  # not at import time: slow

    interval = binomtest(count, n).proportion_ci(level, method="wilson")
    return Proportion(count, n, count / n, float(interval.low), float(interval.high))


def at_boundary(value: float, videos: int) -> tuple[float, float]:
    """Interval of a share that is 0 or 1 in a sample of independent videos: Clopper and Pearson's, of the videos.

    Resampling cannot see beyond what was seen and would give an interval without width. If more than a share q of all
    videos differed, none in n would have been found with a chance below (1 - q)^n.

    Example:
        >>> low, high = at_boundary(1.0, 60)
        >>> print(f"{low:.3f} {high}")
        0.940 1.0
    """
    reach = 1 - ((1 - LEVEL) / 2) ** (1 / videos)
    return (1 - reach, 1.0) if value > 0.5 else (0.0, reach)


def share(hit: BoolArray, among: BoolArray) -> Proportion:
    """Share of the marked places in ``among`` that are also marked in ``hit``."""
    return wilson(int((hit & among).sum()), int(among.sum()))

"""Constant rate at which a recording is written, and the place of each of its pictures there."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

RATES = tuple(map(Fraction, (24, 25, 30, 50, 60)))
"""Pictures per second at which a recording of varying rate is written: the lowest at which each has its own place."""
EVEN = 0.0015
"""Seconds by which periods of a constant rate may differ: containers round times to milliseconds."""
FARTHEST = 0.75
"""Periods from a picture's time to its place at most: beyond half of one where times jitter around the middle."""
REPEATING = Fraction(3, 2)
"""Multiple of the average above which a rate repeats so many pictures that an average which repeats none is taken."""


def places(seconds: NDArray[np.float64], rate: Fraction) -> NDArray[np.int64]:
    """Number of the written picture that each picture becomes, int64: the nearest in time.

    Where that is taken it is the next one, if all stay within :data:`FARTHEST` of their times.
    """
    times, of_each = np.unique(seconds, return_inverse=True)
    exact, order = times * rate.numerator / rate.denominator, np.arange(len(times))
    nearest = _nearest(times, rate)
    apart = np.maximum.accumulate(nearest - order) + order
    return (apart if (apart - exact).max(initial=0) <= FARTHEST else nearest)[of_each]


def constant_rate(seconds: NDArray[np.float64]) -> Fraction:
    """Pictures per second to write of a recording whose pictures are shown at these times, ascending; 1 to 60.

    A constant rate stays. Of a varying one it is the lowest of :data:`RATES` at which no two pictures share a place, or
    the average where that gives each its own without repeating any: jitter alone does not double a file.

    Example:
        >>> constant_rate(np.array([0, 0.04, 0.08, 0.2, 0.24]))
        Fraction(24, 1)
    """
    if len(seconds := np.unique(seconds)) < 2:
        return Fraction(25)
    steps = np.diff(seconds)
    # a denominator of 1001 is that of 30000/1001, and takes out what containers round
    average = Fraction(1 / float(steps.mean())).limit_denominator(1001)
    average = min(max(average, Fraction(1)), RATES[-1])
    if np.ptp(steps) <= EVEN:
        return average
    usual = Fraction(0.9 / float(np.median(steps)))
    for rate in RATES:
        own = _nearest(seconds, rate), *([places(seconds, rate)] if rate >= usual else [])
        if any((np.diff(numbers) > 0).all() for numbers in own):
            break
    filled = (np.diff(_nearest(seconds - seconds[0], average)) == 1).all()
    return average if filled and rate > REPEATING * average else rate


def _nearest(seconds: NDArray[np.float64], rate: Fraction) -> NDArray[np.int64]:
    """Number of the nearest place, halves upwards."""
    return np.floor(seconds * rate.numerator / rate.denominator + 0.5 + 1e-6).astype(np.int64)

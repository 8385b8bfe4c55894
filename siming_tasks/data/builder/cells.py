"""What people write into the cells of a score sheet: numbers with a decimal comma, times as seconds or as a clock."""

from __future__ import annotations

import datetime
import re
from typing import Any

__all__ = ["is_clock_cell", "number", "seconds_of"]

_CLOCK = re.compile(r"^(?:(\d{1,2}):)?(\d{1,3}):([0-5]?\d(?:\.\d+)?)$")
_DECIMAL_COMMA = re.compile(r"^-?\d{1,5},\d{1,3}$")


def number(cell: Any) -> float | None:
    """The finite number in a cell, None if it holds none.

    Example:
        >>> number("2,5"), number(3), number("n/a"), number("nan")
        (2.5, 3.0, None, None)
    """
    if isinstance(cell, bool) or not isinstance(cell, int | float | str):
        return None
    text = str(cell).strip()
    try:
        value = float(text.replace(",", ".") if _DECIMAL_COMMA.match(text) else text)
    except ValueError:
        return None
    return value if abs(value) < 1e9 else None  # refuses nan and inf as well


def seconds_of(cell: Any) -> float | None:
    """Seconds, from a number or from ``[h:]m:s``; None if it is neither.

    Example:
        >>> seconds_of("83.5"), seconds_of("1:23.5"), seconds_of("1:02:03")
        (83.5, 83.5, 3723.0)
    """
    seconds = number(cell)
    if seconds is None and (clock := _CLOCK.match(str(cell))):
        seconds = 3600 * int(clock[1] or 0) + 60 * int(clock[2]) + float(clock[3])
    return seconds


def is_clock_cell(cell: Any) -> bool:
    """Whether a spreadsheet made a time of day of what was typed: 1:23 may have meant minutes or hours."""
    return isinstance(cell, datetime.time | datetime.datetime | datetime.timedelta)

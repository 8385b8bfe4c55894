"""Cells of a score sheet as people write them: many spellings, decimal commas, clocks and time codes."""

from __future__ import annotations

import datetime
import math
import re
import unicodedata
from fractions import Fraction
from typing import Any

from siming_tasks.common.sanitize import cell_text

__all__ = ["folded", "is_clock_cell", "is_time_code", "number", "plain", "seconds_of", "spelled", "text_of", "trimmed"]

_CLOCK = re.compile(r"^(?:(\d{1,2}):)?(\d{1,3}):([0-5]?\d(?:[.,]\d+)?)$")
_TIME_CODE = re.compile(r"^(\d{1,2}):([0-5]?\d):([0-5]?\d):(\d{1,3})$")
_DECIMAL_COMMA = re.compile(r"^-?\d{1,5},\d{1,3}$")


def trimmed(value: Any) -> Any:
    """A cell without blanks around it; None if nothing is left.

    The apostrophe before a formula, which our own tables have (:func:`siming_tasks.common.sanitize.cell`), is taken
    off.
    """
    if isinstance(value, str):
        value = cell_text(value.replace("\ufeff", "").strip())
    return None if value == "" else value


def plain(value: Any) -> Any:
    """A cell as text or number: full-width forms folded, blanks trimmed; None if nothing is left."""
    return trimmed(unicodedata.normalize("NFKC", value)) if isinstance(value, str) else value


def text_of(value: Any) -> str | None:
    """A cell as text, spelled as it is; Excel keeps numbers such as 7 as 7.0.

    Example:
        >>> text_of(7.0), text_of("7.0"), text_of(None)
        ('7', '7.0', None)
    """
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return None if value is None else str(value)


def folded(name: Any) -> str:
    """Text without the differences that people overlook in headings and names.

    Example:
        >>> folded("Rater A"), folded("ｒａｔｅｒ-a")
        ('rater_a', 'rater_a')
    """
    return re.sub(r"[\s_-]+", "_", str(plain(name)).casefold())


def spelled(name: str) -> str:
    """A file's name in one normal form: composed letters, half-width forms; a superscript stays what it is.

    Example:
        >>> spelled("考试（１）"), spelled("Fall²")
        ('考试(1)', 'Fall²')
    """
    wide = ("<wide>", "<narrow>")
    letters = (unicodedata.normalize("NFKC", c) if unicodedata.decomposition(c).startswith(wide) else c for c in name)
    return unicodedata.normalize("NFC", "".join(letters))


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
    return value if abs(value) < 1e9 and "_" not in text else None  # refuses nan and inf as well


def seconds_of(cell: Any, rate: Fraction | None = None) -> float | None:
    """Seconds, from a number, from ``[h:]m:s``, or from ``hh:mm:ss:ff`` at a stated rate; None if it is none of these.

    A time code counts whole frames (SMPTE 12M, non-drop): at 29.97 per second, 00:00:01:00 is frame 30.

    Example:
        >>> seconds_of("83.5"), seconds_of("1:23,5"), seconds_of("1:02:03"), seconds_of("00:00:04:12", Fraction(25))
        (83.5, 83.5, 3723.0, 4.48)
    """
    seconds = number(cell)
    if seconds is not None:
        return seconds
    if clock := _CLOCK.match(str(cell)):
        hours, minutes = clock[1], int(clock[2])
        if hours and minutes > 59:
            return None
        return 3600 * int(hours or 0) + 60 * minutes + float(clock[3].replace(",", "."))
    if rate and (code := _TIME_CODE.match(str(cell))):
        hour, minute, second, frame = map(int, code.groups())
        nominal = math.ceil(rate)
        if frame < nominal:
            return float((nominal * (3600 * hour + 60 * minute + second) + frame) / rate)
    return None


def is_time_code(cell: Any) -> bool:
    """True if a cell is ``hh:mm:ss:ff``, which needs a rate."""
    return bool(_TIME_CODE.match(str(cell)))


def is_clock_cell(cell: Any) -> bool:
    """True if a spreadsheet made a time of day of the input: 1:23 may have meant minutes or hours."""
    return isinstance(cell, datetime.time | datetime.datetime | datetime.timedelta)

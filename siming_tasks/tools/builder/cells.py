"""Cells of a table of labels: the one spelling of points, of times, and the likeness of names."""

from __future__ import annotations

import re
import unicodedata

NOT_APPLICABLE = "N/A"
"""Points of a step that does not apply to this exam."""
_NUMBER = re.compile(r"-?[0-9]{1,9}(?:\.[0-9]{1,9})?")
_CLOCK = re.compile(r"(?:([0-9]{1,2}):)?([0-9]{1,3}):([0-5]?[0-9](?:\.[0-9]{1,9})?)")
_WAYS_OUT = (
    (re.compile(r"-?[0-9]+,[0-9]+"), "Write a decimal point (1.5), or save the sheet as .xlsx."),
    (re.compile(r".*%"), "Write the points that were given, not a percentage."),
    (re.compile(r"[0-9]{1,4}([-/.])[0-9]{1,2}\1[0-9]{1,4}.*"),
     "It is a date. Format the cells as text, and write them again."),
)  # fmt: skip
"""What stands where points should, and what to do about it."""


def number_of(text: str) -> float | None:
    """The number that a cell spells with digits and a decimal point; None if it is spelled otherwise.

    Example:
        >>> number_of("1.5"), number_of("1,5"), number_of("1E1"), number_of("50 %"), number_of("٢")
        (1.5, None, None, None, None)
    """
    return float(text) if _NUMBER.fullmatch(text) else None


def way_out(text: str) -> str:
    """The way to mend a cell that should hold points and does not."""
    fix = next((fix for form, fix in _WAYS_OUT if form.fullmatch(text)), "")
    return fix or f"Write the points alone (2 or 1.5), {NOT_APPLICABLE}, or nothing."


def seconds_of(text: str) -> float | None:
    """Seconds, spelled as a number or as ``[h:]m:s``; None if it is neither.

    Example:
        >>> seconds_of("83.5"), seconds_of("1:23.5"), seconds_of("1:02:03"), seconds_of("1:75"), seconds_of("2 s")
        (83.5, 83.5, 3723.0, None, None)
    """
    if (number := number_of(text)) is not None:
        return number
    clock = _CLOCK.fullmatch(text)
    if clock is None or (clock[1] and int(clock[2]) > 59):
        return None
    return 3600 * int(clock[1] or 0) + 60 * int(clock[2]) + float(clock[3])


def spelled(name: str) -> str:
    """A file's name in one normal form: composed letters, half-width forms; a superscript stays what it is.

    Example:
        >>> spelled("考试（１）"), spelled("Fall²")
        ('考试(1)', 'Fall²')
    """
    wide = ("<wide>", "<narrow>")
    letters = (unicodedata.normalize("NFKC", c) if unicodedata.decomposition(c).startswith(wide) else c for c in name)
    return unicodedata.normalize("NFC", "".join(letters))

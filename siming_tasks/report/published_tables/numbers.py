"""A printed number and every value that rounds to it.

``0.070`` in a table stands for something between 0.0695 and 0.0705. Each check of
:mod:`siming_tasks.tools.table_lint.lint`
works on that interval, so that it speaks up only when *no* value behind the print can be right.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from decimal import Decimal

__all__ = ["Printed", "factors", "parse", "parse_with_delta"]

_NUMBER = r"[+-]?(?:\d[\d,]*\.?\d*|\.\d+)"
_PLAIN_TASKS = re.compile(rf"\s*({_NUMBER})\s*(%?)\s*")
_DELTA = re.compile(rf"\s*({_NUMBER}\s*%?)\s*\(\s*({_NUMBER}\s*%?)\s*\)\s*")
_DASHES = str.maketrans({"\u2212": "-", "\u2013": "-", "\ufe63": "-", "\uff0d": "-"})
_BLANK = {"", "-", "--", "n/a", "na", "none", "nan"}


@dataclass(frozen=True)
class Printed:
    """A number as printed (``text``), its ``value`` and the closed interval ``[low, high]`` that rounds to it."""

    text: str
    value: float
    low: float
    high: float

    def within(self, low: float, high: float) -> bool:
        """Return True if some value behind the printed number lies in ``[low, high]``."""
        return self.low <= high and low <= self.high

    def clipped(self, low: float, high: float) -> Printed:
        """The same print with the interval cut to the range of its metric (a printed recall of 1.000 is at most 1)."""
        return Printed(self.text, self.value, max(self.low, low), min(self.high, high))


def parse(raw: object) -> Printed | None:
    """The printed number, or None for a blank cell.

    Digits after the point set the precision, so give numbers as text: ``"0.070"``, not ``0.07``. A percent sign divides
    by 100. Typographic minus signs are understood.

    Raises:
        ValueError: the text is not one finite number.
    """
    text = "" if raw is None else str(raw).translate(_DASHES).strip()
    if text.casefold() in _BLANK:
        return None
    match = _PLAIN_TASKS.fullmatch(text)
    if not match:
        raise ValueError(f"{text!r} is not a number")
    number = Decimal(match[1].replace(",", ""))
    exponent = number.as_tuple().exponent
    half = Decimal(5).scaleb(min(int(exponent), 0) - 1)
    scale = Decimal(100 if match[2] else 1)
    low, value, high = (float(edge / scale) for edge in (number - half, number, number + half))
    return Printed(text, value, low, high)


def parse_with_delta(raw: object) -> tuple[Printed | None, Printed | None]:
    """``"0.331 (+0.447)"`` as (value, delta); a cell without parentheses has no delta.

    Raises:
        ValueError: the cell is neither a number nor a number with one in parentheses.
    """
    text = "" if raw is None else str(raw).translate(_DASHES)
    if match := _DELTA.fullmatch(text):
        return parse(match[1]), parse(match[2])
    return parse(raw), None


def factors(raw: object) -> tuple[int, ...]:
    """The whole numbers of a denominator such as ``6600`` or ``"200 x 33"``.

    Raises:
        ValueError: a part is not a positive whole number.
    """
    parts = [part.strip().replace(",", "") for part in re.split(r"[x×*]", str(raw))]
    if not all(part.isdecimal() and int(part) > 0 for part in parts):
        raise ValueError(f"{raw!r} is not a whole number or a product of whole numbers such as '200 x 33'")
    return tuple(int(part) for part in parts)

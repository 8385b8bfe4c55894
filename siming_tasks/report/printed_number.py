r"""One number as papers print it: with its rounding interval, its unit, its marks, its spread or its difference.

``0.070`` in a table stands for something between 0.0695 and 0.0705. Around it stand bold, underlines, daggers and stars
(Markdown, TeX, HTML or plain), a spread (``± 0.02``), an interval (``[0.31, 0.35]``, ``(0.31-0.35)``) or, in
parentheses and signed, the difference from another row. Only number and difference are read.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from decimal import Decimal

_SIGNS = str.maketrans({
    **dict.fromkeys("\u2010\u2011\u2012\u2013\u2014\u2212\ufe63\uff0d", "-"),  # dashes and minus signs
    **dict.fromkeys("\u00a0\u2007\u2009\u202f~\t\n", " "),
    **dict.fromkeys("*†‡§¶∗⋆★`$¹²³ᵃᵇᶜᵈᵉ", None),  # marks, bold, mathematics
})  # fmt: skip
_TEX: tuple[tuple[str, str], ...] = (
    (r"\\textsuperscript\s*\{[^{}]*\}|\^\s*(\{[^{}]*\}|\\?[A-Za-z]+|\S)|<sup>.*?</sup>", ""),  # what a mark stands for
    (r"\\(cell|row|text)?color\s*(\[[^\]]*\])?\{[^{}]*\}", ""),
    (r"\\pm(?![A-Za-z])", "±"),
    (r"\\%", "%"),
    (r"\\[,;:!\s]", " "),
    (r"\\(textminus|textendash)(?![A-Za-z])\s*", "-"),
    (r"\\[A-Za-z]+", " "),  # \textbf, \underline, \dag; what they hold stays
    (r"</?[a-z]+>", ""),
    (r"[{}]", ""),
    (r"^_+|_+$", ""),
)
_NUMBER = r"[+-]?(?:\d+(?:[.,]\d*)?|[.,]\d+)"
_SPREAD = r"(?:(?:_?\s*(?:±|\+/-|\+-)|_)\s*(?:\d*[.,])?\d+)"
_BETWEEN = r"\s*%?\s*(?:,|;|-|to)\s*"
_INTERVAL = rf"[(\[]\s*(?:95\s*%\s*CI\s*[:,]?\s*)?{_NUMBER}{_BETWEEN}{_NUMBER}\s*%?\s*[)\]]"
_CELL = re.compile(
    rf"({_NUMBER})\s*(%?)\s*{_SPREAD}?\s*(%?)\s*(?:{_INTERVAL}|[(\[]\s*({_NUMBER}\s*%?)\s*[)\]])?\s*(%?)"
)
_GROUPED = re.compile(r"[+-]?[1-9]\d{0,2}(,\d{3})+(\.\d*)?")
_BLANK = {"", "-", "--", "---", "n/a", "n.a.", "na", "none", "nan", "null", "/", "...", "…"}


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

    def as_percent(self) -> Printed:
        """The same digits as a percentage."""
        return Printed(f"{self.text}%", self.value / 100, self.low / 100, self.high / 100)


def parse(raw: object) -> Printed | None:
    r"""The printed number without what stands around it, or None for a blank cell.

    Digits after the point set the precision, so give numbers as text: ``"0.070"``, not ``0.07``. A percent sign divides
    by 100. Typographic minus signs are understood, and so is a comma in the place of the point.

    Raises:
        ValueError: the text is not one finite number.

    Example:
        >>> parse(r"\textbf{0.33} ± 0.02").low, parse("33.0 %").value, parse("--")
        (0.325, 0.33, None)
    """
    return parse_with_delta(raw)[0]


def parse_with_delta(raw: object) -> tuple[Printed | None, Printed | None]:
    """``"0.331 (+0.447)"`` as (value, delta); a cell without a *signed* number in parentheses has no delta.

    An interval alone has neither, and a number in parentheses without a sign is a spread, not a difference.

    Raises:
        ValueError: the cell is not a number with, perhaps, one of the things that papers print beside it.
    """
    text = _bare("" if raw is None else str(raw))
    if text.casefold() in _BLANK or re.fullmatch(_INTERVAL, text):
        return None, None
    match = _CELL.fullmatch(text)
    if not match:
        raise ValueError(f"{'' if raw is None else str(raw).strip()!r} is not a number")
    number, *percents, beside, percent_of_all = match.groups()
    value = _rounded(number, any((*percents, percent_of_all)))
    if not beside or beside[0] not in "+-":
        return value, None
    return value, _rounded(beside.rstrip("% "), "%" in beside or bool(percent_of_all))


def factors(raw: object) -> tuple[int, ...]:
    """The whole numbers of a denominator such as ``6600`` or ``"200 x 33"``.

    Raises:
        ValueError: a part is not a positive whole number.
    """
    parts = [part.strip().replace(",", "") for part in re.split(r"[x×*]", str(raw))]
    if not all(part.isdecimal() and int(part) > 0 for part in parts):
        raise ValueError(f"{raw!r} is not a whole number or a product of whole numbers such as '200 x 33'")
    return tuple(map(int, parts))


def _bare(text: str) -> str:
    """The text of a cell without marks and markup."""
    for pattern, plain in _TEX:
        text = re.sub(pattern, plain, text.strip())
    return re.sub(r"\s+", " ", text.translate(_SIGNS)).strip(" _")


def _rounded(text: str, percent: bool) -> Printed:
    plain = text.replace(",", "") if _GROUPED.fullmatch(text) else text.replace(",", ".")
    number = Decimal(plain)
    half = Decimal(5).scaleb(min(int(number.as_tuple().exponent), 0) - 1)
    scale = Decimal(100 if percent else 1)
    low, value, high = (float(edge / scale) for edge in (number - half, number, number + half))
    return Printed(f"{text}%" if percent else text, value, low, high)

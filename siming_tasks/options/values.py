"""Kinds of values: how each is read from text, checked, and what is said of one that cannot be used.

A kind does not know what the value is for. Whoever asks puts the name and the value before the reason that
:class:`Refused` carries: ``SIMING_SEED='-1' must be at least 0.``
"""

from __future__ import annotations

import math
import operator
import os
import re
from dataclasses import dataclass
from typing import Protocol, SupportsFloat, SupportsIndex

__all__ = ["Choice", "Decimal", "ImageFormat", "Kind", "Refused", "Share", "Text", "Whole"]


class Refused(ValueError):
    """Why a value cannot be used; the end of a sentence that begins with its name and the value."""


class Kind(Protocol):
    """A kind of value."""

    @property
    def metavar(self) -> str:
        """What stands for the value in a usage line."""

    def read(self, text: str) -> object:
        """The value that a text means (Refused if it means none)."""

    def check(self, value: object) -> object:
        """The value as plain ``int``, ``float`` or ``str`` (Refused if it is of another type or out of range)."""


@dataclass(frozen=True)
class Whole:
    """A whole number from ``least`` to ``most``, both included."""

    least: int = 1
    most: int = 999_999_999
    metavar: str = "N"

    def read(self, text: str) -> int:
        """The number that a text means."""
        try:
            return self.check(int(text))
        except ValueError as error:
            raise error if isinstance(error, Refused) else Refused("is not a whole number.") from None

    def check(self, value: object) -> int:
        """The number, if it is one and in range; True and False are none."""
        if isinstance(value, bool) or not isinstance(value, SupportsIndex):
            raise Refused("is not a whole number.")
        number = operator.index(value)
        if number < self.least:
            raise Refused(f"must be at least {self.least:,}.")
        if number > self.most:
            raise Refused(f"must be at most {self.most:,}.")
        return number


@dataclass(frozen=True)
class Decimal:
    """A number above ``above`` or from ``least`` on, below ``below`` or up to ``most``; never NaN or infinite."""

    above: float | None = None
    least: float | None = None
    below: float | None = None
    most: float | None = 1e9
    metavar: str = "X"

    def read(self, text: str) -> float:
        """The number that a text means."""
        try:
            return self.check(float(text))
        except ValueError as error:
            raise error if isinstance(error, Refused) else Refused("is not a number.") from None

    def check(self, value: object) -> float:
        """The number, if it is one and in range; True and False are none."""
        if isinstance(value, bool | str) or not isinstance(value, SupportsFloat) or math.isnan(number := float(value)):
            raise Refused("is not a number.")
        for bound, inside, words in (
            (self.above, operator.gt, "above"),
            (self.least, operator.ge, "at least"),
            (self.below, operator.lt, "below"),
            (self.most, operator.le, "at most"),
        ):
            if bound is not None and not inside(number, bound):
                raise Refused(f"must be {words} {bound:,.10g}.")
        return number


@dataclass(frozen=True)
class Choice:
    """One of a few words; capital letters do not matter in text."""

    words: tuple[str, ...]

    @property
    def metavar(self) -> str:
        """``{one,other}``."""
        return "{" + ",".join(self.words) + "}"

    def read(self, text: str) -> str:
        """The word that a text means."""
        return self.check(text.lower())

    def check(self, value: object) -> str:
        """The word, if it is one of them."""
        if not isinstance(value, str) or value not in self.words:
            raise Refused(f"is not one of {', '.join(self.words)}.")
        return value


@dataclass(frozen=True)
class Text:
    """Any text; a path will do."""

    metavar: str = "TEXT"
    empty: bool = True

    def read(self, text: str) -> str:
        """The text without blanks around it."""
        return self.check(text.strip())

    def check(self, value: object) -> str:
        """The text, if it is one; empty text only where it means something."""
        text = os.fspath(value) if isinstance(value, os.PathLike) else value
        if not isinstance(text, str):
            raise Refused("is not text.")
        if not (text or self.empty):
            raise Refused("must not be empty.")
        return text


@dataclass(frozen=True)
class ImageFormat:
    """``jpeg``, ``png`` or ``webp``; the first and the last perhaps with a quality of 1 to 100: ``jpeg75``."""

    metavar: str = "FORMAT"

    def read(self, text: str) -> str:
        """The format that a text means; ``webp`` alone has the quality 85, as in lmms-eval."""
        return self.check(text.lower().replace("jpg", "jpeg"))

    def check(self, value: object) -> str:
        """The format, if it is one."""
        found = re.fullmatch("(jpeg|webp)([1-9][0-9]?|100)?|png", value) if isinstance(value, str) else None
        if not found:
            raise Refused("is not jpeg, png or webp, or jpeg or webp with a quality of 1 to 100 (jpeg75).")
        return "webp85" if found[0] == "webp" else found[0]


@dataclass(frozen=True)
class Share:
    """One of several equal parts: ``2/5`` is the second of five."""

    metavar: str = "I/N"

    def read(self, text: str) -> str:
        """The part that a text means."""
        return self.check(text.strip())

    def check(self, value: object) -> str:
        """The part, if it is one."""
        found = re.fullmatch("([0-9]{1,9})/([0-9]{1,9})", value) if isinstance(value, str) else None
        if not found or not 1 <= int(found[1]) <= int(found[2]):
            raise Refused("is not a part such as 2/5, the second of five.")
        return found[0]

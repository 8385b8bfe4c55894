"""Kinds of values that options and flags accept: each is read from text, checked, and refused with a reason."""

from __future__ import annotations

import math
import operator
import os
import re
import stat
from dataclasses import dataclass
from pathlib import Path
from typing import SupportsFloat, SupportsIndex, TypeGuard


class Refused(ValueError):
    """Reason why a value cannot be used: the end of a sentence that begins with its name and the value.

    A kind does not know what its value is for, so the caller puts the name first: ``SIMING_SEED='-1' must be at least
    0.``
    """


class Kind:
    """Kind of value of an option or a flag."""

    @property
    def metavar(self) -> str:
        """Word that stands for the value in a usage line."""
        raise NotImplementedError

    def read(self, text: str) -> object:
        """Convert text to the value (Refused if it means none)."""
        return self.check(self._convert(text))

    def check(self, value: object) -> object:
        """Return the value as plain ``int``, ``float`` or ``str`` (Refused: another type, or out of range)."""
        raise NotImplementedError

    def _convert(self, text: str) -> object:
        return text.strip()


@dataclass(frozen=True)
class Whole(Kind):
    """Whole number from ``least`` to ``most``, both included."""

    least: int = 1
    most: int = 999_999_999
    metavar: str = "N"

    def _convert(self, text: str) -> object:
        try:
            return int(text)
        except ValueError:
            return text

    def check(self, value: object) -> int:
        """Return the number if it is one and in range; True and False are none."""
        if isinstance(value, bool) or not isinstance(value, SupportsIndex):
            raise Refused("is not a whole number.")
        number = operator.index(value)
        if number < self.least:
            raise Refused(f"must be at least {self.least:,}.")
        if number > self.most:
            raise Refused(f"must be at most {self.most:,}.")
        return number


@dataclass(frozen=True)
class Decimal(Kind):
    """Number above ``above`` or from ``least`` on, below ``below`` or up to ``most``; never NaN or infinite."""

    above: float | None = None
    least: float | None = None
    below: float | None = None
    most: float | None = 1e9
    metavar: str = "X"

    def _convert(self, text: str) -> object:
        try:
            return float(text)
        except ValueError:
            return text

    def check(self, value: object) -> float:
        """Return the number if it is one and in range; True and False are none."""
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
class Choice(Kind):
    """One of a few words; capital letters do not matter in text."""

    words: tuple[str, ...]

    @property
    def metavar(self) -> str:
        """``{one,other}``."""
        return "{" + ",".join(self.words) + "}"

    def _convert(self, text: str) -> object:
        return text.lower()

    def check(self, value: object) -> str:
        """Return the word if it is one of them."""
        if not isinstance(value, str) or value not in self.words:
            raise Refused(f"is not one of {', '.join(self.words)}.")
        return value


@dataclass(frozen=True)
class Text(Kind):
    """Any text or path; empty text only where ``empty`` allows it."""

    metavar: str = "TEXT"
    empty: bool = True

    def check(self, value: object) -> str:
        """Return the text, of a path its name."""
        text = os.fspath(value) if isinstance(value, os.PathLike) else value
        if not isinstance(text, str):
            raise Refused("is not text.")
        if not (text or self.empty):
            raise Refused("must not be empty.")
        return text


@dataclass(frozen=True)
class ImageFormat(Kind):
    """``jpeg``, ``png`` or ``webp``; the first and the last perhaps with a quality of 1 to 100: ``jpeg75``."""

    metavar: str = "FORMAT"

    def _convert(self, text: str) -> object:
        return text.lower().replace("jpg", "jpeg")

    def check(self, value: object) -> str:
        """Return the format if it is one; ``webp`` alone has the quality 85, as in lmms-eval."""
        match = re.fullmatch("(jpeg|webp)([1-9][0-9]?|100)?|png", value) if isinstance(value, str) else None
        if not match:
            raise Refused("is not jpeg, png or webp, or jpeg or webp with a quality of 1 to 100 (jpeg75).")
        return "webp85" if match[0] == "webp" else match[0]


@dataclass(frozen=True)
class Share(Kind):
    """One of several equal parts: ``2/5`` is the second of five; ``empty``: or none, which is the whole."""

    metavar: str = "I/N"
    empty: bool = False

    def check(self, value: object) -> str:
        """Return the part if it is one."""
        if self.empty and value == "":
            return ""
        match = re.fullmatch("([0-9]{1,9})/([0-9]{1,9})", value) if isinstance(value, str) else None
        if not match or not 1 <= int(match[1]) <= int(match[2]):
            raise Refused("is not a part such as 2/5, the second of five.")
        return match[0]


@dataclass(frozen=True)
class OutputPath(Kind):
    """File or folder that is written: none yet, or one of that kind; a link stands for what it leads to."""

    folder: bool | None = False  # None: a file or a folder, as another flag decides
    metavar: str = "OUT"

    def check(self, value: object) -> Path:
        """Return the path that a link leads to, or the path itself.

        Refused is what a new file or folder must not take the place of (a pipe, a socket, a device, a folder in place
        of a file), and a place where none can be made. Nothing is written yet.
        """
        text = Text(empty=False).check(value)
        if text == "-":
            raise Refused("is not standard output here; name a file or folder (./- for one of that name).")
        try:
            path = Path(os.path.realpath(text)) if os.path.islink(text) else Path(text)
            mode = os.stat(path).st_mode
        except (FileNotFoundError, NotADirectoryError):
            mode = 0
        except ValueError:  # a NUL
            raise Refused("is not a path.") from None
        except OSError as error:
            raise Refused(f"cannot be used: {error.strerror}.") from None
        if stat.S_ISDIR(mode) and self.folder is False:
            raise Refused("is a folder; name a file in it.")
        if stat.S_ISREG(mode) and self.folder:
            raise Refused("is a file; name a folder.")
        if mode and not stat.S_ISREG(mode) and not stat.S_ISDIR(mode):
            raise Refused("is a pipe, a socket or a device, and a file would take its place; name a file.")
        try:
            parent = next((above for above in path.absolute().parents if os.path.lexists(above)), path)  # of / itself
        except FileNotFoundError:
            raise Refused("cannot be made: the current folder is gone. Go to another, or name a whole path.") from None
        if not (parent.is_dir() and os.access(parent, os.W_OK | os.X_OK)):
            what = "is not writable" if parent.is_dir() else "is no folder"
            raise Refused(f"cannot be made: {parent} {what}. Choose another place.")
        return path


def is_number(value: object) -> TypeGuard[float]:
    """True for a number of JSON; its true and false are none."""
    return isinstance(value, int | float) and not isinstance(value, bool)

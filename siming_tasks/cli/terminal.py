"""What reaches the terminal: text from strangers' files stands in much of it, and must not act there."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from siming_tasks.common.redact import redact
from siming_tasks.common.sanitize import visible

__all__ = ["Harmless", "harmless_terminal", "say", "several"]

_BAR = re.compile(r"\r|\n*(\x1b\[A)*")
"""What a progress bar writes besides text: back to the line's start, and up to another bar's line."""


class Harmless:
    """A text stream that spells out control, zero-width and direction-changing characters before they are written.

    So no name in a file can colour, move or clear anything, whoever prints it and however. A carriage return at the
    beginning of a write and moves between lines alone pass: progress bars need them. What the stream's encoding lacks
    is written as an escape.
    """

    def __init__(self, stream: Any) -> None:
        self._stream = stream

    @property
    def bare(self) -> Any:
        """The stream behind it, for those who make their text harmless before they draw it."""
        return self._stream

    def write(self, text: str) -> int:
        """Write ``text``, made harmless; returns its length."""
        if not _BAR.fullmatch(text):
            start = "\r" if text.startswith("\r") and not text.startswith("\r\n") else ""
            text = start + visible(text[len(start) :])
            encoding = getattr(self._stream, "encoding", None) or "utf-8"
            text = text.encode(encoding, "backslashreplace").decode(encoding)
        self._stream.write(text)
        return len(text)

    def writelines(self, lines: list[str]) -> None:
        """Write several strings."""
        for line in lines:
            self.write(line)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


def say(text: str, *, error: bool = False) -> None:
    """Print a line for people that names files of theirs, without the secrets that a path may hold."""
    print(redact(text), file=sys.stderr if error else sys.stdout)


@contextmanager
def harmless_terminal() -> Iterator[None]:
    """Standard output and error as :class:`Harmless` streams within the block."""
    before = sys.stdout, sys.stderr
    sys.stdout, sys.stderr = Harmless(sys.stdout), Harmless(sys.stderr)
    try:
        yield
    finally:
        sys.stdout, sys.stderr = before


def several(count: int, what: str) -> str:
    """``1 error``, ``2 errors``."""
    return f"{count} {what}{'s' * (count != 1)}"

"""What lies in a folder, listed again only when the folder looks different: every request asks for its video's."""

from __future__ import annotations

import os
import time

__all__ = ["Listing"]

SETTLED = 2_000_000_000
"""Nanoseconds after which a folder's date stands for its content: clocks of file systems tick as slowly as this."""


class Listing:
    """The names in one folder; none if it is not there.

    Who relies on a name that is gone, or misses one that is there, calls :meth:`forget` and asks again.
    """

    def __init__(self, folder: str) -> None:
        self._folder = folder
        self._known: tuple[tuple[int, int], frozenset[str]] | None = None

    def names(self) -> frozenset[str]:
        """The names as they are now, as far as the folder's inode and date tell."""
        try:
            stat = os.stat(self._folder)
            look, known = (stat.st_ino, stat.st_mtime_ns), self._known
            if known is not None and known[0] == look:
                return known[1]
            names = frozenset(os.listdir(self._folder))
        except FileNotFoundError:
            self._known = None
            return frozenset()
        self._known = (look, names) if time.time_ns() - stat.st_mtime_ns > SETTLED else None
        return names

    def forget(self) -> None:
        """List anew next time, however the folder looks."""
        self._known = None

"""The one form of an annotation, whatever tool wrote it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from siming_tasks.common.errors import DataError, Problem

__all__ = ["MAX_BYTES", "MAX_MARKS", "MAX_SECONDS", "Mark", "Marks", "bounded", "joined", "short"]

MAX_BYTES = 32_000_000
"""Largest annotation file. An hour of video with 1,000 annotations has about 300,000 bytes."""
MAX_MARKS = 200_000
"""Annotations of one file."""
MAX_SECONDS = 1e6
"""Latest time; a later one (eleven days) is a date or a number of another unit."""


@dataclass(frozen=True)
class Mark:
    """One annotation.

    Attributes:
        words: what may say which step it shows, the most specific first (``tier / value``, the value, the tier).
        group: the tier, behaviour or label under which annotations that nobody knows are told together.
        videos: names that its video may have, the likeliest first.
        file: where it stands; ``line`` from 1 (None: the tool writes one line), ``where`` in its words.
        start: seconds of the video.
        end: seconds of the video.
        by: who made it, if the file says so.
        fault: why it is no span; a fault only if the annotation is used.
    """

    words: tuple[str, ...]
    group: str
    videos: tuple[str, ...]
    file: str
    line: int | None
    where: str
    start: float = 0.0
    end: float = 0.0
    by: str | None = None
    fault: Problem | None = None

    def problem(self, code: str, what: str, fix: str) -> Problem:
        """A finding about this annotation."""
        return Problem(code, f"{self.where}: {what}", fix, self.file, self.line)


@dataclass(frozen=True)
class Marks:
    """Annotations of a file, and findings about the file."""

    marks: tuple[Mark, ...]
    problems: tuple[Problem, ...] = ()


def joined(*words: str | None) -> tuple[str, ...]:
    """The names of an annotation: all its words together, then each, without repetition or empty ones."""
    found = [word.strip() for word in words if word and word.strip()]
    return tuple(dict.fromkeys(([" / ".join(found)] if len(found) > 1 else []) + found[::-1]))


def bounded(path: Path, marks: Iterable[Mark]) -> tuple[Mark, ...]:
    """The annotations, if they are not more than any exam has.

    Raises:
        DataError: they are.
    """
    marks = tuple(marks)
    if len(marks) > MAX_MARKS:
        raise DataError(f"{path}: {len(marks):,} annotations; at most {MAX_MARKS:,} are read. Export fewer at a time.")
    return marks


def short(text: object) -> str:
    """A stranger's text as it is quoted in a message."""
    shown = repr(text)
    return shown if len(shown) <= 80 else shown[:76] + "...'"

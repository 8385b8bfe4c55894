"""Annotations as the files of all annotation tools have them in common, and the interface of a file format."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path

from siming_tasks.common.errors import DataError, Problem
from siming_tasks.tools.builder.mapping import Words

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
    """Annotations of a file, and findings about the file.

    Raises:
        DataError: there are more than any exam has.
    """

    path: Path
    marks: tuple[Mark, ...]
    problems: tuple[Problem, ...] = ()

    def __post_init__(self) -> None:
        if (count := len(self.marks)) > MAX_MARKS:
            most = f"at most {MAX_MARKS:,} are read. Export fewer at a time."
            raise DataError(f"{self.path}: {count:,} annotations; {most}")


@dataclass(frozen=True)
class AnnotationFormat:
    """Files of one annotation tool.

    Attributes:
        name: of the tool.
        files: the files that are read, as messages call them.
        suffixes: of these files.
        read: the annotations of a file, given the mapping, the frames per second of spans that are counted in frames
            (None: unknown) and the encoding of a CSV file; None if the file is no such tool's but a sheet of ours.
        refused: the way out for files of other suffixes, by suffix.
    """

    name: str
    files: str
    suffixes: tuple[str, ...]
    read: Callable[[Path, Words, Fraction | None, str | None], Marks | None]
    refused: Mapping[str, str] = field(default_factory=dict)


def joined(words: Iterable[str]) -> tuple[str, ...]:
    """The names of an annotation: all its words together, then each, without repetition or empty ones."""
    parts = [word.strip() for word in words if word.strip()]
    return tuple(dict.fromkeys(([" / ".join(parts)] if len(parts) > 1 else []) + parts[::-1]))


def short(text: object) -> str:
    """A stranger's text as it is quoted in a message."""
    shown = repr(text)
    return shown if len(shown) <= 80 else shown[:76] + "...'"

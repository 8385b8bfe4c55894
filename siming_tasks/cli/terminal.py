"""Output of the commands: lines for people, findings about their data, tables; text from files cannot act.

Much of the output contains text from other people's files. Control characters in it must not move, colour or clear
anything on the terminal.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from itertools import groupby
from typing import TYPE_CHECKING, Any

from siming_tasks.common.errors import Problem
from siming_tasks.common.printed_value import counted
from siming_tasks.common.sanitize import literal, one_line, visible

if TYPE_CHECKING:
    from siming_tasks.data import Dataset
    from siming_tasks.study.report.table import Block

FOLDED = 3
"""Findings of one kind that are printed in full."""

_SEVERITIES = ("error", "warning", "note")
_BAR = re.compile(r"\r|\n*(\x1b\[A)*")
"""The control characters of a progress bar: back to the start of the line, and up to the line of another bar."""


class SafeStream:
    """A text stream that spells out control, zero-width and direction-changing characters before they are written.

    So no name in a file can colour, move or clear anything, whichever code prints it. Only a carriage return at the
    beginning of a write and moves between lines pass: progress bars need them. Characters that the stream's encoding
    lacks are written as escapes.
    """

    def __init__(self, stream: Any) -> None:
        self._stream = stream

    @property
    def bare(self) -> Any:
        """The stream behind it, for code that has made its text harmless already."""
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
    """Print a line for people."""
    print(text, file=sys.stderr if error else sys.stdout)


@contextmanager
def safe_terminal() -> Iterator[None]:
    """Standard output and error as :class:`SafeStream` streams within the block."""
    before = sys.stdout, sys.stderr
    sys.stdout, sys.stderr = SafeStream(sys.stdout), SafeStream(sys.stderr)
    try:
        yield
    finally:
        sys.stdout, sys.stderr = before


def print_json(value: Any, indent: int | None = None) -> None:
    """Print one JSON object; NaN and infinity raise, because JSON has neither."""
    import json  # few commands need it, and each starts faster without

    print(json.dumps(value, indent=indent, allow_nan=False))


def answer(as_json: bool, found: Mapping[str, Any], *blocks: Block | Iterable[Block]) -> None:
    """Print the JSON object of a command if ``as_json``, otherwise its blocks (:func:`show_markdown`)."""
    if as_json:
        print_json(found)
    else:
        show_markdown(*blocks)


def marked_name(dataset: Dataset) -> str:
    """The name of a data set, marked where its data are synthetic."""
    return f"{'SYNTHETIC ' if dataset.synthetic else ''}{dataset.name}"


def origin(dataset: Dataset) -> dict[str, Any]:
    """The data set of a JSON output."""
    facts = dict(dataset.facts)
    return {"dataset": facts.pop("name"), **facts, "synthetic": dataset.synthetic}


def title(dataset: Dataset) -> str:
    """The data set of a printed output, for its heading."""
    part = f", split {literal(dataset.part)}" if dataset.part else ""
    return f"{literal(dataset.name)} {literal(dataset.version)}{part}{', SYNTHETIC data' if dataset.synthetic else ''}"


def fold_problems(problems: Iterable[Problem], most: int | None = FOLDED, way_out: str = "") -> Iterator[str]:
    """A line for each finding, grouped by kind, in order of first appearance.

    Args:
        problems: the findings.
        most: number printed per kind; the others are counted and the next few places named. None: all.
        way_out: how to see each one, if possible.
    """
    kinds: dict[tuple[str, str], list[Problem]] = {}
    for problem in problems:
        kinds.setdefault((problem.severity, problem.code), []).append(problem)
    for (severity, code), of_kind in kinds.items():
        shown = of_kind if most is None or len(of_kind) <= most else of_kind[:most]
        yield from (f"{severity} [{code}] {problem}" for problem in shown)
        if rest := of_kind[len(shown) :]:
            places = []
            for problem in rest:
                file = one_line(problem.file) if problem.file else ""
                places.append(f"{file}:{problem.line}" if file and problem.line else file)
            places = [place for place, _ in groupby(places) if place]
            names = ", ".join(places[:3]) + (", ..." if len(places) > 3 else "")
            yield f"... and {len(rest)} more [{code}]{': ' * bool(names)}{names}{way_out}"


def count_problems(problems: Iterable[Problem]) -> str:
    """``2 errors, 1 warning``; notes are mentioned if there are any."""
    severities: list[str] = [problem.severity for problem in problems]
    return ", ".join(
        counted(severities.count(name), name) for name in _SEVERITIES if name != "note" or name in severities
    )


def show_problems(problems: Iterable[Problem], most: int = 20) -> None:
    """Findings on stderr; long lists of one kind are cut."""
    for line in fold_problems(problems, most):
        print(line, file=sys.stderr)


def show_markdown(*blocks: Block | Iterable[Block]) -> None:
    """Print paragraphs, headings and tables in the one style of all commands.

    On a terminal its width is kept and colours are used unless ``NO_COLOR`` is set; in a file or a pipe it is Markdown
    with aligned columns. Text is made harmless before it is drawn.

    Args:
        blocks: Markdown text, tables, or sections of both; a blank line is put between them.
    """
    from siming_tasks.study.report.table import drawable, to_markdown

    section: list[Block] = []
    for block in blocks:
        if isinstance(block, str) or not isinstance(block, Iterable):
            section.append(block)
        else:
            section += block
    section = [block.strip("\n") if isinstance(block, str) else block for block in section]
    stream = sys.stdout.bare if isinstance(sys.stdout, SafeStream) else sys.stdout
    if not stream.isatty():
        print(to_markdown(section, aligned=True), end="")
        return
    from rich.console import Console
    from rich.markdown import Markdown

    encoding = getattr(stream, "encoding", None) or "utf-8"
    console = Console(file=stream, highlight=False)
    for piece in drawable(section, console.width):
        if isinstance(piece, str):
            text = visible(piece).encode(encoding, "backslashreplace").decode(encoding)
            console.print(Markdown(text, hyperlinks=False))
            console.print()
        else:
            console.print(piece)

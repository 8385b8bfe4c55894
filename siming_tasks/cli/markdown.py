"""What commands print as Markdown: drawn on a terminal, aligned text everywhere else."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from itertools import groupby
from typing import TYPE_CHECKING, ClassVar

from siming_tasks.cli.terminal import Harmless
from siming_tasks.common.sanitize import visible

if TYPE_CHECKING:
    from rich.markdown import Markdown

__all__ = ["aligned", "show"]


def show(*parts: str | Iterable[str]) -> None:
    """Print paragraphs, headings and tables in the one style of all commands.

    On a terminal its width is kept and colours are used unless ``NO_COLOR`` is set; in a file or a pipe it is Markdown
    with aligned columns. Text is made harmless before it is drawn.

    Args:
        parts: Markdown, or lines of it; a blank line is put between them.
    """
    text = "\n\n".join(part if isinstance(part, str) else "\n".join(part) for part in parts).strip("\n")
    stream = sys.stdout.bare if isinstance(sys.stdout, Harmless) else sys.stdout
    if not stream.isatty():
        print(aligned(text))
        return
    from rich.console import Console

    encoding = getattr(stream, "encoding", None) or "utf-8"
    drawn = visible(text).encode(encoding, "backslashreplace").decode(encoding)
    Console(file=stream, highlight=False).print(_markdown(drawn))


def _markdown(text: str) -> Markdown:
    """The drawn text; a word too long for its column is broken, never cut."""
    from rich.console import Console, ConsoleOptions, RenderResult
    from rich.markdown import Markdown, TableElement
    from rich.table import Table

    class Whole(TableElement):
        def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
            for part in super().__rich_console__(console, options):
                for column in part.columns if isinstance(part, Table) else ():
                    column.overflow = "fold"
                yield part

    class Drawn(Markdown):
        elements: ClassVar = {**Markdown.elements, "table_open": Whole}

    return Drawn(text, hyperlinks=False)


def aligned(text: str) -> str:
    r"""The same Markdown with the columns of its tables padded to one width.

    Example:
        >>> print(aligned("| a | b |\n| :-- | --: |\n| long | 1 |"))
        | a    |  b |
        | :--- | -: |
        | long |  1 |
    """
    return "\n".join(
        line
        for is_table, lines in groupby(text.split("\n"), key=lambda line: line.startswith("|") and line.endswith("|"))
        for line in (_padded(list(lines)) if is_table else lines)
    )


def _padded(lines: list[str]) -> list[str]:
    from rich.cells import cell_len

    rows = [line.removeprefix("| ").removesuffix(" |").split(" | ") for line in lines]
    rows[1:2] = [[rule.strip() for rule in line.strip("|").split("|")] for line in lines[1:2]]
    if len({len(row) for row in rows}) != 1 or len(rows) < 2 or set("".join(rows[1])) - set(":-"):
        return lines  # not a table after all
    right = [rule.endswith(":") and not rule.startswith(":") for rule in rows[1]]
    widths = [max(2, *(cell_len(row[k]) for n, row in enumerate(rows) if n != 1)) for k in range(len(right))]
    rows[1] = [
        "-" * (w - 1) + ":" if to_right else ":" + "-" * (w - 1) for w, to_right in zip(widths, right, strict=True)
    ]
    return [
        "| "
        + " | ".join(
            " " * (w - cell_len(cell)) + cell if to_right else cell + " " * (w - cell_len(cell))
            for cell, w, to_right in zip(row, widths, right, strict=True)
        )
        + " |"
        for row in rows
    ]

"""The one way in which commands print prose and tables: drawn on a terminal, aligned Markdown everywhere else."""

from __future__ import annotations

import sys
from collections.abc import Iterable

from siming_tasks.cli.terminal import Harmless
from siming_tasks.common.sanitize import visible
from siming_tasks.report.table import Block, drawable, to_markdown

__all__ = ["show"]


def show(*blocks: Block | Iterable[Block]) -> None:
    """Print paragraphs, headings and tables in the one style of all commands.

    On a terminal its width is kept and colours are used unless ``NO_COLOR`` is set; in a file or a pipe it is Markdown
    with aligned columns. Text is made harmless before it is drawn.

    Args:
        blocks: Markdown text, tables, or sections of both; a blank line is put between them.
    """
    section: list[Block] = []
    for block in blocks:
        if isinstance(block, str) or not isinstance(block, Iterable):
            section.append(block)
        else:
            section += block
    section = [block.strip("\n") if isinstance(block, str) else block for block in section]
    stream = sys.stdout.bare if isinstance(sys.stdout, Harmless) else sys.stdout
    if not stream.isatty():
        print(to_markdown(section, aligned=True), end="")
        return
    from rich.console import Console
    from rich.markdown import Markdown

    encoding = getattr(stream, "encoding", None) or "utf-8"
    console = Console(file=stream, highlight=False)
    for piece in drawable(section):
        if isinstance(piece, str):
            text = visible(piece).encode(encoding, "backslashreplace").decode(encoding)
            console.print(Markdown(text, hyperlinks=False))
            console.print()
        else:
            console.print(piece)

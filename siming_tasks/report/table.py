"""The one table of the package: built once, written as Markdown, TeX or CSV, or drawn on a terminal.

Whatever prints a table builds a :class:`Table`. The cells say what they are, so that every form treats them rightly: a
:class:`Name` comes from strangers and is never taken for markup, a :class:`Number` keeps its full precision for CSV and
is rounded in the same way everywhere else, and any other text is the package's own. A *section* is a list of paragraphs
(Markdown) and tables in reading order.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

from siming_tasks.common.sanitize import cell as spreadsheet_cell
from siming_tasks.common.sanitize import literal, one_line

if TYPE_CHECKING:
    from rich.table import Table as RichTable

UNDEFINED_NOTE = "0.000* is undefined, printed as zero."
_STARRED_NUMBER = re.compile(r"\d\*")
_BARE_PIPE = re.compile(r"(?<!\\)((?:\\\\)*)\|")  # after an even number of backslashes
_TEX_SIGNS = {
    **{sign: f"\\{sign}" for sign in "&%$#_{}"},
    "[": "{[}",  # at the beginning of a row it would belong to the line break before
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    '"': r"\textquotedbl{}",
    "†": r"\textsuperscript{\dag}",
}
Cell = object
"""A :class:`Name`, a :class:`Number`, None (printed as ``-``), or what ``str`` writes, such as an estimate."""


class Name(str):
    """Text from strangers (a run, a rater, a step): literal in Markdown, TeX and CSV, and never drawn as markup."""

    __slots__ = ()


@dataclass(frozen=True)
class Number:
    """A value with its interval, if it has one.

    Attributes:
        value: None prints as ``-`` (``--`` in TeX, an empty cell in CSV).
        digits: after the point, in every form but CSV, which has full precision.
        percent: ``value`` is a share from 0 to 1, printed as a percentage with one digit.
        undefined: the formula is 0/0 here: marked with ``*``, and no value at all in TeX and CSV.
    """

    value: float | None
    low: float | None = None
    high: float | None = None
    digits: int = 3
    percent: bool = False
    undefined: bool = False

    def __str__(self) -> str:
        """``0.123 [0.045, 0.201]``, ``12.3 %``, ``0.000*`` or ``-``."""
        if self.value is None:
            return "-"
        if self.percent:
            return f"{100 * self.value:.1f} %"
        text = f"{self.value:.{self.digits}f}"
        text = (text if float(text) else text.removeprefix("-")) + "*" * self.undefined
        return text if self.low is None else f"{text} [{self.low:.{self.digits}f}, {self.high:.{self.digits}f}]"

    def to_tex(self) -> str:
        """The number in math mode, so that a minus sign is one."""
        if self.value is None or self.undefined:
            return "--"
        if self.percent:
            return rf"{100 * self.value:.1f}\,\%"
        text = f"${self.value:.{self.digits}f}$"
        return text if self.low is None else f"{text} $[{self.low:.{self.digits}f}, {self.high:.{self.digits}f}]$"


@dataclass(frozen=True)
class Column:
    """Heading of a column, the side its cells stand on, and the unit of its numbers (printed behind the heading)."""

    label: str
    align: Literal["left", "right", "center"] = "right"
    unit: str = ""

    @property
    def heading(self) -> str:
        """Label with unit, such as ``latency (s)``."""
        return f"{self.label} ({self.unit})" if self.unit else self.label


@dataclass(frozen=True)
class Table:
    """Columns and rows, with a caption and footnotes (a paragraph each) below them.

    ``rules`` are the positions of rows that a horizontal rule precedes, in TeX alone: the other forms have none.
    """

    columns: Sequence[Column]
    rows: Sequence[Sequence[Cell]]
    caption: str = ""
    notes: Sequence[str] = ()
    rules: Collection[int] = ()

    @classmethod
    def of(cls, labels: Iterable[str], rows: Iterable[Sequence[Cell]], *, left: Collection[int] = (0,),
           caption: str = "", notes: Sequence[str] = ()) -> Table:  # fmt: skip
        """A table whose columns of text are those at the positions ``left``; the others hold numbers."""
        columns = [Column(label, "left" if index in left else "right") for index, label in enumerate(labels)]
        return cls(columns, [tuple(row) for row in rows], caption, notes)

    def explained(self) -> Table:
        """The same table with a note on ``0.000*`` if a cell has such a mark."""
        starred = any(_STARRED_NUMBER.search(str(cell)) for row in self.rows for cell in row)
        return replace(self, notes=(*self.notes, UNDEFINED_NOTE)) if starred else self

    def to_markdown(self, *, aligned: bool = False) -> str:
        r"""GitHub-flavoured Markdown; ``aligned`` pads every column to one width for readers of plain text.

        Example:
            >>> print(Table.of(["run", "kappa"], [[Name("a|b"), "0.5"]]).to_markdown(aligned=True))
            | run  | kappa |
            | :--- | ----: |
            | a\|b |   0.5 |
        """
        rows: list[Sequence[Cell]] = [[column.heading for column in self.columns], *self.rows]
        cells = [
            [literal(cell) if isinstance(cell, Name) else _BARE_PIPE.sub(r"\1\|", _text(cell)) for cell in row]
            for row in rows
        ]
        rules = [{"left": ":--", "right": "--:", "center": ":-:"}[column.align] for column in self.columns]
        if aligned:
            cells, rules = self._padded(cells)
        lines = ["| " + " | ".join(row) + " |" for row in (cells[0], rules, *cells[1:])]
        return "\n\n".join(["\n".join(lines), *self.below()])

    def to_tex(self) -> str:
        """A ``tabular`` with booktabs rules; the caption is its last row, over all columns."""
        kinds = "".join(column.align[0] for column in self.columns)
        lines = [rf"\begin{{tabular}}{{{kinds}}}", r"\toprule"]
        lines += [" & ".join(escape_tex(column.heading) for column in self.columns) + r" \\", r"\midrule"]
        for place, row in enumerate(self.rows):
            lines += [r"\midrule"] if place in self.rules and place else []
            lines.append(" & ".join(map(_tex_cell, row)) + r" \\")
        if self.caption:
            width = rf"\multicolumn{{{len(self.columns)}}}{{p{{.9\linewidth}}}}"
            lines += [r"\midrule", rf"{width}{{\footnotesize {self.caption}}} \\"]
        return "\n".join([*lines, r"\bottomrule", r"\end{tabular}"])

    def to_csv(self) -> str:
        """Comma-separated lines; numbers in full precision, empty where there is none, no text that is a formula."""
        stream = io.StringIO()
        lines = csv.writer(stream, lineterminator="\n")
        lines.writerow([column.heading for column in self.columns])
        lines.writerows([_csv_cell(cell) for cell in row] for row in self.rows)
        return stream.getvalue()

    def to_rich(self) -> RichTable:
        """The table for a terminal; a word too long for its column is broken, never cut."""
        from rich.box import SIMPLE
        from rich.table import Table as RichTable
        from rich.text import Text

        style: Any = {"header_style": "bold cyan", "border_style": "cyan"}
        drawn = RichTable(box=SIMPLE, pad_edge=False, collapse_padding=True, **style)
        for column in self.columns:
            drawn.add_column(Text(one_line(column.heading)), justify=column.align, overflow="fold")
        for row in self.rows:
            drawn.add_row(*(Text(_text(cell)) for cell in row))
        return drawn

    def below(self) -> list[str]:
        """Paragraphs below the table: caption and notes."""
        return [*([self.caption] if self.caption else []), *self.notes]

    def _padded(self, cells: list[list[str]]) -> tuple[list[list[str]], list[str]]:
        """Cells and rules of one width a column; wide signs (CJK) count as two."""
        from rich.cells import cell_len

        widths = [max(2, *(cell_len(row[k]) for row in cells)) for k in range(len(self.columns))]
        rules = []
        for width, column in zip(widths, self.columns, strict=True):
            starts, ends = column.align != "right", column.align != "left"
            rules.append(":" * starts + "-" * (width - starts - ends) + ":" * ends)

        def pad(text: str, width: int, column: Column) -> str:
            space = " " * (width - cell_len(text))
            return space + text if column.align == "right" else text + space

        return [[pad(*item) for item in zip(row, widths, self.columns, strict=True)] for row in cells], rules


Block = str | Table
Section = list[Block]


def to_markdown(section: Iterable[Block], *, aligned: bool = False) -> str:
    """Paragraphs and tables as one Markdown text, a blank line between them."""
    parts = [block.to_markdown(aligned=aligned) if isinstance(block, Table) else block for block in section]
    return "\n\n".join(parts) + "\n"


def drawable(section: Iterable[Block]) -> Iterator[Any]:
    """Pieces that a terminal draws for a section: Markdown text, and rich tables with their notes."""
    for block in section:
        yield from [block] if isinstance(block, str) else [block.to_rich(), *block.below()]


def escape_tex(text: str) -> str:
    """Any text as one line of plain words for LaTeX: nothing in it is a command."""
    return "".join(_TEX_SIGNS.get(letter, letter) for letter in one_line(text))


def _text(cell: Cell) -> str:
    return one_line("-" if cell is None else cell)


def _tex_cell(cell: Cell) -> str:
    if isinstance(cell, Number):
        return cell.to_tex()
    return "--" if cell is None else escape_tex(str(cell))


def _csv_cell(cell: Cell) -> object:
    if isinstance(cell, Number):
        return "" if cell.undefined else cell.value  # csv writes None as an empty cell
    return cell if cell is None or isinstance(cell, int | float) else spreadsheet_cell(one_line(cell))

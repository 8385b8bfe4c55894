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
from string import ascii_letters
from typing import TYPE_CHECKING, Any

from siming_tasks.common.printed_value import NOT_COMPARABLE, fixed, share_text
from siming_tasks.common.sanitize import cell as spreadsheet_cell
from siming_tasks.common.sanitize import literal, one_line
from siming_tasks.study.words import say

if TYPE_CHECKING:
    from rich.table import Table as RichTable
    from rich.text import Text

COMPARABLE_NOTE = say("not comparable")
NO_DATA_NOTE = "-: undefined or not applicable."
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
    '"': r"{\char34}",  # \textquotedbl is not in every encoding of fonts
    "†": r"\textsuperscript{\dag}",
    "‡": r"\textsuperscript{\ddag}",
    "⟦": "{[}{[}",
    "⟧": "]]",
}
_CJK = re.compile(r"[\u2e80-\uffef\U00020000-\U0003ffff]+")
CJK_COMMAND = r"""% Chinese in names: pdfLaTeX needs \usepackage{CJKutf8}; with XeLaTeX or LuaLaTeX define \cjk as {#1}.
\providecommand{\cjk}[1]{\begin{CJK*}{UTF8}{gbsn}#1\end{CJK*}}
"""
LEAST, WIDEST = 12, 24
"""Columns of a terminal that a column of text has at least, and one of numbers at most."""
Cell = object
"""A :class:`Name`, a :class:`Number`, None (printed as ``-``), or what ``str`` writes, such as an estimate."""


class Name(str):
    """Text from strangers (a run, a rater, a step): literal in Markdown, TeX and CSV, and never drawn as markup."""

    __slots__ = ()


@dataclass(frozen=True)
class Number:
    """A value with its interval.

    Attributes:
        value: None prints as ``-`` (``--`` in TeX, an empty cell in CSV): there is none.
        low: lower end of the interval; ``high`` is the upper end. None without one.
        percent: ``value`` is a share from 0 to 1, printed as a percentage with one digit.
        signed: a difference, printed with its sign.
        comparable: False marks it with ``‡``.
        limits: sentences on why there is no value or no interval, and on what it rests; pages state each once.
        href: on pages, where the number leads.
    """

    value: float | None
    low: float | None = None
    high: float | None = None
    percent: bool = False
    signed: bool = False
    comparable: bool = True
    limits: tuple[str, ...] = ()
    href: str = ""

    @property
    def marks(self) -> str:
        """The mark behind the value; none where there is no value."""
        return "" if self.value is None or self.comparable else NOT_COMPARABLE

    @property
    def text(self) -> str:
        """The value alone, with its mark."""
        return "-" if self.value is None else self._one(self.value) + self.marks

    @property
    def interval(self) -> str:
        """The interval in brackets; empty without one."""
        if self.value is None or self.low is None or self.high is None:
            return ""
        return f"[{self._one(self.low)}, {self._one(self.high)}]"

    def __str__(self) -> str:
        """``0.123 [0.045, 0.201]``, ``12.3 %``, ``0.328‡`` or ``-``."""
        return f"{self.text} {self.interval}".rstrip()

    def to_tex(self) -> str:
        """The number in math mode, so that a minus sign is one, with a raised mark."""
        if self.value is None:
            return "--"
        value, interval = (text.replace(" %", r"\,\%") for text in (self._one(self.value), self.interval))
        mark = r"\textsuperscript{\ddag}" if self.marks else ""
        return f"${value}${mark}" + (f" ${interval}$" if interval else "")

    def _one(self, value: float) -> str:
        if self.percent:
            return share_text(value)
        text = fixed(value)
        return f"+{text}" if self.signed and float(text) > 0 else text


def limit_codes(numbers: Iterable[Number]) -> dict[str, str]:
    """Codes of the limits of numbers: letters, and an empty one for what every interval (without any: value) has.

    Example:
        >>> limit_codes([Number(0.5, 0.4, 0.6, limits=("Few videos.",)), Number(None, limits=("0/0.", "Few videos."))])
        {'Few videos.': '', '0/0.': 'a'}
    """
    numbers = list(numbers)
    met = list(dict.fromkeys(limit for number in numbers for limit in number.limits))
    valued = [number for number in numbers if number.limits and number.value is not None]
    known = [number for number in numbers if number.interval] or valued
    every = [limit for limit in met if known and all(limit in each.limits for each in known)]
    letters = zip((limit for limit in met if limit not in every), ascii_letters, strict=False)
    return dict.fromkeys(every, "") | dict(letters)


@dataclass(frozen=True)
class Table:
    """Heads of columns and rows, with a caption and footnotes (a paragraph each, plain words) below them.

    Columns of text are those at the positions ``left``; the others contain numbers.
    """

    heads: Sequence[str]
    rows: Sequence[Sequence[Cell]]
    left: Collection[int] = (0,)
    caption: str = ""
    notes: Sequence[str] = ()

    @property
    def limits(self) -> dict[str, str]:
        """Codes of the limits of its numbers."""
        return limit_codes(cell for row in self.rows for cell in row if isinstance(cell, Number))

    def explained(self) -> Table:
        """The same table with a note on each mark that a cell has."""
        numbers = [cell for row in self.rows for cell in row if isinstance(cell, Number)]
        due = {COMPARABLE_NOTE: any(number.marks for number in numbers),
               NO_DATA_NOTE: any(number.value is None for number in numbers)}  # fmt: skip
        return replace(self, notes=(*self.notes, *(note for note, said in due.items() if said)))

    def to_markdown(self, *, aligned: bool = False) -> str:
        r"""GitHub-flavoured Markdown; ``aligned`` pads every column to one width for readers of plain text.

        Example:
            >>> print(Table(["run", "kappa"], [[Name("a|b"), "0.5"]]).to_markdown(aligned=True))
            | run  | kappa |
            | :--- | ----: |
            | a\|b |   0.5 |
        """
        cells = [list(map(_markdown_cell, row)) for row in (self.heads, *self.rows)]
        rules = [":--" if place in self.left else "--:" for place in range(len(self.heads))]
        if aligned:
            cells, rules = self._padded(cells)
        lines = ["| " + " | ".join(row) + " |" for row in (cells[0], rules, *cells[1:])]
        return "\n\n".join(["\n".join(lines), *self.below()])

    def to_tex(self) -> str:
        r"""A ``tabular`` with booktabs rules; caption and notes are below."""
        kinds = "".join("l" if place in self.left else "r" for place in range(len(self.heads)))
        head, *rows = (" & ".join(map(_tex_cell, row)) + r" \\" for row in (self.heads, *self.rows))
        lines = [rf"\begin{{tabular}}{{{kinds}}}", r"\toprule", head, r"\midrule", *rows, r"\bottomrule"]
        lines.append(r"\end{tabular}")
        if below := " ".join(map(escape_tex, [*([self.caption] if self.caption else []), *self.notes])):
            lines.append(rf"\par\smallskip\parbox{{\linewidth}}{{\raggedright {below}}}")
        return "\n".join(lines)

    def to_csv(self) -> str:
        """Comma-separated lines; numbers in full precision, empty where there is none, no text that is a formula.

        A column in which some number has an interval has two more behind it, with its ends.
        """
        stream = io.StringIO()
        lines = csv.writer(stream, lineterminator="\n")
        wide = [any(isinstance(cell, Number) and cell.interval for cell in cells)
                for cells in zip(*self.rows, strict=True)] or [False] * len(self.heads)  # fmt: skip
        heads = [(head, *(f"{head} {end}" for end in ("low", "high") if more))
                 for head, more in zip(self.heads, wide, strict=True)]  # fmt: skip
        lines.writerow([head for part in heads for head in part])
        for row in self.rows:
            cells = [(_csv_cell(cell), *(getattr(cell, end, None) for end in ("low", "high") if more))
                     for cell, more in zip(row, wide, strict=True)]  # fmt: skip
            lines.writerow([cell for part in cells for cell in part])
        return stream.getvalue()

    def to_rich(self, width: int = 80) -> RichTable | Text:
        """The table for a terminal: no number and no interval is broken; long words are, none is cut.

        Where the lines are longer than ``width``, intervals have a line of their own; where that is not enough, each
        row is a block with a line for each cell.
        """
        from rich.box import SIMPLE
        from rich.table import Table as RichTable
        from rich.text import Text

        heads = [one_line(head) for head in self.heads]
        cells, fixed_widths = [[_text(cell) for cell in row] for row in self.rows], [0] * len(heads)
        if sum(_longest(column) + 2 for column in zip(heads, *cells, strict=True)) > width:
            cells = [[_on_lines(cell) for cell in row] for row in self.rows]
            for place, (head, *column) in enumerate(zip(heads, *cells, strict=True)):
                if place not in self.left and _longest(column) <= WIDEST:
                    fixed_widths[place] = max(_longest(column), _longest(head.split()))
            if sum((need or LEAST) + 2 for need in fixed_widths) > width:
                return Text("\n\n".join("\n".join(_block(heads, row)) for row in self.rows) + "\n")
        style: Any = {"header_style": "bold cyan", "border_style": "cyan"}
        drawn = RichTable(box=SIMPLE, pad_edge=False, collapse_padding=True, **style)
        for place, head in enumerate(heads):
            side: Any = "left" if place in self.left else "right"
            drawn.add_column(Text(head), justify=side, overflow="fold", width=fixed_widths[place] or None)
        for row in cells:
            drawn.add_row(*map(Text, row))
        return drawn

    def below(self) -> list[str]:
        """Paragraphs below the table: caption and notes."""
        notes = [literal(note) if isinstance(note, Name) else note for note in self.notes]
        return [*([self.caption] if self.caption else []), *notes]

    def _padded(self, cells: list[list[str]]) -> tuple[list[list[str]], list[str]]:
        """Cells and rules of one width a column; wide signs (CJK) count as two."""
        from rich.cells import cell_len

        widths = [max(2, *map(cell_len, column)) for column in zip(*cells, strict=True)]
        rules = [":" + "-" * (width - 1) if place in self.left else "-" * (width - 1) + ":"
                 for place, width in enumerate(widths)]  # fmt: skip

        def pad(text: str, place: int) -> str:
            space = " " * (widths[place] - cell_len(text))
            return text + space if place in self.left else space + text

        return [[pad(text, place) for place, text in enumerate(row)] for row in cells], rules


Block = str | Table
Section = list[Block]


def to_markdown(section: Iterable[Block], *, aligned: bool = False) -> str:
    """Paragraphs and tables as one Markdown text, a blank line between them."""
    parts = [block.to_markdown(aligned=aligned) if isinstance(block, Table) else block for block in section]
    return "\n\n".join(parts) + "\n"


def tex_file(table: Table) -> str:
    r"""A table as a file for ``\input``: what the preamble needs, and the float."""
    tex = table.to_tex()
    return "% Needs \\usepackage{booktabs}.\n" + CJK_COMMAND * (r"\cjk{" in tex) + tex + "\n"


def drawable(section: Iterable[Block], width: int = 80) -> Iterator[Any]:
    """Pieces that a terminal of this width draws for a section: Markdown text, and tables with their notes."""
    for block in section:
        yield from [block] if isinstance(block, str) else [block.to_rich(width), *block.below()]


def escape_tex(text: str, *, breakable: bool = False) -> str:
    """Any text as one line of plain words for LaTeX: nothing in it is a command.

    ``breakable`` lets a name break behind its signs and within long words.
    """
    line = one_line(text)
    if breakable:
        line = re.sub(r"(?<=[/_.:@])(?=.)|(?<=\w{12})(?=\w{4})", "\0", line)
    escaped = "".join(_TEX_SIGNS.get(letter, letter) for letter in line).replace("\0", r"\allowbreak{}")
    return _CJK.sub(lambda signs: rf"\cjk{{{signs[0]}}}", escaped)


def _text(cell: Cell) -> str:
    return one_line("-" if cell is None else cell)


def _on_lines(cell: Cell) -> str:
    """A cell whose interval has its own line."""
    return f"{cell.text}\n{cell.interval}".rstrip() if isinstance(cell, Number) else _text(cell)


def _longest(texts: Iterable[str]) -> int:
    """Columns of a terminal that the longest line of some texts takes."""
    from rich.cells import cell_len

    return max((cell_len(line) for text in texts for line in text.split("\n")), default=0)


def _block(heads: Sequence[str], row: Sequence[Cell]) -> Iterator[str]:
    """A row as lines: its first cell, then each other one behind its head."""
    yield _text(row[0])
    yield from (f"  {head}: {_text(cell)}" for head, cell in zip(heads[1:], row[1:], strict=True))


def _markdown_cell(cell: Cell) -> str:
    if isinstance(cell, Name):
        return literal(cell)
    return str(cell) if isinstance(cell, Number) else _BARE_PIPE.sub(r"\1\|", _text(cell))


def _tex_cell(cell: Cell) -> str:
    if isinstance(cell, Number):
        return cell.to_tex()
    return "--" if cell is None else escape_tex(str(cell), breakable=isinstance(cell, Name))


def _csv_cell(cell: Cell) -> object:
    if isinstance(cell, Number):
        return cell.value  # csv writes None as an empty cell
    return cell if cell is None or isinstance(cell, int | float) else spreadsheet_cell(one_line(cell))

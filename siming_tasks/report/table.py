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
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal

from siming_tasks.common.printed_value import NOT_COMPARABLE, fixed, share_text
from siming_tasks.common.sanitize import cell as spreadsheet_cell
from siming_tasks.common.sanitize import literal, one_line
from siming_tasks.common.words import say

if TYPE_CHECKING:
    from rich.table import Table as RichTable

COMPARABLE_NOTE = say("not comparable")
NO_DATA_NOTE = "-: no data."
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
        digits: after the point, in every form but CSV, which has full precision.
        percent: ``value`` is a share from 0 to 1, printed as a percentage with one digit.
        signed: a difference, printed with its sign.
        comparable: False marks it with ``‡``.
        bold: printed in bold.
        why: why there is no value, or no interval; on pages it shows on hover.
        href: on pages, where the number leads.
    """

    value: float | None
    low: float | None = None
    high: float | None = None
    digits: int = 3
    percent: bool = False
    signed: bool = False
    comparable: bool = True
    bold: bool = False
    why: str = ""
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

    def to_markdown(self) -> str:
        """The number, its value in bold where it is to be."""
        if not self.bold or self.value is None:
            return str(self)
        return f"**{self.text}** {self.interval}".rstrip()

    def to_tex(self) -> str:
        """The number in math mode, so that a minus sign is one, with a raised mark."""
        if self.value is None:
            return "--"
        value, interval = (text.replace(" %", r"\,\%") for text in (self._one(self.value), self.interval))
        value = rf"\mathbf{{{value}}}" if self.bold else value
        mark = r"\textsuperscript{\ddag}" if self.marks else ""
        return f"${value}${mark}" + (f" ${interval}$" if interval else "")

    def _one(self, value: float) -> str:
        if self.percent:
            return share_text(value)
        text = fixed(value, self.digits)
        return f"+{text}" if self.signed and float(text) > 0 else text


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
    """Columns and rows, with a caption and footnotes (a paragraph each, plain words) below them.

    ``groups`` are titles by the position of the row before which they stand, with a rule where the form has rules;
    CSV has none. ``label`` makes a float of the table in TeX, for a reference to it.
    """

    columns: Sequence[Column]
    rows: Sequence[Sequence[Cell]]
    caption: str = ""
    notes: Sequence[str] = ()
    groups: Mapping[int, str] = field(default_factory=dict)
    label: str = ""

    @classmethod
    def of(cls, labels: Iterable[str], rows: Iterable[Sequence[Cell]], *, left: Collection[int] = (0,),
           caption: str = "", notes: Sequence[str] = ()) -> Table:  # fmt: skip
        """A table whose columns of text are those at the positions ``left``; the others hold numbers."""
        columns = [Column(label, "left" if index in left else "right") for index, label in enumerate(labels)]
        return cls(columns, [tuple(row) for row in rows], caption, notes)

    def explained(self) -> Table:
        """The same table with a note on each mark that a cell has."""
        numbers = [cell for row in self.rows for cell in row if isinstance(cell, Number)]
        due = {COMPARABLE_NOTE: any(number.marks for number in numbers),
               NO_DATA_NOTE: any(number.value is None for number in numbers)}  # fmt: skip
        return replace(self, notes=(*self.notes, *(note for note, said in due.items() if said)))

    def to_markdown(self, *, aligned: bool = False) -> str:
        r"""GitHub-flavoured Markdown; ``aligned`` pads every column to one width for readers of plain text.

        Example:
            >>> print(Table.of(["run", "kappa"], [[Name("a|b"), "0.5"]]).to_markdown(aligned=True))
            | run  | kappa |
            | :--- | ----: |
            | a\|b |   0.5 |
        """
        rows: list[Sequence[Cell]] = [[column.heading for column in self.columns], *self.rows]
        cells = [list(map(_markdown_cell, row)) for row in rows]
        for place, title in sorted(self.groups.items(), reverse=True):
            cells.insert(place + 1, self._group_row(f"*{title}*"))
        rules = [{"left": ":--", "right": "--:", "center": ":-:"}[column.align] for column in self.columns]
        if aligned:
            cells, rules = self._padded(cells)
        lines = ["| " + " | ".join(row) + " |" for row in (cells[0], rules, *cells[1:])]
        return "\n\n".join(["\n".join(lines), *self.below()])

    def to_tex(self) -> str:
        """A ``tabular`` with booktabs rules, in a float if it has a label; caption and notes stand below.

        In a float columns of text wrap within what the numbers leave of the line.
        """
        wide = r">{\raggedright\arraybackslash}X" if self.label else "l"
        kinds = "".join(wide if column.align == "left" else column.align[0] for column in self.columns)
        begin, end = ("{tabularx}{\\linewidth}", "{tabularx}") if self.label else ("{tabular}", "{tabular}")
        lines = [rf"\begin{begin}{{{kinds}}}", r"\toprule"]
        lines += [" & ".join(escape_tex(column.heading) for column in self.columns) + r" \\", r"\midrule"]
        for place, row in enumerate(self.rows):
            if place in self.groups:
                group = rf"\multicolumn{{{len(self.columns)}}}{{l}}{{\emph{{{escape_tex(self.groups[place])}}}}} \\"
                lines += [*[r"\midrule"] * bool(place), group]
            lines.append(" & ".join(map(_tex_cell, row)) + r" \\")
        lines += [r"\bottomrule", rf"\end{end}"]
        below = " ".join(map(escape_tex, [*([self.caption] if self.caption and not self.label else []), *self.notes]))
        lines += [rf"\par\smallskip\parbox{{\linewidth}}{{\raggedright {below}}}"] if below else []
        if self.label:
            head = [r"\begin{table}[t]", r"\centering", rf"\caption{{{escape_tex(self.caption)}}}",
                    rf"\label{{{self.label}}}", r"\footnotesize\setlength{\tabcolsep}{3.5pt}"]  # fmt: skip
            lines = [*head, *lines, r"\end{table}"]
        return "\n".join(lines)

    def to_csv(self) -> str:
        """Comma-separated lines; numbers in full precision, empty where there is none, no text that is a formula.

        A column in which some number has an interval has two more behind it, with its ends.
        """
        stream = io.StringIO()
        lines = csv.writer(stream, lineterminator="\n")
        wide = [any(isinstance(cell, Number) and cell.interval for cell in cells)
                for cells in zip(*self.rows, strict=True)] or [False] * len(self.columns)  # fmt: skip
        heads = [(column.heading, *(f"{column.heading} {end}" for end in ("low", "high") if more))
                 for column, more in zip(self.columns, wide, strict=True)]  # fmt: skip
        lines.writerow([head for part in heads for head in part])
        for row in self.rows:
            cells = [(_csv_cell(cell), *(getattr(cell, end, None) for end in ("low", "high") if more))
                     for cell, more in zip(row, wide, strict=True)]  # fmt: skip
            lines.writerow([cell for part in cells for cell in part])
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
        for place, row in enumerate(self.rows):
            if place in self.groups:
                drawn.add_section()
                drawn.add_row(*map(Text, self._group_row(self.groups[place])), style="italic")
            drawn.add_row(*(Text(_text(cell), style="bold" if getattr(cell, "bold", False) else "") for cell in row))
        return drawn

    def below(self) -> list[str]:
        """Paragraphs below the table: caption and notes."""
        notes = [literal(note) if isinstance(note, Name) else note for note in self.notes]
        return [*([self.caption] if self.caption else []), *notes]

    def _group_row(self, title: str) -> list[str]:
        """A row with a title of a group in the first column of text, and nothing else."""
        place = next((k for k, column in enumerate(self.columns) if column.align == "left"), 0)
        return [title if k == place else "" for k in range(len(self.columns))]

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


def tex_file(table: Table) -> str:
    r"""A table as a file for ``\input``: what the preamble needs, and the float."""
    tex = table.to_tex()
    return "% Needs \\usepackage{booktabs,tabularx}.\n" + CJK_COMMAND * (r"\cjk{" in tex) + tex + "\n"


def drawable(section: Iterable[Block]) -> Iterator[Any]:
    """Pieces that a terminal draws for a section: Markdown text, and rich tables with their notes."""
    for block in section:
        yield from [block] if isinstance(block, str) else [block.to_rich(), *block.below()]


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


def _markdown_cell(cell: Cell) -> str:
    if isinstance(cell, Name):
        return literal(cell)
    return cell.to_markdown() if isinstance(cell, Number) else _BARE_PIPE.sub(r"\1\|", _text(cell))


def _tex_cell(cell: Cell) -> str:
    if isinstance(cell, Number):
        return cell.to_tex()
    return "--" if cell is None else escape_tex(str(cell), breakable=isinstance(cell, Name))


def _csv_cell(cell: Cell) -> object:
    if isinstance(cell, Number):
        return cell.value  # csv writes None as an empty cell
    return cell if cell is None or isinstance(cell, int | float) else spreadsheet_cell(one_line(cell))

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
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

from siming_tasks.common.printed_value import NOT_COMPARABLE, UNDEFINED, fixed, marks, share_text
from siming_tasks.common.sanitize import cell as spreadsheet_cell
from siming_tasks.common.sanitize import literal, one_line

if TYPE_CHECKING:
    from rich.table import Table as RichTable

UNDEFINED_NOTE = "0.000* is undefined, printed as zero."
COMPARABLE_NOTE = (
    f"{NOT_COMPARABLE} not comparable: rests on too little of what was asked; do not compare it with complete rows."
)
IMPUTED_NOTE = 'Imputed: every missing answer as full points or "correct", the value by which rows are ranked.'
NO_DATA_NOTE = "-: no data."
_STARRED_NUMBER = re.compile(r"\d\*")
_TEX_MARKS = {UNDEFINED: "*", NOT_COMPARABLE: r"\ddag"}
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
    "‡": r"\textsuperscript{\ddag}",
}
Cell = object
"""A :class:`Name`, a :class:`Number`, None (printed as ``-``), or what ``str`` writes, such as an estimate."""


class Name(str):
    """Text from strangers (a run, a rater, a step): literal in Markdown, TeX and CSV, and never drawn as markup."""

    __slots__ = ()


@dataclass(frozen=True)
class Number:
    """A value with its interval and its state: undefined, not comparable, another one once missing answers are imputed.

    Attributes:
        value: None prints as ``-`` (``--`` in TeX, an empty cell in CSV): no data.
        digits: after the point, in every form but CSV, which has full precision.
        percent: ``value`` is a share from 0 to 1, printed as a percentage with one digit.
        undefined: the formula is 0/0 here: marked with ``*``, and no value at all in CSV.
        comparable: False marks it with ``‡``.
        imputed: the value by which rows are ranked, printed behind it where it is another one.
    """

    value: float | None
    low: float | None = None
    high: float | None = None
    digits: int = 3
    percent: bool = False
    undefined: bool = False
    comparable: bool = True
    imputed: Number | None = None

    @classmethod
    def of(
        cls, estimate: Mapping[str, Any], imputed: Mapping[str, Any] | None = None, *, interval: bool = True
    ) -> Number:
        """The number of an estimate in its JSON form, and of the one with missing answers imputed."""
        low, high = (estimate["low"], estimate["high"]) if interval else (None, None)
        same = imputed is None or all(imputed[key] == estimate[key] for key in ("value", "undefined"))
        ranked = None if same else cls.of({**(imputed or {}), "flags": ()}, interval=interval)
        comparable = "not-comparable" not in estimate["flags"]
        return cls(estimate["value"], low, high, undefined=bool(estimate["undefined"]), comparable=comparable,
                   imputed=ranked)  # fmt: skip

    @property
    def marks(self) -> str:
        """The marks behind the value; none where there is no value."""
        return "" if self.value is None else marks(self.undefined, () if self.comparable else ("not-comparable",))

    def __str__(self) -> str:
        """``0.123 [0.045, 0.201]``, ``12.3 %``, ``0.000*``, ``0.474‡ (imputed: 0.328)`` or ``-``."""
        return self._written(tex=False)

    def to_tex(self) -> str:
        """The number in math mode, so that a minus sign is one, with raised marks."""
        return self._written(tex=True)

    def _written(self, *, tex: bool) -> str:
        math = "$" if tex else ""
        if self.value is None:
            text = "--" if tex else "-"
        else:
            number = f"{math}{fixed(self.value, self.digits)}{math}"
            share = share_text(self.value).replace(" %", r"\,\%" if tex else " %")
            raised = "".join(_TEX_MARKS[mark] for mark in self.marks)
            marked = rf"\textsuperscript{{{raised}}}" if tex and raised else self.marks
            text = (share if self.percent else number) + marked
        if self.low is not None and self.high is not None:
            text += f" {math}[{fixed(self.low, self.digits)}, {fixed(self.high, self.digits)}]{math}"
        return text if self.imputed is None else f"{text} (imputed: {self.imputed._written(tex=tex)})"


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
        """The same table with a note on each mark that a cell has."""
        numbers = [cell for row in self.rows for cell in row if isinstance(cell, Number)]
        texts = [str(cell) for row in self.rows for cell in row]
        due = {
            UNDEFINED_NOTE: any(map(_STARRED_NUMBER.search, texts)),
            COMPARABLE_NOTE: any(NOT_COMPARABLE in text for text in texts),
            IMPUTED_NOTE: any(number.imputed for number in numbers),
            NO_DATA_NOTE: any(number.value is None for number in numbers),
        }
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
        """A ``tabular`` with booktabs rules; caption and notes are its last row, over all columns."""
        kinds = "".join(column.align[0] for column in self.columns)
        lines = [rf"\begin{{tabular}}{{{kinds}}}", r"\toprule"]
        lines += [" & ".join(escape_tex(column.heading) for column in self.columns) + r" \\", r"\midrule"]
        for place, row in enumerate(self.rows):
            lines += [r"\midrule"] if place in self.rules and place else []
            lines.append(" & ".join(map(_tex_cell, row)) + r" \\")
        if below := " ".join([*([self.caption] if self.caption else []), *map(escape_tex, self.notes)]):
            width = rf"\multicolumn{{{len(self.columns)}}}{{p{{.9\linewidth}}}}"
            lines += [r"\midrule", rf"{width}{{\footnotesize {below}}} \\"]
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
        notes = [literal(note) if isinstance(note, Name) else note for note in self.notes]
        return [*([self.caption] if self.caption else []), *notes]

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


def flag_notes(estimates: Mapping[str, Iterable[Mapping[str, Any]]]) -> list[str]:
    """A sentence on each flag that estimates (in their JSON form, by the name of their row) carry beside their marks.

    A flag that not every row carries is told with the rows that do.
    """
    from siming_tasks.metrics.estimate import FLAGS  # not at import time: arrays

    rows = {name: {flag for estimate in row for flag in estimate["flags"]} for name, row in estimates.items()}
    notes: list[str] = []
    for flag, sentence in FLAGS.items():
        carriers = [name for name, flags in rows.items() if flag in flags]
        if carriers and flag != "not-comparable":
            which = "" if len(carriers) == len(rows) else f"{', '.join(carriers)}: "
            notes.append(Name(which + sentence))
    return notes


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

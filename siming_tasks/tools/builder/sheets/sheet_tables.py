"""A sheet's heading and the rows below it, wherever the heading stands and whether it has one line or two."""

from __future__ import annotations

import itertools
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from siming_tasks.common.errors import DataError, Problem
from siming_tasks.common.files import open_regular
from siming_tasks.data.jsonl import read_jsonl
from siming_tasks.tools.builder.sheets.cell_values import folded, number, plain, text_of, trimmed
from siming_tasks.tools.builder.sheets.workbook import MAX_SHEET, WORKBOOKS, Grid, Line, csv_grids, xlsx_grids

__all__ = ["Column", "Sheet", "SheetRow", "read_table"]

ABOVE = 20
"""Lines in which the heading is looked for; a title, a date and a ward may stand above it."""
_JOINT = " / "


@dataclass(frozen=True)
class Column:
    """A column: its name, and the two lines of its heading if there are two (``parts``)."""

    name: str
    parts: tuple[str, ...]


@dataclass(frozen=True)
class SheetRow:
    """One row: its line (CSV, JSONL) or row number (XLSX), and its cells by column name; empty cells are absent.

    ``merged`` names the cells that repeat what a merged cell says further up or to the left.
    """

    number: int
    cells: dict[str, Any]
    merged: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Sheet:
    """A worksheet (or file): its title, the columns in order (empty ones included), the rows, findings."""

    title: str | None
    columns: tuple[Column, ...]
    rows: tuple[SheetRow, ...]
    file: str
    problems: tuple[Problem, ...]


def read_table(
    path: Path, encoding: str | None = None, marks: Sequence[str] = ("video_id",)
) -> tuple[tuple[Sheet, ...], list[Problem]]:
    """The sheets of a file, and findings about the file.

    Args:
        path: ``.csv``, ``.tsv``, ``.xlsx`` or ``.jsonl``.
        encoding: of a CSV file; None: by byte-order mark, else UTF-8, else GB 18030 (with a warning).
        marks: headings by which the heading's line is known; without one, it is the first line.

    Raises:
        DataError: the file as a whole cannot be read.
    """
    try:
        with open_regular(path) as stream:
            size, head = os.fstat(stream.fileno()).st_size, stream.read(64)
    except OSError as error:
        raise DataError(f"{path}: {error.strerror}. Give the label sheet's path.") from None
    if size > MAX_SHEET:
        raise DataError(f"{path}: {size:,} bytes; a label sheet has at most {MAX_SHEET:,}.")
    problems: list[Problem] = []
    kind = _kind(path, head, problems)
    if kind == ".jsonl":
        sheets = [_jsonl(path)]
    else:
        known = {folded(mark) for mark in marks}
        grids = xlsx_grids(path) if kind == ".xlsx" else csv_grids(path, encoding, known, problems)
        several = sum(bool(grid.lines) for grid in grids) > 1
        sheets = [_sheet(f"{path} [{grid.title}]" if several else str(path), grid, known) for grid in grids]
    if not problems and not any(sheet.rows or sheet.problems for sheet in sheets):
        raise DataError(f"{path}: no row below the heading. Is it the right file or sheet?")
    return tuple(sheets), problems


def _kind(path: Path, head: bytes, problems: list[Problem]) -> str:
    """Kind of a file: a workbook by its first bytes, whatever its name; else by its suffix."""
    suffix = path.suffix.lower()
    workbook = head.startswith(WORKBOOKS)
    if not workbook and suffix not in (".csv", ".tsv", ".txt", ".xlsx", ".jsonl"):
        raise DataError(f"{path}: a sheet is .csv, .tsv, .xlsx or .jsonl. Save it as one of these (.xls as .xlsx).")
    text = head.strip() and not head.startswith(b"PK") and not set(head) & {*range(9), *range(14, 32)}
    kind = ".xlsx" if workbook or (suffix == ".xlsx" and not text) else ".csv" if suffix == ".xlsx" else suffix
    if (kind == ".xlsx") != (suffix == ".xlsx"):
        what = f"is {'a workbook' if workbook else 'plain text'} by its content, and read as {kind}."
        problems.append(Problem("file-type", what, f"Call it {kind}.", str(path), severity="warning"))
    return kind


def _sheet(file: str, grid: Grid, known: set[str]) -> Sheet:
    problems = list(grid.problems)
    if not grid.lines:
        return Sheet(grid.title, (), (), file, tuple(problems))
    at = next((i for i, line in enumerate(grid.lines[:ABOVE]) if known & set(map(folded, line.cells))), 0)
    if at:
        above = (str(cell) for line in grid.lines[:at] for cell in dict.fromkeys(line.cells) if cell is not None)
        what = f"what stands above the heading is not read: {' '.join(above)[:80]!r}."
        first = grid.lines[0].number
        problems.append(Problem("title-left-out", what, "Nothing to do.", file, first, severity="warning"))
    head, below = _names(grid.lines[at]), grid.lines[at + 1 :]
    second = _second(head, below, known)
    columns = _joined(head, second) if second else [_column(name) for name in head]
    names = [column.name for column in columns if column]
    for name in sorted({name for name in names if names.count(name) > 1}):
        what, fix = f"column {name!r} appears twice.", "Rename one."
        problems.append(Problem("column-twice", what, fix, file, grid.lines[at].number))
    rows = _rows(file, columns, below[1:] if second else below, problems)
    unique = {column.name: column for column in columns if column}
    return Sheet(grid.title, tuple(unique.values()), tuple(rows), file, tuple(problems))


def _names(line: Line) -> list[str | None]:
    """The headings of a line; a merged one stands in its first column only."""
    cells = [None if index in line.merged else plain(text_of(cell)) for index, cell in enumerate(line.cells)]
    return [str(cell) if cell is not None else None for cell in cells]


def _second(head: list[str | None], below: Sequence[Line], known: set[str]) -> list[str | None]:
    """The second line of the heading, if there is one: it has words where the first is empty, and names no video."""
    if not below:
        return []
    second = _names(below[0])
    pairs = list(itertools.zip_longest(head, second))
    words = all(name is None or number(name) is None for name in second)
    fills = any(top is None and name is not None for top, name in pairs)
    marked = [name for top, name in pairs if top is not None and folded(top) in known]
    return second if words and fills and marked and not any(marked) else []


def _column(name: str | None) -> Column | None:
    return None if name is None else Column(name, (name,))


def _joined(head: Sequence[str | None], second: Sequence[str | None]) -> list[Column | None]:
    """Headings of two lines: what stands above a group of columns belongs to all of them."""
    columns: list[Column | None] = []
    above: str | None = None
    for top, name in itertools.zip_longest(head, second):
        if top is not None:
            above = top
        if name is None:
            above = None
            columns.append(_column(top))
        else:
            columns.append(Column(f"{above}{_JOINT}{name}", (above, name)) if above else _column(name))
    return columns


def _rows(
    file: str, columns: Sequence[Column | None], lines: Sequence[Line], problems: list[Problem]
) -> list[SheetRow]:
    rows: list[SheetRow] = []
    nameless: dict[int, int] = {}
    for line in lines:
        if any(cell is not None for cell in line.cells[len(columns) :]):
            what = f"{len(line.cells)} cells under {len(columns)} headings."
            fix = "A comma inside a cell needs quotes around the cell; a further column needs a heading."
            problems.append(Problem("row-too-long", what, fix, file, line.number))
            continue
        cells: dict[str, Any] = {}
        merged: set[str] = set()
        for index, (column, cell) in enumerate(zip(columns, line.cells, strict=False)):
            if cell is None:
                continue
            if column is None:
                nameless.setdefault(index, line.number)
            elif column.name not in cells:
                cells[column.name] = cell
                merged |= {column.name} if index in line.merged else set()
        if cells:
            rows.append(SheetRow(line.number, cells, frozenset(merged)))
    for index, first in nameless.items():
        what = f"column {_letter(index)} has cells but no heading."
        fix = "Write its heading; below a merged heading, write the rater's (or step's) name in a second line."
        problems.append(Problem("heading-empty", what, fix, file, first))
    return rows


def _letter(index: int) -> str:
    """A, B, ... Z, AA: the spreadsheet's name of a column."""
    text = ""
    index += 1
    while index:
        index, rest = divmod(index - 1, 26)
        text = chr(65 + rest) + text
    return text


def _jsonl(path: Path) -> Sheet:
    problems: list[Problem] = []
    columns: dict[str, Column] = {}
    rows = []
    for line, row in read_jsonl(path, str(path)):
        if isinstance(row, Problem):
            problems.append(row)
            continue
        cells: dict[str, Any] = {}
        for key, value in row.items():
            name = str(plain(key))
            if name in cells:
                what = f"column {name!r} appears twice."
                problems.append(Problem("column-twice", what, "Rename one.", str(path), line))
            cells[name] = trimmed(value)
            columns.setdefault(name, Column(name, (name,)))
        if cells := {name: value for name, value in cells.items() if value is not None}:
            rows.append(SheetRow(line, cells))
    return Sheet(None, tuple(columns.values()), tuple(rows), str(path), tuple(problems))

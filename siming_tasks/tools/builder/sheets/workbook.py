"""Sheets as people save them, line by line: CSV in any common encoding, and every worksheet of an XLSX file."""

from __future__ import annotations

import codecs
import csv
import io
import re
import struct
import zipfile
import zlib
from bisect import bisect_left, bisect_right
from collections.abc import Set
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from siming_tasks.common.errors import DataError, Problem
from siming_tasks.common.files import read_bytes
from siming_tasks.tools.builder.sheets.cell_values import folded, trimmed

__all__ = ["MAX_SHEET", "WORKBOOKS", "Grid", "Line", "csv_grids", "xlsx_grids"]

MAX_SHEET = 64_000_000
"""Largest sheet in bytes (for XLSX: unpacked). 200 videos of 33 steps make about half a megabyte."""
MAX_ROWS, MAX_COLUMNS = 2_000_000, 2_000
"""Largest table: 20,000 videos of 33 steps have 660,000 rows, or some hundred columns."""
MAX_COPIES = 10_000_000
"""Cells that merged cells may cover."""

_BOMS = ((codecs.BOM_UTF8, "utf-8-sig"), (codecs.BOM_UTF16_LE, "utf-16"), (codecs.BOM_UTF16_BE, "utf-16"))
_OLE = b"\xd0\xcf\x11\xe0"
WORKBOOKS = (b"PK\x03\x04", b"PK\x05\x06", _OLE)
"""How workbooks begin: an archive, or an old or protected one."""
_MERGED = re.compile(rb'<(?:\w+:)?mergeCell\s[^>]*?ref="\$?([A-Z]{1,3})\$?(\d{1,7}):\$?([A-Z]{1,3})\$?(\d{1,7})"')
_NOT_COMPUTED = re.compile(
    rb'<(?:\w+:)?c\s[^>]*?r="([A-Z]{1,3}\d{1,7})"[^>]*><(?:\w+:)?f(?:\s[^>]*)?(?:/>|>[^<]*</(?:\w+:)?f>)'
    rb"(?:<(?:\w+:)?v\s*/>|<(?:\w+:)?v></(?:\w+:)?v>)?</(?:\w+:)?c>"
)
_BROKEN = (
    *(zipfile.BadZipFile, zlib.error, struct.error, EOFError, OSError, RuntimeError, SyntaxError, AssertionError),
    *(LookupError, ValueError, TypeError, AttributeError, ArithmeticError),
)
"""What openpyxl and the archive raise over damaged files."""


@dataclass(frozen=True)
class Line:
    """One line that is not empty: its number, its cells (None: empty), and which cells repeat a merged cell's value."""

    number: int
    cells: list[Any]
    merged: frozenset[int] = frozenset()


@dataclass(frozen=True)
class Grid:
    """A worksheet, or a CSV file (no title)."""

    title: str | None
    lines: list[Line]
    problems: tuple[Problem, ...] = ()


def csv_grids(path: Path, encoding: str | None, known: Set[str], problems: list[Problem]) -> list[Grid]:
    """The lines of a CSV file; its separator is that of the line with a ``known`` heading, else of the first."""
    text = _text(path, encoding, problems)
    if "\0" in text:
        raise DataError(f"{path}: holds NUL characters; not a text file. Save the sheet as CSV (UTF-8).")
    head = [line for line in text.splitlines() if line.strip()][:20]
    spoken = (
        mark for line in head for mark in "\t;," if known & {folded(cell.strip('" ')) for cell in line.split(mark)}
    )
    delimiter = next(spoken, max("\t;,", key=(head or [""])[0].count))
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    try:
        lines = [Line(reader.line_num, list(map(trimmed, cells))) for cells in reader if any(map(str.strip, cells))]
    except csv.Error as error:
        raise DataError(f"{path}:{reader.line_num}: not CSV: {error}. Check the quotes of that line.") from None
    for line in lines:
        _bounded(path, line.number, len(line.cells))
    return [Grid(None, lines)]


def _text(path: Path, encoding: str | None, problems: list[Problem]) -> str:
    data = read_bytes(path, MAX_SHEET)
    known = encoding or next((name for mark, name in _BOMS if data.startswith(mark)), None)
    for name in [known] if known else ["utf-8", "gb18030"]:
        try:
            text = data.decode(name)
        except (UnicodeDecodeError, LookupError):
            continue
        if name == "gb18030":
            fix = "Check that names look right, or save it as UTF-8; --encoding names another."
            what = "not UTF-8; read as GB 18030 (GBK)."
            problems.append(Problem("encoding-gbk", what, fix, str(path), severity="warning"))
        return text
    raise DataError(f"{path}: neither {known or 'UTF-8 nor GB 18030'} text. Save it as UTF-8, or give --encoding.")


def xlsx_grids(path: Path) -> list[Grid]:
    """The lines of every worksheet; merged cells stand in every cell that they cover."""
    from openpyxl import load_workbook

    data = read_bytes(path, MAX_SHEET)
    if data.startswith(_OLE):
        raise DataError(f"{path}: an old .xls file or protected by a password. Save it as .xlsx without a password.")
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            if sum(item.file_size for item in archive.infolist()) > MAX_SHEET:
                raise DataError(f"{path}: unpacks to more than {MAX_SHEET:,} bytes; not a label sheet.")
            names = archive.namelist()
            if any("/chartsheets/" in name for name in names) and not any("/worksheets/" in name for name in names):
                raise DataError(f"{path}: holds charts only, no sheet of cells. Give the workbook with the scores.")
            book = load_workbook(io.BytesIO(data), read_only=True, data_only=True)
            try:
                grids = [_grid(path, each, archive.read(each._worksheet_path)) for each in book.worksheets]
            finally:
                book.close()
    except _BROKEN as error:
        raise DataError(f"{path}: not a readable .xlsx file ({error}). Save it again or as CSV.") from None
    if not grids:
        raise DataError(f"{path}: a workbook without a sheet. Give the workbook with the scores.")
    return grids


def _bounded(path: Path, number: int, cells: int) -> None:
    if number > MAX_ROWS or cells > MAX_COLUMNS:
        most = f"at most {MAX_ROWS:,} rows and {MAX_COLUMNS:,} columns are read"
        raise DataError(f"{path}:{number}: {most}. Delete what lies beyond the table, or save it as CSV.")


def _grid(path: Path, sheet: Any, xml: bytes) -> Grid:
    problems = []
    if missing := [place.decode() for place in _NOT_COMPUTED.findall(xml)]:
        what = f"sheet {sheet.title!r}: formulas without a result in {', '.join(missing[:5])}"
        what += f" and {len(missing) - 5} more cells." if len(missing) > 5 else "."
        fix = "Open it in a spreadsheet program and save it, or write the values."
        problems.append(Problem("formula-empty", what, fix, str(path)))
    sheet.reset_dimensions()  # what the file says of its own size is often wrong, and cells beyond it would be lost
    lines = []
    for number, row in enumerate(sheet.iter_rows(values_only=True), 1):
        _bounded(path, number, len(row))
        values = list(map(trimmed, row))
        while values and values[-1] is None:
            values.pop()
        if values:
            lines.append(Line(number, values))
    return Grid(sheet.title, _spread(path, lines, xml), tuple(problems))


def _spread(path: Path, lines: list[Line], xml: bytes) -> list[Line]:
    """Give every cell under a merged one its value, and remember that it is a copy."""
    from openpyxl.utils import column_index_from_string

    numbers = [line.number for line in lines]
    copies: dict[int, set[int]] = {}
    work = 0
    for left, top, right, bottom in _MERGED.findall(xml):
        first, last = (column_index_from_string(name.decode()) - 1 for name in (left, right))
        covered = lines[bisect_left(numbers, int(top)) : bisect_right(numbers, int(bottom))]
        if not covered or covered[0].number != int(top) or first >= len(covered[0].cells):
            continue  # an empty cell
        work += len(covered) * (last + 1 - first)
        if work > MAX_COPIES:
            raise DataError(f"{path}: merged cells cover more than any label sheet has. Undo the merging.")
        value = covered[0].cells[first]
        for line in covered if value is not None else ():
            line.cells.extend([None] * (last + 1 - len(line.cells)))
            for column in range(first, last + 1):
                if line.cells[column] is None:
                    line.cells[column] = value
                    copies.setdefault(line.number, set()).add(column)
    return [Line(line.number, line.cells, frozenset(copies.get(line.number, ()))) for line in lines]

"""Sheets as people save them: CSV in any common encoding, XLSX, JSON Lines; every cell as plain text or number."""

from __future__ import annotations

import codecs
import csv
import io
import os
import unicodedata
import zipfile
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from siming_tasks.data.jsonl import read_jsonl
from siming_tasks.errors import DataError, Problem
from siming_tasks.files import open_regular, read_bytes
from siming_tasks.plaintext import cell_text

__all__ = ["MAX_SHEET", "Sheet", "SheetRow", "plain", "read_table"]

MAX_SHEET = 64_000_000
"""Largest sheet in bytes (for XLSX: unpacked). 200 videos of 33 steps make about half a megabyte."""

MAX_ROWS, MAX_COLUMNS = 2_000_000, 2_000
"""Largest table: 20,000 videos of 33 steps have 660,000 rows, or some hundred columns."""

_BROKEN = (zipfile.BadZipFile, zlib.error, ArithmeticError, AttributeError, EOFError, LookupError, OSError, SyntaxError,
           TypeError, ValueError)  # fmt: skip
"""What openpyxl raises over a damaged file (a ``SyntaxError`` is XML's)."""

_BOMS = ((codecs.BOM_UTF8, "utf-8-sig"), (codecs.BOM_UTF16_LE, "utf-16"), (codecs.BOM_UTF16_BE, "utf-16"))


@dataclass(frozen=True)
class SheetRow:
    """One row: its line (CSV, JSONL) or row number (XLSX), and its cells by column name; empty cells are absent."""

    number: int
    cells: dict[str, Any]


@dataclass(frozen=True)
class Sheet:
    """The columns in order (empty ones included), the rows, and findings about single lines."""

    columns: tuple[str, ...]
    rows: tuple[SheetRow, ...]
    problems: tuple[Problem, ...]


def read_table(path: Path, encoding: str | None = None) -> Sheet:
    """The rows of a sheet.

    Args:
        path: ``.csv``, ``.tsv``, ``.xlsx`` or ``.jsonl``.
        encoding: of a CSV file; None: by byte-order mark, else UTF-8, else GB 18030 (with a warning).

    Raises:
        DataError: the file as a whole cannot be read.
    """
    reader = {".csv": _csv, ".tsv": _csv, ".txt": _csv, ".xlsx": _xlsx, ".jsonl": _jsonl}.get(path.suffix.lower())
    if reader is None:
        raise DataError(f"{path}: a sheet is .csv, .tsv, .xlsx or .jsonl. Save it as one of these (.xls as .xlsx).")
    try:
        with open_regular(path) as stream:
            size = os.fstat(stream.fileno()).st_size
    except OSError as error:
        raise DataError(f"{path}: {error.strerror}. Give the label sheet's path.") from None
    if size > MAX_SHEET:
        raise DataError(f"{path}: {size:,} bytes; a label sheet has at most {MAX_SHEET:,}.")
    problems: list[Problem] = []
    columns: dict[str, None] = {}
    rows = [row for row in reader(path, encoding, columns, problems) if row.cells]
    if not rows and not problems:
        raise DataError(f"{path}: no row below the heading. Is it the right file or sheet?")
    return Sheet(tuple(columns), tuple(rows), tuple(problems))


def plain(value: Any) -> Any:
    """A cell as text or number: full-width forms folded, blanks trimmed; None if nothing is left.

    The apostrophe before a formula, which our own tables have (:func:`siming_tasks.plaintext.cell`), is taken off.
    """
    if isinstance(value, str):
        value = cell_text(unicodedata.normalize("NFKC", value).replace("\ufeff", "").strip())
    return None if value == "" else value


def _rows(
    path: Path, lines: Iterable[tuple[int, list[Any]]], columns: dict[str, None], problems: list[Problem]
) -> Iterator[SheetRow]:
    """Rows below the first line that is not empty, which is the heading; its names are added to ``columns``."""
    head: list[Any] = []
    for number, values in lines:
        if number > MAX_ROWS or len(values) > MAX_COLUMNS:
            most = f"at most {MAX_ROWS:,} rows and {MAX_COLUMNS:,} columns are read"
            raise DataError(f"{path}:{number}: {most}. Delete what lies beyond the table, or save it as CSV.")
        cells = [plain(value) for value in values]
        if not head:
            head = [None if cell is None else str(cell) for cell in cells]
            names = [name for name in head if name]
            if twice := [name for name in names if names.count(name) > 1]:
                raise DataError(f"{path}:{number}: column {twice[0]!r} appears twice. Rename one.")
            columns.update(dict.fromkeys(names))
            continue
        if any(cell is not None for cell in cells[len(head) :]):
            what = f"{len(cells)} cells under {len(head)} headings."
            fix = "A comma inside a cell needs quotes around the cell."
            problems.append(Problem("row-too-long", what, fix, str(path), number))
            continue
        yield SheetRow(
            number, {name: cell for name, cell in zip(head, cells, strict=False) if name and cell is not None}
        )


def _csv(path: Path, encoding: str | None, columns: dict[str, None], problems: list[Problem]) -> Iterator[SheetRow]:
    text = _text(path, encoding, problems)
    if "\0" in text:
        raise DataError(f"{path}: holds NUL characters; not a text file. Save the sheet as CSV (UTF-8).")
    first = next((line for line in text.splitlines() if line.strip()), "")
    delimiter = max("\t;,", key=first.count)
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    try:
        lines = ((reader.line_num, cells) for cells in reader if any(map(str.strip, cells)))
        yield from _rows(path, lines, columns, problems)
    except csv.Error as error:
        raise DataError(f"{path}:{reader.line_num}: not CSV: {error}. Check the quotes of that line.") from None


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


def _xlsx(path: Path, _: str | None, columns: dict[str, None], problems: list[Problem]) -> Iterator[SheetRow]:
    from openpyxl import load_workbook
    from openpyxl.utils.exceptions import InvalidFileException

    data = io.BytesIO(read_bytes(path, MAX_SHEET))  # in memory: openpyxl leaves the file of a broken sheet open
    try:
        with zipfile.ZipFile(data) as archive:
            if sum(item.file_size for item in archive.infolist()) > MAX_SHEET:
                raise DataError(f"{path}: unpacks to more than {MAX_SHEET:,} bytes; not a label sheet.")
        book = load_workbook(data, read_only=True, data_only=True)
    except (*_BROKEN, InvalidFileException) as error:
        raise DataError(f"{path}: not a readable .xlsx file ({error}). Save it again or as CSV.") from None
    try:
        sheet = book.worksheets[0]
        if len(book.worksheets) > 1:
            what = f"{len(book.worksheets)} sheets; only the first, {sheet.title!r}, is read."
            problems.append(Problem("sheets-ignored", what, "Move it to the front.", str(path), severity="warning"))
        sheet.reset_dimensions()  # what it says of its size would be filled up with empty cells
        lines = enumerate(map(list, sheet.iter_rows(values_only=True)), 1)
        yield from _rows(path, lines, columns, problems)
    except _BROKEN as error:
        raise DataError(f"{path}: not a readable .xlsx file ({error}). Save it again or as CSV.") from None
    finally:
        book.close()


def _jsonl(path: Path, _: str | None, columns: dict[str, None], problems: list[Problem]) -> Iterator[SheetRow]:
    for number, row in read_jsonl(path, str(path)):
        if isinstance(row, Problem):
            problems.append(row)
        else:
            cells = {str(plain(name)): plain(value) for name, value in row.items()}
            columns.update(dict.fromkeys(cells))
            yield SheetRow(number, {name: value for name, value in cells.items() if value is not None})

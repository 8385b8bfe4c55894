"""Workbooks (``.xlsx``) of strangers: sheets row by row, bounded in bytes, elements, rows and columns."""

from __future__ import annotations

import io
import posixpath
import re
import struct
import zipfile
import zlib
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from siming_tasks.common.errors import DataError
from siming_tasks.common.files import read_bytes

MAX_UNPACKED = 64_000_000
"""Bytes of a workbook's parts, unpacked. A label sheet of 200 videos of 33 steps has about half a megabyte."""
MAX_ELEMENTS = 10_000_000
"""Tags in the sheets: a cell has four. About a million a second are read, however short they are."""
MAX_OTHER = 400_000
"""Tags in all other parts, of which a second takes twenty thousand: a shared string has four."""
MAX_ROWS, MAX_COLUMNS = 2_000_000, 2_000
"""Largest table: 20,000 videos of 33 steps have 660,000 rows, or some hundred columns."""

OLE = b"\xd0\xcf\x11\xe0"
"""How an old workbook, or one with a password, begins."""
_CHUNK = 1 << 20
_BROKEN = (
    *(zipfile.BadZipFile, zlib.error, struct.error, EOFError, OSError, RuntimeError, SyntaxError, AssertionError),
    *(LookupError, ValueError, TypeError, AttributeError, ArithmeticError),
)
"""What openpyxl and the archive raise over damaged files."""


@dataclass(frozen=True)
class Worksheet:
    """A sheet of cells: title, whether it is shown, rows of openpyxl's cells with their numbers, XML, and its book.

    ``noted`` are the cells that have a comment.
    """

    title: str
    is_visible: bool
    rows: Iterator[tuple[int, Sequence[Any]]]
    xml: bytes
    book: Any
    noted: tuple[str, ...] = ()


def cell_value(cell: Any) -> Any:
    """The value of a cell, its text without a workbook's escapes."""
    from openpyxl.utils.escape import unescape

    value = str(cell.value) if isinstance(cell.value, list) else cell.value  # text in several fonts
    return unescape(value) if isinstance(value, str) else value


@contextmanager
def open_workbook(path: Path, *, most: int = MAX_UNPACKED, rich: bool = False) -> Iterator[list[Worksheet]]:
    """Provide the sheets of a workbook; their rows are read while the block runs.

    Args:
        path: the file.
        most: bytes of its parts, unpacked.
        rich: text in several fonts as the list of its pieces.

    Raises:
        DataError: it is no workbook, an old or protected one, a damaged one, or larger than is read.
    """
    from openpyxl import load_workbook

    data = read_bytes(path, most)
    if data.startswith(OLE):
        raise DataError(f"{path}: an old .xls file or protected by a password. Save it as .xlsx without a password.")
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            _check_size(path, archive, most)
            names = archive.namelist()
            if any("/chartsheets/" in name for name in names) and not any("/worksheets/" in name for name in names):
                raise DataError(f"{path}: holds charts only, no sheet of cells. Give the workbook with the scores.")
            how = {"data_only": True, "keep_links": False, "rich_text": rich}
            book = load_workbook(io.BytesIO(data), read_only=True, **how)
            with closing(book):
                if not book.worksheets:
                    raise DataError(f"{path}: a workbook without a sheet. Give the workbook with the scores.")
                yield [
                    Worksheet(
                        sheet.title,
                        sheet.sheet_state == "visible",
                        _rows(path, sheet),
                        archive.read(sheet._worksheet_path),
                        book,
                        _noted(archive, sheet._worksheet_path),
                    )
                    for sheet in book.worksheets
                ]
    except _BROKEN as error:
        why = str(error) or type(error).__name__
        raise DataError(f"{path}: not a readable .xlsx file ({why}). Save it again or as CSV.") from None


_PART = re.compile(rb'Target="([^"<>]{0,200}comments[^"<>]{0,99}\.xml)"')
_NOTE = re.compile(rb'<(?:\w{1,20}:)?comment\s[^<>]{0,99}?ref="([A-Z]{1,3}\d{1,7})"')


def _noted(archive: zipfile.ZipFile, sheet: str) -> tuple[str, ...]:
    """Cells of a sheet that have a comment: openpyxl leaves comments out where it reads row by row."""
    folder, _, name = sheet.rpartition("/")
    names, places = {*archive.namelist()}, dict[str, None]()
    if (relations := f"{folder}/_rels/{name}.rels") in names:
        for target in _PART.findall(archive.read(relations)):
            part = posixpath.normpath(posixpath.join(f"/{folder}", target.decode("utf-8", "replace"))).lstrip("/")
            notes = _NOTE.findall(archive.read(part)) if part in names else []
            places.update((place.decode(), None) for place in notes)
    return tuple(places)


def _check_size(path: Path, archive: zipfile.ZipFile, most: int) -> None:
    """Refuse what would take all memory or hours: by the bytes that are stated, then by the tags that are there."""
    if sum(part.file_size for part in archive.infolist()) > most:
        raise DataError(f"{path}: unpacks to more than {most:,} bytes. Delete what is no table, or save it as CSV.")
    sheets = others = 0
    for part in archive.infolist():
        with archive.open(part) as stream:
            tags = sum(chunk.count(b"<") for chunk in iter(partial(stream.read, _CHUNK), b""))
        if "/worksheets/" in part.filename:
            sheets += tags
        else:
            others += tags
    if sheets > MAX_ELEMENTS or others > MAX_OTHER:
        what = f"more than {MAX_ELEMENTS:,} tags in its sheets, or {MAX_OTHER:,} beside them"
        raise DataError(f"{path}: {what}. Delete what is no table, or save it as CSV.")


def _rows(path: Path, sheet: Any) -> Iterator[tuple[int, Sequence[Any]]]:
    """The rows of a sheet, numbered from 1."""
    sheet.reset_dimensions()  # what the file says of its own size is often wrong, and cells beyond it would be lost
    for number, row in enumerate(sheet.iter_rows(), 1):
        if number > MAX_ROWS or len(row) > MAX_COLUMNS:
            limits = f"at most {MAX_ROWS:,} rows and {MAX_COLUMNS:,} columns are read"
            fix = "Delete what lies beyond the table, or save it as CSV."
            raise DataError(f"{path} [{sheet.title}]:{number}: {limits}. {fix}")
        yield number, row

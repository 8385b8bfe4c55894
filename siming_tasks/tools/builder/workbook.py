"""Workbooks (``.xlsx``) as grids of text.

Merged and hidden cells, formulas without a value, struck-out or white text and numbers that are shown otherwise than
they are stored are refused: nobody could say which of the two was meant. Comments and conditional formats are named.
"""

from __future__ import annotations

import datetime
import io
import struct
import warnings
import zipfile
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from siming_tasks.common.errors import DataError, Problem
from siming_tasks.common.files import read_bytes
from siming_tasks.common.printed_value import counted
from siming_tasks.common.sanitize import cell_text, one_line
from siming_tasks.tools.builder.label_rows import NAMES

MAX_UNPACKED = 64_000_000
"""Bytes of a workbook's parts, unpacked. A sheet of 200 videos of 33 steps has about half a megabyte."""
MAX_TAGS, MAX_OTHER = 1_000_000, 200_000
"""Tags in the sheets and in all other parts: a cell has four, and a shared string as many, which take longer."""
MAX_COVERED = 100_000
"""Cells that merged cells and links may cover: each of them is made."""
MAX_ROWS, MAX_COLUMNS = 1_000_000, 2_000

_OLE = b"\xd0\xcf\x11\xe0"
"""How an old workbook, or one with a password, begins."""
_SMALLER = "Delete everything except the table, or save it as CSV (UTF-8)."
_BROKEN = (
    *(zipfile.BadZipFile, zlib.error, struct.error, EOFError, OSError, RuntimeError, SyntaxError, AssertionError),
    *(LookupError, ValueError, TypeError, AttributeError, ArithmeticError),
)
"""What openpyxl and the archive raise over damaged files."""
_LOWEST, _NARROWEST = 5, 1
"""Points of a row's height and characters of a column's width below which nobody reads what is there."""
_STRICT = b"purl.oclc.org/ooxml"
"""Name space of a Strict Open XML workbook, in which openpyxl finds no sheet."""
_DECIMALS = {"General": None, "@": None, "0": 0, "0.0": 1, "0.00": 2}
"""Number formats of a table, and the decimals that they show (None: all)."""


@dataclass(frozen=True)
class Grid:
    """Rows of a table as text: ``file`` with the sheet's title if there are several, rows by their numbers from 1."""

    file: str
    rows: list[tuple[int, list[str]]]
    problems: list[Problem]


def read_workbook(path: Path) -> list[Grid]:
    """The sheets of a workbook that are not empty.

    Raises:
        DataError: it is not a workbook, or an old, protected, damaged or too large one.
    """
    from openpyxl import load_workbook

    data = read_bytes(path, MAX_UNPACKED)
    if data.startswith(_OLE):
        raise DataError(f"{path}: an old .xls file or protected by a password. Save it as .xlsx without a password.")
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            _check_size(path, archive)
            strict = "xl/workbook.xml" in archive.namelist() and _STRICT in archive.read("xl/workbook.xml")
        if strict:
            raise DataError(f"{path}: a Strict Open XML workbook. Save it as Excel Workbook (.xlsx), without `Strict`.")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of parts that are not read, such as lists from another sheet
            values = load_workbook(io.BytesIO(data), data_only=True, rich_text=True)
            formulas = load_workbook(io.BytesIO(data))
        sheets = [sheet for sheet in values.worksheets if sheet._cells]
        names = [f"{path} [{sheet.title}]" if len(sheets) > 1 else str(path) for sheet in sheets]
        grids = [_grid(name, sheet, formulas[sheet.title]) for name, sheet in zip(names, sheets, strict=True)]
        return [grid for grid in grids if grid.rows]
    except _BROKEN as error:
        why = str(error) or type(error).__name__
        raise DataError(f"{path}: not a readable .xlsx file ({why}). Save it again, or as CSV (UTF-8).") from None


def _check_size(path: Path, archive: zipfile.ZipFile) -> None:
    """Refuse what would take all memory or hours: by the bytes that are stated, then by the tags that are there."""
    if sum(part.file_size for part in archive.infolist()) > MAX_UNPACKED:
        raise DataError(f"{path}: unpacks to more than {MAX_UNPACKED:,} bytes. {_SMALLER}")
    tags = {True: 0, False: 0}
    covered = 0
    for part in archive.infolist():
        data = archive.read(part)
        tags["/worksheets/" in part.filename] += data.count(b"<")
        if tags[True] > MAX_TAGS or tags[False] > MAX_OTHER:
            what = f"more than {MAX_TAGS:,} tags in its sheets, or {MAX_OTHER:,} elsewhere"
            raise DataError(f"{path}: {what}. {_SMALLER}")
        covered += sum(_covered(data)) if b"ref" in data.replace(b"\0", b"") else 0
    if covered > MAX_COVERED:
        raise DataError(f"{path}: merged cells or links cover more than {MAX_COVERED:,} cells. {_SMALLER}")


def _covered(data: bytes) -> Iterator[int]:
    """Cells below each merged cell and each link of a part."""
    from openpyxl.utils import range_boundaries

    for _, tag in ElementTree.iterparse(io.BytesIO(data), ["start"]):
        if tag.tag.rpartition("}")[2] in ("mergeCell", "hyperlink") and "ref" in tag.attrib:
            left, top, right, bottom = (int(edge or 0) for edge in range_boundaries(tag.attrib["ref"]))
            yield (right - left + 1) * (bottom - top + 1)


def _grid(file: str, sheet: Any, formulas: Any) -> Grid:
    """The rows of a sheet, and one finding for each way in which rows, or cells of a column, are seen otherwise."""
    if sheet.max_row > MAX_ROWS or sheet.max_column > MAX_COLUMNS:
        limits = f"at most {MAX_ROWS:,} rows and {MAX_COLUMNS:,} columns are read"
        raise DataError(f"{file}:{sheet.max_row}: {limits}. Delete everything outside the table.")
    rows: dict[int, dict[int, str]] = {}
    unseen: dict[tuple[str, str | None], dict[int, tuple[str, str]]] = {}
    unread: list[str] = []
    fix = "Undo the merging and fill in every cell."
    problems = [
        Problem("cells-merged", f"cells {area} are merged.", fix, file, area.min_row)
        for area in sheet.merged_cells.ranges
    ]
    if sheet.sheet_state != "visible":
        problems.append(
            Problem("cells-unseen", "the sheet is hidden.", "Show it if it counts, otherwise delete it.", file)
        )
    hidden = _hidden_columns(sheet)
    for (number, column), cell in sorted(sheet._cells.items()):
        text = _text(cell.value)
        if cell.comment and rows and number != next(iter(rows)):
            unread.append(f"{cell.coordinate}: {one_line(cell.comment.text, 60)}")
        if not text and (cell.data_type == "str" or not str(formulas.cell(number, column).value or "").strip()):
            continue  # empty, or a formula whose value is an empty text
        rows.setdefault(number, {})[column] = text
        head = next(iter(rows.values())).get(column, "")
        shown = text or str(formulas.cell(number, column).value)
        found = (
            _display_differences(sheet, cell, head)
            if text
            else [
                ("is a formula without a value", "Open and save the file in a spreadsheet program, or write the values")
            ]
        )
        if isinstance(cell.value, float) and cell.value % 1 and head in NAMES:
            found.append(("is a number instead of a name", "Format the column as text and write the name again"))
        row = sheet.row_dimensions.get(number)  # a filter hides rows, too
        low = sheet.sheet_format.zeroHeight if row is None or row.height is None else row.height < _LOWEST
        fix = "Show it (and remove filters) if it counts, otherwise delete it"
        if low or (row and row.hidden):
            unseen.setdefault(("is in a hidden row", None), {}).setdefault(number, (shown, fix))
        elif column in hidden:
            found.append(("is in a hidden column", fix))
        for how, fix in found:
            unseen.setdefault((how, f"column {cell.column_letter}"), {})[number] = (shown, fix)
        if found and number != next(iter(rows)) and head not in ("video_id", "step_id", "rater"):
            rows[number][column] = ""  # its content is no second finding
    for (how, place), cells in unseen.items():
        number, (shown, fix) = next(iter(cells.items()))
        more = f" (and {counted(len(cells) - 1, 'more row')})" if len(cells) > 1 else ""
        problems.append(Problem("cells-unseen", f"{shown!r} {how}{more}.", f"{fix}.", file, number, place))
    colours = "conditional formats not read" if len(sheet.conditional_formatting) else ""
    comments = f"{counted(len(unread), 'comment')} not read, the first at {unread[0]}" if unread else ""
    if named := " and ".join(filter(None, (comments, colours))):
        fix = "Write their content into the cells if it counts."
        problems.append(Problem("cells-unread", f"has {named}.", fix, file, severity="warning"))
    width = max((column for texts in rows.values() for column in texts), default=0)
    lines = [(number, [texts.get(at, "") for at in range(1, width + 1)]) for number, texts in rows.items()]
    return Grid(file, lines, problems)


def _text(value: Any) -> str:
    """A cell as it would stand in a CSV file; nothing of Python's own words."""
    from openpyxl.utils.escape import unescape

    if value is None:
        return ""
    if isinstance(value, datetime.datetime | datetime.date | datetime.time):
        return value.isoformat()
    # An apostrophe of our own tables keeps spreadsheets from taking a name for a formula.
    return cell_text(unescape(str(value)).strip())


def _display_differences(sheet: Any, cell: Any, head: str) -> list[tuple[str, str]]:
    """Ways in which a cell below a heading is seen otherwise than it is stored, each with what to do."""
    from openpyxl.cell.rich_text import CellRichText

    found: list[tuple[str, str]] = []
    value, form = cell.value, cell.number_format
    number = isinstance(value, int | float) and not isinstance(value, bool)
    if isinstance(value, datetime.datetime | datetime.date | datetime.time | datetime.timedelta):
        example = " (1:23.5)" if head in ("start", "end") else ""
        found.append(("is a date or a time of day", f"Format the column as text and write the value again{example}"))
    elif number and form not in _DECIMALS:
        what = f"is shown in the number format {form!r}"
        found.append((what, "Format the cells as General, look at them, and correct them"))
    elif number and _DECIMALS[form] is not None and abs(round(value, _DECIMALS[form]) - value) > 1e-9:
        found.append(("is shown rounded", "Format the cells as General, look at them, and correct them"))
    elif number and value == 0 and sheet.sheet_view.showZeros is False:
        found.append(("is a zero, and the sheet does not show zeros", "Let the sheet show zeros, and look at them"))
    if cell.data_type == "e":
        found.append(("is an error of a formula", "Correct the formula, or write the values"))
    if isinstance(value, CellRichText):
        found.append(("has several fonts", "Clear the formats of the cell, and look at it"))
    paper = cell.fill.fgColor if cell.fill.fill_type == "solid" else None
    if _paint(cell.font.color, "black") == _paint(paper, "white"):
        found.append(("has the colour of its background", "Clear the colours, and look at it"))
    if cell.font.strike:
        found.append(("is struck out", "Delete it if it does not count, otherwise remove the strikethrough"))
    return found


def _hidden_columns(sheet: Any) -> set[int]:
    """Columns that are hidden or too narrow to be read; one entry stands for a group of them."""
    hidden = [each for each in sheet.column_dimensions.values() if each.hidden or each.width < _NARROWEST]
    return {column for each in hidden for column in range(each.min, min(each.max, MAX_COLUMNS) + 1)}


def _paint(colour: Any, default: str) -> str:
    """Name of a colour, by which ink and paper are compared: white and black are written in three ways."""
    if colour is None:
        return default
    if colour.type == "rgb" and isinstance(colour.rgb, str):
        parts = [int(colour.rgb[-6:][at : at + 2], 16) for at in (0, 2, 4)]
        return "white" if min(parts) >= 0xF0 else "black" if max(parts) == 0 else colour.rgb[-6:].upper()
    value = getattr(colour, colour.type)
    plain = {"theme": {0: "white", 1: "black"}, "indexed": {0: "black", 1: "white", 8: "black", 9: "white", 64: "black",
             65: "white"}}  # fmt: skip
    return plain.get(colour.type, {}).get(value, f"{colour.type} {value}") + (f" {colour.tint}" if colour.tint else "")

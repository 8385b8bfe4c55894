"""Workbooks (``.xlsx``) as grids of text; every cell that people see otherwise than it is stored is refused.

A stranger's file is bounded in bytes and tags before it is read. What a sheet looks like follows from few rules: a cell
of a table is shown in full, in a plain number format, in one dark font.
"""

from __future__ import annotations

import datetime
import io
import struct
import zipfile
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from siming_tasks.common.errors import DataError, Problem
from siming_tasks.common.files import read_bytes
from siming_tasks.common.sanitize import cell_text
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
_SMALLER = "Delete what is no table, or save it as CSV (UTF-8)."
_BROKEN = (
    *(zipfile.BadZipFile, zlib.error, struct.error, EOFError, OSError, RuntimeError, SyntaxError, AssertionError),
    *(LookupError, ValueError, TypeError, AttributeError, ArithmeticError),
)
"""What openpyxl and the archive raise over damaged files."""
_DECIMALS = {"General": None, "@": None, "0": 0, "0.0": 1, "0.00": 2}
"""Number formats of a table, and the decimals that they show (None: all)."""
_LIGHT, _SMALL = 0xE0, 4
"""Least red, green and blue of letters that are nearly white; points of letters that are dots."""


@dataclass(frozen=True)
class Grid:
    """Rows of a table as text: ``file`` with the sheet's title if there are several, rows by their numbers from 1."""

    file: str
    rows: list[tuple[int, list[str]]]
    problems: list[Problem]


def read_workbook(path: Path) -> list[Grid]:
    """The sheets of a workbook that hold anything.

    Raises:
        DataError: it is no workbook, an old or protected one, a damaged one, or larger than is read.
    """
    from openpyxl import load_workbook

    data = read_bytes(path, MAX_UNPACKED)
    if data.startswith(_OLE):
        raise DataError(f"{path}: an old .xls file or protected by a password. Save it as .xlsx without a password.")
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            _check_size(path, archive)
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
            what = f"more than {MAX_TAGS:,} tags in its sheets, or {MAX_OTHER:,} beside them"
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
    """The rows of a sheet, and one finding for each way in which cells of a column are seen otherwise."""
    if sheet.max_row > MAX_ROWS or sheet.max_column > MAX_COLUMNS:
        limits = f"at most {MAX_ROWS:,} rows and {MAX_COLUMNS:,} columns are read"
        raise DataError(f"{file}:{sheet.max_row}: {limits}. Delete what lies beyond the table.")
    rows: dict[int, dict[int, str]] = {}
    unseen: dict[tuple[str, str], list[tuple[int, str, str]]] = {}
    fix = "Undo the merging and fill in every cell."
    problems = [
        Problem("cells-merged", f"cells {area} are merged.", fix, file, area.min_row)
        for area in sheet.merged_cells.ranges
    ]
    if sheet.sheet_state != "visible":
        problems.append(Problem("cells-unseen", "the sheet is hidden.", "Show it if it counts, else delete it.", file))
    if noted := [cell.coordinate for cell in sheet._cells.values() if cell.comment and cell.row > 1]:
        fix = "If they say something about points, write it into the cells."
        what = f"comments are not read: {', '.join(noted[:8])}{' and more' if noted[8:] else ''}."
        problems.append(Problem("comments-left-out", what, fix, file, severity="warning"))
    for area, rules in ((each.sqref, each.rules) for each in sheet.conditional_formatting):
        looks = [rule.dxf for rule in rules if rule.dxf]
        if any(each.numFmt or (each.font and _is_light(each.font.color)) for each in looks):
            what = f"a conditional format of {area} can hide cells."
            problems.append(Problem("cells-unseen", what, "Delete it, and look at the cells.", file))
    hidden = _hidden_columns(sheet)
    for (number, column), cell in sorted(sheet._cells.items()):
        text = _text(cell.value)
        if not text and not str(formulas.cell(number, column).value or "").strip():
            continue
        rows.setdefault(number, {})[column] = text
        found = _seen(sheet, cell) if text else [("is a formula without a value", "Open the file in a spreadsheet "
                      "program and save it, or write the values")]  # fmt: skip
        if isinstance(cell.value, float) and cell.value % 1 and next(iter(rows.values())).get(column) in NAMES:
            found.append(("is a number where a name stands", "Format the column as text and write the name again"))
        row = sheet.row_dimensions.get(number)  # a filter hides rows, too
        if column in hidden or (row and row.hidden):
            place = "column" if column in hidden else "row"
            found.append((f"is in a hidden {place}", "Show it (and remove filters) if it counts, else delete it"))
        for how, fix in found:
            unseen.setdefault((how, cell.column_letter), []).append((number, text, fix))
    for (how, letter), cells in unseen.items():
        number, text, fix = cells[0]
        more = f" (and {len(cells) - 1:,} more of the column)" if len(cells) > 1 else ""
        problems.append(Problem("cells-unseen", f"{text!r} {how}{more}.", f"{fix}.", file, number, f"column {letter}"))
    width = max((column for texts in rows.values() for column in texts), default=0)
    lines = [(number, [texts.get(at, "") for at in range(1, width + 1)]) for number, texts in rows.items()]
    return Grid(file, lines, problems)


def _text(value: Any) -> str:
    """A cell as it would stand in a CSV file; nothing of Python's own words."""
    from openpyxl.utils.escape import unescape

    if value is None:
        return ""
    if isinstance(value, bool):
        return str(value).upper()
    if isinstance(value, datetime.datetime | datetime.date | datetime.time):
        return value.isoformat()
    if isinstance(value, float) and value.is_integer():
        return f"{value:.0f}"
    # An apostrophe of our own tables keeps spreadsheets from taking a name for a formula.
    return cell_text(unescape(str(value)).strip())


def _seen(sheet: Any, cell: Any) -> list[tuple[str, str]]:
    """Ways in which a cell is seen otherwise than it is stored, each with what to do."""
    from openpyxl.cell.rich_text import CellRichText

    found: list[tuple[str, str]] = []
    value, form, font = cell.value, cell.number_format, cell.font
    number = isinstance(value, int | float) and not isinstance(value, bool)
    if isinstance(value, datetime.datetime | datetime.date | datetime.time | datetime.timedelta):
        found.append(("is a date or a time of day", "Format the column as text and write the value again (1:23.5)"))
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
    if font.strike:
        found.append(("is struck out", "Delete it if it does not count, else undo the striking out"))
    ground = cell.fill.fgColor if cell.fill.fill_type == "solid" else None
    white = _is_light(font.color) or (ground is not None and font.color is not None and font.color == ground)
    # Headings are often white on a dark ground: they are compared with the step ids, whatever they look like.
    if (white and cell.row > 1) or (font.sz or _SMALL) < _SMALL:
        found.append(("is in letters that nobody sees (white or tiny)", "Make the letters black if it counts, else "
                      "delete it"))  # fmt: skip
    return found


def _is_light(color: Any) -> bool:
    """True for letters in white or nearly white: stated, of the palette, or the theme's first colour."""
    from openpyxl.styles.colors import COLOR_INDEX

    if color is None or color.type == "theme":
        return color is not None and color.theme in (0, 2) and (color.tint or 0) > -0.2
    code = str(color.rgb) if color.type == "rgb" else str((*COLOR_INDEX[:64], *["FF000000"] * 64)[color.indexed])
    return min(bytes.fromhex(code[-6:])) >= _LIGHT


def _hidden_columns(sheet: Any) -> set[int]:
    """Columns that are hidden or of no width; one entry stands for a group of them."""
    hidden = [each for each in sheet.column_dimensions.values() if each.hidden or each.width == 0]
    return {column for each in hidden for column in range(each.min, min(each.max, MAX_COLUMNS) + 1)}

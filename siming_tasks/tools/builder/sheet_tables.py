"""Sheets as people save them: cells in many spellings, lines of CSV and XLSX files, and the heading above the rows.

The heading may stand below a title, and may have one line or two.
"""

from __future__ import annotations

import codecs
import csv
import io
import math
import os
import re
import unicodedata
from bisect import bisect_left, bisect_right
from collections.abc import Sequence, Set
from dataclasses import dataclass
from fractions import Fraction
from itertools import zip_longest
from pathlib import Path
from typing import Any

from siming_tasks.common.errors import DataError, Problem
from siming_tasks.common.files import open_regular, read_bytes
from siming_tasks.common.sanitize import cell_text
from siming_tasks.common.workbook import MAX_COLUMNS, MAX_ROWS, OLE, Worksheet, cell_value, open_workbook
from siming_tasks.data.jsonl import read_jsonl

MAX_SHEET = 64_000_000
"""Largest sheet in bytes (for XLSX: unpacked). 200 videos of 33 steps make about half a megabyte."""
MAX_COPIES = 10_000_000
"""Cells that merged cells may cover."""
ABOVE = 20
"""Lines in which the heading is looked for; a title, a date and a ward may stand above it."""

_CLOCK = re.compile(r"^(?:(\d{1,2}):)?(\d{1,3}):([0-5]?\d(?:[.,]\d+)?)$")
TIME_CODE = re.compile(r"^(\d{1,2}):([0-5]?\d):([0-5]?\d):(\d{1,3})$")
"""``hh:mm:ss:ff``, which needs a rate."""
_DECIMAL_COMMA = re.compile(r"^-?\d{1,5},\d{1,3}$")
_BOMS = ((codecs.BOM_UTF8, "utf-8-sig"), (codecs.BOM_UTF16_LE, "utf-16"), (codecs.BOM_UTF16_BE, "utf-16"))
_WORKBOOKS = (b"PK\x03\x04", b"PK\x05\x06", OLE)
"""How workbooks begin: an archive, or an old or protected one."""
_MERGED = re.compile(
    rb'<(?:\w{1,20}:)?mergeCell\s[^<>]{0,99}?ref="\$?([A-Z]{1,3})\$?(\d{1,7}):\$?([A-Z]{1,3})\$?(\d{1,7})"'
)
_NOT_COMPUTED = re.compile(
    rb'<(?:\w{1,20}:)?c\s[^<>]{0,99}?r="([A-Z]{1,3}\d{1,7})"[^<>]{0,99}>'
    rb"<(?:\w{1,20}:)?f(?:\s[^<>]{0,999})?(?:/>|>[^<]{0,9999}</(?:\w{1,20}:)?f>)"
    rb"(?:<(?:\w{1,20}:)?v\s{0,9}/>|<(?:\w{1,20}:)?v></(?:\w{1,20}:)?v>)?</(?:\w{1,20}:)?c>"
)
_HIDDEN = re.compile(rb'<(?:\w{1,20}:)?(?:row|col)\s[^<>]{0,299}?\bhidden="(?:1|true)"[^<>]{0,299}>')
"""All are bounded: a sheet may be 64 MB of beginnings of tags."""
_ROW = re.compile(rb'\br="([0-9]{1,7})"')
_UNSEEN = {
    "hidden": "Nobody who looks at the sheet sees them. Show them if they count, delete them if they do not.",
    "struck out": "Delete them if they do not count, else undo the striking out.",
    "shown as percent": "The file holds 1 where the sheet shows 100 %. Write the points, formatted as numbers.",
}


def trimmed(value: Any) -> Any:
    """A cell without blanks around it and without the apostrophe of our own tables; None if nothing is left."""
    if isinstance(value, str):
        value = cell_text(value.replace("\ufeff", "").strip())
    return None if value == "" else value


def plain(value: Any) -> Any:
    """A cell as text or number: full-width forms folded, blanks trimmed; None if nothing is left.

    The sign of a footnote stays one: ``1¹`` is no 11.
    """
    return trimmed(spelled(value)) if isinstance(value, str) else value


def text_of(value: Any) -> str | None:
    """A cell as text, spelled as it is; Excel keeps numbers such as 7 as 7.0.

    Example:
        >>> text_of(7.0), text_of("7.0"), text_of(None)
        ('7', '7.0', None)
    """
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return None if value is None else str(value)


def folded(name: Any) -> str:
    """Text without the differences that people overlook in headings and names.

    Example:
        >>> folded("Rater A"), folded("ｒａｔｅｒ-a")
        ('rater_a', 'rater_a')
    """
    return re.sub(r"[\s_-]+", "_", str(plain(name)).casefold())


def spelled(name: str) -> str:
    """A file's name in one normal form: composed letters, half-width forms; a superscript stays what it is.

    Example:
        >>> spelled("考试（１）"), spelled("Fall²")
        ('考试(1)', 'Fall²')
    """
    wide = ("<wide>", "<narrow>")
    letters = (unicodedata.normalize("NFKC", c) if unicodedata.decomposition(c).startswith(wide) else c for c in name)
    return unicodedata.normalize("NFC", "".join(letters))


def number(cell: Any) -> float | None:
    """The finite number in a cell, None if it holds none.

    Example:
        >>> number("2,5"), number(3), number("n/a"), number("nan"), number("1E1")
        (2.5, 3.0, None, None, None)
    """
    if isinstance(cell, bool) or not isinstance(cell, int | float | str):
        return None
    text = str(cell).strip()
    try:
        value = float(text.replace(",", ".") if _DECIMAL_COMMA.match(text) else text)
    except ValueError:
        return None
    written_out = not isinstance(cell, str) or not set(text) & set("_eE")  # 1E1 is no 10 to whoever wrote it
    return value if abs(value) < 1e9 and written_out else None  # refuses nan and inf as well


def seconds_of(cell: Any, rate: Fraction | None = None) -> float | None:
    """Seconds, from a number, from ``[h:]m:s``, or from ``hh:mm:ss:ff`` at a stated rate; None if it is none of these.

    A time code counts whole frames (SMPTE 12M, non-drop): at 29.97 per second, 00:00:01:00 is frame 30.

    Example:
        >>> seconds_of("83.5"), seconds_of("1:23,5"), seconds_of("1:02:03"), seconds_of("00:00:04:12", Fraction(25))
        (83.5, 83.5, 3723.0, 4.48)
    """
    if (seconds := number(cell)) is not None:
        return seconds
    if clock := _CLOCK.match(str(cell)):
        hours, minutes = clock[1], int(clock[2])
        if hours and minutes > 59:
            return None
        return 3600 * int(hours or 0) + 60 * minutes + float(clock[3].replace(",", "."))
    if rate and (code := TIME_CODE.match(str(cell))):
        hour, minute, second, frame = map(int, code.groups())
        nominal = math.ceil(rate)
        if frame < nominal:
            return float((nominal * (3600 * hour + 60 * minute + second) + frame) / rate)
    return None


@dataclass(frozen=True)
class Line:
    """One line that is not empty: its number, its cells (None: empty), and which cells repeat a merged cell's value."""

    number: int
    cells: list[Any]
    merged: frozenset[int] = frozenset()


@dataclass(frozen=True)
class Grid:
    """The lines of a worksheet, or of a CSV file (no title)."""

    title: str | None
    lines: list[Line]
    problems: tuple[Problem, ...] = ()


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
        path: ``.csv``, ``.tsv``, ``.xlsx`` or ``.jsonl``; a workbook is known by its first bytes, whatever its name.
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
    suffix, workbook = path.suffix.lower(), head.startswith(_WORKBOOKS)
    if not workbook and suffix not in (".csv", ".tsv", ".txt", ".xlsx", ".jsonl"):
        raise DataError(f"{path}: a sheet is .csv, .tsv, .xlsx or .jsonl. Save it as one of these (.xls as .xlsx).")
    text = head.strip() and not head.startswith(b"PK") and not set(head) & {*range(9), *range(14, 32)}
    kind = ".xlsx" if workbook or (suffix == ".xlsx" and not text) else ".csv" if suffix == ".xlsx" else suffix
    problems: list[Problem] = []
    if (kind == ".xlsx") != (suffix == ".xlsx"):
        what = f"is {'a workbook' if workbook else 'plain text'} by its content, and read as {kind}."
        problems.append(Problem("file-type", what, f"Call it {kind}.", str(path), severity="warning"))
    if kind == ".jsonl":
        sheets = [_jsonl(path)]
    else:
        known = {folded(mark) for mark in marks}
        grids = read_grids(path, kind, encoding, known, problems)
        several = sum(bool(grid.lines) for grid in grids) > 1
        sheets = [_sheet(f"{path} [{grid.title}]" if several else str(path), grid, known) for grid in grids]
    if not problems and not any(sheet.rows or sheet.problems for sheet in sheets):
        raise DataError(f"{path}: no row below the heading. Is it the right file or sheet?")
    return tuple(sheets), problems


def read_grids(path: Path, kind: str, encoding: str | None, known: Set[str], problems: list[Problem]) -> list[Grid]:
    """The lines of a file: of every worksheet if ``kind`` is ``.xlsx``, else of the CSV file.

    The separator of a CSV file is that of the line with a ``known`` heading, else of the first.

    Raises:
        DataError: the file as a whole cannot be read.
    """
    if kind == ".xlsx":
        return _xlsx_grids(path)
    text = _csv_text(path, encoding, problems)
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
        _check_bounds(path, line.number, len(line.cells))
    return [Grid(None, lines)]


def _csv_text(path: Path, encoding: str | None, problems: list[Problem]) -> str:
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


def _check_bounds(path: Path, number: int, cells: int) -> None:
    if number > MAX_ROWS or cells > MAX_COLUMNS:
        most = f"at most {MAX_ROWS:,} rows and {MAX_COLUMNS:,} columns are read"
        raise DataError(f"{path}:{number}: {most}. Delete what lies beyond the table, or save it as CSV.")


def _xlsx_grids(path: Path) -> list[Grid]:
    with open_workbook(path, most=MAX_SHEET) as sheets:
        looks = _Looks(sheets[0].book)
        return [_worksheet(path, sheet, looks) for sheet in sheets]


class _Looks:
    """Cells that a reader of the sheet sees as something else than their value: struck out, or as a percentage."""

    def __init__(self, book: Any) -> None:
        from openpyxl.styles.numbers import BUILTIN_FORMATS

        formats = {**BUILTIN_FORMATS, **{164 + place: text for place, text in enumerate(book._number_formats)}}
        styles = list(enumerate(book._cell_styles))
        self.percent = {number for number, style in styles if "%" in str(formats.get(style.numFmtId, ""))}
        self.struck = {number for number, style in styles if book._fonts[style.fontId].strike}

    def find(self, row: Sequence[Any], problems: dict[str, list[str]]) -> None:
        """Add the row's cells of this kind to ``problems``."""
        for cell in row if self.percent or self.struck else ():
            style = getattr(cell, "_style_id", 0)
            if style in self.struck and cell.value is not None:
                problems.setdefault("struck out", []).append(cell.coordinate)
            elif style in self.percent and isinstance(cell.value, int | float):
                problems.setdefault("shown as percent", []).append(cell.coordinate)


def _hidden(sheet: Worksheet, lines: Sequence[Line]) -> list[str]:
    """Parts of a worksheet with values that whoever looks at it does not see."""
    from openpyxl.utils import get_column_letter

    if not sheet.is_visible:
        return ["the whole sheet"] if lines else []
    rows = [int(place[1]) for tag in _HIDDEN.findall(sheet.xml) if (place := _ROW.search(tag))]
    places = [f"row {number}" for number in sorted({*rows} & {line.number for line in lines})]
    widest = max((len(line.cells) for line in lines), default=0)
    for tag in _HIDDEN.findall(sheet.xml):
        first, last = (re.search(rb"\b" + end + rb'="([0-9]{1,6})"', tag) for end in (b"min", b"max"))
        for column in range(int(first[1]), min(int(last[1]), widest) + 1) if first and last else ():
            if any(len(line.cells) >= column and line.cells[column - 1] is not None for line in lines):
                places.append(f"column {get_column_letter(column)}")
    return places


def _worksheet(path: Path, sheet: Worksheet, looks: _Looks) -> Grid:
    """The lines of a worksheet; a merged cell's value stands in every cell that it covers, marked as a copy."""
    from openpyxl.utils import column_index_from_string

    problems = []
    if missing := [place.decode() for place in _NOT_COMPUTED.findall(sheet.xml)]:
        what = f"sheet {sheet.title!r}: formulas without a result in {', '.join(missing[:5])}"
        what += f" and {len(missing) - 5} more cells." if len(missing) > 5 else "."
        fix = "Open it in a spreadsheet program and save it, or write the values."
        problems.append(Problem("formula-empty", what, fix, str(path)))
    lines = []
    odd: dict[str, list[str]] = {}
    for number, row in sheet.rows:
        looks.find(row, odd)
        values = [trimmed(cell_value(cell)) for cell in row]
        while values and values[-1] is None:
            values.pop()
        if values:
            lines.append(Line(number, values))

    odd["hidden"] = _hidden(sheet, lines)
    for how, places in odd.items():
        if places:
            what = f"sheet {sheet.title!r}: {', '.join(places[:5])}"
            what += f" and {len(places) - 5} more are {how}." if len(places) > 5 else f": {how}."
            problems.append(Problem("cells-unseen", what, _UNSEEN[how], str(path)))
    numbers = [line.number for line in lines]
    copies: dict[int, set[int]] = {}
    work = 0
    for left, top, right, bottom in _MERGED.findall(sheet.xml):
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
    spread = [Line(line.number, line.cells, frozenset(copies.get(line.number, ()))) for line in lines]
    return Grid(sheet.title, spread, tuple(problems))


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
    columns, lines = _heading(grid.lines[at], grid.lines[at + 1 :], known)
    names = [column.name for column in columns if column]
    for name in sorted({name for name in names if names.count(name) > 1}):
        what, fix = f"column {name!r} appears twice.", "Rename one."
        problems.append(Problem("column-twice", what, fix, file, grid.lines[at].number))
    rows = _rows(file, columns, lines, problems)
    unique = {column.name: column for column in columns if column}
    return Sheet(grid.title, tuple(unique.values()), tuple(rows), file, tuple(problems))


def _heading(line: Line, below: Sequence[Line], known: set[str]) -> tuple[list[Column | None], Sequence[Line]]:
    """The columns (None: without a name), and the lines below the heading.

    A line belongs to the heading, too, if it has words where the first is empty, and names no video.
    """
    # A merged heading stands in its first column only.
    head, second = (
        [None if index in each.merged else plain(text_of(cell)) for index, cell in enumerate(each.cells)]
        for each in (line, below[0] if below else Line(0, []))
    )
    pairs = list(zip_longest(head, second))
    words = all(name is None or number(name) is None for name in second)
    fills = any(top is None and name is not None for top, name in pairs)
    marked = [name for top, name in pairs if top is not None and folded(top) in known]
    if words and fills and marked and not any(marked):
        below = below[1:]
    else:
        pairs = [(top, None) for top in head]
    columns: list[Column | None] = []
    above: str | None = None
    for top, name in pairs:
        if top is not None:
            above = top  # it belongs to all columns of the group below it
        if name is None:
            above = None
            columns.append(None if top is None else Column(top, (top,)))
        else:
            columns.append(Column(f"{above} / {name}", (above, name)) if above else Column(name, (name,)))
    return columns, below


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
        from openpyxl.utils import get_column_letter

        what = f"column {get_column_letter(index + 1)} has cells but no heading."
        fix = "Write its heading; below a merged heading, write the rater's (or step's) name in a second line."
        problems.append(Problem("heading-empty", what, fix, file, first))
    return rows


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

"""Sheets as people save them: lines of CSV, XLSX and JSON Lines files, and the heading above the rows.

The heading may stand below a title, and may have one line or two.
"""

from __future__ import annotations

import codecs
import csv
import io
import os
import re
from collections.abc import Mapping, Sequence, Set
from itertools import zip_longest
from pathlib import Path
from typing import Any

from siming_tasks.common.errors import DataError, Problem
from siming_tasks.common.files import open_regular, read_bytes
from siming_tasks.common.workbook import MAX_COLUMNS, MAX_ROWS, OLE
from siming_tasks.data.jsonl import read_jsonl
from siming_tasks.tools.builder.cells import Grid, Line, folded, number, plain, text_of, trimmed, unit_of
from siming_tasks.tools.builder.release_tables import release_files, release_sheet
from siming_tasks.tools.builder.sheet_rows import Column, Sheet, SheetRow
from siming_tasks.tools.builder.worksheets import worksheet_grids

MAX_SHEET = 64_000_000
"""Largest sheet in bytes (for XLSX: unpacked). 200 videos of 33 steps make about half a megabyte."""
ABOVE = 20
"""Lines in which the heading is looked for; a title, a date and a ward may stand above it."""

_BOMS = ((codecs.BOM_UTF8, "utf-8-sig"), (codecs.BOM_UTF16_LE, "utf-16"), (codecs.BOM_UTF16_BE, "utf-16"))
_CHINESE = re.compile(rb"[\xb0-\xf7][\xa1-\xfe]")
"""A letter of GB 2312. In a text of Western Europe, a byte of this kind stands alone."""
_BRACKETS = re.compile(r"^[\[(][^\[\]()]{1,20}[\])]$")
_SAYS_NOTHING = frozenset(("point", "points", "pts", "score", "scores", "punkte", "分数", "得分", "text", "name", "id"))
"""What may stand in brackets below a heading that is no time."""
_UNIT_ABOVE = re.compile(r"[\[(]\s*([^\W\d_]{1,14})\s*[\])]")
_WORKBOOKS = (b"PK\x03\x04", b"PK\x05\x06", OLE)
"""How workbooks begin: an archive, or an old or protected one."""


def read_table(
    path: Path, encoding: str | None = None, marks: Sequence[str] = ("video_id",)
) -> tuple[tuple[Sheet, ...], list[Problem]]:
    """The sheets of a file, and findings about the file.

    Args:
        path: ``.csv``, ``.tsv``, ``.xlsx``, ``.jsonl``, ``.json``, ``.parquet``, or a folder of them; a workbook is
            known by its first bytes, whatever its name.
        encoding: of a CSV file; None: by byte-order mark, else UTF-8, else GB 18030 (with a warning).
        marks: headings by which the heading's line is known; without one, it is the first line.

    Raises:
        DataError: the file as a whole cannot be read.
    """
    if path.is_dir():
        return _release(path, encoding, marks)
    try:
        with open_regular(path) as stream:
            size, head = os.fstat(stream.fileno()).st_size, stream.read(64)
    except OSError as error:
        raise DataError(f"{path}: {error.strerror}. Give the label sheet's path.") from None
    if path.suffix.lower() in (".parquet", ".json"):
        sheets = [release_sheet(path, [path])]
        if not sheets[0].rows:
            raise DataError(f"{path}: no row. Is it the right file?")
        return tuple(sheets), []
    if size > MAX_SHEET:
        raise DataError(f"{path}: {size:,} bytes; a label sheet has at most {MAX_SHEET:,}.")
    suffix, workbook = path.suffix.lower(), head.startswith(_WORKBOOKS)
    if not workbook and suffix not in (".csv", ".tsv", ".txt", ".xlsx", ".jsonl"):
        what = "a sheet is .csv, .tsv, .xlsx, .jsonl, .json or .parquet"
        raise DataError(f"{path}: {what}. Save it as one of these (.xls and .ods as .xlsx).")
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


def _release(folder: Path, encoding: str | None, marks: Sequence[str]) -> tuple[tuple[Sheet, ...], list[Problem]]:
    """The sheets of a folder: its tables of metadata, or all its rows as one sheet."""
    files = release_files(folder)
    if files[0].suffix in (".csv", ".jsonl"):
        read = [read_table(file, encoding, marks) for file in files]
        return tuple(sheet for sheets, _ in read for sheet in sheets), [found for _, more in read for found in more]
    return (release_sheet(folder, files),), []


def read_grids(path: Path, kind: str, encoding: str | None, known: Set[str], problems: list[Problem]) -> list[Grid]:
    """The lines of a file: of every worksheet if ``kind`` is ``.xlsx``, else of the CSV file.

    The separator of a CSV file is that of the line with a ``known`` heading, else of the first.

    Raises:
        DataError: the file as a whole cannot be read.
    """
    if kind == ".xlsx":
        return worksheet_grids(path, MAX_SHEET)
    text = read_encoded(path, encoding, problems)
    if "\0" in text:
        raise DataError(f"{path}: holds NUL characters; not a text file. Save the sheet as CSV (UTF-8).")
    head = [line for line in text.splitlines() if line.strip()][:20]
    spoken = (
        mark for line in head for mark in "\t;,|" if known & {folded(cell.strip('" ')) for cell in line.split(mark)}
    )
    delimiter = next(spoken, max("\t;,|", key=(head or [""])[0].count))
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    try:
        lines = [Line(reader.line_num, list(map(trimmed, cells))) for cells in reader if any(map(str.strip, cells))]
    except csv.Error as error:
        raise DataError(f"{path}:{reader.line_num}: not CSV: {error}. Check the quotes of that line.") from None
    for line in lines:
        _check_bounds(path, line.number, len(line.cells))
    return [Grid(None, lines)]


def read_encoded(path: Path, encoding: str | None, problems: list[Problem]) -> str:
    """The text of a file: by ``encoding``, its byte-order mark, else UTF-8, else GB 18030 with a warning.

    Raises:
        DataError: it is none of these, or too large.
    """
    data = read_bytes(path, MAX_SHEET)
    known = encoding or next((name for mark, name in _BOMS if data.startswith(mark)), None)
    for name in [known] if known else ["utf-8", "gb18030"]:
        try:
            text = data.decode(name)
        except (UnicodeDecodeError, LookupError):
            continue
        if name == "gb18030" and not known and not _CHINESE.search(data):
            break
        if name == "gb18030":
            fix = "Check that names look right, or save it as UTF-8; --encoding names another."
            what = "not UTF-8; read as GB 18030 (GBK)."
            problems.append(Problem("encoding-gbk", what, fix, str(path), severity="warning"))
        return text
    what = f"not {known} text" if known else "neither UTF-8 nor GB 18030 text"
    raise DataError(f"{path}: {what}. Save it as UTF-8, or give --encoding (Western Excel: cp1252).")


def _check_bounds(path: Path, number: int, cells: int) -> None:
    if number > MAX_ROWS or cells > MAX_COLUMNS:
        most = f"at most {MAX_ROWS:,} rows and {MAX_COLUMNS:,} columns are read"
        raise DataError(f"{path}:{number}: {most}. Delete what lies beyond the table, or save it as CSV.")


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
        found = (text for line in grid.lines[:at] for cell in line.cells for text in _UNIT_ABOVE.findall(str(cell)))
        if unit := next((text for text in found if unit_of(text)[1] not in (None, "s")), None):
            what = f"a unit stands above the heading: {unit!r}."
            fix = "Write it into the headings it belongs to, such as `start [ms]`, or delete it."
            problems.append(Problem("unit-unclear", what, fix, file, first))
    columns, lines = _heading(grid.lines[at], grid.lines[at + 1 :], known)
    names = [column.name for column in columns if column]
    for name in sorted({name for name in names if names.count(name) > 1}):
        what, fix = f"column {name!r} appears twice.", "Rename one."
        problems.append(Problem("column-twice", what, fix, file, grid.lines[at].number))
    top = grid.lines[at].number
    if noted := [place for place in grid.noted if int(re.sub(r"\D", "", place)) > top]:
        what = f"comments are not read: {', '.join(noted[:8])}" + (f" and {len(noted) - 8} more." if noted[8:] else ".")
        fix = "If they say something about points, write it into the cells."
        problems.append(Problem("comments-left-out", what, fix, file, severity="warning"))
    rows = _rows(file, columns, lines, problems, grid.lines[at].unseen)
    unique = {column.name: column for column in columns if column}
    return Sheet(grid.title, tuple(unique.values()), tuple(rows), file, tuple(problems))


def _heading(line: Line, below: Sequence[Line], known: set[str]) -> tuple[list[Column | None], Sequence[Line]]:
    """The columns (None: without a name), and the lines below the heading.

    A line belongs to the heading, too, if it has words where the first is empty, or units alone, and names no video.
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
    units = [name for name in second if name is not None and not fills]
    if (
        words
        and marked
        and not any(marked)
        and units
        and all(unit_of(name)[1] not in (None, "?") or _BRACKETS.match(name) for name in units)
    ):
        # A unit belongs to the name above it; `[points]` says nothing new.
        bare = [folded(name).strip("[]()_") if name else "points" for _, name in pairs]
        pairs = [
            (top if unit in _SAYS_NOTHING else f"{top} {name}", None)
            for (top, name), unit in zip(pairs, bare, strict=True)
        ]
        below = below[1:]
    elif fills and words and marked and not any(marked):
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
    file: str,
    columns: Sequence[Column | None],
    lines: Sequence[Line],
    problems: list[Problem],
    headings: Mapping[int, tuple[str, str]],
) -> list[SheetRow]:
    """The rows below a heading; what is ``unseen`` of a heading is so of its column."""
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
        unseen: dict[str, tuple[str, str]] = {}
        for index, (column, cell) in enumerate(zip(columns, line.cells, strict=False)):
            if cell is None:
                continue
            if column is None:
                nameless.setdefault(index, line.number)
            elif column.name not in cells:
                cells[column.name] = cell
                merged |= {column.name} if index in line.merged else set()
                if how := line.unseen.get(index) or headings.get(index):
                    unseen[column.name] = how
        if cells:
            rows.append(SheetRow(line.number, cells, frozenset(merged), unseen))
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
        _check_bounds(path, line, len(columns))
        if cells := {name: value for name, value in cells.items() if value is not None}:
            rows.append(SheetRow(line, cells))
    return Sheet(None, tuple(columns.values()), tuple(rows), str(path), tuple(problems))

"""Worksheets as lines of cells, and the cells that a reader of the sheet sees otherwise than they are stored."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import islice
from pathlib import Path
from typing import Any

from siming_tasks.common.errors import DataError, Problem
from siming_tasks.common.workbook import Worksheet, cell_value, open_workbook
from siming_tasks.tools.builder.cells import Grid, Line, trimmed

MAX_COPIES = 10_000_000
"""Cells that merged cells may cover."""
MAX_RUNS = 1_000
"""Struck-out or raised pieces of text that are looked for in a sheet."""
_MERGED = re.compile(
    rb'<(?:\w{1,20}:)?mergeCell\s[^<>]{0,99}?ref="\$?([A-Z]{1,3})\$?(\d{1,7}):\$?([A-Z]{1,3})\$?(\d{1,7})"'
)
_NOT_COMPUTED = re.compile(
    rb'<(?:\w{1,20}:)?c\s[^<>]{0,99}?r="([A-Z]{1,3}\d{1,7})"[^<>]{0,99}>'
    rb"<(?:\w{1,20}:)?f(?:\s[^<>]{0,999})?(?:/>|>[^<]{0,9999}</(?:\w{1,20}:)?f>)"
    rb"(?:<(?:\w{1,20}:)?v\s{0,9}/>|<(?:\w{1,20}:)?v></(?:\w{1,20}:)?v>)?</(?:\w{1,20}:)?c>"
)
_HIDDEN = re.compile(
    rb"<(?:\w{1,20}:)?(row|col)\s(?=[^<>]{0,299}?"
    rb'\b(?:hidden="(?:1|true)"|(?:ht|width)="0(?:\.0{1,9})?"))[^<>]{0,299}>'
)
_PIECE = re.compile(rb'<(?:\w{1,20}:)?(?:strike(?!\s[^<>]{0,20}val="(?:0|false)")|vertAlign)\b')
"""All are bounded: a sheet may be 64 MB of beginnings of tags."""
_PLACE = re.compile(rb'<(?:\w{1,20}:)?c\s[^<>]{0,99}?r="([A-Z]{1,3}\d{1,7})"')
_NO_HEIGHT = re.compile(rb'<(?:\w{1,20}:)?sheetFormatPr\s[^<>]{0,199}?zeroHeight="(?:1|true)"')
_LITERAL = re.compile(r'"[^"]*"|\\.|_.|\*.|\[[^\]]*\]')
_SECTIONS = re.compile(r';(?=(?:[^"]*"[^"]*")*[^"]*$)')
STRUCK, PERCENT, ROUNDED = "struck out", "shown as percent", "shown rounded"
CAMOUFLAGED, TINY = "in the colour of what is behind them", "in letters too small to read"
NEAR = 32
"""Largest difference of red, green and blue (of 255) between letters and their ground that nobody sees."""
SMALLEST = 4
"""Points; smaller letters are dots."""
_THEME = (b"lt1", b"dk1", b"lt2", b"dk2", *(b"accent%d" % number for number in range(1, 7)), b"hlink", b"folHlink")
_OFFICE = ("FFFFFF", "000000", "EEECE1", "1F497D", "4F81BD", "C0504D", "9BBB59", "8064A2", "4BACC6", "F79646", "0000FF",
           "800080")  # fmt: skip
"""Names of the colours of a workbook's theme in the order of their numbers, and what they are if none is stated."""


def worksheet_grids(path: Path, most: int) -> list[Grid]:
    """The lines of every worksheet of a workbook of at most ``most`` bytes, unpacked.

    Raises:
        DataError: the file as a whole cannot be read.
    """
    with open_workbook(path, most=most, rich=True) as sheets:
        looks = _Looks(sheets[0].book)
        return [_worksheet(path, sheet, looks) for sheet in sheets]


class _Looks:
    """Looks of cells that a reader of the sheet sees as something else than their value."""

    def __init__(self, book: Any) -> None:
        from openpyxl.styles.numbers import BUILTIN_FORMATS

        formats = {**BUILTIN_FORMATS, **{164 + place: text for place, text in enumerate(book._number_formats)}}
        styles = list(enumerate(book._cell_styles))
        self.formats = {number: str(formats.get(style.numFmtId, "General")) for number, style in styles}
        self.struck = {number for number, style in styles if book._fonts[style.fontId].strike}
        self.colours = _Colours(book)
        self.fonts = {number: book._fonts[style.fontId] for number, style in styles}
        self.grounds = {number: self.colours.ground(book._fills[style.fillId]) for number, style in styles}
        self.faint = {number: how for number, style in styles if (how := self._faint(number, self.fonts[number]))}

    def _faint(self, style: int, font: Any) -> str:
        """Say why letters of this font on the ground of this style are not seen; empty if they are."""
        size, ground = getattr(font, "sz", None), self.grounds.get(style, _WHITE)
        if size is not None and size < SMALLEST:
            return TINY
        letters = self.colours.of(font.color) or _BLACK
        apart = max(abs(one - other) for one, other in zip(letters, ground, strict=True)) if ground else 255
        return CAMOUFLAGED if apart <= NEAR else ""

    def of(self, cell: Any) -> str:
        """Say how the cell is seen; empty if as it is stored."""
        style, value = getattr(cell, "_style_id", 0), cell.value
        if value is None:
            return ""
        if style in self.struck:
            return STRUCK
        if style in self.faint and not (isinstance(value, list) and all(hasattr(piece, "font") for piece in value)):
            return self.faint[style]
        if isinstance(value, list):  # text in several fonts
            fonts = [piece.font for piece in value if hasattr(piece, "font")]
            if any(font.strike for font in fonts):
                return STRUCK
            if faint := next(filter(None, (self._faint(style, font) for font in fonts)), ""):
                return faint
            return "partly raised or lowered" if any(font.vertAlign not in (None, "baseline") for font in fonts) else ""
        if isinstance(value, int | float) and not isinstance(value, bool):
            return seen_number(self.formats.get(style, "General"), value)
        return ""


Rgb = tuple[int, int, int]
_BLACK, _WHITE = (0, 0, 0), (255, 255, 255)


class _Colours:
    """Colours of a workbook as red, green and blue of 255."""

    def __init__(self, book: Any) -> None:
        theme = book.loaded_theme or b""
        named = {name: re.search(rb"<a:%s>\s*<a:\w+ [^<>]{0,99}?(?:lastClr|val)=\"([0-9A-Fa-f]{6})\"" % name, theme)
                 for name in _THEME}  # fmt: skip
        self._theme = [
            match[1].decode() if (match := named[name]) else other for name, other in zip(_THEME, _OFFICE, strict=True)
        ]

    def of(self, color: Any) -> Rgb | None:
        """The colour; None for the automatic one, and those that are not known."""
        from openpyxl.styles.colors import COLOR_INDEX

        if color is None:
            return None
        table = {"theme": self._theme, "indexed": COLOR_INDEX[:64]}.get(color.type, ())
        if color.type == "rgb":
            code = str(color.rgb)
        elif table and 0 <= int(color.value) < len(table):
            code = str(table[int(color.value)])
        else:
            return None
        red, green, blue = bytes.fromhex(code[-6:])
        return _tinted(red, color.tint), _tinted(green, color.tint), _tinted(blue, color.tint)

    def ground(self, fill: Any) -> Rgb | None:
        """The colour behind the letters: white without a fill; None for patterns and gradients."""
        kind = getattr(fill, "fill_type", "gradient")
        return _WHITE if kind is None else self.of(fill.fgColor) if kind == "solid" else None


def _tinted(value: int, tint: float | None) -> int:
    """A part of a colour made darker (tint below 0) or lighter, as spreadsheets do with that of a theme."""
    tint = tint or 0.0
    return round(value * (1 + tint) if tint < 0 else value + (255 - value) * tint)


@lru_cache(4096)
def seen_number(form: str, value: float) -> str:
    """Say how a number in this format is seen; empty if as it is stored.

    Example:
        >>> seen_number("0%", 1), seen_number("0.0", 1.5), seen_number("0", 1.5), seen_number('0;-0;"-"', 0)
        ('shown as percent', '', 'shown rounded', 'shown without its number')
    """
    if form in ("General", "@") or re.search(r"\[[<>=]", form):
        return "" if form in ("General", "@") else "shown by a condition"
    sections = _SECTIONS.split(form)
    which = 1 if value < 0 and len(sections) > 1 else 2 if value == 0 and len(sections) > 2 else 0
    section = sections[which]
    literals, bare = _LITERAL.findall(section), _LITERAL.sub("", section)
    if "%" in section:
        return PERCENT
    if any(letter.isdigit() for text in literals if text[0] in '"\\' for letter in text):
        return "shown with other digits"
    if "general" in bare.casefold() or "@" in bare:
        return ""
    if not re.search(r"[0#?]", bare) or (value == 0 and "0" not in bare):
        return "shown without its number"
    if re.search(r"[0#?],+[^0#?]*$", bare):
        return "shown in thousands"
    if re.search(r"[eE/]", bare):
        return ""
    decimals = len(re.findall(r"[0#?]", bare.partition(".")[2]))
    return "" if abs(round(value, decimals) - value) < 1e-9 else ROUNDED


def _hidden(sheet: Worksheet) -> tuple[set[int], set[int]]:
    """Numbers of the rows and columns that are hidden, or of no height or width."""
    rows: set[int] = set()
    columns: set[int] = set()
    for match in _HIDDEN.finditer(sheet.xml):
        names = (b"r", b"r") if match[1] == b"row" else (b"min", b"max")
        first, last = (re.search(rb"\b" + name + rb'="([0-9]{1,7})"', match[0]) for name in names)
        if first and last and match[1] == b"row":
            rows.add(int(first[1]))
        elif first and last:
            columns.update(range(int(first[1]), min(int(last[1]), 2_000) + 1))
    return rows, columns


def _pieces(xml: bytes) -> Iterator[tuple[str, str]]:
    """Cells with struck-out or raised text of their own, and how that is called; text shared by cells has its fonts."""
    for match in islice(_PIECE.finditer(xml) if b"inlineStr" in xml else (), MAX_RUNS):
        places = _PLACE.findall(xml, max(0, match.start() - 5_000), match.start())
        if places:
            yield places[-1].decode(), STRUCK if b"strike" in match[0] else "partly raised or lowered"


def _worksheet(path: Path, sheet: Worksheet, looks: _Looks) -> Grid:
    """The lines of a worksheet; a merged cell's value stands in every cell that it covers, marked as a copy."""
    from openpyxl.utils import get_column_letter

    problems = []
    if missing := [place.decode() for place in _NOT_COMPUTED.findall(sheet.xml)]:
        what = f"sheet {sheet.title!r}: formulas without a result in {', '.join(missing[:5])}"
        what += f" and {len(missing) - 5} more cells." if len(missing) > 5 else "."
        fix = "Open it in a spreadsheet program and save it, or write the values."
        problems.append(Problem("formula-empty", what, fix, str(path)))
    rows, columns = _hidden(sheet)
    no_height = bool(_NO_HEIGHT.search(sheet.xml))
    pieces = dict(_pieces(sheet.xml))
    lines = []
    for number, row in sheet.rows:
        values = [trimmed(cell_value(cell)) for cell in row]
        while values and values[-1] is None:
            values.pop()
        unseen: dict[int, tuple[str, str]] = {}
        for index, cell in enumerate(row[: len(values)]):
            if values[index] is None:
                continue
            letter = get_column_letter(index + 1)
            if number in rows or no_height:
                unseen[index] = ("hidden", f"row {number}")
            elif index + 1 in columns:
                unseen[index] = ("hidden", f"column {letter}")
            elif how := pieces.get(f"{letter}{number}") or looks.of(cell):
                unseen[index] = (how, f"{letter}{number}")
        if values:
            lines.append(Line(number, values, unseen=unseen))
    if lines and not sheet.is_visible:
        what = f"sheet {sheet.title!r}: the whole sheet: hidden."
        fix = (
            f"Show it if it counts; else delete it, or write `ignore: [{sheet.title}]` in the mapping file (--columns)."
        )
        problems.append(Problem("cells-unseen", what, fix, str(path)))
    return Grid(sheet.title, _spread(path, sheet, lines), tuple(problems), sheet.noted)


def _spread(path: Path, sheet: Worksheet, lines: list[Line]) -> list[Line]:
    """The lines with the values of merged cells in every cell that they cover."""
    from openpyxl.utils import column_index_from_string

    numbers = [line.number for line in lines]
    copies: dict[int, set[int]] = {}
    work = 0
    for left, top, right, bottom in _MERGED.findall(sheet.xml):
        first, last = (column_index_from_string(name.decode()) - 1 for name in (left, right))
        covered: Sequence[Line] = lines[bisect_left(numbers, int(top)) : bisect_right(numbers, int(bottom))]
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
    return [Line(line.number, line.cells, frozenset(copies.get(line.number, ())), line.unseen) for line in lines]

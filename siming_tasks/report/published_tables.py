"""Tables as papers print them: read from files, kept to the printed digit; the paper's own come as data.

``0.070`` in a table stands for something between 0.0695 and 0.0705. Each check of
:mod:`siming_tasks.tools.table_lint.lint` works on that interval, so that it speaks up only when *no* value behind the
print can be right.
"""

from __future__ import annotations

import csv
import io
import json
import math
import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import asdict, dataclass, field
from importlib import resources
from itertools import combinations
from pathlib import Path
from typing import Any, Literal

from siming_tasks.common.doc_pages import see
from siming_tasks.common.errors import DataError
from siming_tasks.common.files import read_text, read_yaml
from siming_tasks.report.printed_number import Printed, factors, parse, parse_with_delta

Kind = Literal["inconsistent", "noise", "baseline", "note"]
KINDS: dict[Kind, str] = {
    "inconsistent": "Cannot all be right as printed",
    "noise": "Within what chance gives",
    "baseline": "What a constant would score",
    "note": "Worth knowing",
}
"""Kinds of findings, in the order they are shown. Only ``inconsistent`` makes the command exit with 1."""
COLUMNS: dict[str, str] = {
    "precision": "P", "recall": "R", "f1": "F1", "mcc": "MCC", "accuracy": "accuracy", "specificity": "specificity",
    "plcc": "PLCC", "srcc": "SRCC", "kappa": "kappa", "prevalence": "prevalence", "disagreement": "disagreement",
    "eda": "EDA",
}  # fmt: skip
"""Columns the linter understands, and how it prints them."""
_ALIASES = {
    "model": "name", "models": "name", "row": "name",
    "p": "precision", "ppv": "precision", "r": "recall", "sensitivity": "recall", "f": "f1", "f1": "f1",
    "f1score": "f1",
    "acc": "accuracy", "errordetectionaccuracy": "eda",
    "pearson": "plcc", "spearman": "srcc", "cohenskappa": "kappa", "qwk": "kappa", "κ": "kappa",
    "n": "n_items", "items": "n_items", "nitems": "n_items", "videos": "n_videos", "nvideos": "n_videos",
    "share": "percent",
}  # fmt: skip
_PERCENT_HEADING = re.compile(r"%|(?:x|×|\*)\s*100\b", re.IGNORECASE)
_RESERVED = {"name", "base", "count", "percent", "of", "n_items", "n_videos"}

_MAX_BYTES = 4_000_000


@dataclass(frozen=True)
class Row:
    """One line of a table: its numbers, its printed deltas (this row minus ``base``), and a count with its share.

    ``count`` of ``of`` (the product of the factors) is printed as ``percent``. ``base`` names the row that deltas start
    from; empty means the row of the same name in the table's base table. ``n_items``: the items behind this very row.
    """

    name: str
    values: Mapping[str, Printed] = field(default_factory=dict)
    deltas: Mapping[str, Printed] = field(default_factory=dict)
    base: str = ""
    count: int | None = None
    percent: Printed | None = None
    of: tuple[int, ...] = ()
    n_items: int | None = None


@dataclass(frozen=True)
class Table:
    """Rows measured on the same items: ``n_videos`` totals behind PLCC and SRCC, ``n_items`` steps behind the rest."""

    name: str
    rows: tuple[Row, ...]
    n_videos: int | None = None
    n_items: int | None = None
    base: str = ""
    note: str = ""
    ignored: tuple[str, ...] = ()

    def column(self, metric: str) -> dict[str, Printed]:
        """The rows that print this metric."""
        return {row.name: row.values[metric] for row in self.rows if metric in row.values}


@dataclass(frozen=True)
class Document:
    """All tables of one publication or file."""

    title: str
    tables: tuple[Table, ...]
    reference: str = ""

    def base_of(self, table: Table, row: Row) -> Row | None:
        """The row that this row's deltas start from, if the document has it."""
        home = next((other for other in self.tables if other.name == table.base), None) if table.base else table
        wanted = row.base or (row.name if table.base else "")
        return next((other for other in home.rows if other.name == wanted), None) if home else None


@dataclass(frozen=True)
class Finding:
    """One statement about printed numbers and the assumption it rests on.

    ``code`` is a stable kebab-case name; ``column`` and ``rows`` say which numbers. A finding never says how a number
    came about.
    """

    code: str
    kind: Kind
    table: str
    what: str
    assumes: str
    rows: tuple[str, ...] = ()
    column: str = ""

    def to_json(self) -> dict[str, object]:
        """The finding as plain JSON types."""
        return asdict(self)


def paper_tables() -> Document:
    """The paper's tables 3 to 6 as shipped data."""
    with resources.as_file(resources.files("siming_tasks.report") / "paper_tables.yaml") as path:
        return document_from(read_yaml(path), "paper_tables.yaml")


def read_document(path: Path) -> Document:
    """The tables of a ``.csv``, ``.json``, ``.yaml`` or ``.yml`` file.

    Raises:
        DataError: the file is missing, too large, of another kind, or a cell is not a number; names table, row, column.
    """
    kind = path.suffix.casefold()
    if kind in {".yaml", ".yml"}:
        return document_from(read_yaml(path), str(path))
    if kind not in {".csv", ".json"}:
        raise DataError(f"{path}: a table is a .csv, .json, .yaml or .yml file.")
    try:
        text = read_text(path, _MAX_BYTES)
        # parse_float=str keeps trailing zeros: 0.070 is printed to three places, 0.07 to two
        return document_from(text if kind == ".csv" else json.loads(text, parse_float=str), str(path))
    except json.JSONDecodeError as error:
        raise DataError(f"{path}:{error.lineno}: not valid JSON: {error.msg}. Mend that line.") from None


def document_from(data: Any, source: str) -> Document:
    """A document from CSV text, a list of rows, or a mapping with ``tables`` (each with ``rows`` in either form).

    Raises:
        DataError: the shape is none of these, or a cell is not a number.
    """
    if isinstance(data, str | list):
        data = {"tables": [{"name": Path(source).name, "rows": data}]}
    if not isinstance(data, dict) or not isinstance(data.get("tables"), list) or not data["tables"]:
        raise DataError(f"{source}: expected rows, or a mapping with a list `tables`; {see('lint')} has an example.")
    tables = tuple(_table(table, number, source) for number, table in enumerate(data["tables"], 1))
    _check_unique("table", (table.name for table in tables), source)
    return Document(str(data.get("title") or source), tables, str(data.get("reference") or ""))


def _table(data: Any, number: int, source: str) -> Table:
    if not isinstance(data, dict) or not data.get("rows"):
        raise DataError(f"{source}: table {number} has no `rows`.")
    name = str(data.get("name") or f"table {number}")
    where, lines = f"{source}: {name}", data["rows"]
    if isinstance(lines, str):
        reader = csv.DictReader(io.StringIO(lines.strip()), skipinitialspace=True)
        lines = list(reader)
        if any(None in line or None in line.values() for line in lines):
            width = len(reader.fieldnames or ())
            raise DataError(f"{where}: line {reader.line_num}: not {width} cells as in the header.")
    if not isinstance(lines, list) or not all(isinstance(line, dict) for line in lines) or not lines:
        raise DataError(f"{where}: `rows` is CSV text with a header line, or a list of mappings.")
    headings = dict.fromkeys(key for line in lines for key in line)
    read_as = {key: _canonical(key) for key in headings}
    for (first, column), (second, same) in combinations(read_as.items(), 2):
        if column == same and column.removesuffix("_delta") in COLUMNS:
            raise DataError(f"{where}: columns {first!r} and {second!r} are both read as {column}. Leave one out.")
    percent = {column for key, column in read_as.items() if _PERCENT_HEADING.search(str(key))}
    named = [{read_as[key]: value for key, value in line.items()} for line in lines]
    sizes: dict[str, int | None] = {}
    for key in ("n_videos", "n_items"):
        raw = data.get(key)
        if key not in data:  # rows of different size are not one population
            values = {str(line.get(key) or "").strip() for line in named}
            raw = values.pop() if len(values) == 1 else None
        try:
            sizes[key] = math.prod(factors(raw)) if _is_stated(raw) else None
        except ValueError as error:
            raise DataError(f"{where}: {key}: {error}.") from None
    columns = dict.fromkeys(key for line in named for key in line)
    ignored = tuple(key for key in columns if key not in _RESERVED and key.removesuffix("_delta") not in COLUMNS)
    rows = tuple(_row(line, place, where, percent) for place, line in enumerate(named, 1))
    _check_unique("row", (row.name for row in rows), where)
    base, note = (str(data.get(key) or "") for key in ("base", "note"))
    return Table(name, rows, **sizes, base=base, note=note, ignored=ignored)


def _row(line: Mapping[str, Any], place: int, where: str, percent_columns: Collection[str]) -> Row:
    name = str(line.get("name") or f"row {place}").strip()
    values: dict[str, Printed] = {}
    deltas: dict[str, Printed] = {}
    for key, raw in line.items():
        metric = key.removesuffix("_delta")
        if metric not in COLUMNS:
            continue
        try:
            value, delta = parse_with_delta(raw)
        except ValueError as error:
            way_out = "Write 0.331, 15.5%, 0.331 ± 0.020, 0.331 [0.290, 0.370] or 0.331 (+0.309)."
            raise DataError(f"{where}: row {name!r}, column {key}: {error}. {way_out}") from None
        if key in percent_columns:
            value, delta = (item and (item if "%" in item.text else item.as_percent()) for item in (value, delta))
        if key != metric:
            value, delta = None, value
        values |= {metric: value} if value else {}
        deltas |= {metric: delta} if delta else {}
    try:
        count, written = None, line.get("count")
        if _is_stated(written):
            if not (digits := str(written).strip().replace(",", "")).isdecimal():
                raise ValueError(f"{written!r} is not a whole number")
            count = int(digits)
        percent = parse(line.get("percent"))
        if percent and "percent" in percent_columns and "%" not in percent.text:
            percent = percent.as_percent()
        of = factors(line["of"]) if _is_stated(line.get("of")) else ()
        n_items = math.prod(factors(line["n_items"])) if _is_stated(line.get("n_items")) else None
    except ValueError as error:
        raise DataError(f"{where}: row {name!r}: {error}.") from None
    return Row(name, values, deltas, str(line.get("base") or "").strip(), count, percent, of, n_items)


def _is_stated(raw: object) -> bool:
    return raw is not None and str(raw).strip() != ""


def _canonical(column: object) -> str:
    text = _PERCENT_HEADING.sub("", re.sub(r"\\[a-z]+|[$↑↓]", "", str(column).casefold().replace("\\%", "%")))
    text = re.sub(r"[^\wκ]", "", text.replace("δ", "delta_").replace("delta__", "delta_"))
    delta = text.startswith("delta_") or text.endswith("_delta")
    text = text.removeprefix("delta_").removesuffix("_delta")
    if text not in COLUMNS and text not in _RESERVED:
        text = _ALIASES.get(text.replace("_", ""), text)
    return f"{text}_delta" if delta else text


def _check_unique(kind: str, names: Iterable[str], where: str) -> None:
    twice = next((name for name, count in Counter(names).items() if count > 1), None)
    if twice is not None:
        raise DataError(f"{where}: {kind} {twice!r} appears twice. Give each {kind} a name of its own.")

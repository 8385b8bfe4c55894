"""Reading published tables: CSV (one table), JSON or YAML (rows, or a document of tables)."""

from __future__ import annotations

import csv
import io
import json
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from importlib import resources
from pathlib import Path
from typing import Any

from siming_tasks.common.doc_pages import see
from siming_tasks.common.errors import DataError
from siming_tasks.common.files import read_text, read_yaml
from siming_tasks.report.published_tables.model import COLUMNS, Document, Row, Table
from siming_tasks.report.published_tables.numbers import Printed, factors, parse, parse_with_delta

__all__ = ["document_from", "paper_tables", "read_document"]

MAX_BYTES = 4_000_000
ALIASES = {
    "model": "name", "models": "name", "row": "name",
    "p": "precision", "ppv": "precision", "r": "recall", "sensitivity": "recall", "f": "f1", "f1score": "f1",
    "acc": "accuracy", "pearson": "plcc", "spearman": "srcc", "cohenskappa": "kappa", "qwk": "kappa", "κ": "kappa",
    "n": "n_items", "items": "n_items", "nitems": "n_items", "videos": "n_videos", "nvideos": "n_videos",
    "share": "percent",
}  # fmt: skip
RESERVED = {"name", "base", "count", "percent", "of", "n_items", "n_videos"}


def paper_tables() -> Document:
    """The paper's tables 3 to 6 as shipped data."""
    with resources.as_file(resources.files("siming_tasks.report.published_tables") / "paper_tables.yaml") as path:
        return document_from(read_yaml(path), "paper_tables.yaml")


def read_document(path: Path) -> Document:
    """The tables of a ``.csv``, ``.json``, ``.yaml`` or ``.yml`` file.

    Raises:
        DataError: the file is missing, too large, of another kind, or a cell is not a number; names table, row, column.
    """
    kind = path.suffix.casefold()
    if kind not in {".csv", ".json", ".yaml", ".yml"}:
        raise DataError(f"{path}: a table is a .csv, .json, .yaml or .yml file.")
    if kind in {".yaml", ".yml"}:
        return document_from(read_yaml(path), str(path))
    try:
        text = read_text(path, MAX_BYTES)
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
    _unique("table", (table.name for table in tables), source)
    return Document(str(data.get("title") or source), tables, str(data.get("reference") or ""))


def _table(data: Any, number: int, source: str) -> Table:
    if not isinstance(data, dict) or not data.get("rows"):
        raise DataError(f"{source}: table {number} has no `rows`.")
    name = str(data.get("name") or f"table {number}")
    where = f"{source}: {name}"
    raw = data["rows"]
    lines: Sequence[Any] = _csv_rows(raw, where) if isinstance(raw, str) else raw
    if not isinstance(lines, list) or not all(isinstance(line, dict) for line in lines) or not lines:
        raise DataError(f"{where}: `rows` is CSV text with a header line, or a list of mappings.")
    named = [{_canonical(key): value for key, value in line.items()} for line in lines]
    size = {
        key: _sample_size(data.get(key, _shared_value(named, key)), f"{where}: {key}")
        for key in ("n_videos", "n_items")
    }
    ignored = dict.fromkeys(key for line in named for key in line if not _is_known_column(key))
    rows = tuple(_row(line, place, where) for place, line in enumerate(named, 1))
    _unique("row", (row.name for row in rows), where)
    return Table(name, rows, **size, base=str(data.get("base") or ""), note=str(data.get("note") or ""),
                 ignored=tuple(ignored))  # fmt: skip


def _csv_rows(text: str, where: str) -> list[dict[str, Any]]:
    reader = csv.DictReader(io.StringIO(text.strip()), skipinitialspace=True)
    rows = list(reader)
    for row in rows:
        if None in row or None in row.values():
            raise DataError(
                f"{where}: line {reader.line_num}: not {len(reader.fieldnames or ())} cells as in the header."
            )
    return rows


def _row(line: Mapping[str, Any], place: int, where: str) -> Row:
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
            raise DataError(
                f"{where}: row {name!r}, column {key}: {error}. Write 0.331, 15.5% or 0.331 (+0.309)."
            ) from None
        if key != metric:
            value, delta = None, value
        if value:
            values[metric] = value
        if delta:
            deltas[metric] = delta
    try:
        count = _whole_number(line["count"]) if _is_stated(line.get("count")) else None
        percent = parse(line.get("percent"))
        of = factors(line["of"]) if _is_stated(line.get("of")) else ()
    except ValueError as error:
        raise DataError(f"{where}: row {name!r}: {error}.") from None
    return Row(name, values, deltas, str(line.get("base") or "").strip(), count, percent, of)


def _whole_number(raw: object) -> int:
    text = str(raw).strip().replace(",", "")
    if not text.isdecimal():
        raise ValueError(f"{raw!r} is not a whole number")
    return int(text)


def _unique(kind: str, names: Iterable[str], where: str) -> None:
    twice = [name for name, count in Counter(names).items() if count > 1]
    if twice:
        raise DataError(f"{where}: {kind} {twice[0]!r} appears twice. Give each {kind} a name of its own.")


def _canonical(column: object) -> str:
    text = re.sub(r"[^\wκ]", "", str(column).casefold())
    delta = text.startswith("delta_") or text.endswith("_delta")
    text = text.removeprefix("delta_").removesuffix("_delta")
    known = text in COLUMNS or text in RESERVED
    text = text if known else ALIASES.get(text.replace("_", ""), text)
    return f"{text}_delta" if delta else text


def _is_known_column(key: str) -> bool:
    return key in RESERVED or key.removesuffix("_delta") in COLUMNS


def _is_stated(raw: object) -> bool:
    return raw is not None and str(raw).strip() != ""


def _shared_value(lines: Sequence[Mapping[str, Any]], key: str) -> object:
    """The one value that a column holds on every row, else None: rows of different size are not one population."""
    values = {str(line.get(key) or "").strip() for line in lines}
    return values.pop() if len(values) == 1 else None


def _sample_size(raw: object, where: str) -> int | None:
    if not _is_stated(raw):
        return None
    try:
        whole = 1
        for part in factors(raw):
            whole *= part
        return whole
    except ValueError as error:
        raise DataError(f"{where}: {error}.") from None

"""Result files of VLMEvalKit: a table with the columns of its data set, and ``prediction``."""

from __future__ import annotations

import csv
import json
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from siming_tasks.common.errors import DataError
from siming_tasks.common.files import open_regular, read_text
from siming_tasks.common.redact import redact

__all__ = ["vlmevalkit_replies"]

MAX_BYTES = 2_000_000_000
CELL = 32_767
"""Characters that a cell of a workbook holds: a longer reply was cut there."""

_FAILED = "Failed to obtain answer via API"
"""Text that VLMEvalKit writes in place of a reply that it did not get (``vlmeval/api/base.py``)."""
_IDS = ("id", "index")


def vlmevalkit_replies(file: Path, epoch: int | None = None) -> Iterator[tuple[str, dict[str, Any]]]:
    """Place and reply of every row of an ``.xlsx``, ``.tsv``, ``.csv`` or ``.json`` result file.

    The id of the request stands in the column ``id`` or, without one, ``index``. Pickles are not read: they run code.

    Raises:
        DataError: it is none of these files, or has no such columns.
    """
    if epoch is not None:
        raise DataError(f"{file}: files of VLMEvalKit have no epochs. Leave --epoch out.")
    read = _READ.get(file.suffix.lower())
    if read is None:
        raise DataError(f"{file}: a result file is one of {', '.join(_READ)}. Save it as one of these.")
    for number, row in read(file):
        place = f"{file}:{number}"
        if "prediction" not in row or not (name := next((name for name in _IDS if name in row), None)):
            raise DataError(f"{place}: needs the columns `prediction` and `index` (or `id`). Is it the result file?")
        reply = row["prediction"]
        reply = None if reply is None or reply != reply else reply if isinstance(reply, str) else json.dumps(reply)
        if reply is not None and _FAILED in reply[:200]:
            yield place, {"id": str(row[name]), "reply": None, "error": str(redact(reply[:500]))}
        elif reply is not None and len(reply) == CELL and file.suffix.lower() == ".xlsx":
            yield place, {"id": str(row[name]), "reply": reply, "usage": {"finish_reason": "length"}}
        else:
            yield place, {"id": str(row[name]), "reply": reply}


def _workbook(file: Path) -> Iterator[tuple[int, Mapping[str, Any]]]:
    import openpyxl

    try:
        with open_regular(file) as stream:
            book = openpyxl.load_workbook(stream, read_only=True, data_only=True)
            rows = book.worksheets[0].iter_rows(values_only=True)
            head = [str(name) for name in next(rows, ())]
            for number, row in enumerate(rows, 2):
                if any(cell is not None for cell in row):
                    yield number, dict(zip(head, row, strict=False))
    except DataError:
        raise
    except Exception as error:  # noqa: BLE001 - a workbook of strangers, through a reader that raises whatever it likes
        raise DataError(f"{file}: not a workbook that can be read ({type(error).__name__}). Save it as .tsv.") from None


def _lines(file: Path) -> Iterator[tuple[int, Mapping[str, Any]]]:
    csv.field_size_limit(min(sys.maxsize, MAX_BYTES))
    lines = read_text(file, MAX_BYTES).splitlines(keepends=True)
    reader = csv.DictReader(lines, delimiter="\t" if file.suffix.lower() == ".tsv" else ",")
    try:
        for row in reader:
            yield reader.line_num, {name: value or None for name, value in row.items() if name is not None}
    except csv.Error as error:
        raise DataError(f"{file}:{reader.line_num}: {error}. Save it as .xlsx.") from None


def _json(file: Path) -> Iterator[tuple[int, Mapping[str, Any]]]:
    try:
        content = json.loads(read_text(file, MAX_BYTES))
    except (ValueError, RecursionError) as error:
        raise DataError(f"{file}: not JSON ({error}).") from None
    if isinstance(content, dict) and all(isinstance(column, dict) for column in content.values()):  # pandas: by column
        keys = dict.fromkeys(key for column in content.values() for key in column)
        content = [{name: column.get(key) for name, column in content.items()} for key in keys]
    if not isinstance(content, list) or not all(isinstance(row, dict) for row in content):
        raise DataError(f"{file}: neither a list of rows nor columns. Is it the result file?")
    yield from enumerate(content, 1)


_READ = {".xlsx": _workbook, ".tsv": _lines, ".csv": _lines, ".json": _json}

"""Replies that were made by other harnesses, as a file that ``siming score`` takes."""

from __future__ import annotations

import csv
import json
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import zip_longest
from pathlib import Path
from typing import Any

from siming_tasks.common.errors import DataError
from siming_tasks.common.files import atomic_write, read_text
from siming_tasks.common.redact import redact
from siming_tasks.common.sanitize import well_formed
from siming_tasks.common.workbook import cell_value, open_workbook
from siming_tasks.data.jsonl import unique_pairs
from siming_tasks.tasks import TASKS
from siming_tasks.tools.exchange.batch_file import batch_replies
from siming_tasks.tools.exchange.inspect_logs import inspect_replies

MAX_BYTES = 500_000_000
MAX_UNPACKED = 100_000_000
"""Bytes of a workbook's parts, unpacked: 200 exams with the longest cells have a fifth."""
CELL = 32_767
"""Characters that a cell of a workbook holds: a longer reply was cut there."""
_FAILED = "Failed to obtain answer"
"""Begins the texts that VLMEvalKit writes in place of a reply that it did not get (``vlmeval/api/base.py``)."""

_Rows = Iterator[tuple[int, Mapping[str, Any]]]


def import_replies(file: Path, form: str, out: Path, *, epoch: int | None = None) -> dict[str, int]:
    """Write the replies of another harness's file as lines ``{id, reply}``.

    Args:
        file: a VLMEvalKit result file, the result file of a batch job, or an Inspect log.
        form: a key of :data:`IMPORTERS`.
        out: the file.
        epoch: which repetition of the questions; None: there is only one.

    Returns:
        How many replies there are of each setting.

    Raises:
        DataError: the file cannot be read, a reply is to no request of ours, or a request is answered twice.
    """
    counts: Counter[str] = Counter()
    places: dict[str, str] = {}
    with atomic_write(out) as stream:
        for place, reply in IMPORTERS[form](file, epoch):
            request = str(reply["id"])
            setting, slash, _ = request.partition("/")
            if setting not in TASKS or not slash:
                fix = "Ask with the requests of `siming run requests`, and keep their ids."
                raise DataError(f"{place}: {request[:200]!r} is no id of a request. {fix}")
            if request in places:
                fix = "Keep one, or name the repetition (--epoch)."
                raise DataError(f"{place}: {request!r} is answered in {places[request]} already. {fix}")
            places[request] = place
            counts[setting] += 1
            stream.write(well_formed(json.dumps(reply, ensure_ascii=False)) + "\n")
        if not counts:
            raise DataError(f"{file}: holds no reply to a request of `siming run requests`.")
    return counts


def vlmevalkit_replies(file: Path, epoch: int | None = None) -> Iterator[tuple[str, dict[str, Any]]]:
    """Place and reply of every row of a VLMEvalKit result: a table with its data set's columns and ``prediction``.

    The id of the request stands in the column ``id`` or, without one, ``index``. Pickles are not read: they run code.

    Raises:
        DataError: it is no ``.xlsx``, ``.tsv``, ``.csv`` or ``.json`` file, or has no such columns.
    """
    if epoch is not None:
        raise DataError(f"{file}: files of VLMEvalKit have no epochs. Leave --epoch out.")
    suffix = file.suffix.lower()
    if suffix not in _READ:
        raise DataError(f"{file}: a result file is one of {', '.join(_READ)}. Save it as one of these.")
    for number, row in _READ[suffix](file):
        place = f"{file}:{number}"
        if "prediction" not in row or not (name := next((name for name in ("id", "index") if name in row), None)):
            raise DataError(f"{place}: needs the columns `prediction` and `index` (or `id`). Is it the result file?")
        text = row["prediction"]
        reply = None if text is None or text != text else text if isinstance(text, str) else json.dumps(text)
        line: dict[str, Any] = {"id": str(row[name]), "reply": reply}
        if reply is not None and _FAILED in reply[:200]:
            line |= {"reply": None, "error": str(redact(reply[:500]))}
        elif reply is not None and len(reply) == CELL and suffix == ".xlsx":
            line["usage"] = {"finish_reason": "length"}
        yield place, line


def _workbook(file: Path) -> _Rows:
    with open_workbook(file, most=MAX_UNPACKED, formulas=True) as sheets:
        rows = sheets[0].rows
        _, first = next(rows, (1, ()))
        head = [None if cell.value is None else str(cell_value(cell)) for cell in first]
        _check_columns(file, [name for name in head if name is not None])
        for number, row in rows:
            values = [cell_value(cell) for cell in row[: len(head)]]
            if any(value is not None for value in values):
                cells = zip_longest(head, values)  # a row ends with its last cell
                yield number, {name: cell for name, cell in cells if name is not None}


def _check_columns(file: Path, head: Sequence[str]) -> None:
    """Refuse a column that stands there twice: nobody can say which of the two holds the replies."""
    if twice := next((name for name in head if head.count(name) > 1), None):
        raise DataError(f"{file}: column {twice[:64]!r} appears twice. Delete or rename one.")


def _csv_lines(file: Path) -> _Rows:
    lines = read_text(file, MAX_BYTES).splitlines(keepends=True)
    reader = csv.DictReader(lines, delimiter="\t" if file.suffix.lower() == ".tsv" else ",")
    limit = csv.field_size_limit(min(sys.maxsize, MAX_BYTES))  # of the whole process
    try:
        _check_columns(file, reader.fieldnames or ())
        for row in reader:
            yield reader.line_num, {name: value or None for name, value in row.items() if name is not None}
    except csv.Error as error:
        raise DataError(f"{file}:{reader.line_num}: {error}. Save it as .xlsx.") from None
    finally:
        csv.field_size_limit(limit)


def _json(file: Path) -> _Rows:
    try:
        content = json.loads(read_text(file, MAX_BYTES), object_pairs_hook=unique_pairs)
    except (ValueError, RecursionError) as error:
        raise DataError(f"{file}: not JSON ({error}).") from None
    if isinstance(content, dict) and all(isinstance(column, dict) for column in content.values()):  # pandas: by column
        keys = dict.fromkeys(key for column in content.values() for key in column)
        content = [{name: column.get(key) for name, column in content.items()} for key in keys]
    if not isinstance(content, list) or not all(isinstance(row, dict) for row in content):
        raise DataError(f"{file}: neither a list of rows nor columns. Is it the result file?")
    yield from enumerate(content, 1)


_READ: dict[str, Callable[[Path], _Rows]] = {".xlsx": _workbook, ".tsv": _csv_lines, ".csv": _csv_lines, ".json": _json}

IMPORTERS: Mapping[str, Callable[[Path, int | None], Iterator[tuple[str, Mapping[str, Any]]]]] = {
    "inspect": inspect_replies,
    "openai-batch": batch_replies,
    "vlmevalkit": vlmevalkit_replies,
}
"""By the harness's name: reads a file; gives the place of each reply (for errors), and its request's ``id``, ``reply``
or ``error``, perhaps ``usage``. The number is an epoch (None: there is only one)."""

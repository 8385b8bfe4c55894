"""Replies that were made by other harnesses, as a file that ``siming score`` takes."""

from __future__ import annotations

import csv
import json
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path
from typing import Any

from siming_tasks.common.errors import DataError, Problem
from siming_tasks.common.files import atomic_write, read_text
from siming_tasks.common.redact import redact
from siming_tasks.common.sanitize import well_formed
from siming_tasks.common.workbook import cell_value, open_workbook
from siming_tasks.data.jsonl import read_jsonl, unique_pairs
from siming_tasks.parsing.parsed_reply import BLOCKED_MARKER
from siming_tasks.results.record import ASKED_AGAIN, REQUEST_FAILED, answered_more
from siming_tasks.results.usage import is_cut_off
from siming_tasks.tasks import TASKS
from siming_tasks.tools.exchange.batch_file import batch_replies
from siming_tasks.tools.exchange.inspect_logs import inspect_replies

MAX_BYTES = 500_000_000
MAX_UNPACKED = 100_000_000
"""Bytes of a workbook's parts, unpacked: 200 exams with the longest cells have a fifth."""
MAX_REQUEST = 256_000_000
"""Bytes of one request with its frames."""
FACTS = ("prompt", "dataset", "media", "asking", "part", "reply_schema", "model", "file")
"""What a request says of itself that belongs into the record of its reply; ``model`` and ``file`` are of batch jobs."""
CELL = 32_767
"""Characters that a cell of a workbook holds: a longer reply was cut there."""
_FAILED = "Failed to obtain answer"
"""Begins the texts that VLMEvalKit writes in place of a reply that it did not get (``vlmeval/api/base.py``)."""

_Rows = Iterator[tuple[int, Mapping[str, Any]]]


@dataclass(frozen=True)
class Imported:
    """Result of an import: number of replies by setting, and by file of the job the requests without one."""

    counts: Mapping[str, int]
    missing: Mapping[str, Sequence[str]]


def import_replies(
    files: Sequence[Path], form: str, out: Path, *, asked: Path | None = None, epoch: int | None = None
) -> Imported:
    """Write the replies of another harness's files as lines ``{id, reply}``, with what was asked and shown if known.

    Args:
        files: result files of VLMEvalKit or a batch job, predictions of evalscope, or Inspect logs; all of one run.
        form: a key of :data:`IMPORTERS`.
        out: the file.
        asked: file of the requests (``siming run requests``), or the one beside a batch job that says what was asked.
        epoch: which repetition of the questions; None: there is only one.

    Raises:
        DataError: a file cannot be read, a reply is to no request, or a request is answered twice. Of one asked again
            (:data:`~siming_tasks.results.record.ASKED_AGAIN`), the answer counts, with the tokens of both.
    """
    requests = _requests(asked) if asked else {}
    rows = tuple(requests)
    replies: dict[str, tuple[Path, str, Mapping[str, Any]]] = {}
    for file in files:
        for place, reply in IMPORTERS[form](file, epoch):
            if isinstance(row := reply["id"], int):
                if not 0 <= row < len(rows):
                    fix = "Give the file that was asked (--requests FILE), which names the requests by their rows."
                    raise DataError(f"{place}: is about request number {row}, and {len(rows)} are known. {fix}")
                reply = {**reply, "id": rows[row]}
            request = str(reply["id"])
            setting, slash, _ = request.partition("/")
            if setting not in TASKS or not slash or (asked and request not in requests):
                fix = "Ask with the requests of `siming run requests`, and keep their ids."
                whose = f" in {asked}" if setting in TASKS and slash else ""
                raise DataError(f"{place}: {request[:200]!r} is no id of a request{whose}. {fix}")
            if request not in replies:
                replies[request] = file, place, reply
                continue
            first_file, earlier, first = replies[request]
            statuses = [_status(one) for one in (first, reply)]
            is_second = None not in (
                first["reply"],
                reply["reply"],
            )  # an answer, or what another job is asked again for
            if is_second and (file == first_file or not set(statuses) & set(ASKED_AGAIN)):
                fix = "Keep one, or name the repetition (--epoch)."
                raise DataError(f"{place}: {request!r} is answered in {earlier} already. {fix}")
            kept, other = (reply, first) if answered_more(statuses[1], statuses[0]) else (first, reply)
            replies[request] = file, place, _with_tokens_of(kept, other)
    if not replies:
        raise DataError(f"{', '.join(map(str, files))}: holds no reply to a request of `siming run requests`.")
    missing: dict[str, list[str]] = {}
    with atomic_write(out) as stream:
        for request, (_, _, reply) in replies.items():
            line = {**reply, **requests.get(request, {})}
            if (model := line.pop("model", None)) and "usage" in line:
                line["usage"] = {"model": model, **line["usage"]}
            line.pop("file", None)
            stream.write(well_formed(json.dumps(line, ensure_ascii=False)) + "\n")
    for request in requests.keys() - replies.keys():
        missing.setdefault(requests[request].get("file", str(asked)), []).append(request)
    counts = Counter(request.partition("/")[0] for request in replies)
    return Imported(counts, {name: sorted(missing[name]) for name in sorted(missing)})


def _status(reply: Mapping[str, Any]) -> str:
    """Status of a reply as far as it shows without the steps that were asked; "" for any answer."""
    text, cut = reply["reply"], is_cut_off("", reply.get("usage"))
    if text is None:
        return REQUEST_FAILED
    if text.startswith(BLOCKED_MARKER):
        return "refused"
    return "truncated" if cut else "" if text.strip() else "empty"


def _with_tokens_of(kept: Mapping[str, Any], other: Mapping[str, Any]) -> Mapping[str, Any]:
    """Reply with the tokens of another sending of its request, which were paid as well."""
    own, more = kept.get("usage") or {}, other.get("usage") or {}
    tokens = {
        name: own.get(name, 0) + more[name]
        for name in ("prompt_tokens", "completion_tokens")
        if name in more and (name in own or kept["reply"] is None)
    }
    return {**kept, "usage": {**own, **tokens}} if tokens else kept


def _requests(file: Path) -> dict[str, dict[str, Any]]:
    """Facts of each request of a file that belong into the record of its reply, by its id (DataError)."""
    facts = {}
    for number, row in read_jsonl(file, str(file), MAX_REQUEST):
        if isinstance(row, Problem):
            raise DataError(f"{file}:{number}: {row.what} {row.fix}")
        if not isinstance(row.get("id"), str) or "prompt" not in row:
            raise DataError(f"{file}:{number}: needs `id` and `prompt`. Is it a file of `siming run requests`?")
        facts[row["id"]] = {name: row[name] for name in FACTS if name in row}
    return facts


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


def evalscope_replies(file: Path, epoch: int | None = None) -> Iterator[tuple[str, dict[str, Any]]]:
    """Place and reply of every line of evalscope's predictions; its id is the row of the request in the asked file.

    Raises:
        DataError: a line is no prediction.
    """
    if epoch is not None:
        raise DataError(f"{file}: predictions of evalscope have no epochs. Leave --epoch out.")
    for number, row in read_jsonl(file, str(file), MAX_REQUEST, strict=False):  # the frames are in it
        place = f"{file}:{number}"
        if isinstance(row, Problem):
            raise DataError(f"{place}: {row.what} {row.fix}")
        if type(index := row.get("index")) is not int or "model_output" not in row:
            raise DataError(f"{place}: needs `index` and `model_output`. Is it of evalscope's folder predictions?")
        output = row["model_output"] if isinstance(row["model_output"], Mapping) else {}
        choices = output.get("choices")
        choice = choices[0] if isinstance(choices, list) and choices and isinstance(choices[0], Mapping) else {}
        message = choice.get("message")
        content = message.get("content") if isinstance(message, Mapping) else None
        if output.get("error") or not isinstance(content, str | list):
            reason = str(redact(str(output.get("error") or "no output in the predictions")))[:500]
            yield place, {"id": index, "reply": None, "error": reason}
            continue
        parts = [part.get("text") for part in content if isinstance(part, Mapping)] if isinstance(content, list) else []
        spent = usage if isinstance(usage := output.get("usage"), Mapping) else {}
        tokens = {"prompt_tokens": spent.get("input_tokens"), "completion_tokens": spent.get("output_tokens")}
        facts: dict[str, Any] = {name: count for name, count in tokens.items() if type(count) is int}
        if isinstance(ended := choice.get("stop_reason"), str):
            facts["finish_reason"] = "length" if ended in ("max_tokens", "model_length") else ended
        reply = content if isinstance(content, str) else "".join(part for part in parts if isinstance(part, str))
        yield place, {"id": index, "reply": reply, "usage": facts}


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
    "evalscope": evalscope_replies,
    "inspect": inspect_replies,
    "openai-batch": batch_replies,
    "vlmevalkit": vlmevalkit_replies,
}
"""By the harness's name: reads a file; gives the place of each reply (for errors), and its request's ``id`` (a number
is its row in the asked file), ``reply`` or ``error``, perhaps ``usage``. The number is an epoch (None: only one)."""

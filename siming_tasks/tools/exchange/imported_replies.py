"""Replies of a batch job, as a file that ``siming score`` takes."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from siming_tasks.common.errors import DataError, Problem
from siming_tasks.common.files import atomic_write
from siming_tasks.common.sanitize import well_formed
from siming_tasks.data.jsonl import read_jsonl
from siming_tasks.parsing.parsed_reply import BLOCKED_MARKER
from siming_tasks.results.record import ASKED_AGAIN, REQUEST_FAILED, answered_more
from siming_tasks.results.usage import is_cut_off
from siming_tasks.tasks import TASKS
from siming_tasks.tools.exchange.batch_file import batch_replies

MAX_REQUEST = 256_000_000
"""Bytes of one request with its frames."""
FACTS = ("prompt", "dataset", "media", "asking", "part", "reply_schema", "model", "file")
"""What a request says of itself that belongs into the record of its reply; ``model`` and ``file`` are of batch jobs."""


@dataclass(frozen=True)
class Imported:
    """Result of an import: number of replies by setting, and by file of the job the requests without one."""

    counts: Mapping[str, int]
    missing: Mapping[str, Sequence[str]]


def import_replies(files: Sequence[Path], out: Path, *, asked: Path | None = None) -> Imported:
    """Write the replies of a job's result files as lines ``{id, reply}``, with what was asked and shown if known.

    Args:
        files: result files and files of errors of one job, or of several jobs of one run.
        out: the file.
        asked: the file beside the job that says what was asked, or that of the requests (``siming run requests``).

    Raises:
        DataError: a file cannot be read, a reply is to no request, or a request is answered twice. Of one asked again
            (:data:`~siming_tasks.results.record.ASKED_AGAIN`), the answer counts, with the tokens of both.
    """
    requests = _requests(asked) if asked else {}
    replies: dict[str, tuple[Path, str, dict[str, Any]]] = {}
    for file in files:
        for place, reply in batch_replies(file):
            request = reply["id"]
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
            both_answered = first["reply"] is not None and reply["reply"] is not None
            if both_answered and (file == first_file or not set(statuses) & set(ASKED_AGAIN)):
                raise DataError(f"{place}: {request!r} is answered in {earlier} already. Keep one of the two.")
            better = answered_more(statuses[1], statuses[0])
            merged = _with_tokens_of(reply, first) if better else _with_tokens_of(first, reply)
            replies[request] = file, place, merged
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


def _with_tokens_of(kept: dict[str, Any], other: Mapping[str, Any]) -> dict[str, Any]:
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

"""Requests as a batch job of OpenAI's API or of ``vllm run-batch``, and the replies of its result files.

A line of the job is ``custom_id`` (the request's id), ``method``, ``url`` and ``body``; a line of a result file has the
``custom_id`` again, with ``response`` (``status_code``, ``body``: a chat completion) or ``error``. Source:
https://platform.openai.com/docs/guides/batch, ``BatchRequestInput`` and ``BatchRequestOutput`` of vLLM.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from siming_tasks.common.errors import DataError, Problem
from siming_tasks.common.files import atomic_write
from siming_tasks.common.redact import redact
from siming_tasks.data.jsonl import read_jsonl
from siming_tasks.plugin.response_cache.ledger import Attempt, facts_of_answer, reply_of

URL = "/v1/chat/completions"
MAX_REQUESTS = 50_000
"""Most requests of a job at OpenAI."""

USAGE = ("finish_reason", "served", "http_status", "prompt_tokens", "completion_tokens")
"""Facts of an answer that go into the usage of its record."""


def batch_line(request: Mapping[str, Any], model: str) -> dict[str, Any]:
    """Line of a batch job for a line of ``siming run requests --messages openai``, asked of this model."""
    generation = request["generation"]
    body = {
        "model": model,
        "messages": request["messages"],
        "max_completion_tokens": generation["max_new_tokens"],
        "temperature": generation["temperature"],
    }
    if schema := request.get("schema"):
        named = {"name": "answer", "strict": True, "schema": schema}
        body["response_format"] = {"type": "json_schema", "json_schema": named}
    return {"custom_id": request["id"], "method": "POST", "url": URL, "body": body}


def asked_file(out: Path) -> Path:
    """File beside a job that says of each request what it asks and shows: the job's own lines have no place for it."""
    return out.with_name(f"{out.stem}_asked{out.suffix}")


def write_parts(requests: Iterable[tuple[str, Mapping[str, Any]]], out: Path, most_bytes: int) -> list[Path]:
    """Write a job into ``out`` and, where that would be too large, into ``<stem>-2``, ``<stem>-3``... beside it.

    Args:
        requests: line of the job with its line end, and the facts for :func:`asked_file`, which get the ``file``.
        out: the first file.
        most_bytes: of a file, of which none has more than :data:`MAX_REQUESTS` lines either.

    Raises:
        DataError: a line alone is larger, or there are parts of an earlier job, which would be taken for this one's.
    """
    if old := sorted(out.parent.glob(f"{out.stem}-[0-9]*{out.suffix}")):
        raise DataError(f"{old[0]}: is a part of an earlier job. Delete it, or name another OUT.")
    parts: list[Path] = []
    size = count = 0
    with ExitStack() as open_files:  # all parts take their names at the end, or none does
        asked = open_files.enter_context(atomic_write(asked_file(out)))
        for line, facts in requests:
            length = len(line.encode())
            if length > most_bytes:
                raise DataError(
                    f"{out}: one request has {length / 1e6:.1f} MB, and a file at most {most_bytes / 1e6:g}. Raise "
                    "--batch-mb, show less (--frames, --frame-size), or send addresses of files (--files)."
                )
            if not parts or size + length > most_bytes or count == MAX_REQUESTS:
                parts.append(out.with_name(f"{out.stem}-{len(parts) + 1}{out.suffix}") if parts else out)
                stream, size, count = open_files.enter_context(atomic_write(parts[-1])), 0, 0
            stream.write(line)
            asked.write(json.dumps({**facts, "file": parts[-1].name}, ensure_ascii=False) + "\n")
            size, count = size + length, count + 1
    return parts


def batch_replies(file: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    """Place and reply of every line of a result file, read as the answer of a service to a run is.

    A request that failed has ``error`` in place of a reply, and its tokens where the service counts some.

    Raises:
        DataError: a line is no line of a result file.
    """
    for number, row in read_jsonl(file, strict=False):
        place = f"{file}:{number}"
        if isinstance(row, Problem):
            raise DataError(f"{place}: {row.what} {row.fix}")
        if not isinstance(name := row.get("custom_id"), str) or not {"response", "error"} & row.keys():
            raise DataError(f"{place}: needs `custom_id` and `response` or `error`. Is it the result file of the job?")
        response = row.get("response")
        response = response if isinstance(response, Mapping) else {}
        body = response.get("body") or row.get("error")  # vLLM has the body of an HTTP error there
        status = code if type(code := response.get("status_code")) is int else 0
        answer = Attempt(name, 0, http_status=status, **facts_of_answer(status, body))
        usage = {fact: value for fact in USAGE if (value := getattr(answer, fact)) is not None}
        if answer.error or answer.unread:
            reason = row.get("error") or (body.get("error") if isinstance(body, Mapping) else None) or body
            said = answer.error if status and status < 300 and answer.error else json.dumps(reason or "no answer")
            failed = {"id": name, "reply": None, "error": str(redact(said[:500]))}
            yield place, failed | ({"usage": usage} if answer.billed and not answer.unread else {})
            continue
        yield place, {"id": name, "reply": reply_of(answer.text, [answer], lambda text: False), "usage": usage}

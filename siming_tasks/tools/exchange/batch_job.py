"""Requests as a batch job of OpenAI's API or of ``vllm run-batch``.

A line of the job is ``custom_id`` (the request's id, ``#`` and the hash of what it asks), ``method``, ``url`` and
``body``. Source: https://platform.openai.com/docs/guides/batch, ``BatchRequestInput`` of vLLM.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any
from urllib.parse import quote

from siming_tasks.benchmark.record import Record, is_asked_again
from siming_tasks.common.errors import DataError
from siming_tasks.common.files import atomic_write, sha256_json
from siming_tasks.common.output_folder import output_folder
from siming_tasks.common.sanitize import one_line
from siming_tasks.data.consent import HERE, UNSTATED
from siming_tasks.plugin.run_context import Doc
from siming_tasks.study.results.run import Run
from siming_tasks.tools.exchange.requests import Asked, BatchRequest, MediaAddresses

URL = "/v1/chat/completions"
MAX_REQUESTS = 50_000
"""Most requests of a file at OpenAI."""


def asked_file(job: Path) -> Path:
    """File next to a job with the question and the input of each request: the job's own lines have no place for it."""
    return job.with_name(f"{job.stem}_asked{job.suffix}")


def media_folder(job: Path) -> Path:
    """Folder next to a job for the frames that are not inside it."""
    return job.with_name(f"{job.stem}_media")


def batch_line(request: BatchRequest, model: str, asked: str) -> dict[str, Any]:
    """Line of a job that asks a model; ``asked``: hash of what it is asked."""
    body = {
        "model": model,
        "messages": request.messages,
        "max_completion_tokens": request.generation["max_new_tokens"],
        "temperature": request.generation["temperature"],
    }
    if request.schema:
        named = {"name": "answer", "strict": True, "schema": request.schema}
        body["response_format"] = {"type": "json_schema", "json_schema": named}
    return {"custom_id": f"{request.id}#{asked}", "method": "POST", "url": URL, "body": body}


def write_job(
    asked: Asked,
    model: str,
    job: Path,
    *,
    files: bool,
    most_bytes: int = 190_000_000,
    watched: Callable[[Sequence[Doc]], Iterable[Doc]] = iter,
) -> list[Path]:
    """Write a job into ``job`` and, where that would be too large, into ``<stem>-2``, ``<stem>-3``... next to it.

    Only its owner can read it.

    Args:
        asked: the requests.
        model: name of the model that is asked.
        job: the first file; :func:`asked_file` and :func:`media_folder` are next to it.
        files: frames as files, for vLLM on this machine, instead of ``data:`` URLs, for whom the data set names.
        most_bytes: of a file, which has at most :data:`MAX_REQUESTS` lines.
        watched: as :meth:`siming_tasks.tools.exchange.requests.Asked.requests` has it.

    Returns:
        The files of the job.

    Raises:
        DataError: a file or folder of an earlier job is there, which may be under way; or one request is larger than
            a file.
    """
    earlier = [job, asked_file(job), *sorted(job.parent.glob(f"{job.stem}-[0-9]*{job.suffix}"))]
    if old := next((path for path in earlier if path.exists()), None):
        raise DataError(
            f"{old}: already exists, and may belong to a job that was sent. Choose another OUT, or delete it."
        )
    parts: list[Path] = []
    size = count = 0
    with ExitStack() as open_files:  # all parts take their names at the end, or none does
        folder = media_folder(job)
        new = open_files.enter_context(output_folder(folder, private=True)) if files else None
        media = MediaAddresses(new, f"file://{quote(folder.name)}")
        known = open_files.enter_context(atomic_write(asked_file(job), private=True))
        for request in asked.requests(HERE if files else UNSTATED, media, watched):
            digest = sha256_json([model, request.asked])[:12]
            line = json.dumps(batch_line(request, model, digest), ensure_ascii=False) + "\n"
            length = len(line.encode())
            if length > most_bytes:
                raise DataError(
                    f"{job}: one request has {length / 1e6:.1f} MB, and a file at most {most_bytes / 1e6:g}. Raise "
                    "--batch-mb, show less (--frames, --frame-size), or send addresses of files (--files)."
                )
            if not parts or size + length > most_bytes or count == MAX_REQUESTS:
                parts.append(job.with_name(f"{job.stem}-{len(parts) + 1}{job.suffix}") if parts else job)
                stream, size, count = open_files.enter_context(atomic_write(parts[-1], private=True)), 0, 0
            stream.write(line)
            facts = {"id": request.id, "asked": digest, "model": model, "file": parts[-1].name,
                     "steps": request.steps, **request.facts}  # fmt: skip
            known.write(json.dumps(facts, ensure_ascii=False) + "\n")
            size, count = size + length, count + 1
    return parts


def answered_requests(run: Run) -> dict[str, Record]:
    """The record of every request that has an answer to keep, by id; of an exam asked in parts, by part."""
    answered = {}
    for record in (record for present in run.records.values() for record in present):
        for part, status in (record.conditions.parts or {"": record.status}).items():
            if not is_asked_again(status, record.conditions.usage):
                answered["/".join(filter(None, (record.id, part)))] = record
    return answered


def refuse_unlike(asked: Asked, model: str, answered: dict[str, Record]) -> None:
    """Refuse requests that differ from the answered ones of the same setting (DataError: names the fact).

    One of each setting is looked at, which shows other frames, sizes, prompts or data.
    """
    for name, record in answered.items():
        if (other := (record.conditions.usage or {}).get("model")) not in (None, model):
            raise DataError(f"{name}: is answered by {other!r} in the run, not by {model!r}. Give --model {other}.")
    first: dict[str, Doc] = {}
    for doc in asked.documents:
        if doc["id"] in answered:
            first.setdefault(doc["setting"], doc)
    for request in Asked(asked.run, list(first.values())).requests(HERE, MediaAddresses()):
        conditions = answered[request.id].conditions
        for name in ("dataset", "prompt", "asking", "media", "reply_schema"):
            now, then = request.facts.get(name) or None, getattr(conditions, name) or None
            unknown = conditions.parts and name in ("prompt", "reply_schema")  # of all parts together
            if now != then and then is not None and not unknown:
                raise DataError(
                    f"{request.id}: has another {name} than in the run that answers it: {_difference(now, then)}. "
                    "Give the options of the first job."
                )


def _difference(now: Any, then: Any) -> str:
    """Two values, or of two mappings the entries that differ, in short."""
    if not (isinstance(now, Mapping) and isinstance(then, Mapping)):
        return f"{now} against {then}"
    keys = [key for key in {**then, **now} if then.get(key) != now.get(key)]
    return ", ".join(f"{key} {one_line(now.get(key), 40)} against {one_line(then.get(key), 40)}" for key in keys)

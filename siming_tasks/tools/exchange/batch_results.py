"""Replies of a batch job, as a prediction file that ``siming score`` takes.

A line of a result file has the ``custom_id`` of the job's, with ``response`` (``status_code``, ``body``: a chat
completion) or ``error``; other tools write ``reply``, the text, instead of ``response``.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from siming_tasks.benchmark.parsing import Parsed
from siming_tasks.benchmark.parsing.parsed_reply import FAILURE_MARKER
from siming_tasks.benchmark.record import Conditions, Record, is_asked_again
from siming_tasks.benchmark.rubrics import RubricStep
from siming_tasks.benchmark.tasks import TASKS
from siming_tasks.common.errors import DataError, Problem
from siming_tasks.common.files import atomic_write
from siming_tasks.common.sanitize import well_formed
from siming_tasks.data.jsonl import read_jsonl
from siming_tasks.plugin.response_cache.attempt import Attempt, facts_of_answer, reply_of

USAGE = ("finish_reason", "served", "http_status", "prompt_tokens", "completion_tokens")
"""Facts of an answer that go into the usage of its record."""


@dataclass(frozen=True)
class Imported:
    """Result of an import: by setting, numbers of requests.

    Attributes:
        asked: of the job.
        answered: with a reply.
        failed: ids and reasons of those that failed, or whose reply is empty or cut: they are asked again.
        lacking: ids of those without a line, by file of the job.
        served: by model that was not asked, the number of its replies.
    """

    asked: Mapping[str, int]
    answered: Mapping[str, int]
    failed: Mapping[str, str]
    lacking: Mapping[str, Sequence[str]]
    served: Mapping[str, int]


def import_results(files: Sequence[Path], asked: Path, out: Path) -> Imported:
    """Write the replies of a job's result files as prediction lines, with what was asked and shown.

    Args:
        files: result files and files of errors of one job.
        asked: the file of questions next to the job.
        out: a new file.

    Raises:
        DataError: ``out`` already exists, a file cannot be read, a line is for a request that was not made or was made
            differently, or a request has two replies. Nothing is written then.
    """
    if out.exists():
        raise DataError(f"{out}: already exists. OUT, the last argument, must be a new file.")
    requests = _requests(asked)
    answers: dict[str, tuple[str, Attempt]] = {}
    for place, name, answer in (line for file in files for line in _results(file)):
        request, _, digest = name.rpartition("#")
        if request not in requests:
            raise DataError(f"{place}: {name[:200]!r} is not an id of {asked}. Give the file next to its job.")
        if digest != requests[request]["asked"]:
            raise DataError(
                f"{place}: {name[:200]!r} was not asked as {asked} states ({requests[request]['asked']}): other "
                "data, model, prompt, frames or arguments. Give the file next to its job."
            )
        first = answers.get(request)
        if first and not first[1].error and not answer.error:
            raise DataError(f"{place}: {request!r} is already answered in {first[0]}. Keep one of the two.")
        if first is None or first[1].error:
            answers[request] = place, answer
    if not answers:
        raise DataError(f"{', '.join(map(str, files))}: contains no result of a job of `siming run requests`.")
    answered: Counter[str] = Counter()
    failed: dict[str, str] = {}
    lacking: dict[str, list[str]] = {}
    served: Counter[str] = Counter()
    with atomic_write(out) as stream:
        for request, facts in requests.items():
            if request not in answers:
                lacking.setdefault(facts["file"], []).append(request)
                continue
            answer, read = answers[request][1], _reader(facts)
            line = _line(facts, answer, read)
            stream.write(well_formed(json.dumps(line, ensure_ascii=False)) + "\n")
            status = _status(facts, line, read)
            if is_asked_again(status, line["usage"]):
                failed[request] = answer.error or status
                continue
            answered[facts["setting"]] += 1
            if not _is_of(line["usage"].get("served"), facts["model"]):
                served[line["usage"]["served"]] += 1
    return Imported(Counter(facts["setting"] for facts in requests.values()), answered, failed, lacking, served)


def _results(file: Path) -> Iterator[tuple[str, str, Attempt]]:
    """Place, id and answer of every line, read as the answer of a service to a run is (DataError: no such line)."""
    for number, row in _rows(file, strict=False):
        place = f"{file}:{number}"
        if not isinstance(name := row.get("custom_id"), str) or not {"response", "error", "reply"} & row.keys():
            raise DataError(f"{place}: needs `custom_id` and `response` or `error`. Is it the result file of the job?")
        response = row.get("response")
        response = response if isinstance(response, Mapping) else {}
        body = response.get("body")
        status = code if type(code := response.get("status_code")) is int else 0
        error = next((level["error"] for level in (row, response) if level.get("error") is not None), None)
        if error is not None:  # beside or in place of the answer; vLLM puts the body of an HTTP error there
            inner = error.get("error") if isinstance(error, Mapping) else None
            body = {**(body if isinstance(body, Mapping) else {}), "error": inner or error or "unnamed"}
        facts = facts_of_answer(status or 200, body)
        if isinstance(reply := row.get("reply"), str) and error is None:
            facts, status = {"text": reply}, 0
        if facts.get("text") is None and not facts.get("error"):
            facts = {**facts, "error": "no answer"}
        yield place, name, Attempt(name, 0, http_status=status or None, **facts)


def _rows(file: Path, strict: bool = True) -> Iterator[tuple[int, dict[str, Any]]]:
    """The rows of a file (DataError: one that cannot be read)."""
    found: list[Problem] = []
    yield from read_jsonl(file, found, str(file), strict=strict)
    if found:
        raise DataError.of(found)


def _reader(facts: Mapping[str, Any]) -> Callable[[str], Parsed]:
    """Function that parses a text as a reply to the request of which this is known."""
    task, steps = TASKS[facts["setting"]], [RubricStep.model_validate(step) for step in facts["steps"]]
    return lambda text: task.answer_format.parse(text, steps, task.answer)


def _status(facts: Mapping[str, Any], line: Mapping[str, Any], read: Callable[[str], Parsed]) -> str:
    """Status of the record of a prediction line."""
    name, video_id, conditions = facts["setting"], facts["video_id"], Conditions(usage=line["usage"])
    return Record.from_reply(name, video_id, facts.get("step_id"), read(line["response"]), conditions).status


def _is_of(served: str | None, model: str) -> bool:
    """True where a service names the model that was asked, with its date or number (``gpt-4o-2024-08-06``) or none."""
    return served is None or re.fullmatch(rf"{re.escape(model)}([-@:.]v?[0-9][-0-9.]*)?", served) is not None


def _line(facts: Mapping[str, Any], answer: Attempt, read: Callable[[str], Parsed]) -> dict[str, Any]:
    """The prediction line of an answer to a request of which this is known."""
    known = {name: fact for name, fact in facts.items() if name not in ("id", "asked", "model", "file", "steps")}
    usage = {fact: value for fact in USAGE if (value := getattr(answer, fact)) is not None}
    response = f"{FAILURE_MARKER}] {answer.error}" if answer.error else reply_of(answer.text, [answer], read)
    return {**known, "response": response, "usage": {"model": facts["model"], **usage}}


def _requests(file: Path) -> dict[str, dict[str, Any]]:
    """Facts of each request, by id (DataError: it is not the file beside a job)."""
    requests = {}
    for number, row in _rows(file):
        if (
            not all(isinstance(row.get(name), str) for name in ("id", "asked", "setting", "model", "file"))
            or row["setting"] not in TASKS
            or "steps" not in row
        ):
            raise DataError(
                f"{file}:{number}: is not a line of the file that `siming run requests` wrote next to the job."
            )
        requests[row["id"]] = row
    return requests

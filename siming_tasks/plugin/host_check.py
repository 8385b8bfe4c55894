"""Behaviour of the installed lmms-eval, tried with a stand-in before a model is asked: signatures do not tell it.

Two small tasks and a model that answers in every form go through lmms-eval's own evaluation: a text, a text with token
counts, a failure, None, a list. Each reply must come to its own document, unchanged, once. Of a class that asks a
service, a copy with a stand-in for its client must answer in the order of the requests, and write a failure in the
words that are recognised here: in other words it would be taken for the model's reply.
"""

from __future__ import annotations

import asyncio
import contextlib
import copy
import hashlib
import inspect
import io
import json
import os
import platform
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from importlib import metadata
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from siming_tasks.common.errors import SimingError
from siming_tasks.common.files import atomic_write
from siming_tasks.options import one_process
from siming_tasks.parsing.parsed_reply import FAILURE_MARKER
from siming_tasks.plugin import compat

FAILURE = f"{FAILURE_MARKER} after 1 retries] the stand-in's service is down"

FORMS: Mapping[str, str] = {
    "text": "a reply",
    "counted": "a reply with token counts",
    "failure": "a failure",
    "none": "None",
    "list": "a list of texts",
}
"""Forms of what a model's class may return, each with its name in a sentence."""

_ODD = ("none", "list")  # lmms-eval may hand these on as it likes, as long as they harm nobody

_MODULES = ("evaluator", "evaluator_utils", "api.instance", "api.model", "api.task", "filters.selection")
"""Modules whose change in place makes the check run again."""

_checked: set[str] = set()


def refuse_if_misbehaving(cache: Path) -> None:
    """Try the installed lmms-eval with a stand-in, once for each installation; what was found well is remembered.

    Args:
        cache: folder of this package's cache, which may be read-only.

    Raises:
        SimingError: it does not behave; names the behaviour and the versions.
    """
    if not compat.is_imported("lmms_eval.evaluator"):
        return  # there is nothing to evaluate with
    note = cache / "host" / f"{installation()}.json"
    if note.name in _checked or note.is_file():
        return
    began = time.monotonic()
    with one_process(), _quiet():  # other processes may have nothing to try
        found = misbehaviour()
    if found:
        raise SimingError(_sentence(found))
    _checked.add(note.name)
    with suppress(OSError):  # it is then tried again by the next process
        note.parent.mkdir(parents=True, exist_ok=True)
        with atomic_write(note) as stream:
            stream.write(json.dumps({"versions": _versions(), "seconds": round(time.monotonic() - began, 3)}) + "\n")


def refuse_misbehaving_class(model: Any) -> None:
    """Try the class of a model that asks a service, on a copy with a stand-in for its client.

    Raises:
        SimingError: it does not behave; names the behaviour and the versions.
    """
    with _quiet(), _no_usage():
        found = misbehaviour_of_class(model)
    if found:
        raise SimingError(_sentence(found))


def installation() -> str:
    """Hash of the versions of lmms-eval, this package and Python, and of the modules that the check goes through."""
    digest = hashlib.sha256(_versions().encode())
    for name in _MODULES:
        file = getattr(sys.modules.get(f"lmms_eval.{name}"), "__file__", None)
        with suppress(OSError, TypeError):
            stat = os.stat(file)  # type: ignore[arg-type]
            digest.update(f"\0{file}\0{stat.st_size}\0{stat.st_mtime_ns}".encode())
    return digest.hexdigest()[:16]


def _versions() -> str:
    def version(name: str) -> str:
        try:
            return metadata.version(name)
        except metadata.PackageNotFoundError:
            return "of unknown version"

    return (
        f"lmms-eval {version('lmms_eval')}, siming-tasks {version('siming-tasks')}, Python {platform.python_version()}"
    )


def _sentence(found: str) -> str:
    return (
        f"Tasks of siming-tasks do not run, because lmms-eval does not do what they rely on: {found} ({_versions()}). "
        "Install lmms-eval 0.7.3: pip install lmms-eval==0.7.3"
    )


# ---- the evaluation


def misbehaviour() -> str | None:
    """Fault of the evaluation of the installed lmms-eval, as the middle of a sentence; None: nothing."""
    try:
        return _wrong_in(_evaluate(list(FORMS)))
    except Exception as error:  # noqa: BLE001 - whatever a changed lmms-eval raises
        first = error
    for form in FORMS:
        try:
            _evaluate([form, form])
        except Exception as error:  # noqa: BLE001
            return f"{FORMS[form]} ends the run with {_short(error)}"
    return f"two tasks whose model answers in several forms end the run with {_short(first)}"


def _evaluate(forms: Sequence[str]) -> _Evaluated:
    """Two tasks, each with a document for every form, through lmms-eval's ``evaluate``."""
    seen = _Evaluated(forms)
    tasks = {name: _stand_in_task(name, forms, seen) for name in seen.tasks}
    model = _stand_in_model(seen)
    for name, task in tasks.items():
        model.task_dict[name] = task.dataset
    evaluate = sys.modules["lmms_eval.evaluator"].evaluate
    seen.found = evaluate(lm=model, task_dict=dict(tasks), bootstrap_iters=0, log_samples=True)
    return seen


class _Evaluated:
    """Record of an evaluation of the stand-in.

    Attributes:
        forms: of the documents, in their order.
        calls: task and document of each request, by call of the model.
        scored: what ``process_results`` got: task, document, replies.
        aggregated: documents that each task's metric was made of.
        found: what ``evaluate`` returned.
    """

    tasks = ("stand_in_one", "stand_in_two")

    def __init__(self, forms: Sequence[str]) -> None:
        self.forms = list(forms)
        self.calls: list[list[tuple[str, int]]] = []
        self.scored: list[tuple[str, int, Any]] = []
        self.aggregated: dict[str, list[int]] = {}
        self.found: Any = None

    def reply(self, task: str, number: int) -> str:
        """Text of the reply to a document, which no other has."""
        return FAILURE if self.forms[number] == "failure" else f'{{"score": {number}}} \n\n<b>{task}</b>'


def _stand_in_task(name: str, forms: Sequence[str], seen: _Evaluated) -> Any:
    import datasets

    docs = datasets.Dataset.from_list([{"id": number, "form": form} for number, form in enumerate(forms)])

    def process_results(doc: Mapping[str, Any], results: Any) -> dict[str, Any]:
        seen.scored.append((name, doc["id"], list(results)))
        return {"stand_in": doc["id"]}

    def aggregate(items: Sequence[int]) -> float:
        seen.aggregated[name] = list(items)
        return float(sum(items))

    class StandIn(compat.fetch("lmms_eval.api.task:ConfigurableMessagesTask")):  # type: ignore[misc]
        """Task whose documents lie in memory."""

        def download(self, dataset_kwargs: Any = None) -> None:
            self.dataset = self.dataset_no_image = {"test": docs}

    return StandIn(
        config={
            "task": name,
            "dataset_path": name,
            "test_split": "test",
            "output_type": "generate_until",
            "doc_to_text": lambda doc: f"{name} {doc['id']}",
            "doc_to_visual": lambda doc: [],
            "doc_to_messages": lambda doc: [{"role": "user", "content": [{"type": "text", "text": str(doc["id"])}]}],
            "doc_to_target": lambda doc: "",
            "process_results": process_results,
            "metric_list": [{"metric": "stand_in", "aggregation": aggregate, "higher_is_better": True}],
            "generation_kwargs": {"until": []},
            "metadata": {"version": 1},
        }
    )


def _stand_in_model(seen: _Evaluated) -> Any:
    result = compat.fetch("lmms_eval.api.instance:GenerationResult")
    counts = compat.fetch("lmms_eval.api.instance:TokenCounts")

    class StandIn(compat.fetch("lmms_eval.api.model:lmms")):  # type: ignore[misc]
        """Model that answers each document in its form, several at a time."""

        is_simple = False
        batch_size = 2
        accelerator = None

        def generate_until(self, requests: Sequence[Any]) -> list[Any]:
            asked = [(request.args[-2], request.args[-3]) for request in requests]
            seen.calls.append(asked)
            return [self._reply(task, number) for task, number in asked]

        def _reply(self, task: str, number: int) -> Any:
            text, form = seen.reply(task, number), seen.forms[number]
            if form == "counted":
                return result(text, counts(input_tokens=0, output_tokens=0))
            return None if form == "none" else [text, text, text] if form == "list" else text

        def loglikelihood(self, requests: Any) -> Any: ...

        def generate_until_multi_round(self, requests: Any) -> Any: ...

    return StandIn()


def _wrong_in(seen: _Evaluated) -> str | None:
    """First thing that is wrong in what came of an evaluation, as the middle of a sentence; None: nothing."""
    numbers = list(range(len(seen.forms)))
    wanted = [(task, number) for task in seen.tasks for number in numbers]
    asked = [request for call in seen.calls for request in call]
    if sorted(asked) != sorted(wanted):
        return f"{len(wanted)} documents of two tasks give {len(asked)} requests, which are not one of each"
    if sorted((task, number) for task, number, _ in seen.scored) != sorted(wanted):
        return f"{len(seen.scored)} of {len(wanted)} documents of two tasks are scored, which are not one of each"
    for task, number, replies in seen.scored:
        if seen.forms[number] in _ODD:
            continue
        if replies != [seen.reply(task, number)]:
            form, got = FORMS[seen.forms[number]], _short(replies)
            others = [seen.reply(*other) for other in wanted if other != (task, number)]
            what = "another document's" if replies and replies[0] in others else f"changed, as {got},"
            return f"{form} reaches the scoring {what} instead of its document's own" if replies else f"{form} is lost"
    for task in seen.tasks:
        if seen.aggregated.get(task) != numbers:
            return f"a metric of {len(numbers)} documents is made of {_short(seen.aggregated.get(task))}"
        rows = seen.found["results"].get(task, {})
        if not any(name.split(",")[0] == "stand_in" and value == sum(numbers) for name, value in rows.items()):
            return f"a metric of {sum(numbers)} is reported as {_short(rows)}"
        logged = seen.found["samples"].get(task, [])
        if [sample["doc_id"] for sample in logged] != numbers:
            return f"the log of {len(numbers)} documents holds {_short([sample['doc_id'] for sample in logged])}"
    return None


# ---- a class that asks a service


def misbehaviour_of_class(model: Any) -> str | None:
    """Fault of a class of lmms-eval with a known client, as the middle of a sentence; None: nothing."""
    if not type(model).__module__.startswith("lmms_eval.models.") or getattr(model, "is_simple", True):
        return None  # a user's own class may want other requests than these
    name, requests = type(model).__name__, [_request(number) for number in range(3)]
    for failing in (False, True):
        copied = _with_stand_in_client(model, failing=failing)
        if copied is None:
            return None
        unwrap = compat.fetch("lmms_eval.api.instance:unwrap_generation_output")
        try:
            outputs = type(model).generate_until(copied, requests)
            texts = [unwrap(output)[0] for output in outputs]
        except Exception as error:  # noqa: BLE001 - whatever a changed class raises
            return f"{name} ends the run with {_short(error)} at {'a failure' if failing else 'three replies'}"
        if failing and not (len(texts) == 3 and all(str(text).startswith(FAILURE_MARKER) for text in texts)):
            return f"{name} writes a request that failed as {_short(texts[:1])}, which would be read as a reply"
        if not failing and texts != [f"reply {number}" for number in range(3)]:
            return f"{name} answers three requests with {_short(texts)} instead of their replies in their order"
    return None


def _request(number: int) -> Any:
    message = [{"role": "user", "content": [{"type": "text", "text": f"request {number}"}]}]
    facts = {"task": "stand_in", "doc_id": number, "repeats": 1}
    arguments = (f"request {number}", lambda _: message, {"max_new_tokens": 1}, number, "stand_in", "test")
    return compat.fetch("lmms_eval.api.instance:Instance")("generate_until", arguments, 0, facts)


def _with_stand_in_client(model: Any, *, failing: bool) -> Any:
    """Copy of a chat model whose client answers by itself; None if its client is of no known kind."""
    client = getattr(model, "client", None)
    create = getattr(getattr(getattr(client, "chat", None), "completions", None), "create", None)
    google = getattr(getattr(client, "models", None), "generate_content", None)
    if not callable(create or google):
        return None

    def answer(*_: Any, **payload: Any) -> Any:
        number = _number_of(payload)
        time.sleep(0.002 * (2 - number))  # the last request is answered first
        if failing:
            raise ConnectionError("the stand-in's service is down")
        message = SimpleNamespace(content=f"reply {number}", tool_calls=None, refusal=None)
        usage = SimpleNamespace(prompt_tokens=0, completion_tokens=0, completion_tokens_details=None)
        choice = SimpleNamespace(message=message, finish_reason="stop")
        return SimpleNamespace(choices=[choice], usage=usage, model="", text=message.content, candidates=[])

    async def answer_later(*_: Any, **payload: Any) -> Any:
        await asyncio.sleep(0)
        return answer(**payload)

    copied = copy.copy(model)
    copied.task_dict = {"stand_in": {"test": [{}, {}, {}]}}
    copied.max_retries, copied.retry_backoff_s, copied.mcp_client = 1, 0.0, None
    awaited = inspect.iscoroutinefunction(getattr(type(model), "maybe_forward_with_tool", None))
    completions = SimpleNamespace(create=answer_later if awaited else answer)
    models = SimpleNamespace(generate_content=answer)
    copied.client = SimpleNamespace(chat=SimpleNamespace(completions=completions), models=models)
    return copied


def _number_of(payload: Mapping[str, Any]) -> int:
    return next(number for number in range(3) if f"request {number}" in str(payload))


# ---- surroundings


@contextmanager
def _quiet() -> Iterator[None]:
    """While the block runs, lmms-eval logs nothing and shows no progress bar."""
    logger = compat.fetch("lmms_eval.tasks:eval_logger")
    logger.disable("lmms_eval")
    try:
        with contextlib.redirect_stderr(io.StringIO()):
            yield
    finally:
        logger.enable("lmms_eval")


@contextmanager
def _no_usage() -> Iterator[None]:
    """While the block runs, calls are not counted in lmms-eval's usage."""
    module = sys.modules.get("lmms_eval.models.model_utils.usage_metrics")
    history = getattr(module, "_USAGE_HISTORY", None)
    before = len(history) if isinstance(history, list) else 0
    try:
        yield
    finally:
        if isinstance(history, list):
            del history[before:]


def _short(value: Any) -> str:
    text = f"{type(value).__name__}: {value}" if isinstance(value, BaseException) else repr(value)
    text = " ".join(text.split())
    return text if len(text) <= 120 else f"{text[:117]}..."

"""Dispatch of requests to a model of lmms-eval: one reply for each, which can be kept when it arrives.

lmms-eval hands all requests of a run to ``generate_until`` and gets all replies back at the end. What happens between
differs by class, and there are three ways in:

* ``async_openai`` answers each request in a coroutine of its own, which is replaced: nothing else changes.
* The other services that are asked in several threads (``openai``, ``litellm``, ``gemini``) are asked in as many of
  ours, one request a call.
* Everything else gets slices: one batch a call.

Classes of lmms-eval 0.7.3 do not always return one reply for each request, in their order. ``claude`` and
``qwen_vl_api`` append two replies for a request that failed for good, so that every later reply belongs to an earlier
request; their first failure raises. Most local classes take the task of a whole batch from its first request and look
up the others' documents in that task's list. Here such classes are asked in a way that is safe.
"""

from __future__ import annotations

import copy
import functools
import inspect
import io
import logging
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from contextlib import contextmanager
from contextvars import ContextVar
from itertools import groupby
from typing import Any

from siming_tasks.common.errors import SimingError
from siming_tasks.media import Backend
from siming_tasks.parsing.parsed_reply import BUDGET_MARKER, FAILURE_MARKER
from siming_tasks.plugin import compat
from siming_tasks.plugin.hooks.run_context import RUN
from siming_tasks.plugin.reply_schema import (
    SCHEMA_ARGUMENT,
    Schema,
    client_with_schema,
    schemas_in_sampling_params,
)
from siming_tasks.plugin.response_cache.api_usage import Usages, observed
from siming_tasks.plugin.response_cache.key import Request

logger = logging.getLogger(__name__)

FAILED = f"{FAILURE_MARKER} by the model's class] "
"""Beginning of the reply of a request that failed, as lmms-eval's own classes write it: status ``request_failed``."""

OnReply = Callable[[int, Any, Usages | None], None]
"""Gets the number of a request, what the class returned for it, and the usage of its service's answers (None where it
was one of a batch, in which lmms-eval's classes count padding as tokens)."""

NOT_SENT = f"{BUDGET_MARKER}]"
"""Reply that lmms-eval itself writes for a request that was not sent because too much was spent; it is never kept."""

MAX_SLICE = 64
"""Requests of a slice: what a killed process loses at most."""

LONG_SLICE = 120.0
"""Seconds that a slice of several batches may take; the next slices are shorter if it took longer."""


def dispatch(
    model: Any,
    requests: Sequence[Request],
    on_reply: OnReply,
    stopped: Callable[[], bool],
    spare: Request | None = None,
) -> None:
    """Have a model answer requests; each reply is handed over when it arrives.

    Args:
        model: lmms-eval's model object.
        requests: to be answered.
        on_reply: see :data:`OnReply`. A request that is not sent because of ``stopped`` gets :data:`NOT_SENT`.
        stopped: returns True if nothing more may be asked.
        spare: request that this process asks where it has none and other processes need it to take part; its reply is
            dropped.
    """
    threads = getattr(model, "num_concurrent", 1)  # in which a class asks by itself
    varies = getattr(model, "adaptive_concurrency", False) or getattr(model, "continual_mode", False)
    with schemas_in_sampling_params(model, RUN.backend):
        if inspect.iscoroutinefunction(getattr(type(model), "maybe_forward_with_tool", None)):
            _in_coroutines(model, requests, on_reply, stopped)
        elif isinstance(threads, int) and threads > 1 and not varies and requests:
            _in_threads(model, requests, on_reply, stopped, threads)
        else:
            _in_slices(model, requests, on_reply, stopped, spare)


def _in_coroutines(model: Any, requests: Sequence[Request], on_reply: OnReply, stopped: Callable[[], bool]) -> None:
    generation_result = compat.fetch("lmms_eval.api.instance:GenerationResult")
    token_counts = compat.fetch("lmms_eval.api.instance:TokenCounts")
    usages_of_request: ContextVar[Usages] = ContextVar("usages_of_request")  # each coroutine has a context of its own
    schema_of_request: ContextVar[Schema | None] = ContextVar("schema_of_request")
    forward, client = model.maybe_forward_with_tool, model.client
    sending = client_with_schema(client, RUN.backend, schema_of_request.get) if _have_schema(requests) else client

    async def forward_and_report(instance: Any, number: int) -> Any:
        if stopped():
            return NOT_SENT, number, token_counts()
        usages: Usages = []
        usages_of_request.set(usages)
        schema_of_request.set(requests[number].schema)
        text, place, tokens = await forward(instance, number)
        on_reply(number, generation_result(text, tokens), usages)
        return text, place, tokens

    model.maybe_forward_with_tool = forward_and_report
    model.client = observed(sending, lambda usage: usages_of_request.get().append(usage)) or client
    try:
        outputs = _call(model, requests)
    finally:
        del model.maybe_forward_with_tool
        model.client = client
    for number, output in enumerate(outputs):  # those that failed after all retries were not reported
        on_reply(number, output, [])


def _in_threads(
    model: Any, requests: Sequence[Request], on_reply: OnReply, stopped: Callable[[], bool], threads: int
) -> None:
    def ask(number: int) -> None:
        if stopped():
            return on_reply(number, NOT_SENT, [])
        usages: Usages = []
        (output,) = _call(_copy_for_call(model, requests[number], usages), [requests[number]])
        bar.update()
        return on_reply(number, output, usages)

    pool = ThreadPoolExecutor(threads, "siming-asks")
    with _progress_bar(model, len(requests)) as bar:
        futures = [pool.submit(ask, number) for number in range(len(requests))]
        try:
            wait(futures, return_when=FIRST_EXCEPTION)
        finally:  # at an error or an interrupt, what is under way is still waited for and kept
            pool.shutdown(wait=True, cancel_futures=True)
        for future in futures:
            if not future.cancelled():
                future.result()


def _copy_for_call(model: Any, request: Request, usages: Usages) -> Any:
    """Copy of a model for one call: it shares everything but what a call writes into.

    Its client is observed, and sends the schema of the request if there is one.
    """
    copied = copy.copy(model)
    for name, value in vars(model).items():
        if type(value) in (list, dict, set):
            setattr(copied, name, copy.copy(value))
    client = getattr(model, "client", None)
    if client is not None:
        sending = client_with_schema(client, RUN.backend, lambda: request.schema) if request.schema else client
        copied.client = observed(sending, usages.append) or client
    return copied


def _in_slices(
    model: Any, requests: Sequence[Request], on_reply: OnReply, stopped: Callable[[], bool], spare: Request | None
) -> None:
    wanted = len(requests)
    # one model that lies over several processes: all of them must take part in every batch
    kind = str(getattr(getattr(model, "accelerator", None), "distributed_type", "")).rpartition(".")[2]
    sharded = kind in ("FSDP", "DEEPSPEED", "MEGATRON_LM") or getattr(model, "_tp_world_size", 1) > 1
    sharded = sharded and getattr(model, "world_size", 1) > 1
    numbers = _same_count_in_all_processes(wanted) if sharded else list(range(wanted))
    requests = requests or ([spare] if spare else [])
    try:  # vLLM's classes have no batch_size
        batch = min(MAX_SLICE, max(1, int(getattr(model, "batch_size", getattr(model, "batch_size_per_gpu", 1)))))
    except (TypeError, ValueError):
        batch = 1
    # A class that works on several requests at once needs several in a call; the slices grow as long as they are quick.
    concurrent = RUN.backend.concurrent or getattr(model, "concurrent", False) is True
    most = MAX_SLICE if concurrent and batch == 1 and not sharded else batch
    if _have_schema(requests) and RUN.backend.schema != "vllm":
        batch = most = 1  # a call of a client does not say which request it is about
    size = min(8, most) if most > batch else batch
    done = 0
    with _progress_bar(model, len(requests)) as bar:
        while done < len(numbers):
            chosen = numbers[done : done + size]
            if not sharded:  # lmms-eval's classes take a batch's first task for all of it
                _, same = next(groupby(chosen, key=lambda number: requests[number].instance.task_name))
                chosen = list(same)
            done += len(chosen)
            usages: Usages | None
            if stopped():
                outputs, usages = [NOT_SENT] * len(chosen), None
            else:
                outputs, usages, seconds = _ask_slice(model, [requests[number] for number in chosen])
                grown = size * 2 if seconds < LONG_SLICE / 2 else size // 2 if seconds > LONG_SLICE else size
                size = max(batch, min(most, grown))
            for number, output in zip(chosen, outputs, strict=True):
                if number < wanted:
                    on_reply(number, output, usages)
            bar.update(len(chosen))


def _ask_slice(model: Any, requests: Sequence[Request]) -> tuple[list[Any], Usages | None, float]:
    """Outputs of one call, usage of the request if it is the only one (else None), and seconds."""
    began, usages, alone = time.monotonic(), Usages(), len(requests) == 1
    observable = alone and observed(getattr(model, "client", None), usages.append) is not None
    outputs = _call(_copy_for_call(model, requests[0], usages) if observable else model, requests)
    seconds = time.monotonic() - began
    return outputs, (usages or [{"latency": round(seconds, 3)}]) if alone else None, seconds


def _have_schema(requests: Sequence[Request]) -> bool:
    return any(request.schema is not None for request in requests)


def _call(model: Any, requests: Sequence[Request]) -> list[Any]:
    instances = [request.instance for request in requests]
    if RUN.backend.schema == "vllm" and _have_schema(requests):
        instances = [_with_schema_argument(request) for request in requests]
    return one_reply_per_request(model, RUN.backend, instances)


def _with_schema_argument(request: Request) -> Any:
    """Copy of lmms-eval's request with its schema among the generation arguments."""
    added = {SCHEMA_ARGUMENT: request.schema}
    copied = copy.copy(request.instance)
    copied.arguments = tuple({**value, **added} if isinstance(value, dict) else value for value in copied.args)
    return copied


def _same_count_in_all_processes(count: int) -> list[int]:
    """Numbers of requests, as many as in the process that has the most; the last ones once more.

    All processes must ask equally often: one that asks more often would wait forever for the others.
    """
    from torch import distributed

    if not distributed.is_initialized():
        return list(range(count))
    counts = [0] * distributed.get_world_size()  # of torch itself: accelerate may think that it is alone
    distributed.all_gather_object(counts, count)
    return [max(0, min(number, count - 1)) for number in range(max(counts))]


@contextmanager
def _progress_bar(model: Any, total: int) -> Iterator[Any]:
    """One progress bar over all calls. Those of the model's own module, one a call, are not shown meanwhile."""
    from tqdm import tqdm

    modules = {sys.modules[base.__module__] for base in type(model).__mro__}
    shown = {module: vars(module)["tqdm"] for module in modules if isinstance(vars(module).get("tqdm"), type)}
    for module, bar_class in shown.items():

        class Hidden(bar_class):  # type: ignore[misc, valid-type]
            # counts as ever and is not shown; a disabled bar would lack some attributes
            def __init__(self, *args: Any, **kwargs: Any) -> None:
                super().__init__(*args, **{**kwargs, "file": _Discard()})

        setattr(module, "tqdm", Hidden)  # noqa: B010 - mypy knows no such attribute of a module
    try:
        with tqdm(total=total, disable=getattr(model, "rank", 0) != 0, desc="Model Responding") as bar:
            yield bar
    finally:
        for module, bar_class in shown.items():
            setattr(module, "tqdm", bar_class)  # noqa: B010


class _Discard(io.TextIOBase):
    def write(self, text: str) -> int:
        return len(text)


def one_reply_per_request(model: Any, backend: Backend, requests: Sequence[Any]) -> list[Any]:
    """Outputs of a model's class for lmms-eval's requests: one for each, in their order, or an error.

    A batch holds requests of one task; a class that loses its place after a failure is asked one request at a time. The
    class gets copies of the generation arguments: several classes change them, and a cache of replies then stores under
    another key than it looks up.

    Raises:
        SimingError: it is not known which reply belongs to which request.
    """
    generate_until = functools.partial(type(model).generate_until, model)
    requests = [_with_own_arguments(request, backend.most_tokens) for request in requests]
    outputs: list[Any] = []
    if backend.alone:
        for request in requests:
            try:
                replies = generate_until([request])
            except UnboundLocalError as error:  # what these classes raise after a failure without an earlier reply
                outputs.append(f"{FAILED}{error}")
            else:
                outputs.append(replies[0] if len(replies) == 1 else f"{FAILED}{len(replies)} replies to one request")
        return outputs
    size, batches = getattr(model, "batch_size", 1), [requests]
    if isinstance(size, int) and size > 1:
        # the class answers several at a time, and takes the task of the first for all of them
        batches = [list(batch) for _, batch in groupby(requests, key=lambda request: request.args[-2])]
    for batch in batches:
        replies = generate_until(batch)
        if len(replies) != len(batch):
            raise SimingError(
                f"{type(model).__name__} returned {len(replies):,} replies to {len(batch):,} requests: which belongs "
                "to which is not known, so none is scored. Try --batch_size 1."
            )
        outputs += [f"{FAILED}no reply" if reply is None else reply for reply in replies]
    return outputs


def _with_own_arguments(request: Any, most_tokens: int) -> Any:
    """Copy of a request with its own generation arguments, which ask for no more new tokens than the class gives."""
    arguments = [dict(value) if isinstance(value, dict) else value for value in request.args]
    for generation in arguments:
        if isinstance(generation, dict) and most_tokens and generation.get("max_new_tokens", 0) > most_tokens:
            _warn_of_limit(most_tokens, generation["max_new_tokens"])
            generation["max_new_tokens"] = most_tokens
    copied = copy.copy(request)
    copied.arguments = tuple(arguments)
    return copied


@functools.cache
def _warn_of_limit(most: int, asked: int) -> None:
    logger.warning("siming-tasks: this class generates at most %d new tokens; %d were asked for.", most, asked)

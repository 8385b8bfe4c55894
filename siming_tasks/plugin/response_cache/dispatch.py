"""Dispatch of requests to a model of lmms-eval: one reply for each, which can be kept when it arrives.

lmms-eval hands all requests of a run to ``generate_until`` and gets all replies back at the end. What happens between
differs by class, and there are three ways in:

* ``async_openai`` answers each request in a coroutine of its own, which is replaced: nothing else changes.
* The other services that are asked in several threads (``openai``, ``litellm``, ``gemini``) are called in
  as many of our threads, one request per call.
* Everything else gets slices: one batch per call.

Classes of lmms-eval 0.7.3 do not always return one reply for each request, in their order. ``claude`` and
``qwen_vl_api`` append two replies for a request that failed for good, so that every later reply belongs to an earlier
request; their first failure raises. Most local classes take the task of a whole batch from its first request and look
up the others' documents in that task's list. Here such classes are asked in a way that is safe.
A class that ends with an error over an answer that it does not expect ends the run; here the request counts as answered
as its service answered it (:mod:`siming_tasks.plugin.response_cache.attempt`). Several catch the error of their reader
of videos or pictures, write a line to the log and ask their model without them, or with black ones: a score of nothing
that looks like any other. ``unread`` in ``media/backends.yaml`` marks them, and their readers are listened to.
"""

from __future__ import annotations

import copy
import functools
import importlib
import inspect
import io
import logging
import re
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from contextlib import ExitStack, contextmanager, nullcontext
from dataclasses import replace
from itertools import groupby
from typing import TYPE_CHECKING, Any

from siming_tasks.benchmark.parsing.parsed_reply import BUDGET_MARKER
from siming_tasks.common.errors import SimingError
from siming_tasks.common.printed_value import counted
from siming_tasks.media import Backend
from siming_tasks.plugin import host
from siming_tasks.plugin.reply import ASKED
from siming_tasks.plugin.reply_schema import SCHEMA_ARGUMENT, schemas_sent
from siming_tasks.plugin.response_cache.attempt import FAILED, count_of
from siming_tasks.plugin.response_cache.ledger import Ledger, NotSent

if TYPE_CHECKING:
    from siming_tasks.plugin.response_cache.key import KeyedRequest

logger = logging.getLogger(__name__)

OnReply = Callable[["KeyedRequest", Any, float | None], None]
"""Gets a request, what the class returned for it, and the seconds of its call (None where it was one of a batch, in
which lmms-eval's classes count padding as tokens)."""

NOT_SENT = f"{BUDGET_MARKER}]"
"""Reply that lmms-eval itself writes for a request that was not sent because too much was spent; it is never kept."""

READERS = ("read_video", "load_video", "encode_video", "_encode_image_data_url")
"""Functions of lmms-eval's modules and classes that read a file or encode a picture."""

MAX_SLICE = 64
"""Requests of a slice: what a killed process loses at most."""


def dispatch(
    model: Any,
    backend: Backend,
    requests: Sequence[KeyedRequest],
    on_reply: OnReply,
    ledger: Ledger,
    spare: KeyedRequest | None = None,
) -> None:
    """Have a model answer requests; each reply is handed over when it arrives.

    Args:
        model: lmms-eval's model object.
        backend: row of its class.
        requests: to be answered.
        on_reply: see :data:`OnReply`. A request that is not sent because the run is to stop gets :data:`NOT_SENT`.
        ledger: gets all attempts.
        spare: request that this process asks where it has none and other processes need it to take part; its reply is
            dropped.
    """
    threads = getattr(model, "num_concurrent", 0)  # in which a class asks by itself
    varies = getattr(model, "adaptive_concurrency", False) or getattr(model, "continual_mode", False)
    schemas = {request.key: request.schema for request in (*requests, *filter(None, [spare])) if request.schema}
    with ledger.listening(), _new_connections(model), schemas_sent(model, backend, schemas):
        if inspect.iscoroutinefunction(getattr(type(model), "maybe_forward_with_tool", None)):
            _in_coroutines(model, backend, requests, on_reply, ledger)
        elif isinstance(threads, int) and threads > 0 and not varies and requests:
            _in_threads(model, backend, requests, on_reply, ledger, threads)
        else:
            _in_slices(model, backend, requests, on_reply, ledger, spare)


@contextmanager
def _new_connections(model: Any) -> Iterator[None]:
    """While the block runs, OpenAI's asynchronous client has no connections of an earlier call: their loop is closed.

    A user's own HTTP client is left as it is.
    """
    client: Any = getattr(model, "client", None)
    if type(getattr(client, "_client", None)).__name__ != "AsyncHttpxClientWrapper":
        yield
        return
    openai = importlib.import_module("openai")  # the class has it imported, and lmms-eval brings it
    with host.swapped("model:client", model, client.copy(http_client=openai.DefaultAsyncHttpxClient())):
        yield


def _in_coroutines(
    model: Any, backend: Backend, requests: Sequence[KeyedRequest], on_reply: OnReply, ledger: Ledger
) -> None:
    generation_result = host.fetch("lmms_eval.api.instance:GenerationResult")
    token_counts = host.fetch("lmms_eval.api.instance:TokenCounts")
    forward = model.maybe_forward_with_tool

    async def forward_and_report(instance: Any, number: int) -> Any:
        if ledger.stopped():
            return NOT_SENT, number, token_counts()
        began = time.monotonic()
        text, place, tokens = await forward(instance, number)
        on_reply(requests[number], generation_result(text, tokens), time.monotonic() - began)
        return text, place, tokens

    completions = model.client.chat.completions
    create = completions.create

    async def create_with_counts(*args: Any, **kwargs: Any) -> Any:
        answer = await create(*args, **kwargs)
        for name in ("prompt_tokens", "completion_tokens") if getattr(answer, "usage", None) else ():
            setattr(answer.usage, name, count_of(getattr(answer.usage, name, 0)) or 0)  # the class adds them up
        return answer

    with (
        host.swapped("model:maybe_forward_with_tool", model, forward_and_report),
        host.swapped("client:chat.completions.create", completions, create_with_counts),
    ):
        outputs = _call(model, backend, requests, ledger)
    for request, output in zip(requests, outputs, strict=True):  # those that failed or were not sent are not reported
        on_reply(request, NOT_SENT if getattr(output, "text", output) is NOT_SENT else output, None)


def _in_threads(
    model: Any, backend: Backend, requests: Sequence[KeyedRequest], on_reply: OnReply, ledger: Ledger, threads: int
) -> None:
    def ask(request: KeyedRequest) -> None:
        began = time.monotonic()
        (output,) = [NOT_SENT] if ledger.stopped() else _call(_copy_for_call(model), backend, [request], ledger)
        on_reply(request, output, time.monotonic() - began)
        bar.update()

    pool = ThreadPoolExecutor(threads, "siming-asks")
    with _progress_bar(model, len(requests)) as bar:
        try:
            futures = [pool.submit(ask, request) for request in requests]
            while True:
                done, left = wait(futures, 1, FIRST_EXCEPTION)  # a signal can reach a thread that wakes nobody
                if not left or any(future.exception() for future in done):
                    break
        finally:  # at an error or an interrupt (of this very list, too) what is under way is still waited for and kept
            pool.shutdown(wait=True, cancel_futures=True)
        for future in futures:
            if not future.cancelled():
                future.result()


def _copy_for_call(model: Any) -> Any:
    """Copy of a model for one call: it shares everything but what a call writes into."""
    copied = copy.copy(model)
    for name, value in vars(model).items():
        if type(value) in (list, dict, set):
            setattr(copied, name, copy.copy(value))
    return copied


def lies_over_processes(model: Any) -> bool:
    """Test whether one model is spread over several processes, so that all of them must take part in every batch."""
    kind = str(getattr(getattr(model, "accelerator", None), "distributed_type", "")).rpartition(".")[2]
    sharded = kind in ("FSDP", "DEEPSPEED", "MEGATRON_LM") or getattr(model, "_tp_world_size", 1) > 1
    return sharded and getattr(model, "world_size", 1) > 1


def _in_slices(
    model: Any,
    backend: Backend,
    requests: Sequence[KeyedRequest],
    on_reply: OnReply,
    ledger: Ledger,
    spare: KeyedRequest | None,
) -> None:
    wanted, sharded = len(requests), lies_over_processes(model)
    numbers = _same_count_in_all_processes(wanted) if sharded else list(range(wanted))
    requests = requests or ([spare] if spare else [])
    try:  # vLLM's classes have no batch_size
        size = min(MAX_SLICE, max(1, int(getattr(model, "batch_size", getattr(model, "batch_size_per_gpu", 1)))))
    except (TypeError, ValueError):
        size = 1
    if (backend.concurrent or getattr(model, "concurrent", False) is True) and size == 1 and not sharded:
        size = MAX_SLICE  # a class that works on several requests at once needs several in a call
    with _progress_bar(model, len(requests)) as bar:
        while numbers:
            chosen = numbers[:size]
            if not sharded:  # lmms-eval's classes take a batch's first task for all of it
                _, same = next(groupby(chosen, key=lambda number: requests[number].instance.task_name))
                chosen = list(same)
            numbers = numbers[len(chosen) :]
            began, outputs = time.monotonic(), [NOT_SENT] * len(chosen)
            if not ledger.stopped():
                outputs = _call(model, backend, [requests[number] for number in chosen], ledger)
            seconds = time.monotonic() - began
            for number, output in zip(chosen, outputs, strict=True):
                if number < wanted:
                    on_reply(requests[number], output, seconds if len(chosen) == 1 else None)
            bar.update(len(chosen))


def _call(model: Any, backend: Backend, requests: Sequence[KeyedRequest], ledger: Ledger) -> list[Any]:
    if backend.schema == "vllm":
        requests = [_with_schema_argument(request) if request.schema else request for request in requests]
    return one_reply_per_request(model, backend, requests, ledger)


def _with_schema_argument(request: KeyedRequest) -> KeyedRequest:
    """Request whose schema is among its generation arguments."""
    added = {SCHEMA_ARGUMENT: request.schema}
    copied = copy.copy(request.instance)
    copied.arguments = tuple({**value, **added} if isinstance(value, dict) else value for value in copied.args)
    return replace(request, instance=copied)


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

    hidden = functools.partial(tqdm, file=io.StringIO())  # a disabled bar would lack some attributes
    with ExitStack() as stack:
        for module in {sys.modules[base.__module__] for base in type(model).__mro__}:
            if isinstance(vars(module).get("tqdm"), type):
                stack.enter_context(host.swapped("module:tqdm", module, hidden))
            if log := vars(module).get("log_usage"):
                stack.enter_context(host.swapped("module:log_usage", module, functools.partial(_log_counts, log)))
        yield stack.enter_context(tqdm(total=total, disable=getattr(model, "rank", 0) != 0, desc="Model Responding"))


def _log_counts(log_usage: Any, *args: Any, **kwargs: Any) -> Any:
    """Log token counts of a service with lmms-eval, whose sums end with an error where one is no number."""
    return log_usage(*args, **{name: count_of(value) or 0 if name.endswith("_tokens") else value
                               for name, value in kwargs.items()})  # fmt: skip


def one_reply_per_request(
    model: Any, backend: Backend, requests: Sequence[KeyedRequest], ledger: Ledger | None = None
) -> list[Any]:
    """Outputs of a model's class for requests: one for each, in their order, or an error.

    A batch has requests of one task; a class that loses its place after a failure gets one request at a time. The
    class gets copies of the generation arguments: several classes change them, and a cache of replies then stores under
    another key than it looks up. What the class sends is sent for the request whose media it built last; where that was
    answered and the class ends with an error, the error is the output.

    Raises:
        SimingError: it is not known which reply belongs to which request.
    """
    own = [(_with_own_arguments(backend.most_tokens, request), request) for request in requests]
    size, batches = getattr(model, "batch_size", 1), [own]
    if backend.alone or backend.unread:
        batches = [[pair] for pair in own]
    elif not requests:
        return []
    elif backend.own_arguments or (isinstance(size, int) and size > 1):
        # the class answers several at a time, and takes the task of the first for all of them
        batches = [list(batch) for _, batch in groupby(own, key=lambda pair: pair[0].args[-2])]
    outputs: list[Any] = []
    for batch in batches:
        (asked, *more) = (request.asked for _, request in batch)
        by_document = {request.asked.about: request.asked for _, request in batch}
        for _, request in batch:
            request.asked.batch = by_document
        if not more:
            ASKED.set(asked)  # of a class that does not ask for media
        unread: Sequence[str] = ()
        listening: Any = _unread_media(model) if backend.unread else nullcontext(())
        try:
            with _own_arguments_as_asked(model, backend, batch[0][0].args[1]), listening as unread:
                replies = type(model).generate_until(model, [instance for instance, _ in batch])
        except NotSent:
            replies = [NOT_SENT] * len(batch)
        except Exception as error:
            # UnboundLocalError: of a class that is asked alone, after a failure without an earlier reply
            after_failure = backend.alone and isinstance(error, UnboundLocalError)
            answered = ledger is not None and not more and ledger.of(asked.key)
            if not (after_failure or answered or unread):
                raise
            replies = [f"{FAILED}{type(error).__name__}: {error}"]
        if unread:  # it has answered without what it could not read
            replies = [f"{FAILED}{unread[0]}"]
        if backend.alone and len(replies) != 1:
            replies = [f"{FAILED}{len(replies)} replies to one request"]
        if len(replies) != len(batch):
            raise SimingError(
                f"{type(model).__name__} returned {counted(len(replies), 'reply')} to "
                f"{counted(len(batch), 'request')}; they cannot be matched, so none is scored. Try --batch_size 1."
            )
        outputs += [
            f"{FAILED}no reply" if reply is None
            else reply if ledger and any(not attempt.error for attempt in ledger.of(request.key))  # it was answered
            else _marked_if_failed(reply, backend)
            for reply, (_, request) in zip(replies, batch, strict=True)
        ]  # fmt: skip
    return outputs


def _marked_if_failed(output: Any, backend: Backend) -> Any:
    """Output, or a failed request where its text is what the class puts in place of an error (``backend.failed``)."""
    text = getattr(output, "text", output)
    if backend.failed and isinstance(text, str) and re.search(backend.failed, text.strip()):
        return f"{FAILED}{text.strip() or 'an empty reply, which it also gives after an error'}"
    return output


@contextmanager
def _unread_media(model: Any) -> Iterator[list[str]]:
    """While the block runs, note the errors of a model's readers, which are raised as before.

    Readers are ``decord.VideoReader``, whatever module took it from there, and :data:`READERS` of the class's modules.
    """
    errors: list[str] = []

    def noting(read: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(read)
        def reader(*args: Any, **kwargs: Any) -> Any:
            try:
                return read(*args, **kwargs)
            except Exception as error:
                first_line = next(iter(str(error).strip().splitlines()), "")
                errors.append(f"{type(error).__name__}: {first_line}")
                raise

        return reader

    modules = [sys.modules[base.__module__] for base in type(model).__mro__ if ".models." in base.__module__]
    places = [(owner, name) for owner in (*modules, *type(model).__mro__) for name in READERS if name in vars(owner)]
    if decord := sys.modules.get("decord"):
        places += [(decord.VideoReader, "__init__"), (decord.VideoReader, "get_batch")]
    with ExitStack() as stack:
        for owner, name in places:
            if callable(read := vars(owner)[name]):
                stack.enter_context(host.swapped("module:reader", owner, noting(read), name))
        yield errors


@contextmanager
def _own_arguments_as_asked(model: Any, backend: Backend, asked: Mapping[str, Any]) -> Iterator[None]:
    """While the block runs, attributes that the class goes by in place of a request's arguments are what is asked."""
    attributes = {name: asked[key] for key, name in backend.own_arguments.items() if key in asked}
    before = {name: getattr(model, name) for name in attributes}
    vars(model).update(attributes)
    try:
        yield
    finally:
        vars(model).update(before)


def _with_own_arguments(most_tokens: int, request: KeyedRequest) -> Any:
    """Copy of lmms-eval's request with its own generation arguments, which ask for no more tokens than the class gives.

    Its function that builds the media says first which request what is sent from there belongs to.
    """
    arguments = [dict(value) if isinstance(value, dict) else value for value in request.instance.args]
    for generation in arguments:
        if isinstance(generation, dict) and most_tokens and generation.get("max_new_tokens", 0) > most_tokens:
            _warn_of_limit(most_tokens, generation["max_new_tokens"])
            generation["max_new_tokens"] = most_tokens
    copied = copy.copy(request.instance)
    copied.arguments = tuple(
        functools.partial(request.asked.build, value) if callable(value) else value for value in arguments
    )
    return copied


@functools.cache
def _warn_of_limit(most: int, asked: int) -> None:
    logger.warning("siming-tasks: this class generates at most %d new tokens; %d were asked for.", most, asked)

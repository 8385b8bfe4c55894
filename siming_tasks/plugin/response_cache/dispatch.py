"""Asking a model of the host so that every reply can be kept when it arrives.

The host hands all requests of a run to ``generate_until`` and gets all replies back at the end. What lies between
differs by class, and there are three ways in:

* ``async_openai`` answers each request in a coroutine of its own, which is stood in for: nothing else changes.
* The other services that are asked in several threads (``openai``, ``litellm``, ``gemini``) are asked in as many of
  ours, one request a call.
* Everything else gets slices: one batch a call.
"""

from __future__ import annotations

import copy
import functools
import inspect
import re
import sys
import time
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from contextvars import ContextVar
from typing import Any

from siming_tasks.plugin.hooks.run_context import RUN
from siming_tasks.plugin.one_reply_per_request import careful
from siming_tasks.plugin.response_cache.api_usage import is_known, listening
from siming_tasks.plugin.response_cache.distributed import evened, together_with
from siming_tasks.plugin.response_cache.key import Request
from siming_tasks.plugin.response_cache.progress import one_bar

__all__ = ["UNASKED", "ask"]

Notes = list[dict[str, Any]]
Arrived = Callable[[int, Any, Notes | None], None]
"""Is told the number of a request, what the host's class returned for it, and what its service said of the reply; None
where it was one of a batch, of which lmms-eval's classes count the padding as tokens."""

UNASKED = "[LMMS_EVAL_BUDGET_EXCEEDED]"
"""What the host itself writes for a request that was not sent because too much was spent; never kept."""

MOST = 64
"""Requests of a slice: what a killed process loses at most."""

LONG = 120.0
"""Seconds that a slice of several batches may take; the next ones are shorter if it took longer."""

_CONCURRENT = re.compile(r"\b(?:threading|ThreadPool|asyncio)\b")


def ask(
    model: Any, requests: Sequence[Request], arrived: Arrived, stopped: Callable[[], bool], spare: Request | None = None
) -> None:
    """Have a model answer requests; each reply is handed over when it arrives.

    Args:
        model: the host's model object.
        requests: what to ask.
        arrived: see :data:`Arrived`. A request that is not asked because of ``stopped`` gets :data:`UNASKED`.
        stopped: whether no more may be asked.
        spare: asked where there is nothing to ask, but other processes need this one; its reply is handed to nobody.
    """
    if inspect.iscoroutinefunction(getattr(type(model), "maybe_forward_with_tool", None)):
        _in_coroutines(model, requests, arrived, stopped)
    elif (threads := _threads(model)) > 1 and requests:
        _in_threads(model, requests, arrived, stopped, threads)
    else:
        _in_slices(model, requests, arrived, stopped, spare)


def _in_coroutines(model: Any, requests: Sequence[Request], arrived: Arrived, stopped: Callable[[], bool]) -> None:
    from lmms_eval.api.instance import GenerationResult, TokenCounts

    heard: ContextVar[Notes] = ContextVar("heard")
    forward, client = model.maybe_forward_with_tool, model.client

    async def forwarded(instance: Any, number: int) -> Any:
        if stopped():
            return UNASKED, number, TokenCounts()
        notes: Notes = []
        heard.set(notes)
        text, place, tokens = await forward(instance, number)
        arrived(number, GenerationResult(text, tokens), notes)
        return text, place, tokens

    model.maybe_forward_with_tool, model.client = forwarded, listening(client, lambda note: heard.get().append(note))
    try:
        outputs = _call(model, requests)
    finally:
        del model.maybe_forward_with_tool
        model.client = client
    for number, output in enumerate(outputs):  # those that failed after all retries did not arrive
        arrived(number, output, [])


def _threads(model: Any) -> int:
    """How many threads a class asks in by itself; 1 where it does not, or changes their number as it goes."""
    own = getattr(model, "num_concurrent", 1)
    alone = getattr(model, "adaptive_concurrency", False) or getattr(model, "continual_mode", False)
    return own if isinstance(own, int) and not alone else 1


def _in_threads(
    model: Any, requests: Sequence[Request], arrived: Arrived, stopped: Callable[[], bool], threads: int
) -> None:
    def one(number: int) -> None:
        if stopped():
            return arrived(number, UNASKED, [])
        notes: Notes = []
        (output,) = _call(_apart(model, notes), [requests[number]])
        bar.update()
        return arrived(number, output, notes)

    pool = ThreadPoolExecutor(threads, "siming-asks")
    with one_bar(model, len(requests)) as bar:
        futures = [pool.submit(one, number) for number in range(len(requests))]
        try:
            wait(futures, return_when=FIRST_EXCEPTION)
        finally:  # at an error or an interrupt, what is under way is still waited for and kept
            pool.shutdown(wait=True, cancel_futures=True)
        for future in futures:
            if not future.cancelled():
                future.result()


def _apart(model: Any, notes: Notes) -> Any:
    """The model for one call: it shares everything but what a call writes into, and its client is listened to."""
    found = copy.copy(model)
    for name, value in vars(model).items():
        if type(value) in (list, dict, set):
            setattr(found, name, copy.copy(value))
    if getattr(model, "client", None) is not None:
        found.client = listening(model.client, notes.append)
    return found


def _in_slices(
    model: Any, requests: Sequence[Request], arrived: Arrived, stopped: Callable[[], bool], spare: Request | None
) -> None:
    def told(number: int, output: Any, notes: Notes | None) -> None:
        if number < wanted:
            arrived(number, output, notes)

    wanted = len(requests)
    batch = min(_batch(model), MOST)
    together = together_with(model)
    every = list(range(len(requests))) if not together else evened(len(requests))
    requests = requests or ([spare] if spare else [])
    size, most = batch, MOST if _concurrent(model) and batch == 1 and not together else batch
    size = min(8, most) if most > batch else batch
    done = 0
    with one_bar(model, len(requests)) as bar:
        while done < len(every):
            numbers = every[done : done + size] if together else _of_one_task(requests, every[done : done + size])
            done += len(numbers)
            if stopped():
                for number in numbers:
                    told(number, UNASKED, [])
                continue
            began, notes, alone = time.monotonic(), Notes(), len(numbers) == 1
            asked = _apart(model, notes) if alone and is_known(getattr(model, "client", None)) else model
            outputs = _call(asked, [requests[one] for one in numbers])
            took = time.monotonic() - began
            for number, output in zip(numbers, outputs, strict=True):
                told(number, output, (notes or [{"latency": round(took, 3)}]) if alone else None)
            bar.update(len(numbers))
            size = max(batch, min(most, size * 2 if took < LONG / 2 else size // 2 if took > LONG else size))


def _batch(model: Any) -> int:
    try:
        return max(1, int(model.batch_size))
    except (AttributeError, TypeError, ValueError):
        return 1


def _concurrent(model: Any) -> bool:
    """Whether a class may work on several requests at once by itself, whatever its batch is."""
    try:
        return _CONCURRENT.search(inspect.getsource(sys.modules[type(model).__module__])) is not None
    except (OSError, KeyError):
        return True


def _of_one_task(requests: Sequence[Request], numbers: Sequence[int]) -> list[int]:
    """The beginning of a slice that asks one task only: the host takes a batch's first task for all of it."""
    task = requests[numbers[0]].instance.task_name
    return [number for number in numbers if requests[number].instance.task_name == task]


def _call(model: Any, requests: Sequence[Request]) -> list[Any]:
    """One output for each request, in their order."""
    own = functools.partial(type(model).generate_until, model)
    return careful(model, RUN.backend, own)([request.instance for request in requests])

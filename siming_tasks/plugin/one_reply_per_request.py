"""One reply for each request, in their order, from classes of lmms-eval 0.7.3 that do not always return that.

``claude`` and ``qwen_vl_api`` append two replies for a request that failed for good, so that every later reply belongs
to an earlier request; their first failure raises. Most local classes take the task of a whole batch from its first
request and look up the others' documents in that task's list. Here such classes are asked in a way that is safe.
"""

from __future__ import annotations

import copy
import functools
import logging
from collections.abc import Callable, Sequence
from itertools import groupby
from typing import Any

from siming_tasks.common.errors import SimingError
from siming_tasks.media import Backend
from siming_tasks.parsing.parsed_reply import FAILURE_MARKER

__all__ = ["FAILED", "one_reply_per_request"]

logger = logging.getLogger(__name__)

FAILED = f"{FAILURE_MARKER} by the model's class] "
"""Beginning of the reply of a request that failed, as lmms-eval's own classes write it: status ``request_failed``."""


def one_reply_per_request(lm: Any, backend: Backend, generate_until: Callable[..., Any]) -> Callable[..., list[Any]]:
    """Wrap the ``generate_until`` of a class, so that it returns one reply for each request, or raises.

    A batch holds requests of one task; a class that loses its place after a failure is asked one request at a time. The
    class gets copies of the generation arguments: several classes change them, and a cache of replies then stores under
    another key than it looks up.

    Args:
        lm: the model.
        backend: the row of its class.
        generate_until: of the class, bound.
    """

    @functools.wraps(generate_until)
    def generate_one_each(requests: Sequence[Any], *args: Any, **kwargs: Any) -> list[Any]:
        requests = [_with_own_arguments(request, backend.most_tokens) for request in requests]
        if backend.alone:
            return [_ask_alone(generate_until, request) for request in requests]
        size, batches = getattr(lm, "batch_size", 1), [requests]
        if isinstance(size, int) and size > 1:
            # the class answers several at a time, and takes the task of the first for all of them
            batches = [list(batch) for _, batch in groupby(requests, key=lambda request: request.args[-2])]
        outputs: list[Any] = []
        for batch in batches:
            replies = generate_until(batch, *args, **kwargs)
            if len(replies) != len(batch):
                raise SimingError(
                    f"{type(lm).__name__} returned {len(replies):,} replies to {len(batch):,} requests: which belongs "
                    "to which is not known, so none is scored. Try --batch_size 1."
                )
            outputs += [f"{FAILED}no reply" if reply is None else reply for reply in replies]
        return outputs

    return generate_one_each


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


def _ask_alone(generate_until: Any, request: Any) -> Any:
    try:
        replies = generate_until([request])
    except UnboundLocalError as error:  # what these classes raise after a failure without an earlier reply
        return f"{FAILED}{error}"
    return replies[0] if len(replies) == 1 else f"{FAILED}{len(replies)} replies to one request"

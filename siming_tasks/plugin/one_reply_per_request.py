"""One reply for each request, and each request's own: what some classes of lmms-eval 0.7.3 do not keep to.

``claude`` and ``qwen_vl_api`` append two replies for a request that failed for good, so that every later reply belongs
to an earlier request; their first failure raises. Most local classes take the task of a whole batch from its first
request and look up the others' documents in that task's list. Here such classes are asked in a way that they do well.
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

__all__ = ["FAILED", "careful"]

logger = logging.getLogger(__name__)

FAILED = "[LMMS_EVAL_REQUEST_FAILED by the model's class] "
"""How the host's own classes begin the reply of a request that failed; the parser counts it as ``request_failed``."""


def careful(lm: Any, backend: Backend, own: Callable[..., Any]) -> Callable[..., list[Any]]:
    """The ``generate_until`` of a class, so that it returns one reply for each request, or raises.

    A batch holds requests of one task; a class that loses its place after a failure is asked one request at a time. The
    class gets generation arguments of its own: several change those that they get, and a cache of replies then stores
    under another key than it looks up.

    Args:
        lm: the model.
        backend: the row of its class.
        own: the class's own ``generate_until``, bound.
    """

    @functools.wraps(own)
    def generate_until(requests: Sequence[Any], *args: Any, **kwargs: Any) -> list[Any]:
        requests = [_own(request, backend.most_tokens) for request in requests]
        if backend.alone:
            return [_alone(own, request) for request in requests]
        parts = _parts(requests, lm)
        return [reply for part in parts for reply in _all(own(part, *args, **kwargs), part, lm)]

    return generate_until


def _own(request: Any, most_tokens: int) -> Any:
    """The request with generation arguments of its own, which ask for no more new tokens than the class gives."""
    arguments = [dict(value) if isinstance(value, dict) else value for value in request.args]
    for found in arguments:
        if isinstance(found, dict) and most_tokens and found.get("max_new_tokens", 0) > most_tokens:
            _say_once(most_tokens, found["max_new_tokens"])
            found["max_new_tokens"] = most_tokens
    own = copy.copy(request)
    own.arguments = tuple(arguments)
    return own


@functools.cache
def _say_once(most: int, asked: int) -> None:
    logger.warning("siming-tasks: this class generates at most %d new tokens; %d were asked for.", most, asked)


def _parts(requests: Sequence[Any], lm: Any) -> list[Sequence[Any]]:
    """The requests as they are, or task by task if the class answers several at a time."""
    size = getattr(lm, "batch_size", 1)
    if not isinstance(size, int) or size <= 1:
        return [requests]
    return [list(part) for _, part in groupby(requests, key=lambda request: request.args[-2])]


def _all(replies: Sequence[Any], requests: Sequence[Any], lm: Any) -> list[Any]:
    if len(replies) != len(requests):
        raise SimingError(
            f"{type(lm).__name__} returned {len(replies):,} replies to {len(requests):,} requests: which belongs to "
            "which is not known, so none is scored. Try --batch_size 1."
        )
    return [f"{FAILED}no reply" if reply is None else reply for reply in replies]


def _alone(original: Any, request: Any) -> Any:
    try:
        replies = original([request])
    except UnboundLocalError as error:  # what these classes raise after a failure without an earlier reply
        return f"{FAILED}{error}"
    return replies[0] if len(replies) == 1 else f"{FAILED}{len(replies)} replies to one request"

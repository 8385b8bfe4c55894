"""The host's own cache of replies (``--use_cache``) beside ours: requests of ours whose replies are kept pass it by.

It stands before the model, so that what it holds never reaches us, and it takes an error's sentence and a reply that
was cut at the limit of tokens for answers: a rerun would never ask for them again.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from siming_tasks.plugin.preflight import is_ours

__all__ = ["Beside"]


class Beside:
    """The host's ``ResponseCache`` for the requests of other tasks than ours; ours go to the model at once."""

    def __init__(self, cache: Any) -> None:
        self._cache = cache

    def __getattr__(self, name: str) -> Any:
        return getattr(self._cache, name)

    def execute(self, lm: Any, reqtype: str, requests: Sequence[Any]) -> list[Any]:
        """As ``ResponseCache.execute``: one output for each request, in their order."""
        ours = [request for request in requests if is_ours(request.task_name)]
        theirs = [request for request in requests if not is_ours(request.task_name)]
        cached = iter(self._cache.execute(lm, reqtype, theirs) if theirs else ())
        kept = iter(getattr(lm, reqtype)(ours) if ours else ())
        return [next(kept if is_ours(request.task_name) else cached) for request in requests]

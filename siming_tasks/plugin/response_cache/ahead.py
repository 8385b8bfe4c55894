"""Decoding ahead of asking: the first request goes out while the videos of later ones are decoded."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from threading import Event, Thread
from typing import TYPE_CHECKING

from siming_tasks.common.errors import SimingError
from siming_tasks.plugin.hooks.messages import shown_view

if TYPE_CHECKING:
    from siming_tasks.plugin.response_cache.key import KeyedRequest
    from siming_tasks.plugin.run_context import RunContext

AHEAD = 3
"""Videos that are decoded before they are asked about, at most: a cache of frames has a limit."""


@contextmanager
def decoded_ahead(run: RunContext, requests: Sequence[KeyedRequest]) -> Iterator[None]:
    """While the block runs, the videos of requests are decoded in their order, in a thread of their own.

    What cannot be decoded is met, and said, when its request is asked.
    """
    by_video = {str(request.doc["video_id"]): request for request in reversed(requests)}
    first = [by_video[name] for name in dict.fromkeys(str(request.doc["video_id"]) for request in requests)]
    ended = Event()

    def decode() -> None:
        for number, request in enumerate(first):
            while number >= AHEAD and not first[number - AHEAD].asked.begun and not ended.wait(0.05):
                pass
            if ended.is_set():
                return
            with suppress(SimingError):
                shown_view(run, request.doc, request.table)

    thread = Thread(target=decode, name="siming-decodes", daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()

"""What a service says of a reply besides its text: tokens, why it ended, which model served it, and how long it took.

The host's classes keep some of that to themselves. Their clients are stood in for by a :class:`Listening` one that
passes everything on and notes the answers.
"""

from __future__ import annotations

import inspect
import time
from collections.abc import Callable, Mapping
from typing import Any

__all__ = ["Listening", "is_known", "listening", "usage_of"]

Note = Callable[[dict[str, Any]], None]

PATHS = (("chat", "completions", "create"), ("models", "generate_content"), ("messages", "create"))
"""Where the clients of OpenAI (and LiteLLM), Google and Anthropic are asked."""

ENDS = {"max_tokens": "length", "end_turn": "stop", "stop_sequence": "stop"}
"""Reasons why a reply ended, under OpenAI's names."""


class Listening:
    """A client, or a part of one, whose answers at the end of ``path`` are noted; all else is the client's own."""

    def __init__(self, inner: Any, path: tuple[str, ...], note: Note) -> None:
        self._inner, self._path, self._note = inner, path, note

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._inner, name)
        if name != self._path[0]:
            return found
        return Listening(found, self._path[1:], self._note) if len(self._path) > 1 else self._noted(found)

    def _noted(self, call: Callable[..., Any]) -> Callable[..., Any]:
        note = self._note

        def passed(*args: Any, **kwargs: Any) -> Any:
            began = time.monotonic()
            answer = call(*args, **kwargs)
            if not inspect.isawaitable(answer):
                note(usage_of(answer, time.monotonic() - began))
                return answer

            async def awaited() -> Any:
                found = await answer
                note(usage_of(found, time.monotonic() - began))
                return found

            return awaited()

        return passed


def listening(client: Any, note: Note) -> Any:
    """The client, with its answers noted; as it is if it is of no known kind."""
    path = _path(client)
    return Listening(client, path, note) if path else client


def is_known(client: Any) -> bool:
    """Whether a client is of a kind that can be listened to."""
    return _path(client) is not None


def _path(client: Any) -> tuple[str, ...] | None:
    for path in PATHS:
        part = client
        for name in path:
            part = getattr(part, name, None)
        if callable(part):
            return path
    return None


def usage_of(answer: Any, seconds: float) -> dict[str, Any]:
    """What an answer of a service says of itself; None where it is silent.

    Returns:
        ``prompt_tokens``, ``completion_tokens`` (thinking included), ``finish_reason`` (``length``: cut at the limit
        of tokens), ``served`` (the model that answered) and ``latency`` in seconds.
    """
    used = _first(answer, "usage", "usage_metadata")
    prompt = _number(_first(used, "prompt_tokens", "input_tokens", "prompt_token_count"))
    completion = _number(_first(used, "completion_tokens", "output_tokens", "candidates_token_count"))
    thought = _number(_first(used, "thoughts_token_count"))  # Google counts it apart
    choice = next(iter(_first(answer, "choices", "candidates") or ()), None)
    ended = _first(choice, "finish_reason") or _first(answer, "stop_reason")
    word = str(getattr(ended, "value", ended)).lower() if ended is not None else None
    served = _first(answer, "model", "model_version")
    return {
        "prompt_tokens": prompt,
        "completion_tokens": completion + (thought or 0) if completion is not None else thought,
        "finish_reason": ENDS.get(word, word) if word else None,
        "served": served if isinstance(served, str) else None,
        "latency": round(seconds, 3),
    }


def _first(source: Any, *names: str) -> Any:
    """The first of these attributes (or entries) that is there."""
    for name in names:
        found = source.get(name) if isinstance(source, Mapping) else getattr(source, name, None)
        if found is not None:
            return found
    return None


def _number(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None

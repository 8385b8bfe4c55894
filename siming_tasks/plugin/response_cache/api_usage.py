"""Token usage, finish reason, serving model and latency of a reply, from the answer of the service.

lmms-eval's classes do not pass all of that on. Their clients are replaced by a :class:`WrappedClient`, which forwards
everything and records the answers.
"""

from __future__ import annotations

import inspect
import time
from collections.abc import Callable, Mapping
from typing import Any

from siming_tasks.results.usage import add_usage

Usages = list[dict[str, Any]]
"""Usage of each answer that a service gave to one request."""

PATHS = (("chat", "completions", "create"), ("models", "generate_content"), ("messages", "create"))
"""Methods that send a request with the clients of OpenAI (and LiteLLM), Google and Anthropic."""

FINISH_REASONS = {"max_tokens": "length", "end_turn": "stop", "stop_sequence": "stop"}
"""Finish reasons of other services under OpenAI's names."""


Call = Callable[..., Any]


class WrappedClient:
    """Client (or a part of one) whose method at the end of ``path`` is wrapped; all else is the client's own."""

    def __init__(self, inner: Any, path: tuple[str, ...], wrap: Callable[[Call], Call]) -> None:
        self._inner, self._path, self._wrap = inner, path, wrap

    def __getattr__(self, name: str) -> Any:
        part = getattr(self._inner, name)
        if name != self._path[0]:
            return part
        return WrappedClient(part, self._path[1:], self._wrap) if len(self._path) > 1 else self._wrap(part)


def wrapped_client(client: Any, wrap: Callable[[Call], Call]) -> Any:
    """Client whose method that sends requests is wrapped; None if it is of no known kind."""
    for path in PATHS:
        part = client
        for name in path:
            part = getattr(part, name, None)
        if callable(part):
            return WrappedClient(client, path, wrap)
    return None


def observed(client: Any, record: Callable[[dict[str, Any]], None]) -> Any:
    """Client whose answers are recorded; None if it is of no known kind."""

    def recorded(send: Call) -> Call:
        def send_and_record(*args: Any, **kwargs: Any) -> Any:
            began = time.monotonic()
            answer = send(*args, **kwargs)
            if not inspect.isawaitable(answer):
                record(usage_of_answer(answer, time.monotonic() - began))
                return answer

            async def await_and_record() -> Any:
                awaited = await answer
                record(usage_of_answer(awaited, time.monotonic() - began))
                return awaited

            return await_and_record()

        return send_and_record

    return wrapped_client(client, recorded)


def usage_of_answer(answer: Any, seconds: float) -> dict[str, Any]:
    """Usage that an answer of a service reports; None where it reports nothing.

    Returns:
        ``prompt_tokens``, ``completion_tokens`` (thinking included), ``finish_reason`` (``length``: cut at the limit
        of tokens), ``served`` (the model that answered) and ``latency`` in seconds.
    """
    used = _first(answer, "usage", "usage_metadata")
    prompt = _number(_first(used, "prompt_tokens", "input_tokens", "prompt_token_count"))
    completion = _number(_first(used, "completion_tokens", "output_tokens", "candidates_token_count"))
    thought = _number(_first(used, "thoughts_token_count"))  # Google counts it apart
    choice = next(iter(_first(answer, "choices", "candidates") or ()), None)
    reason = _first(choice, "finish_reason") or _first(answer, "stop_reason")
    word = str(getattr(reason, "value", reason)).lower() if reason is not None else ""
    served = _first(answer, "model", "model_version")
    return {
        "prompt_tokens": prompt,
        "completion_tokens": completion + (thought or 0) if completion is not None else thought,
        "finish_reason": FINISH_REASONS.get(word, word) or None,
        "served": served if isinstance(served, str) else None,
        "latency": round(seconds, 3),
    }


def _first(source: Any, *names: str) -> Any:
    """First of these attributes (or entries) that is there."""
    for name in names:
        value = source.get(name) if isinstance(source, Mapping) else getattr(source, name, None)
        if value is not None:
            return value
    return None


def _number(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None


def usage_of_reply(usages: Usages | None, counts: Mapping[str, Any] | None, max_new_tokens: int) -> dict[str, Any]:
    """Usage of a reply, from the answers of its service or the token counts of the model's class.

    Args:
        usages: of the answers, several where the class asked again after one that it could not use; None: the request
            was one of a batch, in which lmms-eval's classes count padding as tokens.
        counts: ``input_tokens`` and ``output_tokens`` that the class counted.
        max_new_tokens: most tokens that the reply could have; 0: unknown.
    """
    usage: dict[str, Any] = dict.fromkeys(("prompt_tokens", "completion_tokens", "finish_reason", "served", "latency"))
    if usages is None:
        return usage
    total = add_usage(usages)
    usage.update(usages[-1] if usages else {})
    usage.update({name: total[name] for name in ("prompt_tokens", "completion_tokens") if name in total})
    if not any("finish_reason" in answer for answer in usages) and counts:
        usage["prompt_tokens"], usage["completion_tokens"] = counts.get("input_tokens"), counts.get("output_tokens")
        if max_new_tokens and (usage["completion_tokens"] or 0) >= max_new_tokens:
            usage["finish_reason"] = "length"
    return usage

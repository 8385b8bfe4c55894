"""Ledger of attempts: everything that was sent to a service for a request, and what the service answered.

lmms-eval's classes retry, lose answers on the way and word failures as they like. The ledger is written where all
clients of services end: in ``send`` of the HTTP libraries. Money, limits, retries and statuses follow it. Which request
an attempt belongs to is a context variable, set when a class asks for the request's media. Coroutines inherit it, and
so do the threads of executors while the ledger listens. A local model sends nothing: each of its replies is entered as
one attempt, with the token counts of its class.
"""

from __future__ import annotations

import json
import re
import sys
import time
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import ContextVar, copy_context
from dataclasses import dataclass, replace
from threading import Lock
from typing import Any

from siming_tasks.common.redact import redact
from siming_tasks.parsing.parsed_reply import BLOCKED_MARKER, FAILURE_MARKER

FAILED = f"{FAILURE_MARKER} by the model's class] "
"""Beginning of the reply of a request that failed, as lmms-eval's own classes write it: status ``request_failed``."""

REQUEST: ContextVar[str] = ContextVar("REQUEST")
"""Key of the request whose media were last built in this context; what is sent from here is sent for it."""

SENDERS = (
    *(("httpx", "Client"), ("httpx", "AsyncClient"), ("httpx2", "Client"), ("httpx2", "AsyncClient")),
    ("requests", "Session"),
)
"""Modules and classes whose ``send`` sends a request: httpx for the clients of Anthropic, Google, LiteLLM and Reka (and
of OpenAI, whose newer clients have httpx2), requests for DashScope."""

UNKNOWN_FORM = "unknown form"
"""Error of an answer of no known form (``{}``, a page of HTML), after which the request was sent once more."""

FINISH_REASONS = {
    **dict.fromkeys(("max_tokens", "model_context_window_exceeded"), "length"),
    **dict.fromkeys(("end_turn", "stop_sequence"), "stop"),
    **dict.fromkeys(("safety", "prohibited_content", "blocklist", "spii", "image_safety", "refusal"), "content_filter"),
}
"""Finish reasons of other services under OpenAI's names."""

FILTERED = re.compile(r"content_?(filter|policy)|responsible_?ai|data_?inspection|sensitive_?content", re.IGNORECASE)
"""Code or type of the error with which a service says that a filter of contents stopped a request: Azure's and OpenAI's
``content_filter`` and ``content_policy_violation``, DashScope's ``data_inspection_failed``, Ark's
``InputImageSensitiveContentDetected``."""


@dataclass(frozen=True)
class Attempt:
    """One sending of a request and its answer; what is unknown is None.

    Attributes:
        key: of the request.
        sent: when, in seconds since 1970.
        latency: seconds until the answer, or until the client gave up.
        number: 1 for the first attempt of its request in this run, 2 for the first retry, ...
        http_status: of the answer; None: no answer came, or there is no service.
        error: why there is no reply: type of the exception, code or type of the service's error; "": there is one.
        text: the reply as the service gave it, without thinking; None where the answer has no known form.
        refusal: the words with which the service says that the model refused.
        finish_reason: by OpenAI's names (:data:`FINISH_REASONS`).
        prompt_tokens: read.
        completion_tokens: written, thinking included.
        served: model that answered.
        cost: in ``currency``, by the price table of the run.
    """

    key: str
    sent: float
    latency: float | None = None
    number: int = 1
    http_status: int | None = None
    error: str = ""
    text: str | None = None
    refusal: str = ""
    finish_reason: str | None = None
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    served: str | None = None
    cost: float | None = None
    currency: str | None = None

    @property
    def unread(self) -> bool:
        """True where no answer of a known form was heard, and no failure either."""
        return self.text is None and not self.error

    @property
    def billed(self) -> bool:
        """True where the service answered with tokens, or with a reply: also if the reply was lost afterwards.

        A request that a filter stopped has no tokens and no reply.
        """
        replied = not self.error and (self.http_status or 200) < 300
        return replied or self.prompt_tokens is not None or self.completion_tokens is not None

    def to_json(self) -> dict[str, Any]:
        """One JSON object without what is unknown and without texts: the reply is stored with its request."""
        facts = {name: value for name, value in vars(self).items() if name not in ("text", "refusal")}
        return {name: value for name, value in facts.items() if value not in (None, "")}


class NotSent(Exception):
    """Raised in place of sending where the limit of a run is reached."""


class Ledger:
    """Attempts of one run by request.

    Args:
        enter: gets each attempt and returns it with its cost; called by several threads.
        stopped: returns True if nothing more may be sent.
    """

    def __init__(self, enter: Callable[[Attempt], Attempt], stopped: Callable[[], bool]) -> None:
        self.stopped = stopped
        self._enter = enter
        self._attempts: dict[str, list[Attempt]] = {}
        self._held_back: set[str] = set()
        self._lock = Lock()

    def of(self, key: str) -> Sequence[Attempt]:
        """Attempts of a request, in the order of their answers."""
        return self._attempts.get(key, ())

    def was_held_back(self, key: str) -> bool:
        """Test whether a request was not sent, or not once more, because the limit was reached, and has no answer."""
        return key in self._held_back and all(attempt.error for attempt in self.of(key))

    def add(self, attempt: Attempt) -> None:
        """Enter an attempt; one whose tokens the class of the model may know waits for :meth:`settle`."""
        with self._lock:
            attempts = self._attempts.setdefault(attempt.key, [])
            attempts.append(replace(attempt, number=len(attempts) + 1))
            number = len(attempts) - 1
        if number and attempts[number - 1].unread:  # the class could not read it either: it asks once more
            attempts[number - 1] = self._enter(replace(attempts[number - 1], error=UNKNOWN_FORM))
        if not attempt.unread:
            attempts[number] = self._enter(attempts[number])

    def settle(self, key: str, sent: float, seconds: float | None, **facts: Any) -> None:
        """Enter what only the model's class knows of a reply: of a local model, or of a service of unknown form."""
        if not self.of(key):
            self.add(Attempt(key, sent, seconds if seconds is None else round(seconds, 3)))
        attempts = self._attempts[key]
        if attempts[-1].unread:
            attempts[-1] = self._enter(replace(attempts[-1], **facts))

    @contextmanager
    def listening(self) -> Iterator[None]:
        """While the block runs, everything that is sent for a request is entered."""
        classes = [getattr(sys.modules[module], name) for module, name in SENDERS if module in sys.modules]
        before = [(owner, "send", vars(owner)["send"]) for owner in classes]
        before.append((ThreadPoolExecutor, "submit", ThreadPoolExecutor.submit))
        for owner, name, original in before:
            setattr(owner, name, _in_this_context(original) if name == "submit" else self._heard(original))
        try:
            yield
        finally:
            for owner, name, original in before:
                setattr(owner, name, original)

    def _heard(self, send: Callable[..., Any]) -> Callable[..., Any]:
        """``send`` of a class of clients, whose requests and answers are entered."""

        def send_and_enter(client: Any, request: Any, *args: Any, **kwargs: Any) -> Any:
            key = REQUEST.get(None)
            if key is None or request.method != "POST" or "/upload/" in str(request.url):
                return send(client, request, *args, **kwargs)
            if self.stopped():
                self._held_back.add(key)
                raise NotSent("the limit of this run is reached")
            sending = Attempt(key, round(time.time(), 3))
            began = time.monotonic()
            try:
                answer = send(client, request, *args, **kwargs)
            except BaseException as error:
                self._lost(sending, began, error)
                raise
            if not isinstance(answer, Awaitable):
                self._came(sending, began, answer)
                return answer

            async def await_and_enter() -> Any:
                try:
                    awaited = await answer
                except BaseException as error:
                    self._lost(sending, began, error)
                    raise
                self._came(sending, began, awaited)
                return awaited

            return await_and_enter()

        return send_and_enter

    def _lost(self, sending: Attempt, began: float, error: BaseException) -> None:
        self.add(replace(sending, latency=round(time.monotonic() - began, 3), error=type(error).__name__))

    def _came(self, sending: Attempt, began: float, answer: Any) -> None:
        try:
            body = json.loads(answer.content)
        except Exception:  # noqa: BLE001 - whatever a service answers, and a stream that was not read yet
            body = None
        seconds = round(time.monotonic() - began, 3)
        status = answer.status_code
        self.add(replace(sending, latency=seconds, http_status=status, **facts_of_answer(status, body)))


def _in_this_context(submit: Callable[..., Any]) -> Callable[..., Any]:
    """``ThreadPoolExecutor.submit`` whose call runs in the context of the one who submits it."""

    def submit_in_context(pool: Any, function: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
        return submit(pool, copy_context().run, function, *args, **kwargs)

    return submit_in_context


def facts_of_answer(status: int, body: Any) -> dict[str, Any]:
    """Facts of an :class:`Attempt` that the JSON of an answer states, in the form of OpenAI, Anthropic or Google.

    Example:
        >>> facts_of_answer(200, {"content": [{"type": "text", "text": "2"}], "stop_reason": "end_turn"})["text"]
        '2'
        >>> facts_of_answer(500, {"error": {"type": "server_error"}})["error"]
        'HTTP 500 server_error'
        >>> facts_of_answer(400, {"error": {"code": "content_filter", "message": "filtered"}})["finish_reason"]
        'content_filter'
    """
    body = body if isinstance(body, Mapping) else {}
    used = _mapping(body, "usage", "usageMetadata")
    prompt = _number(used, "prompt_tokens", "input_tokens", "promptTokenCount", "inputTokens")
    completion = _number(used, "completion_tokens", "output_tokens", "candidatesTokenCount", "outputTokens")
    thought = _number(used, "thoughtsTokenCount")  # Google counts it apart
    served = body.get("model") or body.get("modelVersion")
    facts: dict[str, Any] = {
        "prompt_tokens": prompt,
        "completion_tokens": completion + (thought or 0) if completion is not None else thought,
        "served": served[:200] if isinstance(served, str) else None,
    }
    if not 200 <= status < 300:
        error = _mapping(body, "error")
        word = next((word for name in ("code", "status", "type") if isinstance(word := error.get(name), str)), "")
        if 400 <= status < 500 and FILTERED.search(word):
            said = error.get("message")
            words = str(redact(said[:500])) if isinstance(said, str) else word
            return {**facts, "text": "", "refusal": words, "finish_reason": "content_filter"}
        return {**facts, "error": f"HTTP {status} {re.sub(r'[^A-Za-z0-9_.-]+', '_', word[:60])}".strip()}
    choices = next((body[name] for name in ("choices", "candidates") if isinstance(body.get(name), list)), None)
    if blocked := _mapping(body, "promptFeedback").get("blockReason"):
        return {**facts, "text": "", "finish_reason": _finish_reason(blocked)}
    if choices is None and "usageMetadata" in body:
        choices = []  # Google leaves an empty list out
    if choices is not None and not (choices and isinstance(choices[0], Mapping)):
        return {**facts, "error": "no choice"}
    choice = choices[0] if choices else body
    message = _mapping(choice, "message")
    content = message.get("content") if choices and message else choice.get("content")
    if isinstance(content, Mapping):
        content = content.get("parts")
    reason = next((choice[name] for name in ("finish_reason", "finishReason", "stop_reason") if choice.get(name)), None)
    unsaid = choices and "choices" in body and not isinstance(choice.get("message"), Mapping) and content is None
    if unsaid and (reason is None or _finish_reason(reason) == "stop"):  # a filter or a limit leave it out too
        return {**facts, "error": "no message"}
    known = choices or reason is not None
    refusal = message.get("refusal")
    return {
        **facts,
        "text": _text(content) if known else None,
        "refusal": refusal if isinstance(refusal, str) else "",
        "finish_reason": _finish_reason(reason) if reason is not None else None,
    }


def _text(content: Any) -> str:
    """Text of a message that may be a list of parts, without those of thinking."""
    if isinstance(content, str):
        return content
    parts = [part for part in content if isinstance(part, Mapping)] if isinstance(content, list) else []
    texts = (part.get("text") for part in parts if not part.get("thought") and part.get("type", "text") == "text")
    return "".join(text for text in texts if isinstance(text, str))


def _finish_reason(reason: Any) -> str:
    word = str(reason).lower()[:200]
    return FINISH_REASONS.get(word, word)


def _mapping(source: Mapping[str, Any], *names: str) -> Mapping[str, Any]:
    """First of these entries that is an object."""
    return next((value for name in names if isinstance(value := source.get(name), Mapping)), {})


def _number(source: Mapping[str, Any], *names: str) -> int | None:
    """First of these entries that is a count; some services write ``1000.0``."""
    values = (value for value in map(source.get, names) if not isinstance(value, bool))
    whole = (int(v) for v in values if isinstance(v, int | float) and 0 <= v <= 10**12 and v == int(v))
    return next(whole, None)


def usage_of(attempts: Sequence[Attempt]) -> dict[str, Any]:
    """Usage of a request (:class:`siming_tasks.results.usage.Usage`) from its attempts.

    Tokens and costs are those of all answers together: a reply that was lost afterwards is paid as well.
    """
    last = attempts[-1] if attempts else None
    billed = [attempt for attempt in attempts if attempt.billed]

    def total(name: str) -> Any:
        values = [getattr(attempt, name) for attempt in billed]
        return None if None in values or not values else sum(values)

    usage = {name: getattr(last, name, None) for name in ("finish_reason", "served", "latency", "http_status")}
    usage |= {name: total(name) for name in ("prompt_tokens", "completion_tokens", "cost")}
    failed = sum(bool(attempt.error) for attempt in attempts)
    usage |= {"attempts": len(attempts), "failed_attempts": failed, "error": last.error or None if last else None}
    return usage | {"currency": next((attempt.currency for attempt in billed if attempt.currency), None)}


def reply_of(said: Any, attempts: Sequence[Attempt], failed: Callable[[str], bool]) -> str:
    """Reply to a request as its service gave it, where a class of lmms-eval says something else.

    Args:
        said: what the class returned.
        attempts: of the request in this call.
        failed: tests whether a text is that of a failed request.
    """
    last = attempts[-1] if attempts else None
    text: str = said if isinstance(said, str) else ""
    if last is None or last.unread:  # a local model, or a service of unknown form
        return text if isinstance(said, str) else f"{FAILED}{type(said).__name__} in place of a text"
    if last.error:
        return text if failed(text) else f"{FAILED}{last.error}: {text[:200]}"
    if last.refusal or (last.finish_reason == "content_filter" and not last.text):
        return f"{BLOCKED_MARKER}:finish_reason={last.finish_reason}] {last.refusal}".rstrip()
    by_class = isinstance(said, str) and not failed(text) and not text.startswith(BLOCKED_MARKER)
    in_turns = any(attempt.finish_reason == "tool_calls" for attempt in attempts)
    return text if by_class and (last.text or in_turns) else last.text or ""

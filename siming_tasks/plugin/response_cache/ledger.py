"""Ledger of attempts: everything that was sent to a model for a request, what came back, and what it costs.

lmms-eval's classes retry, lose answers on the way and word failures as they like. So the ledger is written where all
clients of services end: in ``send`` of the HTTP libraries. Money, limits, time-outs and statuses follow it. Which
request an attempt belongs to is a context variable, set when a class asks for the request's media; coroutines inherit
it, and so do the threads of executors while the ledger listens. A local model sends nothing: each of its replies is one
attempt, with the token counts of its class.
"""

from __future__ import annotations

import asyncio
import json
import re
import sys
import threading
import time
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from concurrent.futures import TimeoutError as TooLate
from contextlib import contextmanager
from contextvars import ContextVar, copy_context
from dataclasses import replace
from typing import Any

import pydantic

from siming_tasks.common.errors import OptionsError
from siming_tasks.common.redact import redact
from siming_tasks.options import Options
from siming_tasks.parsing.parsed_reply import BLOCKED_MARKER, FAILURE_MARKER
from siming_tasks.plugin import host
from siming_tasks.results.usage import Number, Prices, Tokens, load_prices

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
"""Error of an answer of no known form (``{}``), after which the request was sent once more."""

BROKEN = ("error", "abort", "aborted", "cancelled")
"""Finish reasons with which a service or an engine says that it broke off: there is no reply, whatever text stands."""

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


@pydantic.dataclasses.dataclass(frozen=True, config={"extra": "forbid"})
class Attempt:
    """One sending of a request and its answer; what is unknown is None.

    Attributes:
        key: of the request.
        sent: when, in seconds since 1970.
        latency: seconds until the answer, or until the client gave up.
        http_status: of the answer; None: no answer came, or there is no service.
        error: why there is no reply: type of the exception, code or type of the service's error; "": there is one.
        text: the reply as the service gave it, without thinking; None where the answer has no known form.
        refusal: the words with which the service says that the model refused.
        finish_reason: by OpenAI's names (:data:`FINISH_REASONS`).
        prompt_tokens: read.
        completion_tokens: written, thinking included.
        served: model that answered.
    """

    key: str
    sent: Number
    latency: Number | None = None
    http_status: int | None = None
    error: str = ""
    text: str | None = None
    refusal: str = ""
    finish_reason: str | None = None
    prompt_tokens: Tokens | None = None
    completion_tokens: Tokens | None = None
    served: str | None = None

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
        facts = {name: value for name, value in vars(self).items() if name in _STORED}
        return {name: value for name, value in facts.items() if value not in (None, "")}


_STORED = frozenset(Attempt.__dataclass_fields__) - {"text", "refusal"}


class Budget:
    """Money that one process may spend on a model, by the name it is asked for; processes share a limit equally.

    Attributes:
        spent: so far, in the currency of the prices: by this process, and on its requests by earlier commands.
        unknown: a paid reply came without token counts, so that a limit cannot be kept.

    Raises:
        OptionsError: there is a limit and no price of this model.
        DataError: the price table cannot be read.
    """

    def __init__(self, options: Options, model: str | None, processes: int = 1) -> None:
        self.prices: Prices | None = load_prices(options.prices) if options.prices else None
        self.model, self.limit = model, options.limit_cost / max(1, processes)
        self.spent, self.unknown, self._lock = 0.0, False, threading.Lock()
        if self.limit and (self.prices is None or self.prices.of(model) is None):
            reason = f"{options.prices} has no price of {model!r}, the name that is asked" if self.prices else None
            reason = reason or "SIMING_PRICES names no price table"
            raise OptionsError(f"SIMING_LIMIT_COST={options.limit_cost:g} cannot be kept: {reason}.")

    def cost(self, attempt: Attempt) -> float | None:
        """Cost of an attempt; None where its tokens or the price are not known."""
        return self.prices.cost({**vars(attempt), "model": self.model}) if self.prices else None

    def charge(self, attempts: Sequence[Attempt]) -> None:
        """Add what the billed ones of these attempts have cost."""
        for attempt in attempts:
            if attempt.billed and self.prices:
                cost = self.cost(attempt)
                with self._lock:
                    self.spent, self.unknown = self.spent + (cost or 0.0), self.unknown or cost is None

    @property
    def reason(self) -> str:
        """Reason to ask nothing more, with the way out: the money is spent, or lmms-eval's tokens; "": there is none."""
        if self.limit and self.unknown:
            return (
                "SIMING_LIMIT_COST: the service does not report the tokens of every reply, so that the limit cannot be "
                "kept. Unset the limit"
            )
        if self.limit and self.spent >= self.limit and self.prices:
            return (
                f"SIMING_LIMIT_COST: {self.spent:.4g} of {self.limit:.4g} {self.prices.currency} are spent, earlier "
                "commands included. Raise it"
            )
        is_exceeded = host.fetch("lmms_eval.models.model_utils.usage_metrics:is_budget_exceeded")
        return "--max_tokens: lmms-eval's budget of tokens is used up. Raise it" * bool(is_exceeded())


class NotSent(Exception):
    """Raised in place of sending where a run is to stop."""


class Ledger:
    """Attempts of one run by request.

    Args:
        entered: gets each attempt once it is known; called by several threads.
        stopped: returns True if nothing more may be sent.
        seconds: that one attempt may take, from sending to the last byte of its answer; None: what its client waits.
    """

    def __init__(
        self, entered: Callable[[Attempt], object], stopped: Callable[[], object], seconds: float | None = None
    ) -> None:
        self.stopped, self._entered, self._seconds = stopped, entered, seconds
        self._attempts: dict[str, list[Attempt]] = {}
        self._held_back: set[str] = set()
        self._lock = threading.Lock()

    def of(self, key: str) -> Sequence[Attempt]:
        """Attempts of a request, in the order of their answers."""
        return self._attempts.get(key, ())

    def was_held_back(self, key: str) -> bool:
        """Test whether a request was not sent, or not once more, because the run is to stop, and has no answer."""
        return key in self._held_back and all(attempt.error for attempt in self.of(key))

    def add(self, attempt: Attempt) -> None:
        """Enter an attempt; one whose tokens the class of the model may know waits for :meth:`settle`."""
        with self._lock:
            attempts = self._attempts.setdefault(attempt.key, [])
            attempts.append(attempt)
        if len(attempts) > 1 and attempts[-2].unread:  # the class could not read it either: it asks once more
            attempts[-2] = replace(attempts[-2], error=UNKNOWN_FORM)
            self._entered(attempts[-2])
        if not attempt.unread:
            self._entered(attempt)

    def settle(self, key: str, sent: float, seconds: float | None, **facts: Any) -> None:
        """Enter what only the model's class knows of a reply: of a local model, or of a service of unknown form."""
        if not self.of(key):
            self.add(Attempt(key, sent, seconds if seconds is None else round(seconds, 3)))
        attempts = self._attempts[key]
        if attempts[-1].unread:
            attempts[-1] = replace(attempts[-1], **facts)
            self._entered(attempts[-1])

    @contextmanager
    def listening(self) -> Iterator[None]:
        """While the block runs, everything that is sent for a request is entered, and takes no longer than it may."""
        senders = [getattr(sys.modules[module], name) for module, name in SENDERS if module in sys.modules]
        before = [(owner, vars(owner)["send"]) for owner in senders]
        submit = ThreadPoolExecutor.submit
        for owner, send in before:
            owner.send = self._heard(send, sys.modules[owner.__module__.partition(".")[0]])
        ThreadPoolExecutor.submit = _in_this_context(submit)  # type: ignore[method-assign]
        try:
            yield
        finally:
            ThreadPoolExecutor.submit = submit  # type: ignore[method-assign]
            for owner, send in before:
                owner.send = send

    def _heard(self, send: Callable[..., Any], library: Any) -> Callable[..., Any]:
        """``send`` of a class of clients, whose requests and answers are entered."""

        def send_and_enter(client: Any, request: Any, *args: Any, **kwargs: Any) -> Any:
            key = REQUEST.get(None)
            if key is None or request.method != "POST" or "/upload/" in str(request.url):
                return send(client, request, *args, **kwargs)
            if self.stopped():
                self._held_back.add(key)
                raise NotSent("this run is to stop")
            if self._seconds and hasattr(request, "extensions"):  # httpx: its own limits are of silence
                request.extensions = {**request.extensions, "timeout": dict.fromkeys(_PHASES, self._seconds)}
            elif self._seconds:
                kwargs["timeout"] = self._seconds
            sending, began = Attempt(key, round(time.time(), 3)), time.monotonic()

            def lost(error: BaseException) -> BaseException:
                if isinstance(error, (asyncio.TimeoutError, TooLate)):  # the library's own, which its clients know
                    error = library.ReadTimeout(f"no whole answer in {self._seconds:g} s", request=request)
                self.add(replace(sending, latency=_since(began), error=type(error).__name__))
                return error

            def came(answer: Any) -> Any:
                facts = facts_of_answer(answer.status_code, _body(answer))
                self.add(replace(sending, latency=_since(began), http_status=answer.status_code, **facts))
                return answer

            async def in_time(answer: Awaitable[Any]) -> Any:
                try:
                    awaited = await asyncio.wait_for(answer, self._seconds)
                except BaseException as error:
                    raise lost(error) from error
                return came(awaited)

            try:
                answer = _in_time(self._seconds, send, client, request, *args, **kwargs)
            except BaseException as error:
                raise lost(error) from error
            return in_time(answer) if isinstance(answer, Awaitable) else came(answer)

        return send_and_enter


_PHASES = ("connect", "read", "write", "pool")


def _since(began: float) -> float:
    return round(time.monotonic() - began, 3)


def _in_time(seconds: float | None, call: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """Result of a call that blocks, or TimeoutError: a service that sends a byte now and then is left to its thread."""
    if not seconds:
        return call(*args, **kwargs)
    result: Future[Any] = Future()

    def work() -> None:
        try:
            result.set_result(call(*args, **kwargs))
        except BaseException as error:  # noqa: BLE001 - it is raised where it is waited for
            result.set_exception(error)

    threading.Thread(target=work, name="siming-sends", daemon=True).start()
    return result.result(seconds)


def _body(answer: Any) -> Any:
    """JSON of an answer; None for a stream that was not read yet, "" for what is no whole JSON."""
    try:
        content = answer.content
    except Exception:  # noqa: BLE001 - of any library
        return None
    try:
        return json.loads(content)
    except (ValueError, RecursionError):
        return ""


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
    if isinstance(body, str) and 200 <= status < 300:
        return {"error": "no JSON"}
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
    error = _mapping(body, "error")
    if not 200 <= status < 300:
        word = next((word for name in ("code", "status", "type") if isinstance(word := error.get(name), str)), "")
        if 400 <= status < 500 and FILTERED.search(word):
            said = error.get("message")
            words = str(redact(said[:500])) if isinstance(said, str) else word
            return {**facts, "text": "", "refusal": words, "finish_reason": "content_filter"}
        return {**facts, "error": f"HTTP {status} {_word(word)}".strip()}
    if body.get("error"):
        return {**facts, "error": f"error {_word(error.get('code') or error.get('type') or 'in the answer')}"}
    choices = next((body[name] for name in ("choices", "candidates") if isinstance(body.get(name), list)), None)
    if blocked := _mapping(body, "promptFeedback").get("blockReason"):
        return {**facts, "text": "", "finish_reason": _finish_reason(blocked)}
    if choices is None and "usageMetadata" in body:
        choices = []  # Google leaves an empty list out
    if choices is not None and not (choices and isinstance(choices[0], Mapping)):
        return {**facts, "error": "no choice"}
    choice = choices[0] if choices else body
    reason = next((choice[name] for name in ("finish_reason", "finishReason", "stop_reason") if choice.get(name)), None)
    if choice.get("error") or _finish_reason(reason) in BROKEN:
        return {**facts, "error": f"error {_word(_mapping(choice, 'error').get('code') or reason or 'in the answer')}"}
    message = _mapping(choice, "message")
    content = message.get("content") if choices and message else choice.get("content")
    if isinstance(content, Mapping):
        content = content.get("parts")
    unsaid = choices and "choices" in body and not isinstance(choice.get("message"), Mapping) and content is None
    if unsaid and (reason is None or _finish_reason(reason) == "stop"):  # a filter or a limit leave it out too
        return {**facts, "error": "no message"}
    known = choices or reason is not None
    text, refusal = _text(content) if known else None, message.get("refusal")
    if not prompt or (text and not facts["completion_tokens"]):  # no request is read without a token, no text written
        facts |= {"prompt_tokens": prompt or None, "completion_tokens": facts["completion_tokens"] or None}
    return {
        **facts,
        "text": text,
        "refusal": refusal if isinstance(refusal, str) else "",
        "finish_reason": _finish_reason(reason) if reason is not None else None,
    }


def _word(code: Any) -> str:
    return re.sub(r"[^A-Za-z0-9_.-]+", "_", str(code)[:60])


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


def usage_of(attempts: Sequence[Attempt], budget: Budget) -> dict[str, Any]:
    """Usage of a request (:class:`siming_tasks.results.usage.Usage`) from its attempts.

    Tokens and costs are those of all answers together: a reply that was lost afterwards is paid as well.
    """
    last = attempts[-1] if attempts else None
    billed = [attempt for attempt in attempts if attempt.billed]
    costs = [budget.cost(attempt) for attempt in billed]

    def total(values: Sequence[Any]) -> Any:
        return None if None in values or not values else sum(values)

    cost = total(costs)
    return {
        **{name: getattr(last, name, None) for name in ("finish_reason", "served", "latency", "http_status")},
        "error": (last and last.error) or None,
        "prompt_tokens": total([attempt.prompt_tokens for attempt in billed]),
        "completion_tokens": total([attempt.completion_tokens for attempt in billed]),
        "attempts": len(attempts),
        "failed_attempts": sum(bool(attempt.error) for attempt in attempts),
        "cost": cost,
        "currency": budget.prices.currency if budget.prices and cost is not None else None,
        "model": budget.model,
    }


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

"""Ledger of attempts: everything that was sent to a model for a request, the replies, and their cost.

lmms-eval's classes retry, lose answers on the way and word failures as they like. So the ledger is written where all
clients of services end: in ``send`` of the HTTP libraries. Money, limits, time-outs and statuses follow it. Which
request an attempt belongs to is a context variable (:data:`siming_tasks.plugin.reply.ASKED`), set when a class asks for
the request's media; coroutines inherit it, and so do the threads of executors while the ledger listens. A local model
sends nothing: each of its replies is one attempt, with the token counts of its class.
"""

from __future__ import annotations

import json
import sys
import threading
import time
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from typing import Any

from siming_tasks.common.errors import DataError, OptionsError
from siming_tasks.common.public_facts import asked_name
from siming_tasks.options import Options
from siming_tasks.plugin import host
from siming_tasks.plugin.reply import ASKED
from siming_tasks.plugin.response_cache.attempt import Attempt, facts_of_answer
from siming_tasks.plugin.run_context import threads_inherit
from siming_tasks.study.results.usage import Prices, load_prices

SENDERS = (
    *(("httpx", "Client"), ("httpx", "AsyncClient"), ("httpx2", "Client"), ("httpx2", "AsyncClient")),
    ("requests", "Session"),
)
"""Modules and classes whose ``send`` sends a request: httpx for the clients of Anthropic, Google, LiteLLM and Reka (and
of OpenAI, whose newer clients have httpx2), requests for DashScope."""

UNKNOWN_FORM = "unknown form"
"""Error of an answer of no known form (``{}``), after which the request was sent once more."""


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
            named = model and asked_name(model)
            reason = f"{options.prices} has no price for {named!r}, the requested model" if self.prices else None
            reason = reason or "SIMING_PRICES names no price table"
            raise OptionsError(f"SIMING_LIMIT_COST={options.limit_cost:g} cannot be enforced: {reason}.")

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
    def reached(self) -> str:
        """Sentence about the limit of money where it is reached or cannot be kept; "" where neither."""
        if self.limit and self.unknown:
            return (
                "SIMING_LIMIT_COST: the service does not report the tokens of every reply, "
                "so the limit cannot be enforced"
            )
        if self.limit and self.spent >= self.limit and self.prices:
            return (
                f"SIMING_LIMIT_COST: {self.spent:.4g} of {self.limit:.4g} {self.prices.currency} "
                "are spent, including earlier commands"
            )
        return ""

    @property
    def reason(self) -> str:
        """Reason to ask nothing more, with the way out: money or lmms-eval's tokens are spent; "": there is none."""
        if reached := self.reached:
            return f"{reached}. {'Unset the limit' if self.unknown else 'Raise it'}"
        is_exceeded = host.fetch("lmms_eval.models.model_utils.usage_metrics:is_budget_exceeded")
        return "--max_tokens: lmms-eval's token budget is used up. Raise it" * bool(is_exceeded())


class NotSent(Exception):
    """Raised in place of sending where a run is to stop."""


class Ledger:
    """Attempts of one run by request.

    Args:
        entered: gets each attempt once it is known; called by several threads.
        stopped: returns True if nothing more may be sent.
        seconds: of silence after which one attempt has failed, whatever the class told its client; None: what it told.
    """

    def __init__(
        self,
        entered: Callable[[Attempt], object],
        stopped: Callable[[], object],
        seconds: float | None = None,
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
        """While the block runs, everything that is sent for a request is entered."""
        with ExitStack() as stack:
            for owner in [getattr(sys.modules[module], name) for module, name in SENDERS if module in sys.modules]:
                stack.enter_context(host.swapped("client:send", owner, self._recorded(owner.send)))
            stack.enter_context(threads_inherit())
            yield

    def _recorded(self, send: Callable[..., Any]) -> Callable[..., Any]:
        """``send`` of a class of clients, whose requests and answers are entered."""

        def send_and_enter(client: Any, request: Any, *args: Any, **kwargs: Any) -> Any:
            asked = ASKED.get()
            if asked is None or request.method != "POST" or "/upload/" in str(request.url):
                return send(client, request, *args, **kwargs)
            key = asked.key
            if self.stopped():
                self._held_back.add(key)
                raise NotSent("this run is to stop")
            if self._seconds and hasattr(request, "extensions"):  # httpx
                request.extensions = {**request.extensions, "timeout": dict.fromkeys(_PHASES, self._seconds)}
            elif self._seconds:
                kwargs["timeout"] = self._seconds
            sending, began = Attempt(key, round(time.time(), 3)), time.monotonic()

            def lost(error: BaseException) -> None:
                if isinstance(error, DataError):  # of the gate (data/gate.py): it was not sent
                    self._held_back.add(key)
                    return
                self.add(replace(sending, latency=_since(began), error=type(error).__name__))

            def came(answer: Any) -> Any:
                facts = facts_of_answer(answer.status_code, _body(answer))
                self.add(replace(sending, latency=_since(began), http_status=answer.status_code, **facts))
                return answer

            async def awaited(answer: Awaitable[Any]) -> Any:
                try:
                    return came(await answer)
                except BaseException as error:
                    lost(error)
                    raise

            try:
                answer = send(client, request, *args, **kwargs)
            except BaseException as error:
                lost(error)
                raise
            return awaited(answer) if isinstance(answer, Awaitable) else came(answer)

        return send_and_enter


_PHASES = ("connect", "read", "write", "pool")


def _since(began: float) -> float:
    return round(time.monotonic() - began, 3)


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


def usage_of(attempts: Sequence[Attempt], budget: Budget) -> dict[str, Any]:
    """Usage of a request (:class:`siming_tasks.study.results.usage.Usage`) from its attempts.

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
        "model": budget.model and asked_name(budget.model),
    }

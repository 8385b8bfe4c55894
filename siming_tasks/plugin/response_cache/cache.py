"""Cache of replies between lmms-eval and its models: kept replies are found, the rest is asked, every reply is kept."""

from __future__ import annotations

import functools
import json
import logging
import sys
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass, field, replace
from typing import Any

from siming_tasks.common.errors import OptionsError, SimingError
from siming_tasks.common.files import atomic_write, sha256_json
from siming_tasks.common.redact import redact
from siming_tasks.models.recipes.transport import transports
from siming_tasks.options import Options
from siming_tasks.plugin import host
from siming_tasks.plugin.hooks.run_context import RUN, Doc
from siming_tasks.plugin.preflight import is_siming_task
from siming_tasks.plugin.response_cache.attempts import Attempt, Ledger, reply_of, usage_of
from siming_tasks.plugin.response_cache.dispatch import NOT_SENT, dispatch, one_reply_per_request
from siming_tasks.plugin.response_cache.key import Request, arguments_of, fingerprint_of, requests_with_keys
from siming_tasks.plugin.response_cache.leases import Leases
from siming_tasks.plugin.response_cache.named_files import CONTENT_BYTES, UnidentifiedModel, known_by_date
from siming_tasks.plugin.response_cache.store import CachedReply, ReplyStore
from siming_tasks.results.record import REQUEST_FAILED, is_asked_again
from siming_tasks.results.usage import Prices, add_usage, load_prices

POLL_SECONDS = 0.5
"""Seconds between two looks for a reply that another process is asking for."""


@contextmanager
def replies_kept(model: Any) -> Iterator[None]:
    """While the block runs, ``generate_until`` of a model object keeps its replies to requests of our tasks."""
    before = vars(model).get("generate_until")

    def generate_until(instances: Sequence[Any]) -> list[Any]:
        others = functools.partial(type(model).generate_until, model)
        return _split(instances, functools.partial(_answer, model), others)

    model.generate_until = generate_until
    try:
        yield
    finally:
        del model.generate_until
        if before is not None:
            model.generate_until = before


def _split(instances: Sequence[Any], ask_ours: Any, ask_others: Any) -> list[Any]:
    """One output for each request, in their order; requests of our tasks go another way than others."""
    is_ours = [is_siming_task(instance.metadata) for instance in instances]
    outputs = {}
    for kind, ask in ((False, ask_others), (True, ask_ours)):
        chosen = [instance for instance, ours in zip(instances, is_ours, strict=True) if ours == kind]
        outputs[kind] = iter(ask(chosen) if chosen else ())
    return [next(outputs[ours]) for ours in is_ours]


def _answer(model: Any, instances: Sequence[Any]) -> list[Any]:
    """Outputs for requests of our tasks, from the store as far as they are kept."""
    if _keeps_replies(model):
        try:
            fingerprint = fingerprint_of(model)
            requests = list(requests_with_keys(model, instances, sha256_json(fingerprint)))
        except UnidentifiedModel as reason:
            class_name = type(model).__name__
            text = f"replies are not kept: the answers of {class_name} may depend on something unknown: {reason}."
            _log(text, warn=True)
        else:
            return _answer_from_store(model, requests, fingerprint)
    if RUN.options.limit_cost:
        raise SystemExit("siming-tasks: SIMING_LIMIT_COST cannot be kept where replies are not kept.")
    if RUN.options.schema != "off":
        raise SystemExit("siming-tasks: SIMING_SCHEMA works only where replies are kept. Unset SIMING_REPLIES.")
    if not getattr(model, "keeps_replies", True):
        return one_reply_per_request(model, RUN.backend, instances)
    keys, name = [str(number) for number in range(len(instances))], _asked_name(model)
    budget = Budget.of_run(RUN.options, name)
    ledger = Ledger(functools.partial(budget.charged, name), lambda: False)
    with ledger.listening():
        outputs = one_reply_per_request(model, RUN.backend, instances, keys, ledger)
    answered, waits = [], _waits(model)
    for key, instance, output in zip(keys, instances, outputs, strict=True):
        doc_id, task, split = instance.args[-3:]
        doc = model.task_dict[task][split][doc_id]
        answered.append(text := _as_answered(doc, output, ledger.of(key)))
        said, _ = host.fetch("lmms_eval.api.instance:unwrap_generation_output")(text)
        if ledger.of(key) and RUN.parse_reply(doc, said).status == REQUEST_FAILED:
            ledger.settle(key, time.time(), None, error="no reply")
        heard = usage_of(ledger.of(key)) if ledger.of(key) else {}
        RUN.record_usage(doc, {"model": name, **heard, **waits, "stored": False})
    return answered


def _asked_name(model: Any) -> str | None:
    """Name by which a model is asked for; None where nothing says it."""
    arguments = arguments_of(model) or {}
    names = (getattr(model, "model_version", None), *map(arguments.get, ("model_version", "model", "pretrained")))
    return next((str(redact(name)) for name in names if isinstance(name, str)), None)


def _waits(model: Any) -> dict[str, Any]:
    """Time-out of a try in seconds and the most tries of a model that asks a service; nothing for others."""
    if (row := transports().get(RUN.backend.name)) is None:
        return {}
    row = row.with_arguments(arguments_of(model) or {})
    return {"timeout": row.timeout, "tries": row.most_tries}


def _as_answered(doc: Doc, output: Any, attempts: Sequence[Attempt]) -> Any:
    """Output of a class for a request about a document, with the reply that its service gave."""
    said, tokens = host.fetch("lmms_eval.api.instance:unwrap_generation_output")(output)

    def is_failure(text: str) -> bool:
        return RUN.parse_reply(doc, text).status == REQUEST_FAILED

    text = reply_of(said, attempts, is_failure)
    if text == said:
        return output
    return text if tokens is None else host.fetch("lmms_eval.api.instance:GenerationResult")(text, tokens)


def _keeps_replies(model: Any) -> bool:
    return RUN.options.replies.lower() != "off" and getattr(model, "keeps_replies", True)


def _answer_from_store(model: Any, requests: Sequence[Request], fingerprint: dict[str, Any]) -> list[Any]:
    folder = RUN.options.replies_dir / f"{type(model).__name__}-{sha256_json(fingerprint)[:16]}"
    conditions = sha256_json(fingerprint)
    store = ReplyStore(folder, conditions)
    by_key = {request.key: request for request in requests}
    kept = store.find(by_key.keys())
    description = store.folder / "model.json"  # what the replies depend on, for people who look
    with suppress(OSError):  # the store will say that nothing can be written there
        if not description.exists():
            with atomic_write(description) as stream:
                stream.write(json.dumps(fingerprint, indent=1) + "\n")
    since = ""
    if kept:
        oldest = time.localtime(min(reply.at for reply in kept.values()))
        since = f" (the oldest since {time.strftime('%Y-%m-%d %H:%M', oldest)})"
    _log(f"keeping replies in {store.folder}; {len(kept)} of {len(by_key)} are there{since}.")
    if by_date := known_by_date(fingerprint["files"]):
        large = ", ".join(by_date)
        _log(f"files of more than {CONTENT_BYTES // 2**20} MB are told apart by names, sizes and dates: {large}.")

    name = _asked_name(model)
    try:
        budget = Budget.of_run(RUN.options, name, getattr(model, "world_size", 1))
    except SimingError as error:  # after an ordinary error lmms-eval exits 0
        raise SystemExit(f"siming-tasks: {error}") from None
    replies = _Replies(by_key, store, Leases(store.folder / "leases"), budget, name, _waits(model))
    for attempt in store.unanswered(by_key.keys()):
        budget.charged(name, attempt)
    for reply in kept.values():
        replies.take_kept(reply)
    budget.note_earlier()
    replies.show_warnings()
    missing = replies.missing()

    def on_reply(number: int, output: Any, seconds: float | None) -> None:
        replies.take_new(missing[number], output, seconds)

    def turn(number: int) -> AbstractContextManager[bool]:
        return replies.turn(missing[number])

    try:
        dispatch(model, missing, on_reply, replies.ledger, turn, next(iter(requests), None))
        if others := replies.missing():
            _log(f"waiting for {len(others)} replies that other processes are asking for.")
        while missing := replies.missing():
            replies.wait_for_others()
            dispatch(model, missing, on_reply, replies.ledger, turn)
    finally:
        replies.leases.close()
        store.close()
        replies.show_warnings()
    if replies.not_sent:
        raise SystemExit(f"siming-tasks: {budget.message(replies.not_sent)}")
    return [replies.outputs[request.key] for request in requests]


@dataclass
class Budget:
    """Money that one process may spend, and has spent.

    Attributes:
        prices: of models; None: costs are not counted.
        limit: what this process may spend, kept replies included; 0: no limit.
        spent: so far, in the currency of ``prices``; ``earlier`` of it before this process sent anything.
        cost_unknown: a paid reply came without token counts, so that the limit cannot be kept; ``unknown_earlier``:
            one of an earlier command.
    """

    prices: Prices | None
    limit: float = 0.0
    spent: float = 0.0
    cost_unknown: bool = False
    earlier: float = 0.0
    unknown_earlier: bool = False
    _lock: threading.Lock = field(default_factory=threading.Lock)

    @classmethod
    def of_run(cls, options: Options, model: str | None, processes: int = 1) -> Budget:
        """Budget of a run of a model, by the name it is asked for; its processes share the limit equally.

        Raises:
            OptionsError: there is a limit and no price of this model.
            DataError: the price table cannot be read.
        """
        prices = load_prices(options.prices) if options.prices else None
        if options.limit_cost and (prices is None or prices.of(model) is None):
            reason = f"{options.prices} has no price of {model!r}, the name that is asked" if prices else None
            reason = reason or "SIMING_PRICES names no price table"
            raise OptionsError(f"SIMING_LIMIT_COST={options.limit_cost:g} cannot be kept: {reason}.")
        return cls(prices, options.limit_cost / max(1, processes))

    def cost_of(self, usage: Mapping[str, Any]) -> dict[str, Any]:
        """``cost`` and ``currency`` of the tokens of a usage, nothing without prices."""
        if self.prices is None:
            return {}
        cost = self.prices.cost(usage)
        return {"cost": cost, "currency": self.prices.currency if cost is not None else None}

    def charge(self, usage: Mapping[str, Any]) -> dict[str, Any]:
        """Add what the tokens of a usage cost; returns it as :meth:`cost_of`."""
        stated = self.cost_of(usage)
        with self._lock:
            self.spent += stated.get("cost") or 0.0
            self.cost_unknown |= "cost" in stated and stated["cost"] is None
        return stated

    def priced(self, model: str | None, attempt: Attempt) -> Attempt:
        """Attempt at a model of this name with its cost, which is not added."""
        return replace(attempt, **self.cost_of({**vars(attempt), "model": model})) if attempt.billed else attempt

    def note_earlier(self) -> None:
        """Take all that is charged so far for what earlier commands have spent."""
        self.earlier, self.unknown_earlier = self.spent, self.cost_unknown

    def charged(self, model: str | None, attempt: Attempt) -> Attempt:
        """Attempt at a model of this name with its cost, which is added where it is billed."""
        return replace(attempt, **self.charge({**vars(attempt), "model": model})) if attempt.billed else attempt

    @property
    def exhausted(self) -> bool:
        """True if nothing more may be asked: the money is spent, or lmms-eval's own budget of tokens."""
        is_exceeded = host.fetch("lmms_eval.models.model_utils.usage_metrics:is_budget_exceeded")
        return self._is_spent or bool(is_exceeded and is_exceeded())

    @property
    def _is_spent(self) -> bool:
        return bool(self.limit) and (self.cost_unknown or self.spent >= self.limit)

    def message(self, left: int) -> str:
        """Message that says why the run stops, how many requests are left, and how to continue it."""
        limit, reason, remedy = "--max_tokens", "lmms-eval's budget of tokens is used up", "Raise it"
        if self._is_spent and self.prices is not None:
            limit, reason = (
                "SIMING_LIMIT_COST",
                f"{self.spent:.4g} of {self.limit:.4g} {self.prices.currency} are spent",
            )
            if self.earlier:
                reason += f", {self.earlier:.4g} of it on replies already kept and lost answers of earlier commands"
            if self.cost_unknown:
                whose = "replies already kept state no tokens" if self.unknown_earlier else ""
                reason = f"{whose or 'the service does not report its tokens'}, so that the limit cannot be kept"
                remedy = "Unset the limit"
        return (
            f"stopped by {limit}: {reason}. Every reply that came is kept; {left} requests are left. "
            f"{remedy} and run the same command again: it asks for these alone."
        )


@dataclass
class _Replies:
    """Replies of one run as they come: handed to lmms-eval, charged to the budget, and stored if they are answers.

    Attributes:
        requests: of this process, by key.
        leases: of the requests that it is asking.
        model: its name as it is asked for.
        waits: time-out and tries of its class, for the records.
        outputs: what lmms-eval gets, by key of the request.
        not_sent: number of requests that the budget did not allow.
    """

    requests: Mapping[str, Request]
    store: ReplyStore
    leases: Leases
    budget: Budget
    model: str | None
    waits: Mapping[str, Any] = field(default_factory=dict)
    outputs: dict[str, Any] = field(default_factory=dict)
    not_sent: int = 0
    _usages: dict[str, list[dict[str, Any]]] = field(default_factory=dict)
    _looking: threading.Lock = field(default_factory=threading.Lock)

    def __post_init__(self) -> None:
        self.ledger = Ledger(self._enter, lambda: self.budget.exhausted)

    def _enter(self, attempt: Attempt) -> Attempt:
        """Attempt with its cost, charged to the budget; what was heard of a service is written down."""
        attempt = self.budget.charged(self.model, attempt)
        if attempt.http_status or attempt.error:
            self.store.add_attempt(attempt)
        return attempt

    def missing(self) -> list[Request]:
        """Requests without an output."""
        return [request for key, request in self.requests.items() if key not in self.outputs]

    @contextmanager
    def turn(self, request: Request) -> Iterator[bool]:
        """Turn of a request (:data:`~siming_tasks.plugin.response_cache.dispatch.Turn`)."""
        ours = self.leases.take(request.key)
        try:
            if ours:
                self.take_from_others()  # one may have kept the reply just before it gave the lease back
            yield ours and request.key not in self.outputs
        finally:
            if ours:
                self.leases.give_back(request.key)

    def take_from_others(self) -> None:
        """Take the replies that other processes have kept since the last look."""
        with self._looking:
            for reply in self.store.find_new():
                if reply.key in self.requests and reply.key not in self.outputs:
                    self.take_kept(reply)

    def wait_for_others(self) -> None:
        """Wait until another process has kept a missing reply, or no longer asks for it: its lease is then taken."""
        missing = self.missing()
        while len(self.missing()) == len(missing) and not any(self.leases.take(request.key) for request in missing):
            time.sleep(POLL_SECONDS)
            self.take_from_others()

    def take_kept(self, kept: CachedReply) -> None:
        """Take a reply that another command got, as the model's class returned it then."""
        request = self.requests[kept.key]
        output: Any = kept.reply
        if kept.tokens is not None:
            counts = host.fetch("lmms_eval.api.instance:TokenCounts")(**kept.tokens)
            output = host.fetch("lmms_eval.api.instance:GenerationResult")(kept.reply, counts)
        self.outputs[request.key] = output
        if kept.media:
            RUN.record_media(request.doc, dict(kept.media))
        cost = self.budget.charge(kept.usage)
        usage = {**kept.usage, **cost, "at": kept.at, "kept": True}
        if lost := self._lost(kept.key):
            spent = usage_of(lost) | {"latency": 0}
            if not any(attempt.billed for attempt in lost):
                spent |= {"prompt_tokens": 0, "completion_tokens": 0, "cost": 0}
            usage = add_usage([usage, spent]) | {"latency": usage.get("latency")}
        self._record_usage(request, usage)

    def _lost(self, key: str) -> list[Attempt]:
        """Attempts at a request in earlier commands that got no reply to keep, at today's prices."""
        return [self.budget.priced(self.model, attempt) for attempt in self.store.unanswered([key])]

    def take_new(self, request: Request, output: Any, seconds: float | None) -> None:
        """Take a reply that just came, and store it if it is an answer; ``seconds`` as in :data:`OnReply`."""
        if request.key in self.outputs:
            return
        if output == NOT_SENT or self.ledger.was_held_back(request.key):
            self.outputs[request.key] = NOT_SENT
            self.not_sent += 1
            return
        output = self.outputs[request.key] = _as_answered(request.doc, output, self.ledger.of(request.key))
        text, tokens = host.fetch("lmms_eval.api.instance:unwrap_generation_output")(output)
        if text == NOT_SENT:
            self.not_sent += 1
            return
        now = round(time.time(), 3)
        status = RUN.parse_reply(request.doc, text).status
        counts = tokens.to_dict() if tokens is not None else None
        failed = status == REQUEST_FAILED
        counted = {"error": "no reply"} if failed else _counted(request, counts if seconds is not None else None)
        self.ledger.settle(request.key, now, seconds, **counted)
        own = self.ledger.of(request.key)
        asked = {"model": self.model, **self.waits, "at": None if failed else now}
        usage = {**usage_of(own), **asked}  # of this command: what others have spent stands in their own files
        self._record_usage(request, {**usage_of([*self._lost(request.key), *own]), **asked})
        # what is not an answer is asked again by the next command
        if not is_asked_again(status, usage):
            media = RUN.media_of(request.doc)
            self.store.add(CachedReply(request.key, str(request.doc["id"]), text, now, usage, media, counts))
            self.show_warnings()

    def _record_usage(self, request: Request, usage: dict[str, Any]) -> None:
        usages = self._usages.setdefault(str(request.doc["id"]), [])
        usages.append(usage)
        RUN.record_usage(request.doc, add_usage(usages))

    def show_warnings(self) -> None:
        """Log the warnings of the store."""
        while self.store.warnings:
            _log(self.store.warnings.pop(0), warn=True)


def _counted(request: Request, counts: Mapping[str, Any] | None) -> dict[str, Any]:
    """Facts of an attempt by the token counts of the model's class."""
    if not counts:
        return {}
    written = counts.get("output_tokens")
    most = min(request.arguments.get("max_new_tokens") or 0, RUN.backend.most_tokens or sys.maxsize)
    reason = "length" if most and (written or 0) >= most else None
    return {"prompt_tokens": counts.get("input_tokens"), "completion_tokens": written, "finish_reason": reason}


class HostCache:
    """lmms-eval's own ``ResponseCache`` (``--use_cache``) for other tasks than ours; ours go to the model at once.

    It stands before the model, so that what it holds never reaches us. It takes an error message and a cut reply
    for answers: a rerun would never ask for them again.
    """

    def __init__(self, cache: Any) -> None:
        self._cache = cache

    def __getattr__(self, name: str) -> Any:
        return getattr(self._cache, name)

    def execute(self, lm: Any, reqtype: str, requests: Sequence[Any]) -> list[Any]:
        """As ``ResponseCache.execute``: one output for each request, in their order."""
        return _split(requests, getattr(lm, reqtype), functools.partial(self._cache.execute, lm, reqtype))


def host_cache_for_other_tasks(cache: Any, model: Any) -> Any:
    """lmms-eval's own cache of replies (None: it is off), for other tasks only if this model's replies are kept."""
    if cache is None or not _keeps_replies(model):
        return cache
    try:
        fingerprint_of(model)
    except UnidentifiedModel:
        return cache
    _log("--use_cache is for other tasks: the replies of these are kept (SIMING_REPLIES=off leaves them to it).")
    return HostCache(cache)


def _log(text: str, *, warn: bool = False) -> None:
    """Write a line into lmms-eval's log."""
    logger = host.fetch("lmms_eval.tasks:eval_logger") or logging.getLogger(__name__)
    (logger.warning if warn else logger.info)(f"siming-tasks: {text}")

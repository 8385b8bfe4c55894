"""Kept replies: between lmms-eval and a model, replies of earlier commands are found and the rest is asked and kept."""

from __future__ import annotations

import functools
import json
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext, suppress
from typing import Any
from unittest.mock import patch

from siming_tasks.benchmark.record import REQUEST_FAILED, add_usage, is_asked_again
from siming_tasks.common.errors import SimingError
from siming_tasks.common.files import atomic_write, sha256_json
from siming_tasks.common.public_facts import public_arguments
from siming_tasks.common.sanitize import well_formed
from siming_tasks.data import gate
from siming_tasks.media import pixels
from siming_tasks.models.recipes.transport import transport_of_class
from siming_tasks.plugin import host
from siming_tasks.plugin.hooks.run_context import RUN
from siming_tasks.plugin.preflight import address_of, is_siming_task
from siming_tasks.plugin.response_cache.attempt import Attempt, count_of, reply_of
from siming_tasks.plugin.response_cache.dispatch import NOT_SENT, dispatch, lies_over_processes, one_reply_per_request
from siming_tasks.plugin.response_cache.key import (
    KeyedRequest,
    UnidentifiedModel,
    arguments_of,
    identity_of,
    requests_with_keys,
)
from siming_tasks.plugin.response_cache.ledger import Budget, Ledger, usage_of
from siming_tasks.plugin.response_cache.store import KeptReply, ReplyStore

Ask = Callable[[Sequence[Any]], Sequence[Any]]
"""Function that returns one output for each of lmms-eval's requests, in their order."""


@contextmanager
def replies_kept(model: Any) -> Iterator[None]:
    """While the block runs, ``generate_until`` of a model object keeps its replies to requests of our tasks."""
    others = functools.partial(type(model).generate_until, model)

    def ours(instances: Sequence[Any]) -> list[Any]:
        with gate.requests(RUN.recipient) as block:
            return _answer(model, instances, block)

    with patch.object(model, "generate_until", functools.partial(_split, ours, others)):
        yield


def _split(ask_ours: Ask, ask_others: Ask, instances: Sequence[Any]) -> list[Any]:
    """One output for each request, in their order; requests of our tasks go another way than others."""
    is_ours = [is_siming_task(instance.metadata) for instance in instances]
    outputs = {}
    for kind, ask in ((False, ask_others), (True, ask_ours)):
        chosen = [instance for instance, ours in zip(instances, is_ours, strict=True) if ours == kind]
        outputs[kind] = iter(ask(chosen) if chosen else ())
    return [next(outputs[ours]) for ours in is_ours]


def _answer(model: Any, instances: Sequence[Any], block: gate.Block) -> list[Any]:
    """Outputs for requests of our tasks, from the store as far as they are kept."""
    if not getattr(model, "keeps_replies", True):
        return one_reply_per_request(model, RUN.backend, instances)
    identity = None
    if RUN.options.replies.lower() != "off":
        try:
            identity = identity_of(model)
        except UnidentifiedModel as reason:
            name = type(model).__name__
            _log(f"replies are not kept: the answers of {name} may depend on something unknown: {reason}.", warn=True)
    try:
        run = _Run(model, instances, identity, block)
    except SimingError as error:  # after an ordinary error lmms-eval exits 0
        raise SystemExit(f"siming-tasks: {error}") from None
    return run.outputs_of(instances)


class _Run:
    """Replies of one run as they come: handed to lmms-eval, charged to the budget, and kept if they are answers.

    Attributes:
        requests: of this process, by key.
        store: of the model; None where no replies are kept.
        outputs: what lmms-eval gets, by key of the request.
        kept: keys of the requests whose replies lie in the store.
        was_stopped: a request was not sent because the run is to stop.
    """

    def __init__(
        self, model: Any, instances: Sequence[Any], identity: Mapping[str, Any] | None, block: gate.Block
    ) -> None:
        self.model, self.block, given = model, block, arguments_of(model) or {}
        names = (getattr(model, "model_version", None), *map(given.get, ("model_version", "model", "pretrained")))
        name = next((name for name in names if isinstance(name, str)), None)
        self.budget = Budget(RUN.options, name, getattr(model, "world_size", 1))
        self.waits: dict[str, Any] = {}
        if service := transport_of_class(type(model)):
            service = service.with_arguments(given)
            self.waits = {"timeout": service.timeout, "tries": service.most_tries}
        self.ledger = Ledger(self._entered, self._reason_to_stop, self.waits.get("timeout"))
        self.all = list(requests_with_keys(model, instances, identity))
        self.requests = {request.key: request for request in self.all}
        self.outputs: dict[str, Any] = {}
        self.earlier: dict[str, list[Attempt]] = {}
        self.kept: set[str] = set()
        self.was_stopped = False
        self._usages: dict[str, dict[str, dict[str, Any]]] = {}
        self.store: ReplyStore | None = None
        if identity:
            folder = RUN.options.replies_dir / f"{type(model).__name__}-{sha256_json(identity)[:16]}"
            self.store = ReplyStore(folder)
            with suppress(OSError):  # the store will say that nothing can be written there
                if not (description := folder / "model.json").exists():  # for people who look
                    with atomic_write(description) as stream:
                        about = {**identity, "arguments": public_arguments(identity["arguments"])}
                        stream.write(json.dumps(about, indent=1) + "\n")

    def outputs_of(self, instances: Sequence[Any]) -> list[Any]:
        """Find what is kept, ask for the rest, and return all in the order of lmms-eval's requests."""
        lock: Any = nullcontext()
        if self.store and not lies_over_processes(self.model):  # whose processes wait for each other in every batch
            rank, of = getattr(self.model, "rank", 0), getattr(self.model, "world_size", 1)
            name = f"shard{RUN.options.shard.replace('/', 'of')}-rank{rank}of{of}"
            text = f"another run of this model is at work in {self.store.folder}; waiting until it has ended."
            lock = self.store.only_one(name, functools.partial(_log, text, warn=True))
        with lock:
            self._take_kept()
            missing = [request for key, request in self.requests.items() if key not in self.outputs]
            try:
                if not missing or self.store is None or self.store.open():
                    dispatch(self.model, missing, self._take_new, self.ledger, next(iter(self.all), None))
            finally:
                if self.store:
                    self.store.close()
        if self.block.refused:
            raise self.block.refused
        if self.store and self.store.error:
            raise SystemExit(f"siming-tasks: {self.store.error}")
        if self.was_stopped:
            kept = " Every answer that came is kept." if self.store else ""
            raise SystemExit(
                f"siming-tasks: stopped by {self.budget.reason} and run the same command again: it asks for the "
                f"{len(self.requests.keys() - self.kept)} requests that are left.{kept}"
            )
        if reached := self.budget.reached:  # by what was in flight
            _log(f"everything was asked, and {reached}.", warn=True)
        return [self.outputs[request.key] for request in self.all]

    def _reason_to_stop(self) -> str:
        return str(self.block.refused or (self.store.error if self.store else "") or self.budget.reason)

    def _entered(self, attempt: Attempt) -> None:
        self.budget.charge([attempt])
        if self.store:
            self.store.add(attempt)

    def _take_kept(self) -> None:
        """Take the replies that earlier commands got, as the model's class returned them then."""
        if self.store is None:
            return
        kept, self.earlier = self.store.find(self.requests.keys())
        oldest = time.localtime(min((reply.at for reply in kept.values()), default=0))
        since = f" (the oldest since {time.strftime('%Y-%m-%d %H:%M', oldest)})" if kept else ""
        _log(f"keeping replies in {self.store.folder}; {len(kept)} of {len(self.requests)} are there{since}.")
        if self.store.unreadable:
            lines = f"{self.store.unreadable} lines or files there cannot be read and are left out"
            _log(f"{lines}; what they answered is asked again.", warn=True)
        address = address_of(self.model)
        if others := {reply.address for reply in kept.values()} - {address}:
            _log(f"some were given by {', '.join(sorted(others))}, and this run asks {address}.", warn=True)
        for attempts in self.earlier.values():
            self.budget.charge(attempts)
        self.kept.update(kept)
        for key, reply in kept.items():
            request, media = self.requests[key], dict(reply.media or {})
            self.outputs[key] = _output(well_formed(reply.reply), reply.tokens)
            if media:  # the same bytes: their pixels have this run's number, too
                RUN.record_media(request.doc, media | ({"pixels": pixels()} if "pixels" in media else {}))
            self._record_usage(request, {"at": reply.at, "kept": True})

    def _take_new(self, request: KeyedRequest, output: Any, seconds: float | None) -> None:
        """Take a reply that just came, and keep it if it is an answer.

        ``seconds`` are those of its call; None where it was one of a batch, in which classes count padding as tokens.
        """
        if request.key in self.outputs:
            return
        said, tokens = host.fetch("lmms_eval.api.instance:unwrap_generation_output")(output)
        heard = self.ledger.of(request.key)
        by_host = said == NOT_SENT and not heard and self.budget.reason  # a model may say these words, too
        if output is NOT_SENT or by_host or self.ledger.was_held_back(request.key):
            self.outputs[request.key], self.was_stopped = NOT_SENT, True
            return

        def is_failure(text: str) -> bool:
            return bool(RUN.parse_reply(request.doc, text).status == REQUEST_FAILED)

        text, counts = reply_of(said, heard, is_failure), None
        if tokens is not None:
            counts = {name: count_of(stated) for name, stated in tokens.to_dict().items()}
        self.outputs[request.key] = _output(well_formed(text), counts)
        now, status = round(time.time(), 3), RUN.parse_reply(request.doc, text).status
        if status == REQUEST_FAILED:
            self.ledger.settle(request.key, now, seconds, error="no reply")
        else:
            self.ledger.settle(request.key, now, seconds, **_counted(request, counts if seconds is not None else None))
        at = None if status == REQUEST_FAILED else now
        usage = self._record_usage(request, {"at": at} if self.store else {"at": at, "stored": False})
        if self.store and not is_asked_again(status, usage):
            media, name = dict(RUN.media_of(request.doc)), str(request.doc["id"])
            self.store.add(KeptReply(request.key, name, text, now, address_of(self.model), media, counts))
            self.kept.add(request.key)

    def _record_usage(self, request: KeyedRequest, facts: Mapping[str, Any]) -> dict[str, Any]:
        """Record what a request has cost, with earlier commands; repeats of one document are added up."""
        attempts = [*self.earlier.get(request.key, ()), *self.ledger.of(request.key)]
        usages = self._usages.setdefault(str(request.doc["id"]), {})
        usage = usages[request.key] = {**usage_of(attempts, self.budget), **self.waits, **facts}
        RUN.record_usage(request.doc, add_usage(list(usages.values())))
        return usage


def _output(text: str, counts: Mapping[str, Any] | None) -> Any:
    """Reply in the form of lmms-eval, with the token counts of the class where it gave some."""
    if counts is None:
        return text
    tokens = host.fetch("lmms_eval.api.instance:TokenCounts")(**counts)
    return host.fetch("lmms_eval.api.instance:GenerationResult")(text, tokens)


def _counted(request: KeyedRequest, counts: Mapping[str, Any] | None) -> dict[str, Any]:
    """Facts of an attempt by the token counts of the model's class."""
    if not counts:
        return {}
    written = counts.get("output_tokens")
    most = min(request.arguments.get("max_new_tokens") or 0, RUN.backend.most_tokens or sys.maxsize)
    reason = "length" if most and (written or 0) >= most else None
    return {"prompt_tokens": counts.get("input_tokens"), "completion_tokens": written, "finish_reason": reason}


def _log(text: str, *, warn: bool = False) -> None:
    """Write a line into lmms-eval's log."""
    logger = host.fetch("lmms_eval.tasks:eval_logger")
    (logger.warning if warn else logger.info)(f"siming-tasks: {text}")

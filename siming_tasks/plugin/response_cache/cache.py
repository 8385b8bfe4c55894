"""Kept replies: between lmms-eval and a model, replies of earlier commands are found and the rest is asked and kept."""

from __future__ import annotations

import functools
import json
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext, suppress
from threading import Event, Thread
from typing import Any, NamedTuple

from siming_tasks.benchmark.parsing import Parsed
from siming_tasks.benchmark.record import REQUEST_FAILED, add_usage, is_asked_again
from siming_tasks.benchmark.types import UNKNOWN_MODE
from siming_tasks.common.errors import SimingError
from siming_tasks.common.files import atomic_write, sha256_json
from siming_tasks.common.printed_value import counted
from siming_tasks.common.public_facts import public_arguments
from siming_tasks.common.sanitize import well_formed
from siming_tasks.data import gate
from siming_tasks.media.sampler import UNIFORM
from siming_tasks.models.recipes.transport import transport_of_class
from siming_tasks.plugin import host
from siming_tasks.plugin.hooks.messages import media_facts, shown_view
from siming_tasks.plugin.preflight import address_of, is_siming_task
from siming_tasks.plugin.reply import NOT_KNOWN, Reply
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
from siming_tasks.plugin.response_cache.store import KeptReply, ReplyStore, once
from siming_tasks.plugin.run_context import RunContext, current_run

Ask = Callable[[Sequence[Any]], Sequence[Any]]
"""Function that returns one output for each of lmms-eval's requests, in their order."""

AHEAD = 3
"""Videos that are decoded before they are asked about, at most: a cache of frames has a limit."""


@contextmanager
def replies_kept(model: Any) -> Iterator[None]:
    """While the block runs, ``generate_until`` of a model object keeps its replies to requests of our tasks."""
    others = functools.partial(type(model).generate_until, model)

    def ours(instances: Sequence[Any]) -> list[Any]:
        run = current_run()
        with gate.requests(run.recipient) as block:
            return _answer(run, model, instances, block)

    with host.swapped("model:generate_until", model, functools.partial(_split, ours, others)):
        yield


def _split(ask_ours: Ask, ask_others: Ask, instances: Sequence[Any]) -> list[Any]:
    """One output for each request, in their order; requests of our tasks go another way than others."""
    is_ours = [is_siming_task(instance.metadata) for instance in instances]
    outputs = {}
    for kind, ask in ((False, ask_others), (True, ask_ours)):
        chosen = [instance for instance, ours in zip(instances, is_ours, strict=True) if ours == kind]
        outputs[kind] = iter(ask(chosen) if chosen else ())
    return [next(outputs[ours]) for ours in is_ours]


def _answer(run: RunContext, model: Any, instances: Sequence[Any], block: gate.Block) -> list[Any]:
    """Outputs for requests of our tasks, from the store as far as they are kept."""
    if not getattr(model, "keeps_replies", True):
        requests = list(requests_with_keys(run, model, instances, None))
        texts = one_reply_per_request(model, run.backend, requests)
        return [
            Reply.of(text, request.media(), None, run.parse(request.doc, text))
            for request, text in zip(requests, texts, strict=True)
        ]
    identity = None
    if run.options.replies.lower() != "off":
        try:
            if not run.named:
                raise UnidentifiedModel("it was given as an object, which may have been changed")
            identity = identity_of(model)
        except UnidentifiedModel as reason:
            name = type(model).__name__
            _log(
                f"replies are not kept, because the answers of {name} may depend on something unknown: {reason}.",
                warn=True,
            )
    return _Asking(run, model, instances, identity, block).outputs()


class _Answer(NamedTuple):
    """Answer to a request: its text, read, the token counts of the class (None if it gave none), what was shown."""

    text: str
    parsed: Parsed
    counts: Mapping[str, Any] | None
    media: Mapping[str, Any]


class _Asking:
    """Replies of one run as they come: handed to lmms-eval, charged to the budget, and kept if they are answers.

    Attributes:
        requests: of this process, by key.
        store: of the model; None where no replies are kept.
        answers: by key of the request; None for one that was not sent.
        kept: keys of the requests whose replies lie in the store.
        was_stopped: a request was not sent because the run is to stop.
    """

    def __init__(
        self,
        run: RunContext,
        model: Any,
        instances: Sequence[Any],
        identity: Mapping[str, Any] | None,
        block: gate.Block,
    ) -> None:
        self.run, self.model, self.block, given = run, model, block, arguments_of(model) or {}
        names = (getattr(model, "model_version", None), *map(given.get, ("model_version", "model", "pretrained")))
        name = next((name for name in names if isinstance(name, str)), None)
        self.budget = Budget(run.options, name, getattr(model, "world_size", 1))
        self.waits: dict[str, Any] = {}
        if service := transport_of_class(type(model)):
            service = service.with_arguments(given)
            self.waits = {"timeout": service.timeout, "tries": service.most_tries}
        self.ledger = Ledger(self._entered, self._reason_to_stop, self.waits.get("timeout"))
        self.all = list(requests_with_keys(run, model, instances, identity))
        self.requests = {request.key: request for request in self.all}
        self.answers: dict[str, _Answer | None] = {}
        self.earlier: dict[str, list[Attempt]] = {}
        self.kept: set[str] = set()
        self.was_stopped = False
        self._unshown = self.all[0].asked.errors if self.all else []
        self._facts: dict[str, dict[str, Any]] = {}
        self._keys: dict[str, list[str]] = {}  # of the repeats of a document
        for key, request in self.requests.items():
            self._keys.setdefault(str(request.doc["id"]), []).append(key)
        self.store: ReplyStore | None = None
        if identity:
            folder = run.options.replies_dir / f"{type(model).__name__}-{sha256_json(identity)[:16]}"
            self.store = ReplyStore(folder)
            with suppress(OSError):  # the store will say that nothing can be written there
                if not (description := folder / "model.json").exists():  # for people who look
                    with atomic_write(description) as stream:
                        about = {**identity, "arguments": public_arguments(identity["arguments"])}
                        stream.write(json.dumps(about, indent=1) + "\n")

    def outputs(self) -> list[Any]:
        """Find what is kept, ask for the rest, and return all in the order of lmms-eval's requests."""
        lock: Any = nullcontext()
        if self.store and not lies_over_processes(self.model):  # whose processes wait for each other in every batch
            rank, of = getattr(self.model, "rank", 0), getattr(self.model, "world_size", 1)
            name = f"shard{self.run.options.shard.replace('/', 'of')}-rank{rank}of{of}"
            text = f"another run of this model is using {self.store.folder}; waiting until it ends."
            lock = self.store.only_one(name, functools.partial(_log, text, warn=True))
        with lock:
            self._take_kept()
            missing = [request for key, request in self.requests.items() if key not in self.answers]
            if self.run.options.dry_run == "yes":
                kept = counted(len(self.kept), "reply")
                _log(f"dry run: {kept} kept; this command would ask for {len(missing)}.", warn=True)
                raise SystemExit(0)
            try:
                if not missing or self.store is None or self.store.open():
                    with decoded_ahead(self.run, missing):
                        spare = next(iter(self.all), None)
                        dispatch(self.model, self.run.backend, missing, self._take_new, self.ledger, spare)
            finally:
                if self.store:
                    self.store.close()
        if refused := self.block.refused or next(iter(self._unshown), None):
            raise refused
        if self.store and self.store.error:
            raise SimingError(self.store.error)
        if self.was_stopped:
            kept = " All replies so far are kept." if self.store else ""
            raise SimingError(
                f"stopped by {self.budget.reason} and run the same command again: it sends the "
                f"{len(self.requests.keys() - self.kept)} remaining requests.{kept}"
            )
        if reached := self.budget.reached:  # by what was in flight
            _log(f"all requests were sent, but {reached}.", warn=True)
        if self.store and missing:  # others may have asked the same meanwhile
            self.earlier = self.store.find(self.requests.keys())[1]
        return [self._output(request) for request in self.all]

    def _output(self, request: KeyedRequest) -> Any:
        """Reply to a request as lmms-eval gets it, with all that is known of it."""
        answer = self.answers[request.key]
        assert answer is not None  # a run in which something was not sent has ended
        usage = add_usage([self._usage_of(key) for key in self._keys[str(request.doc["id"])]])
        reply = Reply.of(answer.text, answer.media, usage, answer.parsed)
        if answer.counts is None:
            return reply
        tokens = host.fetch("lmms_eval.api.instance:TokenCounts")(**answer.counts)
        return host.fetch("lmms_eval.api.instance:GenerationResult")(reply, tokens)

    def _reason_to_stop(self) -> str:
        return str(
            self.block.refused
            or next(iter(self._unshown), "")
            or (self.store.error if self.store else "")
            or self.budget.reason
        )

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
            lines = f"unreadable lines or files there: {self.store.unreadable}"
            _log(f"{lines}; they are ignored, and their requests are sent again.", warn=True)
        address = address_of(self.model)
        if others := {reply.address for reply in kept.values()} - {address}:
            _log(f"some came from {', '.join(sorted(others))}, but this run uses {address}.", warn=True)
        for attempts in self.earlier.values():
            self.budget.charge(attempts)
        self.kept.update(kept)
        for key, reply in kept.items():
            request, text = self.requests[key], well_formed(reply.reply)
            parsed = self.run.parse(request.doc, text)
            self.answers[key] = _Answer(text, parsed, reply.tokens, self._media_of(request, reply))
            self._facts[key] = {"at": reply.at, "kept": True}

    def _media_of(self, request: KeyedRequest, reply: KeptReply) -> Mapping[str, Any]:
        """This run's statement of what was shown, with what the run alone knows that got the reply."""
        if reply.media.get("mode", UNKNOWN_MODE) == UNKNOWN_MODE:
            return NOT_KNOWN
        if self.run.policy.sampler != UNIFORM:  # its frames, which are the same, are known to who decodes the video
            return {**reply.media, "size": self.run.policy.frame_size}
        shown = shown_view(self.run, request.doc, request.table, made=False)
        then = ((name, reply.media[name]) for name in ("encoding", "bytes", "decoder") if name in reply.media)
        return {**media_facts(self.run, request.doc, shown), **dict(then)}

    def _take_new(self, request: KeyedRequest, output: Any, seconds: float | None) -> None:
        """Take a reply that just came, and keep it if it is an answer.

        ``seconds`` are those of its call; None where it was one of a batch, in which classes count padding as tokens.
        """
        if request.key in self.answers:
            return
        said, tokens = host.fetch("lmms_eval.api.instance:unwrap_generation_output")(output)
        heard = self.ledger.of(request.key)
        by_host = said == NOT_SENT and not heard and self.budget.reason  # a model may say these words, too
        held_back = self.ledger.was_held_back(request.key) or (request.asked.unshown and not heard)
        if output is NOT_SENT or by_host or held_back:
            self.answers[request.key], self.was_stopped = None, True
            return

        read = functools.cache(functools.partial(self.run.parse, request.doc))  # several texts, most of them equal
        text, counts = well_formed(reply_of(said, heard, read)), None
        if tokens is not None:
            counts = {name: count_of(stated) for name, stated in tokens.to_dict().items()}
        media, parsed, now = request.media(), read(text), round(time.time(), 3)
        self.answers[request.key] = _Answer(text, parsed, counts, media)
        failed = parsed.status == REQUEST_FAILED
        known = {"error": "no reply"} if failed else self._counted(request, counts if seconds is not None else None)
        self.ledger.settle(request.key, now, seconds, **known)
        at = None if failed else now
        self._facts[request.key] = {"at": at} if self.store else {"at": at, "stored": False}
        if self.store and not is_asked_again(parsed.status, self._usage_of(request.key)):
            name, address = str(request.doc["id"]), address_of(self.model)
            self.store.add(KeptReply(request.key, name, text, now, address, media, counts))
            self.kept.add(request.key)

    def _usage_of(self, key: str) -> dict[str, Any]:
        """Cost and facts of a request, with earlier commands and others that asked at the same time."""
        attempts = once([*self.earlier.get(key, ()), *self.ledger.of(key)])
        return {**usage_of(attempts, self.budget), **self.waits, **self._facts[key]}

    def _counted(self, request: KeyedRequest, counts: Mapping[str, Any] | None) -> dict[str, Any]:
        """Facts of an attempt by the token counts of the model's class."""
        if not counts:
            return {}
        written = counts.get("output_tokens")
        most = min(request.arguments.get("max_new_tokens") or 0, self.run.backend.most_tokens or sys.maxsize)
        reason = "length" if most and (written or 0) >= most else None
        return {"prompt_tokens": counts.get("input_tokens"), "completion_tokens": written, "finish_reason": reason}


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


def _log(text: str, *, warn: bool = False) -> None:
    """Write a line into lmms-eval's log."""
    logger = host.fetch("lmms_eval.tasks:eval_logger")
    (logger.warning if warn else logger.info)(f"siming-tasks: {text}")

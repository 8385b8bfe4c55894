"""Cache of replies between lmms-eval and its models: kept replies are found, the rest is asked, every reply is kept."""

from __future__ import annotations

import functools
import json
import logging
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from siming_tasks.common.errors import SimingError
from siming_tasks.common.files import atomic_write, sha256_json
from siming_tasks.plugin import compat
from siming_tasks.plugin.hooks.run_context import RUN
from siming_tasks.plugin.one_reply_per_request import one_reply_per_request
from siming_tasks.plugin.preflight import is_siming_task
from siming_tasks.plugin.response_cache.api_usage import Usages, usage_of_reply
from siming_tasks.plugin.response_cache.budget import Budget
from siming_tasks.plugin.response_cache.dispatch import NOT_SENT, dispatch
from siming_tasks.plugin.response_cache.key import Request, UnidentifiedModel, fingerprint_of, requests_with_keys
from siming_tasks.plugin.response_cache.store import CachedReply, ReplyStore
from siming_tasks.results.usage import add_usage, is_cut_off

__all__ = ["HostCache", "host_cache_for_other_tasks", "replies_kept"]

OFF = "off"


@contextmanager
def replies_kept(model: Any) -> Iterator[None]:
    """While the block runs, ``generate_until`` of a model object keeps its replies to requests of our tasks."""
    before = vars(model).get("generate_until")
    model.generate_until = functools.partial(_generate_until, model)
    try:
        yield
    finally:
        del model.generate_until
        if before is not None:
            model.generate_until = before


def _generate_until(model: Any, instances: Sequence[Any]) -> list[Any]:
    """As ``generate_until`` of the class: as many outputs as requests, in their order."""
    ours = [instance for instance in instances if is_siming_task(instance.task_name)]
    others = [instance for instance in instances if not is_siming_task(instance.task_name)]
    other_outputs = iter(type(model).generate_until(model, others) if others else ())
    our_outputs = iter(_answer(model, ours) if ours else ())
    return [next(our_outputs if is_siming_task(instance.task_name) else other_outputs) for instance in instances]


def _answer(model: Any, instances: Sequence[Any]) -> list[Any]:
    """Outputs for requests of our tasks, from the store as far as they are kept."""
    if _keeps_replies(model):
        try:
            fingerprint = fingerprint_of(model)
        except UnidentifiedModel as reason:
            name = type(model).__name__
            _log(f"replies are not kept: the answers of {name} may depend on something unknown: {reason}.", warn=True)
        else:
            requests = list(requests_with_keys(model, instances, sha256_json(fingerprint)))
            return _answer_from_store(model, requests, fingerprint)
    if RUN.options.limit_cost:
        raise SystemExit("siming-tasks: SIMING_LIMIT_COST cannot be kept where replies are not kept.")
    generate_until = functools.partial(type(model).generate_until, model)
    return one_reply_per_request(model, RUN.backend, generate_until)(instances)


def _keeps_replies(model: Any) -> bool:
    return RUN.options.replies.lower() != OFF and getattr(model, "keeps_replies", True)


def _answer_from_store(model: Any, requests: Sequence[Request], fingerprint: dict[str, Any]) -> list[Any]:
    conditions = sha256_json(fingerprint)
    store = ReplyStore(RUN.options.replies_dir / f"{type(model).__name__}-{conditions[:16]}", conditions)
    by_key = {request.key: request for request in requests}
    kept = store.find(by_key.keys())
    _describe_model(store.folder, fingerprint)
    since = ""
    if kept:
        oldest = time.localtime(min(reply.at for reply in kept.values()))
        since = f" (the oldest since {time.strftime('%Y-%m-%d %H:%M', oldest)})"
    _log(f"keeping replies in {store.folder}; {len(kept)} of {len(by_key)} are there{since}.")
    name = _asked_name(model, fingerprint)
    try:
        budget = Budget.of_run(RUN.options, name, getattr(model, "world_size", 1))
    except SimingError as error:  # after an ordinary error lmms-eval exits 0
        raise SystemExit(f"siming-tasks: {error}") from None
    replies = _Replies(store, budget, name)
    for key, reply in kept.items():
        replies.take_kept(by_key[key], reply)
    replies.show_warnings()
    missing = [request for key, request in by_key.items() if key not in kept]

    def on_reply(number: int, output: Any, usages: Usages | None) -> None:
        replies.take_new(missing[number], output, usages)

    try:
        dispatch(model, missing, on_reply, lambda: budget.exhausted, next(iter(requests), None))
    finally:
        store.close()
        replies.show_warnings()
    if replies.not_sent:
        raise SystemExit(f"siming-tasks: {budget.message(replies.not_sent)}")
    return [replies.outputs[request.key] for request in requests]


def _asked_name(model: Any, fingerprint: Mapping[str, Any]) -> str | None:
    """Name of a model where it is asked for."""
    arguments = fingerprint["arguments"]
    names = (getattr(model, "model_version", None), *map(arguments.get, ("model_version", "model", "pretrained")))
    return next((name for name in names if isinstance(name, str)), None)


def _describe_model(folder: Path, fingerprint: Mapping[str, Any]) -> None:
    """Write a file that says what the replies of a folder depend on, for people who look."""
    path = folder / "model.json"
    try:
        if not path.exists():
            with atomic_write(path) as stream:
                stream.write(json.dumps(fingerprint, indent=1) + "\n")
    except OSError:
        pass  # the store will say that nothing can be written there


@dataclass
class _Replies:
    """Replies of one run as they come: handed to lmms-eval, charged to the budget, and stored if they are answers.

    Attributes:
        store: where they are kept.
        budget: of the run.
        model: name of the model as it is asked for.
        outputs: what lmms-eval gets, by key of the request.
        not_sent: number of requests that the budget did not allow.
    """

    store: ReplyStore
    budget: Budget
    model: str | None
    outputs: dict[str, Any] = field(default_factory=dict)
    not_sent: int = 0
    _usages: dict[str, list[dict[str, Any]]] = field(default_factory=dict)

    def take_kept(self, request: Request, kept: CachedReply) -> None:
        """Take a reply that an earlier command got, as the model's class returned it then."""
        output: Any = kept.reply
        if kept.tokens is not None:
            counts = compat.fetch("lmms_eval.api.instance:TokenCounts")(**kept.tokens)
            output = compat.fetch("lmms_eval.api.instance:GenerationResult")(kept.reply, counts)
        self.outputs[request.key] = output
        if kept.media:
            RUN.record_media(request.doc, dict(kept.media))
        self._record_usage(request, {**kept.usage, "at": kept.at, "kept": True}, paid=True)

    def take_new(self, request: Request, output: Any, usages: Usages | None) -> None:
        """Take a reply that just came, and store it if it is an answer."""
        if request.key in self.outputs:
            return
        self.outputs[request.key] = output
        text, tokens = compat.fetch("lmms_eval.api.instance:unwrap_generation_output")(output)
        if text == NOT_SENT:
            self.not_sent += 1
            return
        if not isinstance(text, str):
            return
        now = round(time.time(), 3)
        status = RUN.parse_reply(request.doc, text).status
        failed = status == "request_failed"
        counts = tokens.to_dict() if tokens is not None else None
        most = min(request.arguments.get("max_new_tokens") or 0, RUN.backend.most_tokens or sys.maxsize)
        usage = {"model": self.model, **usage_of_reply(usages, {} if failed else counts, most)}
        # a failed request is charged only where the service answered: several times, perhaps, before it failed
        self._record_usage(request, {**usage, "at": None if failed else now}, paid=not failed or bool(usages))
        # what is not an answer is asked again by the next command
        if status not in ("request_failed", "empty", "truncated") and not is_cut_off(status, usage):
            media = RUN.media_of(request.doc)
            self.store.add(CachedReply(request.key, request.id, text, now, usage, media, counts))
            self.show_warnings()

    def _record_usage(self, request: Request, usage: dict[str, Any], *, paid: bool) -> None:
        if paid:
            self.budget.charge(usage)
        usages = self._usages.setdefault(request.id, [])
        usages.append(usage)
        RUN.record_usage(request.doc, add_usage(usages))

    def show_warnings(self) -> None:
        """Log the warnings of the store."""
        while self.store.warnings:
            _log(self.store.warnings.pop(0), warn=True)


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
        ours = [request for request in requests if is_siming_task(request.task_name)]
        others = [request for request in requests if not is_siming_task(request.task_name)]
        other_outputs = iter(self._cache.execute(lm, reqtype, others) if others else ())
        our_outputs = iter(getattr(lm, reqtype)(ours) if ours else ())
        return [next(our_outputs if is_siming_task(request.task_name) else other_outputs) for request in requests]


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
    logger = compat.fetch("lmms_eval.tasks:eval_logger") or logging.getLogger(__name__)
    (logger.warning if warn else logger.info)(f"siming-tasks: {text}")

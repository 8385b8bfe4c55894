"""Between lmms-eval and its models: what was answered before is looked up, the rest is asked, every reply kept."""

from __future__ import annotations

import functools
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from siming_tasks.errors import SimingError
from siming_tasks.files import atomic_write, sha256_json
from siming_tasks.hooks.session import SESSION
from siming_tasks.host.keep.ask import UNASKED, Notes, ask
from siming_tasks.host.keep.key import Request, requests_of
from siming_tasks.host.keep.model import Unknown, conditions
from siming_tasks.host.keep.purse import Purse
from siming_tasks.host.keep.store import Kept, Store
from siming_tasks.host.keep.theirs import Beside
from siming_tasks.host.replies import careful
from siming_tasks.host.told import is_ours
from siming_tasks.runs.usage import added, cut_off

__all__ = ["beside", "keeping"]

OFF = "off"


@contextmanager
def keeping(model: Any) -> Iterator[None]:
    """While the block runs, the ``generate_until`` of a model object keeps its replies to requests of ours."""
    before = vars(model).get("generate_until")
    model.generate_until = functools.partial(_generate_until, model)
    try:
        yield
    finally:
        del model.generate_until
        if before is not None:
            model.generate_until = before


def beside(cache: Any, model: Any) -> Any:
    """The host's own cache of replies (None: without one), for other tasks only if this model's replies are kept."""
    if cache is None or not _keeps(model):
        return cache
    try:
        conditions(model)
    except Unknown:
        return cache
    _say("--use_cache is for other tasks: the replies of these are kept (SIMING_REPLIES=off leaves them to it).")
    return Beside(cache)


def _generate_until(model: Any, instances: Sequence[Any]) -> list[Any]:
    """The host's ``generate_until`` for all its requests: as many outputs, in their order."""
    plainly = functools.partial(type(model).generate_until, model)
    ours = [number for number, instance in enumerate(instances) if is_ours(instance.task_name)]
    others = sorted(set(range(len(instances))) - set(ours))
    outputs: list[Any] = [None] * len(instances)
    if others:
        for number, output in zip(others, plainly([instances[one] for one in others]), strict=True):
            outputs[number] = output
    if ours:
        for number, output in zip(ours, _ours(model, [instances[number] for number in ours]), strict=True):
            outputs[number] = output
    return outputs


def _ours(model: Any, instances: Sequence[Any]) -> list[Any]:
    if _keeps(model):
        try:
            made = conditions(model)
        except Unknown as unknown:
            name = type(model).__name__
            _say(f"replies are not kept: what {name} answers may depend on what cannot be told: {unknown}.", loud=True)
        else:
            return _answered(model, list(requests_of(model, instances, sha256_json(made))), made)
    if SESSION.options.limit_cost:
        raise SystemExit("siming-tasks: SIMING_LIMIT_COST cannot be kept where replies are not kept.")
    return careful(model, SESSION.backend, functools.partial(type(model).generate_until, model))(instances)


def _keeps(model: Any) -> bool:
    return SESSION.options.replies.lower() != OFF and getattr(model, "keeps_replies", True)


def _answered(model: Any, requests: Sequence[Request], made: dict[str, Any]) -> list[Any]:
    """What the host gets for each request, kept or asked now."""
    name = sha256_json(made)
    folder = SESSION.options.replies_dir / f"{type(model).__name__}-{name[:16]}"
    store = Store(folder, name)
    every = {request.key: request for request in requests}
    known = store.find(every.keys())
    _explain(folder, made)
    _say(f"keeping replies in {folder}; {len(known)} of {len(every)} are there{_aged(known)}.")
    run = _Run(store, _purse(model, made), _called(model, made))
    for key, kept in known.items():
        run.known(every[key], kept)
    run.warn()
    asked = [request for key, request in every.items() if key not in known]

    def arrived(number: int, output: Any, notes: Notes | None) -> None:
        run.arrived(asked[number], output, notes)

    try:
        ask(model, asked, arrived, lambda: run.purse.empty, next(iter(requests), None))
    finally:
        store.close()
        run.warn()
    if run.left:
        raise SystemExit(f"siming-tasks: {run.purse.sentence(run.left)}")
    return [run.outputs[request.key] for request in requests]


def _called(model: Any, made: dict[str, Any]) -> str | None:
    """What a model is called where it is asked for."""
    arguments = made["arguments"]
    names = (getattr(model, "model_version", None), *map(arguments.get, ("model_version", "model", "pretrained")))
    return next((name for name in names if isinstance(name, str)), None)


def _purse(model: Any, made: dict[str, Any]) -> Purse:
    try:
        return Purse.of(SESSION.options, _called(model, made), getattr(model, "world_size", 1))
    except SimingError as error:  # after an ordinary error lmms-eval exits 0
        raise SystemExit(f"siming-tasks: {error}") from None


@dataclass
class _Run:
    """Replies as they come."""

    store: Store
    purse: Purse
    name: str | None
    outputs: dict[str, Any] = field(default_factory=dict)
    left: int = 0
    _usages: dict[str, list[dict[str, Any]]] = field(default_factory=dict)

    def known(self, request: Request, kept: Kept) -> None:
        """Hand a reply that an earlier command got to the host, as its class returned it then."""
        from lmms_eval.api.instance import GenerationResult, TokenCounts

        reply, tokens = kept.reply, kept.tokens
        self.outputs[request.key] = reply if tokens is None else GenerationResult(reply, TokenCounts(**tokens))
        if kept.media:
            SESSION.show(request.doc, dict(kept.media))
        self._use(request, {**kept.usage, "at": kept.at, "kept": True}, paid=True)

    def arrived(self, request: Request, output: Any, notes: Notes | None) -> None:
        """Hand a reply to the host, and keep it if it is an answer."""
        if request.key in self.outputs:
            return
        from lmms_eval.api.instance import unwrap_generation_output

        self.outputs[request.key] = output
        text, tokens = unwrap_generation_output(output)
        if text == UNASKED:
            self.left += 1
            return
        if not isinstance(text, str):
            return
        now = time.time()
        status = SESSION.parsed(request.doc, text).status
        counts = tokens.to_dict() if tokens is not None else None
        failed = status == "request_failed"
        usage = {"model": self.name, **_usage(request, notes, {} if failed else counts)}
        self._use(request, {**usage, "at": None if failed else round(now, 3)}, paid=not failed or bool(notes))
        if status not in ("request_failed", "empty", "truncated") and not cut_off(status, usage):
            media = SESSION.shown(request.doc)
            self.store.keep(Kept(request.key, request.id, text, round(now, 3), usage, media, counts))
            self.warn()

    def _use(self, request: Request, usage: dict[str, Any], *, paid: bool) -> None:
        if paid:
            self.purse.pay(usage)
        all_of = self._usages.setdefault(request.id, [])
        all_of.append(usage)
        SESSION.use(request.doc, added(all_of))

    def warn(self) -> None:
        """Say what the store has to say."""
        while self.store.warnings:
            _say(self.store.warnings.pop(0), loud=True)


def _usage(request: Request, notes: Notes | None, counts: Mapping[str, Any] | None) -> dict[str, Any]:
    """What is known of what a reply took.

    Where a service was listened to, what it said (several answers where the host asked again after one that it could
    not use); else what the host's class counted for a request that it was asked alone.
    """
    found: dict[str, Any] = dict.fromkeys(("prompt_tokens", "completion_tokens", "finish_reason", "served", "latency"))
    if notes is None:
        return found
    total = added(notes)
    found.update(notes[-1] if notes else {})
    found.update({name: total[name] for name in ("prompt_tokens", "completion_tokens") if name in total})
    if not any("finish_reason" in note for note in notes) and counts:
        found["prompt_tokens"], found["completion_tokens"] = counts.get("input_tokens"), counts.get("output_tokens")
        most = min(request.arguments.get("max_new_tokens") or 0, SESSION.backend.most_tokens or sys.maxsize)
        if most and (found["completion_tokens"] or 0) >= most:
            found["finish_reason"] = "length"
    return found


def _aged(known: dict[str, Kept]) -> str:
    """When the oldest of them came."""
    if not known:
        return ""
    return f" (the oldest since {time.strftime('%Y-%m-%d %H:%M', time.localtime(min(k.at for k in known.values())))})"


def _explain(folder: Path, made: dict[str, Any]) -> None:
    """What the replies of a folder depend on, for people who look."""
    import json

    path = folder / "model.json"
    try:
        if not path.exists():
            with atomic_write(path) as stream:
                stream.write(json.dumps(made, indent=1) + "\n")
    except OSError:
        pass  # the store will say that nothing can be written there


def _say(text: str, *, loud: bool = False) -> None:
    from lmms_eval.tasks import eval_logger

    (eval_logger.warning if loud else eval_logger.info)(f"siming-tasks: {text}")

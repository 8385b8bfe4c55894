"""Between lmms-eval and its models: what was answered before is looked up, the rest is asked, every reply kept."""

from __future__ import annotations

import functools
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from siming_tasks.common.errors import SimingError
from siming_tasks.common.files import sha256_json
from siming_tasks.plugin.hooks.run_context import RUN
from siming_tasks.plugin.one_reply_per_request import careful
from siming_tasks.plugin.preflight import is_ours
from siming_tasks.plugin.response_cache.budget import Purse
from siming_tasks.plugin.response_cache.bypass_host_cache import Beside
from siming_tasks.plugin.response_cache.dispatch import Notes, ask
from siming_tasks.plugin.response_cache.fingerprint import Unknown, conditions
from siming_tasks.plugin.response_cache.key import Request, requests_of
from siming_tasks.plugin.response_cache.log import aged, explain, say
from siming_tasks.plugin.response_cache.recorder import Arriving
from siming_tasks.plugin.response_cache.store import Store

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
    say("--use_cache is for other tasks: the replies of these are kept (SIMING_REPLIES=off leaves them to it).")
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
            say(f"replies are not kept: what {name} answers may depend on what cannot be told: {unknown}.", loud=True)
        else:
            return _answered(model, list(requests_of(model, instances, sha256_json(made))), made)
    if RUN.options.limit_cost:
        raise SystemExit("siming-tasks: SIMING_LIMIT_COST cannot be kept where replies are not kept.")
    return careful(model, RUN.backend, functools.partial(type(model).generate_until, model))(instances)


def _keeps(model: Any) -> bool:
    return RUN.options.replies.lower() != OFF and getattr(model, "keeps_replies", True)


def _answered(model: Any, requests: Sequence[Request], made: dict[str, Any]) -> list[Any]:
    """What the host gets for each request, kept or asked now."""
    name = sha256_json(made)
    folder = RUN.options.replies_dir / f"{type(model).__name__}-{name[:16]}"
    store = Store(folder, name)
    every = {request.key: request for request in requests}
    known = store.find(every.keys())
    explain(folder, made)
    say(f"keeping replies in {folder}; {len(known)} of {len(every)} are there{aged(known)}.")
    run = Arriving(store, _purse(model, made), _called(model, made))
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
        return Purse.of(RUN.options, _called(model, made), getattr(model, "world_size", 1))
    except SimingError as error:  # after an ordinary error lmms-eval exits 0
        raise SystemExit(f"siming-tasks: {error}") from None

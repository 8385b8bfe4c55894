"""The replies of one run as they come: handed to the host, counted, and kept if they are answers."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import Any

from siming_tasks.plugin.hooks.run_context import RUN
from siming_tasks.plugin.response_cache.budget import Purse
from siming_tasks.plugin.response_cache.dispatch import UNASKED, Notes
from siming_tasks.plugin.response_cache.key import Request
from siming_tasks.plugin.response_cache.log import say
from siming_tasks.plugin.response_cache.store import Kept, Store
from siming_tasks.plugin.response_cache.usage import usage_told
from siming_tasks.results.usage import added, cut_off

__all__ = ["Arriving"]


@dataclass
class Arriving:
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
            RUN.record_media(request.doc, dict(kept.media))
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
        status = RUN.parse_reply(request.doc, text).status
        counts = tokens.to_dict() if tokens is not None else None
        failed = status == "request_failed"
        usage = {"model": self.name, **usage_told(request, notes, {} if failed else counts)}
        self._use(request, {**usage, "at": None if failed else round(now, 3)}, paid=not failed or bool(notes))
        if status not in ("request_failed", "empty", "truncated") and not cut_off(status, usage):
            media = RUN.media_of(request.doc)
            self.store.keep(Kept(request.key, request.id, text, round(now, 3), usage, media, counts))
            self.warn()

    def _use(self, request: Request, usage: dict[str, Any], *, paid: bool) -> None:
        if paid:
            self.purse.pay(usage)
        all_of = self._usages.setdefault(request.id, [])
        all_of.append(usage)
        RUN.record_usage(request.doc, added(all_of))

    def warn(self) -> None:
        """Say what the store has to say."""
        while self.store.warnings:
            say(self.store.warnings.pop(0), loud=True)

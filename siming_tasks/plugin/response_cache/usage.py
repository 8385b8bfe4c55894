"""What a reply took, out of what its service said and what the host's class counted."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Any

from siming_tasks.plugin.hooks.run_context import RUN
from siming_tasks.plugin.response_cache.dispatch import Notes
from siming_tasks.plugin.response_cache.key import Request
from siming_tasks.results.usage import added

__all__ = ["usage_told"]


def usage_told(request: Request, notes: Notes | None, counts: Mapping[str, Any] | None) -> dict[str, Any]:
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
        most = min(request.arguments.get("max_new_tokens") or 0, RUN.backend.most_tokens or sys.maxsize)
        if most and (found["completion_tokens"] or 0) >= most:
            found["finish_reason"] = "length"
    return found

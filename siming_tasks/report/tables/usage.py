"""What a run took, in a line."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

__all__ = ["usage_line"]


def usage_line(usage: Mapping[str, Any], videos: int) -> str:
    """Tokens, money and time of a setting's requests.

    Args:
        usage: :func:`siming_tasks.results.usage.usage_summary` of them.
        videos: among which the money is divided.

    Example:
        >>> tokens = {"total": 4000, "requests": 4}
        >>> usage_line({"requests": 4, "kept": 0, "prompt_tokens": tokens, "completion_tokens": None, "cost": {}}, 4)
        '4,000 tokens in, ? out'
    """
    said = [f"{_tokens(usage, 'prompt_tokens')} tokens in, {_tokens(usage, 'completion_tokens')} out"]
    for currency, cost in (usage.get("cost") or {}).items():
        share = f", {cost['total'] / videos:.4g} a video" if videos and cost["requests"] == usage["requests"] else ""
        said.append(f"{cost['total']:.4g} {currency}{share}{_of(cost, usage)}")
    if seconds := usage.get("latency"):
        said.append(f"{seconds['median']:g} s a reply (95 %: {seconds['p95']:g})")
    if cut := (usage.get("finish_reasons") or {}).get("length"):
        said.append(f"{cut:,} cut at the limit of tokens")
    if usage["kept"]:
        said.append(f"{usage['kept']:,} of {usage['requests']:,} replies were kept")
    return "; ".join(said)


def _tokens(usage: Mapping[str, Any], name: str) -> str:
    found = usage.get(name)
    return f"{found['total']:,}{_of(found, usage)}" if found else "?"


def _of(found: Mapping[str, Any], usage: Mapping[str, Any]) -> str:
    """Of how many requests a total is known, if not of all."""
    return "" if found["requests"] == usage["requests"] else f" (of {found['requests']:,} requests)"

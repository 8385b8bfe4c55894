"""What a run took: tokens, money, time, and why replies ended.

A record holds, under ``usage``, what is known of its request: ``prompt_tokens``, ``completion_tokens`` (thinking
included), ``finish_reason`` (``length``: cut at the limit of tokens), ``model`` (asked) and ``served`` (the one that
has answered, as the service says), ``latency`` in seconds, ``cost`` and ``currency``, ``at`` (when the reply came,
seconds since 1970), ``kept`` (true: an earlier command got it). What is unknown is null, never 0.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Annotated, Any

import numpy as np
from pydantic import BaseModel, ConfigDict, Field

from siming_tasks.parsing.parsed_reply import ABSTAINED
from siming_tasks.results.prices import Prices

__all__ = ["Usage", "added", "cut_off", "usage_by_video", "usage_summary"]

Tokens = Annotated[int, Field(strict=True, ge=0, le=10**12)]
Short = Annotated[str, Field(max_length=200)]
Number = Annotated[float, Field(ge=0, le=1e12, allow_inf_nan=False)]


class Usage(BaseModel):
    """The types of a record's ``usage``, for those that are read from files."""

    model_config = ConfigDict(extra="ignore")

    prompt_tokens: Tokens | None = None
    completion_tokens: Tokens | None = None
    finish_reason: Short | None = None
    model: Short | None = None
    served: Short | None = None
    latency: Number | None = None
    cost: Number | None = None
    currency: Annotated[str, Field(pattern=r"^[A-Z]{3}$")] | None = None
    at: Number | None = None
    kept: bool | None = None


def cut_off(status: str, usage: Mapping[str, Any] | None) -> bool:
    """Whether a reply was cut at the limit of tokens before it answered everything, whatever its text looks like."""
    return status not in ("ok", ABSTAINED, "request_failed") and (usage or {}).get("finish_reason") == "length"


def added(usages: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The usage of several replies to one request: tokens, cost and seconds together, all else of the first."""
    found = dict(usages[0]) if usages else {}
    for name in ("prompt_tokens", "completion_tokens", "latency", "cost"):
        known = [usage.get(name) for usage in usages]
        found[name] = None if None in known or not known else sum(value for value in known if value is not None)
    return found


def usage_summary(records: Iterable[Mapping[str, Any]], prices: Prices | None = None) -> dict[str, Any] | None:
    """What the requests of some records took together; None if none of them tells anything.

    Args:
        records: of one run.
        prices: what their tokens cost; None: what each record says it cost.

    Returns:
        ``requests`` that tell anything, ``kept`` (answered by an earlier command); ``prompt_tokens``,
        ``completion_tokens`` and, by currency, ``cost``: ``total`` and of how many requests it is known
        (``requests``); ``latency``: ``median`` and ``p95`` in seconds; ``finish_reasons``, ``served``: counts.
    """
    told = [(record, usage) for record in records if (usage := record.get("usage"))]
    if not told:
        return None
    usages = [usage for _, usage in told]
    if prices is not None:
        usages = [{**usage, "cost": prices.cost(usage), "currency": prices.currency} for usage in usages]
    currencies = sorted({usage["currency"] for usage in usages if usage.get("cost") is not None})
    seconds = [usage["latency"] for usage in usages if usage.get("latency") is not None]
    return {
        "requests": len(told),
        "kept": sum(bool(usage.get("kept")) for usage in usages),
        "prompt_tokens": _total(usages, "prompt_tokens"),
        "completion_tokens": _total(usages, "completion_tokens"),
        "cost": {
            currency: _total([usage for usage in usages if usage.get("currency") == currency], "cost")
            for currency in currencies
        },
        "latency": _spread(seconds) if seconds else None,
        "finish_reasons": _counts(usages, "finish_reason"),
        "served": _counts(usages, "served"),
    }


def usage_by_video(records: Iterable[Mapping[str, Any]], prices: Prices | None = None) -> dict[str, dict[str, Any]]:
    """:func:`usage_summary` of each video's requests; videos of which nothing is known are absent."""
    of: dict[str, list[Mapping[str, Any]]] = {}
    for record in records:
        of.setdefault(record["video_id"], []).append(record)
    return {video: found for video, mine in of.items() if (found := usage_summary(mine, prices))}


def _total(usages: Iterable[Mapping[str, Any]], name: str) -> dict[str, Any] | None:
    values = [usage[name] for usage in usages if usage.get(name) is not None]
    total = sum(values)
    return {"total": total if isinstance(total, int) else round(total, 9), "requests": len(values)} if values else None


def _spread(seconds: Sequence[float]) -> dict[str, Any]:
    middle, late = np.quantile(seconds, (0.5, 0.95)).tolist()
    return {"median": round(middle, 3), "p95": round(late, 3), "requests": len(seconds)}


def _counts(usages: Iterable[Mapping[str, Any]], name: str) -> dict[str, int]:
    return dict(sorted(Counter(str(usage[name]) for usage in usages if usage.get(name) is not None).items()))

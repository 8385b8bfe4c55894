"""Usage of a request as its record has it: tokens, money, time, and the reason why the reply ended.

A record holds, under ``usage``, what is known of its request: ``prompt_tokens``, ``completion_tokens`` (thinking
included), ``finish_reason`` (``length``: cut at the limit of tokens), ``model`` (asked) and ``served`` (the one that
has answered, as the service says), ``latency`` in seconds, ``cost`` and ``currency``, ``at`` (when the reply came,
seconds since 1970), ``kept`` (true: an earlier command got it). What is unknown is null, never 0.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field

from siming_tasks.parsing.parsed_reply import ABSTAINED

__all__ = ["Usage", "add_usage", "is_cut_off"]

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


def is_cut_off(status: str, usage: Mapping[str, Any] | None) -> bool:
    """True for a reply that was cut at the limit of tokens before it answered everything, whatever its text is."""
    return status not in ("ok", ABSTAINED, "request_failed") and (usage or {}).get("finish_reason") == "length"


def add_usage(usages: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Usage of several replies to one request: tokens, cost and seconds together, all else of the first."""
    total = dict(usages[0]) if usages else {}
    for name in ("prompt_tokens", "completion_tokens", "latency", "cost"):
        known = [usage.get(name) for usage in usages]
        total[name] = None if None in known or not known else sum(value for value in known if value is not None)
    return total

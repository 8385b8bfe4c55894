"""Usage of requests and of whole runs: tokens, money, time, and the reason why a reply ended.

The facts about a request are in its record under ``usage``: ``prompt_tokens``, ``completion_tokens`` (thinking
included), ``finish_reason`` (``length``: cut at the limit of tokens), ``model`` (asked) and ``served`` (the one that
has answered, as the service says), ``latency`` in seconds, ``cost`` and ``currency``, ``at`` (when the reply came,
seconds since 1970), ``kept`` (true: another command got it), ``attempts`` (how often it was sent), ``failed_attempts``
among them, ``http_status`` of the last one, ``error`` (why that failed), ``timeout`` (seconds that a try may take) and
``tries`` (how often it would have been sent at most), ``stored`` (false: the run stored no replies). Tokens and cost
are those of all attempts together. What is unknown is null, never 0. Prices are a table that the user gives.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Annotated, Any

import numpy as np
from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator

from siming_tasks.common.doc_pages import see
from siming_tasks.common.errors import DataError
from siming_tasks.common.files import read_yaml
from siming_tasks.common.public_facts import asked_name, public_name, public_word
from siming_tasks.data.row_schema import problems_of

Tokens = Annotated[int, Field(strict=True, ge=0, le=10**12)]
Count = Annotated[int, Field(strict=True, ge=0, le=10**6)]
Short = Annotated[str, Field(max_length=200)]
Number = Annotated[float, Field(ge=0, le=1e12, allow_inf_nan=False)]
Currency = Annotated[str, Field(pattern=r"^[A-Z]{3}$")]
Price = Annotated[float, Field(ge=0, le=1e9, allow_inf_nan=False)]


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
    currency: Currency | None = None
    at: Number | None = None
    kept: bool | None = None
    attempts: Count | None = None
    failed_attempts: Count | None = None
    http_status: Count | None = None
    error: Short | None = None
    timeout: Number | None = None
    tries: Count | None = None
    stored: bool | None = None

    @field_validator("finish_reason", "error")
    @classmethod
    def _word(cls, stated: str | None) -> str | None:
        return stated and public_word(stated)

    @field_validator("model", "served")
    @classmethod
    def _named(cls, stated: str | None) -> str | None:
        return stated and asked_name(stated)


class _ModelPrice(BaseModel):
    """Prices per million tokens."""

    model_config = ConfigDict(extra="forbid")

    input: Price
    output: Price


class _PriceTable(BaseModel):
    model_config = ConfigDict(extra="forbid")

    currency: Currency = "USD"
    date: date
    source: Annotated[str, Field(max_length=2000)] = ""
    models: Annotated[dict[str, _ModelPrice], Field(min_length=1, max_length=10_000)]


@dataclass(frozen=True)
class Prices:
    """A price table.

    Attributes:
        currency: three letters.
        date: day on which the prices were valid, ``2026-11-01``.
        models: by name or pattern (``gpt-4o-2024-*``), the price of a million tokens read and of a million written.
    """

    currency: str
    date: str
    models: Mapping[str, tuple[float, float]]

    def of(self, *names: str | None) -> tuple[float, float] | None:
        """The prices of the first of these names that the table knows: by itself, else by its longest pattern.

        Example:
            >>> Prices("USD", "2026-11-01", {"m": (1, 2), "m-*": (3, 4)}).of(None, "m-mini")
            (3, 4)
        """
        for name in filter(None, names):
            if name in self.models:
                return self.models[name]
            if fits := [pattern for pattern in self.models if fnmatchcase(name, pattern)]:
                return self.models[max(fits, key=len)]
        return None

    def cost(self, usage: Mapping[str, Any]) -> float | None:
        """Cost of a request; None where its tokens or the price of its model are unknown."""
        price = self.of(usage.get("served"), usage.get("model"))
        read, written = usage.get("prompt_tokens"), usage.get("completion_tokens")
        if price is None or read is None or written is None:
            return None
        return float(read * price[0] + written * price[1]) / 1e6


def load_prices(path: str | Path) -> Prices:
    """The price table of a YAML file (`siming docs replies`).

    Raises:
        DataError: the file cannot be read or is not a price table; names every entry.
    """
    file = Path(path).expanduser()
    content = read_yaml(file)
    try:
        table = _PriceTable.model_validate(content)
    except ValidationError as error:
        fix = f"See {see('replies')} for the format."
        problems = [replace(problem, fix=fix) for problem in problems_of(error, str(file), code="prices-invalid")]
        raise DataError.of(problems) from None
    models = {name: (price.input, price.output) for name, price in table.models.items()}
    return Prices(table.currency, table.date.isoformat(), models)


def usage_summary(stated: Iterable[Mapping[str, Any] | None], prices: Prices | None = None) -> dict[str, Any] | None:
    """Usage of some requests together; None if none of them states any.

    Args:
        stated: usage of each request of one run; None where nothing is known.
        prices: what their tokens cost; None: what each request says it cost.

    Returns:
        ``requests`` with any usage, ``kept`` (answered for another command); ``prompt_tokens``,
        ``completion_tokens`` and, by currency, ``cost``: ``total`` and of how many requests it is known
        (``requests``); ``latency``: ``median`` and ``p95`` in seconds; ``attempts``: ``total``, ``failed`` and of how
        many requests they are known; ``finish_reasons``, ``served``, ``errors``: counts; ``waits``: each ``timeout``
        and number of ``tries``; ``not_stored``: requests whose run stored no replies.
    """
    usages = [usage for usage in stated if usage]
    if not usages:
        return None
    if prices is not None:
        usages = [{**usage, "cost": prices.cost(usage), "currency": prices.currency} for usage in usages]

    def known(name: str) -> list[Any]:
        return [usage[name] for usage in usages if usage.get(name) is not None]

    def total(values: Sequence[Any]) -> dict[str, Any] | None:
        added = sum(values)
        rounded = added if isinstance(added, int) else round(added, 9)
        return {"total": rounded, "requests": len(values)} if values else None

    latency = None
    if seconds := known("latency"):
        middle, late = np.quantile(seconds, (0.5, 0.95)).tolist()
        latency = {"median": round(middle, 3), "p95": round(late, 3), "requests": len(seconds)}
    attempts = total(known("attempts"))
    waits = {(usage.get("timeout"), usage["tries"]) for usage in usages if usage.get("tries") is not None}
    costs: dict[str, list[Any]] = {}
    for usage in usages:
        if usage.get("cost") is not None:
            costs.setdefault(usage["currency"], []).append(usage["cost"])
    return {
        "requests": len(usages),
        "kept": sum(bool(usage.get("kept")) for usage in usages),
        "prompt_tokens": total(known("prompt_tokens")),
        "completion_tokens": total(known("completion_tokens")),
        "cost": {currency: total(costs[currency]) for currency in sorted(costs)},
        "latency": latency,
        "attempts": attempts and {**attempts, "failed": sum(known("failed_attempts"))},
        "finish_reasons": dict(sorted(Counter(map(str, known("finish_reason"))).items())),
        "served": dict(sorted(Counter(public_name(str(name)) for name in known("served")).items())),
        "errors": dict(sorted(Counter(map(str, known("error"))).items())),
        "waits": [{"timeout": timeout, "tries": tries} for timeout, tries in sorted(waits, key=str)],
        "not_stored": sum(usage.get("stored") is False for usage in usages),
    }

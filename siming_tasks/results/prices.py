"""What models cost: a table that the user gives, since prices change and contracts differ."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import date
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from siming_tasks.common.doc_pages import see
from siming_tasks.common.errors import DataError
from siming_tasks.common.files import read_yaml
from siming_tasks.data.row_schema import problems_of

__all__ = ["Prices", "load_prices"]

Price = Annotated[float, Field(ge=0, le=1e9, allow_inf_nan=False)]


class _Model(BaseModel):
    """Per million tokens."""

    model_config = ConfigDict(extra="forbid")

    input: Price
    output: Price


class _Table(BaseModel):
    model_config = ConfigDict(extra="forbid")

    currency: Annotated[str, Field(pattern=r"^[A-Z]{3}$")] = "USD"
    date: date
    source: Annotated[str, Field(max_length=2000)] = ""
    models: Annotated[dict[str, _Model], Field(min_length=1, max_length=10_000)]


@dataclass(frozen=True)
class Prices:
    """A price table.

    Attributes:
        currency: three letters.
        date: day on which the prices held, ``2026-11-01``.
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
        """What a request cost; None where its tokens or the price of its model are unknown."""
        price = self.of(usage.get("served"), usage.get("model"))
        read, written = usage.get("prompt_tokens"), usage.get("completion_tokens")
        if price is None or read is None or written is None:
            return None
        return float(read * price[0] + written * price[1]) / 1e6


def load_prices(path: str | Path) -> Prices:
    """The price table of a YAML file (`siming docs replies`).

    Raises:
        DataError: the file cannot be read or is no price table; names every entry.
    """
    file = Path(path).expanduser()
    content = read_yaml(file)
    try:
        table = _Table.model_validate(content)
    except ValidationError as error:
        fix = f"See {see('replies')} for the format."
        problems = [replace(one, fix=fix) for one in problems_of(error, str(file), code="prices-invalid")]
        raise DataError.of(problems) from None
    return Prices(
        table.currency, table.date.isoformat(), {name: (one.input, one.output) for name, one in table.models.items()}
    )

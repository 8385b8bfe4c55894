"""What a run costs while it goes on, and the limit that stops it."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from typing import Any

from siming_tasks.common.errors import OptionsError
from siming_tasks.options import Options
from siming_tasks.results.prices import Prices, load_prices

__all__ = ["Purse"]


@dataclass
class Purse:
    """The money of one process.

    Attributes:
        prices: what models cost; None: nobody said.
        limit: what this process may spend, kept replies included; 0: as much as it takes.
        spent: so far.
        blind: a paid reply did not tell its tokens, so that the limit could not be kept.
    """

    prices: Prices | None
    limit: float = 0.0
    spent: float = 0.0
    blind: bool = False
    _lock: threading.Lock = field(default_factory=threading.Lock)

    @classmethod
    def of(cls, options: Options, name: str | None, processes: int = 1) -> Purse:
        """The purse of a run's options.

        Args:
            options: the run's.
            name: of the model as it is asked for.
            processes: among which the limit is divided.

        Raises:
            OptionsError: there is a limit and no price of this model.
            DataError: the price table cannot be read.
        """
        prices = load_prices(options.prices) if options.prices else None
        if options.limit_cost and (prices is None or prices.of(name) is None):
            where = f"{options.prices} has no price of {name!r}" if prices else "SIMING_PRICES names no price table"
            raise OptionsError(f"SIMING_LIMIT_COST={options.limit_cost:g} cannot be kept: {where}.")
        return cls(prices, options.limit_cost / max(1, processes))

    def pay(self, usage: dict[str, Any]) -> None:
        """Note in ``usage`` what a reply cost, and count it; a kept one costs what it did then."""
        if self.prices is None:
            return
        cost = self.prices.cost(usage)
        usage.update(cost=cost, currency=self.prices.currency if cost is not None else None)
        with self._lock:
            self.spent += cost or 0.0
            self.blind |= cost is None

    @property
    def empty(self) -> bool:
        """Whether nothing more may be asked."""
        return bool(self.limit) and (self.blind or self.spent >= self.limit)

    def sentence(self, left: int) -> str:
        """Why the run stops, and how it goes on."""
        assert self.prices is not None
        why = f"{self.spent:.4g} of {self.limit:.4g} {self.prices.currency} are spent"
        if self.blind:
            why = "the service does not tell its tokens, so that the limit cannot be kept"
        way = "Unset the limit" if self.blind else "Raise it"
        return (
            f"stopped by SIMING_LIMIT_COST: {why}. Every reply that came is kept; {left} requests are left. {way} and "
            "run the same command again: it asks for these alone."
        )

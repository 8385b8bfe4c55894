"""Budget of a run: what its replies cost while it goes on, and the limit that stops it."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from typing import Any

from siming_tasks.common.errors import OptionsError
from siming_tasks.options import Options
from siming_tasks.results.run_usage import Prices, load_prices

__all__ = ["Budget"]


@dataclass
class Budget:
    """Money that one process may spend, and has spent.

    Attributes:
        prices: of models; None: costs are not counted.
        limit: what this process may spend, kept replies included; 0: no limit.
        spent: so far, in the currency of ``prices``.
        cost_unknown: a paid reply came without token counts, so that the limit cannot be kept.
    """

    prices: Prices | None
    limit: float = 0.0
    spent: float = 0.0
    cost_unknown: bool = False
    _lock: threading.Lock = field(default_factory=threading.Lock)

    @classmethod
    def of_run(cls, options: Options, model: str | None, processes: int = 1) -> Budget:
        """Budget of a run.

        Args:
            options: of the run.
            model: name of the model as it is asked for.
            processes: number of processes that share the limit equally.

        Raises:
            OptionsError: there is a limit and no price of this model.
            DataError: the price table cannot be read.
        """
        prices = load_prices(options.prices) if options.prices else None
        if options.limit_cost and (prices is None or prices.of(model) is None):
            reason = f"{options.prices} has no price of {model!r}" if prices else "SIMING_PRICES names no price table"
            raise OptionsError(f"SIMING_LIMIT_COST={options.limit_cost:g} cannot be kept: {reason}.")
        return cls(prices, options.limit_cost / max(1, processes))

    def charge(self, usage: dict[str, Any]) -> None:
        """Note in ``usage`` what a reply cost, and add it; a kept reply costs what it did when it came."""
        if self.prices is None:
            return
        cost = self.prices.cost(usage)
        usage.update(cost=cost, currency=self.prices.currency if cost is not None else None)
        with self._lock:
            self.spent += cost or 0.0
            self.cost_unknown |= cost is None

    @property
    def exhausted(self) -> bool:
        """True if nothing more may be asked."""
        return bool(self.limit) and (self.cost_unknown or self.spent >= self.limit)

    def message(self, left: int) -> str:
        """Message that says why the run stops and how to continue it.

        Args:
            left: number of requests that were not sent.
        """
        assert self.prices is not None
        reason = f"{self.spent:.4g} of {self.limit:.4g} {self.prices.currency} are spent"
        if self.cost_unknown:
            reason = "the service does not report its tokens, so that the limit cannot be kept"
        remedy = "Unset the limit" if self.cost_unknown else "Raise it"
        return (
            f"stopped by SIMING_LIMIT_COST: {reason}. Every reply that came is kept; {left} requests are left. "
            f"{remedy} and run the same command again: it asks for these alone."
        )

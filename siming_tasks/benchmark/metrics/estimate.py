"""An estimate is a row: what it is of, its value, how sure it is, what it rests on, and why something is not there."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from siming_tasks.benchmark.metrics.reasons import Flag
from siming_tasks.common.display import short_repr
from siming_tasks.common.printed_value import fixed


@dataclass(frozen=True)
class Estimate:
    """A number with its uncertainty; everything that is printed anywhere is a list of these.

    Attributes:
        value: None if there is none; ``why`` says why.
        stderr: standard error on the metric's own scale, of the delete-one-cluster jackknife.
        low: lower end of the 95 % interval; ``high`` is the upper end. None without one; ``why`` says why.
        p: two-sided p of "it is 0", of a difference; None for others and where nothing can be tested.
        p_holm: the same by Holm's correction over its family.
        n: videos that the value rests on.
        clusters: independent clusters of those videos; ``degrees``: of freedom, of its t distribution.
        unit: what a cluster is: ``video``, ``performance``, ``student`` or ``site``.
        why: a :class:`~siming_tasks.benchmark.metrics.reasons.Reason` why there is no value or no interval, or an
            analysis' own sentence; empty where both are there.
        flags: each a :class:`~siming_tasks.benchmark.metrics.reasons.Flag`.
        table: what the row belongs to; ``row``: its name there; ``metric``: key of the metric.

    Raises:
        ValueError: a number is NaN or infinite, or a flag is unknown; no estimate can carry one into a table or file.

    Example:
        >>> print(Estimate(0.5, stderr=0.1, low=0.31, high=0.68, n=200), Estimate(None, why="0/0"))
        0.500 [0.310, 0.680] -
    """

    value: float | None
    stderr: float | None = None
    low: float | None = None
    high: float | None = None
    p: float | None = None
    p_holm: float | None = None
    n: int = 0
    clusters: int = 0
    degrees: float = 0.0
    unit: str = "video"
    why: str = ""
    flags: tuple[str, ...] = ()
    table: str = ""
    row: str = ""
    metric: str = ""

    def __post_init__(self) -> None:
        for name in ("value", "stderr", "low", "high", "p", "p_holm"):
            number = getattr(self, name)
            if number is not None:
                if not math.isfinite(number):
                    raise ValueError(f"Estimate.{name} is {number}; use None for 'no value'")
                object.__setattr__(self, name, float(number) + 0.0)  # + 0.0 turns -0.0 into 0.0
        object.__setattr__(self, "flags", tuple(Flag(flag) for flag in self.flags))

    def __str__(self) -> str:
        """``0.123 [0.045, 0.201]``; ``-`` without a value."""
        if self.value is None:
            return "-"
        ends = "" if self.low is None or self.high is None else f" [{fixed(self.low)}, {fixed(self.high)}]"
        return fixed(self.value) + ends

    def at(self, table: str | None = None, row: str | None = None, metric: str | None = None) -> Estimate:
        """The same number under other names."""
        named: dict[str, Any] = {"table": table, "row": row, "metric": metric}
        return replace(self, **{name: text for name, text in named.items() if text is not None})

    def to_json(self) -> dict[str, Any]:
        """Plain JSON types; never NaN."""
        return asdict(self) | {"why": str(self.why), "flags": list(map(str, self.flags))}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Estimate:
        """The estimate that :meth:`to_json` wrote."""
        return cls(**{**data, "flags": tuple(data["flags"])})


class Rows(tuple[Estimate, ...]):
    """Estimates in order; found by table, row and metric.

    Example:
        >>> from siming_tasks import Estimate, Rows
        >>> rows = Rows([Estimate(0.5, table="ranked", row="a", metric="qwk"), Estimate(0.4, table="ranked", row="b")])
        >>> rows.one("ranked", "a").value, rows.names("row")
        (0.5, ['a', 'b'])
    """

    __slots__ = ()

    def __repr__(self) -> str:
        return short_repr("Rows", {"estimates": len(self), "tables": ", ".join(self.names("table"))})

    def of(self, table: str | None = None, row: str | None = None, metric: str | None = None) -> Rows:
        """Those with these names; None: any."""
        return Rows(
            each for each in self
            if (row is None or each.row == row) and (metric is None or each.metric == metric)
            and (table is None or each.table == table)
        )  # fmt: skip

    def one(self, table: str | None = None, row: str | None = None, metric: str | None = None) -> Estimate:
        """The only one with these names (KeyError: there is none, or several)."""
        found = self.of(table, row, metric)
        if len(found) != 1:
            raise KeyError(f"{len(found)} estimates for table {table!r}, row {row!r}, metric {metric!r}")
        return found[0]

    def names(self, field: str) -> list[str]:
        """The tables, rows or metrics that occur, in order."""
        return list(dict.fromkeys(getattr(each, field) for each in self))

    def to_json(self) -> list[dict[str, Any]]:
        """One object per row."""
        return [each.to_json() for each in self]

    @classmethod
    def from_json(cls, data: Sequence[Mapping[str, Any]]) -> Rows:
        """The rows that :meth:`to_json` wrote."""
        return cls(Estimate.from_json(each) for each in data)

    def __add__(self, other: Iterable[Estimate]) -> Rows:  # type: ignore[override]
        return Rows((*self, *other))

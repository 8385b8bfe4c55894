"""Input and findings of the table linter: frozen rows, tables, documents and findings."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Literal

from siming_tasks.report.published_tables.numbers import Printed

__all__ = ["COLUMNS", "KINDS", "Document", "Finding", "Kind", "Row", "Table"]

Kind = Literal["inconsistent", "noise", "baseline", "note"]

KINDS: dict[Kind, str] = {
    "inconsistent": "Cannot all be right as printed",
    "noise": "Within what chance gives",
    "baseline": "What a constant would score",
    "note": "Worth knowing",
}
"""Kinds of findings, in the order they are shown. Only ``inconsistent`` makes the command exit with 1."""

COLUMNS: dict[str, str] = {
    "precision": "P",
    "recall": "R",
    "f1": "F1",
    "mcc": "MCC",
    "accuracy": "accuracy",
    "specificity": "specificity",
    "plcc": "PLCC",
    "srcc": "SRCC",
    "kappa": "kappa",
    "prevalence": "prevalence",
    "disagreement": "disagreement",
}
"""Columns the linter understands, and how it prints them."""


@dataclass(frozen=True)
class Row:
    """One line of a table: its numbers, its printed deltas (this row minus ``base``), and a count with its share.

    ``count`` of ``of`` (the product of the factors) is printed as ``percent``. ``base`` names the row that deltas start
    from; empty means the row of the same name in the table's base table.
    """

    name: str
    values: Mapping[str, Printed] = field(default_factory=dict)
    deltas: Mapping[str, Printed] = field(default_factory=dict)
    base: str = ""
    count: int | None = None
    percent: Printed | None = None
    of: tuple[int, ...] = ()


@dataclass(frozen=True)
class Table:
    """Rows measured on the same items: ``n_videos`` totals behind PLCC and SRCC, ``n_items`` steps behind the rest."""

    name: str
    rows: tuple[Row, ...]
    n_videos: int | None = None
    n_items: int | None = None
    base: str = ""
    note: str = ""
    ignored: tuple[str, ...] = ()

    def column(self, metric: str) -> dict[str, Printed]:
        """The rows that print this metric."""
        return {row.name: row.values[metric] for row in self.rows if metric in row.values}


@dataclass(frozen=True)
class Document:
    """All tables of one publication or file."""

    title: str
    tables: tuple[Table, ...]
    reference: str = ""

    def base_of(self, table: Table, row: Row) -> Row | None:
        """The row that this row's deltas start from, if the document has it."""
        home = next((other for other in self.tables if other.name == table.base), None) if table.base else table
        wanted = row.base or (row.name if table.base else "")
        return next((other for other in home.rows if other.name == wanted), None) if home else None


@dataclass(frozen=True)
class Finding:
    """One statement about printed numbers and the assumption it rests on.

    ``code`` is a stable kebab-case name; ``column`` and ``rows`` say which numbers. A finding never says how a number
    came about.
    """

    code: str
    kind: Kind
    table: str
    what: str
    assumes: str
    rows: tuple[str, ...] = ()
    column: str = ""

    def to_json(self) -> dict[str, object]:
        """The finding as plain JSON types."""
        return asdict(self)

"""Texts of the tables of the analyses, and the rows that fill them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from importlib import import_module

from siming_tasks.benchmark.metrics.estimate import Estimate, Rows
from siming_tasks.benchmark.metrics.jackknife import Jackknifed, holm
from siming_tasks.benchmark.types import CONSENSUS

MODULES = ("comparison", "physicians", "raters", "steps", "disputed", "severity", "history", "sequence",
           "pass_decisions", "groups", "paper_claims", "inputs", "repeats", "leak_audit", "power")  # fmt: skip
"""Modules of :mod:`siming_tasks.study.analysis` that make tables; each has its texts in ``TABLES``."""


@dataclass(frozen=True)
class TableText:
    """Title, caption and heads of a table.

    Attributes:
        title: of the table.
        caption: one sentence that explains it; ``{reference}`` is replaced by the rater whose labels are the reference.
        heads: of its columns, by metric, in order.
    """

    title: str
    caption: str
    heads: Mapping[str, str]

    def sentence(self, reference: str = "the consensus") -> str:
        """The caption with the name of the reference."""
        return self.caption.format(reference="the consensus" if reference == CONSENSUS else reference)


def table_texts() -> dict[str, TableText]:
    """The texts of all tables, by the table's name, which one module alone has."""
    modules = (import_module(f"siming_tasks.study.analysis.{module}") for module in MODULES)
    return {name: text for module in modules for name, text in module.TABLES.items()}


def table_row(table: str, row: str, found: Mapping[str, Jackknifed], *, tested: bool = False) -> Rows:
    """One row of a table: an estimate of each value, by metric; ``tested``: differences, with their p."""
    return Rows(each.estimate(tested=tested).at(table, row, metric) for metric, each in found.items())


def corrected(rows: Iterable[Estimate]) -> Rows:
    """The rows with Holm's p over all of them that were tested: one family."""
    rows = list(rows)
    p = iter(holm([each.p for each in rows if each.p is not None]))
    return Rows(each if each.p is None else replace(each, p_holm=next(p)) for each in rows)

"""Sheets as rows of named cells: what every reader of tables makes, and every reader of labels takes."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from siming_tasks.common.errors import Problem
from siming_tasks.tools.builder.cells import THOUSANDS


@dataclass(frozen=True)
class Column:
    """A column: its name, and the two lines of its heading if there are two (``parts``)."""

    name: str
    parts: tuple[str, ...]


@dataclass(frozen=True)
class SheetRow:
    """One row: its line (CSV, JSONL) or row number (XLSX), and its cells by column name; empty cells are absent.

    ``merged`` names the cells that repeat what a merged cell says further up or to the left; ``unseen`` those that a
    reader of the sheet sees otherwise, with how and where they stand.
    """

    number: int
    cells: dict[str, Any]
    merged: frozenset[str] = frozenset()
    unseen: dict[str, tuple[str, str]] = field(default_factory=dict)


@dataclass(frozen=True)
class Sheet:
    """A worksheet (or file): its title, the columns in order (empty ones included), the rows, findings."""

    title: str | None
    columns: tuple[Column, ...]
    rows: tuple[SheetRow, ...]
    file: str
    problems: tuple[Problem, ...]

    @cached_property
    def _has_decimal_commas(self) -> bool:
        texts = (cell for row in self.rows for cell in row.cells.values() if isinstance(cell, str))
        return any(re.fullmatch(r"-?\d+,\d+", text) and not THOUSANDS.match(text) for text in texts)

    def is_unclear(self, cell: Any) -> bool:
        """True for ``1,234`` or ``1.234`` unless other cells of the sheet tell that its sign is the decimal one."""
        return isinstance(cell, str) and bool(THOUSANDS.match(cell)) and ("," in cell) != self._has_decimal_commas

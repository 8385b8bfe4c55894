"""A row of a score sheet, and the label that one or several of them hold."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from siming_tasks.common.errors import Problem
from siming_tasks.tools.builder.sheets.column_roles import Layout
from siming_tasks.tools.builder.sheets.sheet_tables import Sheet, SheetRow

__all__ = ["LabelRow", "Part", "Row"]


@dataclass(frozen=True)
class LabelRow:
    """One step of one video as the sheet has it; ``lines`` are the rows it was put together from."""

    video: str
    step_id: str
    file: str
    lines: tuple[int, ...]
    start: float | None = None
    end: float | None = None
    scores: Mapping[str, float] = field(default_factory=dict)
    applicable: bool = True
    about: Mapping[str, str] = field(default_factory=dict)

    def problem(self, code: str, what: str, fix: str, where: str | None = None, **more: Any) -> Problem:
        """A finding about this row."""
        what = f"video {self.video!r}, step {self.step_id!r}: {what}"
        return Problem(code, what, fix, self.file, self.lines[0], where, **more)


@dataclass(frozen=True)
class Part:
    """A sheet with what its columns are, the file that it is of, and whose points that file holds by itself."""

    sheet: Sheet
    layout: Layout
    path: str
    owner: str | None = None


@dataclass(frozen=True)
class Row:
    """One row of a sheet, by the names that we give its columns."""

    part: Part
    row: SheetRow

    @property
    def file(self) -> str:
        """File of the sheet."""
        return self.part.sheet.file

    @property
    def layout(self) -> Layout:
        """Roles of the sheet's columns."""
        return self.part.layout

    @property
    def number(self) -> int:
        """Its line."""
        return self.row.number

    def cell(self, ours: str) -> Any:
        """The cell in a column of ours; None if the sheet has none."""
        return self.row.cells.get(self.layout.ours.get(ours, ""))

    def problem(self, code: str, what: str, fix: str, where: str | None) -> Problem:
        """A finding about this row."""
        return Problem(code, what, fix, self.file, self.row.number, where)

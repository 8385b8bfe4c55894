"""Score sheets to label rows: the long form, and the wide form with a mapping file."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from siming_tasks.data.builder.cells import is_clock_cell, number, seconds_of
from siming_tasks.data.builder.mapping import SheetMapping
from siming_tasks.data.builder.tables import SheetRow, plain, read_table
from siming_tasks.errors import DataError, Problem
from siming_tasks.rubrics import Rubric
from siming_tasks.schema import CONSENSUS

__all__ = ["VIDEO_FIELDS", "LabelRow", "read_labels"]

VIDEO_FIELDS = ("site", "student", "split")
"""Optional columns that say something about the whole video."""
_FIXED = ("video_id", "step_id", "start", "end", "applicable", *VIDEO_FIELDS)
_NOT_APPLICABLE = ("n/a", "na", "n.a.", "-", "--", "/", "不适用", "无")
_YES, _NO = ("true", "yes", "y", "1", "1.0", "是"), ("false", "no", "n", "0", "0.0", "否", *_NOT_APPLICABLE)


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


def read_labels(
    path: Path, rubric: Rubric, mapping: SheetMapping | None = None, encoding: str | None = None
) -> tuple[list[LabelRow], list[Problem]]:
    """The label rows of a sheet, one per video and step, in sheet order.

    A sheet with a ``step_id`` column is long; one without, whose columns are steps, is wide.

    Raises:
        DataError: the file cannot be read, or its columns are not those of a label sheet.
    """
    mapping = mapping or SheetMapping()
    table = read_table(path, encoding)
    names, problems = table.columns, list(table.problems)
    columns = _columns(names, mapping)
    steps = {name: mapping.steps.get(name, name) for name in names}
    steps = {name: step for name, step in steps.items() if step in rubric.by_id or name in mapping.steps}
    sheet = _Sheet(str(path), rubric, mapping, columns, steps, problems)
    if "video_id" not in columns or not ("step_id" in columns or steps):
        shown = ", ".join(map(repr, names[:12]))
        raise DataError(
            f"{path}: a label sheet has the columns video_id and step_id (long form) or video_id and one column per "
            f"rubric step (wide form). Found {shown}. A mapping file (--columns) says which column is which."
        )
    return (sheet.long(table.rows, names) if "step_id" in columns else sheet.wide(table.rows)), problems


def _columns(names: Sequence[str], mapping: SheetMapping) -> dict[str, str]:
    """Our column name to the sheet's."""
    folded = {re.sub(r"[\s-]+", "_", name.casefold()): name for name in names}
    found = {ours: folded[ours] for ours in (*_FIXED, "rater", CONSENSUS) if ours in folded}
    theirs = {ours: str(plain(name)) for ours, name in mapping.columns.items()}
    return {**found, **{ours: name for ours, name in theirs.items() if name in names}}


@dataclass(frozen=True)
class _Sheet:
    file: str
    rubric: Rubric
    mapping: SheetMapping
    columns: Mapping[str, str]
    steps: Mapping[str, str]
    problems: list[Problem]

    def long(self, table: Iterable[SheetRow], names: Sequence[str]) -> list[LabelRow]:
        """One row per video and step."""
        raters = self._rater_columns(names)
        rows: dict[tuple[str, str], LabelRow] = {}
        for row in table:
            video, step = self._text(row, "video_id"), self._text(row, "step_id")
            if video is None or step is None:
                self._problem(row, "id-missing", "video_id and step_id must be filled.", "Fill them in.", "video_id")
                continue
            label = self._label(row, video, step, {ours: row.cells.get(name) for name, ours in raters.items()})
            label = replace(label, start=self._time(row, "start"), end=self._time(row, "end"))
            first = rows.setdefault((video, step), label)
            if first is not label:
                what = f"stands on line {first.lines[0]} already."
                self.problems.append(label.problem("label-twice", what, "Keep one row per video and step."))
        return list(rows.values())

    def wide(self, table: Iterable[SheetRow]) -> list[LabelRow]:
        """One row per video and rater, one column per step."""
        rows: dict[tuple[str, str], LabelRow] = {}
        seen: dict[tuple[str, str], int] = {}
        for row in table:
            video, rater = self._text(row, "video_id"), self._text(row, "rater") or CONSENSUS
            rater = self.mapping.raters.get(rater, rater)
            if video is None:
                self._problem(row, "id-missing", "the video's name is missing.", "Fill it in.", "video_id")
                continue
            if (first := seen.setdefault((video, rater), row.number)) != row.number:
                what = f"video {video!r} by {rater!r} stands on line {first} already."
                self._problem(row, "label-twice", what, "Keep one row per video and rater.", None)
                continue
            for name, step in self.steps.items():
                label = self._label(row, video, step, {rater: row.cells.get(name)})
                rows[video, step] = self._merged(rows.get((video, step)), label)
        return list(rows.values())

    def _merged(self, first: LabelRow | None, second: LabelRow) -> LabelRow:
        if first is None:
            return second
        if first.applicable != second.applicable:
            what = f"one rater says not applicable, another does not (line {first.lines[0]})."
            self.problems.append(second.problem("applicable-differs", what, "Decide, and write the same in both rows."))
        scores, about = {**first.scores, **second.scores}, {**first.about, **second.about}
        return replace(first, scores=scores, about=about, lines=first.lines + second.lines)

    def _rater_columns(self, names: Sequence[str]) -> dict[str, str]:
        """The sheet's columns that hold points, and the raters' names in the dataset."""
        if self.mapping.raters:
            raters = {str(plain(name)): ours for name, ours in self.mapping.raters.items()}
        else:
            raters = {name: re.sub(r"[\s-]+", "_", name.casefold()) for name in names}
            raters = {name: ours for name, ours in raters.items() if ours.startswith("rater")}
        if CONSENSUS in self.columns:
            raters[self.columns[CONSENSUS]] = CONSENSUS
        if ignored := [name for name in names if name not in raters and name not in self.columns.values()]:
            what = f"columns {', '.join(map(repr, ignored[:8]))} are not read."
            fix = "Raters' columns are called rater_...; or name them under `raters:` in the mapping file."
            self.problems.append(Problem("columns-ignored", what, fix, self.file, severity="warning"))
        return raters

    def _label(self, row: SheetRow, video: str, step: str, points: Mapping[str, Any]) -> LabelRow:
        marks = {mark.casefold() for mark in (*_NOT_APPLICABLE, *map(plain, self.mapping.not_applicable))}
        not_applicable = [rater for rater, cell in points.items() if str(cell).casefold() in marks]
        about = {name: text for name in VIDEO_FIELDS if (text := self._text(row, name)) is not None}
        label = LabelRow(video, step, self.file, (row.number,), about=about)
        rule = self.rubric.by_id.get(step)
        if rule is None:
            self.problems.append(label.problem("step-unknown", "the rubric has no such step.", "Correct the id."))
        scores = {}
        for rater, cell in points.items():
            if cell is None or rater in not_applicable:
                continue
            value = number(cell)
            if value is None:
                what, fix = f"{cell!r} is not a number of points.", "Write the points alone, N/A or nothing."
                self.problems.append(label.problem("not-a-number", what, fix, rater))
            elif rule is not None and not 0 <= value <= rule.max_score:
                what = f"{value:g} is off the step's scale 0-{rule.max_score:g}."
                fix = "Correct the points, or max_score in the rubric."
                self.problems.append(label.problem("score-off-scale", what, fix, rater))
            else:
                scores[rater] = value
        if not_applicable and scores:
            what = f"{not_applicable[0]} says not applicable, {next(iter(scores))} gives points."
            self.problems.append(label.problem("applicable-differs", what, "Decide, and write the same for both."))
        return replace(label, scores=scores, applicable=self._applicable(row, label) and not not_applicable)

    def _applicable(self, row: SheetRow, label: LabelRow) -> bool:
        text = self._text(row, "applicable")
        if text is None or text.casefold() in _YES:
            return True
        if text.casefold() not in _NO:
            what = f"{text!r} is neither yes nor no."
            self.problems.append(label.problem("not-yes-or-no", what, "Write yes or no.", "applicable"))
        return False

    def _text(self, row: SheetRow, column: str) -> str | None:
        cell = row.cells.get(self.columns.get(column, ""))
        if isinstance(cell, float) and cell.is_integer():
            cell = int(cell)  # Excel keeps ids such as 7 as 7.0
        return None if cell is None else str(cell)

    def _time(self, row: SheetRow, column: str) -> float | None:
        cell = row.cells.get(self.columns.get(column, ""))
        if cell is None:
            return None
        if is_clock_cell(cell):
            what = f"the cell is a time of day ({cell}), which may mean minutes or hours."
            self._problem(
                row, "clock-cell", what, "Format the column as text (1:23.5) or write seconds (83.5).", column
            )
            return None
        seconds = seconds_of(cell)
        if seconds is None:
            self._problem(row, "not-a-time", f"{cell!r} is not a time.", "Write seconds (83.5) or 1:23.5.", column)
        return seconds

    def _problem(self, row: SheetRow, code: str, what: str, fix: str, where: str | None) -> None:
        self.problems.append(Problem(code, what, fix, self.file, row.number, where))

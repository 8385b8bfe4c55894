"""One row of a score sheet to the labels in it, and the labels of several rows to one."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from siming_tasks.common.errors import Problem
from siming_tasks.common.schema import CONSENSUS
from siming_tasks.rubrics import Rubric
from siming_tasks.rubrics.score_increment import HALF, HALF_POINTS_HINT, is_on_increment, named
from siming_tasks.tools.builder.sheets.cell_values import (
    folded,
    is_clock_cell,
    is_time_code,
    number,
    plain,
    seconds_of,
    text_of,
)
from siming_tasks.tools.builder.sheets.column_roles import Layout, rater_named
from siming_tasks.tools.builder.sheets.mapping import VIDEO_FIELDS, Words
from siming_tasks.tools.builder.sheets.sheet_tables import Sheet, SheetRow

__all__ = ["LabelRow", "Part", "Reader", "Row"]


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


_NOT_APPLICABLE = ("n/a", "na", "n.a.", "-", "--", "/", "不适用", "无")
_YES, _NO = ("true", "yes", "y", "1", "1.0", "是"), ("false", "no", "n", "0", "0.0", "否", *_NOT_APPLICABLE)


@dataclass
class Reader:
    """Collects the labels of all sheets; what is wrong goes to ``problems``.

    ``places`` are the videos and steps of each file that holds one rater's points, and where they stand.
    """

    rubric: Rubric
    words: Words
    problems: list[Problem]
    spelling: Callable[[str], str]
    rows: dict[tuple[str, str], LabelRow] = field(default_factory=dict)
    _seen: dict[tuple[Any, ...], tuple[str, int]] = field(default_factory=dict)
    _names: dict[str, str] = field(default_factory=dict)
    _said: set[str] = field(default_factory=set)
    places: dict[str, dict[tuple[str, str], str]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.marks = {
            str(mark).casefold() for mark in (*_NOT_APPLICABLE, *map(plain, self.words.mapping.not_applicable))
        }

    def all(self, parts: list[Part]) -> None:
        """Read every sheet, with its rater if its title names one, else that of its file."""
        whose = {index: self._titled(part) for index, part in enumerate(parts)}
        if len(parts) > 1 and (unclear := [parts[index].sheet for index, name in whose.items() if name == ""]):
            titles = [sheet.title or "" for sheet in unclear]
            what = f"sheets {', '.join(map(repr, titles))} do not say whose points they hold."
            pairs = ", ".join(f"{title}: rater_{chr(97 + index % 26)}" for index, title in enumerate(titles))
            fix = f"Write `raters: {{{pairs}}}` in the mapping file (--columns), or add a column `rater`."
            self.problems.append(Problem("rater-missing", what, fix, unclear[0].file))
        for index, part in enumerate(parts):
            for row in part.sheet.rows:
                self._row(Row(part, row), whose[index] or None)

    def _titled(self, part: Part) -> str | None:
        """The rater that the worksheet's title or the file names; "" if none does and one should, None if none need."""
        sheet, layout = part.sheet, part.layout
        if "rater" in layout.ours or not any(each.rater is None for each in layout.points):
            return None
        title = sheet.title or ""
        name = self.words.meaning("raters", title) or rater_named(title)
        if part.owner and not name:
            return self._known(sheet.file, None, part.owner, part.owner)
        return self._known(sheet.file, None, title, name) if name else ""

    def _row(self, row: Row, whose: str | None) -> None:
        name = text_of(row.cell("video_id"))
        cell = text_of(plain(row.cell("step_id")))
        if name is None or (row.layout.long and cell is None):
            what = "video_id and step_id must be filled." if row.layout.long else "the video's name is missing."
            self.problems.append(row.problem("id-missing", what, "Fill it in.", "video_id"))
            return
        if row.layout.times_only and row.cell("start") is None and row.cell("end") is None:
            return  # nobody filled it in
        video, step = self.spelling(name), cell and (self.words.meaning("steps", cell) or cell)
        if "rater" in row.layout.ours:
            whose = self._rater(row)
            if whose is None:
                return
        points: dict[str, dict[str, Any]] = {step: {}} if step else {}
        for each in row.layout.points:
            cells = points.setdefault(each.step or step or "", {})
            cells[each.rater or whose or CONSENSUS] = row.row.cells.get(each.column)
        who = whose or tuple(sorted({rater for cells in points.values() for rater in cells}))
        file, first = self._seen.setdefault((video, step, who), (row.file, row.number))
        if (file, first) != (row.file, row.number):
            where = f"line {first}" if file == row.file else f"{file}:{first}"
            if step:
                label = LabelRow(video, step, row.file, (row.number,))
                problem = label.problem(
                    "label-twice", f"stands on {where} already.", "Keep one row per video and step."
                )
            else:
                by = f" by {whose or CONSENSUS!r}" if whose or who == (CONSENSUS,) else ""
                what, fix = f"video {video!r}{by} stands on {where} already.", "Keep one row per video and rater."
                problem = row.problem("label-twice", what, fix, None)
            self.problems.append(problem)
            return
        for at, cells in points.items():
            label = self._label(row, video, at, cells)
            if whose and whose == row.part.owner:
                self.places.setdefault(row.part.path, {}).setdefault((video, at), f"{row.file}:{row.number}")
            known = self.rows.get((video, at))
            if row.layout.times_only and "applicable" not in row.layout.ours and known:
                label = replace(label, applicable=known.applicable)
            elif row.layout.times_only and not known:
                fix = "Write the names as they stand there, or delete this row."
                self.problems.append(label.problem("row-unlabelled", "the sheets with points have no such row.", fix))
            self.rows[video, at] = self._merged(known, label) if known else label

    def _rater(self, row: Row) -> str | None:
        """The rater that a cell names; None, with a finding, if it is empty."""
        cell = text_of(plain(row.cell("rater")))
        if cell is None:
            fix = f"Write the rater's name, or {CONSENSUS}."
            self.problems.append(row.problem("rater-missing", "the rater's cell is empty.", fix, "rater"))
            return None
        name = self.words.meaning("raters", cell)
        known = self.words.mapping.raters
        if (
            name is None
            and known
            and cell not in known.values()
            and folded(cell) != CONSENSUS
            and cell not in self._said
        ):
            self._said.add(cell)
            what, fix = f"rater {cell!r} is not in the mapping file's `raters:`.", f"Add `{cell}: rater_...`."
            self.problems.append(row.problem("rater-unmapped", what, fix, "rater"))
        return self._known(row.file, row.number, cell, name or (CONSENSUS if folded(cell) == CONSENSUS else cell))

    def _known(self, file: str, line: int | None, word: str, name: str) -> str:
        """The rater's name; a finding if another word already means the same rater."""
        first = self._names.setdefault(folded(name), word)
        if first != word and name != CONSENSUS and word not in self._said:
            self._said.add(word)
            what = f"raters {first!r} and {word!r} would both be {name!r}."
            fix = "Write one rater in one way, and give two raters two names under `raters:` in the mapping file."
            self.problems.append(Problem("two-sources", what, fix, file, line, "rater"))
        return name

    def _merged(self, first: LabelRow, second: LabelRow) -> LabelRow:
        """One step's label out of two rows, which must not contradict each other."""
        before = f"line {first.lines[0]}" if first.file == second.file else f"{first.file}:{first.lines[0]}"
        if first.applicable != second.applicable:
            what = f"one rater says not applicable, another does not ({before})."
            self.problems.append(second.problem("applicable-differs", what, "Decide, and write the same in both rows."))
        same = "Write the same in all rows."
        for name in {*first.about} & {*second.about}:
            if first.about[name] != second.about[name]:
                what = f"{name} is {second.about[name]!r} here and {first.about[name]!r} on {before}."
                self.problems.append(second.problem("video-differs", what, same, name))
        for name in ("start", "end"):
            left, right = getattr(first, name), getattr(second, name)
            if None not in (left, right) and left != right:
                what = f"{right:g} s here and {left:g} s on {before}."
                self.problems.append(second.problem("span-differs", what, same, name))
        for name in {*first.scores} & {*second.scores}:
            if first.scores[name] != second.scores[name] or name != CONSENSUS:
                what = f"{name} gives {second.scores[name]:g} here and {first.scores[name]:g} on {before}."
                self.problems.append(second.problem("two-sources", what, "Keep one of the two.", name))
        return replace(
            first,
            start=second.start if first.start is None else first.start,
            end=second.end if first.end is None else first.end,
            scores={**first.scores, **second.scores},
            about={**first.about, **second.about},
            lines=first.lines + second.lines,
        )

    def _label(self, row: Row, video: str, step: str, points: Mapping[str, Any]) -> LabelRow:
        about = {name: text for name in VIDEO_FIELDS if (text := text_of(plain(row.cell(name)))) is not None}
        label = LabelRow(video, step, row.file, (row.number,), about=about)
        rule = self.rubric.by_id.get(step)
        if rule is None and step not in self.words.mapping.steps.values():
            self.problems.append(label.problem("step-unknown", "the rubric has no such step.", "Correct the id."))
        cells = {rater: plain(cell) for rater, cell in points.items() if plain(cell) is not None}
        not_applicable = [rater for rater, cell in cells.items() if str(cell).casefold() in self.marks]
        scores = {}
        for rater, cell in cells.items():
            if rater in not_applicable:
                continue
            value = number(cell)
            if value is None:
                what, fix = f"{cell!r} is not a number of points.", "Write the points alone, N/A or nothing."
                self.problems.append(label.problem("not-a-number", what, fix, rater))
            elif rule is not None and not 0 <= value <= rule.max_score:
                what = f"{value:g} is off the step's scale 0-{rule.max_score:g}."
                fix = "Correct the points, or max_score in the rubric."
                self.problems.append(label.problem("score-off-scale", what, fix, rater))
            elif rule is not None and not is_on_increment(value, rule.score_increment):
                what = f"{value:g} points, but this step has {named(rule.score_increment)} points only."
                fix = f"Correct them. {HALF_POINTS_HINT}" if is_on_increment(value, HALF) else "Correct them."
                self.problems.append(label.problem("score-off-increment", what, fix, rater))
            else:
                scores[rater] = value
        applicable = self._applicable(row, label)
        if scores and (not_applicable or applicable is False):
            who = not_applicable[0] if not_applicable else "the column applicable"
            what = f"{who} says not applicable, {next(iter(scores))} gives points."
            self.problems.append(label.problem("applicable-differs", what, "Decide, and write the same for both."))
        for column in {each.column for each in row.layout.points if each.step in (None, step)} & row.row.merged:
            what, fix = f"column {column!r}: a merged cell.", "Undo the merging and write each rater's points."
            self.problems.append(label.problem("merged-points", what, fix))
        start, end = self._time(row, "start"), self._time(row, "end")
        return replace(label, start=start, end=end, scores=scores, applicable=bool(applicable) and not not_applicable)

    def _applicable(self, row: Row, label: LabelRow) -> bool | None:
        """None for a word that means neither."""
        text = text_of(plain(row.cell("applicable")))
        if text is None or text.casefold() in _YES:
            return True
        if text.casefold() in _NO:
            return False
        what = f"{text!r} is neither yes nor no."
        self.problems.append(label.problem("not-yes-or-no", what, "Write yes or no.", "applicable"))
        return None

    def _time(self, row: Row, column: str) -> float | None:
        cell = plain(row.cell(column))
        if cell is None:
            return None
        if is_clock_cell(cell):
            what = f"the cell is a time of day ({cell}), which may mean minutes or hours."
            fix = "Format the column as text (1:23.5) or write seconds (83.5)."
            self.problems.append(row.problem("clock-cell", what, fix, column))
            return None
        seconds = seconds_of(cell, self.words.rate)
        if seconds is None:
            fix = "Write seconds (83.5) or 1:23.5."
            if is_time_code(cell):
                fix = "Say how many frames a second has, such as `rate: 25`, in the mapping file (--columns)."
                fix = fix if self.words.rate is None else f"Its frames do not fit `rate: {self.words.mapping.rate}`."
            self.problems.append(row.problem("not-a-time", f"{cell!r} is not a time.", fix, column))
        elif row.layout.ours.get(column) in row.row.merged:
            what, fix = "a merged cell.", "Undo the merging and write each step's time."
            self.problems.append(row.problem("merged-points", what, fix, column))
        return seconds

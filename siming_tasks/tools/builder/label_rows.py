"""One row of a score sheet to the labels in it, and the labels of several rows to one."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from siming_tasks.common.errors import Problem
from siming_tasks.common.schema import CONSENSUS
from siming_tasks.rubrics import Rubric
from siming_tasks.rubrics.rubric import HALF, HALF_POINTS_HINT, is_on_increment, named
from siming_tasks.tools.builder.cells import (
    TIME_CODE,
    Unit,
    folded,
    number,
    plain,
    seconds_of,
    text_of,
    unit_of,
)
from siming_tasks.tools.builder.mapping import VIDEO_FIELDS, Layout, Words, rater_named
from siming_tasks.tools.builder.sheet_rows import Sheet, SheetRow

NOT_APPLICABLE = ("n/a", "na", "n.a.", "-", "--", "/", "不适用", "无")
_UNIT_NAMES: dict[Unit, str] = {
    "ms": "milliseconds",
    "us": "microseconds",
    "min": "minutes",
    "h": "hours",
    "frames": "whole frames",
    "clock": "minutes and seconds (1:23.5)",
    "?": "no unit that is known (seconds, ms, minutes, frames, m:s)",
}
_YES, _NO = ("true", "yes", "y", "1", "1.0", "是"), ("false", "no", "n", "0", "0.0", "否", *NOT_APPLICABLE)


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
class _Row:
    """One row of a sheet, by the names that we give its columns."""

    part: Part
    row: SheetRow

    def cell(self, ours: str) -> Any:
        """The cell in a column of ours; None if the sheet has none."""
        return self.row.cells.get(self.part.layout.ours.get(ours, ""))

    def problem(self, code: str, what: str, fix: str, where: str | None) -> Problem:
        return Problem(code, what, fix, self.part.sheet.file, self.row.number, where)


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
    places: dict[str, dict[tuple[str, str], str]] = field(default_factory=dict)
    _seen: dict[tuple[Any, ...], tuple[str, int]] = field(default_factory=dict)
    _names: dict[str, str] = field(default_factory=dict)
    _said: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        further = map(plain, self.words.mapping.not_applicable)
        self._folded = {folded(step): step for step in self.rubric.by_id}
        self._marks = {str(mark).casefold() for mark in (*NOT_APPLICABLE, *further)}

    def read(self, parts: Sequence[Part]) -> None:
        """Read every sheet, with its rater if its title names one, else that of its file."""
        whose = [self._titled(part) for part in parts]
        titles = [part.sheet.title or "" for part, name in zip(parts, whose, strict=True) if name == ""]
        if len(parts) > 1 and titles:
            what = f"sheets {', '.join(map(repr, titles))} do not say whose points they hold."
            pairs = ", ".join(f"{title}: rater_{chr(97 + index % 26)}" for index, title in enumerate(titles))
            fix = f"Write `raters: {{{pairs}}}` in the mapping file (--columns), or add a column `rater`."
            self.problems.append(Problem("rater-missing", what, fix, parts[whose.index("")].sheet.file))
        for part, name in zip(parts, whose, strict=True):
            for row in part.sheet.rows:
                self._row(_Row(part, row), name or None)

    def _titled(self, part: Part) -> str | None:
        """The rater that the worksheet's title or the file names; "" if none does and one should, None if none need."""
        sheet, layout = part.sheet, part.layout
        if "rater" in layout.ours or not any(each.rater is None for each in layout.points):
            return None
        title = sheet.title or ""
        name = self.words.meaning("raters", title) or rater_named(title)
        if part.owner and not name:
            title = name = part.owner
        return self._known(sheet.file, None, title, name) if name else ""

    def _row(self, row: _Row, whose: str | None) -> None:
        layout, file, line = row.part.layout, row.part.sheet.file, row.row.number
        name, cell = text_of(row.cell("video_id")), text_of(plain(row.cell("step_id")))
        if name is None or (layout.long and cell is None):
            what = "video_id and step_id must be filled." if layout.long else "the video's name is missing."
            self.problems.append(row.problem("id-missing", what, "Fill it in.", "video_id"))
            return
        if layout.times_only and row.cell("start") is None and row.cell("end") is None:
            return  # nobody filled it in
        video, step = self.spelling(name), cell and (self.words.meaning("steps", cell) or self._step(cell))
        if "rater" in layout.ours and (whose := self._rater(row)) is None:
            return
        points: dict[str, dict[str, Any]] = {step: {}} if step else {}
        for each in layout.points:
            cells = points.setdefault(each.step or step or "", {})
            cells[each.rater or whose or CONSENSUS] = row.row.cells.get(each.column)
        who = whose or tuple(sorted({rater for cells in points.values() for rater in cells}))
        first = self._seen.setdefault((video, step, who), (file, line))
        if first != (file, line):
            what = f"stands on {f'line {first[1]}' if first[0] == file else f'{first[0]}:{first[1]}'} already"
            what += "." if name == video else f", as {video!r}: {name!r} is the same file."
            if step:
                label = LabelRow(video, step, file, (line,))
                problem = label.problem("label-twice", what, "Keep one row per video and step.")
            else:
                by = f" by {whose or CONSENSUS!r}" if whose or who == (CONSENSUS,) else ""
                fix = "Keep one row per video and rater."
                problem = row.problem("label-twice", f"video {video!r}{by} {what}", fix, None)
            self.problems.append(problem)
            return
        for at, cells in points.items():
            label = self._label(row, video, at, cells)
            if whose and whose == row.part.owner:
                self.places.setdefault(row.part.path, {}).setdefault((video, at), f"{file}:{line}")
            known = self.rows.get((video, at))
            if layout.times_only and "applicable" not in layout.ours and known:
                label = replace(label, applicable=known.applicable)
            elif layout.times_only and not known:
                fix = "Write the names as they stand there, or delete this row."
                self.problems.append(label.problem("row-unlabelled", "the sheets with points have no such row.", fix))
            self.rows[video, at] = self._merged(known, label) if known else label

    def _step(self, cell: str) -> str:
        """The rubric's step that a cell names, as headings name it; the cell itself if there is none."""
        return cell if cell in self.rubric.by_id else self._folded.get(folded(cell), cell)

    def _rater(self, row: _Row) -> str | None:
        """The rater that a cell names; None, with a finding, if it is empty."""
        cell = text_of(plain(row.cell("rater")))
        if cell is None:
            fix = f"Write the rater's name, or {CONSENSUS}."
            self.problems.append(row.problem("rater-missing", "the rater's cell is empty.", fix, "rater"))
            return None
        name, known = self.words.meaning("raters", cell), self.words.mapping.raters
        covered = name is not None or not known or cell in known.values() or folded(cell) == CONSENSUS
        if not covered and cell not in self._said:
            self._said.add(cell)
            what, fix = f"rater {cell!r} is not in the mapping file's `raters:`.", f"Add `{cell}: rater_...`."
            self.problems.append(row.problem("rater-unmapped", what, fix, "rater"))
        name = name or (CONSENSUS if folded(cell) == CONSENSUS else cell)
        return self._known(row.part.sheet.file, row.row.number, cell, name)

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

    def _label(self, row: _Row, video: str, step: str, points: Mapping[str, Any]) -> LabelRow:
        about = {name: text for name in VIDEO_FIELDS if (text := text_of(plain(row.cell(name)))) is not None}
        label = LabelRow(video, step, row.part.sheet.file, (row.row.number,), about=about)
        rule = self.rubric.by_id.get(step)
        if rule is None and step not in self.words.mapping.steps.values():
            self.problems.append(label.problem("step-unknown", "the rubric has no such step.", "Correct the id."))
        cells = {rater: plain(cell) for rater, cell in points.items() if plain(cell) is not None}
        not_applicable = [rater for rater, cell in cells.items() if str(cell).casefold() in self._marks]
        scores = {}
        for rater, cell in cells.items():
            value = number(cell)
            if rater in not_applicable:
                continue
            if row.part.sheet.is_unclear(cell):
                what, fix = f"{cell!r} may be a thousand or a decimal number.", "Write it with a decimal point (1.5)."
                self.problems.append(label.problem("number-unclear", what, fix, rater))
            elif value is None:
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
        applies = text_of(plain(row.cell("applicable")))
        applicable = applies is None or applies.casefold() in _YES
        refused = not applicable and str(applies).casefold() in _NO
        if not applicable and not refused:
            what = f"{applies!r} is neither yes nor no."
            self.problems.append(label.problem("not-yes-or-no", what, "Write yes or no.", "applicable"))
        if scores and (not_applicable or refused):
            who = not_applicable[0] if not_applicable else "the column applicable"
            what = f"{who} says not applicable, {next(iter(scores))} gives points."
            self.problems.append(label.problem("applicable-differs", what, "Decide, and write the same for both."))
        for column in {each.column for each in row.part.layout.points if each.step in (None, step)} & row.row.merged:
            what, fix = f"column {column!r}: a merged cell.", "Undo the merging and write each rater's points."
            self.problems.append(label.problem("merged-points", what, fix))
        start, end = self._time(row, "start"), self._time(row, "end")
        return replace(label, start=start, end=end, scores=scores, applicable=applicable and not not_applicable)

    def _time(self, row: _Row, column: str) -> float | None:
        cell = plain(row.cell(column))
        if cell is None:
            return None
        # A spreadsheet makes a time of day of the input 1:23.
        if isinstance(cell, datetime.time | datetime.datetime | datetime.timedelta):
            kind = "duration" if isinstance(cell, datetime.timedelta) else "time of day"
            what = f"the cell is a {kind} ({cell}), which may mean minutes or hours."
            fix = "Format the column as text (1:23.5) or write seconds (83.5)."
            self.problems.append(row.problem("clock-cell", what, fix, column))
            return None
        heading = row.part.layout.ours[column]
        unit = unit_of(heading)[1] or "s"
        seconds = seconds_of(cell, self.words.rate, unit)
        if row.part.sheet.is_unclear(cell):
            what = f"{cell!r} may be a thousand or a decimal number."
            fix = "Write it without a sign for thousands (1234), and a decimal number with a point (1.5)."
            self.problems.append(row.problem("number-unclear", what, fix, column))
            return None
        if seconds is None:
            fix = "Write seconds (83.5) or 1:23.5."
            if unit != "s":
                fix = f"The heading {heading!r} says {_UNIT_NAMES[unit]}. Write such a number, or another heading."
            if unit == "frames" and self.words.rate is None:
                fix = f"The heading {heading!r} counts frames: say how many a second has, such as `rate: 25`, in the "
                fix += "mapping file (--columns), or give --spans-fps."
            elif TIME_CODE.match(str(cell)):
                fix = "Say how many frames a second has, such as `rate: 25`, in the mapping file (--columns)."
                fix = fix if self.words.rate is None else f"Its frames do not fit `rate: {self.words.mapping.rate}`."
            self.problems.append(row.problem("not-a-time", f"{cell!r} is not a time.", fix, column))
        elif row.part.layout.ours.get(column) in row.row.merged:
            what, fix = "a merged cell.", "Undo the merging and write each step's time."
            self.problems.append(row.problem("merged-points", what, fix, column))
        return seconds

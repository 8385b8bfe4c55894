"""Tables of labels: the long one, the wide one of ``data template``, times of steps, or a station's event log.

The first row of a table has its headings, exactly:

* long, one row per judgment: ``video_id, step_id, rater, points`` and optionally ``start, end, student, site``;
* wide, one row per video and rater: ``video_id, rater``, optionally ``student, site``, and steps by their ids, or by
  their names exactly as the rubric has them;
* times, one row per step of a video: ``video_id, step_id`` and optionally ``start, end, student, site``.

A table is a CSV file (UTF-8, commas, decimal points) or one sheet of a workbook. Whatever else is refused, all of it at
once, each finding with file, row, column, the value and the way out.
"""

from __future__ import annotations

import csv
import difflib
import io
import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from itertools import zip_longest
from pathlib import Path

from siming_tasks.benchmark.rubrics import Rubric, RubricStep
from siming_tasks.benchmark.rubrics.rubric import HALF, HALF_POINTS_HINT, WHOLE, is_on_increment
from siming_tasks.benchmark.types import CONSENSUS
from siming_tasks.common.errors import DataError, Problem
from siming_tasks.common.files import open_regular, read_text
from siming_tasks.common.person_names import LOST, not_a_name
from siming_tasks.common.printed_value import counted
from siming_tasks.common.sanitize import cell_text, shown_name
from siming_tasks.tools.builder.event_log_sheet import UseRatings, ratings_labels
from siming_tasks.tools.builder.label_rows import COLUMNS, NAMES, NOT_APPLICABLE, VIDEO_FIELDS, Judgment
from siming_tasks.tools.builder.workbook import MAX_COLUMNS, MAX_ROWS, MAX_UNPACKED, Grid, read_workbook
from siming_tasks.tools.station.event_log import is_event_log

FORMS = (
    "A table has the headings `video_id, step_id, rater, points` (one row per judgment), or `video_id, rater` and "
    "steps (one row per video and rater), or `video_id, step_id, start, end` (times); `siming data template` makes a "
    "workbook to copy them into."
)
_WORKBOOKS = (b"PK\x03\x04", b"PK\x05\x06", b"\xd0\xcf\x11\xe0")
"""How workbooks begin: an archive, or an old or protected one."""
_SAVE = "Save it as .xlsx, or as CSV UTF-8 (comma delimited)."
_NUMBER = re.compile(r"-?[0-9]{1,9}(?:\.[0-9]{1,9})?")
_CLOCK = re.compile(r"(?:([0-9]{1,2}):)?([0-9]{1,3}):([0-5]?[0-9](?:\.[0-9]{1,9})?)")


def read_labels(
    paths: Sequence[Path], rubric: Rubric, ratings: UseRatings | None = None
) -> tuple[list[Judgment], list[Problem]]:
    """The judgments of all tables and event logs together, in their order, and what is wrong with them.

    Raises:
        DataError: a file cannot be read at all, or gives nothing; ``.problems`` has what was found in the others, too.
    """
    judgments: list[Judgment] = []
    problems: list[Problem] = []
    failed: list[Problem] = []
    empty: list[Path] = []
    for step_id in sorted({*COLUMNS} & {*rubric.by_id}):
        what = f"step {step_id!r} of the rubric has the name of a column."
        problems.append(Problem("step-id-reserved", what, "Give it another id in the rubric."))
    for path in paths:
        try:
            if is_event_log(path):
                rows, found = ratings_labels(path, rubric, ratings or UseRatings())
            else:
                rows, found = [], []
                for grid in read_grids(path):
                    table = _Table(grid, rubric, found)
                    rows += table.judgments()
                    # Cells of what is no table, or of one whose headings are wrong, are not the cause.
                    found += grid.problems if table.has_headings else []
        except DataError as error:
            failed += error.problems or [Problem("unreadable", str(error), "")]
            continue
        if all(row.says_nothing for row in rows) and not any(problem.severity == "error" for problem in found):
            empty.append(path)
        judgments += rows
        problems += found
    if any(row.points is not None for row in judgments):  # else the labels are withheld
        fix = "Fill it in, or leave the file out."
        problems += [Problem("nothing-read", "gives no points and no times.", fix, str(path)) for path in empty]
        if not any(problem.severity == "error" for problem in problems):
            problems += _silent_raters(judgments)
    if failed:
        raise DataError(str(DataError.of([*failed, *problems], shown=20)), [*failed, *problems])
    return judgments, problems


def _silent_raters(judgments: Sequence[Judgment]) -> Iterator[Problem]:
    """A finding for each rater whose rows are all empty, such as a sheet that is not filled in yet."""
    rows: dict[str, list[Judgment]] = {}
    for row in judgments:
        rows.setdefault(row.rater, []).append(row)
    for name, given in rows.items():
        if name not in ("", CONSENSUS) and all(row.says_nothing for row in given):
            what, fix = f"{name!r} has rows and gives no points.", "Fill them in, or delete the rows (or the sheet)."
            yield Problem("nothing-read", what, fix, given[0].file, given[0].line, "rater")


def number_of(text: str) -> float | None:
    """The number that a cell spells with digits and a decimal point; None if it is spelled otherwise.

    Example:
        >>> number_of("1.5"), number_of("1,5"), number_of("1E1"), number_of("50 %"), number_of("٢")
        (1.5, None, None, None, None)
    """
    return float(text) if _NUMBER.fullmatch(text) else None


def seconds_of(text: str) -> float | None:
    """Seconds, spelled as a number or as ``[h:]m:s``; None if it is neither.

    Example:
        >>> seconds_of("83.5"), seconds_of("1:23.5"), seconds_of("1:02:03"), seconds_of("1:75"), seconds_of("2 s")
        (83.5, 83.5, 3723.0, None, None)
    """
    if (number := number_of(text)) is not None:
        return number
    clock = _CLOCK.fullmatch(text)
    if clock is None or (clock[1] and int(clock[2]) > 59):
        return None
    return 3600 * int(clock[1] or 0) + 60 * int(clock[2]) + float(clock[3])


def read_grids(path: Path) -> list[Grid]:
    """The sheets of a workbook, or the rows of a CSV file, known by its first bytes.

    Raises:
        DataError: the file as a whole cannot be read, or has no row.
    """
    try:
        with open_regular(path) as stream:
            head = stream.read(64)
    except OSError as error:
        raise DataError(f"{path}: {error.strerror}. Give the path of a table of labels.") from None
    workbook = head.startswith(_WORKBOOKS) or path.suffix.lower() == ".xlsx"
    if not workbook and path.suffix.lower() != ".csv":
        raise DataError(f"{path}: a table of labels is .csv or .xlsx. {_SAVE}")
    grids = read_workbook(path) if workbook else [_csv(path)]
    if not any(len(grid.rows) > 1 for grid in grids):
        raise DataError(f"{path}: no row below the headings. Is it the right file?")
    return grids


def _csv(path: Path) -> Grid:
    text = read_text(path, MAX_UNPACKED, _SAVE)
    if "\0" in text:
        raise DataError(f"{path}: contains NUL characters; not a text file. {_SAVE}")
    head = text.partition("\n")[0]
    if "," not in head and (mark := next((mark for mark in ";\t|" if mark in head), None)):
        raise DataError(f"{path}:1: its cells are separated by {mark!r}, not by commas. Save it as .xlsx.")
    reader = csv.reader(io.StringIO(text, newline=""), strict=True)
    rows: list[tuple[int, list[str]]] = []
    try:
        for cells in reader:
            if reader.line_num > MAX_ROWS or len(cells) > MAX_COLUMNS:
                most = f"at most {MAX_ROWS:,} rows and {MAX_COLUMNS:,} columns are read"
                raise DataError(f"{path}:{reader.line_num}: {most}. Delete everything outside the table.")
            rows.append((reader.line_num, [cell_text(cell.strip()) for cell in cells]))
    except csv.Error as error:
        raise DataError(f"{path}:{reader.line_num}: not CSV: {error}. Check the quotes of that line.") from None
    return Grid(str(path), [(number, cells) for number, cells in rows if any(cells)], [])


class _Table:
    """One grid read as a table; what is wrong goes to ``problems``."""

    def __init__(self, grid: Grid, rubric: Rubric, problems: list[Problem]) -> None:
        self.file, self.grid, self.rubric, self.problems = grid.file, grid, rubric, problems
        self._unknown: set[str] = set()
        self.has_headings = False

    def _add(self, code: str, what: str, fix: str, row: int, column: str | None = None) -> None:
        self.problems.append(Problem(code, what, fix, self.file, row, column))

    def judgments(self) -> Iterator[Judgment]:
        """The judgments of all rows; none if the headings are not those of a table."""
        (number, heads), *below = self.grid.rows
        heads = self._steps_by_name(heads)
        self.has_headings = self._headings(number, heads)
        if not self.has_headings:
            return
        steps = [head for head in heads if head in self.rubric.by_id]
        for number, cells in below:
            if any(cells[len(heads) :]) or any(cell for head, cell in zip(heads, cells, strict=False) if not head):
                what = f"{counted(len([cell for cell in cells if cell]), 'cell')}, and some have no heading."
                fix = "Use decimal points, put quotes around cells with commas, and give each column a heading."
                self._add("row-too-long", what, fix, number)
                continue
            whole = zip_longest(heads, cells[: len(heads)], fillvalue="")
            row = defaultdict(str, {head: cell for head, cell in whole if head})
            yield from self._row(number, row, steps)

    def _steps_by_name(self, heads: Sequence[str]) -> list[str]:
        """The headings of a wide table, with the ids of steps that are called exactly as one step of the rubric."""
        if "step_id" in heads:
            return list(heads)
        named = [
            (" ".join(name.split()), step.id) for step in self.rubric.steps for name in (step.name, step.name_zh or "")
        ]
        often = Counter(name for name, _ in {*named})
        ids = {name: step for name, step in named if name and often[name] == 1 and name not in self.rubric.by_id}
        kept = {"video_id", "rater", *VIDEO_FIELDS}
        return [head if head in kept else ids.get(" ".join(head.split()), head) for head in heads]

    def _headings(self, number: int, heads: Sequence[str]) -> bool:
        """True if rows can be read below these headings; what is wrong with them is a finding either way."""
        long = "step_id" in heads
        allowed = {*COLUMNS} if long else {"video_id", "rater", *VIDEO_FIELDS, *self.rubric.by_id}
        if "video_id" not in heads:
            what = f"{', '.join(map(repr, filter(None, heads[:12])))} are not headings of a table."
            fix = f"{FORMS} Write them into the first row, and nothing above them."
            if self.file.endswith("]"):  # one sheet of several
                fix = f"Delete the sheet if it is not a table of labels, or move it to another file. {FORMS}"
            if lower := next((row for row, cells in self.grid.rows if "video_id" in cells), None):
                what, fix = f"the headings are in row {lower}.", "Delete the rows above them."
            self._add("columns-missing", what, fix, number)
            return False
        for at, head in enumerate(heads):
            if head and heads.index(head) != at:
                self._add("column-twice", f"two columns are called {head!r}.", "Delete one.", number, head)
        unknown = [(at, head) for at, head in enumerate(heads) if head and head not in allowed]
        if unknown:
            from openpyxl.utils import get_column_letter

            at, head = unknown[0]
            near = difflib.get_close_matches(head, self.rubric.by_id, 1, 0.6)
            like = f"If its cells are points from 0 to the step's maximum, write {near[0]!r}" if near else \
                "If its cells are points of a step, write the step's id or exact name"  # fmt: skip
            like = "If its cells are a rater's points, write one row per judgment" if long else like
            more = f" (nor {', '.join(repr(each) for _, each in unknown[1:12])})" if unknown[1:] else ""
            what = f"{head!r} is not a column of a {'long' if long else 'wide'} table{more}."
            self._add(
                "columns-unknown",
                what,
                f"{like}; otherwise delete the column.",
                number,
                f"column {get_column_letter(at + 1)}",
            )
        judged = {"rater", "points"} if long else {"rater"}
        only_times = long and not judged & {*heads}
        if lacking := set() if only_times else judged - {*heads}:
            fix = "Add it: who judged (`consensus` for agreed points), and in a long table the points."
            self._add("columns-missing", f"there is no column {' and '.join(sorted(lacking))}.", fix, number)
        if not long and not set(heads) & set(self.rubric.by_id):
            self._add("columns-missing", "no column is a step of the rubric.", FORMS, number)
            return False
        return not lacking

    def _row(self, number: int, row: Mapping[str, str], steps: Sequence[str]) -> Iterator[Judgment]:
        long = "step_id" in row
        needed = [name for name in ("video_id", "step_id") if name in row and not row[name]]
        for name in needed:
            self._add("id-missing", "the cell is empty.", "Fill it in, or delete the row.", number, name)
        points = {row["step_id"]: "points"} if long else {step: step for step in steps}
        if not long and not any(row[column] for column in ("rater", *steps)):
            shown = next(filter(None, row.values()), "")
            self._add("row-empty", f"no rater and no points, but {shown!r}.", "Fill the row in, or delete it.", number)
            return
        if not row["rater"] and any(row[column] for column in points.values()):
            self._add("rater-missing", "the cell is empty.", "Write who judged, or `consensus`.", number, "rater")
            return
        self._names(number, row)
        start, end = (self._time(number, row[column], column) for column in ("start", "end"))
        about = {name: row[name] for name in VIDEO_FIELDS if row[name]}
        for step_id, column in points.items() if not needed else ():
            if (step := self.rubric.by_id.get(step_id)) is None:
                self._unknown_step(number, step_id)
                continue
            value, applicable = self._points(number, row[column], step, column)
            place = (row["video_id"], step_id, self.file, number)
            yield Judgment(*place, row["rater"], value, applicable, start, end, about)

    def _names(self, number: int, row: Mapping[str, str]) -> None:
        """A finding for each name that nobody can see to be what it is."""
        for heading in NAMES:
            name = row[heading]
            if odd := re.search(r"⟦(U\+[0-9A-F]+)⟧", shown_name(name)):
                what = f"{name!r} contains the invisible character {odd[1]}."
                self._add("name-unseen", what, "Write the name again, by hand.", number, heading)
            if heading == "video_id" and LOST in name:
                self._add("no-name", f"{name!r} {not_a_name(name)}.", "Write the name again.", number, heading)
            elif heading in ("rater", *VIDEO_FIELDS) and re.fullmatch(r"[0-9]+\.0+", name):
                fix = f"Write {name.partition('.')[0]!r}, in every table."
                self._add("no-name", f"{name!r} is a number that a program wrote.", fix, number, heading)

    def _unknown_step(self, number: int, step_id: str) -> None:
        """A finding for each unknown step, however many rows have it."""
        if step_id not in self._unknown:
            self._unknown.add(step_id)
            near = difflib.get_close_matches(step_id, self.rubric.by_id, 1, 0.6)
            fix = f"Write the id as the rubric has it{f' ({near[0]!r}?)' if near else ''}."
            self._add("step-unknown", f"{step_id!r} is not a step of the rubric.", fix, number, "step_id")

    def _points(self, number: int, text: str, step: RubricStep, column: str) -> tuple[float | None, bool]:
        """Points (None: none given, or no points) and whether the step applies."""
        if not text or text.upper() == NOT_APPLICABLE:
            return None, not text
        value = number_of(text)
        if value is None:
            fix = f"Write only the points, with a decimal point (2 or 1.5), {NOT_APPLICABLE}, or nothing."
            self._add("not-a-number", f"{text!r} is not a number of points.", fix, number, column)
        elif not 0 <= value <= step.max_score:
            what = f"{text} is outside the range of {step.id}, 0-{step.max_score:g}."
            self._add("score-off-scale", what, "Correct the points, or max_score in the rubric.", number, column)
        elif not is_on_increment(value, step.score_increment):
            allowed = "whole" if step.score_increment == WHOLE else "whole and half"
            what = f"{text} points, but {step.id} has {allowed} points only."
            fix = f"Correct them. {HALF_POINTS_HINT}" if is_on_increment(value, HALF) else "Correct them."
            self._add("score-off-increment", what, fix, number, column)
        else:
            return value, True
        return None, True

    def _time(self, number: int, text: str, column: str) -> float | None:
        if not text:
            return None
        if (seconds := seconds_of(text)) is None:
            what = f"{text!r} is not a time."
            self._add("not-a-time", what, "Write seconds (83.5) or minutes:seconds (1:23.5).", number, column)
        return seconds

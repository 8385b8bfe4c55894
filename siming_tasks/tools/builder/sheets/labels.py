"""Score sheets to label rows: the long and the wide form, one sheet or several, raters in rows, columns or sheets."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from pathlib import Path

from siming_tasks.common.errors import DataError, Problem
from siming_tasks.common.schema import CONSENSUS
from siming_tasks.rubrics import Rubric
from siming_tasks.tools.builder.sheets.column_roles import Kind, Layout, layout_of
from siming_tasks.tools.builder.sheets.event_log_sheet import UseRatings, ratings_sheet
from siming_tasks.tools.builder.sheets.label_rows import LabelRow, Part, Reader
from siming_tasks.tools.builder.sheets.mapping import SheetMapping, Words
from siming_tasks.tools.builder.sheets.match_videos import one_spelling
from siming_tasks.tools.builder.sheets.sheet_per_rater import LabelFile, owner_problems, owners, stated_twice, unequal
from siming_tasks.tools.builder.sheets.sheet_tables import Sheet, read_table
from siming_tasks.tools.station.event_log import is_event_log

__all__ = ["LabelRow", "read_labels", "read_sheets"]


def read_labels(
    path: Path, rubric: Rubric, mapping: SheetMapping | None = None, encoding: str | None = None
) -> tuple[list[LabelRow], list[Problem]]:
    """The label rows of a sheet, one per video and step, in sheet order.

    A sheet with a ``step_id`` column is long; one without, whose columns are steps, is wide.

    Raises:
        DataError: the file cannot be read, or its columns are not those of a label sheet.
    """
    words = Words(mapping or SheetMapping())
    rows, problems = read_sheets(path, rubric, words, encoding)
    return rows, problems + words.unmatched([path])


def read_sheets(
    files: Path | Sequence[LabelFile],
    rubric: Rubric,
    words: Words,
    encoding: str | None = None,
    kind: Kind = "labels",
    raters: Collection[str] = (),
    spelling: Callable[[str], str] | None = None,
    ratings: UseRatings | None = None,
) -> tuple[list[LabelRow], list[Problem]]:
    """The label rows of all sheets of a file (or of several, one per physician) that are of this kind.

    Args:
        files: the file or files.
        rubric: what the points refer to.
        words: the mapping; it remembers what was met.
        encoding: of a CSV file.
        kind: a score sheet, a sheet of spans, or the list of adjudicated rows.
        raters: further names of raters that headings may have.
        spelling: the one spelling of a video's name that all its rows get.
        ratings: how the event log of a rating station is read, if the file is one.

    Raises:
        DataError: as :func:`read_labels`; ``.problems`` has whatever was found before.
    """
    files = [LabelFile(files)] if isinstance(files, Path) else files
    whose = owners(files, words)
    problems = list(owner_problems(files, whose))
    failed: list[Problem] = []
    parts: list[Part] = []
    for file, name in zip(files, whose, strict=True) if not problems else ():
        try:
            layouts = _layouts(file.path, rubric, words, encoding, kind, raters, problems, ratings)
        except DataError as error:
            failed += error.problems or [Problem("unreadable", str(error), "")]
            continue
        problems += filter(None, [stated_twice(file, layout) for _, layout in layouts])
        parts += [Part(sheet, layout, str(file.path), name) for sheet, layout in layouts]
    if failed:
        raise DataError.of([*failed, *problems], shown=20)
    problems += _steps_unknown(rubric, words, files[0].path)
    reader = Reader(rubric, words, problems, spelling or one_spelling)
    parts.sort(key=lambda part: part.layout.times_only)
    reader.all([part for part in parts if part.sheet.rows])
    problems += unequal(reader.places, {part.path for part in parts if part.owner == CONSENSUS})
    for part in parts:
        problems += part.sheet.problems
        problems += part.layout.problems(part.sheet, part.sheet.file)
    return list(reader.rows.values()), problems


def _layouts(
    path: Path,
    rubric: Rubric,
    words: Words,
    encoding: str | None,
    kind: Kind,
    raters: Collection[str],
    problems: list[Problem],
    ratings: UseRatings | None,
) -> list[tuple[Sheet, Layout]]:
    """The sheets of a file that are of this kind, with what their columns are; findings go to ``problems``."""
    sheets: tuple[Sheet, ...]
    if is_event_log(path):
        sheet, sheet_problems = ratings_sheet(path, rubric, kind, ratings or UseRatings())
        sheets = (sheet,)
    else:
        sheets, sheet_problems = read_table(
            path, encoding, ["video_id", words.mapping.columns.get("video_id", "video_id")]
        )
    problems += sheet_problems
    layouts: list[tuple[Sheet, Layout]] = []
    other: list[Sheet] = []
    for sheet in sheets:
        if sheet.title is not None and words.ignored(sheet.title):
            what = f"left out on purpose: sheet {sheet.title!r}."
            problems.append(Problem("sheet-left-out", what, "Nothing to do.", str(path), severity="warning"))
            continue
        layout = layout_of(sheet, rubric, words, kind, raters)
        whole = {"video_id", "start", "end"} if kind == "spans" else {"video_id"}
        if whole <= set(layout.ours) and (layout.long or (layout.points and kind == "labels")):
            layouts.append((sheet, layout))
        else:
            other.append(sheet)
    if not layouts:
        raise DataError.of([_no_sheet(path, kind, other), *(p for sheet in other for p in sheet.problems)], shown=20)
    if any(layout.points for _, layout in layouts):
        for _, layout in layouts:
            layout.times_only = not layout.points and {"start", "end"} <= set(layout.ours)
    problems += _unread(path, other)
    return layouts


def _no_sheet(path: Path, kind: Kind, sheets: Iterable[Sheet]) -> Problem:
    shown = ", ".join(repr(column.name) for sheet in sheets for column in sheet.columns[:12])
    what = {
        "labels": "a label sheet has the columns video_id and step_id (long form) or video_id and one column per "
        "rubric step (wide form).",
        "spans": "a sheet of spans has the columns video_id, step_id, start and end.",
        "adjudicated": "the list of adjudicated rows has the columns video_id, step_id and consensus.",
    }[kind]
    fix = "A mapping file (--columns) says which column is which."
    return Problem("columns-missing", f"{what} Found {shown or 'none'}.", fix, str(path))


def _unread(path: Path, sheets: Iterable[Sheet]) -> list[Problem]:
    """Worksheets beside the label sheets: empty ones are named, others must be left out on purpose."""
    unread = []
    for full in (True, False):
        if titles := [sheet.title or "" for sheet in sheets if bool(sheet.columns) is full]:
            shown = ", ".join(map(repr, titles[:8]))
            if full:
                what = f"sheets {shown} are not read: no columns of a label sheet."
                fix = f"Name them in the mapping file (--columns), `ignore: [{', '.join(titles[:8])}]`, or mend them."
                unread.append(Problem("sheets-ignored", what, fix, str(path)))
            else:
                what = f"empty sheets are not read: {shown}."
                unread.append(Problem("sheets-ignored", what, "Nothing to do.", str(path), severity="warning"))
    return unread


def _steps_unknown(rubric: Rubric, words: Words, path: Path) -> list[Problem]:
    return [
        Problem(
            "step-unknown", f"`steps: {{{name}: {step}}}`: the rubric has no such step.", "Correct the id.", str(path)
        )
        for name, step in words.mapping.steps.items()
        if step not in rubric.by_id
    ]

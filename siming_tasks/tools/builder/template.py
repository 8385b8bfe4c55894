"""Workbooks for physicians: tables of labels to fill in, with the allowed points in every cell, and what to decide."""

from __future__ import annotations

import io
import itertools
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from siming_tasks.benchmark.rubrics import Rubric, RubricStep, allowed_points
from siming_tasks.benchmark.types import CONSENSUS
from siming_tasks.common.errors import DataError, Problem
from siming_tasks.common.files import atomic_write
from siming_tasks.common.person_names import alike_pairs, is_aggregate, not_a_name
from siming_tasks.common.printed_value import counted
from siming_tasks.common.sanitize import cell, cell_text, one_line, visible
from siming_tasks.tools.builder.label_rows import COLUMNS, NOT_APPLICABLE, VIDEO_FIELDS, LabelRow
from siming_tasks.tools.builder.video_files import VideoFiles
from siming_tasks.tools.builder.workbook import read_workbook

MAX_LIST = 255
"""Longest list of values that a spreadsheet takes inside a cell's rule."""
MAX_TITLE, MAX_RATERS = 31, 26


@dataclass(frozen=True)
class Template:
    """Content of the workbook's sheets."""

    steps: tuple[RubricStep, ...]
    videos: tuple[str, ...]
    raters: tuple[str, ...]


def write_template(
    out: Path, rubric: Rubric, videos: Path, raters: Sequence[str] = ("a", "b"), skills: Sequence[str] = ()
) -> Template:
    """Write a workbook with a sheet for each physician (a row per video, a column per step) and one for the spans.

    A sheet also has columns for the student and the site of each video; it is enough to fill in those of one sheet.

    Headings, videos and steps are locked (without a password); a cell takes the points of its step or N/A; a step's
    criteria are the note of its heading and are shown next to the cell being edited.

    Args:
        out: the new ``.xlsx`` file.
        rubric: whose steps are the columns.
        videos: folder of the video files.
        raters: names of the physicians, which their sheets have, too.
        skills: ids of the skills to take (default: all).

    Returns:
        The steps, the names of the videos, and those of the physicians.

    Raises:
        DataError: ``out`` already exists; a name that a workbook cannot store; no such skill.
    """
    if out.exists():
        raise DataError(f"{out}: already exists and may contain points. Choose another file.")
    known = [skill.id for skill in rubric.skills]
    if unknown := [skill for skill in skills if skill not in known]:
        raise DataError(f"Skill {unknown[0]!r} is not in the rubric; it has {', '.join(known)}.")
    steps = tuple(step for step in rubric.steps if not skills or rubric.skill_of[step.id] in skills)
    template = Template(steps, video_names(VideoFiles(videos)), rater_names(raters))
    content = io.BytesIO()  # an archive that cannot be written complains once more when it is thrown away
    _book(template).save(content)
    with atomic_write(out, "wb") as stream:
        stream.write(content.getvalue())
    return template


def video_names(files: VideoFiles) -> tuple[str, ...]:
    """The shortest name of each video that means it alone: its stem, its file name, or its path below the folder.

    Raises:
        DataError: lists the files whose name would not come back out of a cell.
    """
    names: list[str] = []
    problems: list[Problem] = []
    for path in files.files:
        relative = path.relative_to(files.folder).as_posix()
        usable = [
            name
            for name in (path.stem, path.name, relative)
            if files.find(name) == [path]
            and cell_text(cell(name)) == name.strip() == name == visible(name)
            and name.isprintable()
        ]
        if usable:
            names.append(usable[0])
        else:
            what = f"video {relative!r}: its name does not survive a spreadsheet, or another file's is too much alike."
            problems.append(Problem("video-name", what, "Rename the file.", str(files.folder)))
    if problems:
        raise DataError.of(problems, shown=20)
    return tuple(names)


def rater_names(raters: Sequence[str]) -> tuple[str, ...]:
    """Names of the physicians, as titles of their sheets.

    Raises:
        DataError: a name that a sheet's title cannot have, or two that are taken for one.
    """
    names = [name.strip() for name in raters]
    for name in names:
        if not name or not name.isprintable() or set(name) & set("[]:*?/\\'") or len(name) > MAX_TITLE:
            what = f"Rater {one_line(name)!r} cannot be the title of a sheet"
            raise DataError(f"{what}: at most {MAX_TITLE} characters, none of [ ] : * ? / \\ '. Shorten it.")
        if (fault := not_a_name(name)) or is_aggregate(name):
            raise DataError(f"Rater {name!r} {fault or 'is a decision or a mean, not a physician'}. Choose another.")
    twice = [(name, name) for name, count in Counter([CONSENSUS, "spans", *names]).items() if count > 1]
    for name, known in (*twice, *alike_pairs([CONSENSUS, "spans", *names])):
        raise DataError(f"Raters {known!r} and {name!r}: one name, or the name of another sheet. Choose another.")
    if not 1 <= len(names) <= MAX_RATERS:
        raise DataError(f"{counted(len(names), 'rater')}; 1 to {MAX_RATERS} have a sheet.")
    return tuple(names)


def allowed_cells(step: RubricStep) -> list[str]:
    """Points that a step can be given, from 0 up, and N/A.

    Example:
        >>> from siming_tasks.benchmark.rubrics import default_rubric
        >>> allowed_cells(default_rubric().by_id["cpr_01"])
        ['0', '1', '2', 'N/A']
    """
    return [*(f"{points:g}" for points in allowed_points(step)), NOT_APPLICABLE]


def _book(template: Template) -> Any:
    from openpyxl import Workbook
    from openpyxl.comments import Comment

    book = Workbook()
    book.remove(book.active)
    last = len(template.videos) + 1
    for name in template.raters:
        sheet = book.create_sheet(name)
        about = ["video_id", "rater", *VIDEO_FIELDS]
        first = len(about) + 1
        _write_headings(sheet, [*about, *(step.id for step in template.steps)], "C2")
        for row, video in enumerate(template.videos, 2):
            _write_locked(sheet, row, 1, video)
            _write_locked(sheet, row, 2, name)
            for column in range(3, first):
                _unlock(sheet, row, column, "@")
            for column in range(first, len(template.steps) + first):
                _unlock(sheet, row, column, "General")
        for column, step in enumerate(template.steps, first):
            head = sheet.cell(1, column)
            names = " ".join(filter(None, (step.name, step.name_zh)))
            note = f"{step.id} {names} (0 to {step.max_score:g})\n{step.requirement}\n\n" + _criteria(step, "\n")
            head.comment = Comment(visible(note), "siming", height=280, width=380)
            rule = _rule(step)
            sheet.add_data_validation(rule)
            rule.add(f"{head.column_letter}2:{head.column_letter}{last}")

    spans = book.create_sheet("spans")
    _write_headings(spans, ["video_id", "step_id", "start", "end"], "C2")
    pairs = [(video, step.id) for video in template.videos for step in template.steps]
    for row, (video, step_id) in enumerate(pairs, 2):
        _write_locked(spans, row, 1, video)
        _write_locked(spans, row, 2, step_id)
        for column in (3, 4):
            _unlock(spans, row, column, "@")  # as text: 1:23 would become a time of day
    return book


def write_adjudication(path: Path, rubric: Rubric, rows: Sequence[LabelRow]) -> Path:
    """Write a workbook of what the raters gave, with rows of the consensus whose points are to be filled in.

    It is private, having names of videos and raters, and never takes the place of one that somebody filled in: then it
    is ``...-2.xlsx``. An equal one that is there stays.

    Returns:
        The file.
    """
    from openpyxl import Workbook

    book = Workbook()
    sheet = book.active
    _write_headings(sheet, COLUMNS[:4], "A2")
    table = [
        (row, rater, f"{row.scores[rater]:g}" if rater in row.scores else "")
        for row in rows
        for rater in (*row.scores, CONSENSUS)
    ]
    for number, (row, rater, points) in enumerate(table, 2):
        for column, text in enumerate((row.video, row.step_id, rater, points), 1):
            _write_locked(sheet, number, column, text)
        if not points:
            _unlock(sheet, number, 4, "General")
            sheet.cell(number, 4).value = None
            sheet.add_data_validation(rule := _rule(rubric.by_id[row.step_id]))
            rule.add(f"D{number}")
    content = io.BytesIO()
    book.save(content)
    texts = [list(COLUMNS[:4]), *([cell(row.video), row.step_id, cell(rater), points] for row, rater, points in table)]
    for number in itertools.count(1):
        target = path if number == 1 else path.with_name(f"{path.stem}-{number}{path.suffix}")
        if not target.exists():
            with atomic_write(target, "wb", private=True) as stream:
                stream.write(content.getvalue())
            return target
        if _texts_of(target) == texts:
            return target
    raise AssertionError  # count() does not end


def _texts_of(path: Path) -> list[list[str]]:
    """The cells of a workbook of ours as text; none of a file that is something else."""
    try:
        (grid,) = read_workbook(path)
    except (DataError, ValueError):
        return []
    return [[cell(text) for text in (*cells, "", "", "", "")[:4]] for _, cells in grid.rows]


def _write_headings(sheet: Any, heads: Sequence[str], frozen: str) -> None:
    from openpyxl.styles import Alignment, Font

    for column, name in enumerate(heads, 1):
        head = sheet.cell(1, column, name)
        head.font, head.alignment = Font(bold=True), Alignment(horizontal="center" if column > 1 else "left")
        sheet.column_dimensions[head.column_letter].width = 28 if column == 1 else max(9, len(name) + 2)
    sheet.freeze_panes = frozen
    sheet.protection.sheet = True
    sheet.protection.formatColumns = sheet.protection.formatRows = False  # False allows it


def _write_locked(sheet: Any, row: int, column: int, text: str) -> None:
    """Text that no spreadsheet takes for a formula or a number."""
    place = sheet.cell(row, column)
    place.value, place.data_type, place.number_format = cell(text), "s", "@"


def _unlock(sheet: Any, row: int, column: int, form: str) -> None:
    from openpyxl.styles import Protection

    place = sheet.cell(row, column)
    place.protection, place.number_format = Protection(locked=False), form


def _rule(step: RubricStep) -> Any:
    """The points that a cell takes, if a list can hold them, and what is shown beside it while it is filled in."""
    from openpyxl.worksheet.datavalidation import DataValidation

    listed = f'"{",".join(allowed_cells(step))}"'
    kind: Any = {"type": "list", "formula1": listed} if len(listed) <= MAX_LIST else {}
    rule = DataValidation(**kind, allow_blank=True)
    rule.errorTitle = step.id
    rule.error = f"0 to {step.max_score:g} in steps of {step.score_increment:g}, or {NOT_APPLICABLE}."
    # The longest title and text that a spreadsheet shows.
    rule.promptTitle, rule.prompt = one_line(step.name, 32), one_line(_criteria(step, " "), 255)
    rule.showErrorMessage = rule.showInputMessage = True
    return rule


def _criteria(step: RubricStep, joint: str) -> str:
    criteria = step.criteria
    lines = [f"{step.max_score:g}: {criteria.full}", f"Between: {criteria.partial}", f"0: {criteria.fail}"]
    return joint.join(lines)

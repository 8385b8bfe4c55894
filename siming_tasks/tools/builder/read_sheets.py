"""Score sheets to label rows: the long and the wide form, one sheet or several, raters in rows, columns or files."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from siming_tasks.common.errors import DataError, Problem
from siming_tasks.common.schema import CONSENSUS
from siming_tasks.rubrics import Rubric
from siming_tasks.tools.builder.cells import folded, plain, spelled
from siming_tasks.tools.builder.event_log_sheet import UseRatings, ratings_sheet
from siming_tasks.tools.builder.label_rows import LabelRow, Part, Reader
from siming_tasks.tools.builder.mapping import Kind, Layout, SheetMapping, Words, layout_of, rater_named
from siming_tasks.tools.builder.sheet_rows import Sheet
from siming_tasks.tools.builder.sheet_tables import read_table
from siming_tasks.tools.station.event_log import is_event_log


@dataclass(frozen=True)
class LabelFile:
    """A file of points, and whose they are if that is stated."""

    path: Path
    rater: str | None = None


def label_files(labels: str | Path | Sequence[str | Path]) -> tuple[LabelFile, ...]:
    """Files of points as they are named: ``FILE`` or ``NAME=FILE``, one or several.

    Example:
        >>> label_files(["Dr. Li=points/li.csv", "kim.csv"])  # doctest: +NORMALIZE_WHITESPACE
        (LabelFile(path=PosixPath('points/li.csv'), rater='Dr. Li'),
         LabelFile(path=PosixPath('kim.csv'), rater=None))
    """
    files = []
    for stated in [labels] if isinstance(labels, str | Path) else labels:
        name, _, file = str(stated).partition("=")
        if isinstance(stated, Path) or not (name.strip() and file) or Path(stated).exists():
            files.append(LabelFile(Path(stated)))
        else:
            files.append(LabelFile(Path(file), str(plain(name))))
    return tuple(files)


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
        kind: of the sheets.
        raters: further names of raters that headings may have.
        spelling: the one spelling of a video's name that all its rows get; None: its normal form.
        ratings: how an event log is read.

    Raises:
        DataError: as :func:`read_labels`; ``.problems`` has whatever was found before.
    """
    files = [LabelFile(files)] if isinstance(files, Path) else files
    owners, problems = _owners(files, words)
    failed: list[Problem] = []
    parts: list[Part] = []
    for file, owner in zip(files, owners, strict=True) if not problems else ():
        try:
            layouts = _layouts(file.path, rubric, words, encoding, kind, raters, problems, ratings)
        except DataError as error:
            failed += error.problems or [Problem("unreadable", str(error), "")]
            continue
        for sheet, layout in layouts:
            parts.append(Part(sheet, layout, str(file.path), owner))
            raters_named = sorted({each.rater for each in layout.points if each.rater})
            if file.rater is not None and ("rater" in layout.ours or raters_named):
                own = f"points of {', '.join(map(repr, raters_named))}"
                own = "a column `rater`" if "rater" in layout.ours else own
                what = f"is given as the points of {file.rater!r}, but has {own}."
                fix = "Give the file without NAME=, or one file per rater."
                problems.append(Problem("two-sources", what, fix, str(file.path)))
    if failed:
        raise DataError.of([*failed, *problems], shown=20)
    for name, step in words.mapping.steps.items():
        if step not in rubric.by_id:
            what = f"`steps: {{{name}: {step}}}`: the rubric has no such step."
            problems.append(Problem("step-unknown", what, "Correct the id.", str(files[0].path)))
    reader = Reader(rubric, words, problems, spelling or spelled)
    parts.sort(key=lambda part: part.layout.times_only)
    reader.read([part for part in parts if part.sheet.rows])
    problems += _unequal(reader.places, {part.path for part in parts if part.owner == CONSENSUS})
    for part in parts:
        problems += [*part.sheet.problems, *part.layout.problems(part.sheet)]
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
    if is_event_log(path):
        sheet, findings = ratings_sheet(path, rubric, kind, ratings or UseRatings())
        sheets: tuple[Sheet, ...] = (sheet,)
    else:
        sheets, findings = read_table(path, encoding, ["video_id", words.mapping.columns.get("video_id", "video_id")])
    problems += findings
    layouts: list[tuple[Sheet, Layout]] = []
    others: list[Sheet] = []
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
            others.append(sheet)
    if not layouts:
        shown = ", ".join(repr(column.name) for sheet in others for column in sheet.columns[:12])
        what = {
            "labels": "a label sheet has the columns video_id and step_id (long form) or video_id and one column per "
            "rubric step (wide form).",
            "spans": "a sheet of spans has the columns video_id, step_id, start and end.",
            "adjudicated": "the list of adjudicated rows has the columns video_id, step_id and consensus.",
        }[kind]
        fix = "A mapping file (--columns) says which column is which."
        lacking = Problem("columns-missing", f"{what} Found {shown or 'none'}.", fix, str(path))
        raise DataError.of([lacking, *(problem for sheet in others for problem in sheet.problems)], shown=20)
    if any(layout.points for _, layout in layouts):
        for _, layout in layouts:
            layout.times_only = not layout.points and {"start", "end"} <= set(layout.ours)
    # Worksheets beside the label sheets: empty ones are named, others must be left out on purpose.
    if titles := [sheet.title or "" for sheet in others if sheet.columns]:
        what = f"sheets {', '.join(map(repr, titles[:8]))} are not read: no columns of a label sheet."
        fix = f"Name them in the mapping file (--columns), `ignore: [{', '.join(titles[:8])}]`, or mend them."
        problems.append(Problem("sheets-ignored", what, fix, str(path)))
    if titles := [sheet.title or "" for sheet in others if not sheet.columns]:
        what = f"empty sheets are not read: {', '.join(map(repr, titles[:8]))}."
        problems.append(Problem("sheets-ignored", what, "Nothing to do.", str(path), severity="warning"))
    return layouts


def _owners(files: Sequence[LabelFile], words: Words) -> tuple[list[str | None], list[Problem]]:
    """Whose points a file holds if it does not say itself: as stated, else by its name if there are several files.

    One file twice, or two files of one rater, are findings.
    """
    owners: list[str | None] = []
    problems: list[Problem] = []
    for file in files:
        word = file.rater or (str(plain(file.path.stem)) if len(files) > 1 else None)
        meaning = word and (words.meaning("raters", word) or rater_named(word))
        owner = CONSENSUS if word and folded(word) == CONSENSUS else meaning or word
        for other, known in zip(files, owners, strict=False):  # those before this file
            try:
                twice = file.path.samefile(other.path)
            except OSError:
                twice = file.path == other.path
            if twice:
                problems.append(Problem("two-sources", "is given twice.", "Give it once.", str(file.path)))
            elif owner and known and folded(owner) == folded(known):
                what = f"would be the points of {owner!r}, as those of {other.path}."
                fix = "Say whose they are: --labels NAME=FILE, each with a name of its own."
                problems.append(Problem("two-sources", what, fix, str(file.path)))
        owners.append(owner)
    return owners, problems


def _unequal(places: Mapping[str, Mapping[tuple[str, str], str]], partial: Collection[str]) -> Iterator[Problem]:
    """A finding for every file of one rater whose videos and steps are not those of the others.

    ``places`` has the (video, step) pairs of each file, and where; ``partial`` files (the consensus) may lack some.
    """
    every: dict[tuple[str, str], str] = {}
    for file in places.keys() - partial or places:
        for place, where in places[file].items():
            every.setdefault(place, where)
    fix = "Write the same videos and steps in every physician's file; where there are no points, leave the cell empty."
    for file, stated in places.items():
        if file not in partial and (lacking := [place for place in every if place not in stated]):
            (video, step), more = lacking[0], len(lacking) - 1
            what = f"lacks video {video!r}, step {step!r}, which stands on {every[lacking[0]]}"
            yield Problem("rows-differ", what + (f" (and {more:,} more)." if more else "."), fix, file)
        for (video, step), where in stated.items():
            if (video, step) not in every:
                what = f"video {video!r}, step {step!r} ({where}) stands in no physician's file."
                yield Problem("rows-differ", what, fix, file)

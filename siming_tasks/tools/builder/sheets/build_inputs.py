"""All sheets of a build and the videos, read in one go: what is wrong with any of them is said together."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TypeVar

from siming_tasks.common.errors import DataError, Problem
from siming_tasks.common.schema import CONSENSUS
from siming_tasks.rubrics import Rubric
from siming_tasks.tools.builder.annotations.detect_format import read_marks, span_files
from siming_tasks.tools.builder.annotations.match_steps import Matcher
from siming_tasks.tools.builder.sheets.column_roles import Kind
from siming_tasks.tools.builder.sheets.event_log_sheet import UseRatings
from siming_tasks.tools.builder.sheets.labels import LabelRow, read_sheets
from siming_tasks.tools.builder.sheets.mapping import SheetMapping, Words, read_mapping
from siming_tasks.tools.builder.sheets.match_videos import VideoFiles
from siming_tasks.tools.builder.sheets.sheet_per_rater import label_files
from siming_tasks.tools.station.event_log import is_event_log

__all__ = ["Inputs", "read_inputs"]

_T = TypeVar("_T")
Fill = Callable[[LabelRow, LabelRow, list[Problem]], LabelRow]
"""A score sheet's row and the further sheet's row of the same step: the row with what the latter adds."""


@dataclass(frozen=True)
class Inputs:
    """The files that a dataset is built of (see :func:`siming_tasks.tools.builder.sheets.build_dataset.build_dataset`).

    ``labels`` is one file or several, each ``FILE`` or ``NAME=FILE``.
    """

    rubric: Path
    labels: str | Path | Sequence[str | Path]
    videos: Path
    spans: Path | Sequence[Path] | None = None
    adjudicated: Path | None = None
    mapping: Path | None = None
    encoding: str | None = None
    spans_fps: float | None = None
    ratings: UseRatings = field(default_factory=UseRatings)


def read_inputs(inputs: Inputs, rubric: Rubric) -> tuple[list[LabelRow], VideoFiles, list[Problem]]:
    """The label rows, with the spans and the adjudicated points of further sheets filled in, and the video files.

    Raises:
        DataError: a file cannot be read at all; ``.problems`` has the findings about the others, too.
    """
    problems: list[Problem] = []
    failed: list[Problem] = []

    def tried(read: Callable[[], _T]) -> _T | None:
        try:
            return read()
        except DataError as error:
            failed.extend(error.problems or [Problem("unreadable", str(error), "")])
            return None

    file, files = inputs.mapping, label_files(inputs.labels)
    mapping = tried(lambda: read_mapping(file)) if file else SheetMapping()
    words = Words(mapping or SheetMapping(), str(file) if file else None)
    videos = tried(lambda: VideoFiles(inputs.videos))
    spelling = videos.speller() if videos else None
    labels = tried(lambda: read_sheets(files, rubric, words, inputs.encoding, "labels", (), spelling, inputs.ratings))
    rows, sheet_problems = labels or ([], [])
    problems += sheet_problems
    known = {(row.video, row.step_id): row for row in rows}
    raters = {rater for row in rows for rater in row.scores}
    spans = tried(lambda: span_files(inputs.spans)) or []
    adjudicated = [inputs.adjudicated] if inputs.adjudicated else []
    further: list[tuple[Kind, list[Path], Fill]] = [("spans", spans, _span), ("adjudicated", adjudicated, _decided)]
    for kind, paths, fill in further:
        more: list[LabelRow] = []
        for path in paths:
            got = tried(lambda: _further(path, kind, inputs, rubric, words, raters, videos))  # noqa: B023
            more += got[0] if got else []
            problems += got[1] if got else []
        problems += _filled(known, more, videos, fill) if labels else []
    if mapping is not None:
        problems += words.unmatched([*(file.path for file in files), *spans, *adjudicated])
    if failed or labels is None or videos is None:
        raise DataError(
            str(DataError.of([*failed, *(p for p in problems if p.severity == "error")], shown=20)),
            [*failed, *problems],
        )
    return list(known.values()), videos, problems


def _further(
    path: Path,
    kind: Kind,
    inputs: Inputs,
    rubric: Rubric,
    words: Words,
    raters: set[str],
    videos: VideoFiles | None,
) -> tuple[list[LabelRow], list[Problem]]:
    """The rows of a further sheet, or of an annotation tool's file."""
    tools = kind == "spans" and not is_event_log(path)
    marks = read_marks(path, words, inputs.spans_fps, inputs.encoding) if tools else None
    if marks is None:
        spelling = videos.speller() if videos else None
        return read_sheets(path, rubric, words, inputs.encoding, kind, raters, spelling, inputs.ratings)
    rows, problems = Matcher(rubric, words, videos.find if videos else None).rows(marks.marks)
    return rows, [*marks.problems, *problems]


def _filled(
    known: dict[tuple[str, str], LabelRow],
    more: list[LabelRow],
    videos: VideoFiles | None,
    fill: Fill,
) -> list[Problem]:
    """Fill the rows of a further sheet into the score sheet's; a row that has no partner there is a finding."""
    problems: list[Problem] = []
    names = list(dict.fromkeys(video for video, _ in known))
    same = {name: videos.same(name, names) if videos else name for name in dict.fromkeys(row.video for row in more)}
    done: dict[tuple[str, str], LabelRow] = {}
    for row in more:
        at = (same[row.video] or row.video, row.step_id)
        if at not in known:
            lacks = "such row" if any(video == at[0] for video in names) else "such video"
            fix = "Write the id as it stands there, add its points, or delete this row."
            problems.append(row.problem("row-unlabelled", f"the score sheet has no {lacks}.", fix))
        elif (first := done.setdefault(at, row)) is not row:
            at_line = f" on line {first.lines[0]}" if first.lines[0] else ""
            where = f"{at_line} already" if first.file == row.file else f" in {first.file}{at_line} already"
            times = f" ({first.start:g}-{first.end:g} s there)" if None not in (first.start, first.end) else ""
            what = f"stands{where}, as {first.video!r}{times}."
            problems.append(row.problem("label-twice", what, "Keep one row per video and step."))
        else:
            known[at] = fill(known[at], row, problems)
    return problems


def _span(label: LabelRow, row: LabelRow, problems: list[Problem]) -> LabelRow:
    for name in ("start", "end"):
        first, second = getattr(label, name), getattr(row, name)
        if None not in (first, second) and first != second:
            what = f"{name} is {second:g} s here and {first:g} s in the score sheet (line {label.lines[0]})."
            problems.append(row.problem("span-differs", what, "Keep one of the two.", name))
    start, end = (getattr(row if getattr(row, name) is not None else label, name) for name in ("start", "end"))
    return replace(label, start=start, end=end)


def _decided(label: LabelRow, row: LabelRow, problems: list[Problem]) -> LabelRow:
    for rater, points in row.scores.items():
        if rater in label.scores and label.scores[rater] != points:
            what = f"{rater} has {points:g} points here and {label.scores[rater]:g} in the score sheet."
            problems.append(row.problem("two-sources", what, "Correct the score sheet, or this row.", rater))
    if label.applicable != row.applicable:
        what = "this row and the score sheet do not agree whether the step applies."
        problems.append(row.problem("applicable-differs", what, "Write the same in both."))
    consensus = {CONSENSUS: row.scores[CONSENSUS]} if CONSENSUS in row.scores else {}
    return replace(label, scores={**label.scores, **consensus})

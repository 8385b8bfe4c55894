"""Roles of a sheet's columns: a field of ours (by name or mapping), points of a rater for a step, or unused."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from typing import Literal

from siming_tasks.common.errors import Problem
from siming_tasks.common.schema import CONSENSUS
from siming_tasks.rubrics import Rubric
from siming_tasks.tools.builder.sheets.cell_values import folded, plain
from siming_tasks.tools.builder.sheets.mapping import OURS, VIDEO_FIELDS, Words
from siming_tasks.tools.builder.sheets.sheet_tables import Column, Sheet

__all__ = ["Kind", "Layout", "Points", "layout_of", "rater_named"]

Kind = Literal["labels", "spans", "adjudicated"]

_ABOUT_ROW = ("video_id", "step_id", "applicable", *VIDEO_FIELDS)
_READ: dict[tuple[str, bool], tuple[str, ...]] = {
    ("labels", True): (*_ABOUT_ROW, "start", "end", "rater", "points", CONSENSUS),
    ("labels", False): ("video_id", "applicable", *VIDEO_FIELDS, "rater"),
    ("spans", True): ("video_id", "step_id", "start", "end"),
    ("adjudicated", True): ("video_id", "step_id", CONSENSUS, "line"),
}
"""Our columns that are read, by the kind of sheet and whether it is long."""


@dataclass(frozen=True)
class Points:
    """A column of points: of which step (None: the row says) and of whom (None: the row, the worksheet or nobody)."""

    column: str
    step: str | None = None
    rater: str | None = None


@dataclass
class Layout:
    """Columns of a sheet by role: fields of ours, points, unused ones, and those left out on purpose.

    ``times_only``: the sheet gives the spans of steps whose points stand in another sheet of the file.
    """

    ours: dict[str, str] = field(default_factory=dict)
    points: list[Points] = field(default_factory=list)
    unused: list[str] = field(default_factory=list)
    left_out: list[str] = field(default_factory=list)
    twice: list[tuple[str, str, str]] = field(default_factory=list)
    times_only: bool = False

    @property
    def long(self) -> bool:
        """True if a row is one step."""
        return "step_id" in self.ours

    def problems(self, sheet: Sheet, file: str) -> list[Problem]:
        """Two columns for one thing, columns with cells that nobody reads, and columns left out on purpose."""
        problems_of_columns = [
            Problem("two-sources", f"columns {first!r} and {second!r} are both {what}.", _FIX_TWICE, file)
            for first, second, what in self.twice
        ]
        filled = {name for row in sheet.rows for name in row.cells}
        for names, severity in (
            ([name for name in self.unused if name in filled], "error"),
            ([name for name in self.unused if name not in filled], "warning"),
        ):
            if names:
                shown = ", ".join(map(repr, names[:8])) + (f" and {len(names) - 8} more" if len(names) > 8 else "")
                what = f"columns {shown} are not read{'' if severity == 'error' else ' (they are empty)'}."
                problems_of_columns.append(Problem("columns-ignored", what, _FIX_UNUSED, file, severity=severity))  # type: ignore[arg-type]
        if self.left_out:
            what = f"left out on purpose: columns {', '.join(map(repr, self.left_out))}."
            problems_of_columns.append(Problem("columns-left-out", what, "Nothing to do.", file, severity="warning"))
        return problems_of_columns


_FIX_TWICE = "Rename one, or name the one to leave out under `ignore:` in the mapping file (--columns)."
_FIX_UNUSED = (
    "Raters' columns are called rater_...; say in the mapping file (--columns) what they are (`raters:`, `steps:`, "
    "`columns:`), or name them under `ignore:`."
)


def rater_named(text: str) -> str | None:
    """The rater that a heading or a worksheet's title names by itself: ``rater_...`` or the consensus."""
    name = folded(text)
    return name if name == CONSENSUS or (name.startswith("rater") and name != "rater") else None


def layout_of(
    sheet: Sheet, rubric: Rubric, words: Words, kind: Kind = "labels", raters: Collection[str] = ()
) -> Layout:
    """Assign a role to each column.

    Args:
        sheet: the sheet.
        rubric: whose steps may be headings.
        words: the mapping.
        kind: what the sheet is for; each kind reads other columns.
        raters: names in the dataset that headings may have besides ``rater_...``.
    """
    ours: list[tuple[str, str]] = []
    points: list[Points] = []
    layout = Layout()
    steps = {folded(step): step for step in rubric.by_id}
    names = {*raters, *words.mapping.raters.values()}
    for column in sheet.columns:
        if words.ignored(column.name) or words.ignored(column.parts[-1]):
            layout.left_out.append(column.name)
            continue
        as_ours = _ours(column, words, kind)
        as_points = _points(column, steps, names, words) if not as_ours else None
        ours += [(name, column.name) for name in as_ours]
        points += [as_points] if as_points else []
        if not as_ours and not as_points:
            layout.unused.append(column.name)
    long = any(name == "step_id" for name, _ in ours)
    read = _READ.get((kind, long), ())
    for name, theirs in ours:
        if name not in read:
            layout.unused.append(theirs)
        elif layout.ours.setdefault(name, theirs) != theirs:
            layout.twice.append((layout.ours[name], theirs, name))
    if CONSENSUS in layout.ours:
        points.append(Points(layout.ours[CONSENSUS], None, CONSENSUS))
    if "points" in layout.ours:
        points.append(Points(layout.ours["points"]))
    for each in points:
        if kind == "spans" or long != (each.step is None):
            layout.unused.append(each.column)
        elif same := [known for known in layout.points if (known.step, known.rater) == (each.step, each.rater)]:
            layout.twice.append((same[0].column, each.column, _shown(each)))
        else:
            layout.points.append(each)
    _whose(layout)
    return layout


def _whose(layout: Layout) -> None:
    """Points of nobody beside points of somebody, or a rater's column without points of its own, are not used."""
    nobodys = [each for each in layout.points if each.rater is None]
    if "rater" in layout.ours and not nobodys:
        layout.unused.append(layout.ours.pop("rater"))
    raters = {each.rater for each in layout.points} - {None, CONSENSUS}
    if nobodys and raters:
        layout.unused += [each.column for each in nobodys]
        layout.points = [each for each in layout.points if each.rater is not None]


def _ours(column: Column, words: Words, kind: Kind) -> list[str]:
    """Our names for a column; several only if the mapping says so."""
    fields = [name for part in dict.fromkeys((column.name, column.parts[-1])) for name in words.column(part)]
    name = folded(column.parts[-1])
    name = "points" if name == "score" else name
    if fields or (name not in OURS and not (name == "line" and kind == "adjudicated")):
        return list(dict.fromkeys(fields))
    taken = len(column.parts) > 1 and name == CONSENSUS  # `consensus` below a step: points of that step
    return [] if taken or words.means(column.name) else [name]


def _points(column: Column, steps: dict[str, str], raters: Iterable[str], words: Words) -> Points | None:
    def step(part: str) -> str | None:
        return words.meaning("steps", part) or steps.get(folded(part))

    def rater(part: str) -> str | None:
        known = str(plain(part))
        return words.meaning("raters", part) or rater_named(part) or (known if known in raters else None)

    if step_id := step(column.name):
        return Points(column.name, step_id)
    if len(column.parts) == 1:
        whose = rater(column.name)
        return Points(column.name, None, whose) if whose else None
    top, name = column.parts
    for this, other in ((top, name), (name, top)):
        if step_id := step(this):
            return Points(column.name, step_id, rater(other) or str(plain(other)))
    whose = rater(name)
    return Points(column.name, None, whose) if whose else None


def _shown(points: Points) -> str:
    of = f"step {points.step!r}" if points.step else "the points"
    return f"{of} by {points.rater!r}" if points.rater else of

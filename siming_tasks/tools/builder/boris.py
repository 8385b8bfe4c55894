"""BORIS's exports: aggregated events (a row is a span) and tabular events (a row is a start or a stop).

Column names of versions 7 to 9, as the program writes them. Both exports may have lines about the observation above
the heading, and both exist as CSV, TSV and XLSX.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

from siming_tasks.common.errors import DataError, Problem
from siming_tasks.tools.builder.annotation_marks import MAX_SECONDS, AnnotationFormat, Mark, Marks, joined, short
from siming_tasks.tools.builder.cells import Grid, folded, seconds_of, text_of
from siming_tasks.tools.builder.mapping import Words
from siming_tasks.tools.builder.sheet_tables import read_grids

ABOVE = 200
"""Lines in which the heading is looked for: an observation may have many independent variables."""
_MEDIA = ("media_file_name", "media_file_path", "media_file", "source")
_NOTHING = ("", "na", "nan", "not found", "none")

Row = dict[str, str]


def read_boris(path: Path, words: Words, rate: Fraction | None = None, encoding: str | None = None) -> Marks | None:
    """The spans of all observations; None if the mapping says which column is the start, or no sheet is BORIS's.

    Raises:
        DataError: a worksheet has other headings, or one of them stands twice.
    """
    if "start" in words.mapping.columns:
        return None
    problems: list[Problem] = []
    grids = read_grids(path, path.suffix.lower(), encoding, {"behavior"}, problems)
    if not any(map(_heading, grids)):
        return None
    marks: list[Mark] = []
    for grid in grids:
        if not grid.lines:
            continue
        file = f"{path} [{grid.title}]" if grid.title and len(grids) > 1 else str(path)
        problems += grid.problems
        heading = _heading(grid)
        if heading is None:
            raise DataError(f"{file}: no events of BORIS. Export each observation, or delete this sheet.")
        index, names = heading
        if twice := [name for name in names if name and names.count(name) > 1]:
            raise DataError(f"{file}:{grid.lines[index].number}: column {short(twice[0])} appears twice. Rename one.")
        # What stands above the heading holds for all rows.
        above = {
            folded(line.cells[0]): text_of(line.cells[1]) or "" for line in grid.lines[:index] if len(line.cells) > 1
        }
        rows = []
        for line in grid.lines[index + 1 :]:
            cells = {name: text_of(cell) or "" for name, cell in zip(names, line.cells, strict=False) if name}
            rows.append((line.number, {**above, **{name: cell.strip() for name, cell in cells.items()}}))
        marks += _aggregated(file, rows) if "start_(s)" in names else _tabular(file, rows)
    return Marks(path, tuple(marks), tuple(problems))


FORMAT = AnnotationFormat(
    "BORIS",
    "BORIS's aggregated events (.csv, .tsv, .xlsx)",
    (".csv", ".tsv", ".txt", ".xlsx"),
    read_boris,
    {".boris": "a project of BORIS. Export its aggregated events as TSV, CSV or XLSX and give that."},
)


def _heading(grid: Grid) -> tuple[int, list[str]] | None:
    """The index and the names of the line that has BORIS's headings."""
    for index, line in enumerate(grid.lines[:ABOVE]):
        names = ["" if cell is None else folded(cell) for cell in line.cells]
        aggregated = {"start_(s)", "stop_(s)"} <= set(names)
        tabular = "time" in names and not {"status", "behavior_type"}.isdisjoint(names)
        if "behavior" in names and (aggregated or tabular):
            return index, names
    return None


def _mark(file: str, number: int, row: Row) -> tuple[Mark, Problem | None]:
    """A row's annotation without its times, and why they are no times of the video."""
    behavior, subject = row.get("behavior", ""), row.get("subject", "")
    subject = "" if subject.casefold() == "no focal subject" else subject
    modifiers = [text for name, text in row.items() if name.startswith("modifier") and text.casefold() not in _NOTHING]
    media = next((row[name] for name in _MEDIA if row.get(name, "").casefold() not in _NOTHING), "")
    videos = tuple(filter(None, (_first_player(media), row.get("observation_id", ""))))
    where = f"observation {short(row.get('observation_id', ''))}, behavior {short(behavior)}"
    mark = Mark(joined((subject, *modifiers, behavior)), behavior, videos, file, number, where)

    offset = row.get("time_offset_(s)", "")
    if seconds_of(offset or "0") != 0 and offset.casefold() not in _NOTHING:
        what = f"the observation has a time offset of {short(offset)}."
        fix = "Set the observation's time offset to 0 in BORIS and export again."
        return mark, mark.problem("time-offset", what, fix)
    for name in ("source", "media_file"):
        listed = _first_player(row.get(name, "")).split(";")
        if len(listed) > 1 and (not videos or videos[0].strip() != listed[0].strip()):
            what = f"its times count over {len(listed)} videos one after another."
            return mark, mark.problem("several-videos", what, "Make one observation for each video in BORIS.")
    return mark, None


def _first_player(media: str) -> str:
    """The video that the times count in: player 1's, without the player's name."""
    name = media.split("|")[0]
    return name.partition(":")[2] if name.casefold().startswith("player #") else name


def _seconds(row: Row, name: str) -> float | None:
    seconds = seconds_of(row.get(name, ""))
    return seconds if seconds is not None and abs(seconds) <= MAX_SECONDS else None


def _point(mark: Mark) -> Problem:
    fix = "Code it as a state event in BORIS, or leave the behaviour out with `ignore:` in the mapping (--columns)."
    return mark.problem("point-event", "a point event is a moment, not a span.", fix)


def _unpaired(mark: Mark, what: str) -> Mark:
    fix = "Fix unpaired events in BORIS, and export again."
    return replace(mark, fault=mark.problem("event-unpaired", what, fix))


def _aggregated(file: str, rows: Sequence[tuple[int, Row]]) -> Iterator[Mark]:
    for number, row in rows:
        mark, fault = _mark(file, number, row)
        fault = _point(mark) if row.get("behavior_type", "").upper() == "POINT" else fault
        start, end = _seconds(row, "start_(s)"), _seconds(row, "stop_(s)")
        if fault is None and (start is None or end is None):
            what = f"{short(row.get('start_(s)', ''))} to {short(row.get('stop_(s)', ''))} are no times in seconds."
            fault = mark.problem("not-a-time", what, "Export the events again, with times in seconds.")
        yield replace(mark, start=start or 0.0, end=end or 0.0, fault=fault)


def _tabular(file: str, rows: Sequence[tuple[int, Row]]) -> Iterator[Mark]:
    """Pairs each start with the stop that follows it, of the same observation, subject, behaviour and modifiers."""
    begun: dict[Any, Mark] = {}
    for number, row in rows:
        mark, fault = _mark(file, number, row)
        status = next((row[name].upper() for name in ("status", "behavior_type") if row.get(name)), "")
        time = _seconds(row, "time")
        if fault is None and time is None:
            what = f"{short(row.get('time', ''))} is no time in seconds."
            fault = mark.problem("not-a-time", what, "Export it again.")
        mark = replace(mark, start=time or 0.0, end=time or 0.0, fault=fault)
        key = (row.get("observation_id"), mark.words, mark.videos)
        if status == "POINT":
            yield replace(mark, fault=_point(mark))
        elif status == "START" and key not in begun:
            begun[key] = mark
        elif status == "STOP" and key in begun:
            first = begun.pop(key)
            yield replace(first, end=mark.end, fault=first.fault or fault)
        else:
            yield _unpaired(mark, f"{short(status)} without its partner.")
    for mark in begun.values():
        yield _unpaired(mark, "'START' without its 'STOP'.")

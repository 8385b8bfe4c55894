"""BORIS's exports: aggregated events (a row is a span) and tabular events (a row is a start or a stop).

Column names of versions 7 to 9, as the program writes them. Both exports may have lines about the observation above
the heading, and both exist as CSV, TSV and XLSX.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from siming_tasks.common.errors import DataError, Problem
from siming_tasks.tools.builder.annotations.match_steps import MAX_SECONDS, Mark, Marks, bounded, joined, short
from siming_tasks.tools.builder.sheets.cell_values import folded, seconds_of, text_of
from siming_tasks.tools.builder.sheets.workbook import Grid, Line, csv_grids, xlsx_grids

__all__ = ["is_boris", "read_boris", "sheets_of"]

ABOVE = 200
"""Lines in which the heading is looked for: an observation may have many independent variables."""
_MEDIA = ("media_file_name", "media_file_path", "media_file", "source")
_NO_SUBJECT = ("no focal subject", "")
_NOTHING = ("", "na", "nan", "not found", "none")
_POINT_FIX = "Code it as a state event in BORIS, or leave the behaviour out with `ignore:` in the mapping (--columns)."
_OFFSET_FIX = "Set the observation's time offset to 0 in BORIS and export again."

Row = dict[str, str]


def sheets_of(path: Path, encoding: str | None, problems: list[Problem]) -> list[Grid]:
    """The lines of a CSV, TSV or XLSX file."""
    if path.suffix.lower() == ".xlsx":
        return xlsx_grids(path)
    return csv_grids(path, encoding, {"behavior"}, problems)


def is_boris(grid: Grid) -> bool:
    """True if a sheet has BORIS's headings."""
    return _head(grid) is not None


def _head(grid: Grid) -> tuple[int, list[str]] | None:
    for index, line in enumerate(grid.lines[:ABOVE]):
        names = ["" if cell is None else folded(cell) for cell in line.cells]
        times = {"start_(s)", "stop_(s)"} <= set(names) or (
            "time" in names and {"status", "behavior_type"} & set(names)
        )
        if "behavior" in names and times:
            return index, names
    return None


def read_boris(path: Path, grids: Sequence[Grid]) -> Marks:
    """The spans of all observations.

    Raises:
        DataError: a worksheet has other headings, or one of them stands twice.
    """
    marks: list[Mark] = []
    problems: list[Problem] = []
    for grid in grids:
        if not grid.lines:
            continue
        file = f"{path} [{grid.title}]" if grid.title and len(grids) > 1 else str(path)
        problems += grid.problems
        head = _head(grid)
        if head is None:
            raise DataError(f"{file}: no events of BORIS. Export each observation, or delete this sheet.")
        index, names = head
        if twice := [name for name in names if name and names.count(name) > 1]:
            raise DataError(f"{file}:{grid.lines[index].number}: column {short(twice[0])} appears twice. Rename one.")
        above = {
            folded(line.cells[0]): text_of(line.cells[1]) or "" for line in grid.lines[:index] if len(line.cells) > 1
        }
        rows = [(line.number, _row(line, names, above)) for line in grid.lines[index + 1 :]]
        marks += _aggregated(file, rows) if "start_(s)" in names else _tabular(file, rows, problems)
    return Marks(bounded(path, marks), tuple(problems))


def _row(line: Line, names: Sequence[str], above: Row) -> Row:
    """A row's cells by heading; what stands above the heading holds for all rows."""
    cells = {name: text_of(cell) or "" for name, cell in zip(names, line.cells, strict=False) if name}
    return {**above, **{name: cell.strip() for name, cell in cells.items()}}


def _mark(file: str, number: int, row: Row) -> Mark:
    behavior = row.get("behavior", "")
    subject = row.get("subject", "")
    modifiers = [text for name, text in row.items() if name.startswith("modifier") and text.casefold() not in _NOTHING]
    words = joined("" if subject.casefold() in _NO_SUBJECT else subject, *modifiers, behavior)
    media = next((row[name] for name in _MEDIA if row.get(name, "").casefold() not in _NOTHING), "")
    videos = tuple(filter(None, (_first(media), row.get("observation_id", ""))))
    where = f"observation {short(row.get('observation_id', ''))}, behavior {short(behavior)}"
    return Mark(words, behavior, videos, file, number, where)


def _first(media: str) -> str:
    """The video that the times count in: player 1's, without the player's name."""
    name = media.split("|")[0]
    return name.partition(":")[2] if name.casefold().startswith("player #") else name


def _aggregated(file: str, rows: Sequence[tuple[int, Row]]) -> Iterator[Mark]:
    for number, row in rows:
        mark = _mark(file, number, row)
        if row.get("behavior_type", "").upper() == "POINT":
            fault: Problem | None = mark.problem("point-event", "a point event is a moment, not a span.", _POINT_FIX)
        else:
            fault = _misplaced(mark, row)
        times = [_seconds(row, name) for name in ("start_(s)", "stop_(s)")]
        if fault is None and None in times:
            what = f"{short(row.get('start_(s)', ''))} to {short(row.get('stop_(s)', ''))} are no times in seconds."
            fault = mark.problem("not-a-time", what, "Export the events again, with times in seconds.")
        yield replace(mark, start=times[0] or 0.0, end=times[1] or 0.0, fault=fault)


def _tabular(file: str, rows: Sequence[tuple[int, Row]], problems: list[Problem]) -> Iterator[Mark]:
    """Pairs each start with the stop that follows it, of the same observation, subject, behaviour and modifiers."""
    begun: dict[Any, Mark] = {}
    for number, row in rows:
        mark = _mark(file, number, row)
        status = next((row[name].upper() for name in ("status", "behavior_type") if row.get(name)), "")
        fault = _misplaced(mark, row)
        time = _seconds(row, "time")
        if fault is None and time is None:
            fault = mark.problem(
                "not-a-time", f"{short(row.get('time', ''))} is no time in seconds.", "Export it again."
            )
        mark = replace(mark, start=time or 0.0, end=time or 0.0, fault=fault)
        key = (row.get("observation_id"), mark.words, mark.videos)
        if status == "POINT":
            yield replace(mark, fault=mark.problem("point-event", "a point event is a moment, not a span.", _POINT_FIX))
        elif status == "START" and key not in begun:
            begun[key] = mark
        elif status == "STOP" and key in begun:
            first = begun.pop(key)
            yield replace(first, end=mark.end, fault=first.fault or fault)
        else:
            fix = "Fix unpaired events in BORIS, and export again."
            yield replace(mark, fault=mark.problem("event-unpaired", f"{short(status)} without its partner.", fix))
    for mark in begun.values():
        fix = "Fix unpaired events in BORIS, and export again."
        yield replace(mark, fault=mark.problem("event-unpaired", "'START' without its 'STOP'.", fix))


def _seconds(row: Row, name: str) -> float | None:
    seconds = seconds_of(row.get(name, ""))
    return seconds if seconds is not None and abs(seconds) <= MAX_SECONDS else None


def _misplaced(mark: Mark, row: Row) -> Problem | None:
    """Reason why the times do not count from the beginning of the video; empty if they do."""
    offset = row.get("time_offset_(s)", "")
    if seconds_of(offset or "0") != 0 and offset.casefold() not in _NOTHING:
        return mark.problem("time-offset", f"the observation has a time offset of {short(offset)}.", _OFFSET_FIX)
    for name in ("source", "media_file"):
        listed = _first(row.get(name, "")).split(";")
        if len(listed) > 1 and (not mark.videos or mark.videos[0].strip() != listed[0].strip()):
            what = f"its times count over {len(listed)} videos one after another."
            return mark.problem("several-videos", what, "Make one observation for each video in BORIS.")
    return None

"""Chest compressions out of the CSV exports of manikins and defibrillators, on the clock of the video.

No maker publishes a description of its CSV exports. The forms below are those of files that researchers have published
with their programs and papers; they were read from there, not from a device:

* **ZOLL**, *individual compressions* of RescueNet Code Review: ``Second, Millisecond, Depth (inches), Rate (CPM),
  Release Velocity (MM/S), Valid/Invalid``, and the later ``second, ms, D, CPM, Vr, valid`` with depth in thousandths of
  an inch. Form and units: the program of https://github.com/rsh52/CPR-Report-Card-App and the files published with
  it. Release velocity is no depth: of recoil these files say nothing.
* **Laerdal**, ``CPREvents.xml`` of a SimPad or Resusci Anne session (``.ssx``, an archive) as a spreadsheet program
  saves it: a row for each value, ``type, msecs, type2, value``, and ``CprCompEvent`` rows with ``compDepth`` and
  ``compReleaseDepth`` in millimetres. Form: table 1 of https://doi.org/10.5334/joc.65 (its columns ``type`` and
  ``type2``) and the names of parameters in published programs that read such archives. No file could be had.
* **plain**: ``time (s), depth (mm)`` and, if it is measured, ``release (mm)``, for any other device.

An export runs on its own clock. ``offsets.csv`` beside the exports has for each its ``offset``: the second of the video
at which the export's clock shows 0.
"""

from __future__ import annotations

import codecs
import csv
import io
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple

import numpy as np

from siming_tasks.common.errors import DataError, Problem
from siming_tasks.common.files import read_bytes
from siming_tasks.metrics.score_matrix import FloatArray
from siming_tasks.tools.builder.cells import number, spelled

OFFSETS = "offsets.csv"
"""Name of the table of clocks in a folder of exports."""
MAX_EXPORT = 64_000_000
"""Largest export in bytes; an hour of compressions has about a third of a million."""
DEEPEST = 150.0
"""Millimetres beyond which a depth is none: a chest is not pressed that far, and the unit is another one."""
SHALLOWEST = 15.0
"""Millimetres that the deepest compression of an export has at least; below, the unit is another one."""
RATES = (10.0, 250.0)
"""Compressions a minute, by the median interval, beyond which an export is no list of a person's compressions."""

_INCH = 25.4
_HEADINGS: Mapping[str, tuple[str, float]] = {
    "second": ("time", 1.0),
    "millisecond": ("millisecond", 0.001),
    "ms": ("millisecond", 0.001),
    "depth (inches)": ("depth", _INCH),
    "depth (mm)": ("depth", 1.0),
    "depth (cm)": ("depth", 10.0),
    "d": ("depth", _INCH / 1000),
    "valid/invalid": ("valid", 1.0),
    "valid": ("valid", 1.0),
    "msecs": ("time", 0.001),
    "compdepth": ("depth", 1.0),
    "compreleasedepth": ("release", 1.0),
    "time (s)": ("time", 1.0),
    "release (mm)": ("release", 1.0),
}
"""What is below a heading, and its unit in seconds or millimetres; headings are in small letters, without the number
that ZOLL puts behind some (``second26``)."""
_UNREAD = ("rate (cpm)", "release velocity (mm/s)", "cpm", "vr")
"""Columns of the known forms that say nothing of time or depth."""
_LONG = ("type", "msecs", "type2", "value")
_COMPRESSION = "CprCompEvent"
_INVALID = ("invalid", "0", "0.0", "false")
_FORMS = (
    "Known forms: `Second, Millisecond, Depth (inches), ...` (ZOLL), `type, msecs, type2, value` (Laerdal) and "
    "`time (s), depth (mm)` with or without `release (mm)`."
)


@dataclass(frozen=True, eq=False)
class Compressions:
    """Chest compressions in the order of time.

    Attributes:
        time: seconds, rising, ``float64[N]``: of the export's clock, or of the video's after :func:`read_exports`.
        depth: millimetres, ``float64[N]``; NaN where the device itself calls the compression invalid.
        release: millimetres that the chest stays pressed in before the next compression, ``float64[N]``; NaN where the
            device does not measure it, or calls the compression invalid.
        invalid: how many the device itself calls invalid; their times count for rate and pauses.
        unread: headings of columns that nothing is known of.
    """

    time: FloatArray
    depth: FloatArray
    release: FloatArray
    invalid: int = 0
    unread: tuple[str, ...] = ()

    def covers(self, start: float, end: float) -> bool:
        """True if a compression lies in a span, or some lie before it and others after: the device was on."""
        return bool((self.time < end).any() and (self.time >= start).any())


class _Row(NamedTuple):
    line: int
    cells: dict[str, str]


def read_export(path: Path) -> Compressions:
    """The compressions of one export, on its own clock.

    Raises:
        DataError: ``.problems`` has every row that cannot be read, with line and way out.
    """
    headings, rows = _table(path)
    unread = tuple(name for name in headings if name and name not in (*_HEADINGS, *_UNREAD, *_LONG))
    if set(_LONG) <= set(headings):
        headings, rows = _pivoted(rows)
    fields = _fields(headings, path)
    problems: list[Problem] = []
    read: list[dict[str, float]] = []
    invalid = 0
    for row in rows:
        marked = [row.cells.get(heading, "").casefold() for heading, (to, _) in fields.items() if to == "valid"]
        left_out = any(mark in _INVALID for mark in marked)
        invalid += left_out
        read.append(_numbers(row, fields, path, problems, () if left_out else ("depth", "release")))
    time, depth, release = (
        np.array([each.get(name, np.nan) for each in read], dtype=np.float64) for name in ("time", "depth", "release")
    )
    for at in np.flatnonzero(np.diff(time) <= 0):
        what = f"{time[at + 1]:g} s comes after {time[at]:g} s."
        fix = "An export holds one session, in the order of time: export the sessions one by one."
        problems.append(Problem("instrument-order", what, fix, str(path), rows[at + 1].line))
    for name, lengths in (("depth", depth), ("release", release)):
        for at in np.flatnonzero((lengths < 0) | (lengths > DEEPEST)):
            what = f"{name} {lengths[at]:g} mm is none of a chest (0-{DEEPEST:g} mm)."
            fix = "Check the unit in the heading."
            problems.append(Problem("instrument-cell", what, fix, str(path), rows[at].line))
    for at in np.flatnonzero(release > depth):
        what = f"release {release[at]:g} mm is deeper than the compression itself, {depth[at]:g} mm."
        fix = "Release is how far the chest stays pressed in: check the columns and their units."
        problems.append(Problem("instrument-cell", what, fix, str(path), rows[at].line))
    if invalid == len(rows) and not problems:
        what = f"no compression in it{f' ({invalid} are marked as invalid)' if invalid else ''}."
        problems.append(Problem("instrument-empty", what, "Export the session again, or delete the file.", str(path)))
    problems = problems or _implausible(time, depth, {to: heading for heading, (to, _) in fields.items()}, path)
    if problems:
        raise DataError.of(problems)
    return Compressions(time, depth, release, invalid, unread)


def _fields(headings: list[str], path: Path) -> dict[str, tuple[str, float]]:
    """Fields and units by known heading; one column of each field, and milliseconds beside seconds alone."""
    known = [heading for heading in headings if heading in _HEADINGS]
    fields = {heading: _HEADINGS[heading] for heading in known}
    to = [_HEADINGS[heading][0] for heading in known]
    if missing := {"time", "depth"} - {"time" if field == "millisecond" else field for field in to}:
        shown = ", ".join(heading[:30] for heading in headings[:10]) or "none"
        unit = " `Depth` needs its unit: write `Depth (inches)` or `Depth (mm)`." if "depth" in headings else ""
        what = f"no column of {' and '.join(sorted(missing))}; the headings are {shown}."
        raise DataError.of([Problem("instrument-form", what, f"{_FORMS}{unit}", str(path), 1)])
    if twice := [name for name in dict.fromkeys(to) if to.count(name) > 1]:
        same = ", ".join(f"`{heading}`" for heading in known if _HEADINGS[heading][0] == twice[0])
        what = f"{same}: several columns of {twice[0]}."
        raise DataError.of([Problem("instrument-form", what, "Keep one of them.", str(path), 1)])
    if "millisecond" in to and "second" not in known:
        what = f"`{known[to.index('millisecond')]}` is a part of a second, and there is no column `second`."
        fix = "Write the time into `time (s)`, or name a column of milliseconds alone `msecs`."
        raise DataError.of([Problem("instrument-form", what, fix, str(path), 1)])
    return fields


def _numbers(
    row: _Row, fields: Mapping[str, tuple[str, float]], path: Path, problems: list[Problem], lengths: tuple[str, ...]
) -> dict[str, float]:
    """Seconds of a row, and those ``lengths`` (mm); a cell without a number is a problem, but for an empty release."""
    read: dict[str, float] = {}
    for heading, (name, unit) in fields.items():
        text = row.cells.get(heading, "")
        if name not in ("time", "millisecond", *lengths) or (name == "release" and not text):
            continue
        value = number(text)
        if value is None:
            what = f"{text[:30]!r} is not a number."
            problems.append(Problem("instrument-cell", what, "Export it again.", str(path), row.line, heading))
        elif name == "millisecond" and not 0 <= value < 1000:
            what = f"{value:g} is no millisecond within a second (0-999)."
            fix = "If the column holds the whole time in milliseconds, name it `msecs` and delete `second`."
            problems.append(Problem("instrument-cell", what, fix, str(path), row.line, heading))
        read[name] = np.nan if value is None else unit * value
    if "millisecond" in read:
        read["time"] += read.pop("millisecond")
    return read


def _implausible(time: FloatArray, depth: FloatArray, headings: Mapping[str, str], path: Path) -> list[Problem]:
    """Problems of what no person does: compressions all too shallow, too fast or too slow; ``headings`` by field."""
    problems = []
    if (deepest := np.nanmax(depth)) < SHALLOWEST:
        what = f"the deepest compression has {deepest:.3g} mm; of a chest it has {SHALLOWEST:g} mm or more."
        fix = "Write the unit of the numbers into the heading: `depth (mm)`, `depth (cm)` or `depth (inches)`."
        problems.append(Problem("instrument-unit", what, fix, str(path), 1, headings["depth"]))
    rate = 60 / float(np.median(np.diff(time))) if len(time) > 1 else None
    if rate and not RATES[0] <= rate <= RATES[1]:
        what = f"{rate:.3g} compressions a minute by the median interval; people make {RATES[0]:g} to {RATES[1]:g}."
        fix = "If this is a curve of depth over time, write a row for each compression (its deepest point) instead; "
        fix += "else the unit of time is not that of the heading: `time (s)` is seconds, `msecs` milliseconds."
        problems.append(Problem("instrument-rate", what, fix, str(path), 1, headings["time"]))
    return problems


def _table(path: Path) -> tuple[list[str], list[_Row]]:
    """Headings in small letters, and the rows below them as text."""
    lines = [line for line in enumerate(_text(path).splitlines(), 1) if line[1].strip()]
    first = lines[0][1] if lines else ""
    delimiter = max("\t;,", key=first.count)
    try:
        cells = [(at, next(csv.reader(io.StringIO(text), delimiter=delimiter, strict=True))) for at, text in lines]
    except csv.Error as error:
        raise DataError(f"{path}: not CSV: {error}. Export it again.") from None
    headings = [re.sub(r"(?<=[a-z])\d{2,}$", "", cell.strip().casefold()) for cell in (cells[0][1] if cells else [])]
    rows = [_Row(at, dict(zip(headings, map(str.strip, row), strict=False))) for at, row in cells[1:]]
    return headings, rows


def _text(path: Path) -> str:
    data = read_bytes(path, MAX_EXPORT, "Give the folder of the exports.")
    wide = data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
    names = ["utf-16"] if wide else ["utf-16-le"] if data[1:2] == b"\0" else ["utf-8-sig"]  # ZOLL's has no mark
    try:
        return data.decode(names[0])
    except UnicodeDecodeError:
        raise DataError(f"{path}: neither UTF-8 nor UTF-16 text. Save the export as CSV (UTF-8).") from None


def _pivoted(rows: list[_Row]) -> tuple[list[str], list[_Row]]:
    """A row for each compression of a table that has a row for each of its values."""
    events: dict[str, _Row] = {}
    for line, cells in rows:
        if cells.get("type") == _COMPRESSION:
            event = events.setdefault(cells.get("msecs", ""), _Row(line, {"msecs": cells.get("msecs", "")}))
            event.cells[cells.get("type2", "").casefold()] = cells.get("value", "")
    return ["msecs", "compdepth", "compreleasedepth"], list(events.values())


def read_exports(
    folder: Path, videos: Mapping[str, str], durations: Mapping[str, float] | None = None
) -> tuple[dict[str, Compressions], list[Problem]]:
    """The compressions of every export of a folder by video id, on the video's clock; warnings.

    Args:
        folder: ``.csv`` files, each with the name of its video, and :data:`OFFSETS`.
        videos: id of each video by every name that it has.
        durations: seconds of each video by id; None: they are not known.

    Raises:
        DataError: a file cannot be read, belongs to no video, has no offset, or lies outside its video; all of these
            at once.
    """
    if not folder.is_dir():
        raise DataError(f"{folder}: no such folder. Give the folder of the exports, one .csv file for each video.")
    files = sorted(path for path in folder.iterdir() if path.suffix.lower() == ".csv" and path.name != OFFSETS)
    if not files:
        raise DataError(f"{folder}: holds no export. Put one .csv file for each video there, with the video's name.")
    known = {spelled(name): video for name, video in videos.items()}
    problems: list[Problem] = []
    offsets = _offsets(folder / OFFSETS, {spelled(path.stem): path for path in files}, problems)
    read: dict[str, Compressions] = {}
    of: dict[str, Path] = {}
    for path in files:
        name = spelled(path.stem)
        if (video := known.get(name)) is None:
            fix = f"Give it the name of its video: {', '.join(sorted(videos)[:3])}, ..."
            problems.append(Problem("instrument-video", "no video of the data set has this name.", fix, str(path)))
        elif video in of:
            what = f"is of video {video!r}, as {of[video].name} is."
            problems.append(Problem("instrument-video", what, "Keep one export for each video.", str(path)))
        else:
            of[video] = path
            try:
                export = read_export(path)
                if name in offsets:
                    read[video] = replace(export, time=export.time + offsets[name])
                    problems += _outside(path, read[video], (durations or {}).get(video, np.inf))
            except DataError as error:
                problems += error.problems or [Problem("instrument-form", str(error), "")]
    if problems:
        raise DataError(str(DataError.of(problems, shown=20)), problems)
    return read, [problem for video, each in read.items() for problem in _unused(of[video], each)]


def _outside(path: Path, export: Compressions, duration: float) -> list[Problem]:
    """A problem if no time of an export, on the video's clock, can be of the video."""
    first, last = float(export.time[0]), float(export.time[-1])
    if last >= 0 and first <= duration:
        return []
    what = f"its compressions lie from {first:.1f} to {last:.1f} s of a video of {duration:.1f} s: all outside."
    fix = f"Check its offset in {OFFSETS} and the unit of its times."
    return [Problem("instrument-clock", what, fix, str(path))]


def _unused(path: Path, export: Compressions) -> list[Problem]:
    """Warnings on what an export says and nothing is made of."""
    left_out = f"{export.invalid} of {len(export.time)} compressions are invalid by the device itself."
    unread = f"nothing is known of the columns {', '.join(f'`{name[:30]}`' for name in export.unread[:10])}."
    each = (
        (export.invalid, "instrument-invalid", left_out, "Their times count for rate and pauses, their depths do not."),
        (export.unread, "instrument-column", unread, "They are not read; correct a heading if it should be."),
    )
    return [Problem(code, what, fix, str(path), severity="warning") for some, code, what, fix in each if some]


def _offsets(path: Path, files: Mapping[str, Path], problems: list[Problem]) -> dict[str, float]:
    """Seconds by the name of each export; an export that the table lacks is a problem: no clock is ever assumed."""
    rows: list[_Row] = []
    if path.is_file():
        headings, rows = _table(path)
        if not {"file", "offset"} <= set(headings):
            what = f"the columns are {', '.join(headings[:6])}, not file and offset."
            problems.append(Problem("instrument-offset", what, "Write the heading `file,offset`.", str(path), 1))
            return {}
    offsets: dict[str, float] = {}
    for line, cells in rows:
        name, seconds = spelled(Path(cells.get("file", "")).stem), number(cells.get("offset", ""))
        for wrong, what, fix in (
            (name in offsets, f"{name!r} stands there already.", "Keep one row for each export."),
            (name not in files, f"there is no export {name!r}.", "Correct the name, or delete the row."),
            (seconds is None, f"{cells.get('offset', '')[:30]!r} is no number of seconds.", "Write 12.4 or -3.5."),
        ):
            if wrong:
                problems.append(Problem("instrument-offset", what, fix, str(path), line))
                break
        offsets[name] = seconds or 0.0
    for file in (file for name, file in files.items() if name not in offsets):
        what = f"{OFFSETS} has no row of it; the clocks of video and export cannot be brought together."
        fix = f"Add `{file.name},SECONDS`: the second of the video at which the export's clock shows 0."
        problems.append(Problem("instrument-offset", what, fix, str(file)))
    return offsets

"""Words of a score sheet: the mapping file that says how a hospital's own are ours, and the role of each column."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from functools import lru_cache
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, ValidationError, ValidationInfo, field_validator

from siming_tasks.common.errors import DataError, Problem
from siming_tasks.common.files import read_yaml
from siming_tasks.common.schema import CONSENSUS
from siming_tasks.data.row_schema import RaterRow, problems_of
from siming_tasks.rubrics import Rubric
from siming_tasks.tools.builder.cells import folded, plain, unit_of
from siming_tasks.tools.builder.sheet_rows import Column, Sheet
from siming_tasks.tools.builder.worksheets import CAMOUFLAGED, PERCENT, ROUNDED, STRUCK, TINY

VIDEO_FIELDS = ("site", "student", "split")
"""Optional columns that say something about the whole video."""
OURS = ("video_id", "step_id", "start", "end", "applicable", *VIDEO_FIELDS, "rater", "points", CONSENSUS)
"""The columns of a sheet; ``points`` may also be called ``score``."""
Kind = Literal["labels", "spans", "adjudicated"]
_READ: dict[tuple[str, bool], tuple[str, ...]] = {
    ("labels", True): OURS,
    ("labels", False): ("video_id", "applicable", *VIDEO_FIELDS, "rater"),
    ("spans", True): ("video_id", "step_id", "start", "end"),
    ("adjudicated", True): ("video_id", "step_id", CONSENSUS, "line"),
}
"""Our columns that are read, by the kind of sheet and whether it is long."""
_UNSEEN = {
    "hidden": "Nobody who looks at the sheet sees them. Show them if they count, delete them if they do not.",
    STRUCK: "Delete them if they do not count, else undo the striking out.",
    PERCENT: "The file holds 1 where the sheet shows 100 %. Write the points, formatted as numbers.",
    CAMOUFLAGED: "Nobody who looks at the sheet sees them. Give them another colour if they count, else delete them.",
    TINY: "Nobody who looks at the sheet sees them. Make them larger if they count, else delete them.",
    "": "The file holds another number than the sheet shows. Format the cells as General, and look at them.",
}
_Name = Annotated[str, StringConstraints(min_length=1, strip_whitespace=True)]


class SheetMapping(BaseModel):
    """The mapping file: how a sheet's own words are ours. Every key is optional, every entry must meet something.

    Attributes:
        columns: our column name to the sheet's (``video_id: 录像编号``).
        raters: the sheet's rater (a cell, a column's heading or a worksheet's title) to the name in the dataset.
        rater_facts: a rater's name there to its facts (``manikin: {kind: instrument}``), as in ``dataset.yaml``.
        steps: the sheet's heading (wide form) or cell (long form) to the step's id.
        not_applicable: cells that mean N/A.
        ignore: headings and worksheets that are left out on purpose.
        rate: frames per second of time codes ``hh:mm:ss:ff`` (``25``, ``30000/1001``), of columns that count frames,
            and of Label Studio's frames.
        videos: the name that an annotation tool has for a video to that of the score sheet.
        annotator: whose annotations are read, where a file has those of several.
        repeated: of annotations that repeat a step in a video: ``refuse``, or ``join`` them from first to last.
        names: a name that is said, or a speaker's, exactly as a transcript has it, to what stands there in its place.
        said_from: where times of transcripts begin, at the ``start`` of the video or of its ``sound``.
    """

    model_config = ConfigDict(extra="forbid", coerce_numbers_to_str=True)

    columns: dict[_Name, _Name] = Field(default_factory=dict)
    raters: dict[_Name, _Name] = Field(default_factory=dict)
    rater_facts: dict[_Name, RaterRow] = Field(default_factory=dict)
    steps: dict[_Name, _Name] = Field(default_factory=dict)
    not_applicable: tuple[str, ...] = ()
    ignore: tuple[_Name, ...] = ()
    rate: str | None = None
    videos: dict[_Name, _Name] = Field(default_factory=dict)
    annotator: str | None = None
    repeated: Literal["refuse", "join"] = "refuse"
    names: dict[_Name, _Name] = Field(default_factory=dict)
    said_from: Literal["start", "sound"] | None = None

    @field_validator("columns", "raters", "rater_facts", "steps", "videos", "ignore", "names", mode="before")
    @classmethod
    def _nothing_yet(cls, table: Any, info: ValidationInfo) -> Any:
        """A key with nothing below it, as a draft has it."""
        return table if table is not None else [] if info.field_name == "ignore" else {}

    @field_validator("columns", "raters", "steps")
    @classmethod
    def _as_cells_are(cls, table: dict[str, str], info: ValidationInfo) -> dict[str, str]:
        """Folded like the cells that they are compared with."""
        plainly: dict[str, str] = {}
        for name, meaning in table.items():
            if str(plain(name)) in plainly:
                raise ValueError(f"{name!r} stands here twice (full-width and other letters are the same)")
            plainly[str(plain(name))] = str(plain(meaning))
        if info.field_name == "columns" and (others := [name for name in plainly if name not in OURS]):
            raise ValueError(f"{others[0]!r} is none of our columns ({', '.join(OURS)}); write `ours: the sheet's`")
        return plainly

    @field_validator("rate")
    @classmethod
    def _a_rate(cls, text: str | None) -> str | None:
        try:
            if text is None or 1 <= Fraction(text) <= 1000:
                return text
        except (ValueError, ZeroDivisionError):
            pass
        raise ValueError("not a rate in frames per second, such as 25 or 30000/1001")


def read_mapping(path: Path) -> SheetMapping:
    """The mapping file of a score sheet.

    Raises:
        DataError: not YAML, or not a mapping file.
    """
    try:
        return SheetMapping.model_validate(read_yaml(path, SheetMapping) or {})
    except ValidationError as error:
        raise DataError.of(problems_of(error, str(path))) from None


_folded = lru_cache(4096)(folded)
"""Of the mapping's own words, which are compared with every name of a file."""


def _alike(word: str, names: Iterable[str]) -> str | None:
    """The name that is this word: exactly, else alone among those that are folded like it."""
    names, exact = list(names), str(plain(word))
    if exact in names:
        return exact
    like = folded(word)
    matches = [name for name in names if _folded(name) == like]
    return matches[0] if len(matches) == 1 else None


class Words:
    """A mapping at work: looks words up, and remembers which entries met something."""

    def __init__(self, mapping: SheetMapping, file: str | None = None) -> None:
        self.mapping = mapping
        self.rate = Fraction(mapping.rate) if mapping.rate else None
        self._file = file
        self._ignore = [str(plain(word)) for word in mapping.ignore]
        self._met: set[tuple[str, str]] = set()

    def meaning(self, section: Literal["raters", "steps", "videos"], word: str) -> str | None:
        """Meaning of a word of the sheet or the annotation tool by a section of the mapping."""
        table: Mapping[str, str] = getattr(self.mapping, section)
        # The names of videos are not folded when the mapping is read: they are first compared as they are spelled.
        name = word if section == "videos" and word in table else _alike(word, table)
        if name is None:
            return None
        self._met.add((section, name))
        return table[name]

    def column(self, heading: str) -> list[str]:
        """Our names for a heading, by ``columns``."""
        ours = [name for name, theirs in self.mapping.columns.items() if _alike(heading, [theirs])]
        self._met.update(("columns", name) for name in ours)
        return ours

    def ignored(self, word: str) -> bool:
        """True if a heading or worksheet is left out on purpose."""
        name = _alike(word, self._ignore)
        if name is not None:
            self._met.add(("ignore", name))
        return name is not None

    def unmatched(self, sheets: Iterable[Path]) -> list[Problem]:
        """A finding for every entry that met nothing in these files."""
        where = " or ".join(map(str, sheets))
        entries = []
        for section in ("columns", "raters", "steps", "videos"):
            table: Mapping[str, str] = getattr(self.mapping, section)
            entries += [(section, name, f"{section}: {{{name}: {word}}}") for name, word in table.items()]
        entries += [("ignore", str(plain(name)), f"ignore: [{name}]") for name in self.mapping.ignore]
        fix = "Write the word as it stands in the sheet, or delete the entry."
        return [
            Problem("mapping-unmatched", f"`{shown}` meets nothing in {where}.", fix, self._file)
            for section, name, shown in entries
            if (section, name) not in self._met
        ]


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

    def problems(self, sheet: Sheet) -> list[Problem]:
        """Two columns for one thing, columns with cells that nobody reads, and columns left out on purpose."""
        fix = "Rename one, or name the one to leave out under `ignore:` in the mapping file (--columns)."
        problems = [
            Problem("two-sources", f"columns {first!r} and {second!r} are both {what}.", fix, sheet.file)
            for first, second, what in self.twice
        ]
        for each in self.points:
            if each.step is None and (word := _OTHER_POINTS.search(each.column.replace("_", " "))):
                what = f"column {each.column!r} says {word[0]!r}: these are no points."
                fix = "Write the points that were given, or correct the heading."
                problems.append(Problem("points-unclear", what, fix, sheet.file))
        problems += self._unseen(sheet)
        fix = (
            "A rater's column is called rater_<name>, one word and no more; say in the mapping file (--columns) what "
            "they are (`raters:`, `steps:`, `columns:`), or name them under `ignore:`."
        )
        filled = {name for row in sheet.rows for name in row.cells}
        for full in (True, False):
            if names := [name for name in self.unused if (name in filled) is full]:
                shown = ", ".join(map(repr, names[:8])) + (f" and {len(names) - 8} more" if len(names) > 8 else "")
                what = f"columns {shown} are not read{'' if full else ' (they are empty)'}."
                problems.append(
                    Problem("columns-ignored", what, fix, sheet.file, severity="error" if full else "warning")
                )
        if self.left_out:
            what = f"left out on purpose: columns {', '.join(map(repr, self.left_out))}."
            problems.append(Problem("columns-left-out", what, "Nothing to do.", sheet.file, severity="warning"))
        return problems

    def _unseen(self, sheet: Sheet) -> Iterator[Problem]:
        """Cells that are read, and that a reader of the sheet sees otherwise; times may be rounded."""
        points = {each.column for each in self.points}
        places: dict[str, dict[str, None]] = {}
        for row in sheet.rows:
            for name, (how, place) in row.unseen.items():
                if name in points or (name in self.ours.values() and how != ROUNDED):
                    places.setdefault(how, {})[place] = None
        for how, found in places.items():
            shown = ", ".join(list(found)[:5]) + (f" and {len(found) - 5} more are" if len(found) > 5 else ":")
            where = "" if sheet.title is None else f"sheet {sheet.title!r}: "
            yield Problem("cells-unseen", f"{where}{shown} {how}.", _UNSEEN.get(how, _UNSEEN[""]), sheet.file)


NO_RATER = frozenset(
    (
        *("id", "ids", "name", "names", "code", "count", "number", "age", "years", "experience", "date", "time"),
        *("comment", "comments", "note", "notes", "remark", "remarks", "confidence", "certainty", "agreement"),
        *("mean", "average", "median", "sum", "total", "sd", "deduction", "deductions", "error", "errors"),
        *("lost", "minus", "demerit", "demerits", "rank", "grade", "norm", "normed", "scaled", "percent"),
    )
)
"""Last words of headings that begin with ``rater`` and are about raters, of no single one, or no points."""
_OTHER_POINTS = re.compile(
    r"%|\bpercent|prozent|pourcent|百分|\b(?:deduct|penalt|abz[uü]g|minuspunkt|d[ée]duction|errors?\b|mistakes?\b)|扣分",
    re.IGNORECASE,
)
"""Words of headings of numbers that are no points."""
_PLAIN_RATER = re.compile(r"rater(?:_[^\W_]+|[a-z]|\d{1,3})")


def rater_named(text: str) -> str | None:
    """The rater that a heading or a worksheet's title names by itself: ``rater_...`` or the consensus.

    Example:
        >>> rater_named("Rater Li"), rater_named("rater_li_confidence"), rater_named("raters")
        ('rater_li', None, None)
    """
    name = folded(text)
    is_rater = name.startswith("rater") and name not in ("rater", "raters") and name.split("_")[-1] not in NO_RATER
    return name if name == CONSENSUS or is_rater else None


def rater_of(heading: str) -> str | None:
    """The rater whose points a heading names by itself: ``rater_<name>`` and no more, or the consensus.

    Whatever follows the name may say that the numbers are others than points: lost, a rank, of another scale.

    Example:
        >>> rater_of("Rater Li"), rater_of("rater_a lost"), rater_of("rater_a (0-10)"), rater_of("rater_mean")
        ('rater_li', None, None, None)
    """
    name = rater_named(heading)
    return name if name == CONSENSUS or (name and _PLAIN_RATER.fullmatch(name)) else None


def layout_of(
    sheet: Sheet, rubric: Rubric, words: Words, kind: Kind = "labels", raters: Collection[str] = ()
) -> Layout:
    """Assign a role to each column of a sheet of this kind; headings are steps, ``rater_...`` or one of ``raters``."""
    ours: list[tuple[str, str]] = []
    points: list[Points] = []
    layout = Layout()
    steps = {folded(step): step for step in rubric.by_id}
    names = {*raters, *words.mapping.raters.values()}
    for column in sheet.columns:
        if words.ignored(column.name) or words.ignored(column.parts[-1]):
            layout.left_out.append(column.name)
        elif fields := _ours(column, words, kind):
            ours += [(name, column.name) for name in fields]
        elif as_points := _points(column, steps, names, words):
            points.append(as_points)
        else:
            layout.unused.append(column.name)
    long = any(name == "step_id" for name, _ in ours)
    for name, theirs in ours:
        if name not in _READ.get((kind, long), ()):
            layout.unused.append(theirs)
        elif layout.ours.setdefault(name, theirs) != theirs:
            layout.twice.append((layout.ours[name], theirs, name))
    points += [Points(layout.ours[CONSENSUS], None, CONSENSUS)] if CONSENSUS in layout.ours else []
    points += [Points(layout.ours["points"])] if "points" in layout.ours else []
    for each in points:
        if kind == "spans" or long != (each.step is None):
            layout.unused.append(each.column)
        elif same := [known for known in layout.points if (known.step, known.rater) == (each.step, each.rater)]:
            of = f"step {each.step!r}" if each.step else "the points"
            shown = f"{of} by {each.rater!r}" if each.rater else of
            layout.twice.append((same[0].column, each.column, shown))
        else:
            layout.points.append(each)
    # Points of nobody beside points of somebody, or a rater's column without points of its own, are not used.
    nobodys = [each for each in layout.points if each.rater is None]
    if "rater" in layout.ours and not nobodys:
        layout.unused.append(layout.ours.pop("rater"))
    if nobodys and {each.rater for each in layout.points} - {None, CONSENSUS}:
        layout.unused += [each.column for each in nobodys]
        layout.points = [each for each in layout.points if each.rater is not None]
    return layout


def _ours(column: Column, words: Words, kind: Kind) -> list[str]:
    """Our names for a column; several only if the mapping says so."""
    fields = [name for part in dict.fromkeys((column.name, column.parts[-1])) for name in words.column(part)]
    name = folded(column.parts[-1])
    name = "points" if name == "score" else name
    name = bare if (bare := unit_of(column.parts[-1])[0]) in ("start", "end") else name
    if fields or (name not in OURS and not (name == "line" and kind == "adjudicated")):
        return list(dict.fromkeys(fields))
    taken = len(column.parts) > 1 and name == CONSENSUS  # `consensus` below a step: points of that step
    is_mapped = any(_alike(column.name, table) for table in (words.mapping.raters, words.mapping.steps))
    return [] if taken or is_mapped else [name]


def _points(column: Column, steps: dict[str, str], raters: Collection[str], words: Words) -> Points | None:
    def step(part: str) -> str | None:
        return words.meaning("steps", part) or steps.get(folded(part))

    def rater(part: str) -> str | None:
        known = str(plain(part))
        return words.meaning("raters", part) or rater_of(part) or (known if known in raters else None)

    if step_id := step(column.name):
        return Points(column.name, step_id)
    if len(column.parts) > 1:
        for this, other in (column.parts, column.parts[::-1]):
            if step_id := step(this):
                name = folded(other)
                is_none = name.startswith("rater") or name.split("_")[-1] in NO_RATER  # `rater_a lost`, `mean`
                whose = rater(other) or (None if is_none else str(plain(other)))
                return Points(column.name, step_id, whose) if whose else None
    whose = rater(column.parts[-1])
    return Points(column.name, None, whose) if whose else None

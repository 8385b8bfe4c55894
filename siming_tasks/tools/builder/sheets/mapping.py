"""The mapping file of a score sheet: how a hospital's own words are ours, and which of its entries met nothing."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from fractions import Fraction
from functools import lru_cache
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, ValidationError, ValidationInfo, field_validator

from siming_tasks.common.errors import DataError, Problem
from siming_tasks.common.files import read_yaml
from siming_tasks.common.schema import CONSENSUS
from siming_tasks.data.row_schema import problems_of
from siming_tasks.tools.builder.sheets.cell_values import folded, plain

__all__ = ["OURS", "VIDEO_FIELDS", "SheetMapping", "Words", "read_mapping"]

VIDEO_FIELDS = ("site", "student", "split", "global_rating")
"""Optional columns that say something about the whole video."""
OURS = ("video_id", "step_id", "start", "end", "applicable", *VIDEO_FIELDS, "rater", "points", CONSENSUS)
"""The columns of a sheet; ``points`` may also be called ``score``."""

_Name = Annotated[str, StringConstraints(min_length=1, strip_whitespace=True)]


class SheetMapping(BaseModel):
    """The mapping file: how a sheet's own words are ours. Every key is optional, every entry must meet something.

    Attributes:
        columns: our column name to the sheet's (``video_id: 录像编号``).
        raters: the sheet's rater (a cell, a column's heading or a worksheet's title) to the name in the dataset.
        steps: the sheet's heading (wide form) or cell (long form) to the step's id.
        not_applicable: cells that mean N/A.
        ignore: headings and worksheets that are left out on purpose.
        rate: frames per second of time codes ``hh:mm:ss:ff`` (``25``, ``30000/1001``), and of Label Studio's frames.
        videos: the name that an annotation tool has for a video to that of the score sheet.
        annotator: whose annotations are read, where a file has those of several.
        repeated: of annotations that repeat a step in a video: ``refuse``, or ``join`` them from first to last.
    """

    model_config = ConfigDict(extra="forbid", coerce_numbers_to_str=True)

    columns: dict[_Name, _Name] = Field(default_factory=dict)
    raters: dict[_Name, _Name] = Field(default_factory=dict)
    steps: dict[_Name, _Name] = Field(default_factory=dict)
    not_applicable: tuple[str, ...] = ()
    ignore: tuple[_Name, ...] = ()
    rate: str | None = None
    videos: dict[_Name, _Name] = Field(default_factory=dict)
    annotator: str | None = None
    repeated: Literal["refuse", "join"] = "refuse"

    @field_validator("columns", "raters", "steps", "videos", "ignore", mode="before")
    @classmethod
    def _nothing_yet(cls, table: Any, info: ValidationInfo) -> Any:
        """A key with nothing below it, as a draft has it."""
        return table if table is not None else [] if info.field_name == "ignore" else {}

    @field_validator("columns", "raters", "steps")
    @classmethod
    def _as_cells_are(cls, table: dict[str, str]) -> dict[str, str]:
        """Folded like the cells that they are compared with."""
        plainly: dict[str, str] = {}
        for name, meaning in table.items():
            if str(plain(name)) in plainly:
                raise ValueError(f"{name!r} stands here twice (full-width and other letters are the same)")
            plainly[str(plain(name))] = str(plain(meaning))
        return plainly

    @field_validator("columns")
    @classmethod
    def _ours(cls, table: dict[str, str]) -> dict[str, str]:
        for name in table:
            if name not in OURS:
                raise ValueError(f"{name!r} is none of our columns ({', '.join(OURS)}); write `ours: the sheet's`")
        return table

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


class Words:
    """A mapping at work: looks words up, exactly first and then folded, and remembers which entries met something."""

    def __init__(self, mapping: SheetMapping, file: str | None = None) -> None:
        self.mapping = mapping
        self.rate = Fraction(mapping.rate) if mapping.rate else None
        self._file = file
        self._ignore = [str(plain(name)) for name in mapping.ignore]
        self._met: set[tuple[str, str]] = set()

    def meaning(self, section: str, word: str) -> str | None:
        """Meaning of a word of the sheet by ``raters`` or ``steps``."""
        table: Mapping[str, str] = getattr(self.mapping, section)
        name = _alike(word, table)
        if name is None:
            return None
        self._met.add((section, name))
        return table[name]

    def video(self, name: str) -> str | None:
        """Meaning of an annotation tool's name of a video by ``videos``; spelled exactly so, or alike."""
        table = self.mapping.videos
        known = name if name in table else _alike(name, table)
        if known is None:
            return None
        self._met.add(("videos", known))
        return table[known]

    def means(self, word: str) -> bool:
        """True if ``raters`` or ``steps`` give a word a meaning."""
        return any(_alike(word, table) for table in (self.mapping.raters, self.mapping.steps))

    def column(self, heading: str) -> list[str]:
        """Our names for a heading, by ``columns``."""
        table = self.mapping.columns
        ours = [name for name, theirs in table.items() if _alike(heading, [theirs])]
        self._met.update(("columns", name) for name in ours)
        return ours

    def ignored(self, word: str) -> bool:
        """True if a heading or worksheet is left out on purpose."""
        name = _alike(word, self._ignore)
        if name is not None:
            self._met.add(("ignore", name))
        return name is not None

    def unmatched(self, sheets: Iterable[Any]) -> list[Problem]:
        """A finding for every entry that met nothing in these files."""
        where = " or ".join(str(sheet) for sheet in sheets)
        entries = [("columns", name, f"columns: {{{name}: {word}}}") for name, word in self.mapping.columns.items()]
        for section in ("raters", "steps", "videos"):
            table: Mapping[str, str] = getattr(self.mapping, section)
            entries += [(section, name, f"{section}: {{{name}: {word}}}") for name, word in table.items()]
        entries += [("ignore", str(plain(name)), f"ignore: [{name}]") for name in self.mapping.ignore]
        fix = "Write the word as it stands in the sheet, or delete the entry."
        return [
            Problem("mapping-unmatched", f"`{shown}` meets nothing in {where}.", fix, self._file)
            for section, name, shown in entries
            if (section, name) not in self._met
        ]


_folded = lru_cache(4096)(folded)
"""Of the mapping's own words, which are compared with every name of a file."""


def _alike(word: str, names: Iterable[str]) -> str | None:
    names, exact = list(names), str(plain(word))
    if exact in names:
        return exact
    like = folded(word)
    matches = [name for name in names if _folded(name) == like]
    return matches[0] if len(matches) == 1 else None

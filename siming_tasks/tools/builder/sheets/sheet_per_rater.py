"""Score sheets of one physician each: whose a file is, and whether all of them speak of the same steps."""

from __future__ import annotations

import itertools
import re
import string
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from siming_tasks.common.errors import Problem
from siming_tasks.common.schema import CONSENSUS
from siming_tasks.tools.builder.sheets.cell_values import folded, plain
from siming_tasks.tools.builder.sheets.column_roles import Layout, rater_named
from siming_tasks.tools.builder.sheets.label_rows import LabelRow
from siming_tasks.tools.builder.sheets.mapping import Words

__all__ = ["LabelFile", "label_files", "owner_problems", "owners", "rater_names", "stated_twice", "unequal"]

Steps = Mapping[str, Mapping[tuple[str, str], str]]
"""By file, the (video, step) pairs that it has, and where."""


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
    return tuple(map(_label_file, [labels] if isinstance(labels, str | Path) else labels))


def _label_file(stated: str | Path) -> LabelFile:
    name, _, file = str(stated).partition("=")
    if isinstance(stated, Path) or not (name.strip() and file) or Path(stated).exists():
        return LabelFile(Path(stated))
    return LabelFile(Path(file), str(plain(name)))


def owners(files: Sequence[LabelFile], words: Words) -> list[str | None]:
    """Whose points a file holds if it does not say itself: as stated, else by its name if there are several files."""
    names: list[str | None] = []
    for file in files:
        word = file.rater or (str(plain(file.path.stem)) if len(files) > 1 else None)
        meaning = word and (words.meaning("raters", word) or rater_named(word))
        names.append(CONSENSUS if word and folded(word) == CONSENSUS else meaning or word)
    return names


def owner_problems(files: Sequence[LabelFile], whose: Sequence[str | None]) -> Iterator[Problem]:
    """One file twice, or two files of one rater."""
    for at, (file, name) in enumerate(zip(files, whose, strict=True)):
        for other, known in zip(files[:at], whose[:at], strict=True):
            if _same(file.path, other.path):
                yield Problem("two-sources", "is given twice.", "Give it once.", str(file.path))
            elif name and known and folded(name) == folded(known):
                what = f"would be the points of {name!r}, as those of {other.path}."
                fix = "Say whose they are: --labels NAME=FILE, each with a name of its own."
                yield Problem("two-sources", what, fix, str(file.path))


def _same(first: Path, second: Path) -> bool:
    try:
        return first.samefile(second)
    except OSError:
        return first == second


def stated_twice(file: LabelFile, layout: Layout) -> Problem | None:
    """A finding, if a file whose rater is stated names raters itself."""
    named = sorted({each.rater for each in layout.points if each.rater})
    if file.rater is None or ("rater" not in layout.ours and not named):
        return None
    who = "a column `rater`" if "rater" in layout.ours else f"points of {', '.join(map(repr, named))}"
    what = f"is given as the points of {file.rater!r}, but has {who}."
    return Problem("two-sources", what, "Give the file without NAME=, or one file per rater.", str(file.path))


def unequal(steps: Steps, partial: Collection[str]) -> Iterator[Problem]:
    """A finding for every file whose videos and steps are not those of the others.

    Args:
        steps: what the files of one rater each have.
        partial: files that may have only some (the consensus).
    """
    every: dict[tuple[str, str], str] = {}
    for file in steps.keys() - partial or steps:
        for place, where in steps[file].items():
            every.setdefault(place, where)
    fix = "Write the same videos and steps in every physician's file; where there are no points, leave the cell empty."
    for file, places in steps.items():
        if file not in partial and (lacking := [place for place in every if place not in places]):
            (video, step), more = lacking[0], len(lacking) - 1
            what = f"lacks video {video!r}, step {step!r}, which stands on {every[lacking[0]]}"
            yield Problem("rows-differ", what + (f" (and {more:,} more)." if more else "."), fix, file)
        for (video, step), where in places.items():
            if (video, step) not in every:
                what = f"video {video!r}, step {step!r} ({where}) stands in no physician's file."
                yield Problem("rows-differ", what, fix, file)


_NEUTRAL = re.compile(r"rater_(?:[a-z]|[0-9]{1,3})")
"""Names that tell nothing; ``rater_li`` may be somebody."""


def rater_names(rows: Iterable[LabelRow], keep: bool = False) -> dict[str, str]:
    """The name in the dataset by the sheet's name, in order of appearance; the consensus is no rater.

    Names that are letters or numbers already stay; the others get the letters that are left. ``keep``: all stay.
    """
    names = list(dict.fromkeys(name for row in rows for name in row.scores if name != CONSENSUS))
    if keep:
        return {name: name for name in names}
    taken = {name for name in names if _NEUTRAL.fullmatch(name)}
    letters = (f"rater_{letter}" for letter in _letters() if f"rater_{letter}" not in taken)
    return {name: name if name in taken else next(letters) for name in names}


def _letters() -> Iterator[str]:
    """a, b, ... z, aa, ab, ..."""
    for length in itertools.count(1):
        yield from map("".join, itertools.product(string.ascii_lowercase, repeat=length))

"""Detection of the annotation tool that wrote a file, and reading with its module."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path

from siming_tasks.common.errors import DataError, Problem
from siming_tasks.tools.builder.annotations.boris import is_boris, read_boris, sheets_of
from siming_tasks.tools.builder.annotations.elan import read_elan
from siming_tasks.tools.builder.annotations.label_studio import read_label_studio
from siming_tasks.tools.builder.annotations.match_steps import Marks
from siming_tasks.tools.builder.sheets.mapping import Words

__all__ = ["KINDS", "read_marks", "span_files"]

KINDS = (".eaf", ".json", ".csv", ".tsv", ".txt", ".xlsx", ".jsonl")
"""Suffixes of files that may hold spans."""


def span_files(paths: Path | Sequence[Path] | None) -> list[Path]:
    """The files of spans: those given, and all of a folder that is given.

    Raises:
        DataError: a folder holds none.
    """
    files: list[Path] = []
    for path in [paths] if isinstance(paths, Path) else paths or []:
        if path.is_dir():
            inside = sorted(each for each in path.iterdir() if each.suffix.lower() in KINDS and each.is_file())
            if not inside:
                raise DataError(f"{path}: a folder without a file of spans ({', '.join(KINDS)}).")
            files += inside
        else:
            files.append(path)
    return list(dict.fromkeys(files))


def read_marks(path: Path, words: Words, rate: float | None = None, encoding: str | None = None) -> Marks | None:
    """The annotations of a file; None if it is no annotation tool's but a sheet with our own columns.

    Args:
        path: ``.eaf``, Label Studio's ``.json``, or a sheet.
        words: the mapping; one that says which column is the start makes any sheet one of ours.
        rate: frames per second, where the file counts frames and has no rate.
        encoding: of a CSV file.

    Raises:
        DataError: the file cannot be read at all.
    """
    suffix = path.suffix.lower()
    if suffix == ".eaf":
        return read_elan(path, words.ignored)
    if suffix == ".json":
        return read_label_studio(path, Fraction(str(rate)) if rate else words.rate, words.ignored)
    if suffix == ".boris":
        raise DataError(f"{path}: a project of BORIS. Export its aggregated events as TSV, CSV or XLSX and give that.")
    if suffix not in KINDS:
        raise DataError(
            f"{path}: spans are read from ELAN's .eaf, BORIS's aggregated events (.csv, .tsv, .xlsx), Label Studio's "
            ".json, or a sheet (.csv, .tsv, .xlsx, .jsonl). Export it as one of these."
        )
    if suffix == ".jsonl" or "start" in words.mapping.columns:
        return None
    problems: list[Problem] = []
    grids = sheets_of(path, encoding, problems)
    if not any(map(is_boris, grids)):
        return None
    marks = read_boris(path, grids)
    return Marks(marks.marks, (*problems, *marks.problems))

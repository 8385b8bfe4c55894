"""The two private tables beside a new dataset folder: original names, and rows that people must decide."""

from __future__ import annotations

import csv
import io
import itertools
from collections.abc import Sequence
from pathlib import Path

from siming_tasks.common.files import atomic_write
from siming_tasks.common.sanitize import cell
from siming_tasks.tools.builder.sheets.build_plan import BuildPlan
from siming_tasks.tools.builder.sheets.labels import LabelRow

__all__ = ["beside", "write_names", "write_undecided"]


def beside(out: Path, kind: str) -> Path:
    """Path of the table of this kind: ``<out>.<kind>.csv``."""
    return out.with_name(f"{out.name}.{kind}.csv")


def write_names(path: Path, plan: BuildPlan) -> None:
    """The sheet's names of videos, students and raters, and what they are called in the dataset.

    Private: it lies outside the folder, readable by its owner only.
    """
    with atomic_write(path, private=True) as stream:
        writer = csv.writer(stream)
        writer.writerow(["kind", "id", "name", "file"])
        rows = [["video", plan.ids[name], name, str(source.path)] for name, source in plan.sources.items()]
        rows += [["student", number, name, ""] for name, number in plan.students.items()]
        rows += [["rater", letter, name, ""] for name, letter in plan.raters.items() if letter != name]
        writer.writerows([cell(value) for value in row] for row in rows)


def write_undecided(out: Path, rows: Sequence[LabelRow]) -> Path:
    """The rows to adjudicate, in the long form, with an empty consensus; never over a list that somebody filled in.

    Private like the table of names: it has the sheet's own names of videos and raters.
    """
    raters = sorted({rater for row in rows for rater in row.scores})
    table = [["line", "video_id", "step_id", *raters, "consensus"]]
    for row in rows:
        points = [f"{row.scores[rater]:g}" if rater in row.scores else "" for rater in raters]
        table.append([str(row.lines[0]), row.video, row.step_id, *points, ""])
    text = io.StringIO(newline="")
    csv.writer(text).writerows([cell(value) for value in row] for row in table)
    for number in itertools.count(1):
        path = beside(out, "adjudicate" if number == 1 else f"adjudicate-{number}")
        if not path.exists():
            with atomic_write(path, "wb", private=True) as stream:
                stream.write(text.getvalue().encode("utf-8-sig"))  # the mark makes Excel read it as UTF-8
            return path
        if path.read_bytes() == text.getvalue().encode("utf-8-sig"):
            return path
    raise AssertionError  # count() does not end

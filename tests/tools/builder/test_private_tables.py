"""Tables written for people hold no formula, and read back as what they were made of."""

from __future__ import annotations

import csv
from pathlib import Path

from openpyxl import Workbook

from siming_tasks.tools.builder.build_folder import write_undecided
from siming_tasks.tools.builder.label_rows import LabelRow
from siming_tasks.tools.builder.sheet_tables import read_table

EVIL = (
    '=HYPERLINK("http://x",1)',
    "+1+cmd|' /C calc'!A0",
    *("@SUM(A1)", "-2+3", "'=already", "exam 7", "O'Brien", "-1.5"),
)


def test_names_of_videos_and_raters_are_no_formulas(tmp_path: Path) -> None:
    rows = [LabelRow(name, "cpr_01", "sheet.csv", (2,), scores={"=cmd": 1.0, "rater_b": 0.0}) for name in EVIL]
    path = write_undecided(tmp_path / "exams", rows)
    with path.open(encoding="utf-8-sig", newline="") as stream:
        cells = [cell for line in csv.reader(stream) for cell in line]
    assert [cell for cell in cells if cell[:1] in tuple("=+@\t\r") or (cell[:1] == "-" and cell != "-1.5")] == []
    ((back,), _) = read_table(path)
    assert [str(row.cells["video_id"]) for row in back.rows] == list(EVIL)
    assert "=cmd" in [column.name for column in back.columns] and [row.cells["=cmd"] for row in back.rows] == [
        "1"
    ] * len(EVIL)


def test_a_sheet_of_another_tool_with_such_an_apostrophe(tmp_path: Path) -> None:
    book = Workbook()
    book.active.append(["video_id", "step_id"])
    book.active.append(["'=x", "cpr_01"])
    book.save(tmp_path / "x.xlsx")
    ((sheet,), _) = read_table(tmp_path / "x.xlsx")
    assert sheet.rows[0].cells["video_id"] == "=x"

"""Sheets as people save them."""

from __future__ import annotations

import datetime
import json
import zipfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import openpyxl
import pytest

from siming_tasks.common.errors import DataError
from siming_tasks.rubrics import rubric_from
from siming_tasks.tools.builder.cells import number
from siming_tasks.tools.builder.mapping import SheetMapping, read_mapping
from siming_tasks.tools.builder.read_sheets import read_labels
from siming_tasks.tools.builder.sheet_tables import read_table
from tests.data.conftest import RUBRIC

HEAD = "video_id,step_id,start,end,rater_a,rater_b,consensus"
LONG = f"{HEAD}\nv1,cpr_01,0,1.5,2,1,2\nv1,cpr_02,1.5,3,2,2,\n"
TINY = rubric_from(RUBRIC)


def sheet(path: Path, content: str | bytes) -> Path:
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def excel(path: Path, rows: Sequence[Sequence[Any]], more_sheets: int = 0) -> Path:
    book = openpyxl.Workbook()
    for row in rows:
        book.active.append(list(row))
    for count in range(more_sheets):
        book.create_sheet(f"notes {count}")
    book.save(path)
    return path


def labels(path: Path, mapping: SheetMapping | None = None) -> Any:
    rows, problems = read_labels(path, TINY, mapping)
    assert [str(problem) for problem in problems if problem.severity == "error"] == []
    return [(row.video, row.step_id, row.start, row.end, dict(row.scores), row.applicable) for row in rows]


EXPECTED = [
    ("v1", "cpr_01", 0.0, 1.5, {"rater_a": 2.0, "rater_b": 1.0, "consensus": 2.0}, True),
    ("v1", "cpr_02", 1.5, 3.0, {"rater_a": 2.0, "rater_b": 2.0}, True),
]


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("plain.csv", LONG),
        ("bom.csv", b"\xef\xbb\xbf" + LONG.encode()),
        ("crlf.csv", LONG.replace("\n", "\r\n")),
        ("utf16.csv", LONG.encode("utf-16")),
        ("tabs.tsv", LONG.replace(",", "\t")),
        ("semicolons.csv", LONG.replace(",", ";").replace("1.5", "1,5")),
        (
            "full width.csv",
            LONG.replace("2", "２").replace("cpr_0２", "ｃｐｒ＿０２").replace("video_id", "ｖｉｄｅｏ＿ｉｄ"),
        ),
        ("capitals.csv", LONG.replace("video_id", "Video ID").replace("rater_a", "Rater A")),
        ("quoted.csv", LONG.replace("v1", '"v1"')),
        ("clock.csv", LONG.replace("1.5", "0:01.5").replace(",3,", ",00:00:03,")),
        ("blank lines.csv", "\n" + LONG.replace("\n", "\n\n,,,,,,\n")),
    ],
)
def test_one_sheet_in_many_encodings_and_separators_reads_the_same(
    tmp_path: Path, name: str, content: str | bytes
) -> None:
    assert labels(sheet(tmp_path / name, content)) == EXPECTED


def test_excel_and_json_lines_read_as_csv_does(tmp_path: Path) -> None:
    rows = [HEAD.split(","), ["v1", "cpr_01", 0, 1.5, 2, 1, 2], ["v1", "cpr_02", 1.5, 3, "2", "２", None]]
    assert labels(excel(tmp_path / "a.xlsx", rows)) == EXPECTED
    lines = [dict(zip(rows[0], row, strict=True)) for row in rows[1:]]
    assert labels(sheet(tmp_path / "a.jsonl", "\n".join(map(json.dumps, lines)))) == EXPECTED


def test_gb18030_is_read_with_a_warning(tmp_path: Path) -> None:
    path = sheet(tmp_path / "a.csv", LONG.replace("v1", "张三").encode("gbk"))
    rows, problems = read_labels(path, TINY)
    assert {row.video for row in rows} == {"张三"}
    assert [(problem.code, problem.severity) for problem in problems] == [("encoding-gbk", "warning")]
    assert read_labels(path, TINY, None, "gbk")[1] == []


def test_numbers_as_excel_keeps_ids(tmp_path: Path) -> None:
    path = excel(tmp_path / "a.xlsx", [["video_id", "step_id", "consensus"], [7.0, "cpr_01", 1]], more_sheets=1)
    rows, problems = read_labels(path, TINY)
    assert rows[0].video == "7"
    assert [problem.code for problem in problems] == ["sheets-ignored"]


WIDE = "录像,考官,1 呼救,2 判断,cpr_03,aed_01\n甲,张,2,1,5,-\n甲,李,2,2,5,不适用\n乙,张,0,1,,3\n"
WORDS = SheetMapping(
    columns={"video_id": "录像", "rater": "考官"},
    raters={"张": "rater_a", "李": "rater_b"},
    steps={"1 呼救": "cpr_01", "2 判断": "cpr_02"},
)


def test_wide_sheet_gives_the_labels_of_the_long_one(tmp_path: Path) -> None:
    assert labels(sheet(tmp_path / "a.csv", WIDE), WORDS) == [
        ("甲", "cpr_01", None, None, {"rater_a": 2.0, "rater_b": 2.0}, True),
        ("甲", "cpr_02", None, None, {"rater_a": 1.0, "rater_b": 2.0}, True),
        ("甲", "cpr_03", None, None, {"rater_a": 5.0, "rater_b": 5.0}, True),
        ("甲", "aed_01", None, None, {}, False),
        ("乙", "cpr_01", None, None, {"rater_a": 0.0}, True),
        ("乙", "cpr_02", None, None, {"rater_a": 1.0}, True),
        ("乙", "cpr_03", None, None, {}, True),
        ("乙", "aed_01", None, None, {"rater_a": 3.0}, True),
    ]


def test_the_wide_form_without_raters_is_the_consensus(tmp_path: Path) -> None:
    path = sheet(tmp_path / "a.csv", "video_id,cpr_01\nv1,2\n")
    assert labels(path) == [("v1", "cpr_01", None, None, {"consensus": 2.0}, True)]


@pytest.mark.parametrize(
    ("content", "code", "message"),
    [
        (f"{HEAD}\nv1,cpr_99,,,1,1,1\n", "step-unknown", ":2: video 'v1', step 'cpr_99': the rubric has no such step."),
        (f"{HEAD}\nv1,cpr_01,,,3,1,1\n", "score-off-scale", "rater_a: video 'v1', step 'cpr_01': 3 is off"),
        (f"{HEAD}\nv1,cpr_01,,,two,1,1\n", "not-a-number", "'two' is not a number of points"),
        (f"{HEAD}\nv1,cpr_01,,,nan,1,1\n", "not-a-number", "'nan' is not a number of points"),
        (f"{HEAD}\nv1,cpr_01,,,1/2,1,1\n", "not-a-number", "'1/2' is not a number of points"),
        (f"{HEAD}\nv1,cpr_01,soon,1,1,1,1\n", "not-a-time", ":2: start: 'soon' is not a time."),
        (
            f"{HEAD}\nv1,cpr_01,,,1,1,1\nv1,cpr_01,,,1,1,1\n",
            "label-twice",
            ":3: video 'v1', step 'cpr_01': stands on line 2",
        ),
        (f"{HEAD}\n,cpr_01,,,1,1,1\n", "id-missing", ":2: video_id: video_id and step_id must be filled."),
        (f"{HEAD}\nv1,cpr_01,,,N/A,1,1\n", "applicable-differs", "rater_a says not applicable, rater_b gives points"),
        (
            f"{HEAD},applicable\nv1,cpr_01,,,1,1,1,maybe\n",
            "not-yes-or-no",
            "applicable: video 'v1', step 'cpr_01': 'maybe'",
        ),
        (f"{HEAD}\nv1,cpr_01,,,1,1,1,9,9\n", "row-too-long", ":2: 9 cells under 7 headings."),
        ("video_id,rater,cpr_01\nv1,a,1\nv1,a,2\n", "label-twice", ":3: video 'v1' by 'a' stands on line 2 already."),
        ("video_id,rater,cpr_01\nv1,a,1\nv1,b,-\n", "applicable-differs", "one rater says not applicable"),
    ],
)
def test_a_bad_row_is_named(tmp_path: Path, content: str, code: str, message: str) -> None:
    _, problems = read_labels(sheet(tmp_path / "a.csv", content), TINY)
    found = [str(problem) for problem in problems if problem.code == code]
    assert found and all(message in text for text in found), [str(problem) for problem in problems]


def test_a_cell_that_excel_took_for_a_clock(tmp_path: Path) -> None:
    rows = [["video_id", "step_id", "start", "end", "consensus"], ["v1", "cpr_01", datetime.time(1, 23), 99, 1]]
    _, problems = read_labels(excel(tmp_path / "a.xlsx", rows), TINY)
    assert [problem.code for problem in problems] == ["clock-cell"]
    assert "is a time of day (01:23:00)" in str(problems[0])


def test_columns_that_nobody_reads_are_said(tmp_path: Path) -> None:
    _, problems = read_labels(sheet(tmp_path / "a.csv", "video_id,step_id,consensus,Prof. Li\nv1,cpr_01,1,2\n"), TINY)
    assert [problem.code for problem in problems] == ["columns-ignored"]
    words = SheetMapping(raters={"Prof. Li": "rater_a"})
    rows, problems = read_labels(tmp_path / "a.csv", TINY, words)
    assert (problems, dict(rows[0].scores)) == ([], {"rater_a": 2.0, "consensus": 1.0})


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.xls", b"x", "a sheet is .csv, .tsv, .xlsx, .jsonl"),
        ("a.csv", b"\xff\xfe\x00", "not utf-16 text"),
        ("a.csv", b"a,b\n\x81\xff\n", "neither UTF-8 nor GB 18030 text"),
        ("a.csv", b"a,b\0\n", "holds NUL characters"),
        ("a.csv", b"", "no row below the heading"),
        ("a.csv", b"video_id,step_id\n", "no row below the heading"),
        ("a.csv", b"a,a\n1,2\n", ":1: column 'a' appears twice"),
        ("a.csv", b'a,b\n"x,1\n', "not CSV: unexpected end of data"),
        ("a.csv", b"a\n" + b"x" * 200_000 + b"\n", "field larger than field limit"),
        ("a.csv", b"video,points\nv1,2\n", "Found 'video', 'points'. A mapping file (--columns) says"),
        ("a.xlsx", b"PK nonsense", "not a readable .xlsx file"),
        ("a.csv", None, "No such file or directory"),
    ],
)
def test_a_file_that_is_no_sheet_is_refused(tmp_path: Path, name: str, content: bytes | None, message: str) -> None:
    path = tmp_path / name
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(DataError) as caught:
        read_labels(path, TINY)
    assert message in str(caught.value)
    assert str(path) in str(caught.value)


def test_a_sheet_that_unpacks_to_gigabytes_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "bomb.xlsx"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("xl/worksheets/sheet1.xml", b"0" * 70_000_000)
    with pytest.raises(DataError, match="unpacks to more than 64,000,000 bytes"):
        read_table(path)


def test_a_sheet_of_gigabytes_is_not_read(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    with path.open("wb") as stream:
        stream.truncate(2 << 30)
    with pytest.raises(DataError, match="2,147,483,648 bytes; a label sheet has at most"):
        read_table(path)


def test_mapping_file_translates_columns_raters_and_steps(tmp_path: Path) -> None:
    path = sheet(tmp_path / "m.yaml", "columns: {video_id: 录像}\nraters: {张: rater_a}\nnot_applicable: [缺]\n")
    assert read_mapping(path) == SheetMapping(
        columns={"video_id": "录像"}, raters={"张": "rater_a"}, not_applicable=("缺",)
    )
    with pytest.raises(DataError, match=r"m.yaml: colums: Extra inputs are not permitted"):
        read_mapping(sheet(path, "colums: {}\n"))


def unseen(path: Path) -> list[str]:
    """What the sheet's findings of unseen cells say."""
    _, problems = read_labels(path, TINY, SheetMapping(ignore=["note"]))
    return [problem.what for problem in problems if problem.code == "cells-unseen"]


def test_cells_that_people_do_not_see_as_they_are_stored_are_refused(tmp_path: Path) -> None:
    """A withdrawn consent is often a hidden row; 100 % is stored as 1."""
    rows = [[f"v{number}", "cpr_01", 0, 1, 1, "x"] for number in (1, 2, 3)]
    path = excel(tmp_path / "labels.xlsx", [["video_id", "step_id", "start", "end", "consensus", "note"], *rows])
    assert unseen(path) == []
    book = openpyxl.load_workbook(path)
    sheet = book.active
    sheet["E2"].number_format = "0.0%"
    sheet["A3"].font = openpyxl.styles.Font(strike=True)
    sheet.row_dimensions[4].hidden = True
    sheet.row_dimensions[40].hidden = True  # empty
    sheet.column_dimensions["F"].hidden = True  # nobody reads it
    sheet.column_dimensions["H"].hidden = True  # empty
    book.create_sheet("empty").sheet_state = "hidden"
    book.save(path)
    title = sheet.title
    assert sorted(unseen(path)) == [
        f"sheet '{title}': A3: struck out.",
        f"sheet '{title}': E2: shown as percent.",
        f"sheet '{title}': row 4: hidden.",
    ]


@pytest.mark.parametrize("points", ["1\u00b9", "1E1", "1e0", "\u2460", "1_0"])
def test_what_only_python_takes_for_a_number_is_no_number_of_points(tmp_path: Path, points: str) -> None:
    assert number(points) is None and number("\uff12") == 2
    path = sheet(tmp_path / "labels.csv", f"video_id,step_id,start,end,consensus\nv1,cpr_01,0,1,{points}\n")
    _, problems = read_labels(path, TINY, None)
    assert [problem.code for problem in problems] == ["not-a-number"]

"""Sheets as a stranger's hospital makes them: each is read right, or refused by a sentence with place and way out."""

from __future__ import annotations

import datetime
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import openpyxl
import pytest
from openpyxl.cell.rich_text import CellRichText, TextBlock
from openpyxl.cell.text import InlineFont
from openpyxl.comments import Comment
from openpyxl.styles import Color, Font, PatternFill

from siming_tasks.common.errors import DataError
from siming_tasks.rubrics import rubric_from
from siming_tasks.tools.builder.mapping import SheetMapping
from siming_tasks.tools.builder.read_sheets import read_labels
from tests.data.conftest import RUBRIC

TINY = rubric_from(RUBRIC)
HEAD = ["video_id", "step_id", "rater_a", "rater_b"]
ONE = [("v1", "cpr_01", None, None, {"rater_a": 2.0, "rater_b": 1.0})]

pytestmark = pytest.mark.fast


def found(path: Path, mapping: dict[str, Any] | None = None) -> list[Any]:
    """The labels of a sheet without errors, else its errors as lines."""
    words = None if mapping is None else SheetMapping.model_validate(mapping)
    try:
        rows, problems = read_labels(path, TINY, words)
    except DataError as error:
        return [str(error)]
    if errors := [f"[{problem.code}] {problem}" for problem in problems if problem.severity == "error"]:
        return errors
    return [(row.video, row.step_id, row.start, row.end, dict(row.scores)) for row in rows]


def judge(got: list[Any], expected: list[Any] | str) -> None:
    if isinstance(expected, list):
        assert got == expected
    else:
        assert all(isinstance(line, str) for line in got), f"read as {got}"
        assert any(all(word in line for word in expected.split(" + ")) for line in got), got


LATIN = "video_id;step_id;rater_a;site\nv1;cpr_01;2;Müller\n"
SHORT = "video_id,step_id,rater_a,rater_b\nv1,cpr_01,2,1\n"
WITH_STEP = "video_id,step_id,rater_a\nv1,{},2\n"
POINT = "video_id,step_id,rater_a\nv1,cpr_01,{}\n"
TIMES = "video_id,step_id,{},{},consensus\nv1,cpr_01,100,250,2\n"
CELLS = "video_id;step_id;start;end;consensus\nv1;cpr_01;{};{};2\n"


def timed(start: float, end: float) -> list[Any]:
    return [("v1", "cpr_01", start, end, {"consensus": 2.0})]


TEXTS: dict[str, tuple[str | bytes, list[Any] | str]] = {
    "byte-order mark": ("\ufeff" + SHORT, ONE),
    "UTF-16 of Excel": (b"\xff\xfe" + SHORT.replace(",", "\t").encode("utf-16-le"), ONE),
    "UTF-16, big end": (b"\xfe\xff" + SHORT.encode("utf-16-be"), ONE),
    "UTF-16 without a mark": (SHORT.encode("utf-16-le"), "NUL characters + Save the sheet as CSV"),
    "Mac line ends": (SHORT.replace("\n", "\r"), ONE),
    "upright bars": (SHORT.replace(",", "|"), ONE),
    "Excel's sep= line": ("sep=;\n" + SHORT.replace(",", ";"), ONE),
    "Western Europe is no Chinese": (LATIN.encode("cp1252"), "neither UTF-8 nor GB 18030 + --encoding"),
    "trailing commas": (SHORT.replace("\n", ",,,\n") + ",,,,,,\n", ONE),
    "decimal comma without quotes": (CELLS.replace(";", ",").format("1,5", "2,5"), "cells under 5 headings"),
    "total below": (SHORT + "Total,,2,1\n", ":3: + step_id must be filled"),
    "heading again": (SHORT + SHORT, "[step-unknown] + :3"),
    "one row twice": (SHORT + "v1,cpr_01,2,1\n", "[label-twice] + :3 + line 2"),
    "capitals in ids": (WITH_STEP.format("CPR-01"), [("v1", "cpr_01", None, None, {"rater_a": 2.0})]),
    "step beside the rubric": (WITH_STEP.format("cpr_1"), "[step-unknown] + :2"),
    "index of pandas": ("Unnamed: 0," + SHORT.replace("\nv1", "\n0,v1"), "[columns-ignored] + 'Unnamed: 0'"),
    "frames": (TIMES.format("start_frame", "end_frame"), "[not-a-time] + counts frames + `rate: 25`"),
    "milliseconds": (TIMES.format("start [ms]", "end [ms]"), timed(0.1, 0.25)),
    "minutes": (TIMES.format("start (min)", "end (min)"), timed(6000, 15000)),
    "seconds in Chinese": (TIMES.format("start(秒)", "end(秒)"), timed(100, 250)),
    "seconds in words": (TIMES.format("Start time (seconds)", "End time (seconds)"), timed(100, 250)),
    "hours and minutes": (TIMES.format("start (hh:mm)", "end (hh:mm)"), "[not-a-time] + :2 + no unit that is known"),
    "numbers under m:s": (TIMES.format("start (mm:ss)", "end (mm:ss)"), "[not-a-time] + minutes and seconds (1:23.5)"),
    "a line of units": (TIMES.format("start", "end").replace("\nv1", "\n,,[ms],[ms],[points]\nv1"), timed(0.1, 0.25)),
    "units above": (",,time [ms],,\n" + TIMES.format("start", "end"), "[unit-unclear] + 'ms' + start [ms]"),
    "duration": (TIMES.format("start", "duration"), "[columns-ignored] + 'duration'"),
    "units in cells": (CELLS.format("1.5 s", "2500ms"), "[not-a-time] + '2500ms'"),
    "a thousand, or one": (CELLS.format("1,000", "2,500"), "[number-unclear] + :2 + '1,000' + a thousand"),
    "decimal commas, and three digits": (CELLS.format("0,5", "1,250"), timed(0.5, 1.25)),
    "decimal commas, and a thousand": (CELLS.format("12,5", "1.234"), "[number-unclear] + '1.234'"),
    "three digits behind a point": (CELLS.format("1.000", "2.500"), timed(1, 2.5)),
    "primes": (CELLS.format("1'30", "2'10"), "[not-a-time] + 1'30"),
    "confidence of a rater": (
        "video_id,step_id,rater_a,rater_a_confidence\nv1,cpr_01,1,2\n", "[columns-ignored] + rater_a_confidence"
    ),
    "number of raters": ("video_id,step_id,consensus,raters\nv1,cpr_01,1,2\n", "[columns-ignored] + 'raters'"),
    "mean of raters": ("video_id,step_id,rater_a,rater_mean\nv1,cpr_01,1,2\n", "[columns-ignored] + 'rater_mean'"),
    **{
        f"unit {unit!r}": (TIMES.format(f"start {unit}", f"end {unit}"), "[not-a-time] + :2 + no unit that is known")
        for unit in ("(1/100 s)", "(1/10 s)", "(s/100)", "(%)", "[10 ms]", "(s*10)", "[min:1/100]", "1/25 s")
    },
    "unit of so many": (TIMES.format("start per 100 s", "end"), "[columns-ignored] + 'start per 100 s'"),
    "unknown unit": (TIMES.format("start (cs)", "end (cs)"), "[columns-ignored] + 'start (cs)'"),
    "unknown unit below": (TIMES.format("start", "end").replace("\nv1", "\n,,[cs],[cs],[points]\nv1"),
                           "[columns-ignored] + 'start [cs]'"),
    "part of a unit below": (TIMES.format("start", "end").replace("\nv1", "\n,,[1/100 s],[1/100 s],\nv1"),
                             "[not-a-time] + no unit that is known"),
    "scale below a rater": (
        "video_id,step_id,rater_a\n,,[0-10]\nv1,cpr_01,2\n", "[columns-ignored] + 'rater_a [0-10]'"
    ),
    "seconds with a stop": (TIMES.format("start (sec.)", "end_s"), timed(100, 250)),
    **{
        f"rater_a{more}": (f"video_id,step_id,rater_a{more}\nv1,cpr_01,1\n", f"'rater_a{more}' + not read")
        for more in (" lost", " minus", " demerits", " (missing points)", " (max-)", " rank", " grade", " z", "_norm",
                     "_scaled", " (0-10)", " (of 10)", " (x10)", " (%)", " Abzüge", " 2", "/10", "*")
    },
    **{
        f"{below!r} below a step": (f"video_id,cpr_01,\n,rater_b,{below}\nv1,1,1\n", f"'cpr_01 / {below}' + not read")
        for below in ("rater_a lost", "rater_a (0-10)", "mean", "rater_mean")
    },
    "a rater of one word": ("video_id,step_id,Rater 张三\nv1,cpr_01,1\n",
                            [("v1", "cpr_01", None, None, {"rater_张三": 1.0})]),
    "headings in Chinese": ("视频,步骤,评分者,得分\nv1,cpr_01,张三,1\n", "Found '视频' + --columns"),
    "headings in German": ("Video;Schritt;Prüfer A\nv1;cpr_01;1\n", "Found 'Video' + --columns"),
    "headings in French": ("vidéo;étape;évaluateur;points\nv1;cpr_01;Dupont;1\n", "Found 'vidéo' + --columns"),
    **{
        f"points {text!r}": (POINT.format(f'"{text}"'), "[not-a-number] + :2 + rater_a")
        for text in ("1¹", "2*", "(2)", "1/2", "½", "1-2", "~2", "2 Punkte", "2分", "②", "II", "x", "√", "yes", "true",
                     "100%", "1E1", "0x1", "1_0", "#N/A", "NaN", "=1+1", "2;1", "2\u200b", "–", "fehlt")
    },
    "points ١": (POINT.format("١"), [("v1", "cpr_01", None, None, {"rater_a": 1.0})]),
    "points 3,000": (POINT.format('"2,000"'), "[number-unclear] + '2,000' + a thousand"),
    "half points without a word": (POINT.format('"1,5"'), "[score-off-increment] + 1.5 points + score_increment"),
}  # fmt: skip


@pytest.mark.parametrize("name", TEXTS)
def test_a_text_is_read_right_or_refused(tmp_path: Path, name: str) -> None:
    content, expected = TEXTS[name]
    path = tmp_path / "sheet.csv"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    judge(found(path), expected)


def test_frames_are_divided_by_the_rate_of_the_mapping(tmp_path: Path) -> None:
    path = tmp_path / "sheet.csv"
    path.write_text(TIMES.format("Anfang Bild", "Ende Bild"))
    columns = {"start": "Anfang Bild", "end": "Ende Bild"}
    judge(found(path, {"columns": columns}), "[not-a-time] + 'Anfang Bild' counts frames")
    assert found(path, {"columns": columns, "rate": "25"}) == timed(4, 10)


def test_a_unit_of_a_mapped_heading_is_known_or_refused(tmp_path: Path) -> None:
    path = tmp_path / "sheet.csv"
    for begin, end in (("Beginn (cs)", "Ende (cs)"), ("Beginn 1/100 s", "Ende 1/100 s"), ("Beginn (%)", "Ende (%)")):
        path.write_text(TIMES.format(begin, end))
        judge(found(path, {"columns": {"start": begin, "end": end}}), "[not-a-time] + no unit that is known")
    path.write_text(TIMES.format("T1 Beginn (ms)", "T2 Ende (ms)"))
    assert found(path, {"columns": {"start": "T1 Beginn (ms)", "end": "T2 Ende (ms)"}}) == timed(0.1, 0.25)


def test_numbers_that_a_mapping_calls_points_are_read_unless_they_say_otherwise(tmp_path: Path) -> None:
    path = tmp_path / "sheet.csv"
    path.write_text("video_id,step_id,rater_a final\nv1,cpr_01,1\n")
    expected = [("v1", "cpr_01", None, None, {"rater_a": 1.0})]
    assert found(path, {"raters": {"rater_a final": "rater_a"}}) == expected
    for heading in ("rater_a (%)", "rater_a Abzüge"):
        path.write_text(f"video_id,step_id,{heading}\nv1,cpr_01,1\n")
        judge(found(path, {"raters": {heading: "rater_a"}}), "[points-unclear]")


def test_numbers_of_fixed_digits_in_parquet_are_points_and_durations_are_named(tmp_path: Path) -> None:
    import pyarrow
    import pyarrow.parquet

    row: dict[str, Any] = {"video_id": ["v1"], "step_id": ["cpr_01"], "rater_a": [2]}
    table = pyarrow.table(row)
    fixed = table.set_column(2, "rater_a", table.column(2).cast(pyarrow.decimal128(21, 2)))
    pyarrow.parquet.write_table(fixed, tmp_path / "a.parquet")
    assert found(tmp_path / "a.parquet") == [("v1", "cpr_01", None, None, {"rater_a": 2.0})]
    seconds = [datetime.timedelta(seconds=1)], [datetime.timedelta(seconds=2)]
    timed_table = pyarrow.table({**row, "start": seconds[0], "end": seconds[1]})
    pyarrow.parquet.write_table(timed_table, tmp_path / "b.parquet")
    judge(found(tmp_path / "b.parquet"), "[clock-cell] + is a duration (0:00:01)")


def form(text: str, value: float = 2, place: str = "C2") -> Callable[[Any], None]:
    def change(sheet: Any) -> None:
        sheet[place].value, sheet[place].number_format = value, text

    return change


def look(font: Font, ground: Any = None) -> Callable[[Any], None]:
    def change(sheet: Any) -> None:
        sheet["C2"].font = font
        if ground is not None:
            sheet["C2"].fill = PatternFill("solid", fgColor=ground)

    return change


def rich(*pieces: Any) -> Callable[[Any], None]:
    return lambda sheet: sheet.__setitem__("C2", CellRichText(*pieces))


ROWS = [HEAD, ["v1", "cpr_01", 2, 1]]
UNSEEN = "[cells-unseen] + C2"
BOOKS: dict[str, tuple[list[list[Any]], Callable[[Any], Any], list[Any] | str]] = {
    "as it should be": (ROWS, lambda sheet: None, ONE),
    "percent": (ROWS, form("0%", 1), f"{UNSEEN} + shown as percent"),
    "nothing is shown": (ROWS, form(";;;"), f"{UNSEEN} + shown without its number"),
    "zeros are not shown": (ROWS, form("0;-0;;@", 0), f"{UNSEEN} + shown without its number"),
    "a zero is shown as a dash": (ROWS, form('_-* #,##0_-;-* #,##0_-;_-* "-"??_-;_-@_-', 0), UNSEEN),
    "a digit before the number": (ROWS, form('"1"0'), f"{UNSEEN} + other digits"),
    "shown by a condition": (ROWS, form('[>1]"good";0'), f"{UNSEEN} + condition"),
    "shown in thousands": (ROWS, form("0,", 2000), f"{UNSEEN} + thousands"),
    "shown rounded": (ROWS, form("0", 1.5), f"{UNSEEN} + shown rounded"),
    "a date": (ROWS, form("yyyy-mm-dd"), "[not-a-number] + :2: rater_a"),
    "colour and signs": (ROWS, form('[Red]0_);"("0")"'), ONE),
    "points in words": (ROWS, form('General" points"'), ONE),
    "two zeros": (ROWS, form("00"), ONE),
    "struck-out digit": (ROWS, rich(TextBlock(InlineFont(strike=True), "1"), "2"), f"{UNSEEN} + struck out"),
    "raised footnote": (
        ROWS, rich("1", TextBlock(InlineFont(vertAlign="superscript"), "1")), f"{UNSEEN} + raised"),
    "bold digit": (ROWS, rich(TextBlock(InlineFont(b=True), "2")), ONE),
    "struck-out cell": (ROWS, lambda s: setattr(s["C2"], "font", Font(strike=True)), f"{UNSEEN} + struck out"),
    "struck-out heading": (ROWS, lambda s: setattr(s["C1"], "font", Font(strike=True)), "[cells-unseen] + C1"),
    "white on white": (ROWS, look(Font(color="FFFFFFFF")), f"{UNSEEN} + colour of what is behind"),
    "white without transparency": (ROWS, look(Font(color="FFFFFF")), f"{UNSEEN} + colour of what is behind"),
    "nearly white": (ROWS, look(Font(color="FFF8F8F8")), f"{UNSEEN} + colour of what is behind"),
    "white of the theme": (ROWS, look(Font(color=Color(theme=0, tint=-0.05))), f"{UNSEEN} + colour of what is behind"),
    "white of the palette": (ROWS, look(Font(color=Color(indexed=1))), f"{UNSEEN} + colour of what is behind"),
    "red on red": (ROWS, look(Font(color="FFFF0000"), "FFF00505"), f"{UNSEEN} + colour of what is behind"),
    "black on black": (ROWS, look(Font(), "FF000000"), f"{UNSEEN} + colour of what is behind"),
    "white on red": (ROWS, look(Font(color="FFFFFFFF"), "FFFF0000"), ONE),
    "red on white": (ROWS, look(Font(color="FFFF0000")), ONE),
    "grey on white": (ROWS, look(Font(color="FFBFBFBF")), ONE),
    "black of the theme on a light accent": (
        ROWS, look(Font(color=Color(theme=1)), Color(theme=4, tint=0.8)), ONE),
    "1 pt": (ROWS, look(Font(size=1)), f"{UNSEEN} + too small to read"),
    "6 pt": (ROWS, look(Font(size=6)), ONE),
    "hidden row": (ROWS, lambda s: setattr(s.row_dimensions[2], "hidden", True), "[cells-unseen] + row 2"),
    "hidden column": (ROWS, lambda s: setattr(s.column_dimensions["C"], "hidden", True), "[cells-unseen] + column C"),
    "grouped columns": (
        ROWS, lambda s: s.column_dimensions.group("C", "D", hidden=True), "[cells-unseen] + column C, column D"),
    "no height": (ROWS, lambda s: setattr(s.sheet_format, "zeroHeight", True), "[cells-unseen] + row 2"),
    "filtered": ([*ROWS, ["v1", "cpr_02", 0, 0]], lambda s: setattr(s.row_dimensions[3], "hidden", True),
                 "[cells-unseen] + row 3"),
    "formula without a value": ([HEAD, ["v1", "cpr_01", "=1+1", 1]], lambda s: None, "[formula-empty] + C2"),
    "true": ([HEAD, ["v1", "cpr_01", True, 1]], lambda s: None, "[not-a-number] + True"),
    "error": ([HEAD, ["v1", "cpr_01", "#N/A", 1]], lambda s: None, "[not-a-number] + '#N/A'"),
    "merged points": ([*ROWS, ["v1", "cpr_02", None, 1]], lambda s: s.merge_cells("C2:C3"), "[merged-points] + :3"),
    "merged across": ([HEAD, ["v1", "cpr_01", 2, None]], lambda s: s.merge_cells("C2:D2"), "[merged-points] + :2"),
    "merged videos": ([*ROWS, [None, "cpr_02", 0, 0]], lambda s: s.merge_cells("A2:A3"),
                      [*ONE, ("v1", "cpr_02", None, None, {"rater_a": 0.0, "rater_b": 0.0})]),
    "formats far below": (ROWS, lambda s: setattr(s["J400"], "font", Font(bold=True)), ONE),
    "sums below": ([*ROWS, ["Sum", None, 2, 1]], lambda s: None, "[id-missing] + :3"),
    "two tables in one": ([HEAD + HEAD, [*ROWS[1], *ROWS[1]]], lambda s: None, "[column-twice] + 'rater_a'"),
    "two lines of headings": (
        [["video_id", "cpr_01", None], [None, "rater_a", "rater_b"], ["v1", 2, 1]],
        lambda s: s.merge_cells("B1:C1"), ONE),
    "the scale below the heading": ([["video_id", "cpr_01"], [None, "max 2"], ["v1", 2]], lambda s: None,
                                    "[id-missing] + :2"),
    "steps below, videos beside": ([["step_id", "v1"], ["cpr_01", 2]], lambda s: None, "Found 'step_id', 'v1'"),
    "time of day": ([[*HEAD, "start", "end"], [*ROWS[1], datetime.time(0, 1, 2), datetime.time(0, 2)]],
                    lambda s: None, "[clock-cell] + :2 + Format the column as text"),
}  # fmt: skip


@pytest.mark.parametrize("name", BOOKS)
def test_a_workbook_is_read_as_people_see_it_or_refused(tmp_path: Path, name: str) -> None:
    rows, change, expected = BOOKS[name]
    book = openpyxl.Workbook()
    for row in rows:
        book.active.append(row)
    change(book.active)
    book.save(tmp_path / "sheet.xlsx")
    judge(found(tmp_path / "sheet.xlsx"), expected)


@pytest.mark.parametrize(("tag", "place"), [('<row r="2"', "row 2"), ("<sheetData>", "column C")])
def test_rows_without_height_and_columns_without_width_are_hidden(tmp_path: Path, tag: str, place: str) -> None:
    book = openpyxl.Workbook()
    for row in ROWS:
        book.active.append(row)
    book.save(tmp_path / "a.xlsx")
    new = f'{tag} ht="0"' if tag.startswith("<row") else f'<cols><col min="3" max="3" width="0"/></cols>{tag}'
    with zipfile.ZipFile(tmp_path / "a.xlsx") as old, zipfile.ZipFile(tmp_path / "b.xlsx", "w") as made:
        for part in old.namelist():
            content = old.read(part)
            made.writestr(part, content.replace(tag.encode(), new.encode()) if "sheet1" in part else content)
    judge(found(tmp_path / "b.xlsx"), f"[cells-unseen] + {place}: hidden")


@pytest.mark.parametrize(("looks", "said"), [('color rgb="FFFFFFFF"', "colour of what"), ('sz val="1"', "small")])
def test_a_digit_that_is_not_seen_is_named(tmp_path: Path, looks: str, said: str) -> None:
    """In a text of several fonts as Excel stores it, among the strings that cells share."""
    book = openpyxl.Workbook()
    for row in (HEAD, ["v1", "cpr_01", "12", 1]):
        book.active.append(row)
    book.save(tmp_path / "a.xlsx")
    space = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
    kind = "application/vnd.openxmlformats-officedocument.spreadsheetml.sharedStrings+xml"
    swaps = {
        '"C2" t="inlineStr"><is><t>12</t></is>': '"C2" t="s"><v>0</v>',
        "</Types>": f'<Override PartName="/xl/sharedStrings.xml" ContentType="{kind}"/></Types>',
    }
    with zipfile.ZipFile(tmp_path / "a.xlsx") as old, zipfile.ZipFile(tmp_path / "b.xlsx", "w") as made:
        for part in old.namelist():
            content = old.read(part)
            for before, after in swaps.items():
                content = content.replace(before.encode(), after.encode())
            made.writestr(part, content)
        runs = f"<si><r><rPr><{looks}/></rPr><t>1</t></r><r><t>2</t></r></si>"
        made.writestr("xl/sharedStrings.xml", f'<sst xmlns="{space}" count="1">{runs}</sst>')
    judge(found(tmp_path / "b.xlsx"), f"{UNSEEN} + {said}")


def test_what_nobody_reads_may_be_hidden_or_a_percentage(tmp_path: Path) -> None:
    book = openpyxl.Workbook()
    book.active.append([*HEAD, "share"])
    book.active.append([*ROWS[1], 0.5])
    book.active["E2"].number_format = "0%"
    book.active.column_dimensions["E"].hidden = True
    book.save(tmp_path / "a.xlsx")
    assert found(tmp_path / "a.xlsx", {"ignore": ["share"]}) == ONE


def test_a_hidden_worksheet_is_named_or_ignored(tmp_path: Path) -> None:
    book = openpyxl.Workbook()
    for row in (["video_id", "step_id", "points"], ["v1", "cpr_01", 2]):
        book.active.append(row)
    book.active.title = "rater_a"
    second = book.copy_worksheet(book.active)
    second.title, second.sheet_state = "rater_b", "veryHidden"
    book.save(tmp_path / "a.xlsx")
    judge(found(tmp_path / "a.xlsx"), "[cells-unseen] + 'rater_b' + ignore: [rater_b]")
    assert found(tmp_path / "a.xlsx", {"ignore": ["rater_b"]}) == [("v1", "cpr_01", None, None, {"rater_a": 2.0})]


def test_comments_beside_points_are_named_and_those_of_headings_are_not(tmp_path: Path) -> None:
    book = openpyxl.Workbook()
    for row in ROWS:
        book.active.append(row)
    book.active["C1"].comment, book.active["D2"].comment = Comment("0 to 2", "x"), Comment("should be 2", "Li")
    book.save(tmp_path / "a.xlsx")
    rows, problems = read_labels(tmp_path / "a.xlsx", TINY)
    assert [(problem.code, problem.severity) for problem in problems] == [("comments-left-out", "warning")]
    assert "D2" in problems[0].what and "C1" not in problems[0].what
    assert dict(rows[0].scores) == {"rater_a": 2.0, "rater_b": 1.0}

"""Tables of labels as people have them: read to the last point, or refused with place, value and way out."""

import datetime
import json
import shutil
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import openpyxl
import pytest
from openpyxl.cell.rich_text import CellRichText, TextBlock
from openpyxl.cell.text import InlineFont
from openpyxl.comments import Comment
from openpyxl.formatting.rule import CellIsRule
from openpyxl.styles import Color, Font, PatternFill

from siming_tasks.benchmark.rubrics import rubric_from
from siming_tasks.common.errors import DataError, Problem
from siming_tasks.tools.builder.label_rows import COLUMNS, LabelRow, joined, table_of
from siming_tasks.tools.builder.label_tables import read_labels
from siming_tasks.tools.builder.video_files import minutes_problem, span_problems
from tests.data.conftest import RUBRIC

TINY = rubric_from(json.loads(json.dumps(RUBRIC).replace('"name": "cpr_01"', '"name": "Scene safety"')))
pytestmark = pytest.mark.fast


def read(*paths: Path) -> tuple[list[LabelRow], list[Problem]]:
    judgments, problems = read_labels(paths, TINY)
    rows, contradictions = joined(judgments)
    return rows, [*problems, *contradictions]


def found(*paths: Path) -> list[Any]:
    """The labels of tables without errors, else their errors as lines."""
    try:
        rows, problems = read(*paths)
    except DataError as error:
        return [str(error)]
    if errors := [f"[{problem.code}] {problem}" for problem in problems if problem.severity == "error"]:
        return errors
    return [(row.video, row.step_id, row.start, row.end, dict(row.scores) if row.applicable else None) for row in rows]


def judge(got: list[Any], expected: list[Any] | str) -> None:
    """A refusal must have every part that `` + `` separates on one line."""
    if isinstance(expected, list):
        assert got == expected
    else:
        assert all(isinstance(line, str) for line in got), f"read as {got}"
        assert any(all(part in line for part in expected.split(" + ")) for line in got), got


def csv(path: Path, text: str | bytes) -> Path:
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


LONG = "video_id,step_id,rater,points\nv1,cpr_01,a,2\nv1,cpr_01,b,1\n"
WIDE = "video_id,rater,cpr_01\nv1,a,2\nv1,b,1\n"
ONE = [("v1", "cpr_01", None, None, {"a": 2.0, "b": 1.0})]
POINT = "video_id,step_id,rater,points\nv1,cpr_01,a,{}\n"
STEP = "video_id,rater,{}\nv1,a,1\n"
TIMES = "video_id,step_id,rater,points,start,end\nv1,cpr_01,a,2,{},{}\n"
VIDEO = "video_id,step_id,rater,points,{0}\nv1,cpr_01,a,2,{1}\nv{3},cpr_02,a,2,{2}\n"

TEXTS: dict[str, tuple[str | bytes, list[Any] | str]] = {
    "long": (LONG, ONE),
    "wide": (WIDE, ONE),
    "byte-order mark": ("\ufeff" + LONG, ONE),
    "line ends of Windows": (LONG.replace("\n", "\r\n"), ONE),
    "blanks and empty lines": (LONG.replace(",", " , ").replace("\n", "\n\n,,,\n"), ONE),
    "equal rows count once": (LONG + "v1,cpr_01,b,1\n", ONE),
    "who gave nothing": (LONG + "v1,cpr_01,c,\n", "[nothing-read] + :4: rater: 'c' has rows and gives no points. Fill"),
    "who gave only times": (LONG.replace("\n", ",start,end\n", 1) + "v1,cpr_01,c,,1,2\n",
                            [("v1", "cpr_01", 1.0, 2.0, {"a": 2.0, "b": 1.0})]),
    "who gave nothing to one step": (LONG + "v1,cpr_02,a,1\nv1,cpr_02,b,\n",
                                     [*ONE, ("v1", "cpr_02", None, None, {"a": 1.0})]),
    "not applicable": ("video_id,rater,cpr_01,aed_01\nv1,a,2,N/A\nv1,b,1,n/a\n",
                       [*ONE, ("v1", "aed_01", None, None, None)]),
    "the consensus says that it applies": (LONG + "v1,cpr_01,c,N/A\nv1,cpr_01,consensus,1\n",
                                           [("v1", "cpr_01", None, None, {"a": 2.0, "b": 1.0, "consensus": 1.0})]),
    "withheld": ("video_id,step_id\nv1,cpr_01\n", [("v1", "cpr_01", None, None, {})]),
    "withheld with times": ("video_id,step_id,start,end\nv1,cpr_01,1,2\n", [("v1", "cpr_01", 1.0, 2.0, {})]),
    **{f"time {text}": (TIMES.format(text, "3723.5"), [("v1", "cpr_01", seconds, 3723.5, {"a": 2.0})])
       for text, seconds in (("83.5", 83.5), ("01:02:03", 3723.0))},
    # --- the file
    "UTF-16": (b"\xff\xfe" + LONG.encode("utf-16-le"), "not UTF-8 + Save the file as UTF-8"),
    "GB 18030": (LONG.replace("a,2", "王,2").encode("gbk"), "not UTF-8 + Save the file as UTF-8"),
    "semicolons": (LONG.replace(",", ";"), ":1: its cells are separated by ';' + Save it as .xlsx."),
    "NUL characters": (LONG.replace("2", "\0"), "NUL characters + Save it"),
    "no row": ("video_id,rater,cpr_01\n", "no row below the headings"),
    "an open quote": ('video_id,step_id\n"v1,cpr_01\n', "not CSV + Check the quotes"),
    # --- the headings
    "a title above": ("Exam of March\n" + LONG, "[columns-missing] + headings are in row 2. Delete the rows above"),
    "another table": ("Film,Prüfer\nv1,a\n", "[columns-missing] + 'Film', 'Prüfer' are not headings + template"),
    "names of steps as headings": ("video_id,rater,Scene  safety,cpr_02\nv1,a,2,1\n",
                                   [("v1", step, None, None, {"a": points})
                                    for step, points in (("cpr_01", 2.0), ("cpr_02", 1.0))]),
    "a name of a step that is not exact": (STEP.format("Scene"), "[columns-unknown] + :1: column C: + 'Scene'"),
    "a step by name and id": (STEP.format("Scene safety,cpr_01"), "[column-twice] + 'cpr_01'"),
    "no rater": ("video_id,cpr_01\nv1,2\n", "[columns-missing] + no column rater + consensus"),
    "long without points": ("video_id,step_id,rater\nv1,cpr_01,a\n", "[columns-missing] + no column points"),
    "a column of each rater": ("video_id,step_id,rater_a,rater_b\nv1,cpr_01,2,1\n",
                               "[columns-unknown] + 'rater_a' + column C + long table"),
    "no step": ("video_id,rater\nv1,a\n", "[columns-missing] + no column is a step"),
    "a column twice": (STEP.format("cpr_01,cpr_01"), "[column-twice] + 'cpr_01'"),
    "an index of pandas": ("," + LONG.replace("\nv1", "\n0,v1"), "[row-too-long] + :2 + have no heading"),
    "cells under no heading": (LONG.replace("a,2", "a,2,x"), "[row-too-long] + :2 + have no heading"),
    "a decimal comma without quotes": (POINT.format("1,5"), "[row-too-long] + :2 + decimal points"),
    **{f"heading {head}": (STEP.format(head), f"[columns-unknown] + :1: column C: + {head!r}")
       for head in ("cpr_01扣分", "cpr_01 (max 10)", "CPR_01", "remark", "consensus", "start")},
    "a heading of a step's points and a remark": ("video_id,rater,cpr_01,remark\nv1,a,9,x\n", "[score-off-scale] + 9"),
    # --- points
    **{f"points {text!r}": (POINT.format(f'"{text}"'), f"[not-a-number] + :2: points: {text!r} is not + Write")
       for text in ("1¹", "(2)", "1-2", "2分", "II", "yes", "1E1", "1_0", "NaN", "=1+1", "-", "١", "1.", "+1", "na",
                    "1,5", "1,234", "100%", "2026-03-01")},
    "off the scale": (POINT.format("3"), "[score-off-scale] + :2: points: 3 is outside the range of cpr_01, 0-2"),
    "below the scale": (POINT.format("-1"), "[score-off-scale] + -1"),
    "half points without a word": (POINT.format("1.5"), "[score-off-increment] + 1.5 points + score_increment"),
    # --- rows
    "no video": (LONG + ",cpr_01,a,1\n", "[id-missing] + :4: video_id"),
    "no step's cell": (LONG + "v1,,a,1\n", "[id-missing] + :4: step_id"),
    "a row that ends before its step": ("video_id,rater,points,step_id\nv1,a,2\n", "[id-missing] + :2: step_id"),
    "the heading again": (LONG + LONG, "[step-unknown] + :4: step_id: 'step_id'"),
    "a step beside the rubric": (LONG.replace("cpr_01,b", "cpr_1,b"), "[step-unknown] + :3 + 'cpr_1' + ('cpr_01'?)"),
    "points of nobody": (LONG + "v1,cpr_02,,1\n", "[rater-missing] + :4: rater + consensus"),
    "two rows that disagree": (LONG + "v1,cpr_01,b,2\n",
                               "[rows-differ] + :4: points + b gives 2 here and b gives 1 on + :3. Keep"),
    "one says that it does not apply": (LONG.replace("b,1", "b,N/A"), "[applicable-differs] + :3 + a gives points on"),
    "two times": (TIMES.format(1, 2) + "v1,cpr_01,b,2,1,3\n", "[span-differs] + :3: end + 3 s here and 2 s on + :2."),
    "two sites of a video": (VIDEO.format("site", "A", "B", 1), "[video-differs] + :3: site + 'B' here and 'A' on"),
    "two spellings of a student": (VIDEO.format("student", "T01", "t01", 2), "[name-differs] + 't01' here and 'T01'"),
    "two spellings of a rater": (LONG + "v2,cpr_01,B,1\n", "[name-differs] + :4: rater + 'B' here and 'b' on"),
    "a consensus in capitals": (LONG + "v1,cpr_01,Consensus,1\n", "[name-differs] + 'Consensus' + 'consensus'"),
    **{f"{column} {name}": (VIDEO.format(column, name, name, 2), f"[no-name] + :2: {column}: {name!r} + Leave + 1 more")
       for column, names in (("student", "nan,-,未知,无,unbekannt,#NV,.,?,–,None,k.A.,n.a.,keine,匿名,_"),
                             ("site", "N/A,#REF!,#BEZUG!,Not known,ohne Namen")) for name in names.split(",")},
    **{f"a lost letter in {column}": (
        VIDEO.format("student", "S", "S", 2).replace(old, old + "\ufffd", 1), f"[no-name] + :2: {column} + U+FFFD")
       for column, old in (("video_id", "v1"), ("rater", ",a"), ("student", "S"))},
    **{f"the two names {one} and {other}": (
        VIDEO.format("student", f'"{one}"', other, 2), f"[name-differs] + {other!r} + {one!r} + --different")
       for one, other in (("Dr. Li", "Dr Li"), ("07", "7"), ("Müller", "Mueller"), ("Müller", "Muller"), ("Li", "Ｌｉ"),
                          ("Prof. Wang", "Wang"), ("T-01", "T1"), ("Groß", "Gross"), ("王医生", "王"),
                          ("Li, Wei", "Wei Li"), ("José", "Jose"), ("O'Neil", "ONeil"))},
    **{f"no alike names, {one} and {other}": (
        VIDEO.format("student", one, other, 2),
        [("v1", "cpr_01", None, None, {"a": 2.0}), ("v2", "cpr_02", None, None, {"a": 2.0})])
       for one, other in (("1.1", "11"), ("Li Yue", "Li Yu"), ("Zhang", "Chang"), ("10", "1"), ("李", "王"))},
    **{f"{name} as a rater": (LONG.replace("b,1", f"{name},1"), f"[rater-aggregate] + :3: rater: {name!r} + --cons")
       for name in ("Final", "mean", "Konsens", "共识", "最终得分", "Durchschnitt", "Total", "gold", "平均分")},
    "nobody as a rater": (LONG.replace("b,1", "nan,1"), "[no-name] + :3: rater: 'nan' + Write who judged"),
    "a rater as a number of a program": (LONG.replace("b,1", "1.0,1"), "[no-name] + :3: rater: '1.0' + Write '1'"),
    **{f"an unseen letter in {column}": (
        VIDEO.format("student", "S", "S", 2).replace(old, old + letter + "1", 1),
        f"[name-unseen] + :2: {column} + U+{ord(letter):04X}")
       for column, old, letter in (("video_id", "v1", "\u200b"), ("rater", ",a", "\u00ad"), ("student", "S", "\x07"))},
    "one says that it does not apply, one nothing": (LONG.replace("a,2", "a,N/A").replace("b,1", "b,"),
                                                     "[applicable-differs] + :3 + b gives nothing"),
    "so the consensus decides": (LONG.replace("a,2", "a,N/A").replace("b,1", "b,") + "v1,cpr_01,consensus,N/A\n",
                                 [("v1", "cpr_01", None, None, None)]),
    "a note below a wide table": (WIDE + "T01 must be scored again,,\n",
                                  "[row-empty] + :4: no rater and no points, but 'T01 must be scored again'"),
    # --- times
    **{f"time {text!r}": (TIMES.format(text, 200), f"[not-a-time] + :2: start: {text!r} + (1:23.5)")
       for text in ("1:75", "1:75:00", "2 s", "1.5e1")},
}  # fmt: skip


@pytest.mark.parametrize("name", TEXTS)
def test_a_text_is_read_right_or_refused(tmp_path: Path, name: str) -> None:
    content, expected = TEXTS[name]
    judge(found(csv(tmp_path / "labels.csv", content)), expected)


@pytest.mark.parametrize(
    ("other", "codes"), [("t 7", ["name-differs"]), ("T08", ["video-differs"]), ("T07", [])], ids=str
)
def test_two_names_in_one_video_are_one_finding(tmp_path: Path, other: str, codes: list[str]) -> None:
    """Rows with the one name and the other in turn, and further videos with each."""
    rows = [f"{video},cpr_01,r{number},1,{name}" for video, names in (("v1", ("T07", other) * 3), ("v2", ("T07",)))
            for number, name in enumerate(names)]  # fmt: skip
    table = csv(tmp_path / "labels.csv", "\n".join(["video_id,step_id,rater,points,student", *rows, ""]))
    _, problems = read(table)
    assert [problem.code for problem in problems] == codes


def test_all_findings_of_all_tables_in_one_run(tmp_path: Path) -> None:
    one = csv(tmp_path / "a.csv", "video_id,rater,cpr_01,cpr_02,remark\nv1,a,9,two,x\nv1,,1,1,\n,a,1,1,\n")
    two = csv(tmp_path / "b.csv", TIMES.format("soon", 2).replace("cpr_01", "cpr_99") + "v1,cpr_03,b,5,x,y\n")
    _, problems = read(one, two)
    codes = {*("columns-unknown", "score-off-scale", "not-a-number", "rater-missing", "id-missing"),
             *("step-unknown", "not-a-time")}  # fmt: skip
    assert {problem.code for problem in problems} == codes
    assert {problem.file for problem in problems} == {str(one), str(two)}
    with pytest.raises(DataError, match=r"(?s)b\.csv.*not by commas.*9 is outside the range"):
        read(one, csv(two, "video_id;rater\n"))


# --- several tables


def test_tables_are_put_together_and_their_contradictions_named(tmp_path: Path) -> None:
    li = csv(tmp_path / "li.csv", "video_id,rater,cpr_01,cpr_02\nv1,Li,2,1\n")
    wu = csv(tmp_path / "wu.csv", "video_id,step_id,rater,points\nv1,cpr_01,Wu,2\nv1,cpr_02,Wu,0\n")
    times = csv(tmp_path / "times.csv", "video_id,step_id,start,end\nv1,cpr_01,0,1.5\nv1,cpr_02,,\nv9,cpr_03,,\n")
    final = csv(tmp_path / "final.csv", "video_id,step_id,rater,points\nv1,cpr_02,consensus,1\nv1,cpr_02,Wu,0\n")
    assert found(li, wu, times, final) == [
        ("v1", "cpr_01", 0.0, 1.5, {"Li": 2.0, "Wu": 2.0}),
        ("v1", "cpr_02", None, None, {"Li": 1.0, "Wu": 0.0, "consensus": 1.0}),
    ]
    csv(times, "video_id,step_id,start,end\nv1,cpr_01,0,1\nv1,cpr_03,0,1\nv9,cpr_01,0,1\nv9,cpr_02,1,2\n")
    other = csv(tmp_path / "other.csv", "video_id,step_id,start,end\nv1,cpr_01,0,1.5\n")
    csv(final, "video_id,step_id,rater,points\nv1,cpr_02,Wu,1\n")
    keep = "Keep the correct one."
    write = "Write the names as in the table with points, add points, or delete the row."
    assert found(li, wu, times, other, final) == [
        f"[span-differs] {other}:2: end: video 'v1', step 'cpr_01': 1.5 s here and 1 s on {times}:2. {keep}",
        f"[rows-differ] {final}:2: points: video 'v1', step 'cpr_02': Wu gives 1 here and Wu gives 0 on {wu}:3. {keep}",
        f"[row-unlabelled] {times}:3: video 'v1', step 'cpr_03': times, but no row with points of this step. {write}",
        f"[row-unlabelled] {times}:4: video 'v9', step 'cpr_01': times, but no row with points of this video. {write}",
    ]  # fmt: skip


def test_a_table_that_gives_nothing_is_refused(tmp_path: Path) -> None:
    points = csv(tmp_path / "points.csv", LONG)
    times = csv(tmp_path / "times.csv", "video_id,step_id,start,end\nv1,cpr_01,,\n")
    judge(found(points, times), "[nothing-read] + times.csv: gives no points and no times")


def test_a_span_that_is_none_is_told_where_it_stands(tmp_path: Path) -> None:
    points = csv(tmp_path / "points.csv", LONG)
    times = tmp_path / "times.csv"
    for start, end, said in ((3, 1, "span-invalid"), (1, "", "span-half"), (1, 99, "span-outside"),
                             ("0.000694", "0.001389", "span-short"), (1, 1.09, "span-short"),
                             (10.2, 10.4, "span-short")):  # fmt: skip
        rows, problems = read(points, csv(times, f"video_id,step_id,start,end\n\nv1,cpr_01,{start},{end}\n"))
        (problem,) = span_problems(rows, {"v1": 10.0})
        assert problems == [] and (problem.code, problem.file, problem.line) == (said, str(times), 3)
    rows, _ = read(points, csv(times, "video_id,step_id,start,end\nv1,cpr_01,0.2,0.3\n"))
    assert span_problems(rows, {"v1": 10.0}) == []


def test_the_table_that_is_kept_says_what_was_read(tmp_path: Path) -> None:
    text = TIMES.format(1, 2.25).replace("\n", ",student,site\n", 1).replace("2.25\n", "2.25,T1,A\n") + \
        "v1,cpr_02,a,N/A,,,T1,A\nv1,cpr_03,b,1,,,T1,A\nv1,cpr_03,consensus,2,,,T1,A\n"  # fmt: skip
    rows, problems = read(csv(tmp_path / "a.csv", text))
    assert problems == []
    table = table_of(rows, ["a", "b", "consensus"])
    lines = [",".join(cells) for cells in [COLUMNS, *table]]
    back, problems = read(csv(tmp_path / "b.csv", "\n".join(lines)))
    assert problems == []
    assert [(row.step_id, (row.start, row.end), dict(row.scores), row.applicable, dict(row.about)) for row in back] == [
        ("cpr_01", (1.0, 2.25), {"a": 2.0}, True, {"student": "T1", "site": "A"}),
        ("cpr_02", (None, None), {}, False, {"student": "T1", "site": "A"}),
        ("cpr_03", (None, None), {"b": 1.0, "consensus": 2.0}, True, {"student": "T1", "site": "A"}),
    ]  # fmt: skip


# --- workbooks


def book(path: Path, rows: list[list[Any]], change: Callable[[Any], Any] = lambda sheet: None) -> Path:
    made = openpyxl.Workbook()
    for row in rows:
        made.active.append(row)
    change(made.active)
    made.save(path)
    return path


HEAD = ["video_id", "rater", "cpr_01"]
ROWS = [HEAD, ["v1", "a", 2], ["v1", "b", 1]]


def form(text: str, value: Any = 2) -> Callable[[Any], None]:
    def change(sheet: Any) -> None:
        sheet["C2"].value, sheet["C2"].number_format = value, text

    return change


def value(content: Any, place: str = "C2") -> Callable[[Any], None]:
    return lambda sheet: setattr(sheet[place], "value", content)


UNSEEN = "[cells-unseen] + :2: column C: '2'"
ROW = "[cells-unseen] + :2: 'v1'"
BOOKS: dict[str, tuple[Callable[[Any], Any], list[Any] | str]] = {
    "as it should be": (lambda sheet: None, ONE),
    "formatted as text": (form("@"), ONE),
    "decimals": (form("0.00", 2.0), ONE),
    "percent": (form("0%"), f"{UNSEEN} is shown in the number format '0%' + General"),
    "zeros that the sheet hides": (lambda s: (value(0)(s), setattr(s.sheet_view, "showZeros", False)),
                                   "[cells-unseen] + '0' is a zero, and the sheet does not show zeros"),
    "rounded": (form("0", 1.5), "[cells-unseen] + '1.5' is shown rounded"),
    "a date": (value(datetime.date(2026, 3, 1)),
               "[cells-unseen] + '2026-03-01T00:00:00' is a date + write the value again."),
    "a date as a time": (lambda s: (value("start", "D1")(s), value(datetime.time(0, 1, 23), "D2")(s)),
                         "[cells-unseen] + column D + is a date or a time of day + again (1:23.5)."),
    "an error as a student": (lambda s: (value("student", "D1")(s), value("#N/A", "D2")(s)),
                              "[cells-unseen] + :2: column D: '#N/A' is an error of a formula"),
    "a number as a rater": (value(1.5, "B2"), "[cells-unseen] + :2: column B: '1.5' is a number + as text"),
    "a whole number as a rater": (value(7.0, "B2"), [("v1", "cpr_01", None, None, {"7": 2.0, "b": 1.0})]),
    "a formula without a value": (value("=1+1"), "[cells-unseen] + :2: column C: '=1+1' is a formula without a value"),
    "merged cells": (lambda s: s.merge_cells("A2:A3"), "[cells-merged] + :2: cells A2:A3 are merged + fill in every"),
    "percent beside its reading": (form("0%", 0.5), "[cells-unseen] + '0.5' is shown in the number format '0%'"),
    "a hidden row": (lambda s: setattr(s.row_dimensions[2], "hidden", True), f"{ROW} is in a hidden row"),
    "a row of no height": (lambda s: setattr(s.row_dimensions[2], "height", 0.5), f"{ROW} is in a hidden row"),
    "rows of no height": (lambda s: setattr(s.sheet_format, "zeroHeight", True), "[cells-unseen] + is in a hidden row"),
    "a hidden column": (lambda s: setattr(s.column_dimensions["C"], "hidden", True),
                        "[cells-unseen] + :1: column C: 'cpr_01' is in a hidden column (and 2 more rows)"),
    "grouped columns": (lambda s: s.column_dimensions.group("B", "C", hidden=True), "column C + in a hidden column"),
    "a low row": (lambda s: setattr(s.row_dimensions[2], "height", 1.5), f"{ROW} is in a hidden row"),
    "a narrow column": (lambda s: setattr(s.column_dimensions["C"], "width", 0.1), "column C + in a hidden column"),
    "white on white": (lambda s: setattr(s["C2"], "font", Font(color="FFFFFFFF")), f"{UNSEEN} has the colour of its"),
    "white by the theme": (lambda s: setattr(s["C2"], "font", Font(color=Color(theme=0))), f"{UNSEEN} has the colour"),
    "white on red": (lambda s: (setattr(s["C2"], "font", Font(color="FFFFFFFF")),
                                setattr(s["C2"], "fill", PatternFill("solid", fgColor="FFFF0000"))), ONE),
    "red on red": (lambda s: (setattr(s["C2"], "font", Font(color="FFFF0000")),
                              setattr(s["C2"], "fill", PatternFill("solid", fgColor="00FF0000"))), f"{UNSEEN} has the"),
    "struck out": (lambda s: setattr(s["C2"], "font", Font(strike=True)), f"{UNSEEN} is struck out"),
    "a struck-out digit": (value(CellRichText(TextBlock(InlineFont(strike=True), "1"), "2")), "'12' has several fonts"),
}  # fmt: skip


@pytest.mark.parametrize("name", BOOKS)
def test_a_workbook_is_read_right_or_refused(tmp_path: Path, name: str) -> None:
    change, expected = BOOKS[name]
    got = found(book(tmp_path / "labels.xlsx", ROWS, change))
    judge(got, expected)
    assert "datetime" not in str(got)
    assert sum("C2" in str(line) or ":2: " in str(line) for line in got) <= 1, "one finding for each cell"


def test_a_real_sheet_is_refused_by_its_cause_and_not_by_its_cells(tmp_path: Path) -> None:
    """A title, merged cells, dates and percentages: the one thing to do first is said, alone."""

    def change(sheet: Any) -> None:
        sheet.insert_rows(1, 2)
        sheet["A1"], sheet["C4"] = "Prüfung", datetime.date(2026, 3, 1)
        sheet.merge_cells("A1:C1")

    got = found(book(tmp_path / "a.xlsx", ROWS, change))
    assert got == [f"[columns-missing] {tmp_path}/a.xlsx:1: the headings are in row 3. Delete the rows above them."]
    wide = [
        ["video_id", "rater", "cpr_01", *(f"Aufgabe {number}" for number in range(12))],
        ["v1", "a", 2, *12 * ["x"]],
    ]
    got = found(book(tmp_path / "b.xlsx", wide, lambda sheet: sheet.merge_cells("A4:A5")))
    assert len(got) == 2 and "'Aufgabe 0' is not a column of a wide table (nor 'Aufgabe 1', 'Aufgabe 2'" in got[0]


def test_what_is_in_a_workbook_and_not_read_is_named(tmp_path: Path) -> None:
    def change(sheet: Any) -> None:
        sheet["C2"].comment, sheet["C1"].comment = Comment("should be 1", "Li"), Comment("the criteria", "siming")
        sheet.conditional_formatting.add("C2:C3", CellIsRule("equal", ["2"], font=Font(color="FFFFFFFF")))

    _, problems = read(book(tmp_path / "a.xlsx", ROWS, change))
    assert [(problem.code, problem.severity) for problem in problems] == [("cells-unread", "warning")]
    said = "has 1 comment not read, the first at C2: should be 1 and conditional formats not read."
    assert problems[0].what == said


def test_a_formula_of_nothing_is_an_empty_cell_and_strict_xml_is_called_so(tmp_path: Path) -> None:
    rows = [[*HEAD, "cpr_02"], ["v1", "a", 2, '=IF(1>2,1,"")'], ["v1", "b", 1, 1]]
    one = book(tmp_path / "a.xlsx", rows)
    for name, part, old, new in (
        ("b.xlsx", "sheet1.xml", b'<c r="D2"><f>', b'<c r="D2" t="str"><f>'),
        ("c.xlsx", "workbook.xml", b"schemas.openxmlformats.org/spreadsheetml/2006", b"purl.oclc.org/ooxml/x"),
    ):  # fmt: skip
        with zipfile.ZipFile(one) as source, zipfile.ZipFile(tmp_path / name, "w") as target:
            for item in source.namelist():
                data = source.read(item)
                assert not item.endswith(part) or old in data
                target.writestr(item, data.replace(old, new) if item.endswith(part) else data)
    judge(found(one), "[cells-unseen] + column D + formula without a value")
    assert found(tmp_path / "b.xlsx") == [*ONE, ("v1", "cpr_02", None, None, {"b": 1.0})]
    judge(found(tmp_path / "c.xlsx"), "a Strict Open XML workbook. Save it as Excel Workbook")


def test_minutes_that_were_written_for_seconds_are_asked_about(tmp_path: Path) -> None:
    text = "video_id,step_id,rater,points,start,end\nv1,cpr_01,a,2,{},{}\nv1,cpr_02,a,2,{},{}\nv1,cpr_03,a,2,{},{}\n"
    for times, asked in (((0.2, 0.5, 0.5, 1.2, 1.2, 2.9), 1), ((2, 5, 15, 20, 30, 60), 0)):
        rows, _ = read(csv(tmp_path / "a.csv", text.format(*times)))
        problems = list(minutes_problem(rows, {"v1": 180.0}))
        assert [(problem.code, problem.line, problem.severity) for problem in problems] == asked * [
            ("span-minutes", 2, "warning")
        ]


@pytest.mark.parametrize("step_id", ["student", "points"])
def test_a_step_that_is_called_as_a_column_is_refused(tmp_path: Path, step_id: str) -> None:
    rubric = rubric_from(json.loads(json.dumps(RUBRIC).replace('"cpr_01"', f'"{step_id}"')))
    _, problems = read_labels([csv(tmp_path / "a.csv", WIDE.replace("cpr_01", "cpr_02"))], rubric)
    assert problems[0].code == "step-id-reserved" and f"step '{step_id}' of the rubric" in problems[0].what


def test_every_sheet_of_a_workbook_is_a_table(tmp_path: Path) -> None:
    made = openpyxl.load_workbook(book(tmp_path / "a.xlsx", ROWS))
    made.create_sheet("empty")
    made.save(tmp_path / "a.xlsx")
    assert found(tmp_path / "a.xlsx") == ONE
    times = made.create_sheet("times")
    for row in (["video_id", "step_id", "start", "end"], ["v1", "cpr_01", 0, "0:01.5"]):
        times.append(row)
    made.save(tmp_path / "a.xlsx")
    renamed = shutil.copy(tmp_path / "a.xlsx", tmp_path / "a.csv")  # a workbook is known by its content
    for path in (tmp_path / "a.xlsx", Path(renamed)):
        assert found(path) == [("v1", "cpr_01", 0.0, 1.5, {"a": 2.0, "b": 1.0})]
    times.sheet_state = "hidden"
    made.create_sheet("legend").append(["0", "not done"])
    made.save(tmp_path / "a.xlsx")
    got = found(tmp_path / "a.xlsx")
    judge(got, "[columns-missing] + a.xlsx [legend]:1: '0', 'not done' are not headings")
    judge(got, "[cells-unseen] + a.xlsx [times]: the sheet is hidden. Show it")


# --- files that are none


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("x.csv", b"\xd0\xcf\x11\xe0" + bytes(600), "an old .xls file or protected by a password."),
        ("x.xlsx", b"video_id,rater", "not a readable .xlsx file"),
        ("x.csv", b"PK\x03\x04cut", "not a readable .xlsx file"),
        ("x.ods", b"text", "a table of labels is .csv or .xlsx."),
    ],
)
def test_files_that_are_no_tables_are_refused(tmp_path: Path, name: str, content: bytes, said: str) -> None:
    judge(found(csv(tmp_path / name, content)), f"{tmp_path / name}: {said}")


def test_large_files_are_refused(tmp_path: Path) -> None:
    sheets = {"bytes": ("0" * 70_000_000, "unpacks to more than"), "tags": ("<c/>" * 1_000_001, "1,000,000 tags"),
              "cells": ('<a><mergeCell ref="A1:XFD1048576"/></a>', "cover more than 100,000 cells")}  # fmt: skip
    for name, (content, said) in sheets.items():
        with zipfile.ZipFile(tmp_path / f"{name}.xlsx", "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr("xl/worksheets/sheet1.xml", content)
        judge(found(tmp_path / f"{name}.xlsx"), said)
    with (tmp_path / "long.csv").open("wb") as stream:
        stream.truncate(2 << 30)
    judge(found(tmp_path / "long.csv"), "2,147,483,648 bytes")
    judge(found(book(tmp_path / "corner.xlsx", ROWS, value("x", "XFD1048576"))), "1048576: at most")

"""Score sheets as people have them: read whole, or refused with what to write; never a physician lost or renamed."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import openpyxl
import pytest

from siming_tasks.common.errors import DataError, Problem
from siming_tasks.rubrics import rubric_from
from siming_tasks.tools.builder.label_rows import LabelRow
from siming_tasks.tools.builder.mapping import SheetMapping, read_mapping
from siming_tasks.tools.builder.read_sheets import read_labels
from tests.data.conftest import RUBRIC

TINY = rubric_from(RUBRIC)
ROWS = ("v1,cpr_01,2,1", "v1,cpr_02,1,2", "v2,cpr_01,0,1", "v2,cpr_02,2,2")
"""Video, step, and the points of two physicians: what every readable form below says."""
EXPECTED = {tuple(row.split(",")[:2]): tuple(map(float, row.split(",")[2:])) for row in ROWS}


def read(path: Path, content: str, **mapping: Any) -> tuple[list[LabelRow], list[Problem]]:
    path.write_text(content, encoding="utf-8")
    return read_labels(path, TINY, SheetMapping(**mapping))


def codes(problems: list[Problem], severity: str = "error") -> set[str]:
    return {problem.code for problem in problems if problem.severity == severity}


def points(rows: list[LabelRow], a: str = "rater_a", b: str = "rater_b") -> dict[Any, Any]:
    assert all(set(row.scores) == {a, b} for row in rows)
    return {(row.video, row.step_id): (row.scores[a], row.scores[b]) for row in rows}


def book(path: Path, **sheets: list[list[Any]]) -> Path:
    workbook = openpyxl.Workbook()
    workbook.remove(workbook.active)
    for title, rows in sheets.items():
        sheet = workbook.create_sheet(title)
        for row in rows:
            sheet.append(row)
    workbook.save(path)
    return path


WIDE = "video_id,rater,cpr_01,cpr_02\nv1,rater_a,2,1\nv1,rater_b,1,2\n"
LONG = "video_id,step_id,rater_a,rater_b\nv1,cpr_01,2,1\n"


@pytest.mark.parametrize(
    ("content", "mapping", "code", "message"),
    [
        ("video_id,cpr_01,,cpr_02,\nv1,2,1,1,2\n", {}, "heading-empty", "column C has cells but no heading."),
        (WIDE, {"columns": {"site": "ward"}}, "mapping-unmatched", "`columns: {site: ward}` meets nothing in"),
        (WIDE, {"raters": {"rater_a": "a", "rater_b": "b", "Li": "c"}}, "mapping-unmatched", "`raters: {Li: c}` meets"),
        (WIDE, {"steps": {"Airway": "cpr_03"}}, "mapping-unmatched", "`steps: {Airway: cpr_03}` meets nothing"),
        (WIDE, {"steps": {"Airway": "cpr_99"}}, "step-unknown", "`steps: {Airway: cpr_99}`: the rubric has no such"),
        (WIDE, {"ignore": ["ward"]}, "mapping-unmatched", "`ignore: [ward]` meets nothing"),
        (
            WIDE,
            {"raters": {"rater_a": "x"}},
            "rater-unmapped",
            "rater 'rater_b' is not in the mapping file's `raters:`",
        ),
        (
            WIDE,
            {"raters": {"rater_a": "x", "rater_b": "x"}},
            "two-sources",
            "'rater_a' and 'rater_b' would both be 'x'",
        ),
        (
            LONG,
            {"raters": {"rater_a": "x", "rater_b": "x"}},
            "two-sources",
            "'rater_a' and 'rater_b' are both the points",
        ),
        (
            LONG.replace("rater_b", "Rater-A"),
            {},
            "two-sources",
            "columns 'rater_a' and 'Rater-A' are both the points by",
        ),
        (
            "video_id,Video ID,cpr_01\nv1,v2,1\n",
            {},
            "two-sources",
            "columns 'video_id' and 'Video ID' are both video_id",
        ),
        (
            "video_id,a,b\nv1,2,1\n",
            {"steps": {"a": "cpr_01", "b": "cpr_01"}},
            "two-sources",
            "columns 'a' and 'b' are both step 'cpr_01'.",
        ),
        ("video_id,rater,cpr_01\nv1,Wang,2\nv2,wang,1\n", {}, "two-sources", "raters 'Wang' and 'wang' would both be"),
        ("video_id,rater,cpr_01\nv1,Wang,2\nv1,,1\n", {}, "rater-missing", ":3: rater: the rater's cell is empty."),
        ("video_id,cpr_01,remark\nv1,2,slow\n", {}, "columns-ignored", "columns 'remark' are not read."),
        ("video_id,cpr_01,start,end\nv1,2,1,2\n", {}, "columns-ignored", "columns 'start', 'end' are not read."),
        (
            "video_id,step_id,Prof. Li,rater_a\nv1,cpr_01,2,1\n",
            {},
            "columns-ignored",
            "columns 'Prof. Li' are not read.",
        ),
        ("video_id,step_id,points,rater_a\nv1,cpr_01,2,1\n", {}, "columns-ignored", "columns 'points' are not read."),
        ("video_id,step_id,rater,rater_a\nv1,cpr_01,X,1\n", {}, "columns-ignored", "columns 'rater' are not read."),
        (
            "video_id,step_id,applicable,rater_a\nv1,cpr_01,no,2\n",
            {},
            "applicable-differs",
            "the column applicable says not applicable, rater_a gives points.",
        ),
        (
            "video_id,rater,cpr_01,site\nv1,rater_a,2,A\nv1,rater_b,2,B\n",
            {},
            "video-differs",
            "site is 'B' here and 'A' on line 2.",
        ),
        (
            "video_id,step_id,rater,points,start,end\nv1,cpr_01,a,1,0,1\nv1,cpr_01,b,1,0,2\n",
            {},
            "span-differs",
            "end: video 'v1', step 'cpr_01': 2 s here and 1 s on line 2.",
        ),
        ("video_id,step_id,rater_a\nv1,cpr_01,0_1\n", {}, "not-a-number", "'0_1' is not a number of points."),
        (
            "video_id,step_id,rater_a,start,end\nv1,cpr_01,1,0,00:00:01:10\n",
            {},
            "not-a-time",
            "'00:00:01:10' is not a time. Say how many frames a second has, such as `rate: 25`",
        ),
        (
            "video_id,step_id,rater_a,start,end\nv1,cpr_01,1,0,00:00:01:25\n",
            {"rate": "25"},
            "not-a-time",
            "Its frames do not fit `rate: 25`.",
        ),
        ("video_id,step_id,rater_a,start,end\nv1,cpr_01,1,0,1:75:00\n", {}, "not-a-time", "'1:75:00' is not a time."),
    ],
)
def test_every_unread_cell_is_reported(
    tmp_path: Path, content: str, mapping: dict[str, Any], code: str, message: str
) -> None:
    _, problems = read(tmp_path / "a.csv", content, **mapping)
    found = [str(problem) for problem in problems if (problem.code, problem.severity) == (code, "error")]
    assert found and message in found[0], list(map(str, problems))


def test_all_faults_of_a_sheet_in_one_run(tmp_path: Path) -> None:
    content = "video_id,step_id,rater_a,rater_a,Remark\nv1,cpr_01,9,1,x\nv1,cpr_77,1,1,\n,cpr_01,1,1,\n"
    _, problems = read(tmp_path / "a.csv", content, raters={"Li": "rater_c"})
    assert codes(problems) == {
        *("column-twice", "columns-ignored", "score-off-scale", "step-unknown", "id-missing", "mapping-unmatched"),
    }


def test_a_sheet_with_no_known_column_also_names_its_other_faults(tmp_path: Path) -> None:
    with pytest.raises(DataError) as caught:
        read(tmp_path / "a.csv", "录像,a,a\nv1,1,2\n")
    assert {problem.code for problem in caught.value.problems} == {"columns-missing", "column-twice"}


def test_words_of_the_mapping_are_folded_as_cells_are(tmp_path: Path) -> None:
    content = "录像(1),考官,1 呼救,cpr_02\nv1,Ｗａｎｇ,2,1\nv1,Li,1,2\nv2,Wang,0,2\nv2,Li,1,2\n"
    rows, problems = read(
        tmp_path / "a.csv",
        content,
        columns={"video_id": "录像（１）", "rater": "考官"},
        raters={"Wang": "rater_a", "Ｌｉ": "ｒａｔｅｒ＿ｂ"},
        steps={"１　呼救": "ｃｐｒ＿０１"},
    )
    assert (problems, points(rows)) == ([], EXPECTED)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("columns: {vido_id: x}\n", "'vido_id' is none of our columns"),
        ("raters: {Ａ: x, A: y}\n", "stands here twice"),
        ("rate: 0\n", "not a rate in frames per second"),
        ("raters: {A: ''}\n", "at least 1 character"),
    ],
)
def test_a_mapping_that_cannot_be_meant(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "m.yaml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(DataError, match=message):
        read_mapping(path)


def test_what_is_left_out_on_purpose_is_named(tmp_path: Path) -> None:
    content = "video_id,step_id,rater_a,rater_b,Remark,Empty\n" + "".join(f"{row},good,\n" for row in ROWS)
    rows, problems = read(tmp_path / "a.csv", content, ignore=["remark"])
    assert points(rows) == EXPECTED
    assert [(problem.severity, problem.what) for problem in problems] == [
        ("warning", "columns 'Empty' are not read (they are empty)."),
        ("warning", "left out on purpose: columns 'Remark'."),
    ]


# --- forms that people have

SIDE = "{id},cpr_01,,cpr_02,\n,{a},{b},{a},{b}\nv1,2,1,1,2\nv2,0,1,2,2\n"
BY_RATER = "{id},{a},,{b},\n,cpr_01,cpr_02,cpr_01,cpr_02\nv1,2,1,1,2\nv2,0,2,1,2\n"
RATER_COLUMN = "{id},step_id,rater,points\n" + "".join(
    f"{video},{step},{{{who}}},{value}\n"
    for video, step, *values in (row.split(",") for row in ROWS)
    for who, value in zip("ab", values, strict=True)
)


@pytest.mark.parametrize("names", [("rater_a", "rater_b"), ("王", "赵")])
@pytest.mark.parametrize("title", ["", "Exam of 3 March, ward 7\n\n"])
@pytest.mark.parametrize("form", [SIDE, BY_RATER, RATER_COLUMN])
def test_equivalent_forms_of_one_sheet_give_the_same_labels(
    tmp_path: Path, form: str, title: str, names: tuple[str, str]
) -> None:
    a, b = names
    raters = {"王": "rater_a", "赵": "rater_b"} if a == "王" else {}
    rows, problems = read(tmp_path / "a.csv", title + form.format(id="video_id", a=a, b=b), raters=raters)
    assert points(rows) == EXPECTED
    assert codes(problems) == set()
    assert codes(problems, "warning") == ({"title-left-out"} if title else set())


def test_a_title_with_commas_above_semicolons(tmp_path: Path) -> None:
    content = "Ward 7, 3 March, 2024\nvideo_id;step_id;rater_a;rater_b\n" + "\n".join(ROWS).replace(",", ";")
    rows, problems = read(tmp_path / "a.csv", content)
    assert points(rows) == EXPECTED
    assert [str(problem) for problem in problems] == [
        f"{tmp_path}/a.csv:1: what stands above the heading is not read: 'Ward 7, 3 March, 2024'. Nothing to do."
    ]


def per_physician(path: Path, first: str, second: str, long: bool = False, **more: list[list[Any]]) -> Path:
    sheets: dict[str, list[list[Any]]] = {}
    for who, title in enumerate((first, second)):
        if long:
            cells = [row.split(",") for row in ROWS]
            sheets[title] = [["video_id", "step_id", "score"], *([c[0], c[1], int(c[2 + who])] for c in cells)]
        else:
            videos = {video: [EXPECTED[video, step][who] for step in ("cpr_01", "cpr_02")] for video in ("v1", "v2")}
            sheets[title] = [["video_id", "cpr_01", "cpr_02"], *([video, *values] for video, values in videos.items())]
    return book(path, **sheets, **more)


@pytest.mark.parametrize("long", [False, True])
def test_one_sheet_per_physician(tmp_path: Path, long: bool) -> None:
    rows, problems = read_labels(per_physician(tmp_path / "a.xlsx", "Rater A", "rater_b", long), TINY)
    assert (problems, points(rows)) == ([], EXPECTED)
    path = per_physician(tmp_path / "b.xlsx", "王", "赵", long)
    rows, problems = read_labels(path, TINY, SheetMapping(raters={"王": "rater_a", "赵": "rater_b"}))
    assert (problems, points(rows)) == ([], EXPECTED)
    _, problems = read_labels(path, TINY)
    whose = [str(problem) for problem in problems if problem.code == "rater-missing"]
    assert len(whose) == 1 and "Write `raters: {王: rater_a, 赵: rater_b}` in the mapping file" in whose[0]
    _, problems = read_labels(path, TINY, SheetMapping(raters={"王": "rater_a", "赵": "rater_a"}))
    assert "two-sources" in codes(problems)


def test_a_sheet_that_is_not_read(tmp_path: Path) -> None:
    path = per_physician(tmp_path / "a.xlsx", "rater_a", "rater_b", notes=[["to do"], ["call Li"]])
    rows, problems = read_labels(path, TINY)
    assert points(rows) == EXPECTED
    assert [(problem.code, problem.severity) for problem in problems] == [("sheets-ignored", "error")]
    assert "`ignore: [notes]`" in problems[0].fix
    rows, problems = read_labels(path, TINY, SheetMapping(ignore=("notes",)))
    assert [(problem.code, problem.severity) for problem in problems] == [("sheet-left-out", "warning")]


def change(path: Path, how: Callable[[Any], Any]) -> Path:
    workbook = openpyxl.load_workbook(path)
    how(workbook.worksheets[0])
    workbook.save(path)
    return path


def test_merged_cells_hold_for_all_their_rows(tmp_path: Path) -> None:
    rows: list[list[Any]] = [["Exam", None, None, None]]
    rows += [["video_id", "rater", "cpr_01", "cpr_02"]]
    rows += [["v1", "rater_a", 2, 1], [None, "rater_b", 1, 2], ["v2", "rater_a", 0, 2], [None, "rater_b", 1, 2]]
    path = book(tmp_path / "a.xlsx", scores=rows)
    _, problems = read_labels(path, TINY)
    assert codes(problems) == {"id-missing"}

    def merge(sheet: Any) -> None:
        for place in ("A1:D1", "A3:A4", "A5:A6"):
            sheet.merge_cells(place)

    found, problems = read_labels(change(path, merge), TINY)
    assert points(found) == EXPECTED
    assert codes(problems) == set()
    assert problems[0].what == "what stands above the heading is not read: 'Exam'."
    _, problems = read_labels(change(path, lambda sheet: sheet.merge_cells("C3:C4")), TINY)
    assert codes(problems) == {"merged-points"}
    assert any("column 'cpr_01': a merged cell. Undo the merging" in str(problem) for problem in problems)


def test_merged_headings_hold_for_all_their_columns(tmp_path: Path) -> None:
    rows: list[list[Any]] = [
        ["video_id", "cpr_01", None, "cpr_02", None],
        [None, "A", "B", "A", "B"],
        ["v1", 2, 1, 1, 2],
    ]
    path = book(tmp_path / "a.xlsx", scores=[*rows, ["v2", 0, 1, 2, 2]])

    def merge(sheet: Any) -> None:
        for place in ("A1:A2", "B1:C1", "D1:E1"):
            sheet.merge_cells(place)

    found, problems = read_labels(change(path, merge), TINY, SheetMapping(raters={"A": "rater_a", "B": "rater_b"}))
    assert (problems, points(found)) == ([], EXPECTED)
    _, problems = read_labels(change(path, lambda sheet: sheet.delete_rows(2)), TINY)
    assert "heading-empty" in codes(problems)


def test_formulas_that_nobody_computed(tmp_path: Path) -> None:
    path = book(tmp_path / "a.xlsx", scores=[["video_id", "step_id", "rater_a"], ["v1", "cpr_01", "=1+1"]])
    _, problems = read_labels(path, TINY)
    assert [(p.code, "formulas without a result in C2." in p.what) for p in problems] == [("formula-empty", True)]


@pytest.mark.parametrize(
    ("cell", "rate", "seconds"),
    [
        ("0:04,5", None, 4.5),
        ("00:00:04:12", "25", 4 + 12 / 25),
        ("00:01:00:00", "30000/1001", 1800 * 1001 / 30000),
        ("01:00:00:29", "30", 3600 + 29 / 30),
    ],
)
def test_times_as_recorders_write_them(tmp_path: Path, cell: str, rate: str | None, seconds: float) -> None:
    content = f'video_id,step_id,start,end,consensus\nv1,cpr_01,0,"{cell}",1\n'
    rows, problems = read(tmp_path / "a.csv", content, rate=rate)
    assert problems == []
    assert rows[0].end == pytest.approx(seconds, abs=1e-12)

"""The workbook for physicians: made, filled in as they would, and built."""

import copy
from pathlib import Path
from typing import Any

import openpyxl
import pytest
import yaml

from siming_tasks.cli import main
from siming_tasks.common.errors import DataError
from siming_tasks.data import check_dataset
from siming_tasks.tools.builder import BuildOptions, build_dataset
from siming_tasks.tools.builder.template import rater_names, video_names
from siming_tasks.tools.builder.video_files import VideoFiles
from tests.data.conftest import RUBRIC, STEPS, write_video

NAMES = ["=1+1.mp4", "@SUM(1).mp4", "IMG 1.mp4", "心肺.mp4"]
"""Sorted as the template has them; the first two would be formulas."""


@pytest.fixture
def given(tmp_path: Path) -> tuple[Path, Path]:
    """A rubric with half points in one step and too many points for a list in another, and videos."""
    for seed, name in enumerate(NAMES):
        write_video(tmp_path / "videos" / name, seed=seed)
    rubric = copy.deepcopy(RUBRIC)
    rubric["skills"][0]["steps"][0] |= {"score_increment": 0.5, "name_zh": "环境"}
    rubric["skills"][0]["steps"][2]["max_score"] = 100
    (tmp_path / "rubric.yaml").write_text(yaml.safe_dump(rubric))
    return tmp_path / "rubric.yaml", tmp_path / "videos"


def made(given: tuple[Path, Path], out: Path, *flags: str) -> Any:
    assert main(["data", "template", str(out), "--rubric", str(given[0]), "--videos", str(given[1]), *flags]) == 0
    return openpyxl.load_workbook(out)


def test_workbook_has_a_column_for_every_step(given: tuple[Path, Path], tmp_path: Path) -> None:
    book = made(given, tmp_path / "t.xlsx")
    assert book.sheetnames == ["a", "b", "spans"]
    for sheet in book:
        assert sheet.protection.sheet and sheet.protection.password is None and sheet.freeze_panes == "C2"
        for cell in (each for row in sheet.iter_rows() for each in row):
            assert cell.protection.locked is (cell.row == 1 or cell.column <= 2), cell.coordinate
            assert cell.data_type != "f"
    sheet = book["b"]
    assert [cell.value for cell in sheet[1]] == ["video_id", "rater", "student", "site", *(step for step, _ in STEPS)]
    assert [cell.value for cell in sheet["B"]] == ["rater", *"bbbb"]
    assert [cell.value for cell in sheet["A"]] == ["video_id", "'=1+1", "'@SUM(1)", "IMG 1", "心肺"]
    note = sheet["E1"].comment.text
    assert note == "cpr_01 cpr_01 环境 (0 to 2)\nDoes it.\n\n2: all\nBetween: some\n0: none"
    rules = {str(rule.sqref): rule for rule in sheet.data_validations.dataValidation}
    assert {place: rule.formula1 for place, rule in rules.items()} == {
        "E2:E5": '"0,0.5,1,1.5,2,N/A"',
        "F2:F5": '"0,1,2,N/A"',
        "G2:G5": None,
        "H2:H5": '"0,1,2,3,N/A"',
    }
    assert all(rule.showErrorMessage and rule.showInputMessage for rule in rules.values())
    assert rules["E2:E5"].prompt == "2: all Between: some 0: none"
    spans = [[cell.value for cell in row] for row in book["spans"].iter_rows(max_col=2)]
    assert spans[:3] == [["video_id", "step_id"], ["'=1+1", "cpr_01"], ["'=1+1", "cpr_02"]] and len(spans) == 1 + 4 * 4
    assert book["spans"]["C2"].number_format == "@"
    of_one = made(given, tmp_path / "one.xlsx", "--raters", "Li", "--skill", "aed")
    assert [cell.value for cell in of_one["Li"][1]] == ["video_id", "rater", "student", "site", "aed_01"]


def test_filled_in_built_and_checked(given: tuple[Path, Path], tmp_path: Path) -> None:
    book = made(given, tmp_path / "t.xlsx")
    points = {"a": [[2, 1, 5, "N/A"]] * 4, "b": [[1.5, 1, 5, "N/A"], *[[2, 1, 5, "n/a"]] * 3]}
    for title, rows in points.items():
        for row, values in enumerate(rows, 2):
            for column, given_points in enumerate(values, 5):
                book[title].cell(row, column).value = given_points
    for row in range(2, 6):  # in one sheet alone
        book["a"].cell(row, 3).value, book["a"].cell(row, 4).value = f"0{row // 2}", "Ward 7"
    for row in range(2, 18):
        step = (row - 2) % 4
        if step != 3 and row != 3:  # nobody found that one
            book["spans"].cell(row, 3).value = f"{step * 0.5}"
            book["spans"].cell(row, 4).value = f"0:0{step // 2}.{(step * 5 + 4) % 10}"
    book.move_sheet("spans", -2)  # people sort sheets
    book.save(tmp_path / "filled.xlsx")
    built = build_dataset(
        tmp_path / "out", rubric=given[0], labels=tmp_path / "filled.xlsx", videos=given[1],
        options=BuildOptions(consensus="a", physicians=("a",), license="cc0-1.0"),
    )  # fmt: skip
    assert [problem for problem in built.warnings if problem.code != "video-unlabelled"] == []
    videos = built.dataset.videos
    assert [(video.extra["student"], video.site) for video in videos] == [
        (student, "Ward 7") for student in ("s001", "s001", "s002", "s002")
    ]
    assert [dict(step.scores) for step in videos[0].steps[:3]] == [
        {"rater_a": 2, "rater_b": 1.5, "consensus": 2},
        {"rater_a": 1, "rater_b": 1, "consensus": 1},
        {"rater_a": 5, "rater_b": 5, "consensus": 5},
    ]
    assert all(
        step.scores["rater_b"] == (2, 1, 5)[at] for video in videos[1:] for at, step in enumerate(video.steps[:3])
    )
    assert [step.span for step in videos[0].steps] == [(0.0, 0.4), None, (1.0, 1.4), None]
    assert [step.span for step in videos[3].steps] == [(0.0, 0.4), (0.5, 0.9), (1.0, 1.4), None]
    assert [video.step("aed_01").applicable for video in videos] == [False] * 4
    assert check_dataset(built.dataset.root).errors == ()


def test_names_that_sheets_and_cells_cannot_hold_are_refused(tmp_path: Path) -> None:
    assert rater_names(["李", " Wang Wei "]) == ("李", "Wang Wei")
    for raters, said in ((["Li", "ＬＩ"], "'Li' and 'ＬＩ': one name"), (["Li", "Dr. Li"], "one name"),
                         (["spans"], "or the name of another sheet"), (["Final"], "not a physician"),
                         (["a/b"], "cannot be the title of a sheet"), ([], "0 raters; 1 to 26")):  # fmt: skip
        with pytest.raises(DataError, match=said):
            rater_names(raters)
    for number, files in enumerate((["a.mov", "a.mp4"], ["x/a.mp4", "y/a.mp4"], [" a.mp4"], ["a\u202eb.mp4"])):
        for file in files:
            (tmp_path / str(number) / file).parent.mkdir(exist_ok=True, parents=True)
            (tmp_path / str(number) / file).touch()
        if number < 2:
            assert video_names(VideoFiles(tmp_path / str(number))) == tuple(files), "as long as it takes to be unique"
        else:
            with pytest.raises(DataError, match="its name does not survive a spreadsheet"):
                video_names(VideoFiles(tmp_path / str(number)))


def test_template_refuses_bad_arguments(
    given: tuple[Path, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "there.xlsx").touch()
    for words, code, said in (
        ("t.xlsx --raters 2", 2, "--raters 2: give names, such as a,b."),
        ("t.csv", 2, "t.csv: unknown extension '.csv'; give .xlsx for a workbook or .html for sheets to print."),
        ("there.xlsx", 1, "there.xlsx: already exists and may contain points."),
        ("t.xlsx --skill sewing", 1, "Skill 'sewing' is not in the rubric; it has cpr, aed."),
    ):
        command = ["data", "template", *f"{tmp_path}/{words} --rubric {given[0]} --videos {given[1]}".split()]
        assert main(command) == code and said in capsys.readouterr().err
    assert not (tmp_path / "t.xlsx").exists()

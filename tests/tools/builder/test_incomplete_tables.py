"""Tables that are not filled in, or only in part: each gap is told once, with its place and a way out that works."""

from pathlib import Path
from typing import Any

import openpyxl
import pytest

from siming_tasks.benchmark.rubrics import rubric_from
from siming_tasks.cli.main import main
from siming_tasks.common.errors import DataError, Problem
from siming_tasks.tools.builder import BuildOptions, build_dataset
from siming_tasks.tools.builder.build_plan import Inputs, make_plan
from siming_tasks.tools.builder.template import write_template
from tests.data.conftest import RUBRIC
from tests.tools.builder.conftest import NAMES


@pytest.fixture
def book(given: dict[str, Path], tmp_path: Path) -> Path:
    """The workbook of ``data template`` for Li and Wang, in which both give the first points of every step."""
    write_template(tmp_path / "sheet.xlsx", rubric_from(RUBRIC), given["videos"], ["Li", "Wang"])
    return tmp_path / "sheet.xlsx"


def filled(book: Path, skip: tuple[tuple[str, int | None, int | None], ...] = ()) -> None:
    """Give 1 point everywhere, but not in the cells (sheet, row, column) of ``skip``; None is all of them."""
    made = openpyxl.load_workbook(book)
    for name in ("Li", "Wang"):
        sheet = made[name]
        for row in range(2, sheet.max_row + 1):
            for column in range(5, sheet.max_column + 1):
                if not any(name == who and at in (None, row) and of in (None, column) for who, at, of in skip):
                    sheet.cell(row, column).value = 1
    made.save(book)


def errors(given: dict[str, Path], *labels: Path, **options: Any) -> list[Problem]:
    inputs = Inputs(given["rubric"], labels, given["videos"])
    problems = make_plan(inputs, BuildOptions(**options))[1]
    return [problem for problem in problems if problem.severity == "error"]


def test_a_template_without_points_is_said_to_be_one(
    given: dict[str, Path], book: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    said = f"warning [labels-withheld] {book} [Li]: no table gives points: the labels are withheld"
    words = ["data", "build", f"--rubric={given['rubric']}", f"--labels={book}", f"--videos={given['videos']}"]
    for more, count in ([], "3 videos, 0 scored steps, 0 raters"), ([str(tmp_path / "exams")], "3 videos, 12 steps, "):
        assert main([*words, *more]) == 0
        shown = capsys.readouterr()
        assert shown.err.count("labels-withheld") == 1 and said in shown.err and count in shown.out
    filled(book)
    assert main(words) == 0
    shown = capsys.readouterr()
    assert "labels-withheld" not in shown.err and "3 videos, 12 scored steps, 2 raters" in shown.out


@pytest.mark.parametrize("consensus", ["agree", "mean", "Li"])
def test_an_empty_sheet_of_a_physician_is_an_error_under_every_rule(
    given: dict[str, Path], book: Path, consensus: str
) -> None:
    filled(book, (("Wang", None, None),))
    assert [str(problem) for problem in errors(given, book, consensus=consensus)] == [
        f"{book} [Wang]:2: rater: 'Wang' has rows and gives no points. Fill them in, or delete the rows (or the sheet)."
    ]


@pytest.mark.parametrize(
    ("skip", "expected"),
    [
        ((("Li", 3, None),), ":3: video {1}: no points of Li for 4 steps that Wang scored."),
        ((("Li", None, 6),), ":2: step 'cpr_02': no points of Li for 3 steps that Wang scored."),
        ((("Li", 3, 6),), ":3: video {1}, step 'cpr_02': no points of Li for 1 step that Wang scored."),
    ],
)
def test_what_a_physician_left_out_is_said_once_at_their_own_row(
    given: dict[str, Path], book: Path, skip: tuple[tuple[str, int | None, int | None], ...], expected: str
) -> None:
    filled(book, skip)
    videos = [repr(row[0].value) for row in openpyxl.load_workbook(book)["Li"].iter_rows(2)]
    (problem,) = errors(given, book)
    assert str(problem) == f"{book} [Li]{expected.format(*videos)} Let Li score, or add rows of consensus."


def test_a_row_that_is_not_there_is_said_of_the_file_that_lacks_it(given: dict[str, Path], tmp_path: Path) -> None:
    head, *rows = given["labels"].read_text(encoding="utf-8-sig").splitlines()
    li, wang = tmp_path / "li.csv", tmp_path / "wang.csv"
    wang.write_text("\n".join([head, *(row for row in rows if ",rater_b," in row)]))
    li.write_text("\n".join([head, *(row for row in rows if ",rater_a," in row and NAMES[2] not in row)]))
    (problem,) = errors(given, wang, li)
    assert (problem.file, problem.line) == (str(li), None)
    assert problem.what == f"video {NAMES[2]!r}: no points of rater_a for 4 steps that rater_b scored."


def test_the_only_rater_can_be_made_the_reference(given: dict[str, Path], book: Path, tmp_path: Path) -> None:
    filled(book, (("Wang", None, None),))
    made = openpyxl.load_workbook(book)
    del made["Wang"]
    made.save(book)
    (problem,) = errors(given, book)
    assert problem.what == "only 'Li' gives points, in 12 steps without a consensus."
    assert (
        "With --consensus 'Li', this rater is the reference" in problem.fix
        and errors(given, book, consensus="Li") == []
    )


def test_what_a_reference_left_out_is_not_taken_from_the_other_rater(given: dict[str, Path], book: Path) -> None:
    filled(book, (("Li", 3, None),))
    (problem,) = errors(given, book, consensus="Li")
    assert problem.what == "only 'Wang' gives points, in 4 steps without a consensus."
    assert problem.fix == "Add the points of a second physician, or rows of consensus."


def test_what_nobody_scored_is_said_once(given: dict[str, Path], book: Path) -> None:
    filled(book, (("Li", 3, None), ("Wang", 3, None), ("Li", 4, 6), ("Wang", 4, 6)))
    videos = [repr(row[0].value) for row in openpyxl.load_workbook(book)["Li"].iter_rows(2)]
    fix = "Fill in points, or N/A if the step does not apply."
    assert list(map(str, errors(given, book))) == [
        f"{book} [Li]:3: video {videos[1]}: no rater gave points (4 steps). {fix}",
        f"{book} [Li]:4: video {videos[2]}, step 'cpr_02': no rater gave points (1 step). {fix}",
    ]


def test_a_rule_that_takes_a_rater_and_a_table_of_decisions_are_two_references(
    given: dict[str, Path], book: Path, tmp_path: Path
) -> None:
    filled(book)
    decided = tmp_path / "decided.csv"
    decided.write_text(f"video_id,step_id,rater,points\n{NAMES[1]},cpr_01,consensus,0\n", encoding="utf-8")
    assert errors(given, book, decided) == []
    (problem,) = errors(given, book, decided, consensus="Wang")
    assert str(problem) == (
        f"{decided}:2: rater: a consensus is given here, and --consensus 'Wang' takes the points of 'Wang' for it. "
        "Leave out --consensus; or add --physician 'Wang': their points then decide only the other steps."
    )
    assert errors(given, book, decided, consensus="Wang", physicians=("Wang",)) == []


def test_a_mean_is_not_offered_where_raters_differ(given: dict[str, Path], book: Path, tmp_path: Path) -> None:
    """A mean of whole points is often none that the step can be given."""
    filled(book)
    made = openpyxl.load_workbook(book)
    made["Li"]["E2"] = 0
    made.save(book)
    with pytest.raises(DataError, match="the raters differ") as caught:
        build_dataset(tmp_path / "exams", rubric=given["rubric"], labels=book, videos=given["videos"])
    assert "--consensus" not in str(caught.value)


def test_swapped_columns_are_told_by_the_videos_that_are_missing(given: dict[str, Path], book: Path) -> None:
    """Two students of one rater, taken for a video, are no cause."""
    filled(book)
    made = openpyxl.load_workbook(book)
    sheet = made["Li"]
    for row in range(2, 5):
        sheet.cell(row, 1).value, sheet.cell(row, 2).value = sheet.cell(row, 2).value, sheet.cell(row, 1).value
        sheet.cell(row, 3).value = f"T{row}"
    made.save(book)
    found = errors(given, book)
    assert found[0].what == f"video 'Li': no such file in {given['videos']}."
    assert "consensus-missing" not in {problem.code for problem in found}


def test_a_name_in_other_capitals_and_with_its_suffix_is_asked_about(given: dict[str, Path], book: Path) -> None:
    filled(book)
    made = openpyxl.load_workbook(book)
    sheet = made["Li"]
    row = next(row[0] for row in sheet.iter_rows(2) if row[0].value == "exam 003")
    row.value = "EXAM 003.MKV"
    made.save(book)
    (problem,) = errors(given, book)
    assert problem.fix == "Is it 'exam 003.mkv'?"
    row.value = "exam 3"
    made.save(book)
    (problem,) = errors(given, book)
    assert problem.fix.startswith("Is it 'exam 003.mkv'? A spreadsheet drops zeros")


def test_a_student_in_two_spellings_is_one_finding(given: dict[str, Path], book: Path) -> None:
    """However many steps the rows have: a pair of spellings once, and another student of the video once."""
    filled(book)
    made = openpyxl.load_workbook(book)
    made["Li"]["C2"], made["Wang"]["C2"] = "A1", "A01"
    made["Li"]["C3"], made["Wang"]["C3"] = "B1", "B2"
    made.save(book)
    found = [(problem.code, problem.file, problem.line) for problem in errors(given, book)]
    assert found == [("name-differs", f"{book} [Wang]", 2), ("video-differs", f"{book} [Wang]", 3)]
    assert "more row" not in errors(given, book)[0].what


def test_no_kind_of_finding_hides_another(given: dict[str, Path], book: Path) -> None:
    """Of 24 wrong times and one wrong video, both are among the twenty lines that are printed."""
    filled(book)
    made = openpyxl.load_workbook(book)
    for row in range(2, 14):
        for column in "CD":
            made["spans"][f"{column}{row}"] = "soon"
    made["Wang"]["A2"] = "other"
    made.save(book)
    with pytest.raises(DataError) as caught:
        build_dataset(book.with_name("exams"), rubric=given["rubric"], labels=book, videos=given["videos"])
    lines = str(caught.value).splitlines()
    assert "video 'other': no such file" in lines[0] and sum("'soon' is not a time" in line for line in lines) == 19
    assert lines[-1] == "... and 5 more." and len(caught.value.problems) == 25


def test_rows_that_are_hidden_are_one_finding_and_a_sheet_of_notes_may_go(given: dict[str, Path], book: Path) -> None:
    filled(book)
    made = openpyxl.load_workbook(book)
    for row in (3, 4):
        made["Li"].row_dimensions[row].hidden = True
    made.create_sheet("Notes").append(["Please ignore", "x"])
    made.save(book)
    hidden, notes = errors(given, book)
    assert str(hidden).startswith(f"{book} [Li]:3: ") and "is in a hidden row (and 1 more row). Show it" in str(hidden)
    assert notes.file == f"{book} [Notes]"
    assert notes.fix.startswith("Delete the sheet if it is not a table of labels, or move it to another file.")

"""Every file that comes from outside is opened if it is a regular file, and read up to a limit."""

from __future__ import annotations

import os
import socket
import stat
import time
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest
from openpyxl import Workbook

from siming_tasks.common.errors import DataError, Problem, SimingError
from siming_tasks.common.files import check_file_name, make_private, open_regular, read_bytes, read_yaml, sha256_file
from siming_tasks.data import open_dataset
from siming_tasks.data.jsonl import read_jsonl
from siming_tasks.data.withholding import with_labels
from siming_tasks.results.discovery import run_at
from siming_tasks.results.read_predictions import load_predictions
from siming_tasks.rubrics import load_rubric
from siming_tasks.tools.builder.label_tables import read_grids

SPECIAL: dict[str, tuple[Callable[[Path], object], str]] = {
    "pipe": (os.mkfifo, "a pipe, and only regular files are read"),
    "zero": (lambda path: path.symlink_to("/dev/zero"), "a device, and only regular files are read"),
    "folder": (lambda path: path.mkdir(), "a folder, and only regular files are read"),
}


READERS: dict[str, Callable[[Path], object]] = {
    "x.yaml": read_yaml,
    "rubric.yaml": load_rubric,
    "sheet.csv": read_grids,
    "sheet.xlsx": read_grids,
}


@pytest.mark.parametrize("kind", SPECIAL)
@pytest.mark.parametrize("name", READERS)
def test_no_reader_opens_a_special_file(tmp_path: Path, kind: str, name: str) -> None:
    SPECIAL[kind][0](tmp_path / name)
    words = SPECIAL[kind][1]
    with pytest.raises(SimingError, match=f"{name}: {words}"):
        READERS[name](tmp_path / name)


@pytest.mark.parametrize("kind", SPECIAL)
def test_runs_and_label_files_that_are_special_files_are_refused(short_demo: Path, tmp_path: Path, kind: str) -> None:
    make, message = SPECIAL[kind]
    dataset = open_dataset(short_demo)
    make(tmp_path / "key.json")
    with pytest.raises(DataError, match=f"key.json: {message}"):
        with_labels(dataset, tmp_path / "key.json")
    (tmp_path / "run").mkdir()
    make(tmp_path / "run" / "x_results.json")
    with pytest.raises(DataError, match=f"x_results.json: {message}"):
        run_at(tmp_path / "run")
    (tmp_path / "answers").mkdir()
    make(tmp_path / "answers" / "p.jsonl")
    (problem,) = load_predictions(tmp_path / "answers", dataset).problems
    assert problem.code == "predictions-unreadable" and message in str(problem)


def test_sockets_are_refused_and_plain_files_read(tmp_path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(tmp_path / "s"))
        with pytest.raises(OSError), open_regular(tmp_path / "s"):
            pass
    (tmp_path / "f").write_bytes(b"abc")
    (tmp_path / "l").symlink_to("f")
    assert read_bytes(tmp_path / "l", 3) == b"abc"
    assert sha256_file(tmp_path / "f") == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"  # FIPS 180
    with pytest.raises(DataError, match=r"f: 3 bytes; at most 2 are read here\. Is it the right file\?"):
        read_bytes(tmp_path / "f", 2)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("n: " + "9" * 3_900_000, ":1: not valid YAML: a number of 3,900,000 characters; at most 100 are read"),
        ("n: 1." + "1" * 5_000, ":1: not valid YAML: a number of 5,002 characters"),
        ("d: 2020-13-45", ":1: not valid YAML: '2020-13-45' is no value of its kind"),
        ("a: 1\nb: !!int ''", ":2: not valid YAML"),
        ("b: !!python/object/apply:os.system [true]", ":1: not valid YAML"),
        ("[" * 5_000, ":1: not valid YAML"),
        ("? {a: [1]}\n: 2", ":1: not valid YAML"),
        ("a: \x00", ":1: not valid YAML"),
    ],
)
def test_a_yaml_value_that_cannot_be_is_named_by_its_line(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "x.yaml").write_text(text)
    start = time.monotonic()
    with pytest.raises(DataError) as caught:
        read_yaml(tmp_path / "x.yaml")
    assert f"x.yaml{message}" in str(caught.value).replace("x.yaml: not", "x.yaml:1: not")
    assert len(str(caught.value)) < 500 and time.monotonic() - start < 20


@pytest.mark.parametrize("number", ["9" * 5_000, "-" + "9" * 3_900_000, "9" * 21, "1e999", "-1e999"])
def test_a_json_number_beyond_reason_is_a_problem(tmp_path: Path, number: str) -> None:
    (tmp_path / "x.jsonl").write_text(f'{{"n": {number}}}\n{{"n": 1}}\n')
    (_, bad), (_, good) = read_jsonl(tmp_path / "x.jsonl")
    assert isinstance(bad, Problem) and len(str(bad)) < 200 and good == {"n": 1}


def test_a_file_of_errors_is_left_after_a_thousand(short_demo: Path, tmp_path: Path) -> None:
    (tmp_path / "p.jsonl").write_text("{}\n" * 50_000)
    problems = load_predictions(tmp_path / "p.jsonl", open_dataset(short_demo)).problems
    assert len(problems) == 1_001 and "1,000 errors; the rest of the file was not read" in str(problems[-1])


TASKS = '"configs": {"siming_full_score": {}}'
RESULTS = (
    *("[]", "{}", '{"config": []}', '{"configs": [1]}', '{"configs": {"siming_full_score": 5}}', "[" * 100_000),
    *(f'{{"config": {{"limit": "x"}}, {TASKS}}}', f'{{"config": {{"offset": 1e999}}, {TASKS}}}', "\ud800"),
    *('{"total_evaluation_time_seconds": "soon"}', '{"config": ' + '{"a":' * 900 + "1" + "}" * 901),
)


@pytest.mark.parametrize("results", RESULTS)
def test_a_results_file_of_any_shape_is_read_or_refused_by_name(tmp_path: Path, results: str) -> None:
    (tmp_path / "x_results.json").write_bytes(results.encode("utf-8", "surrogatepass"))
    (tmp_path / "x_samples_siming_full_score.jsonl").write_text("{}\n")
    try:
        run_at(tmp_path)
    except DataError as error:
        assert "x_results.json: not a results file of lmms-eval" in str(error)


def sheet(path: Path, rows: str) -> Path:
    """A workbook whose first sheet holds these rows and claims to be as large as a sheet can be."""
    Workbook().save(path.with_suffix(".tmp.xlsx"))
    name = "xl/worksheets/sheet1.xml"
    space = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
    head = f'<worksheet xmlns="{space}"><dimension ref="A1:XFD1048576"/>'
    with zipfile.ZipFile(path.with_suffix(".tmp.xlsx")) as old, zipfile.ZipFile(path, "w") as new:
        for item in old.namelist():
            new.writestr(item, f"{head}<sheetData>{rows}</sheetData></worksheet>" if item == name else old.read(item))
    return path


CELL = '<c r="{0}" t="inlineStr"><is><t>{1}</t></is></c>'
HEADING = f'<row r="1">{CELL.format("A1", "video_id")}{CELL.format("B1", "step_id")}</row>'


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        (
            '<row r="99999999999"><c r="A1"><v>1</v></c></row>',
            "no row below the headings",
        ),
        ('<row r="2"><c r="XFD2"><v>1</v></c></row>', "x.xlsx:2: at most 1,000,000 rows and 2,000 columns"),
        ('<row r="2"><c r="A2"><v>1</v>', "not a readable .xlsx file"),
        ('<row r="2"><c r="A2" t="s"><v>9</v></c></row>', "not a readable .xlsx file"),
        ('<row r="x"><c r="?"><v>1</v></c></row>', "not a readable .xlsx file"),
    ],
)
def test_a_small_workbook_that_means_a_huge_one(tmp_path: Path, rows: str, message: str) -> None:
    start = time.monotonic()
    with pytest.raises(DataError) as caught:
        read_grids(sheet(tmp_path / "x.xlsx", HEADING + rows))
    assert message in str(caught.value) and time.monotonic() - start < 60


def test_the_claimed_size_of_a_sheet_is_not_believed(tmp_path: Path) -> None:
    rows = HEADING + f'<row r="2">{CELL.format("A2", "v1")}{CELL.format("B2", "cpr_01")}</row>'
    (grid,) = read_grids(sheet(tmp_path / "x.xlsx", rows))
    assert grid.rows == [(1, ["video_id", "step_id"]), (2, ["v1", "cpr_01"])]


def test_names_that_some_system_takes_for_something_else_are_refused() -> None:
    for name in ("index", "INDEX", "CON", "nul.txt", "com1", "LPT9.mp4", "a.", "aux.x.y"):
        with pytest.raises(ValueError, match="choose another"):
            check_file_name(name)
    for name in ("index-1", "console", "nulla", "a.b", "com", "com10", "exam_007"):
        assert check_file_name(name) == name


def test_a_private_folder_is_its_owners_only_where_it_is_new(tmp_path: Path) -> None:
    make_private(tmp_path / "above" / "frames")
    assert stat.S_IMODE((tmp_path / "above" / "frames").stat().st_mode) == 0o700
    (tmp_path / "shared").mkdir()
    (tmp_path / "shared").chmod(0o770)
    make_private(tmp_path / "shared")
    assert stat.S_IMODE((tmp_path / "shared").stat().st_mode) == 0o770

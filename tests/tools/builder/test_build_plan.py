"""What a build is told beside the score sheet: file names, spans, adjudicated rows; and paths that lead nowhere."""

from __future__ import annotations

import os
import time
import unicodedata
import zipfile
from pathlib import Path
from typing import Any

import openpyxl
import pytest
import yaml

from siming_tasks.cli import main
from siming_tasks.common.errors import DataError, Problem
from siming_tasks.rubrics import rubric_from
from siming_tasks.tools.builder import BuildOptions
from siming_tasks.tools.builder.build_plan import BuildPlan, Inputs, make_plan
from siming_tasks.tools.builder.read_sheets import read_labels
from siming_tasks.tools.builder.video_files import VideoFiles
from tests.data.conftest import RUBRIC, write_video

TINY = rubric_from(RUBRIC)


@pytest.fixture
def given(tmp_path: Path) -> Inputs:
    """Two videos and a wide sheet of two physicians."""
    for number, name in enumerate(("IMG_1.mp4", "IMG_2.mp4")):
        write_video(tmp_path / "videos" / name, seed=number)
    (tmp_path / "rubric.yaml").write_text(yaml.safe_dump(RUBRIC))
    rows = "".join(f"IMG_{video},rater_{rater},2,1\n" for video in (1, 2) for rater in "ab")
    (tmp_path / "labels.csv").write_text(f"video_id,rater,cpr_01,cpr_02\n{rows}")
    return Inputs(tmp_path / "rubric.yaml", tmp_path / "labels.csv", tmp_path / "videos")


def plan(given: Inputs, **more: Any) -> tuple[BuildPlan, list[Problem]]:
    return make_plan(Inputs(**{**vars(given), **more}), BuildOptions())


def errors(problems: list[Problem]) -> list[str]:
    return [str(problem) for problem in problems if problem.severity == "error"]


def write(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8")
    return path


# --- names


@pytest.mark.parametrize(
    ("files", "name", "found"),
    [
        (["Fall².mp4", "Fall2.mp4"], "Fall²", ["Fall².mp4"]),
        (["Fall².mp4", "Fall2.mp4"], "Fall2", ["Fall2.mp4"]),
        (["Fall2.mp4"], "Fall²", []),
        ([unicodedata.normalize("NFD", "Müller.mp4")], "Müller", [unicodedata.normalize("NFD", "Müller.mp4")]),
        (["Müller.mp4"], unicodedata.normalize("NFD", "Müller"), ["Müller.mp4"]),
        (["考试（1）.mp4"], "考试（1）", ["考试（1）.mp4"]),
        (["考试（1）.mp4"], "考试(1)", ["考试（1）.mp4"]),
        (["考试(1).mp4"], "考试（１）.mp4", ["考试(1).mp4"]),
        (["考试（1）.mp4", "考试(1).mp4"], "考试(1)", ["考试(1).mp4"]),
        (["考试（1）.mp4", "考试(1).mp4"], "考试（１）", ["考试(1).mp4", "考试（1）.mp4"]),
    ],
)
def test_a_name_means_the_file_of_that_name(tmp_path: Path, files: list[str], name: str, found: list[str]) -> None:
    for file in files:
        (tmp_path / file).touch()
    assert [path.name for path in VideoFiles(tmp_path).find(name)] == found


def test_names_of_files_that_are_much_alike(given: Inputs, tmp_path: Path) -> None:
    for seed, name in enumerate(("Fall2.mp4", "考试（1）.mp4", "考试(1).mp4")):
        write_video(tmp_path / "videos" / name, seed=seed + 5)
    rows = "Fall²,2,1\n考试（1）,2,1\n考试(1),1,1\n"
    _, problems = plan(given, labels=write(tmp_path / "a.csv", f"video_id,cpr_01,cpr_02\n{rows}"))
    assert errors(problems) == [
        f"{tmp_path}/a.csv:2: video_id: video 'Fall²': no such file in {tmp_path}/videos. Similar: 'Fall2.mp4'. "
        "Write the file's name (with or without suffix), or put the file there."
    ]
    built, problems = plan(given, labels=write(tmp_path / "a.csv", f"video_id,cpr_01,cpr_02\n{rows[10:]}"))
    assert errors(problems) == []
    assert {name: source.path.name for name, source in built.sources.items()} == {
        "考试（1）": "考试（1）.mp4",
        "考试(1)": "考试(1).mp4",
    }
    _, problems = plan(given, labels=write(tmp_path / "a.csv", "video_id,cpr_01\n考试（１）,2\n"))
    assert "could be 考试(1).mp4 or 考试（1）.mp4." in errors(problems)[0]


def test_two_spellings_of_one_video_in_a_sheet(given: Inputs, tmp_path: Path) -> None:
    rows = "IMG_1,rater_a,2,1\nＩＭＧ_1,rater_b,2,1\n"
    built, problems = plan(given, labels=write(tmp_path / "a.csv", f"video_id,rater,cpr_01,cpr_02\n{rows}"))
    assert errors(problems) == []
    assert [(row.video, dict(row.scores)) for row in built.rows] == [
        ("IMG_1", {"rater_a": 2.0, "rater_b": 2.0}),
        ("IMG_1", {"rater_a": 1.0, "rater_b": 1.0}),
    ]


def test_ids_that_cannot_be_kept_are_said_before_any_work(given: Inputs, tmp_path: Path) -> None:
    write_video(tmp_path / "videos/李 四.mp4")
    sheet = write(tmp_path / "a.csv", "video_id,cpr_01\n李 四,2\nIMG_1,2\n")
    _, problems = make_plan(Inputs(given.rubric, sheet, given.videos), BuildOptions(keep_ids=True))
    assert [problem.code for problem in problems if problem.severity == "error"] == ["id-not-kept"]
    assert "video '李 四' cannot be kept as an id" in errors(problems)[0]


# --- spans and adjudicated rows


def spans(*rows: str, head: str = "video_id,step_id,start,end") -> str:
    return "\n".join((head, *rows)) + "\n"


@pytest.mark.parametrize("name", ["IMG_1", "IMG_1.mp4", "ＩＭＧ_1.mp4"])
def test_spans_find_their_video(given: Inputs, tmp_path: Path, name: str) -> None:
    built, problems = plan(given, spans=write(tmp_path / "s.csv", spans(f"{name},cpr_01,0,1", f"{name},cpr_02,1,2")))
    assert errors(problems) == []
    assert [(row.video, row.start, row.end) for row in built.rows] == [
        *(("IMG_1", 0.0, 1.0), ("IMG_1", 1.0, 2.0), ("IMG_2", None, None), ("IMG_2", None, None)),
    ]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (spans("IMG_9,cpr_01,0,1"), "video 'IMG_9', step 'cpr_01': the score sheet has no such video."),
        (spans("IMG_1,cpr_03,0,1"), "video 'IMG_1', step 'cpr_03': the score sheet has no such row."),
        (spans("IMG_1,cpr_01,0,1", "IMG_1.mp4,cpr_01,0,2"), ":3: video 'IMG_1', step 'cpr_01': stands on line 2"),
        (spans("IMG_1,cpr_01,0,1,x", head="video_id,step_id,start,end,remark"), "columns 'remark' are not read."),
    ],
)
def test_spans_that_match_nothing(given: Inputs, tmp_path: Path, text: str, message: str) -> None:
    _, problems = plan(given, spans=write(tmp_path / "s.csv", text))
    assert any(message in text for text in errors(problems)), errors(problems)


def test_spans_with_other_headings(given: Inputs, tmp_path: Path) -> None:
    sheet = write(tmp_path / "s.csv", spans("IMG_1,cpr_01,0,1", head="video_id,step_id,from,to"))
    with pytest.raises(DataError, match=r"a sheet of spans has the columns video_id, step_id, start and end. Found"):
        plan(given, spans=sheet)
    words = write(tmp_path / "m.yaml", "columns: {start: from, end: to}\n")
    built, problems = plan(given, spans=sheet, mapping=words)
    assert errors(problems) == []
    assert (built.rows[0].start, built.rows[0].end) == (0.0, 1.0)


def test_spans_that_the_score_sheet_contradicts(given: Inputs, tmp_path: Path) -> None:
    labels = write(tmp_path / "a.csv", "video_id,step_id,start,end,consensus\nIMG_1,cpr_01,0,1,2\n")
    _, problems = plan(given, labels=labels, spans=write(tmp_path / "s.csv", spans("IMG_1,cpr_01,0,1.5")))
    assert [problem.code for problem in problems if problem.severity == "error"] == ["span-differs"]
    assert "end is 1.5 s here and 1 s in the score sheet (line 2)." in errors(problems)[0]


def test_adjudicated_rows_change_no_physician(given: Inputs, tmp_path: Path) -> None:
    head = "line,video_id,step_id,rater_a,rater_b,consensus"
    sheet = write(tmp_path / "adj.csv", f"{head}\n2,IMG_1,cpr_01,2,1,1\n")
    _, problems = plan(given, adjudicated=sheet)
    assert [problem.code for problem in problems if problem.severity == "error"] == ["two-sources"]
    assert "rater_b has 1 points here and 2 in the score sheet." in errors(problems)[0]
    built, problems = plan(given, adjudicated=write(sheet, f"{head}\n2,IMG_1,cpr_01,2,2,1\n"))
    assert (errors(problems), built.rows[0].scores["consensus"]) == ([], 1.0)


def test_an_entry_of_the_mapping_may_meet_any_of_the_sheets(given: Inputs, tmp_path: Path) -> None:
    words = write(tmp_path / "m.yaml", "columns: {start: from, site: ward}\n")
    sheet = write(tmp_path / "s.csv", spans("IMG_1,cpr_01,0,1", head="video_id,step_id,from,end"))
    _, problems = plan(given, spans=sheet, mapping=words)
    assert [problem.what for problem in problems if problem.code == "mapping-unmatched"] == [
        f"`columns: {{site: ward}}` meets nothing in {tmp_path}/labels.csv or {tmp_path}/s.csv."
    ]


def test_the_faults_of_all_files_in_one_run(given: Inputs, tmp_path: Path) -> None:
    with pytest.raises(DataError) as caught:
        plan(
            given,
            labels=write(tmp_path / "a.csv", "video_id,step_id,consensus,remark\nIMG_1,cpr_01,99,x\n"),
            spans=write(tmp_path / "s.csv", "a,b\n1,2\n"),
            mapping=write(tmp_path / "m.yaml", "colums: {}\n"),
            videos=tmp_path / "nowhere",
        )
    text = str(caught.value)
    for part in ("colums: Extra inputs", "nowhere: no such folder", "a sheet of spans has", "'remark'", "99 is off"):
        assert part in text, part


# --- dead ends


def build(given: Inputs, out: Path | str, **more: Path) -> int:
    paths = {"rubric": given.rubric, "labels": given.labels, "videos": given.videos, **more}
    return main(
        ["data", "build", str(out), *(part for name, path in paths.items() for part in (f"--{name}", str(path)))]
    )


@pytest.mark.parametrize("flag", ["rubric", "labels", "spans", "adjudicated", "columns"])
@pytest.mark.parametrize("kind", ["folder", "fifo", "loop", "nothing"])
def test_a_path_that_is_no_file(
    given: Inputs, tmp_path: Path, flag: str, kind: str, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "odd.csv"
    if kind == "folder":
        path.mkdir()
    elif kind == "fifo":
        os.mkfifo(path)
    elif kind == "loop":
        path.symlink_to(path)
    assert build(given, tmp_path / "out", **{flag: path}) == 1
    said = capsys.readouterr().err
    words = {"folder": "a folder", "fifo": "a pipe", "loop": "symbolic links", "nothing": "no such file"}
    assert words[kind] in said.lower() and str(path) in said


@pytest.mark.parametrize(
    ("out", "message"),
    [
        ("file", "is a file; name a folder"),
        ("file/below", "is no folder. Choose another place."),
        ("/proc/exams", "cannot be "),
        ("loop/exams", "cannot be used: Too many levels of symbolic links"),
        ("/", "exists and is not the data set of these inputs"),
        (".", "exists and is not the data set of these inputs"),
        ("x" * 300, "cannot be used: File name too long"),
    ],
)
def test_a_place_that_cannot_be_written(
    given: Inputs,
    tmp_path: Path,
    out: str,
    message: str,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    (tmp_path / "file").write_text("precious")
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    monkeypatch.chdir(tmp_path)
    assert build(given, out) in (1, 2)
    assert message in capsys.readouterr().err
    assert (tmp_path / "file").read_text() == "precious"


def test_warnings_are_printed_beside_errors(given: Inputs, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write(given.labels, "Exam of March\nvideo_id,cpr_01\nIMG_1,9\n")
    assert build(given, tmp_path / "out") == 1
    said = capsys.readouterr().err
    assert "warning [title-left-out]" in said and "warning [video-unlabelled]" in said and "9 is off the step" in said


def corner(path: Path, place: str, value: Any = "x") -> Path:
    book = openpyxl.Workbook()
    for row in (["video_id", "step_id", "consensus"], ["v1", "cpr_01", 2]):
        book.active.append(row)
    book.active[place] = value
    book.save(path)
    return path


def test_one_cell_in_the_last_corner(tmp_path: Path) -> None:
    start = time.perf_counter()
    with pytest.raises(DataError, match=r"a\.xlsx \[Sheet\]:1048576: at most 2,000,000 rows and 2,000 columns"):
        read_labels(corner(tmp_path / "a.xlsx", "XFD1048576"), TINY)
    assert time.perf_counter() - start < 20  # it took more than four minutes


def rewritten(path: Path, member: str, how: Any) -> None:
    with zipfile.ZipFile(path) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    with zipfile.ZipFile(path, "w") as archive:
        for name, data in parts.items():
            archive.writestr(name, how(data) if name == member else data)


def test_a_workbook_that_states_a_wrong_size_is_read_whole(tmp_path: Path) -> None:
    path = corner(tmp_path / "a.xlsx", "C2", 1)
    right, wrong = b'<dimension ref="A1:C2"', b'<dimension ref="A1"'
    rewritten(path, "xl/worksheets/sheet1.xml", lambda xml: xml.replace(right, wrong) if right in xml else b"")
    rows, problems = read_labels(path, TINY)
    assert ([dict(row.scores) for row in rows], problems) == ([{"consensus": 1.0}], [])


@pytest.mark.parametrize("keep", [0.3, 0.6, 0.9, 0.99])
def test_a_truncated_workbook_is_refused(tmp_path: Path, keep: float) -> None:
    path = corner(tmp_path / "a.xlsx", "D9")
    data = path.read_bytes()
    path.write_bytes(data[: int(len(data) * keep)])
    with pytest.raises(DataError, match=r"not a readable .xlsx file"):
        read_labels(path, TINY)


@pytest.mark.parametrize(
    "how", [lambda xml: xml[:-40], lambda xml: b"", lambda xml: xml.replace(b'r="A2"', b'r="?"'), lambda xml: b"<a/>"]
)
def test_a_workbook_with_a_broken_sheet_is_refused(tmp_path: Path, how: Any) -> None:
    path = corner(tmp_path / "a.xlsx", "D9")
    rewritten(path, "xl/worksheets/sheet1.xml", how)
    with pytest.raises(DataError, match=r"not a readable .xlsx file|no row below the heading"):
        read_labels(path, TINY)


def test_every_byte_of_a_workbook_may_be_wrong(tmp_path: Path) -> None:
    path = corner(tmp_path / "a.xlsx", "D9")
    data, whole = path.read_bytes(), read_labels(path, TINY)
    places = range(0, len(data), 97)
    refused = 0
    for at in places:
        path.write_bytes(data[:at] + bytes([data[at] ^ 0x55]) + data[at + 1 :])
        try:
            found = read_labels(path, TINY)
        except DataError as error:
            assert str(path) in str(error)
            refused += 1
        else:
            assert found == whole, at
    assert refused > len(places) / 2


def test_a_workbook_of_charts_only_is_refused(tmp_path: Path) -> None:
    book = openpyxl.Workbook()
    book.remove(book.active)
    book.create_chartsheet("plot")
    book.save(tmp_path / "a.xlsx")
    with pytest.raises(DataError, match="holds charts only, no sheet of cells"):
        read_labels(tmp_path / "a.xlsx", TINY)


def test_a_protected_workbook_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a.xlsx").write_bytes(b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(600))
    with pytest.raises(DataError, match=r"an old .xls file or protected by a password"):
        read_labels(tmp_path / "a.xlsx", TINY)

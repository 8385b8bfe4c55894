"""What a build is told beside the points: file names, times, decisions."""

from __future__ import annotations

import unicodedata
from pathlib import Path
from typing import Any

import pytest
import yaml

from siming_tasks.common.errors import DataError, Problem
from siming_tasks.tools.builder import BuildOptions
from siming_tasks.tools.builder.build_plan import BuildPlan, Inputs, make_plan
from siming_tasks.tools.builder.video_files import VideoFiles
from tests.data.conftest import RUBRIC, write_video


@pytest.fixture
def given(tmp_path: Path) -> Inputs:
    """Two videos and a wide sheet of two physicians."""
    for number, name in enumerate(("IMG_1.mp4", "IMG_2.mp4")):
        write_video(tmp_path / "videos" / name, seed=number)
    (tmp_path / "rubric.yaml").write_text(yaml.safe_dump(RUBRIC))
    rows = "".join(f"IMG_{video},rater_{rater},2,1\n" for video in (1, 2) for rater in "ab")
    (tmp_path / "labels.csv").write_text(f"video_id,rater,cpr_01,cpr_02\n{rows}")
    return Inputs(tmp_path / "rubric.yaml", [tmp_path / "labels.csv"], tmp_path / "videos")


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
    rows = "Fall²,consensus,2,1\n考试（1）,consensus,2,1\n考试(1),consensus,1,1\n"
    _, problems = plan(given, labels=[write(tmp_path / "a.csv", f"video_id,rater,cpr_01,cpr_02\n{rows}")])
    assert errors(problems) == [
        f"{tmp_path}/a.csv:2: video_id: video 'Fall²': no such file in {tmp_path}/videos. Similar: 'Fall2.mp4'. "
        "Write the file's name (with or without suffix), or put the file there."
    ]
    built, problems = plan(given, labels=[write(tmp_path / "a.csv", f"video_id,rater,cpr_01,cpr_02\n{rows[20:]}")])
    assert errors(problems) == []
    assert {name: source.path.name for name, source in built.sources.items()} == {
        "考试（1）": "考试（1）.mp4",
        "考试(1)": "考试(1).mp4",
    }
    _, problems = plan(given, labels=[write(tmp_path / "a.csv", "video_id,rater,cpr_01\n考试（１）,consensus,2\n")])
    assert "could be 考试(1).mp4 or 考试（1）.mp4." in errors(problems)[0]


def test_two_spellings_of_one_video_in_a_sheet(given: Inputs, tmp_path: Path) -> None:
    rows = "IMG_1,rater_a,2,1\nＩＭＧ_1,rater_b,2,1\n"
    built, problems = plan(given, labels=[write(tmp_path / "a.csv", f"video_id,rater,cpr_01,cpr_02\n{rows}")])
    assert errors(problems) == []
    assert [(row.video, dict(row.scores)) for row in built.rows] == [
        ("IMG_1", {"rater_a": 2.0, "rater_b": 2.0}),
        ("IMG_1", {"rater_a": 1.0, "rater_b": 1.0}),
    ]


def test_ids_that_cannot_be_kept_are_said_before_any_work(given: Inputs, tmp_path: Path) -> None:
    write_video(tmp_path / "videos/李 四.mp4")
    sheet = write(tmp_path / "a.csv", "video_id,rater,cpr_01\n李 四,consensus,2\nIMG_1,consensus,2\n")
    _, problems = make_plan(Inputs(given.rubric, [sheet], given.videos), BuildOptions(keep_ids=True))
    assert [problem.code for problem in problems if problem.severity == "error"] == ["id-not-kept"]
    assert "video '李 四' cannot be kept as an id" in errors(problems)[0]


# --- further tables


@pytest.mark.parametrize("name", ["IMG_1", "IMG_1.mp4", "ＩＭＧ_1.mp4"])
def test_times_find_their_video(given: Inputs, tmp_path: Path, name: str) -> None:
    times = write(tmp_path / "s.csv", f"video_id,step_id,start,end\n{name},cpr_01,0,1\n{name},cpr_02,1,2\n")
    built, problems = plan(given, labels=[*given.labels, times])
    assert errors(problems) == []
    assert [(row.video, row.start, row.end) for row in built.rows] == [
        *(("IMG_1", 0.0, 1.0), ("IMG_1", 1.0, 2.0), ("IMG_2", None, None), ("IMG_2", None, None)),
    ]


def test_the_faults_of_all_files_in_one_run(given: Inputs, tmp_path: Path) -> None:
    with pytest.raises(DataError) as caught:
        plan(
            given,
            labels=[write(tmp_path / "a.csv", "video_id,step_id,rater,points,remark\nIMG_1,cpr_01,a,99,x\n"),
                    write(tmp_path / "s.csv", "a,b\n1,2\n")],
            names=write(tmp_path / "names.csv", "Anna,nurse\nBo,student\n"),
            videos=tmp_path / "nowhere",
        )  # fmt: skip
    for part in ("is no list of names", "nowhere: no such folder", "'a', 'b' are no headings", "'remark'", "99 is off"):
        assert part in str(caught.value), part


def test_two_raters_of_one_table_who_always_agree_are_said(given: Inputs, tmp_path: Path) -> None:
    rows = "".join(f"IMG_{video},{rater},2,1,5,3\n" for video in (1, 2) for rater in "ab")
    write_video(tmp_path / "videos" / "IMG_3.mp4", seed=3)
    sheet = write(
        tmp_path / "a.csv", f"video_id,rater,cpr_01,cpr_02,cpr_03,aed_01\n{rows}IMG_3,a,2,1,5,3\nIMG_3,b,2,1,5,3\n"
    )
    _, problems = plan(given, labels=[sheet])
    assert [problem.code for problem in problems] == ["raters-equal"]

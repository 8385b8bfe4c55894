"""One score sheet per physician: whose each is, and what two of them must have in common."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import pytest
import yaml

from siming_tasks.cli import main
from siming_tasks.common.errors import DataError
from siming_tasks.data import open_dataset
from siming_tasks.tools.builder import BuildOptions, build_dataset
from tests.data.conftest import RUBRIC, STEPS, write_video


def place(tmp_path: Path) -> dict[str, Any]:
    write_video(tmp_path / "videos" / "e1.mp4")
    write_video(tmp_path / "videos" / "e2.mp4", seed=1)
    (tmp_path / "rubric.yaml").write_text(yaml.safe_dump(RUBRIC))
    return {"rubric": tmp_path / "rubric.yaml", "videos": tmp_path / "videos"}


def sheet(path: Path, lost: int = 0, column: str = "points", rows: slice = slice(None), wide: bool = False) -> Path:
    """The points of one physician, who takes ``lost`` points from every cpr_03."""
    path.parent.mkdir(parents=True, exist_ok=True)
    points = {step: top - lost * (step == "cpr_03") for step, top in STEPS}
    with path.open("w", newline="") as stream:
        writer = csv.writer(stream)
        if wide:
            writer.writerows([["video_id", *points], *([video, *points.values()] for video in ("e1", "e2"))])
        else:
            lines = [[video, step, value] for video in ("e1", "e2") for step, value in points.items()]
            writer.writerows([["video_id", "step_id", column], *lines[rows]])
    return path


def built(tmp_path: Path, *labels: str | Path, **more: Any) -> Any:
    options = BuildOptions(consensus=more.pop("consensus", "mean"), keep_rater_names=True)
    return build_dataset(tmp_path / "exams", **place(tmp_path), labels=labels, options=options, **more).dataset


def refused(tmp_path: Path, *labels: str | Path, **more: Any) -> str:
    with pytest.raises(DataError) as caught:
        built(tmp_path, *labels, **more)
    assert not (tmp_path / "exams").exists()
    return str(caught.value)


@pytest.mark.parametrize("wide", [False, True])
def test_the_rater_is_the_files_name(tmp_path: Path, wide: bool) -> None:
    dataset = built(tmp_path, sheet(tmp_path / "Kim.csv", wide=wide), sheet(tmp_path / "Lee.csv", 2, wide=not wide))
    assert dataset.physicians == ("Kim", "Lee")
    for video in dataset.videos:
        assert dict(video.step("cpr_03").scores) == {"Kim": 5, "Lee": 3, "consensus": 4}
        assert dict(video.step("cpr_01").scores) == {"Kim": 2, "Lee": 2, "consensus": 2}


def test_the_command_replaces_their_names(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    given = place(tmp_path)
    one, two = sheet(tmp_path / "a" / "points.csv"), sheet(tmp_path / "b" / "points.csv", 1)
    command = [
        "data",
        "build",
        str(tmp_path / "exams"),
        "--rubric",
        str(given["rubric"]),
        "--videos",
        str(given["videos"]),
    ]
    assert main([*command, "--labels", str(one), "--labels", str(two)]) == 1
    said = f"{two}: would be the points of 'points', as those of {one}. Say whose they are: --labels NAME=FILE"
    assert said in capsys.readouterr().err
    named = [f"--labels=Dr. Kim={one}", f"--labels=rater_b={two}"]
    assert main([*command, *named, "--consensus", "Dr. Kim"]) == 0
    scores = open_dataset(tmp_path / "exams").videos[0].step("cpr_03").scores
    assert dict(scores) == {"rater_a": 5, "rater_b": 4, "consensus": 5}
    assert "rater,rater_a,Dr. Kim," in (tmp_path / "exams.names.csv").read_text()


def test_a_third_file_may_hold_the_consensus_of_what_they_differ_in(tmp_path: Path) -> None:
    final = sheet(tmp_path / "final.csv", 1, rows=slice(2, 7, 4))  # cpr_03 of both
    dataset = built(
        tmp_path, sheet(tmp_path / "a.csv"), sheet(tmp_path / "b.csv", 2), f"consensus={final}", consensus="agree"
    )
    assert [video.step("cpr_03").consensus for video in dataset.videos] == [4, 4]
    assert dataset.meta["label_sources"]["consensus"] == {"raters agree": 6, "given": 2}


def test_spans_may_stand_in_one_of_them(tmp_path: Path) -> None:
    one = sheet(tmp_path / "a.csv")
    lines = one.read_text().splitlines()
    one.write_text("\n".join([lines[0] + ",start,end", *(line + ",0.5,1.5" for line in lines[1:])]))
    dataset = built(tmp_path, one, sheet(tmp_path / "b.csv"))
    assert {step.span for video in dataset.videos for step in video.steps} == {(0.5, 1.5)}


def test_the_mapping_says_who_a_file_is(tmp_path: Path) -> None:
    (tmp_path / "mapping.yaml").write_text("raters: {王: rater_a, 赵: rater_b}\n", encoding="utf-8")
    files = [sheet(tmp_path / "王.csv"), f"赵={sheet(tmp_path / 'z.csv', 1)}"]
    assert built(tmp_path, *files, mapping=tmp_path / "mapping.yaml").physicians == ("rater_a", "rater_b")


def test_one_file_may_be_named_too(tmp_path: Path) -> None:
    dataset = built(tmp_path, f"Kim={sheet(tmp_path / 'points.csv')}", consensus="Kim")
    assert dataset.physicians == ("Kim",)


def test_files_that_name_their_raters_are_taken_together(tmp_path: Path) -> None:
    dataset = built(
        tmp_path, sheet(tmp_path / "x.csv", 0, "rater_a"), sheet(tmp_path / "y.csv", 2, "rater_b", slice(0, 8))
    )
    assert dataset.physicians == ("rater_a", "rater_b")


def test_sheets_with_unequal_steps_are_refused(tmp_path: Path) -> None:
    files = sheet(tmp_path / "a.csv"), sheet(tmp_path / "b.csv", rows=slice(0, 5))
    said = refused(tmp_path, *files)
    assert (
        f"{files[1]}: lacks video 'e2', step 'cpr_02', which stands on {files[0]}:7 (and 2 more). Write the same"
        in said
    )
    assert f"{files[0]}: lacks" not in said


def test_each_file_is_told_what_it_lacks(tmp_path: Path) -> None:
    files = sheet(tmp_path / "a.csv", rows=slice(1, 8)), sheet(tmp_path / "b.csv", rows=slice(0, 7))
    said = refused(tmp_path, *files)
    assert f"{files[0]}: lacks video 'e1', step 'cpr_01', which stands on {files[1]}:2. Write" in said
    assert f"{files[1]}: lacks video 'e2', step 'aed_01', which stands on {files[0]}:8. Write" in said


def test_a_consensus_of_what_nobody_scored(tmp_path: Path) -> None:
    final = sheet(tmp_path / "consensus.csv")
    files = sheet(tmp_path / "a.csv", rows=slice(0, 4)), sheet(tmp_path / "b.csv", rows=slice(0, 4))
    said = refused(tmp_path, *files, final)
    assert f"{final}: video 'e2', step 'cpr_01' ({final}:6) stands in no physician's file." in said


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        (["a.csv", "a.csv"], "a.csv: is given twice. Give it once."),
        (["a.csv", "Kim=a.csv"], "a.csv: is given twice."),
        (["Kim=a.csv", "ＫＩＭ=b.csv"], "b.csv: would be the points of 'KIM', as those of"),
        (["a.csv", "A=b.csv"], "b.csv: would be the points of 'A', as those of"),
        (["Kim=named.csv", "b.csv"], "named.csv: is given as the points of 'Kim', but has points of 'rater_a'."),
        (["Kim=cells.csv", "b.csv"], "cells.csv: is given as the points of 'Kim', but has a column `rater`."),
        (["a.csv", "absent.csv"], "absent.csv: No such file or directory"),
        (["a.csv", "folder"], "folder: a folder that holds no labels:"),
        (["absent1.csv", "absent2.csv"], "absent2.csv: No such file or directory"),
    ],
)
def test_contradicting_flags_and_files_are_refused(
    tmp_path: Path, labels: list[str], message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("a.csv", "b.csv"):
        sheet(tmp_path / name)
    sheet(tmp_path / "named.csv", column="rater_a")
    text = (tmp_path / "a.csv").read_text().splitlines()
    (tmp_path / "cells.csv").write_text("\n".join([text[0] + ",rater", *(line + ",x" for line in text[1:])]))
    (tmp_path / "folder").mkdir()
    assert message in refused(tmp_path, *labels)

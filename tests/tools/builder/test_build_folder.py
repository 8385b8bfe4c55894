"""Three files in, a dataset folder out: as a stranger would."""

from __future__ import annotations

import csv
import json
import os
import signal
import stat
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
import yaml

from siming_tasks.cli import main
from siming_tasks.common.errors import DataError
from siming_tasks.common.schema import Rater
from siming_tasks.data import check_dataset, open_dataset, withhold
from siming_tasks.tools.builder import BuildOptions, build_dataset
from siming_tasks.tools.builder.transcode import transcode
from tests.data.conftest import RUBRIC, STEPS, write_video

NAMES = ("Zhang San 2024-03-01", "李四", "exam 003")


def long_sheet(path: Path, names: tuple[str, ...] = NAMES, differ: bool = False, **more: str) -> Path:
    """A table of labels whose raters agree (except, on demand, on cpr_02 of the first video)."""
    with path.open("w", encoding="utf-8-sig", newline="") as stream:
        writer = csv.writer(stream)
        writer.writerow(["video_id", "step_id", "start", "end", "rater", "points", "student", "site"])
        for number, name in enumerate(names):
            for index, (step, top) in enumerate(STEPS):
                a = int(top) - (number + index) % 2
                b = a - 1 if differ and (number, index) == (0, 1) else a
                for rater, points in (("rater_a", a), ("rater_b", b)):
                    times = [0.5 * index, 0.5 * index + 0.4]
                    writer.writerow([name, step, *times, rater, points, f"student of {name}", "A"])
    return path


@pytest.fixture
def given(tmp_path: Path) -> dict[str, Path]:
    """What a hospital has."""
    place = tmp_path / "given"
    write_video(place / "videos" / f"{NAMES[0]}.mp4", seed=1, metadata={"title": "Zhang San", "comment": "ward 7"})
    write_video(place / "videos" / f"{NAMES[1]}.avi", seed=2, codec="mpeg4")
    write_video(place / "videos" / "camera 2" / f"{NAMES[2]}.mkv", seed=3, audio=True)
    (place / "rubric.yaml").write_text(yaml.safe_dump(RUBRIC))
    long_sheet(place / "labels.csv")
    return {"rubric": place / "rubric.yaml", "labels": place / "labels.csv", "videos": place / "videos"}


def tree(folder: Path) -> list[str]:
    return sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())


def test_the_folder_is_complete_and_healthy(given: dict[str, Path], tmp_path: Path) -> None:
    options = BuildOptions(license="cc0-1.0", languages=("zh",))
    built = build_dataset(tmp_path / "exams", **given, options=options)
    assert tree(built.dataset.root) == [
        *("README.md", "dataset.yaml", "labels.csv"),
        *("media/v001.mp4", "media/v002.mp4", "media/v003.mp4", "rubric.yaml", "videos.jsonl"),
    ]
    assert [problem.code for problem in built.warnings] == ["raters-equal"]
    assert [str(problem) for problem in check_dataset(tmp_path / "exams").problems] == []
    first = built.dataset.videos[0]
    assert (first.video_id, first.duration, first.site, first.extra["student"]) == ("v001", 2.0, "A", "s001")
    assert first.step("cpr_02").span == (0.5, 0.9)
    assert dict(first.step("cpr_02").scores) == {"rater_a": 1, "rater_b": 1, "consensus": 1}
    info = yaml.safe_load((tmp_path / "exams/dataset.yaml").read_text())
    assert info["label_sources"] == {
        "raters": ["rater_a", "rater_b"],
        "rule": "agree",
        "consensus": {"raters agree": 12},
    }


def test_an_instrument_is_a_rater_whose_kind_is_stated(given: dict[str, Path], tmp_path: Path) -> None:
    with given["labels"].open("a") as sheet:
        for name in NAMES:
            sheet.writelines(f"{name},{step},,,manikin,{number % 3},,\n" for number, (step, _) in enumerate(STEPS))
    facts = {"manikin": Rater("instrument"), "rater_a": Rater(heard=False)}
    dataset = build_dataset(tmp_path / "exams", **given, options=BuildOptions(rater_facts=facts)).dataset
    assert dataset.raters == ("consensus", "manikin", "rater_a", "rater_b")
    assert dataset.physicians == ("rater_a", "rater_b")
    assert dataset.rater_facts == facts
    assert not check_dataset(tmp_path / "exams").problems
    words = [f"--{name}={path}" for name, path in given.items()]
    assert main(["data", "build", str(tmp_path / "others"), *words, "--instrument", "manikin"]) == 0
    assert open_dataset(tmp_path / "others").rater_facts == {"manikin": Rater("instrument")}
    with pytest.raises(DataError, match="facts about a rater 'manikn', who gave no points"):
        build_dataset(tmp_path / "x", **given, options=BuildOptions(rater_facts={"manikn": Rater("instrument")}))


def test_the_table_is_kept_by_the_names_of_the_data_set_and_not_published(
    given: dict[str, Path], tmp_path: Path
) -> None:
    built = build_dataset(tmp_path / "exams", **given)
    kept = list(csv.DictReader((tmp_path / "exams/labels.csv").read_text().splitlines()))
    assert len(kept) == 3 * 4 * 3 and kept[3] == {
        "video_id": "v001", "step_id": "cpr_02", "rater": "rater_a", "points": "1", "start": "0.5", "end": "0.9",
        "student": "s001", "site": "A",
    }  # fmt: skip
    (tmp_path / "again").mkdir()
    again = build_dataset(tmp_path / "again/exams", rubric=given["rubric"], labels=tmp_path / "exams/labels.csv",
                          videos=tmp_path / "exams/media")  # fmt: skip
    assert [video.steps for video in again.dataset.videos] == [video.steps for video in built.dataset.videos]
    withhold(tmp_path / "exams", tmp_path / "public", tmp_path / "key.json")
    assert not (tmp_path / "public/labels.csv").exists()


def test_nothing_of_the_originals_is_left_in_the_folder(given: dict[str, Path], tmp_path: Path) -> None:
    built = build_dataset(tmp_path / "exams", **given)
    content = b"".join(path.read_bytes() for path in (tmp_path / "exams").rglob("*") if path.is_file())
    for secret in (*NAMES, "Zhang", "ward 7", "student of", "camera 2", str(tmp_path)):
        assert secret.encode() not in content, secret
    assert built.names_file == tmp_path / "exams.names.csv"
    assert stat.S_IMODE(built.names_file.stat().st_mode) == 0o600
    table = list(csv.DictReader(built.names_file.read_text(encoding="utf-8").splitlines()))
    assert [(row["id"], row["name"]) for row in table if row["kind"] == "video"] == [
        *(("v001", NAMES[0]), ("v002", NAMES[1]), ("v003", NAMES[2])),
    ]
    assert [row["id"] for row in table if row["kind"] == "student"] == ["s001", "s002", "s003"]


def test_other_tools_read_the_folder(given: dict[str, Path], tmp_path: Path) -> None:
    import datasets

    build_dataset(tmp_path / "exams", **given)
    rows = datasets.load_dataset(str(tmp_path / "exams"), cache_dir=str(tmp_path / "cache"))["test"]
    assert [row["video_id"] for row in rows] == ["v001", "v002", "v003"]
    assert rows[0]["steps"][1]["score"] == {"rater_a": 1, "rater_b": 1, "consensus": 1}


def test_every_file_has_the_canary(given: dict[str, Path], tmp_path: Path) -> None:
    canary = build_dataset(tmp_path / "exams", **given).dataset.meta["canary"]
    for name in ("README.md", "videos.jsonl", "dataset.yaml"):
        assert canary in (tmp_path / "exams" / name).read_text(), name


def test_disagreement_is_listed_for_adjudication(given: dict[str, Path], tmp_path: Path) -> None:
    long_sheet(given["labels"], differ=True)
    with pytest.raises(DataError) as caught:
        build_dataset(tmp_path / "exams", **given)
    codes = [problem.code for problem in caught.value.problems]
    assert codes == ["consensus-open", "consensus-open"]
    assert "labels.csv:4: points: video 'Zhang San 2024-03-01', step 'cpr_02': the raters differ" in str(caught.value)
    sheet = tmp_path / "exams.adjudicate.csv"
    text = sheet.read_text(encoding="utf-8-sig")
    assert text.splitlines() == [
        "video_id,step_id,rater,points",
        *(f"{NAMES[0]},cpr_02,{rater}" for rater in ("rater_a,1", "rater_b,0", "consensus,")),
    ]
    assert not (tmp_path / "exams").exists()
    sheet.write_text(text.replace("consensus,", "consensus,1"), encoding="utf-8-sig")
    built = build_dataset(tmp_path / "exams", **{**given, "labels": [given["labels"], sheet]})
    assert built.dataset.videos[0].step("cpr_02").consensus == 1
    assert built.dataset.meta["label_sources"]["consensus"] == {"raters agree": 11, "given": 1}


def test_nobody_decides_while_points_cannot_be_read(given: dict[str, Path], tmp_path: Path) -> None:
    """The cell that is to be mended was also a step with "only one rater", on a list for somebody to fill in."""
    long_sheet(given["labels"], differ=True)
    edit(given, ",rater_a,2,", ",rater_a,two,", 1)
    with pytest.raises(DataError) as caught:
        build_dataset(tmp_path / "exams", **given)
    assert {problem.code for problem in caught.value.problems if problem.severity == "error"} == {
        "not-a-number", "consensus-open"}  # fmt: skip
    assert not (tmp_path / "exams.adjudicate.csv").exists()


def test_what_somebody_filled_in_is_not_overwritten(given: dict[str, Path], tmp_path: Path) -> None:
    long_sheet(given["labels"], differ=True)
    for _ in range(2):
        with pytest.raises(DataError, match=r"listed in .*exams\.adjudicate\.csv"):
            build_dataset(tmp_path / "exams", **given)
    sheet = tmp_path / "exams.adjudicate.csv"
    filled = sheet.read_bytes().replace(b"consensus,", b"consensus,1")
    sheet.write_bytes(filled)
    with pytest.raises(DataError, match=r"listed in .*exams\.adjudicate-2\.csv"):
        build_dataset(tmp_path / "exams", **given)
    assert sheet.read_bytes() == filled


def test_a_rule_decides_instead(given: dict[str, Path], tmp_path: Path) -> None:
    long_sheet(given["labels"], differ=True)
    built = build_dataset(tmp_path / "exams", **given, options=BuildOptions(consensus="mean"))
    assert built.dataset.videos[0].step("cpr_02").consensus == 0.5
    assert "consensus-fraction" in {problem.code for problem in built.warnings}
    assert built.dataset.meta["label_sources"]["consensus"] == {"raters agree": 11, "mean of raters": 1}


def test_the_wide_table_and_one_of_times(given: dict[str, Path], tmp_path: Path) -> None:
    wide = [["video_id", "rater", *(step for step, _ in STEPS)]]
    wide += [[name, rater, 2, 1, 5, "N/A"] for name in NAMES for rater in ("王", "赵")]
    given["labels"].write_text("\n".join(",".join(map(str, row)) for row in wide), encoding="utf-8")
    times = given["labels"].with_name("times.csv")
    times.write_text(
        f"video_id,step_id,start,end\n{NAMES[0]},cpr_01,0:00.0,0:00.5\n{NAMES[0]},cpr_02,0.5,2.3\n", encoding="utf-8"
    )
    built = build_dataset(tmp_path / "exams", **{**given, "labels": [given["labels"], times]})
    first = built.dataset.videos[0]
    assert [step.span for step in first.steps] == [(0, 0.5), (0.5, 2.0), None, None]
    assert not first.step("aed_01").applicable
    assert {problem.code for problem in built.warnings} == {"span-cut"}
    assert built.dataset.raters == ("consensus", "rater_a", "rater_b")


@pytest.mark.parametrize(
    ("change", "code", "message"),
    [
        (lambda g: (g["videos"] / f"{NAMES[1]}.avi").unlink(), "video-missing", "video '李四': no such file"),
        (
            lambda g: write_video(g["videos"] / f"{NAMES[1]}.mp4"),
            "video-ambiguous",
            "video '李四' could be 李四.avi or 李四.mp4",
        ),
        (lambda g: (g["videos"] / f"{NAMES[1]}.avi").write_bytes(b"x"), "media-unreadable", "cannot be read"),
        (lambda g: long_sheet(g["labels"], (NAMES[0], f"{NAMES[0]}.mp4")), "video-differs", "student is"),
        (lambda g: long_sheet(g["labels"], ("../../etc/passwd",)), "video-missing", "'../../etc/passwd': no such file"),
        (lambda g: edit(g, ",1.5,1.9,", ",1.5,9,"), "span-outside", "ends at 9 s, but the video at 2.00 s"),
        (lambda g: edit(g, ",1.5,1.9,", ",1.9,1.5,"), "span-invalid", "the span 1.9-1.5 s is not"),
        (lambda g: edit(g, ",1.5,1.9,", ",1.5,,"), "span-half", "only one of start and end"),
        (
            lambda g: edit(g, "student of 李四,A", "student of 李四,B", 1),
            "video-differs",
            "video '李四': site is 'A' here and 'B' on ",
        ),
    ],
)
def test_bad_inputs_are_refused_before_any_work(
    given: dict[str, Path], tmp_path: Path, change: Any, code: str, message: str
) -> None:
    change(given)
    with pytest.raises(DataError) as caught:
        build_dataset(tmp_path / "exams", **given)
    found = [str(problem) for problem in caught.value.problems if problem.code == code]
    assert found and message in found[0], [str(problem) for problem in caught.value.problems]
    assert not (tmp_path / ".exams.part").exists()


def edit(given: dict[str, Path], old: str, new: str, count: int = -1) -> None:
    text = given["labels"].read_text(encoding="utf-8-sig")
    assert old in text
    given["labels"].write_text(text.replace(old, new, count), encoding="utf-8-sig")


def test_a_bad_video_is_named_before_any_is_encoded(given: dict[str, Path], tmp_path: Path) -> None:
    bad = given["videos"] / f"{NAMES[1]}.avi"
    spoil(bad)
    with pytest.raises(DataError, match="李四"):
        build_dataset(tmp_path / "exams", **given)
    assert [path.name for path in tmp_path.iterdir() if "exams" in path.name] == []


def test_videos_beside_one_that_cannot_be_decoded_are_not_done_twice(given: dict[str, Path], tmp_path: Path) -> None:
    good, bad = given["videos"] / f"{NAMES[0]}.mp4", given["videos"] / f"{NAMES[1]}.avi"
    whole = bad.read_bytes()
    spoil(bad)
    with pytest.raises(DataError, match="李四"):
        transcode({"v001": good, "v002": bad}, tmp_path)
    first = (tmp_path / "media/v001.mp4").stat().st_mtime_ns
    bad.write_bytes(whole)
    transcode({"v001": good, "v002": bad}, tmp_path)
    assert (tmp_path / "media/v001.mp4").stat().st_mtime_ns == first


def spoil(video: Path) -> None:
    """Make zeros of an .avi's pictures; its header stays."""
    whole = video.read_bytes()
    at = whole.index(b"movi") + 4
    video.write_bytes(whole[:at] + bytes(len(whole) - at))


def test_a_folder_that_is_there_is_not_overwritten(given: dict[str, Path], tmp_path: Path) -> None:
    first = build_dataset(tmp_path / "exams", **given)
    stamp = (tmp_path / "exams/dataset.yaml").stat().st_mtime_ns
    again = build_dataset(tmp_path / "exams", **given)
    assert again.dataset.digest == first.dataset.digest
    assert (tmp_path / "exams/dataset.yaml").stat().st_mtime_ns == stamp
    edit(given, ",0.4,", ",0.3,")
    with pytest.raises(DataError, match="exists and is not the data set of these inputs"):
        build_dataset(tmp_path / "exams", **given)
    (tmp_path / "other").mkdir()
    (tmp_path / "other/thesis.doc").write_text("precious")
    with pytest.raises(DataError, match="exists and is not the data set of these inputs"):
        build_dataset(tmp_path / "other", **given)
    assert (tmp_path / "other/thesis.doc").read_text() == "precious"


def command(given: dict[str, Path], out: Path) -> subprocess.Popen[str]:
    options = [part for name in ("rubric", "labels", "videos") for part in (f"--{name}", str(given[name]))]
    code = "import sys; from siming_tasks.cli import main; sys.exit(main())"
    return subprocess.Popen(
        [sys.executable, "-c", code, "data", "build", str(out), *options, "--jobs", "1"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def test_killed_in_the_middle_and_run_again(given: dict[str, Path], tmp_path: Path) -> None:
    """Kill -9 while the second video is being encoded: no folder, and the first video is not encoded again."""
    slow = given["videos"] / f"{NAMES[1]}.avi"
    write_video(slow, seed=2, codec="mpeg4", frames=600, size=(640, 480), rate=30)
    process = command(given, tmp_path / "exams")
    first, second = tmp_path / ".exams.part/done/v001.json", tmp_path / ".exams.part/media"
    deadline = time.monotonic() + 60
    while not list(second.glob(".v002.*")) and time.monotonic() < deadline:
        time.sleep(0.005)
    process.send_signal(signal.SIGKILL)
    process.communicate()
    assert first.is_file()
    assert not (tmp_path / "exams").exists()
    assert not (tmp_path / ".exams.part/done/v002.json").exists()
    media = (tmp_path / ".exams.part/media/v001.mp4").stat().st_mtime_ns
    write_video(slow, seed=2, codec="mpeg4")
    build_dataset(tmp_path / "exams", **given)
    assert (tmp_path / "exams/media/v001.mp4").stat().st_mtime_ns == media
    assert check_dataset(tmp_path / "exams").errors == ()
    assert not list(tmp_path.glob(".exams.part*"))
    assert not list((tmp_path / "exams").rglob(".*"))


def test_two_builds_of_one_folder_do_not_disturb_each_other(given: dict[str, Path], tmp_path: Path) -> None:
    both = [command(given, tmp_path / "exams") for _ in range(2)]
    for process in both:
        output, errors = process.communicate(timeout=120)
        assert process.returncode == 0, errors
        assert "3 videos, 12 judged steps" in output
    assert check_dataset(tmp_path / "exams").errors == ()


def test_command_builds_a_data_set(given: dict[str, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    options = [part for name in ("rubric", "labels", "videos") for part in (f"--{name}", str(given[name]))]
    assert main(["data", "build", str(tmp_path / "exams"), *options]) == 0
    digest = open_dataset(tmp_path / "exams").digest[:12]
    said = capsys.readouterr().out.splitlines()
    assert [[cell.strip() for cell in line.split("|")[1:-1]] for line in said[:3:2]] == [
        ["step", "rater_a", "rater_b", "consensus", "N/A", "times", "videos without it"],
        ["cpr_01", "3", "3", "3", "0", "3", "0"],
    ]
    assert said[-4:] == [
        "3 videos, 12 steps of them, 2 raters, 3 students.",
        f"{tmp_path}/exams: 3 videos, 12 judged steps, digest {digest}",
        f"{tmp_path}/exams.names.csv: original names and ids. Keep it private.",
        f"Next: siming data check {tmp_path}/exams",
    ]
    assert main(["data", "build", *options]) == 0
    assert capsys.readouterr().out.splitlines() == said[:-3], (
        "without a folder's name the table is shown, and nothing more"
    )
    edit(given, ",rater_a,2,", ",rater_a,9,", 1)
    edit(given, ",1.5,1.9,", ",1.5,2.3,", 1)
    (given["videos"] / f"{NAMES[1]}.avi").unlink()
    assert main(["data", "build", *options]) == 1
    shown = capsys.readouterr()
    assert "1 steps end after their video" in shown.out and "9 is off the scale" in shown.err and "no such" in shown.err
    os.rename(given["videos"], given["videos"].with_name("elsewhere"))
    assert main(["data", "build", str(tmp_path / "exams"), *options]) == 1
    assert capsys.readouterr().err.startswith(f"siming data build: {given['videos']}: no such folder.")


def test_the_digest_is_that_of_the_content(given: dict[str, Path], tmp_path: Path) -> None:
    first = build_dataset(tmp_path / "one", **given, options=BuildOptions(name="exams"))
    second = build_dataset(tmp_path / "two", **given, options=BuildOptions(name="exams"))
    assert first.dataset.digest == second.dataset.digest
    rows = (tmp_path / "two/videos.jsonl").read_text()
    assert json.loads(rows.splitlines()[0])["canary"] == first.dataset.meta["canary"]


def test_the_same_inputs_are_the_same_bytes_whatever_the_cores_and_jobs(
    given: dict[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_video(given["videos"] / f"{NAMES[1]}.avi", seed=2, codec="mpeg4", frames=60, size=(640, 480))
    digests = set()
    for cores, jobs in ((1, 1), (2, 2), (16, 3)):
        monkeypatch.setattr(os, "cpu_count", lambda cores=cores: cores)
        digests.add(build_dataset(tmp_path / f"exams{cores}" / "exams", **given, jobs=jobs).dataset.digest)
    assert len(digests) == 1


def test_a_file_that_was_cut_off_is_named(given: dict[str, Path], tmp_path: Path) -> None:
    """A Matroska file says at its beginning how long it is; half of its bytes are half of its pictures."""
    film = given["videos"] / "camera 2" / f"{NAMES[2]}.mkv"
    write_video(film, seed=3, frames=80)
    film.write_bytes(film.read_bytes()[: film.stat().st_size // 2])
    built = build_dataset(tmp_path / "exams", **given)
    (warning,) = [problem for problem in built.warnings if problem.code == "media-cut"]
    assert "says 8.0 s, and its pictures end after" in warning.what and str(film) == warning.file
    assert built.dataset.videos[2].duration < 6


def test_a_rater_who_does_not_exist_decides_nothing(given: dict[str, Path], tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"--consensus 'rater_x' is neither agree nor mean nor a rater of the table"):
        build_dataset(tmp_path / "exams", **given, options=BuildOptions(consensus="rater_x"))
    assert not (tmp_path / "exams").exists()

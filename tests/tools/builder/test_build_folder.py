"""Three files in, a dataset folder out: as a stranger would, killed and gone on, or refused before any work."""

import csv
import json
import os
import re
import shutil
import signal
import stat
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import openpyxl
import pytest
import yaml

from siming_tasks.benchmark.exams import Rater
from siming_tasks.cli import main
from siming_tasks.common.errors import DataError, SimingError
from siming_tasks.data import check_dataset, open_dataset, withhold
from siming_tasks.tools.builder import BuildOptions, build_dataset
from siming_tasks.tools.builder import build_folder as make
from siming_tasks.tools.builder.transcode import transcode
from tests.data.conftest import STEPS, damage, write_video
from tests.tools.builder.conftest import NAMES, edit, long_table


def words(given: dict[str, Path], out: Path) -> list[str]:
    return ["data", "build", str(out), *(f"--{name}={path}" for name, path in given.items())]


def test_the_folder_is_complete_and_healthy_and_nothing_of_the_originals_is_left(
    given: dict[str, Path], tmp_path: Path
) -> None:
    built = build_dataset(tmp_path / "exams", **given, options=BuildOptions(license="cc0-1.0", languages=("zh",)))
    files = sorted(path.relative_to(built.dataset.root) for path in built.dataset.root.rglob("*") if path.is_file())
    assert [path.as_posix() for path in files] == [
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
    for name in ("README.md", "videos.jsonl", "dataset.yaml"):
        assert info["canary"] in (tmp_path / "exams" / name).read_text(), name
    content = b"".join((built.dataset.root / path).read_bytes() for path in files)
    for secret in (*NAMES, "Zhang", "ward 7", "student of", "camera 2", str(tmp_path)):
        assert secret.encode() not in content, secret
    assert built.names_file == tmp_path / "exams.names.csv"
    assert stat.S_IMODE(built.names_file.stat().st_mode) == 0o600
    table = list(csv.DictReader(built.names_file.read_text(encoding="utf-8").splitlines()))
    assert [(row["id"], row["name"]) for row in table if row["kind"] == "video"] == [
        *(("v001", NAMES[0]), ("v002", NAMES[1]), ("v003", NAMES[2])),
    ]
    assert [row["id"] for row in table if row["kind"] == "student"] == ["s001", "s002", "s003"]
    # the table that is kept has the names of the data set, says what was read, and is not published
    kept = list(csv.DictReader((tmp_path / "exams/labels.csv").read_text().splitlines()))
    assert len(kept) == 3 * 4 * 3 and kept[3] == {
        "video_id": "v001", "step_id": "cpr_02", "rater": "rater_a", "points": "1", "start": "0.5", "end": "0.9",
        "student": "s001", "site": "A",
    }  # fmt: skip
    again = build_dataset(tmp_path / "again", rubric=given["rubric"], labels=tmp_path / "exams/labels.csv",
                          videos=tmp_path / "exams/media")  # fmt: skip
    assert [video.steps for video in again.dataset.videos] == [video.steps for video in built.dataset.videos]
    withhold(tmp_path / "exams", tmp_path / "public", tmp_path / "key.json")
    assert not (tmp_path / "public/labels.csv").exists()


# --- what the raters differ in


def test_disagreement_is_listed_filled_in_and_given_back(given: dict[str, Path], tmp_path: Path) -> None:
    """The list is never written over one that somebody filled in, nor made while points cannot be read."""
    long_table(given["labels"], differ=True)
    edit(given, ",rater_a,2,", ",rater_a,two,", 1)
    with pytest.raises(DataError) as caught:
        build_dataset(tmp_path / "exams", **given)
    errors = {problem.code for problem in caught.value.problems if problem.severity == "error"}
    assert errors == {"not-a-number", "consensus-open"} and not (tmp_path / "exams.adjudicate.xlsx").exists()
    edit(given, "two", "2")
    for _ in range(2):
        with pytest.raises(DataError, match=r"listed in .*exams\.adjudicate\.xlsx") as caught:
            build_dataset(tmp_path / "exams", **given)
    assert [problem.code for problem in caught.value.problems] == ["consensus-open", "consensus-open"]
    assert "labels.csv:4: points: video 'Zhang San 2024-03-01', step 'cpr_02': the raters differ" in str(caught.value)
    sheet = tmp_path / "exams.adjudicate.xlsx"
    book = openpyxl.load_workbook(sheet)
    assert [[cell.value for cell in row] for row in book.active.iter_rows()] == [
        ["video_id", "step_id", "rater", "points"],
        *([NAMES[0], "cpr_02", *given] for given in (("rater_a", "1"), ("rater_b", "0"), ("consensus", None))),
    ]
    assert [cell.protection.locked for cell in book.active["D"]] == [True, True, True, False]
    assert [(str(rule.sqref), rule.formula1) for rule in book.active.data_validations.dataValidation] == [
        ("D4", '"0,1,2,N/A"')
    ]
    assert not (tmp_path / "exams").exists() and stat.S_IMODE(sheet.stat().st_mode) == 0o600
    book.active["D4"] = 1
    book.save(sheet)
    with pytest.raises(DataError, match=r"listed in .*exams\.adjudicate-2\.xlsx"):
        build_dataset(tmp_path / "exams", **given)
    built = build_dataset(tmp_path / "exams", **{**given, "labels": [given["labels"], sheet]})
    assert built.dataset.videos[0].step("cpr_02").consensus == 1
    assert built.dataset.meta["label_sources"]["consensus"] == {"raters agree": 11, "given": 1}


@pytest.mark.parametrize(
    ("options", "points", "physicians", "origins"),
    [
        (BuildOptions(consensus="mean"), 0.5, ("rater_a", "rater_b"), {"raters agree": 11, "mean of raters": 1}),
        (BuildOptions(consensus="li"), 0, ("rater_a",), {"given": 12}),
        (BuildOptions(consensus="li", physicians=("li",)), 0, ("rater_a", "rater_b"),
         {"raters agree": 11, "points of rater_b": 1}),
    ],
)  # fmt: skip
def test_whose_points_are_the_consensus_is_no_physician_unless_it_is_said(
    given: dict[str, Path], tmp_path: Path, options: BuildOptions, points: float, physicians: tuple[str, ...],
    origins: dict[str, int],
) -> None:  # fmt: skip
    long_table(given["labels"], differ=True)
    edit(given, "rater_b", "li")
    built = build_dataset(tmp_path / "exams", **given, options=options)
    assert built.dataset.physicians == physicians and built.dataset.videos[0].step("cpr_02").consensus == points
    assert built.dataset.meta["label_sources"]["consensus"] == origins
    assert ("consensus-fraction" in {problem.code for problem in built.warnings}) == (options.consensus == "mean")


def test_a_column_of_decisions_is_no_third_physician(
    given: dict[str, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Two physicians and what they agreed on: agreement is theirs, 11 of 12, and not that with the decision."""
    long_table(given["labels"], differ=True)
    rows = [line.split(",") for line in given["labels"].read_text(encoding="utf-8-sig").splitlines()]
    final = [",".join([*row[:4], "Final", *row[5:]]) for row in rows if row[4] == "rater_a"]
    with given["labels"].open("a", encoding="utf-8") as stream:
        stream.write("\n".join(final) + "\n")
    assert main(words(given, tmp_path / "exams")) == 1
    said = capsys.readouterr().err
    assert "'Final' is a decision or a mean, not a physician (and 11 more rows). Say --consensus 'Final'" in said
    assert main([*words(given, tmp_path / "exams"), "--consensus", "Final"]) == 0
    assert "The consensus is 'Final', who is not a physician here." in capsys.readouterr().out
    dataset = open_dataset(tmp_path / "exams")
    assert dataset.physicians == ("rater_a", "rater_b") == dataset.raters[1:]
    assert dataset.videos[0].step("cpr_02").scores == {"rater_a": 1, "rater_b": 0, "consensus": 1}
    assert "rater,consensus,Final" in (tmp_path / "exams.names.csv").read_text()
    keep = BuildOptions(physicians=("Final",), keep_rater_names=True, consensus="mean")
    kept = build_dataset(tmp_path / "kept", **given, options=keep).dataset
    assert kept.physicians == ("Final", "rater_a", "rater_b") and check_dataset(kept.root, quick=True).errors == ()


def test_names_that_are_alike_are_refused_until_they_are_said_to_be_two(given: dict[str, Path], tmp_path: Path) -> None:
    edit(given, "student of", "Dr. Müller of")
    edit(given, f"Dr. Müller of {NAMES[1]}", "T07")
    edit(given, f"Dr. Müller of {NAMES[2]}", "t-7")
    text = given["labels"].read_text(encoding="utf-8-sig").splitlines()
    given["labels"].write_text(
        "\n".join([text[0], *(line[:-1] + f"Haus {i // 8:02}" for i, line in enumerate(text[1:]))])
    )
    edit(given, "Haus 01", "haus 1")
    edit(given, "Haus 02", "haus 1")
    edit(given, "Haus 00", "Haus 01")
    with pytest.raises(DataError) as refused:
        build_dataset(tmp_path / "exams", **given)
    what = [(problem.code, problem.field, problem.what.partition(" (")[0].split(f" on {tmp_path}")[0])
            for problem in refused.value.problems if problem.severity == "error"]  # fmt: skip
    assert what == [
        ("name-differs", "student", "'t-7' here and 'T07'"),
        ("name-differs", "site", "'haus 1' here and 'Haus 01'"),
    ]
    options = BuildOptions(different=(("t-7", "T07"), ("Haus 01", "haus 1")))
    dataset = build_dataset(tmp_path / "exams", **given, options=options).dataset
    assert len({video.extra["student"] for video in dataset.videos}) == 3
    assert dataset.meta["different"] == (("Haus 01", "haus 1"),), "names of students stay outside"
    assert check_dataset(tmp_path / "exams", quick=True).errors == ()
    stated = tmp_path / "exams/dataset.yaml"
    stated.write_text(re.sub("different:\n(- .*\n|  .*\n)+", "", stated.read_text()))
    assert [problem.code for problem in check_dataset(tmp_path / "exams", quick=True).errors] == ["name-differs"]


def test_names_of_raters_stay_outside_unless_they_are_to_be_kept(
    given: dict[str, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    long_table(given["labels"], differ=True)
    edit(given, "rater_a", "Dr. Wang Mei")
    edit(given, "rater_b", "rater_li")
    assert main([*words(given, tmp_path / "exams"), "--consensus", "Dr. Wang Mei"]) == 0
    said = capsys.readouterr().out
    assert "| Dr. Wang Mei |" not in said and "The consensus is 'Dr. Wang Mei'" in said and "| rater_li |" in said
    content = b"".join(path.read_bytes() for path in (tmp_path / "exams").rglob("*") if path.is_file())
    for secret in ("Wang", "rater_li"):
        assert secret.encode() not in content, secret
    dataset = open_dataset(tmp_path / "exams")
    assert dataset.raters == ("consensus", "rater_a") and dataset.meta["label_sources"]["rule"] == "agree"
    assert "file names and names of students and raters replaced by ids" in (tmp_path / "exams/README.md").read_text()
    table = list(csv.DictReader((tmp_path / "exams.names.csv").read_text().splitlines()))
    raters = [(row["id"], row["name"]) for row in table if row["kind"] == "rater"]
    assert raters == [("rater_a", "rater_li"), ("consensus", "Dr. Wang Mei")]
    keep = BuildOptions(keep_rater_names=True, consensus="mean")
    built = build_dataset(tmp_path / "kept", **given, options=keep)
    assert built.dataset.physicians == ("Dr. Wang Mei", "rater_li") and "rater," not in built.names_file.read_text()


def test_the_wide_table_and_one_of_times(given: dict[str, Path], tmp_path: Path) -> None:
    wide = [["video_id", "rater", *(step for step, _ in STEPS)]]
    wide += [[name, rater, 2, 1, 5, "N/A"] for name in NAMES for rater in ("王", "赵")]
    given["labels"].write_text("\n".join(",".join(map(str, row)) for row in wide), encoding="utf-8")
    times = given["labels"].with_name("times.csv")
    rows = f"{NAMES[0]}.mp4,cpr_01,0:00.0,0:00.5\n{NAMES[0]},cpr_02,0.5,2.3\n"  # with its suffix or without
    times.write_text(f"video_id,step_id,start,end\n{rows}", encoding="utf-8")
    built = build_dataset(tmp_path / "exams", **{**given, "labels": [given["labels"], times]})
    first = built.dataset.videos[0]
    assert [step.span for step in first.steps] == [(0, 0.5), (0.5, 2.0), None, None]
    assert not first.step("aed_01").applicable
    assert {problem.code for problem in built.warnings} == {"span-cut"}
    assert built.dataset.raters == ("consensus", "rater_a", "rater_b")


# --- what is refused before a video is touched


def film(given: dict[str, Path], name: str) -> Path:
    return given["videos"] / name


def rename(given: dict[str, Path], name: str) -> None:
    film(given, f"{name}.avi").parent.mkdir(exist_ok=True)
    film(given, f"{NAMES[1]}.avi").rename(film(given, f"{name}.avi"))
    edit(given, f"\n{NAMES[1]},", f"\n{name},")


KEEP = {"keep_ids": True}
REFUSED: dict[str, tuple[Any, dict[str, Any], str]] = {
    "no file": (lambda g: film(g, f"{NAMES[1]}.avi").unlink(), {}, "video '李四': no such file"),
    "two files": (lambda g: write_video(film(g, f"{NAMES[1]}.mp4")), {}, "'李四' could be 李四.avi or 李四.mp4"),
    "no video": (lambda g: film(g, f"{NAMES[1]}.avi").write_bytes(b"x"), {}, "cannot be read"),
    "two students": (lambda g: long_table(g["labels"], (NAMES[0], f"{NAMES[0]}.mp4")), {}, "student is"),
    "outside": (lambda g: long_table(g["labels"], ("../labels.csv",)), {}, "'../labels.csv': no such file in"),
    "beyond the end": (lambda g: edit(g, ",1.5,1.9,", ",1.5,9,"), {}, "ends at 9 s, but the video at 2.00 s"),
    "facts about nobody": (lambda g: None, {"rater_facts": {"manikn": Rater("rule")}}, "rater 'manikn', who gave no"),
    "a rater who is none": (lambda g: None, {"consensus": "rater_x"}, "neither agree nor mean nor a rater of the"),
    "no videos": (lambda g: shutil.rmtree(g["videos"]) or g["videos"].mkdir(), {}, "no video file found ("),
    "a file": (
        lambda g: (shutil.rmtree(g["videos"]), g["videos"].write_text("")),
        {}, "videos: a file, not a folder. Give the folder of the video files."),
    "no folder, and no points": (
        lambda g: (shutil.rmtree(g["videos"]), edit(g, ",rater_a,2,", ",rater_a,two,", 1)),
        {}, "no such folder. + 'two' is not a number"),
    "links that lead round": (lambda g: (g["rubric"].unlink(), g["rubric"].symlink_to(g["rubric"])), {},
                              "Too many levels of symbolic links."),
    "a pipe": (lambda g: (g["labels"].unlink(), os.mkfifo(g["labels"])), {}, "a pipe; only regular files can be read."),
    "an id with a blank": (lambda g: None, KEEP, "labels.csv:2: video_id: video 'Zhang San 2024-03-01' cannot be kept"),
    "an id that is a path": (lambda g: rename(g, "fall/1"), KEEP, "video 'fall/1' cannot be kept as an id"),
    "a report's list": (lambda g: rename(g, "index"), KEEP, "video 'index' cannot be kept as an id"),
    "one file elsewhere": (lambda g: rename(g, NAMES[2].upper()), KEEP, "it is one file with 'EXAM 003'"),
    "a broken file beside others": (
        lambda g: (film(g, f"{NAMES[1]}.avi").write_bytes(b"x"), edit(g, ",1.5,1.9,", ",1.9,1.5,")),
        {}, "the span 1.9-1.5 s is not"),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_bad_inputs_are_refused_before_any_work(
    given: dict[str, Path], tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    change, options, message = REFUSED[name]
    change(given)
    touched: list[Any] = []
    monkeypatch.setattr(make, "transcode", lambda *words, **more: touched.append(words))
    with pytest.raises(SimingError) as caught:
        build_dataset(tmp_path / "exams", **given, options=BuildOptions(**options))
    assert all(part in str(caught.value) for part in message.split(" + ")) and not touched
    assert [path.name for path in tmp_path.iterdir()] == ["given"]


def test_a_misspelled_consensus_or_video_is_reported_alone_and_nobody_has_to_adjudicate_it(
    given: dict[str, Path], tmp_path: Path
) -> None:
    def errors(options: BuildOptions | None = None) -> list[str]:
        with pytest.raises(DataError) as caught:
            build_dataset(tmp_path / "exams", **given, options=options)
        assert [path.name for path in tmp_path.iterdir()] == ["given"]
        return [problem.code for problem in caught.value.problems if problem.severity == "error"]

    assert errors(BuildOptions(consensus="rater_x")) == ["rater-unknown"]
    long_table(given["labels"], differ=True)  # on a step of the first video
    edit(given, NAMES[0], "nowhere")
    assert errors() == ["video-missing"]


def test_a_folder_that_is_there_is_not_overwritten(given: dict[str, Path], tmp_path: Path) -> None:
    first = build_dataset(tmp_path / "exams", **given)
    stamp = (tmp_path / "exams/dataset.yaml").stat().st_mtime_ns
    again = build_dataset(tmp_path / "exams", **given)
    assert again.dataset.digest == first.dataset.digest
    assert (tmp_path / "exams/dataset.yaml").stat().st_mtime_ns == stamp
    edit(given, ",0.4,", ",0.3,")
    (tmp_path / "other").mkdir()
    (tmp_path / "other/thesis.doc").write_text("precious")
    for out in ("exams", "other"):
        with pytest.raises(DataError, match="exists and is not the data set of these inputs"):
            build_dataset(tmp_path / out, **given)
    assert (tmp_path / "other/thesis.doc").read_text() == "precious"


def test_what_lies_among_the_videos_is_known_by_its_content(given: dict[str, Path], tmp_path: Path) -> None:
    """A film of any suffix that is named in full is one; pipes, links that lead round and folders are none."""
    film(given, f"{NAMES[1]}.avi").rename(film(given, "4.rec"))
    edit(given, f"\n{NAMES[1]},", "\n4.rec,")
    os.mkfifo(film(given, "e3.mp4"))
    film(given, "e4.mp4").symlink_to(film(given, "e4.mp4"))
    film(given, "e1.mov").mkdir()
    shutil.copy(film(given, f"{NAMES[0]}.mp4"), film(given, "spare.mp4"))
    built = build_dataset(tmp_path / "exams", **given)
    assert len(built.dataset.videos) == 3
    assert [problem.file for problem in built.warnings if problem.code == "video-unlabelled"] == [str(given["videos"])]


def test_damaged_and_cut_recordings_are_built_on_demand_and_named(given: dict[str, Any], tmp_path: Path) -> None:
    """A Matroska file says at its beginning how long it is; half of its bytes are half of its pictures."""
    copied, cut = film(given, f"{NAMES[0]}.mp4"), film(given, f"camera 2/{NAMES[2]}.mkv")
    write_video(copied, frames=60, rate=30, options={"bf": "0"})
    damage(copied)
    write_video(cut, seed=3, frames=80)
    cut.write_bytes(cut.read_bytes()[: cut.stat().st_size // 2])
    with pytest.raises(DataError, match=r"exam 003\.mkv: \d+ of \d+ pictures will be lost: .*early.*--allow-loss"):
        build_dataset(tmp_path / "exams", **given)
    assert not (tmp_path / "exams").exists()
    built = build_dataset(tmp_path / "exams", **given, options=BuildOptions(allow_loss=True))
    found = {problem.code: problem for problem in built.warnings}
    assert found["media-damaged"].file == str(copied)
    assert found["media-lost"].file == str(cut) and "are missing since the file ends early" in found["media-lost"].what
    assert found["media-cut"].file == str(cut) and "says 8.0 s, and its pictures end after" in found["media-cut"].what
    assert built.dataset.videos[2].duration < 6


# --- interrupted work


def test_videos_beside_one_that_cannot_be_decoded_are_not_done_twice(given: dict[str, Path], tmp_path: Path) -> None:
    good, bad = film(given, f"{NAMES[0]}.mp4"), film(given, f"{NAMES[1]}.avi")
    whole = bad.read_bytes()
    at = whole.index(b"movi") + 4
    bad.write_bytes(whole[:at] + bytes(len(whole) - at))  # its header stays
    with pytest.raises(DataError, match="李四"):
        transcode({"v001": good, "v002": bad}, tmp_path)
    first = (tmp_path / "media/v001.mp4").stat().st_mtime_ns
    bad.write_bytes(whole)
    transcode({"v001": good, "v002": bad}, tmp_path)
    assert (tmp_path / "media/v001.mp4").stat().st_mtime_ns == first


def test_killed_in_the_middle_and_run_again(given: dict[str, Path], tmp_path: Path) -> None:
    """Kill -9 while the second video is being encoded: no folder, and the first video is not encoded again."""
    slow = film(given, f"{NAMES[1]}.avi")
    write_video(slow, seed=2, codec="mpeg4", frames=600, size=(640, 480), rate=30)
    code = "import sys; from siming_tasks.cli import main; sys.exit(main())"
    command = [sys.executable, "-c", code, *words(given, tmp_path / "exams"), "--jobs", "1"]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    part = tmp_path / ".exams.part"
    deadline = time.monotonic() + 120
    while not list((part / "media").glob(".v002.*")) and time.monotonic() < deadline:
        time.sleep(0.005)
    process.send_signal(signal.SIGKILL)
    process.wait()
    assert (part / "done/v001.json").is_file() and not (part / "done/v002.json").exists()
    assert not (tmp_path / "exams").exists()
    media = (part / "media/v001.mp4").stat().st_mtime_ns
    write_video(slow, seed=2, codec="mpeg4")
    build_dataset(tmp_path / "exams", **given)
    assert (tmp_path / "exams/media/v001.mp4").stat().st_mtime_ns == media
    assert check_dataset(tmp_path / "exams").errors == ()
    assert not list(tmp_path.glob(".exams.part*")) and not list((tmp_path / "exams").rglob(".*"))


SMALL_DISK = """
import resource, sys
from siming_tasks.cli import main
import av, numpy, openpyxl, filelock, tqdm  # loaded before anything is limited
resource.setrlimit(resource.RLIMIT_FSIZE, (3000, 3000))
sys.exit(main(sys.argv[1:]))
"""


def test_a_full_disk_is_called_one_and_the_build_goes_on_later(given: dict[str, Path], tmp_path: Path) -> None:
    """A limit on the size of files makes the encoder fail where a full disk does; nothing is said against the video."""
    write_video(film(given, f"{NAMES[0]}.mp4"), seed=1, frames=60, size=(320, 240), options={"crf": "1"})
    command = [sys.executable, "-c", SMALL_DISK, *words(given, tmp_path / "exams")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    last = done.stderr.strip().splitlines()[-1]
    fix = "The file system or a limit allows no larger file. Choose another place."
    assert last.endswith(f"exams: cannot be written: File too large. {fix}"), done.stderr
    assert done.returncode == 1 and "damaged" not in done.stderr and not (tmp_path / "exams").exists()
    assert len(build_dataset(tmp_path / "exams", **given).dataset.videos) == 3


def test_the_same_inputs_are_the_same_bytes_whatever_the_cores_and_jobs(
    given: dict[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_video(film(given, f"{NAMES[1]}.avi"), seed=2, codec="mpeg4", frames=60, size=(640, 480))
    digests = set()
    for cores, jobs in ((1, 1), (16, 3)):
        monkeypatch.setattr(os, "cpu_count", lambda cores=cores: cores)
        digests.add(build_dataset(tmp_path / f"{cores}" / "exams", **given, jobs=jobs).dataset.digest)
    assert len(digests) == 1


def test_command_builds_a_data_set(given: dict[str, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*words(given, tmp_path / "exams"), "--instrument", "rater_b",
                 *("--consensus", "rater_a", "--physician", "rater_a")]) == 0  # fmt: skip
    dataset = open_dataset(tmp_path / "exams")
    said = capsys.readouterr().out.splitlines()
    assert [[cell.strip() for cell in line.split("|")[1:-1]] for line in said[:3:2]] == [
        ["step", "rater_a", "rater_b", "consensus", "N/A", "times", "videos without it"],
        ["cpr_01", "3", "3", "3", "0", "3", "0"],
    ]
    assert said[-6:] == [
        "3 videos, 12 scored steps, 2 raters, 3 students.",
        f"Videos of each student: {', '.join(f'student of {name} (1)' for name in NAMES)}.",
        "Videos of each site: A (3).",
        f"{tmp_path}/exams: 3 videos, 12 judged steps, digest {dataset.digest[:12]}",
        f"{tmp_path}/exams.names.csv: original names and ids. Keep it private.",
        f"Next: siming data check {tmp_path}/exams",
    ]
    assert dataset.rater_facts == {"rater_b": Rater("instrument")} and dataset.physicians == ("rater_a",)
    options = words(given, tmp_path / "exams")[3:]
    assert main(["data", "build", *options]) == 0
    assert capsys.readouterr().out.splitlines() == said[:-3], "without a folder's name the table alone is shown"
    edit(given, ",rater_a,2,", ",rater_a,9,", 1)
    edit(given, ",1.5,1.9,", ",1.5,2.3,", 1)
    film(given, f"{NAMES[1]}.avi").rename(film(given, "spare.avi"))
    assert main(["data", "build", *options]) == 1
    shown = capsys.readouterr()
    assert (
        "1 step ending after the video" in shown.out
        and "9 is outside the range" in shown.err
        and "no such" in shown.err
    )
    assert (
        "warning [video-unlabelled]" in shown.err and "1 video file without a row in the sheet (spare.avi)" in shown.err
    )
    assert json.loads((tmp_path / "exams/videos.jsonl").read_text().splitlines()[0])["canary"] == dataset.meta["canary"]

"""What people give instead of what is meant: one sentence each, before hours of work, and no traceback."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from siming_tasks.common.errors import SimingError
from siming_tasks.tools.builder import BuildOptions, build_dataset
from siming_tasks.tools.builder import build_folder as make
from tests.data.conftest import RUBRIC, STEPS, damage, write_video


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("given")
    write_video(place / "videos" / "e1.mp4")
    write_video(place / "videos" / "e2.mp4", seed=1)
    (place / "rubric.yaml").write_text(yaml.safe_dump(RUBRIC))
    lines = [f"{video},{step},rater_{rater},{top:g}" for video in ("e1", "e2") for rater in "ab" for step, top in STEPS]
    (place / "labels.csv").write_text("\n".join(["video_id,step_id,rater,points", *lines]))
    return place


@pytest.fixture
def given(made: Path, tmp_path: Path) -> dict[str, Path]:
    place = Path(shutil.copytree(made, tmp_path / "given"))
    return {"rubric": place / "rubric.yaml", "labels": place / "labels.csv", "videos": place / "videos"}


def refused(out: Path, given: dict[str, Path], monkeypatch: pytest.MonkeyPatch, **options: Any) -> str:
    """What is said, and that it is said before a video is touched."""
    touched: list[Any] = []
    monkeypatch.setattr(make, "transcode", lambda *words, **more: touched.append(words))
    with pytest.raises(SimingError) as caught:
        build_dataset(out, **given, options=BuildOptions(**options))
    assert not touched
    return str(caught.value)


def loop(path: Path) -> Path:
    path.symlink_to(path)
    return path


def folder(path: Path) -> Path:
    path.mkdir()
    return path


def fifo(path: Path) -> Path:
    os.mkfifo(path)
    return path


@pytest.mark.parametrize(
    ("make_it", "said"),
    [
        (folder, "a folder, and only regular files are read."),
        (fifo, "a pipe, and only regular files are read."),
        (loop, "Too many levels of symbolic links."),
        (lambda path: path, "o such file"),
    ],
)
@pytest.mark.parametrize("role", ["rubric", "labels", "names"])
def test_build_refuses_inputs_that_are_no_files(
    given: dict[str, Path], tmp_path: Path, role: str, make_it: Callable[[Path], Path], said: str, monkeypatch: Any
) -> None:
    path = make_it(tmp_path / ("x.yaml" if role == "rubric" else "x.csv"))
    message = refused(tmp_path / "out", {**given, role: path}, monkeypatch)
    assert f"{path}: " in message and said in message and len(message.splitlines()) == 1


@pytest.mark.parametrize(
    ("make_it", "said"),
    [
        (lambda path: path.write_text("x") and path, "is a file. Give the folder of the video files."),
        (folder, "holds no video file ("),
        (loop, "no such folder."),
    ],
)
def test_build_refuses_a_folder_without_videos(
    given: dict[str, Path], tmp_path: Path, make_it: Callable[[Path], Path], said: str, monkeypatch: Any
) -> None:
    path = make_it(tmp_path / "x")
    assert f"{path}: {said}" in refused(tmp_path / "out", {**given, "videos": path}, monkeypatch)


@pytest.mark.parametrize(
    ("make_it", "said"),
    [
        (lambda path: path.write_text("x"), "out: is a file. Name a folder."),
        (lambda path: path.symlink_to(path), "The links lead round in a circle."),
        (lambda path: path.with_name(".out.part").write_text("x"), ".out.part: is no folder. Name another place"),
        (lambda path: path.with_name(".out.part").symlink_to("nowhere"), ".out.part: is no folder. Name another place"),
    ],
)  # fmt: skip
def test_build_refuses_an_output_that_cannot_be_made(
    given: dict[str, Path], tmp_path: Path, make_it: Callable[[Path], Any], said: str, monkeypatch: Any
) -> None:
    make_it(tmp_path / "out")
    assert said in refused(tmp_path / "out", given, monkeypatch)


@pytest.mark.parametrize(
    ("out", "said"),
    [
        ("given/labels.csv/out", "cannot be written: Not a directory. A part of the path is a file."),
        ("/proc/out", "cannot be written: No such file or directory"),
        ("/", "exists and is not the data set of these inputs."),
        ("x" * 300, "cannot be written: File name too long"),
    ],
)
def test_build_refuses_an_output_in_a_missing_folder(
    given: dict[str, Path], tmp_path: Path, out: str, said: str, monkeypatch: Any
) -> None:
    assert said in refused(tmp_path / out, given, monkeypatch)


def test_links_and_pipes_among_the_videos_are_no_videos(given: dict[str, Path], tmp_path: Path) -> None:
    fifo(given["videos"] / "e3.mp4")
    loop(given["videos"] / "e4.mp4")
    (given["videos"] / "up").symlink_to(given["videos"])
    folder(given["videos"] / "e1.mov")
    built = build_dataset(tmp_path / "out", **given)
    assert len(built.dataset.videos) == 2


SMALL_DISK = """
import resource, sys
from siming_tasks.cli import main
import av, numpy, openpyxl, filelock, tqdm  # loaded before anything is limited
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv.pop(1)),) * 2)
sys.exit(main(sys.argv[1:]))
"""


@pytest.mark.parametrize("room", [3000, 300])
def test_a_full_disk_is_called_one_and_the_build_goes_on_later(
    given: dict[str, Path], tmp_path: Path, room: int
) -> None:
    """A limit on the size of files makes the encoder fail where a full disk does; nothing is said against the video."""
    write_video(given["videos"] / "e2.mp4", seed=1, frames=60, size=(320, 240), options={"crf": "1"})
    words = ["data", "build", str(tmp_path / "out"), *(f"--{name}={path}" for name, path in given.items())]
    command = [sys.executable, "-c", SMALL_DISK, str(room), *words]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    last = done.stderr.strip().splitlines()[-1]
    fix = "The file system or a limit allows no larger file. Choose another place."
    assert last.endswith(f"out: cannot be written: File too large. {fix}"), done.stderr
    assert done.returncode == 1 and "damaged" not in done.stderr and "Traceback" not in done.stderr
    assert not (tmp_path / "out").exists()
    assert len(build_dataset(tmp_path / "out", **given).dataset.videos) == 2


def test_ids_that_are_one_file_elsewhere_are_not_kept(given: dict[str, Path], tmp_path: Path, monkeypatch: Any) -> None:
    (given["videos"] / "e2.mp4").rename(given["videos"] / "E1.mp4")
    given["labels"].write_text(given["labels"].read_text().replace("e2,", "E1,"))
    said = refused(tmp_path / "out", given, monkeypatch, keep_ids=True)
    assert (
        "labels.csv:10: video_id: video 'E1' cannot be kept as an id beside 'e1': on some systems they are one" in said
    )
    assert said.count("\n") == 0


@pytest.mark.parametrize("name", ["Fall 1", "fall/1", "ü", ".e1", "x" * 129])
def test_ids_that_cannot_be_kept(given: dict[str, Path], tmp_path: Path, name: str, monkeypatch: Any) -> None:
    path = given["videos"] / f"{name}.mp4"
    path.parent.mkdir(exist_ok=True)
    (given["videos"] / "e2.mp4").rename(path)
    given["labels"].write_text(given["labels"].read_text().replace("e2,", f"{name},"))
    said = refused(tmp_path / "out", given, monkeypatch, keep_ids=True)
    assert f"labels.csv:10: video_id: video {name!r} cannot be kept as an id" in said


def test_a_video_is_known_by_its_content(given: dict[str, Path], tmp_path: Path, monkeypatch: Any) -> None:
    (given["videos"] / "e2.mp4").rename(given["videos"] / "e2.rec")
    text = given["labels"].read_text()
    given["labels"].write_text(text.replace("e2,", "e2.rec,"))
    assert len(build_dataset(tmp_path / "out", **given).dataset.videos) == 2
    (given["videos"] / "e2.rec").write_text("no video")
    assert "e2.rec: cannot be read" in refused(tmp_path / "out2", given, monkeypatch)
    given["labels"].write_text(text.replace("e2,", "../labels.csv,"))
    assert "video '../labels.csv': no such file in" in refused(tmp_path / "out2", given, monkeypatch)


def test_warnings_are_printed_beside_errors(given: dict[str, Path], tmp_path: Path, capsys: Any) -> None:
    from siming_tasks.cli import main

    shutil.copy(given["videos"] / "e1.mp4", given["videos"] / "spare.mp4")
    given["labels"].write_text(given["labels"].read_text().replace("e1,cpr_01,rater_a,2", "e1,cpr_01,rater_a,9"))
    assert main(["data", "build", str(tmp_path / "out"), *(f"--{name}={path}" for name, path in given.items())]) == 1
    said = capsys.readouterr().err
    assert "warning [video-unlabelled]" in said and "9 is off the scale of cpr_01, 0-2" in said


def test_a_broken_video_that_the_sheet_names_is_not_without_a_row(given: dict[str, Path], tmp_path: Path) -> None:
    broken = given["videos"] / "e1.mp4"
    broken.write_bytes(broken.read_bytes()[:200])
    with pytest.raises(SimingError) as caught:
        build_dataset(tmp_path / "out", **given)
    assert "e1.mp4" in str(caught.value)
    assert all(problem.code != "video-unlabelled" for problem in getattr(caught.value, "problems", []))


def test_a_build_names_damaged_pictures_of_a_stream_that_it_copies(given: dict[str, Path], tmp_path: Path) -> None:
    write_video(given["videos"] / "e1.mp4", frames=60, rate=30, options={"bf": "0"})
    damage(given["videos"] / "e1.mp4")
    built = build_dataset(tmp_path / "out", **given)
    assert any(problem.code == "media-damaged" and "e1.mp4" in str(problem) for problem in built.warnings)

"""The doctor beyond the corruption matrix: what it must not say, and what it does not do."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from itertools import combinations, islice
from pathlib import Path
from typing import Any

import av
import numpy as np
import pytest
import scipy.fft

from siming_tasks.common.schema import Video
from siming_tasks.data import check_dataset
from siming_tasks.data.check.media_checks import black_bars, inspect
from tests.data.conftest import write_video
from tests.data.test_corruption import flip

Edit = Callable[[Callable[[list[dict[str, Any]]], Any]], None]


def perceptual_hash(path: Path) -> np.ndarray[Any, np.dtype[np.bool_]]:
    """The usual 64-bit DCT hash of the first picture."""
    with av.open(str(path)) as container:
        picture = next(container.decode(video=0)).to_ndarray(format="gray", width=32, height=32, interpolation="AREA")
    low = scipy.fft.dctn(picture.astype(float))[:8, :8]
    return low > np.median(low)


def copies(root: Path) -> list[str]:
    return [problem.what for problem in check_dataset(root).problems if problem.code == "media-copy"]


def test_other_exams_before_the_same_camera_are_no_copies(folder: Path) -> None:
    """The reason why the usual hash of a picture is not used: the room is most of it."""
    for number in (1, 2, 3):
        write_video(folder / f"media/v00{number}.mp4", seed=number, scene=5, size=(320, 240))
    hashes = [perceptual_hash(folder / f"media/v00{number}.mp4") for number in (1, 2, 3)]
    apart = [int((first ^ second).sum()) for first, second in combinations(hashes, 2)]
    assert max(apart) <= 16 and min(apart) <= 12  # of 64 bits, where two unrelated pictures differ in 32
    assert copies(folder) == []


@pytest.mark.parametrize(
    "how",
    [{"options": {"crf": "40"}}, {"size": (160, 120)}, {"rate": 10, "codec": "mpeg4"}],
    ids=["crf", "size", "codec"],
)
def test_a_copy_is_seen_through_another_encoding(folder: Path, how: dict[str, Any]) -> None:
    source = folder / "media/v001.mp4"
    write_video(source, seed=4, size=(320, 240))
    with av.open(str(source)) as opened, av.open(str(folder / "media/v003.mp4"), "w") as out:
        stream = out.add_stream(how.get("codec", "libx264"), rate=10)
        stream.width, stream.height = how.get("size", (320, 240))
        stream.pix_fmt, stream.options = "yuv420p", how.get("options", {})
        for frame in opened.decode(video=0):
            picture = frame.reformat(width=stream.width, height=stream.height)
            picture.pict_type = 0
            out.mux(stream.encode(picture))
        out.mux(stream.encode(None))
    (said,) = copies(folder)
    assert said.startswith("videos 'v001' and 'v003' show the same (similarity ")


def test_several_exams_in_one_file_are_no_copies(folder: Path, edit: Edit) -> None:
    edit(lambda rows: rows[0].update(media="media/v002.mp4"))
    assert copies(folder) == []


def test_quick_does_not_decode(folder: Path) -> None:
    flip(folder)
    assert check_dataset(folder, quick=True).errors == ()
    assert {problem.code for problem in check_dataset(folder).errors} == {"media-damaged", "media-digest"}


def test_jobs_do_not_change_the_report(folder: Path) -> None:
    flip(folder)
    write_video(folder / "media/v002.mp4", audio=True, size=(62, 46))
    assert check_dataset(folder, jobs=1) == check_dataset(folder, jobs=3)


def test_one_rotten_row_does_not_hide_the_others(folder: Path, edit: Edit) -> None:
    edit(lambda rows: [rows[0].pop("steps"), rows[1].update(duration=9.0)])
    (folder / "media/v003.mp4").write_bytes(b"")
    codes = {problem.code for problem in check_dataset(folder).errors}
    assert codes == {"row-invalid", "media-duration", "media-empty"}


def test_the_report_is_json(folder: Path) -> None:
    flip(folder)
    report = json.loads(json.dumps(check_dataset(folder).to_json(), allow_nan=False))
    assert report["ok"] is False
    assert set(report["errors"][0]) == {"code", "what", "fix", "file", "line", "field", "severity"}
    assert report["summary"]["videos"] == 3


@pytest.mark.parametrize("make", [lambda path: None, lambda path: path.write_text("x"), lambda path: path.mkdir()])
def test_check_refuses_what_is_no_folder(tmp_path: Path, make: Callable[[Path], Any]) -> None:
    make(tmp_path / "x")
    assert check_dataset(tmp_path / "x").errors


def test_black_bars_by_hand() -> None:
    """Dark pictures: a picture with 3 columns of bars at the left, an uneven horizon, and a night without any end."""
    rng = np.random.default_rng(0)
    night = rng.integers(16, 26, (60, 80)).astype(np.uint8)
    lit = np.where(np.arange(60)[:, None] > 20 + 10 * np.sin(np.arange(80) / 12), 90, night).astype(np.uint8)
    assert black_bars(night, night) == {} == black_bars(lit, lit)
    barred = lit.copy()
    barred[:, :3] = 16
    barred[50:] = 16
    assert black_bars(barred, barred) == {"bottom": 10, "left": 3}
    later = barred.copy()
    later[:50, 1] = 80  # something moves there: no bar
    assert black_bars(barred, np.maximum(barred, later)) == {"bottom": 10}


def some_pictures(source: Path) -> list[np.ndarray[Any, Any]]:
    """Every tenth picture of the first hundred."""
    with av.open(str(source)) as container:
        frames = islice(container.decode(video=0), 100)
        return [frame.to_ndarray(format="rgb24") for number, frame in enumerate(frames) if number % 10 == 0]


def barred(images: list[np.ndarray[Any, Any]], target: Path, sides: tuple[int, int, int, int]) -> None:
    """Write pictures within black bars (top, bottom, left, right) as H.264."""
    with av.open(str(target), "w") as written:
        top, bottom, left, right = sides
        images = [np.pad(image, ((top, bottom), (left, right), (0, 0))) for image in images]
        stream = written.add_stream("libx264", rate=10)
        stream.height, stream.width = (side // 2 * 2 for side in images[0].shape[:2])
        stream.pix_fmt = "yuv420p"
        for image in images:
            shown = np.ascontiguousarray(image[: stream.height, : stream.width])
            written.mux(stream.encode(av.VideoFrame.from_ndarray(shown, format="rgb24")))
        written.mux(stream.encode())


def bars_of(path: Path) -> list[str]:
    """What a check says of the bars of one file."""
    video = Video("v", "v.mp4", 1.2, ())
    return [problem.what for problem in inspect(path, video, 1).problems if problem.code == "media-bars"]


def test_added_bars_are_found_after_coding(folder: Path, tmp_path: Path) -> None:
    source = some_pictures(folder / "media/v001.mp4")  # 64 x 48
    barred(source, tmp_path / "plain.mp4", (0, 0, 0, 0))
    barred(source, tmp_path / "letter.mp4", (16, 16, 0, 0))
    barred(source, tmp_path / "pillar.mp4", (0, 0, 8, 24))
    assert bars_of(tmp_path / "plain.mp4") == []
    (letter,), (pillar,) = (bars_of(tmp_path / f"{name}.mp4") for name in ("letter", "pillar"))
    assert "black bars (16 rows at the top, 16 rows at the bottom)" in letter
    assert "black bars (8 columns at the left, 24 columns at the right)" in pillar


FOOTAGE = Path(os.environ.get("SIMING_FOOTAGE", "footage"))


@pytest.mark.skipif(not FOOTAGE.is_dir(), reason="SIMING_FOOTAGE names no folder of recordings")
def test_recordings_have_no_bars_until_some_are_added(tmp_path: Path) -> None:
    """Phones, cameras, old films and night scenes: no false alarm; nine in ten of those with bars are found."""
    found = []
    for source in sorted(FOOTAGE.glob("*.m*")):
        if source.suffix == ".md" or "hdr" in source.name:
            continue
        images = some_pictures(source)
        barred(images, tmp_path / "plain.mp4", (0, 0, 0, 0))
        assert bars_of(tmp_path / "plain.mp4") == [], source.name
        barred(images, tmp_path / "out.mp4", (40, 40, 0, 0))
        found.append(any("rows at the top" in what for what in bars_of(tmp_path / "out.mp4")))
    assert len(found) > 20 and np.mean(found) >= 0.9

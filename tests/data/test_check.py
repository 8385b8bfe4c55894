"""The doctor beyond the corruption matrix: what it must not say, and what it does not do."""

from __future__ import annotations

import json
from collections.abc import Callable
from itertools import combinations
from pathlib import Path
from typing import Any

import av
import numpy as np
import pytest
import scipy.fft

from siming_tasks.data import check_dataset
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

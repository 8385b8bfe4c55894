"""One gate of recordings for building and rating: every fault of every file in one report, before anything is done."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
import yaml

from siming_tasks.common.errors import DataError, MediaError
from siming_tasks.tools.builder import build_dataset
from siming_tasks.tools.builder.source_gate import Recording, look_at
from siming_tasks.tools.builder.transcode import normalise
from siming_tasks.tools.builder.video_files import sound_problems
from siming_tasks.tools.station.station_exams import find_exams
from tests.data.conftest import RUBRIC, write_video
from tests.tools.builder.conftest import film_with_tone, late_sound


def no_pictures(path: Path) -> None:
    write_video(path, codec="mpeg4")
    whole = path.read_bytes()
    at = whole.index(b"movi") + 4
    path.write_bytes(whole[:at] + bytes(len(whole) - at))


def jumps(path: Path) -> None:
    write_video(path, frames=12, pts=[100 * number + 86_400_000 * (number >= 6) for number in range(12)])


BROKEN: dict[str, tuple[Callable[[Path], object], str]] = {
    "text.mp4": (lambda path: path.write_bytes(b"hello" * 1000), "cannot be read"),
    "list.mp4": (lambda path: path.write_text("#EXTM3U\nhttp://127.0.0.1/x"), "list.mp4"),
    "black.avi": (no_pictures, "black.avi"),
    "jumps.mkv": (jumps, "its times jump from"),
    "head.mp4": (lambda path: path.write_bytes(write_video(path).read_bytes()[:300]), "head.mp4"),
}


def test_every_fault_of_every_file_is_in_one_report_of_the_build_and_of_the_station(tmp_path: Path) -> None:
    videos = write_video(tmp_path / "videos" / "good.mp4", seed=1).parent
    for name, (make, _) in BROKEN.items():
        make(videos / name)
        for use in (look_at, lambda path: normalise(path, tmp_path / "out.mp4")):
            with pytest.raises(MediaError, match=name):
                use(videos / name)
    names = ["good.mp4", *BROKEN]
    steps = [step["id"] for skill in RUBRIC["skills"] for step in skill["steps"]]
    rows = [f"{name},{step},consensus,2" for name in names for step in steps]
    rows[0] = rows[0].removesuffix("2") + "two"
    (tmp_path / "labels.csv").write_text("\n".join(["video_id,step_id,rater,points", *rows]))
    (tmp_path / "spans.csv").write_text("video_id,step_id,start,end\ngood.mp4,cpr_01,1,99\ngood.mp4,cpr_02,x,1\n")
    (tmp_path / "rubric.yaml").write_text(yaml.safe_dump(RUBRIC))
    with pytest.raises(DataError) as caught:
        build_dataset(tmp_path / "out", rubric=tmp_path / "rubric.yaml", videos=videos,
                      labels=[tmp_path / "labels.csv", tmp_path / "spans.csv"])  # fmt: skip
    said = str(caught.value)
    for name, (_, message) in BROKEN.items():
        assert any(name in line and message in line for line in said.splitlines()), (name, said)
    assert "'two' is not a number of points" in said
    assert "'x' is not a time" in said and "ends at 99 s, but the video at 2.00 s" in said
    assert not list(tmp_path.glob("*out*"))
    with pytest.raises(DataError) as caught:
        find_exams(videos, tmp_path / "cache")
    assert all(name in str(caught.value) for name in BROKEN) and "good.mp4" not in str(caught.value)


def test_sound_begins_with_its_first_packet(tmp_path: Path) -> None:
    """Matroska's header says 0: every line of a transcript was 4 s too early."""
    source = late_sound(film_with_tone(tmp_path / "a.mkv", "mono", codec="aac"), tmp_path / "b.mkv", 4.0)
    recording = look_at(source)
    assert recording.sound == pytest.approx(4.0, abs=0.03) and recording.tracks == 1
    assert look_at(write_video(tmp_path / "silent.mp4")).sound is None


def test_sound_that_is_to_be_kept_is_there_in_every_video_and_further_tracks_are_named() -> None:
    films = {name: Recording(Path(f"{name}.mkv"), 2.0, 2.0, 0.0 if tracks else None, tracks)
             for name, tracks in (("silent", 0), ("heard", 1), ("two", 2))}  # fmt: skip
    missing, tracks = sound_problems(films)
    assert (missing.code, missing.severity) == ("sound-missing", "error")
    assert missing.what.startswith("1 of 3 videos have no sound ('silent')")
    assert (tracks.code, tracks.severity, tracks.file) == ("sound-tracks", "warning", "two.mkv")

"""One gate of recordings for building and rating: every fault of every file in one report, before anything is done."""

from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import av
import numpy as np
import pytest
import yaml

from siming_tasks.benchmark.exams import StepLabel, Video
from siming_tasks.common.errors import DataError, MediaError
from siming_tasks.data.check.media_checks import inspect
from siming_tasks.media.plain_copy import copy_plain
from siming_tasks.media.sound import decode_sound, has_sound, silences_of
from siming_tasks.tools.builder import build_dataset
from siming_tasks.tools.builder.source_gate import Recording, look_at, loss_problem
from siming_tasks.tools.builder.transcode import normalise
from siming_tasks.tools.builder.video_files import sound_problems
from siming_tasks.tools.station.station_exams import find_exams
from tests.data.conftest import RUBRIC, write_video
from tests.media.conftest import make
from tests.tools.builder.conftest import film_with_tone, late_sound


def no_pictures(path: Path) -> None:
    write_video(path, codec="mpeg4")
    whole = path.read_bytes()
    at = whole.index(b"movi") + 4
    path.write_bytes(whole[:at] + bytes(len(whole) - at))


def jumps(path: Path) -> None:
    write_video(path, frames=12, pts=[100 * number + 86_400_000 * (number >= 6) for number in range(12)])


def joined(path: Path) -> None:
    """Two recordings by ``cat``: both were built, interleaved."""
    one, two = (write_video(path.with_name(name), seed=seed) for seed, name in ((1, "1.ts"), (2, "2.ts")))
    path.write_bytes(one.read_bytes() + two.read_bytes())
    one.unlink(), two.unlink()


def turned_midway(path: Path) -> None:
    """A phone that was turned while it filmed: the second half was squeezed."""
    with av.open(str(path), "w") as out:
        stream: Any = out.add_stream("libx264", rate=10, options={"bf": "0"})
        stream.width, stream.height, stream.pix_fmt = 64, 48, "yuv420p"
        for part, (width, height) in enumerate([(64, 48), (48, 64)]):
            coder: Any = av.CodecContext.create("libx264", "w")
            coder.width, coder.height, coder.pix_fmt = width, height, "yuv420p"
            coder.time_base, coder.framerate, coder.options = Fraction(1, 1000), Fraction(10), {"bf": "0"}
            packets = []
            for index in range(10):
                frame = av.VideoFrame.from_ndarray(np.full((height, width, 3), 20 * index, np.uint8), format="rgb24")
                frame.pts, frame.time_base = 1000 * part + 100 * index, Fraction(1, 1000)
                packets += coder.encode(frame)
            for packet in [*packets, *coder.encode(None)]:
                packet.stream, packet.time_base = stream, Fraction(1, 1000)
                out.mux(packet)


BROKEN: dict[str, tuple[Callable[[Path], object], str]] = {
    "text.mp4": (lambda path: path.write_bytes(b"hello" * 1000), "cannot be read"),
    "list.mp4": (lambda path: path.write_text("#EXTM3U\nhttp://127.0.0.1/x"), "list.mp4"),
    "black.avi": (no_pictures, "black.avi"),
    "jumps.mkv": (jumps, "its times jump from"),
    "joined.ts": (joined, "timestamps go backwards, from "),
    "turned.mkv": (turned_midway, "its pictures change from 64x48 to 48x64 at 1.00 s"),
    "head.mp4": (lambda path: path.write_bytes(write_video(path).read_bytes()[:300]), "head.mp4"),
}


def test_every_fault_of_every_file_is_in_one_report_of_the_build_and_of_the_station(tmp_path: Path) -> None:
    videos = write_video(tmp_path / "videos" / "good.mp4", seed=1).parent
    for name, (spoil, _) in BROKEN.items():
        spoil(videos / name)
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


def with_unknown_sound(path: Path) -> Path:
    """A film whose sound no decoder of FFmpeg knows, as Apple's spatial sound: asking one ended the process."""
    film_with_tone(path, "mono", codec="aac")
    path.write_bytes(path.read_bytes().replace(b"mp4a", b"apac", 1).replace(b"esds", b"dapa", 1))
    return path


def test_sound_without_a_decoder_is_named_before_it_is_asked_for(tmp_path: Path) -> None:
    film = with_unknown_sound(tmp_path / "a.mp4")
    recording = look_at(film)
    assert recording.unknown and recording.tracks == 1
    (found,) = sound_problems({"a": recording})
    assert (found.code, found.severity, found.file) == ("sound-unknown", "error", str(film))
    said = r"a\.mp4: the first of its 1 sound tracks has an unknown codec"
    for use in (
        lambda: decode_sound(film, 0.0),
        lambda: list(silences_of(film, 0.0, 1.0)),
        lambda: normalise(film, tmp_path / "b.mp4", keep_audio=True),
        lambda: copy_plain(film, tmp_path / "b.mp4", sound=True),
    ):
        with pytest.raises(MediaError, match=said):
            use()
    assert not has_sound(film) and has_sound(film, known=False)
    assert normalise(film, tmp_path / "b.mp4").frames == 10
    row = Video("v", "a.mp4", 1.0, (StepLabel("s", 0.0, 1.0),))
    assert "sound-unknown" in [problem.code for problem in inspect(film, row, 1, sound=True).problems]


CUT = {
    "cut.webm": ({"codec": "libvpx", "options": {"deadline": "realtime", "cpu-used": "8"}}, {}),
    "cut.mkv": ({}, {}),
    "cut.mov": ({}, {"movflags": "faststart"}),
    "cut.avi": ({"codec": "mpeg4"}, {}),
}


@pytest.mark.parametrize("name", CUT)
def test_an_early_end_is_known_without_decoding_and_counted(tmp_path: Path, name: str) -> None:
    """A .webm of 150 pictures was built with the 24 that a broken copy held, and no error."""
    how, container = CUT[name]
    path = make(tmp_path / name, 150, size=(160, 96), container=container, **how)
    assert (look_at(path).pictures, look_at(path).lost, look_at(path).cut()) == (150, {}, None)
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) // 3])
    recording = look_at(path)
    missing = recording.lost["are missing since the file ends early"]
    with av.open(str(path)) as film:
        held = sum(bool(packet.size) for packet in film.demux(video=0))
    assert recording.pictures == pytest.approx(150, abs=2) and missing == pytest.approx(150 - held, abs=2)
    cut, loss = recording.cut(), loss_problem(recording, recording.lost, allowed=False)
    assert cut and cut.what.startswith("says 6.0 s, and its pictures end after ")
    assert loss and (loss.code, loss.severity) == ("media-lost", "error") and "--allow-loss" in loss.fix
    allowed = loss_problem(recording, recording.lost, allowed=True)
    assert allowed and allowed.severity == "warning"


def test_sound_that_goes_on_is_no_early_end(tmp_path: Path) -> None:
    film = film_with_tone(tmp_path / "a.mkv", "mono")
    late = look_at(late_sound(film, tmp_path / "b.mkv", 4.0))
    assert late.lost == {} and late.sound_end == pytest.approx(5, abs=0.05)
    cut = late.cut()
    assert cut and "its pictures end after 1.0 s (its sound after 5.0 s)" in cut.what


def test_a_twentieth_may_be_lost() -> None:
    film = Recording(Path("a.mkv"), 4.0, 4.0, pictures=100)
    for lost, severity in ((5, "warning"), (6, "error")):
        found = loss_problem(film, {"cannot be decoded": lost}, allowed=False)
        assert found and found.severity == severity
        assert found.what == f"{lost} of 100 pictures will be lost: {lost} cannot be decoded."


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
    assert missing.what.startswith("there is no sound in 1 of 3 videos ('silent')")
    assert (tracks.code, tracks.severity, tracks.file) == ("sound-tracks", "warning", "two.mkv")

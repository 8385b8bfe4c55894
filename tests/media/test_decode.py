"""Every shape of file gives the frames of a plain linear decode, or is refused by name."""

import json
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import av
import numpy as np
import pytest

from siming_tasks.benchmark.exams import Video
from siming_tasks.common.errors import MediaError
from siming_tasks.media import read_timeline
from siming_tasks.media.clips import write_clip
from siming_tasks.media.decode import decode
from siming_tasks.media.picture import to_rgb
from siming_tasks.media.run_plan import ExamFacts
from siming_tasks.media.timeline import Timeline

SHAPES = ["plain", "b_pyramid", "no_b", "open_gop", "vfr", "odd", "ten_bit", "hevc", "vp9", "ts", "mkv", "rotated_90",
          "started_early", "trimmed", "one_frame"]  # fmt: skip


@pytest.mark.parametrize("shape", SHAPES)
def test_frames_are_those_of_a_linear_decode(videos: Any, shape: str) -> None:
    path = videos.get(shape)
    reference = videos.linear(path)
    timeline = read_timeline(path)
    assert timeline.pts.tolist() == [pts for pts, _ in reference]
    for some in (range(0, 60, 7), range(3), [20, 21, 33], [24]):
        wanted = [index for index in some if index < len(reference)]
        decoded = list(decode(path, timeline, wanted))
        assert [index for index, _ in decoded] == wanted
        for index, frame in decoded:
            assert frame.pts == reference[index][0]
            assert np.array_equal(frame.to_ndarray(format="rgb24"), reference[index][1])


def test_a_cut_inside_an_open_gop_starts_at_the_first_whole_frame(videos: Any) -> None:
    path, source = videos.get("cut_open_gop"), videos.get("open_gop")
    timeline = read_timeline(path)
    numbers = [videos.number(to_rgb(frame)) for _, frame in decode(path, timeline, range(timeline.n_frames))]
    assert numbers == list(range(10, 60))
    assert read_timeline(source).keyframes[1] == 10


def test_the_whole_display_matrix_is_applied_as_players_do(videos: Any, tmp_path: Path) -> None:
    """Every turn and every flip, in frames, clips and plans; flips were shown mirrored."""
    stored = videos.linear(videos.get("plain"))[30][1]
    for name, matrix in videos.matrices.items():
        path, expected = videos.get(name), videos.upright(stored, matrix)
        timeline = read_timeline(path)
        ((_, frame),) = decode(path, timeline, [30])
        assert np.array_equal(to_rgb(frame), expected), name
        exam = ExamFacts.read(path, Video("v", "v", 1.0, ()))
        assert (exam.height, exam.width) == expected.shape[:2]
        assert not timeline.standard, "some readers show it as it is stored"
        write_clip(path, timeline, 25, 35, tmp_path / "clip.mp4")
        assert videos.psnr(videos.linear(tmp_path / "clip.mp4")[5][1], expected) > 37


def test_timelines_count_frames_and_survive_json(videos: Any) -> None:
    trimmed, single, plain = (read_timeline(videos.get(shape)) for shape in ("trimmed", "one_frame", "plain"))
    assert (trimmed.n_frames, trimmed.duration) == (25, pytest.approx(1.0)), "its header says 60"
    assert (single.n_frames, single.duration) == (1, pytest.approx(0.04))
    assert (plain.n_frames, float(plain.rate), plain.duration) == (60, 25.0, pytest.approx(2.4))
    timeline = read_timeline(videos.get("vfr"))
    again = Timeline.from_json(json.loads(json.dumps(timeline.to_json())))
    assert again.to_json() == timeline.to_json()
    assert np.array_equal(again.times, [(i * i + 10 * i) / 600 for i in range(60)])
    even = Timeline.even(5, 29.97)  # whose time base is 100/2997 s
    assert even.times.tolist() == pytest.approx([index / 29.97 for index in range(5)])
    assert even.duration == pytest.approx(5 / 29.97)


def test_an_avi_with_b_frames_has_its_pictures_in_their_places(videos: Any, tmp_path: Path) -> None:
    """It states no times of showing, and FFmpeg guesses wrong: the n-th picture is shown at the n-th time."""
    path = videos.make(tmp_path / "b.avi", 30)
    timeline = read_timeline(path)
    assert timeline.by_order and timeline.times.tolist() == pytest.approx([index / 25 for index in range(30)])
    wanted = [3, 4, 17, 29]
    assert [videos.number(to_rgb(frame)) for _, frame in decode(path, timeline, wanted)] == wanted


# Refused, each by its name ---------------------------------------------------------------------------------------


def refusal(path: Path) -> str:
    with pytest.raises(MediaError) as caught:
        timeline = read_timeline(path)
        list(decode(path, timeline, range(timeline.n_frames)))
    assert str(caught.value).startswith(f"{path}: ")
    return str(caught.value).removeprefix(f"{path}: ")


def sound_only(path: Path, videos: Any) -> None:
    with av.open(str(path), "w") as output:
        stream: Any = output.add_stream("aac", rate=16000)
        frame = av.AudioFrame.from_ndarray(np.zeros((1, 1024), np.float32), format="fltp", layout="mono")
        frame.sample_rate, frame.pts = 16000, 0
        output.mux([*stream.encode(frame), *stream.encode(None)])


def cut(path: Path, videos: Any, share: float = 0.6, **container: str) -> None:
    whole = videos.make(path, container=container).read_bytes()
    path.write_bytes(whole[: int(len(whole) * share) or whole.index(b"mdat") + 4])


def cut_between(path: Path, videos: Any) -> None:
    """A file that ends with its 30th frame, to the byte."""
    data = videos.make(path, container={"movflags": "faststart"}, options={"bf": "0"}).read_bytes()
    with av.open(str(path)) as container:
        packets = [packet for packet in container.demux(video=0) if packet.size][:30]
        end = int(packets[-1].pos or 0) + packets[-1].size
    path.write_bytes(data[:end])


def interleaved(path: Path, videos: Any) -> None:
    """Two recordings in one file whose clocks interleave: no two stamps are equal, yet their order is wrong."""
    first, later = videos.make(path).read_bytes(), [0, *range(1800, 90_000, 3600)]
    second = videos.make(path, len(later), pts=later, time_base=Fraction(1, 90_000), options={"bf": "0"})
    path.write_bytes(first + second.read_bytes())


FAULTY: list[tuple[str, Callable[[Path, Any], Any], str]] = [
    ("text.mp4", lambda path, videos: path.write_bytes(b"hello" * 100), "cannot be read (Invalid data"),
    ("sound.mp4", sound_only, "contains no video."),
    ("cut.mp4", lambda path, videos: cut(path, videos, movflags="faststart"),
     "cut short or damaged: the last whole frame is at 0.9"),
    ("between.mp4", cut_between, "cut short or damaged: the last whole frame is at 1.160 s"),
    ("headless.mp4", cut, "cannot be read (Invalid data"),  # index at the end
    ("empty.mp4", lambda path, videos: cut(path, videos, 0, movflags="faststart"), "contains no video frames."),
    ("raw.h264", lambda path, videos: videos.make(path, 30), "has frames without timestamps. Make a clean copy"),
    ("twice.ts", lambda path, videos: path.write_bytes(2 * videos.get("ts").read_bytes()),
     "timestamps go backwards, from "),
    ("joined.mp4", lambda path, videos: path.write_bytes(2 * videos.make(path).read_bytes()),
     "several recordings joined to one file"),
    ("joined.mov", lambda path, videos: path.write_bytes(2 * videos.make(path).read_bytes()),
     "several recordings joined to one file"),
    ("fast.mkv", lambda path, videos: videos.make(path, 8, pts=[0, 10, 20, 21, 30, 40, 50, 60], options={"bf": "0"},
                                                  time_base=Fraction(1, 4000)),  # Matroska has milliseconds
     "two frames share the timestamp 0.005 s."),
    ("both.ts", interleaved, "timestamps go backwards, from "),
]  # fmt: skip


def test_no_chain_of_boxes_holds_a_reader_up(videos: Any, tmp_path: Path) -> None:
    whole = videos.make(tmp_path / "whole.mp4").read_bytes()
    for number, more in enumerate((b"\0\0\0\1free" + bytes(8), b"\0\0\0\0free", b"\0\0\0\x08free" * 200_000, b"\0\0")):
        (path := tmp_path / f"{number}.mp4").write_bytes(whole + more)
        assert read_timeline(path).n_frames == 60
    (tmp_path / "sixteen.mp4").write_bytes(whole + b"\0\0\0\1free" + (16).to_bytes(8, "big") + whole)
    assert refusal(tmp_path / "sixteen.mp4").startswith("several recordings joined")


@pytest.mark.parametrize(("name", "make", "words"), FAULTY, ids=[name for name, *_ in FAULTY])
def test_files_whose_frames_or_times_are_not_sure_are_refused(
    videos: Any, tmp_path: Path, name: str, make: Callable[[Path, Any], Any], words: str
) -> None:
    make(tmp_path / name, videos)
    assert refusal(tmp_path / name).startswith(words)


@pytest.mark.parametrize("where", ["head", "tail"])
def test_a_damaged_frame_is_named_with_its_time(videos: Any, tmp_path: Path, where: str) -> None:
    path = videos.make(tmp_path / "bad.mp4", options={"bf": "0", "crf": "1", "sc_threshold": "0"})
    with av.open(str(path)) as container:
        packet = next(packet for number, packet in enumerate(container.demux(video=0)) if number == 30)
        at, size = int(packet.pos or 0), packet.size
    data = bytearray(path.read_bytes())
    for offset in range(at + (10 if where == "head" else size * 3 // 4), at + size):
        data[offset] ^= 0xA5
    path.write_bytes(data)
    timeline = read_timeline(path)
    assert timeline.n_frames == 60, "the packets are all there; only decoding can tell"
    message = refusal(path)
    assert message.startswith("the frame at 1.200 s") and "damaged" in message
    assert [index for index, _ in decode(path, timeline, [24, 29])] == [24, 29]
    with pytest.raises(MediaError, match=r"the frame at 1\.2"):
        list(decode(path, timeline, [33]))  # built on the damaged one
    assert [index for index, _ in decode(path, timeline, [40])] == [40], "behind the next keyframe all is well"

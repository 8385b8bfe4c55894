"""Every shape of file gives the frames of a plain linear decode, or is refused by name."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import av
import numpy as np
import pytest

from siming_tasks.common.errors import MediaError
from siming_tasks.common.schema import Video
from siming_tasks.media import read_timeline
from siming_tasks.media.clips import write_clip
from siming_tasks.media.decode import decode
from siming_tasks.media.picture import fit_size, to_jpeg, to_rgb
from siming_tasks.media.run_plan import ExamFacts
from siming_tasks.media.timeline import Timeline

SHAPES = [
    *("photo", "plain", "b_pyramid", "no_b", "open_gop", "vfr", "odd", "ten_bit", "full_range"),
    *("bt709", "hevc", "vp9", "ts", "mkv", "rotated_90", "started_early", "trimmed"),
]


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize(
    "wanted", [range(0, 60, 7), range(3), [20, 21, 33], [24]], ids=["sparse", "head", "mid", "one"]
)
def test_frames_are_those_of_a_linear_decode(videos: Any, shape: str, wanted: Any) -> None:
    path = videos.get(shape)
    reference = videos.linear(path)
    timeline = read_timeline(path)
    assert timeline.pts.tolist() == [pts for pts, _ in reference]
    wanted = [index for index in wanted if index < len(reference)]
    decoded = [(index, frame.pts, frame.to_ndarray(format="rgb24")) for index, frame in decode(path, timeline, wanted)]
    assert [index for index, *_ in decoded] == wanted
    for index, pts, array in decoded:
        assert pts == reference[index][0]
        assert np.array_equal(array, reference[index][1])


def test_numbers_in_the_pictures_agree(videos: Any) -> None:
    """Guards the reference itself: frame i of the file shows number i."""
    path = videos.get("b_pyramid")
    assert [videos.number(array) for _, array in videos.linear(path)] == list(range(60))
    assert [videos.number(to_rgb(frame)) for _, frame in decode(path, read_timeline(path), range(60))] == list(
        range(60)
    )


def test_a_cut_inside_an_open_gop_starts_at_the_first_whole_frame(videos: Any) -> None:
    path, source = videos.get("cut_open_gop"), videos.get("open_gop")
    timeline = read_timeline(path)
    numbers = [videos.number(to_rgb(frame)) for _, frame in decode(path, timeline, range(timeline.n_frames))]
    assert numbers == list(range(10, 60))
    assert read_timeline(source).keyframes[1] == 10


def test_unwanted_b_frames_are_not_decoded(videos: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """The point of the sparse pass; without it this test sees all 60 frames."""
    from siming_tasks.media import decode as module

    seen = []
    frames = module._frames

    def counted(*args: Any, **options: Any) -> Any:
        for frame in frames(*args, **options):
            seen.append(frame.pts)
            yield frame

    monkeypatch.setattr(module, "_frames", counted)
    path = videos.get("plain")
    assert [index for index, _ in module.decode(path, read_timeline(path), [0, 59])] == [0, 59]
    assert len(seen) < 45


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


def test_a_4k_ten_bit_frame_is_scaled_on_the_way(videos: Any) -> None:
    path = videos.get("uhd")
    ((_, frame),) = decode(path, read_timeline(path), [1])
    assert (frame.width, frame.format.name) == (3840, "yuv420p10le")
    small, whole = to_rgb(frame, 1280), to_rgb(frame)
    assert small.shape == (720, 1280, 3)
    assert whole.shape == (2160, 3840, 3)
    assert abs(small - whole[1::3, 1::3].astype(float)).max() <= 2  # a ramp: the mean of three is the middle


@pytest.mark.parametrize(
    ("size", "limit", "expected"),
    [
        ((1920, 1080), 1280, (1280, 720)),
        ((1080, 1920), 1280, (720, 1280)),
        ((640, 480), 1280, (640, 480)),
        ((4000, 3), 1000, (1000, 1)),
        ((1920, 1080), None, (1920, 1080)),
    ],
)
def test_scaling_never_enlarges(size: tuple[int, int], limit: int | None, expected: tuple[int, int]) -> None:
    assert fit_size(*size, limit) == expected


def test_opencv_writes_the_jpeg_that_pillow_writes(videos: Any) -> None:
    import io

    from PIL import Image

    path = videos.get("plain")
    ((_, frame),) = decode(path, read_timeline(path), [7])
    theirs = io.BytesIO()
    Image.fromarray(to_rgb(frame)).save(theirs, format="JPEG", quality=90)
    ours = np.asarray(Image.open(io.BytesIO(to_jpeg(frame, None, 90))))
    assert np.array_equal(ours, np.asarray(Image.open(theirs)))


# Refused, each by its name ---------------------------------------------------------------------------------------


def refusal(path: Path, full: bool = False) -> str:
    with pytest.raises(MediaError) as caught:
        timeline = read_timeline(path)
        list(decode(path, timeline, range(timeline.n_frames if full else 1)))
    message = str(caught.value)
    assert message.startswith(f"{path}: ")
    return message.removeprefix(f"{path}: ")


def test_a_missing_file_is_refused_by_name(tmp_path: Path) -> None:
    assert refusal(tmp_path / "none.mp4") == "no such file."


def test_a_file_that_is_no_video_is_refused(tmp_path: Path) -> None:
    for content in (b"", b"hello" * 100):
        path = tmp_path / "text.mp4"
        path.write_bytes(content)
        assert refusal(path).startswith("cannot be read (Invalid data")


def test_a_file_of_sound_only_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "sound.mp4"
    with av.open(str(path), "w") as output:
        stream = output.add_stream("aac", rate=16000)
        frame = av.AudioFrame.from_ndarray(np.zeros((1, 1024), np.float32), format="fltp", layout="mono")
        frame.sample_rate, frame.pts = 16000, 0
        output.mux(stream.encode(frame))  # type: ignore[attr-defined]
        output.mux(stream.encode(None))  # type: ignore[attr-defined]
    assert refusal(path) == "holds no video."


def test_a_file_cut_short_is_refused_with_its_last_whole_frame(videos: Any, tmp_path: Path) -> None:
    whole = videos.make(tmp_path / "whole.mp4", container={"movflags": "faststart"}).read_bytes()
    (tmp_path / "cut.mp4").write_bytes(whole[: len(whole) * 6 // 10])
    assert refusal(tmp_path / "cut.mp4").startswith("cut short or damaged: the last whole frame is at 0.9")
    headless = videos.get("plain").read_bytes()  # the index stands at the end
    (tmp_path / "headless.mp4").write_bytes(headless[: len(headless) * 6 // 10])
    assert refusal(tmp_path / "headless.mp4").startswith("cannot be read (Invalid data")


def test_frames_without_timestamps_are_refused(videos: Any, tmp_path: Path) -> None:
    assert refusal(videos.make(tmp_path / "raw.h264", 30)).startswith(
        "has frames without timestamps. Make a clean copy"
    )


def test_frames_that_share_a_timestamp_are_refused(videos: Any, tmp_path: Path) -> None:
    part = videos.get("ts").read_bytes()
    (tmp_path / "twice.ts").write_bytes(part + part)
    assert refusal(tmp_path / "twice.ts").startswith("two frames share the timestamp 0.000 s. Make a clean copy")


def test_timestamps_that_go_backwards_are_refused(videos: Any, tmp_path: Path) -> None:
    """Two recordings in one file whose clocks interleave: no two stamps are equal, yet their order is wrong."""
    first = videos.make(tmp_path / "a.ts", 30, rate=25)
    second = videos.make(tmp_path / "b.ts", 30, rate=25, pts=[2 * i + 1 for i in range(30)], time_base=None)
    (tmp_path / "both.ts").write_bytes(first.read_bytes() + second.read_bytes())
    assert "timestamp" in refusal(tmp_path / "both.ts")


def test_wrong_timestamps_are_refused_while_decoding(videos: Any, tmp_path: Path) -> None:
    """An .avi stores no presentation times; with B-frames the guessed ones come out of order."""
    path = videos.make(tmp_path / "b.avi", 30)
    assert refusal(path, full=True).startswith("the frame at 0.040 s is missing or out of order.")


@pytest.mark.parametrize("where", ["head", "tail"])
def test_a_damaged_frame_is_named_with_its_time(videos: Any, tmp_path: Path, where: str) -> None:
    source = videos.make(tmp_path / "good.mp4", options={"bf": "0", "crf": "1", "sc_threshold": "0"})
    with av.open(str(source)) as container:
        packet = next(packet for number, packet in enumerate(container.demux(video=0)) if number == 30)
        at, size = int(packet.pos or 0), packet.size
    data = bytearray(source.read_bytes())
    for offset in range(at + (10 if where == "head" else size * 3 // 4), at + size):
        data[offset] ^= 0xA5
    path = tmp_path / "bad.mp4"
    path.write_bytes(data)
    assert read_timeline(path).n_frames == 60, "the packets are all there; only decoding can tell"
    message = refusal(path, full=True)
    assert message.startswith("the frame at 1.200 s")
    assert "damaged" in message
    timeline = read_timeline(path)
    assert [index for index, _ in decode(path, timeline, [24, 29])] == [24, 29]
    with pytest.raises(MediaError, match=r"the frame at 1\.2"):
        list(decode(path, timeline, [33]))  # built on the damaged one
    assert [index for index, _ in decode(path, timeline, [40])] == [40], "behind the next keyframe all is well"


# Facts of a file ------------------------------------------------------------------------------------------


def test_timelines_count_frames_and_ignore_the_header(videos: Any) -> None:
    timeline = read_timeline(videos.get("trimmed"))
    with av.open(str(videos.get("trimmed"))) as container:
        assert container.streams.video[0].frames == 60
    assert timeline.n_frames == 25
    assert timeline.duration == pytest.approx(1.0)


@pytest.mark.parametrize(
    ("shape", "expected"),
    [
        ("plain", {"n_frames": 60, "fps": 25.0, "width": 80, "height": 48, "pix_fmt": "yuv420p"}),
        ("hevc", {"n_frames": 60, "pix_fmt": "yuv420p"}),
        ("vfr", {"n_frames": 60}),
        ("odd", {"width": 81, "height": 49, "pix_fmt": "yuv444p"}),
        ("ten_bit", {"pix_fmt": "yuv420p10le"}),
        ("one_frame", {"n_frames": 1, "duration": 0.04}),
    ],
)
def test_the_facts_of_a_file_are_counted(videos: Any, shape: str, expected: dict[str, Any]) -> None:
    path = videos.get(shape)
    timeline, exam = read_timeline(path), ExamFacts.read(path, Video("v", "v", 1.0, ()))
    ((_, frame),) = decode(path, timeline, [0])
    facts = {"n_frames": timeline.n_frames, "fps": float(timeline.rate), "duration": timeline.duration,
             "width": exam.width, "height": exam.height, "pix_fmt": frame.format.name}  # fmt: skip
    assert {name: facts[name] for name in expected} == pytest.approx(expected)


def test_timelines_survive_json(videos: Any) -> None:
    import json

    timeline = read_timeline(videos.get("vfr"))
    again = Timeline.from_json(json.loads(json.dumps(timeline.to_json())))
    assert again.to_json() == timeline.to_json()
    assert np.array_equal(again.times, [(i * i + 10 * i) / 600 for i in range(60)])

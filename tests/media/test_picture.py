"""Colours: every picture means what its tags say, in frames, clips and builds."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import av
import numpy as np
import pytest

from siming_tasks.common.errors import MediaError
from siming_tasks.media import read_timeline, view
from siming_tasks.media.clips import write_clip
from siming_tasks.media.decode import decode
from siming_tasks.media.picture import BT601, MATRIX_NAMES, Colour, fit_size, to_rgb
from siming_tasks.tools.builder.transcode import normalise

LIMITED, FULL = 1, 2
BT709, UNTAGGED, BT601_625, BT601_525, BT2020 = 1, 2, 5, 6, 9
WIDTH, HEIGHT = 160, 96
ENOUGH = 45.0
"""dB against the conversion by hand."""


def stored(fmt: str, values: list[np.ndarray], *, matrix: int, range_: int) -> av.VideoFrame:
    """A frame that holds these numbers, tagged."""
    frame = av.VideoFrame(values[0].shape[1], values[0].shape[0], fmt)
    frame.colorspace, frame.color_range = matrix, range_
    if len(frame.planes) == 2:
        values = [values[0], np.stack(values[1:], -1).reshape(values[1].shape[0], -1)]
    for plane, array in zip(frame.planes, values, strict=True):
        sample = np.dtype("<u2" if frame.format.components[0].bits > 8 else "u1")
        rows = np.zeros((plane.height, plane.line_size // sample.itemsize), sample)
        rows[:, : array.shape[1]] = np.round(array)
        plane.update(rows.tobytes())
    return frame


def scene(fmt: str, *, matrix: int = BT709, range_: int = LIMITED) -> av.VideoFrame:
    """Colours that change slowly, so that it does not matter how colour samples are enlarged, with a little noise."""
    y, x = np.mgrid[:HEIGHT, :WIDTH]
    noise = np.random.default_rng(0).integers(0, 4, (HEIGHT, WIDTH))
    luma, cb, cr = 60 + 120 * x / WIDTH + noise, 98 + 60 * y / HEIGHT, 158 - 60 * (x + y) / (WIDTH + HEIGHT)
    down, right = (2, 2) if "420" in fmt or fmt == "nv12" else (1, 2) if "422" in fmt else (1, 1)
    small = [c.reshape(HEIGHT // down, down, WIDTH // right, right).mean((1, 3)) for c in (cb, cr)]
    depth = 4 if fmt.endswith("10le") else 1
    values = [luma] if fmt.startswith("gray") else [luma, *small]
    return stored(fmt, [value * depth for value in values], matrix=matrix, range_=range_)


FORMATS = ["yuv420p", "yuvj420p", "yuv422p", "yuvj422p", "yuv444p", "nv12", "yuv420p10le", "yuv422p10le", "yuv444p10le"]
TAGS = [(BT709, "bt709"), (BT601_625, "bt470"), (BT601_525, "smpte170m"), (BT2020, "bt2020")]


def ranges(fmt: str) -> list[int]:
    return [FULL] if fmt.startswith("yuvj") else [LIMITED, FULL]


CASES = [(fmt, tag, name, range_) for fmt in FORMATS for tag, name in TAGS for range_ in ranges(fmt)]


def by_ffmpeg(frame: av.VideoFrame, name: str, range_: int) -> np.ndarray:
    """FFmpeg's scale filter, told matrix and range, with its exact arithmetic."""
    graph = av.filter.Graph()
    source = graph.add_buffer(width=frame.width, height=frame.height, format=frame.format, time_base=1)
    options = (
        f"in_color_matrix={name}:in_range={'full' if range_ == FULL else 'limited'}:flags=accurate_rnd+full_chroma_int"
    )
    nodes = [source, graph.add("scale", options), graph.add("format", "gbrp"), graph.add("buffersink")]
    graph.link_nodes(*nodes).configure()
    frame.pts = 0
    graph.push(frame)
    output: Any = graph.vpull()
    return output.to_ndarray(format="rgb24")


@pytest.mark.parametrize(("fmt", "tag", "name", "range_"), CASES)
def test_matrix_and_range_are_those_of_the_tags(videos: Any, fmt: str, tag: int, name: str, range_: int) -> None:
    frame = scene(fmt, matrix=tag, range_=range_)
    expected = videos.by_hand(frame)
    assert videos.psnr(to_rgb(frame), expected) > ENOUGH
    halved = expected.reshape(HEIGHT // 2, 2, WIDTH // 2, 2, 3).mean((1, 3))
    small = to_rgb(scene(fmt, matrix=tag, range_=range_), WIDTH // 2)
    floor = ENOUGH if not (fmt == "yuv420p" and tag in (BT601_525, BT601_625) and range_ == LIMITED) else ENOUGH - 1
    assert videos.psnr(small, halved) > floor  # the one kind that keeps FFmpeg's fast arithmetic
    assert videos.psnr(to_rgb(frame), by_ffmpeg(scene(fmt, matrix=tag, range_=range_), name, range_)) > ENOUGH


@pytest.mark.parametrize(("fmt", "tag", "range_"), [(fmt, tag, range_) for fmt, tag, _, range_ in CASES])
def test_planes_on_the_way_change_no_pixel_by_more_than_one_level(fmt: str, tag: int, range_: int) -> None:
    """Noise over the whole scale, so that every limit is met; FFmpeg's own interleaved output is the reference."""
    rng = np.random.default_rng(1)
    top = 1024 if fmt.endswith("10le") else 256
    chroma = (HEIGHT // (2 if "420" in fmt or fmt == "nv12" else 1), (WIDTH - 2) // (1 if "444" in fmt else 2))
    values = [rng.integers(0, top, size).astype(float) for size in ((HEIGHT, WIDTH - 2), chroma, chroma)]
    frame = stored(fmt, values, matrix=tag, range_=range_)
    colour = Colour.of(frame)
    exact = 0 if colour == Colour(BT601, full=False) and fmt == "yuv420p" else 0x40000 | 0x2000
    for order in ("rgb24", "bgr24"):
        whole = frame.to_ndarray(format=order, interpolation=0x2 | exact, **colour.rgb_arguments())
        assert np.array_equal(to_rgb(frame, None, order), whole)
        width, height = fit_size(frame.width, frame.height, 101)
        small = frame.to_ndarray(
            format=order, width=width, height=height, interpolation=0x20 | exact, **colour.rgb_arguments()
        )
        assert np.abs(to_rgb(frame, 101, order).astype(int) - small).max() <= 1


@pytest.mark.parametrize("fmt", ["gray", "gray10le"])
@pytest.mark.parametrize("range_", [LIMITED, FULL])
@pytest.mark.parametrize("size", [None, WIDTH // 2])
def test_grey_pictures_have_a_range_too(videos: Any, fmt: str, range_: int, size: int | None) -> None:
    expected = videos.by_hand(scene(fmt, range_=range_))
    if size:
        expected = expected.reshape(HEIGHT // 2, 2, WIDTH // 2, 2, 3).mean((1, 3))
    assert videos.psnr(to_rgb(scene(fmt, range_=range_), size), expected) > ENOUGH


def test_primary_colours_have_the_numbers_of_the_standard() -> None:
    """Pure red, green and blue, by the numbers that BT.709 and BT.601 themselves print for 8 bits."""
    flat = np.ones((16, 16))
    for matrix, colours in {
        BT709: {(63, 102, 240): (255, 0, 0), (173, 42, 26): (0, 255, 0), (32, 240, 118): (0, 0, 255)},
        BT601_625: {(82, 90, 240): (255, 0, 0), (145, 54, 34): (0, 255, 0), (41, 240, 110): (0, 0, 255)},
    }.items():
        for ycbcr, expected in colours.items():
            frame = stored("yuv444p", [flat * value for value in ycbcr], matrix=matrix, range_=LIMITED)
            assert np.abs(to_rgb(frame)[8, 8].astype(int) - expected).max() <= 2, (matrix, ycbcr)


@pytest.mark.parametrize(
    ("size", "matrix"),
    [
        ((640, 480), "bt601"),
        ((480, 640), "bt601"),
        ((720, 576), "bt601"),
        ((1024, 576), "bt601"),
        ((480, 272), "bt601"),
        ((960, 720), "bt709"),
        ((720, 960), "bt709"),
        ((1280, 544), "bt709"),
        ((1280, 720), "bt709"),
        ((720, 1280), "bt709"),
        ((1920, 1080), "bt709"),
    ],
)
def test_untagged_pictures_follow_the_usual_rule(size: tuple[int, int], matrix: str) -> None:
    frame = av.VideoFrame(*size, "yuv420p")
    frame.colorspace = UNTAGGED
    colour = Colour.of(frame)
    assert (MATRIX_NAMES[colour.matrix], colour.full) == (matrix, False)
    for tagged in (BT709, BT601_525):
        frame.colorspace = tagged
        assert Colour.of(frame).matrix == (BT709 if tagged == BT709 else BT601), "a tag counts more"


def test_plain_sd_pictures_keep_every_bit(videos: Any, tmp_path: Path) -> None:
    """BT.601 of limited range, tagged or SD and untagged: what PyAV's readers show, and what was stored before."""
    for matrix in (UNTAGGED, BT601_625, BT601_525):
        for range_ in (0, LIMITED):
            theirs = scene("yuv420p", matrix=UNTAGGED, range_=range_)
            ours = scene("yuv420p", matrix=matrix, range_=range_)
            assert np.array_equal(to_rgb(ours), theirs.to_ndarray(format="rgb24"))
            small = {"width": 80, "height": 48, "interpolation": "AREA"}
            assert np.array_equal(
                to_rgb(scene("yuv420p", matrix=matrix, range_=range_), 80),
                scene("yuv420p", matrix=UNTAGGED, range_=range_).to_ndarray(format="rgb24", **small),
            )


def test_demo_videos_need_no_colour_conversion(tmp_path: Path) -> None:
    """Its frames are what they were before tags were heeded, and what the simulator drew."""
    from siming_tasks.tools.simulator.video import encode

    drawn = np.full((272, 480, 3), (40, 90, 200), np.uint8)  # BGR
    encode(tmp_path / "demo.mp4", [drawn] * 3, fps=10)
    ((_, frame),) = decode(tmp_path / "demo.mp4", read_timeline(tmp_path / "demo.mp4"), [1])
    assert np.array_equal(to_rgb(frame), frame.to_ndarray(format="rgb24"))
    assert np.abs(to_rgb(frame)[100, 100].astype(int) - (200, 90, 40)).max() <= 3


# Files -----------------------------------------------------------------------------------------------------------


def filmed(
    path: Path,
    fmt: str = "yuv420p",
    *,
    codec: str = "libx264",
    matrix: int = BT709,
    range_: int = LIMITED,
    primaries: int = 2,
    curve: int = 2,
    frames: int = 5,
    sample: av.VideoFrame | None = None,
) -> Path:
    """A tagged video of the scene (or of ``sample``), hardly lossy."""
    quality = {"libx264": {"qp": "1"}, "libx265": {"x265-params": "qp=1:log-level=none"}, "libvpx-vp9": {"crf": "2"}}
    with av.open(str(path), "w") as output:
        stream: Any = output.add_stream(codec, rate=25)
        shape = sample or scene(fmt, matrix=matrix, range_=range_)
        stream.width, stream.height, stream.pix_fmt = shape.width, shape.height, fmt
        stream.options = quality.get(codec, {})
        coded = stream.codec_context
        coded.colorspace, coded.color_range, coded.color_primaries, coded.color_trc = matrix, range_, primaries, curve
        for index in range(frames):
            frame = sample or scene(fmt, matrix=matrix, range_=range_)
            frame.pts = index
            output.mux(stream.encode(frame))
        output.mux(stream.encode(None))
    return path


BOTH, EVERY = (LIMITED, FULL), (BT709, BT601_525, BT2020)
KINDS = [
    *(("libx264", "mp4", fmt, BOTH, EVERY) for fmt in ("yuv422p", "yuv444p", "yuv420p10le", "yuv422p10le")),
    *((codec, "mp4", "yuv420p", (LIMITED,), EVERY) for codec in ("libx264", "libx265")),
    *((codec, "mp4", "yuvj420p", (FULL,), EVERY) for codec in ("libx264", "libx265")),
    ("libx265", "mp4", "yuv420p10le", BOTH, EVERY),
    ("libvpx-vp9", "mkv", "yuv420p", BOTH, EVERY),
    ("ffv1", "mkv", "yuv422p10le", BOTH, EVERY),
    ("mjpeg", "avi", "yuvj422p", (FULL,), (BT601_525,)),
]
FILES = [(*kind, range_, matrix) for *kind, of, by in KINDS for range_ in of for matrix in by]


@pytest.mark.parametrize(("codec", "suffix", "fmt", "range_", "matrix"), FILES)
def test_frames_clips_and_builds_show_the_same_colours(
    videos: Any, tmp_path: Path, codec: str, suffix: str, fmt: str, matrix: int, range_: int, monkeypatch: Any
) -> None:
    monkeypatch.setattr("siming_tasks.media.clips.CRF", 1)
    path = filmed(tmp_path / f"v.{suffix}", fmt, codec=codec, matrix=matrix, range_=range_)
    expected = videos.shown(path)[2]
    assert videos.psnr(expected, videos.by_hand(scene(fmt, matrix=matrix, range_=range_))) > 40, "the file is right"
    timeline = read_timeline(path)
    ((_, frame),) = decode(path, timeline, [2])
    assert videos.psnr(to_rgb(frame), expected) > ENOUGH
    write_clip(path, timeline, 0, 4, tmp_path / "clip.mp4")
    normalise(path, tmp_path / "built.mp4")
    floor = 40.0  # what x264 loses included
    assert videos.psnr(videos.shown(tmp_path / "clip.mp4")[2], expected) > floor
    assert videos.psnr(videos.shown(tmp_path / "built.mp4")[2], expected) > floor
    for name in ("clip", "built"):
        with av.open(str(tmp_path / f"{name}.mp4")) as container:
            coded = container.streams.video[0].codec_context
            assert coded.colorspace in ((BT601_625, BT601_525) if matrix == BT601_525 else (matrix,))
            assert coded.color_range == (range_ if name == "clip" else LIMITED)


@pytest.mark.parametrize("grey", [16, 64, 128, 190, 235])
def test_a_full_range_grey_is_the_same_grey_after_a_build(videos: Any, tmp_path: Path, grey: int) -> None:
    """190 became 202: the flag was dropped and the numbers were kept."""
    flat = [np.full((96, 160), grey), np.full((48, 80), 128), np.full((48, 80), 128)]
    sample = stored("yuvj420p", flat, matrix=BT709, range_=FULL)
    path = filmed(tmp_path / "v.mp4", "yuvj420p", range_=FULL, sample=sample)
    normalise(path, tmp_path / "built.mp4")
    for file in (path, tmp_path / "built.mp4"):
        ((_, frame),) = decode(file, read_timeline(file), [2])
        assert np.abs(to_rgb(frame).astype(int) - grey).max() <= 1, file


@pytest.mark.parametrize(("primaries", "curve"), [(1, 1), (6, 6), (5, 13)])
@pytest.mark.parametrize("suffix", ["mp4", "mkv"], ids=["copied", "encoded"])
def test_clips_and_builds_keep_primaries_and_curve(tmp_path: Path, suffix: str, primaries: int, curve: int) -> None:
    path = filmed(tmp_path / f"v.{suffix}", primaries=primaries, curve=curve)
    assert normalise(path, tmp_path / "built.mp4").copied == (suffix == "mp4")
    write_clip(path, read_timeline(path), 0, 2, tmp_path / "clip.mp4")
    for name in ("built", "clip"):
        with av.open(str(tmp_path / f"{name}.mp4")) as container:
            coded = container.streams.video[0].codec_context
            assert (coded.color_primaries, coded.color_trc, coded.colorspace) == (primaries, curve, BT709)


CHROMATICITIES = {
    1: ((0.640, 0.330), (0.300, 0.600), (0.150, 0.060)),
    9: ((0.708, 0.292), (0.170, 0.797), (0.131, 0.046)),
    12: ((0.680, 0.320), (0.265, 0.690), (0.150, 0.060)),
}
"""Red, green and blue of ITU-T H.273, table 2; white is D65 (0.3127, 0.3290) in all three."""


def to_xyz(primaries: int) -> np.ndarray:
    columns = np.array([(x / y, 1, (1 - x - y) / y) for x, y in CHROMATICITIES[primaries]]).T
    white = np.array([0.3127 / 0.3290, 1, (1 - 0.3127 - 0.3290) / 0.3290])
    return columns * np.linalg.solve(columns, white)


def to_light(values: np.ndarray) -> np.ndarray:
    """The inverse of BT.709's curve."""
    return np.where(values < 0.081, values / 4.5, ((np.maximum(values, 0.081) + 0.099) / 1.099) ** (1 / 0.45))


def from_light(light: np.ndarray) -> np.ndarray:
    return np.where(light < 0.018, 4.5 * light, 1.099 * np.maximum(light, 0.018) ** 0.45 - 0.099)


@pytest.mark.parametrize("primaries", [9, 12], ids=["bt2020", "p3"])
@pytest.mark.parametrize("matrix", [BT709, BT2020])
@pytest.mark.parametrize("fmt", ["yuv420p", "yuv420p10le"])
def test_a_build_brings_wide_gamut_to_bt709(videos: Any, tmp_path: Path, primaries: int, matrix: int, fmt: str) -> None:
    path = filmed(tmp_path / "v.mp4", fmt, matrix=matrix, primaries=primaries, curve=1)
    wide = videos.shown(path)[2]
    light = to_light(wide / 255) @ (np.linalg.inv(to_xyz(1)) @ to_xyz(primaries)).T
    expected = np.clip(from_light(light), 0, 1) * 255
    assert videos.psnr(wide, expected) < 37, "there is something to convert"
    assert not normalise(path, tmp_path / "built.mp4").copied
    assert videos.psnr(videos.shown(tmp_path / "built.mp4")[2], expected) > 40
    with av.open(str(tmp_path / "built.mp4")) as container:
        coded = container.streams.video[0].codec_context
        assert (coded.color_primaries, coded.color_trc, coded.colorspace, coded.color_range) == (1, 1, 1, 1)


def test_an_untagged_hd_video_is_tagged_when_it_is_written_again(tmp_path: Path) -> None:
    """Also where the picture's size falls below HD on the way: what it was taken for at first holds."""
    sample = av.VideoFrame(1280, 96, "yuv422p")
    for plane in sample.planes:
        plane.update(bytes([120]) * plane.buffer_size)
    path = filmed(tmp_path / "v.mp4", "yuv422p", matrix=UNTAGGED, range_=0, sample=sample)
    ((_, frame),) = decode(path, read_timeline(path), [0])
    assert Colour.of(frame) == Colour(BT709, full=False)
    normalise(path, tmp_path / "built.mp4")
    write_clip(path, read_timeline(path), 0, 2, tmp_path / "clip.mp4")
    for name in ("built", "clip"):
        with av.open(str(tmp_path / f"{name}.mp4")) as container:
            assert container.streams.video[0].codec_context.colorspace == BT709


@pytest.mark.parametrize("grey", [False, True], ids=["rgb", "grey"])
def test_rgb_and_grey_are_tagged_with_a_matrix_when_they_are_written(videos: Any, tmp_path: Path, grey: bool) -> None:
    """RGB from a screen recorder, and grey pictures of full range."""
    image = np.full((96, 160, 3), (200, 90, 40), np.uint8)
    if grey:
        image[:] = 190
    frame = av.VideoFrame.from_ndarray(image, format="rgb24")
    fmt = "gray" if grey else "rgb24"
    path = tmp_path / "v.mov"
    with av.open(str(path), "w") as output:
        stream: Any = output.add_stream("png", rate=25)
        stream.width, stream.height, stream.pix_fmt = 160, 96, fmt
        for index in range(5):
            picture = frame.reformat(format=fmt)
            picture.pts = index
            output.mux(stream.encode(picture))
        output.mux(stream.encode(None))
    ((_, decoded),) = decode(path, read_timeline(path), [2])
    assert np.abs(to_rgb(decoded).astype(int) - image).max() <= 1
    normalise(path, tmp_path / "built.mp4")
    write_clip(path, read_timeline(path), 0, 4, tmp_path / "clip.mp4")
    for name in ("built", "clip"):
        assert np.abs(videos.shown(tmp_path / f"{name}.mp4")[2] - image).max() <= 4, name


@pytest.mark.parametrize(("curve", "name"), [(16, "PQ"), (18, "HLG")])
def test_hdr_is_refused_by_name_everywhere(tmp_path: Path, curve: int, name: str) -> None:
    path = filmed(
        tmp_path / "v.mp4", "yuv420p10le", codec="libx265", matrix=BT2020, primaries=9, curve=curve, range_=LIMITED
    )
    for act in (
        lambda: read_timeline(path),
        lambda: normalise(path, tmp_path / "built.mp4"),
        lambda: view(path, span=None, frames=1, cache=tmp_path / "cache"),
    ):
        with pytest.raises(MediaError) as caught:
            act()
        message = str(caught.value)
        assert message.startswith(f"{path}: is HDR ({name}), which would be shown pale and dark. Export it as SDR")
        assert "tonemap=hable" in message
    assert not (tmp_path / "built.mp4").exists()


@pytest.mark.parametrize(("matrix", "name"), [(4, "FCC"), (7, "SMPTE 240M"), (8, "YCgCo")])
def test_a_matrix_that_no_recorder_writes_is_refused_by_name(tmp_path: Path, matrix: int, name: str) -> None:
    path = filmed(tmp_path / "v.mp4", matrix=matrix)
    with pytest.raises(MediaError) as caught:
        read_timeline(path)
    assert str(caught.value) == f"{path}: has {name} colours, which are not read. Export it in BT.709."

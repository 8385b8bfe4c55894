"""Colours: every picture means what its tags say, in frames, clips and builds."""

import ast
from pathlib import Path
from typing import Any

import av
import numpy as np
import pytest

import siming_tasks
from siming_tasks.common.errors import MediaError
from siming_tasks.media import read_timeline, view
from siming_tasks.media.clips import write_clip
from siming_tasks.media.decode import decode
from siming_tasks.media.picture import BT601, Colour, to_rgb
from siming_tasks.tools.builder.transcode import normalise

PACKAGE = Path(siming_tasks.__file__).parent
LIMITED, FULL = 1, 2
BT709, UNTAGGED, BT601_625, BT601_525, BT2020 = 1, 2, 5, 6, 9
WIDTH, HEIGHT = 160, 96
ENOUGH = 45.0
"""dB against the conversion by hand."""

FORMATS = ["yuv420p", "yuvj420p", "yuv422p", "yuvj422p", "yuv444p", "nv12", "yuv420p10le", "yuv422p10le", "yuv444p10le",
           "gray", "gray10le"]  # fmt: skip


def stored(fmt: str, values: list[np.ndarray], *, matrix: int, range_: int) -> av.VideoFrame:
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


def ranges(fmt: str) -> list[int]:
    return [FULL] if fmt.startswith("yuvj") else [LIMITED, FULL]


@pytest.mark.parametrize("fmt", FORMATS)
def test_matrix_and_range_are_those_of_the_tags(videos: Any, fmt: str) -> None:
    for tag in (BT709, BT601_625, BT601_525, BT2020):
        for range_ in ranges(fmt):
            expected = videos.by_hand(scene(fmt, matrix=tag, range_=range_))
            assert videos.psnr(to_rgb(scene(fmt, matrix=tag, range_=range_)), expected) > ENOUGH, (tag, range_)
            halved = expected.reshape(HEIGHT // 2, 2, WIDTH // 2, 2, 3).mean((1, 3))
            small = to_rgb(scene(fmt, matrix=tag, range_=range_), WIDTH // 2)
            # the one kind that keeps FFmpeg's fast arithmetic
            fast = fmt == "yuv420p" and tag in (BT601_525, BT601_625) and range_ == LIMITED
            assert videos.psnr(small, halved) > ENOUGH - fast, (tag, range_)
            for_jpeg = to_rgb(scene(fmt, matrix=tag, range_=range_), WIDTH // 2, "bgr24")[..., ::-1]
            assert videos.psnr(for_jpeg, halved) > ENOUGH - 5 * fast, (tag, range_)


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


def test_untagged_pictures_follow_the_usual_rule() -> None:
    sizes = {(640, 480): BT601, (720, 576): BT601, (576, 1024): BT601, (960, 720): BT709, (544, 1280): BT709}
    for size, matrix in sizes.items():
        frame = av.VideoFrame(*size, "yuv420p")
        frame.colorspace = UNTAGGED
        assert Colour.of(frame) == Colour(matrix, full=False), size
        for tagged in (BT709, BT601_525):
            frame.colorspace = tagged
            assert Colour.of(frame).matrix == (BT709 if tagged == BT709 else BT601), "a tag counts more"


def test_plain_sd_pictures_keep_every_bit() -> None:
    """BT.601 of limited range, tagged or SD and untagged: what PyAV's readers show, and what was stored before."""
    plain = scene("yuv420p", matrix=UNTAGGED).to_ndarray(format="rgb24")
    small = scene("yuv420p", matrix=UNTAGGED).to_ndarray(format="rgb24", width=80, height=48, interpolation="AREA")
    for matrix in (UNTAGGED, BT601_625, BT601_525):
        for range_ in (0, LIMITED):
            assert np.array_equal(to_rgb(scene("yuv420p", matrix=matrix, range_=range_)), plain)
            assert np.array_equal(to_rgb(scene("yuv420p", matrix=matrix, range_=range_), 80), small)


def test_one_module_converts_colours_and_reads_the_tags_that_decide() -> None:
    """Versions of PyAV differ in what they convert and in what a container's tags say; the others ask ``picture``."""
    found = set()
    for path in PACKAGE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            named = isinstance(node, ast.Attribute) and node.attr in ("reformat", "color_trc", "color_primaries")
            called = isinstance(node, ast.Call) and getattr(node.func, "attr", "") == "to_ndarray" and node.keywords
            found |= {path.relative_to(PACKAGE).as_posix()} if named or called else set()
    assert found == {"media/picture.py"}


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
    sample: av.VideoFrame | None = None,
    said: str = "",
) -> Path:
    """A tagged video of the scene (or of ``sample``), hardly lossy: five frames. ``said``: in the pictures alone."""
    quality = {"libx264": {"qp": "1"}, "libx265": {"x265-params": "qp=1:log-level=none"}, "libvpx-vp9": {"crf": "2"}}
    with av.open(str(path), "w") as output:
        stream: Any = output.add_stream(codec, rate=25)
        shape = sample or scene(fmt, matrix=matrix, range_=range_)
        stream.width, stream.height, stream.pix_fmt = shape.width, shape.height, fmt
        stream.options = quality.get(codec, {})
        if said:
            stream.options = {"x265-params": f"{quality[codec]['x265-params']}:{said}"}
        coded = stream.codec_context
        coded.colorspace, coded.color_range, coded.color_primaries, coded.color_trc = matrix, range_, primaries, curve
        for index in range(5):
            frame = sample or scene(fmt, matrix=matrix, range_=range_)
            frame.pts = index
            output.mux(stream.encode(frame))
        output.mux(stream.encode(None))
    return path


def tags(path: Path) -> Any:
    with av.open(str(path)) as container:
        return container.streams.video[0].codec_context


@pytest.mark.parametrize(
    ("codec", "suffix", "fmt", "range_", "matrix", "primaries", "curve", "copied"),
    [
        ("libx264", "mp4", "yuv420p", LIMITED, BT709, 6, 6, True),
        ("libx264", "mp4", "yuvj420p", FULL, BT709, 1, 1, False),
        ("libx264", "mp4", "yuv422p", LIMITED, BT601_525, 5, 13, False),
        ("libx264", "mp4", "yuv444p", FULL, BT2020, 2, 2, False),
        ("libx264", "mp4", "yuv420p10le", FULL, BT601_525, 2, 2, False),
        ("libx265", "mp4", "yuv420p10le", LIMITED, BT2020, 2, 2, False),
        ("libvpx-vp9", "mkv", "yuv420p", FULL, BT709, 2, 2, False),
        ("mjpeg", "avi", "yuvj422p", FULL, BT601_525, 2, 2, False),
    ],
)
def test_frames_clips_and_builds_show_the_same_colours(
    videos: Any, tmp_path: Path, codec: str, suffix: str, fmt: str, matrix: int, range_: int, primaries: int,
    curve: int, copied: bool, monkeypatch: Any,
) -> None:  # fmt: skip
    monkeypatch.setattr("siming_tasks.media.clips.CRF", 1)
    tagged = {"matrix": matrix, "range_": range_, "primaries": primaries, "curve": curve}
    path = filmed(tmp_path / f"v.{suffix}", fmt, codec=codec, **tagged)
    expected, timeline = videos.shown(path)[2], read_timeline(path)
    assert videos.psnr(expected, videos.by_hand(scene(fmt, matrix=matrix, range_=range_))) > 40, "the file is right"
    ((_, frame),) = decode(path, timeline, [2])
    assert videos.psnr(to_rgb(frame), expected) > ENOUGH
    write_clip(path, timeline, 0, 4, tmp_path / "clip.mp4")
    assert normalise(path, tmp_path / "built.mp4").copied == copied
    for name in ("clip", "built"):
        written = tmp_path / f"{name}.mp4"
        assert videos.psnr(videos.shown(written)[2], expected) > 40, "what x264 loses included"
        assert tags(written).colorspace in ((BT601_625, BT601_525) if matrix == BT601_525 else (matrix,))
        assert tags(written).color_range == (range_ if name == "clip" else LIMITED)
        assert (tags(written).color_primaries, tags(written).color_trc) == (primaries, curve)


@pytest.mark.parametrize(
    ("primaries", "matrix", "fmt", "wide", "expected"),
    [
        (9, BT2020, "yuv420p10le", (158, 112, 61), (184, 105, 50)),
        (12, BT709, "yuv420p", (161, 115, 62), (169, 113, 52)),
    ],
)
def test_a_build_brings_wide_gamut_to_bt709(
    tmp_path: Path, primaries: int, matrix: int, fmt: str, wide: tuple[int, ...], expected: tuple[int, ...]
) -> None:
    """Y 120, Cb 100, Cr 150 (8 bits), worked out by the chromaticities of H.273, table 2, and the curve of BT.709."""
    depth = 4 if fmt.endswith("10le") else 1
    flat = [np.full(size, depth * value) for size, value in (((96, 160), 120), ((48, 80), 100), ((48, 80), 150))]
    sample = stored(fmt, flat, matrix=matrix, range_=LIMITED)
    path = filmed(tmp_path / "v.mp4", fmt, matrix=matrix, primaries=primaries, curve=1, sample=sample)
    assert not normalise(path, tmp_path / "built.mp4").copied
    for file, colours in ((path, wide), (tmp_path / "built.mp4", expected)):
        ((_, frame),) = decode(file, read_timeline(file), [2])
        assert np.abs(to_rgb(frame)[48, 80].astype(int) - colours).max() <= 2, file
    coded = tags(tmp_path / "built.mp4")
    assert (coded.color_primaries, coded.color_trc, coded.colorspace, coded.color_range) == (1, 1, 1, 1)


def test_an_untagged_hd_video_is_tagged_when_it_is_written_again(tmp_path: Path) -> None:
    """Also where the picture's size falls below HD on the way: what it was taken for at first holds."""
    sample = av.VideoFrame(1280, 96, "yuv422p")
    for plane in sample.planes:
        plane.update(bytes([120]) * plane.buffer_size)
    path = filmed(tmp_path / "v.mp4", "yuv422p", matrix=UNTAGGED, range_=0, sample=sample)
    normalise(path, tmp_path / "built.mp4")
    write_clip(path, read_timeline(path), 0, 2, tmp_path / "clip.mp4")
    assert [tags(tmp_path / f"{name}.mp4").colorspace for name in ("built", "clip")] == [BT709, BT709]


@pytest.mark.parametrize(
    ("fmt", "name", "range_"),
    [
        ("rgb24", "png.mov", 0),
        ("gray", "png.mov", 0),
        ("gray", "ffv1.mkv", LIMITED),
        ("gray10le", "ffv1.mkv", LIMITED),
        ("gray10le", "ffv1.mkv", FULL),
    ],
)
def test_rgb_and_grey_are_tagged_with_a_matrix_when_they_are_written(
    videos: Any, tmp_path: Path, fmt: str, name: str, range_: int
) -> None:
    """RGB from a screen recorder, and grey pictures of either range."""
    image = np.full((96, 160, 3), 190 if fmt.startswith("gray") else (200, 90, 40), np.uint8)
    sample = av.VideoFrame.from_ndarray(image, format="rgb24")
    if fmt.startswith("gray"):
        luma = 16 + 190 * 219 / 255 if range_ == LIMITED else 190
        grey = np.full((96, 160), luma * (4 if fmt == "gray10le" else 1))
        sample = stored(fmt, [grey], matrix=UNTAGGED, range_=range_)
    path = filmed(tmp_path / name, fmt, codec=Path(name).stem, matrix=UNTAGGED, range_=range_, sample=sample)
    ((_, decoded),) = decode(path, read_timeline(path), [2])
    assert np.abs(to_rgb(decoded).astype(int) - image).max() <= 1
    normalise(path, tmp_path / "built.mp4")
    write_clip(path, read_timeline(path), 0, 4, tmp_path / "clip.mp4")
    for name in ("built", "clip"):
        assert np.abs(videos.shown(tmp_path / f"{name}.mp4")[2] - image).max() <= 4, name
        assert tags(tmp_path / f"{name}.mp4").colorspace == BT601


@pytest.mark.parametrize(
    ("how", "words"),
    [
        ({"matrix": BT2020, "primaries": 9, "curve": 16}, "is HDR (PQ), which would be shown pale and dark. Export it"),
        ({"matrix": BT2020, "primaries": 9, "curve": 18}, "is HDR (HLG), which"),
        ({"matrix": 7}, "has SMPTE 240M colours, which are not read. Export it in BT.709."),
        # the container says BT.709, the pictures say otherwise, and they decide
        ({"primaries": BT709, "curve": BT709, "said": "transfer=smpte2084"}, "is HDR (PQ), which"),
        ({"primaries": BT709, "curve": BT709, "said": "transfer=arib-std-b67"}, "is HDR (HLG), which"),
        ({"primaries": BT709, "curve": BT709, "said": "colormatrix=smpte240m"}, "has SMPTE 240M colours"),
    ],
)
def test_colours_that_would_come_out_wrong_are_refused(tmp_path: Path, how: dict[str, Any], words: str) -> None:
    path = filmed(tmp_path / "v.mp4", "yuv420p10le", codec="libx265", **how)
    for act in (
        lambda: normalise(path, tmp_path / "built.mp4"),
        lambda: view(path, span=None, frames=1, cache=tmp_path / "cache"),
    ):
        with pytest.raises(MediaError) as caught:
            act()
        assert str(caught.value).startswith(f"{path}: {words}")
    assert not (tmp_path / "built.mp4").exists()

"""Clips and proxies: the right frames at the right times, for us and for the readers that backends use."""

from pathlib import Path
from typing import Any

import av
import numpy as np
import pytest

from siming_tasks.common.errors import MediaError
from siming_tasks.media import Sound, add_sound, has_sound, read_timeline, sample_indices, view
from siming_tasks.media.clips import write_clip
from siming_tasks.media.decode import PIXELS, decode
from siming_tasks.media.picture import to_rgb

SHAPES = ["photo", "plain", "open_gop", "vfr", "odd", "ten_bit", "full_range", "bt709", "hevc", "ts", "rotated_90",
          "started_early", "cut_open_gop"]  # fmt: skip
FLOOR = 37.0
"""dB against the source; the worst shape, hard colour edges from 4:4:4 to 4:2:0, measures 38."""
NOISY = 36.0
"""The same for a picture full of sensor noise, which x264 smooths."""


@pytest.mark.parametrize("shape", SHAPES)
def test_a_clip_is_the_span_frame_by_frame(videos: Any, tmp_path: Path, shape: str) -> None:
    path, target = videos.get(shape), tmp_path / "clip.mp4"
    timeline, indices = read_timeline(path), range(13, 37)
    write_clip(path, timeline, 13, 36, target)
    written, clip = videos.shown(target), read_timeline(target)
    assert (clip.n_frames, clip.reordered, clip.keyframes[0]) == (len(indices), False, 0)
    assert np.allclose(clip.times, timeline.times[13:37] - timeline.times[13], atol=1e-9)
    for (_, source), array in zip(decode(path, timeline, indices), written, strict=True):
        expected = videos.by_hand(source)
        height, width = expected.shape[:2]
        assert array.shape[:2] == (height + height % 2, width + width % 2)
        assert videos.psnr(array[:height, :width], expected) > (NOISY if shape == "photo" else FLOOR)
    with av.open(str(target)) as container:  # what every reader knows, and nothing of the source's own tags
        (stream,) = container.streams
        assert stream.codec_context.codec.canonical_name == "h264"
        assert stream.codec_context.pix_fmt == ("yuvj420p" if shape == "full_range" else "yuv420p")
        assert {**container.metadata, **stream.metadata}.keys() <= {
            *("major_brand", "minor_version", "compatible_brands", "encoder", "language", "handler_name", "vendor_id")
        }


def test_single_frames(videos: Any, tmp_path: Path) -> None:
    media = view(videos.get("plain"), span=(1.001, 1.002), frames=16, mode="video", cache=tmp_path)
    assert media.indices == (25,) and media.path is not None
    assert [videos.number(array) for _, array in videos.linear(media.path)] == [25, 25], "some readers refuse one"
    assert read_timeline(media.path).times.tolist() == [0.0, 0.04]
    media = view(videos.get("one_frame"), span=(0.0, 0.04), frames=16, cache=tmp_path)
    assert (media.indices, media.times, media.rate, len(media.images())) == ((0,), (0.0,), 25.0, 1)
    # not the file's own rate: what the step was sampled at decides whether it could be judged
    assert view(videos.get("plain"), span=(0.0, 2.0), frames=1, cache=tmp_path).info()["fps"] == 0.5


def test_what_cannot_be_shown_is_refused_and_leaves_nothing(videos: Any, tmp_path: Path) -> None:
    path = videos.get("plain")
    for mode in ("frames", "video"):
        with pytest.raises(MediaError) as caught:
            view(path, span=(2.0, 9.0), frames=4, mode=mode, cache=tmp_path)
        assert str(caught.value) == f"{path}: span 2-9 s reaches past the last frame at 2.360 s."
    path = videos.make(tmp_path / "broken.ts", options={"bf": "0"})
    timeline, whole = read_timeline(path), path.read_bytes()
    path.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(MediaError, match=r"the frame at 1\.\d+ s cannot be decoded"):
        write_clip(path, timeline, 0, 59, tmp_path / "out" / "clip.mp4")
    assert list((tmp_path / "out").iterdir()) == []


# Readers ---------------------------------------------------------------------------------------------------------


def by_decord(path: Path, frames: int) -> list[np.ndarray]:
    """The usual recipe: np.linspace over len(reader)."""
    decord = pytest.importorskip("decord")
    reader = decord.VideoReader(str(path))
    chosen = np.linspace(0, len(reader) - 1, frames, dtype=int)
    return list(reader.get_batch(chosen.tolist()).asnumpy())


def by_lmms_eval(path: Path, frames: int) -> list[np.ndarray]:
    from lmms_eval.models.model_utils.load_video import read_video

    return list(read_video(str(path), num_frm=frames, backend="pyav"))


def by_qwen(path: Path, frames: int) -> list[np.ndarray]:
    from qwen_vl_utils.vision_process import VIDEO_READER_BACKENDS

    video, *_ = VIDEO_READER_BACKENDS["decord"]({"video": str(path), "nframes": frames})
    return list(video.permute(0, 2, 3, 1).numpy())


@pytest.mark.parametrize("reader", [by_decord, by_lmms_eval, by_qwen])
def test_readers_get_the_frames_of_proxies_and_clips(videos: Any, tmp_path: Path, reader: Any) -> None:
    for shape in ("open_gop", "vfr", "rotated_180"):
        path = videos.get(shape)
        media = view(path, span=None, frames=10, mode="proxy", cache=tmp_path)
        assert media.path is not None and media.indices == tuple(sample_indices(60, 10))
        upright = {index: to_rgb(frame) for index, frame in decode(path, read_timeline(path), media.indices)}
        for index, array in zip(media.indices, reader(media.path, 10), strict=True):
            # through JPEG; readers differ in how they enlarge the chroma
            assert videos.psnr(array, upright[index]) > FLOOR - 6
    media = view(videos.get("open_gop"), span=(0.52, 1.0), frames=4, mode="video", cache=tmp_path)
    assert media.path is not None and media.indices == tuple(range(13, 25))
    assert [videos.number(array) for array in reader(media.path, 12)] == list(range(13, 25))


def test_index_over_rate_gives_the_true_time_at_both_ends(videos: Any, tmp_path: Path) -> None:
    """Qwen's and decord's way to time a frame: right within one frame of the source, all along a proxy."""
    from qwen_vl_utils.vision_process import VIDEO_READER_BACKENDS

    media = view(videos.get("plain"), span=None, frames=8, mode="proxy", cache=tmp_path)
    assert media.rate == pytest.approx(8 / 2.4)
    _, facts, sampled = VIDEO_READER_BACKENDS["decord"]({"video": str(media.path), "nframes": 8})
    assert np.asarray(facts["frames_indices"]).tolist() == list(range(8))
    assert sampled == pytest.approx(7 / 2.36, rel=1e-3)
    error = np.arange(8) / sampled - np.asarray(media.times)
    assert abs(error[[0, -1]]).max() < 1e-3 and abs(error).max() < 1 / 25


@pytest.mark.parametrize("shape", ["trimmed", "rotated_90", "mkv", "started_early"])
def test_a_file_that_readers_disagree_about_is_replaced(videos: Any, tmp_path: Path, shape: str) -> None:
    """lmms-eval's reader believes the header of a trimmed file (60 frames, 25 shown) and ignores the rotation flag."""
    path = videos.get(shape)
    timeline = read_timeline(path)
    assert not timeline.standard
    media = view(path, span=None, frames=5, mode="video", cache=tmp_path)
    assert media.path not in (None, path)
    upright = [to_rgb(frame) for _, frame in decode(path, timeline, range(timeline.n_frames))]
    shown = by_lmms_eval(media.path, timeline.n_frames)
    assert min(videos.psnr(a, b) for a, b in zip(shown, upright, strict=True)) > FLOOR
    if shape == "trimmed":
        assert len(by_lmms_eval(path, 10)) < 10, "the stock path: fewer frames than asked, and no error"


def test_an_intact_file_is_sent_unchanged_and_never_with_a_track_of_which_no_record_knows(
    videos: Any, tmp_path: Path
) -> None:
    for shape in ("plain", "b_pyramid", "open_gop", "vfr", "hevc", "ten_bit"):
        path = videos.get(shape)
        assert view(path, span=None, frames=5, mode="video", cache=tmp_path).path == path
    heard = tmp_path / "heard.mp4"
    add_sound(videos.get("plain"), Sound(np.zeros(32_000, np.int16)), heard)
    assert read_timeline(heard).standard and has_sound(heard)
    shown = view(heard, span=None, frames=5, mode="video", cache=tmp_path).path
    assert shown not in (None, heard) and not has_sound(shown)
    assert [videos.number(array) for _, array in videos.linear(shown)] == list(range(60))


def test_info_lists_the_frames_that_were_shown(videos: Any, tmp_path: Path) -> None:
    path = videos.get("plain")
    stored = {"size": 896, "quality": 90, "sampler": "uniform-floor/1", "reader": "siming"}
    libraries = {name: ".".join(map(str, version)) for name, version in av.library_versions.items()}
    made = {"pixels": PIXELS, "decoder": {"av": av.__version__, **libraries}}
    assert view(path, span=(0.5, 1.5), frames=4, cache=tmp_path).info() == {
        "mode": "frames", "n_frames": 4, "indices": [13, 21, 29, 37], "start": 0.52, "end": 1.48, "fps": 4.0, **made,
        **stored,
    }  # fmt: skip
    assert view(path, span=None, frames=4, mode="video", cache=tmp_path).info() == {
        "mode": "video", "file_frames": 60, "range": [0, 59], "start": 0.0, "end": 2.36, "file_fps": 25.0,
        **dict.fromkeys(stored), "reader": "backend", **made,
    }  # fmt: skip
    proxy = view(path, span=None, frames=4, mode="proxy", cache=tmp_path).info()
    assert (proxy["indices"], proxy["file_frames"], "n_frames" in proxy) == ([0, 19, 39, 59], 4, False)
    assert (proxy["sampler"], proxy["reader"]) == ("uniform-floor/1", "backend")

"""Real recordings: every kind of file, its frames beside those that another decoder shows, as filed and as built."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_array
from scipy.sparse.csgraph import maximum_bipartite_matching

from siming_tasks.data.check.report import check_dataset
from siming_tasks.media import view
from siming_tasks.media.decode import decode
from siming_tasks.media.picture import MATRICES, Colour, to_rgb
from siming_tasks.media.timeline import read_timeline
from siming_tasks.tools.builder.transcode import normalise
from tests.footage import FOOTAGE, READ, STREAM, everyday_exams, foreign, is_picture, needs_footage, small

pytestmark = [needs_footage, pytest.mark.weekly]

LUMA = {1: (0.2126, 0.7152, 0.0722), 5: (0.299, 0.587, 0.114), 9: (0.2627, 0.678, 0.0593)}
"""Share of red, green and blue in brightness by matrix: ITU-R BT.709, BT.601 and BT.2020."""
LATE = {"derived_blocks_vp9.webm": 0.007, "mdn_flower.webm": 0.003}
"""Seconds at which the first picture is shown where sound begins before it: times of the Matroska blocks, read by hand
(sound at 0), and what Chromium states of each picture (``mediaTime``)."""
VARYING = {"derived_coffee_vfr.mp4", "mediabunny_cursed_vfr.mp4", "moviepy_fire2.mp4"}


def number_placed(times: Any, rate: int) -> int:
    """Most pictures that can have a place of their own at a rate, each within 3/4 of a period of its time."""
    away = np.abs(times[:, None] * rate - np.arange(times[-1] * rate + 2))
    return int((maximum_bipartite_matching(csr_array(away <= 0.75), perm_type="column") >= 0).sum())


@pytest.mark.parametrize("name", READ)
def test_frames_are_those_of_another_decoder_by_index_time_and_pixels(name: str, videos: Any) -> None:
    path = FOOTAGE / name
    seen, timeline = foreign(path, STREAM.get(name)), read_timeline(path)
    assert timeline.n_frames == len(seen.times)
    np.testing.assert_allclose(timeline.times, seen.times + LATE.get(name, 0), atol=0.001)
    last = timeline.n_frames - 1
    wanted = sorted({0, 1, last // 3, last // 2, last - 1, last})
    got = list(decode(path, timeline, wanted))
    assert [index for index, _ in got] == wanted
    for index, frame in got:
        picture = to_rgb(frame)
        grey = np.clip((picture @ np.array(LUMA[Colour.of(frame).matrix])).round(), 0, 255).astype(np.uint8)
        assert is_picture(small(grey), seen, index, 33), f"{name}: frame {index}"
    by_hand = videos.by_hand(frame).astype(np.float32)  # repeats samples of colour, hence small
    assert videos.psnr(small(picture, 40), small(by_hand, 40)) > 34, "colours by the formulas of H.273"
    assert set(LUMA) == set(MATRICES.values())


@pytest.mark.parametrize("name", READ)
def test_pictures_are_built_at_their_time_and_those_that_fall_together_are_counted(name: str, tmp_path: Path) -> None:
    result = normalise(FOOTAGE / name, tmp_path / "built.mp4")
    source = foreign(FOOTAGE / name, STREAM.get(name))
    times, number = source.times + LATE.get(name, 0), len(source.times)
    built = foreign(tmp_path / "built.mp4", 0 if name in STREAM else None)
    period = built.times[1] - built.times[0]
    assert (result.stored, result.damaged, result.frames) == (number, 0, len(built.times))
    np.testing.assert_allclose(np.diff(built.times), period, atol=1e-4)
    rate = (number - 1) / source.times[-1]
    if name in VARYING:
        rate = next(rate for rate in (24, 25, 30, 50, 60) if number_placed(times, rate) == number)
        assert result.lost == 0
    assert 1 / period == pytest.approx(rate, rel=0.001)
    slots = np.floor(times / period + 0.5).astype(int)
    assert result.lost == pytest.approx(len(slots) - len(set(slots)), abs=2)  # times are rounded to milliseconds
    for index, slot in enumerate(slots):
        if (slots == slot).sum() == 1 and slot < len(built.grey):  # one of two remains
            near = {index, max(0, index - 1)}
            assert any(is_picture(built.grey[slot], source, one, 31) for one in near), f"{name}: picture {index}"


def test_a_data_set_of_real_steps_is_built_checked_and_its_frames_are_those_recorded(tmp_path: Path) -> None:
    """Every frame that full videos and clips would show is the one of that index and time by another decoder."""
    built = everyday_exams(tmp_path / "exams").dataset
    assert (len(built.videos), sum(len(video.steps) for video in built.videos)) == (15, 41)
    assert [str(problem) for problem in check_dataset(built.root).problems if problem.severity == "error"] == []
    assert built.physicians == (), "annotators that are models are no people"
    for video in built.videos:
        path = built.root / video.media
        seen, timeline = foreign(path), read_timeline(path)
        for span, count in [(None, 16), *((step.span, 8) for step in video.steps if step.span)]:
            how = {"span": span, "frames": count, "mode": "frames", "size": None}
            media = view(path, made=False, cache=tmp_path / "cache", **how)  # type: ignore[arg-type]
            at = [timeline.times[index] for index in media.indices]
            np.testing.assert_allclose([seen.times[index] for index in media.indices], at, atol=0.001)
            for index, image in zip(media.indices, media.images(), strict=True):
                grey = np.asarray(image.convert("L"))
                assert is_picture(small(grey), seen, index, 24), f"{video.video_id}: {index}"

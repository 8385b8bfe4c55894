"""Media of input ablations: frames, their order and their times, as images and as a file that readers know."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from siming_tasks.media import FRAMES, PROXY, VIDEO, Policy, View, ablate, backends, read_timeline, view
from siming_tasks.options import Options
from siming_tasks.tasks import INPUT_ABLATIONS, TASKS

SHOWN = ("shuffled_frames", "frozen_frame")


def plain(videos: Any, cache: Path, shape: str = "plain", mode: str = "frames", frames: int = 7) -> View:
    how = {"span": None, "frames": frames, "mode": mode, "cache": cache, "size": None}
    return view(videos.get(shape), file=False, **how)


def numbers(videos: Any, images: list[Any]) -> list[int]:
    return [videos.number(np.asarray(image)) for image in images]


def test_ablations_show_the_frames_and_times_worked_out_by_hand(videos: Any, tmp_path: Path) -> None:
    """Sixty frames of 1/25 s, each with its number; seven of them: 0 9 19 29 39 49 59."""
    media = plain(videos, tmp_path)
    want = [0, 9, 19, 29, 39, 49, 59]
    assert numbers(videos, media.images()) == list(media.indices) == want
    frozen = ablate(media, INPUT_ABLATIONS["frozen_frame"], "v/")
    assert numbers(videos, frozen.images()) == [0] * 7 and frozen.times == media.times
    assert media.rate == frozen.rate == pytest.approx(7 / 2.4)


def test_a_shuffled_order_is_the_requests_own_and_never_the_true_one(videos: Any, tmp_path: Path) -> None:
    media = plain(videos, tmp_path)
    orders = {
        name: ablate(media, INPUT_ABLATIONS["shuffled_frames"], name).indices for name in ("v1/", "v2/", "v1/cpr_01")
    }
    assert len(set(orders.values())) == 3
    assert all(sorted(order) == list(media.indices) != list(order) for order in orders.values())
    assert ablate(media, INPUT_ABLATIONS["shuffled_frames"], "v1/").indices == orders["v1/"]
    two = plain(videos, tmp_path, frames=2)
    assert {ablate(two, INPUT_ABLATIONS["shuffled_frames"], f"v{k}/").indices for k in range(8)} == {(59, 0)}
    assert ablate(plain(videos, tmp_path, frames=1), INPUT_ABLATIONS["shuffled_frames"], "v/").indices == (0,)


def test_another_exam_gives_as_many_frames_as_its_own_has_evenly_and_some_twice(videos: Any, tmp_path: Path) -> None:
    """Of 0 9 19 29 39 49 59, three are the middles of the thirds; of three frames, seven are each twice or more."""
    other = INPUT_ABLATIONS["mismatched_video"]
    shown = ablate(plain(videos, tmp_path), other, "v/", own=(2.0, 2.5, 7.0))
    assert numbers(videos, shown.images()) == [9, 29, 49] and shown.times == (2.0, 2.5, 7.0)
    few = plain(videos, tmp_path, frames=3)
    assert few.indices == (0, 29, 59)
    shown = ablate(few, other, "v/", own=range(7))
    assert shown.indices == (0, 0, 29, 29, 29, 59, 59) and shown.times == (0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0)


@pytest.mark.parametrize("frames", [3, 7])
def test_a_file_of_another_exam_has_the_times_of_its_own(frames: int, videos: Any, tmp_path: Path) -> None:
    media = plain(videos, tmp_path, mode="proxy", frames=frames)
    shown = ablate(media, INPUT_ABLATIONS["mismatched_video"], "v/", own=range(7))
    assert shown.path is not None
    timeline = read_timeline(shown.path)
    assert timeline.times.tolist() == pytest.approx([0, 1, 2, 3, 4, 5, 6]) and timeline.n_frames == 7


def test_records_list_the_frames_in_the_order_in_which_they_were_shown(videos: Any, tmp_path: Path) -> None:
    media = plain(videos, tmp_path, frames=60)
    assert media.info()["range"] == [0, 59]
    for name in ("shuffled_frames", "frozen_frame"):
        shown = ablate(media, INPUT_ABLATIONS[name], "v/")
        assert shown.info()["indices"] == list(shown.indices) and "range" not in shown.info()


@pytest.mark.parametrize("shape", ["plain", "vfr", "rotated_90", "odd", "ten_bit", "full_range"])
@pytest.mark.parametrize("name", SHOWN)
def test_a_file_holds_the_frames_that_images_would_show(videos: Any, tmp_path: Path, shape: str, name: str) -> None:
    """Frame by frame against the source's own pixels; every frame a keyframe, at the times that would be told."""
    media = plain(videos, tmp_path, shape, "proxy")
    shown = ablate(media, INPUT_ABLATIONS[name], "v/")
    assert shown.path is not None and media.path is None
    assert list(tmp_path.rglob("*.mp4")) == [shown.path]  # no proxy of the true order
    timeline, written = read_timeline(shown.path), videos.shown(shown.path)
    count = len(shown.indices)
    assert timeline.n_frames == max(2, count) and timeline.keyframes.tolist() == list(range(max(2, count)))
    assert np.allclose(timeline.times[:count], np.asarray(shown.times) - shown.times[0], atol=1e-4)
    source = videos.shown(videos.get(shape))
    for index, image, picture in zip(shown.indices, shown.images(), written[:count], strict=True):
        height, width = source[index].shape[:2]
        assert videos.psnr(picture[:height, :width], np.asarray(image)) > 35
        assert videos.psnr(picture[:height, :width], source[index]) > 31  # hard colour edges, halved twice
    assert ablate(media, INPUT_ABLATIONS[name], "v/").path == shown.path


def test_a_file_is_made_once_and_counts_for_the_limit_of_the_cache(videos: Any, tmp_path: Path) -> None:
    shown = ablate(plain(videos, tmp_path, mode="proxy"), INPUT_ABLATIONS["shuffled_frames"], "v/")
    assert shown.path is not None
    held = int((shown.store.folder / "bytes").read_text())
    assert held > sum(file.stat().st_size for file in shown.store.folder.rglob("*.[mj]p[4g]"))
    before = shown.path.stat().st_mtime_ns
    assert ablate(plain(videos, tmp_path, mode="proxy"), INPUT_ABLATIONS["shuffled_frames"], "v/").path == shown.path
    assert shown.path.stat().st_mtime_ns == before


def test_ablations_are_shown_as_a_proxy_and_no_video_is_refused_where_media_are_needed() -> None:
    policy, reader = Policy.of(Options()), backends()["chat.longvila"]
    assert policy.mode_for(reader) is VIDEO
    for name in (*SHOWN, "mismatched_video"):
        assert policy.mode_for(reader, task=TASKS[f"ablation_{name}_full_score"]) is PROXY
    with pytest.raises(
        Exception, match=r"chat\.longvila .* cannot be asked without .* siming_ablation_no_video_\* out"
    ):
        policy.mode_for(reader, task=TASKS["ablation_no_video_full_score"])
    assert policy.mode_for(backends()["chat.openai"], task=TASKS["ablation_no_video_full_score"]) is FRAMES

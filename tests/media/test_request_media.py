"""Media of input ablations: frames, their order and their times, as images and as a file that readers know."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from siming_tasks.benchmark.tasks import INPUT_ABLATIONS, TASKS
from siming_tasks.common.errors import OptionsError
from siming_tasks.media import FRAMES, PROXY, VIDEO, Policy, View, ablate, backends, read_timeline, view
from siming_tasks.options import Options

SHOWN = ("shuffled_frames", "frozen_frame")


def plain(videos: Any, cache: Path, shape: str = "plain", mode: str = "frames", frames: int = 7) -> View:
    how = {"span": None, "frames": frames, "mode": mode, "cache": cache, "size": None}
    return view(videos.get(shape), made=False, **how)


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


def test_records_list_the_frames_in_the_order_in_which_they_were_shown(videos: Any, tmp_path: Path) -> None:
    media = plain(videos, tmp_path, frames=60)
    assert media.info()["range"] == [0, 59]
    for name in SHOWN:
        shown = ablate(media, INPUT_ABLATIONS[name], "v/")
        assert shown.info()["indices"] == list(shown.indices) and "range" not in shown.info()


@pytest.mark.parametrize("shape", ["photo", "vfr", "rotated_90", "odd", "full_range"])
def test_a_file_holds_the_frames_that_images_would_show(videos: Any, tmp_path: Path, shape: str) -> None:
    """Frame by frame against the source's own pixels; every frame a keyframe, at the times that would be told."""
    source, media = videos.shown(videos.get(shape)), plain(videos, tmp_path, shape, "proxy")
    altered = [ablate(media, INPUT_ABLATIONS[name], "v/") for name in SHOWN]
    assert media.path is None and len(list(tmp_path.rglob("*.mp4"))) == 2  # no proxy of the true order
    how = {"span": None, "frames": 7, "cache": tmp_path, "size": None}
    proxy, images = (view(videos.get(shape), mode=mode, **how) for mode in ("proxy", "frames"))  # type: ignore[arg-type]
    assert (proxy.indices, proxy.times) == (images.indices, images.times)
    for shown in (*altered, proxy):
        assert shown.path is not None
        timeline, written = read_timeline(shown.path), videos.linear(shown.path)  # as readers show every film
        assert timeline.n_frames == 7 and timeline.keyframes.tolist() == list(range(7))
        assert np.allclose(timeline.times, np.asarray(shown.times) - shown.times[0], atol=2e-5)
        for index, image, (_, picture) in zip(shown.indices, shown.images(), written, strict=True):
            height, width = source[index].shape[:2]
            assert picture.shape[:2] == (height + height % 2, width + width % 2)
            assert videos.psnr(picture[:height, :width], np.asarray(image)) > 35
            assert videos.psnr(picture[:height, :width], source[index]) > 31  # hard colour edges, halved twice
    before = proxy.path.stat().st_mtime_ns
    again = view(videos.get(shape), mode="proxy", **how)  # type: ignore[arg-type]
    assert again.path == proxy.path and proxy.path.stat().st_mtime_ns == before, "made once"
    held = int((media.store.folder / "bytes").read_text())  # for the limit of the cache
    assert held > sum(file.stat().st_size for file in media.store.folder.rglob("*.[mj]p[4g]"))
    shown = ablate(plain(videos, tmp_path, shape, "proxy", 3), INPUT_ABLATIONS["mismatched_video"], "v/", own=range(7))
    assert shown.path is not None
    assert read_timeline(shown.path).times.tolist() == pytest.approx([0, 1, 2, 3, 4, 5, 6]), "those of its own exam"


def test_ablations_are_shown_as_a_proxy_and_no_video_is_refused_where_media_are_needed() -> None:
    policy, reader = Policy.of(Options()), backends()["chat.longvila"]
    assert policy.mode_for(reader) is VIDEO
    for name in (*SHOWN, "mismatched_video"):
        assert policy.mode_for(reader, task=TASKS[f"ablation_{name}_full_score"]) is PROXY
    no_video = TASKS["ablation_no_video_full_score"]
    with pytest.raises(OptionsError, match=r"longvila .* needs pictures .* siming_ablation_no_video_\* out"):
        policy.mode_for(reader, task=no_video)
    assert policy.mode_for(backends()["chat.openai"], task=no_video) is FRAMES

"""Frames chosen by content: the rule by hand, one pass, the same frames ever after, and what is recorded."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from siming_tasks.common.errors import OptionsError
from siming_tasks.media import (
    FRAMES,
    PROXY,
    Budget,
    ChangeSignal,
    Job,
    Policy,
    Request,
    backends,
    prepare,
    read_timeline,
    store,
    view,
)
from siming_tasks.media.decode import decode
from siming_tasks.media.sampler import GRID_RATE, ChangeMeter, choose_by_content, grid_frames
from siming_tasks.options import Options

MOVES = range(100, 150)


def still_then_moving(videos: Any, path: Path) -> Path:
    """Ten seconds at 25 frames/s in which the picture changes from 4 s to 6 s only."""
    return Path(videos.make(path, 250, draw=lambda index, *size: videos.picture(min(max(index - 100, 0), 50), *size)))


@pytest.fixture(scope="module")
def still(videos: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return still_then_moving(videos, tmp_path_factory.mktemp("still") / "still.mp4")


def by_hand(change: list[float], count: int) -> list[int]:
    """The rule as the documentation words it, slowly: positions on the grid."""
    root = [0.0, *(value**0.5 for value in change[1:])]
    weight = [0.0, *(value + sum(root) / len(root) / 4 for value in root[1:])]
    total = [sum(weight[: at + 1]) for at in range(len(weight))]
    taken = set()
    for part in range(count):
        at = total[-1] * part / (count - 1)
        taken.add(next((j for j, reached in enumerate(total) if reached >= at - 1e-9), len(total) - 1))
    while len(taken) < count:
        places = sorted(taken)
        gaps = [(total[b] - total[a], -a, (a + b) // 2) for a, b in pairwise(places) if b - a > 1]
        taken.add(max(gaps)[2])
    return sorted(taken)


def test_frames_by_content_follow_the_written_rule() -> None:
    rng = np.random.default_rng(1)
    for count in (2, 5, 12, 20):
        for _ in range(20):
            change = np.round(rng.gamma(0.3, 4, 40), 2)
            signal = ChangeSignal(np.arange(40) * 6, {"motion": change})
            want = [6 * place for place in by_hand(change.tolist(), count)]
            assert choose_by_content(signal, "motion", (0, 239), count) == want
            assert want[0] == 0 and want[-1] == 234 and len(set(want)) == count
    assert choose_by_content(ChangeSignal(np.arange(40) * 6, {"scene": np.zeros(40)}), "scene", (0, 239), 14) == [
        6 * place for place in by_hand([1.0] * 40, 14)
    ]


def test_a_part_is_chosen_from_its_own_frames_and_too_small_a_grid_offers_no_choice() -> None:
    signal = ChangeSignal(np.arange(40) * 6, {"motion": np.r_[np.zeros(20), np.full(20, 9.0)]})
    chosen = choose_by_content(signal, "motion", (60, 150), 6)
    assert chosen is not None and chosen[0] == 60 and chosen[-1] == 150
    assert sum(index >= 120 for index in chosen) >= 4  # the change is there
    assert (
        choose_by_content(signal, "motion", (60, 150), 11) is None
    )  # sixteen frames of the grid are fewer than 1.5 x 11
    assert choose_by_content(signal, "motion", (60, 61), 1) is None


def test_repeated_movement_counts_as_motion_but_not_as_a_new_scene() -> None:
    """Two pictures in turn, then a third: the values by hand."""
    import av

    def frame(level: int) -> Any:
        return av.VideoFrame.from_ndarray(np.full((72, 128), level, np.uint8), format="gray")

    watcher = ChangeMeter()
    for place, level in enumerate((100, 140, 100, 140, 100, 180)):
        watcher.add(place, frame(level))
    changes = watcher.signal()
    assert changes.change["motion"].tolist() == [0, 40, 40, 40, 40, 80]
    assert changes.change["scene"].tolist() == [0, 40, 0, 0, 0, 40]


@pytest.mark.parametrize("sampler", ["motion", "scene"])
def test_frames_gather_where_the_picture_changes(videos: Any, still: Path, tmp_path: Path, sampler: str) -> None:
    media = view(still, span=None, budget=Budget(12), cache=tmp_path, size=None, sampler=sampler)
    plain = view(still, span=None, budget=Budget(12), cache=tmp_path, size=None)
    step = round(25 / GRID_RATE)
    assert len(media.indices) == len(set(media.indices)) == 12 and all(index % step == 0 for index in media.indices)
    moving = [sum(index in MOVES for index in each.indices) for each in (plain, media)]
    assert moving[0] == 2 and moving[1] >= 5
    assert media.info()["sampler"] == f"{sampler}-grid/1" and plain.info()["sampler"] == "uniform-floor/1"
    assert media.info()["indices"] == list(media.indices)
    assert [videos.number(np.asarray(image)) for image in media.images()] == [
        min(max(index - 100, 0), 50) for index in media.indices
    ]


def test_one_pass_stores_the_frames_that_requests_take_and_no_others(
    still: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    passes = []

    def counted(path: Path, timeline: Any, indices: Any) -> Any:
        passes.append(len(set(indices)))
        return decode(path, timeline, indices)

    monkeypatch.setattr(store, "decode", counted)
    requests = (
        Request(None, Budget(12), "motion"),
        Request((4.0, 5.0), Budget(5), "motion"),
        Request((0.0, 1.0), Budget(3)),
    )
    job = Job(still, requests, "d")
    assert (
        len(job.missing(tmp_path)) == 25 + 4 + 2
    )  # the grid, and of 100 106 112 118 124 and 0 12 24 what is not on it
    (outcome,) = prepare([job], tmp_path)
    assert not outcome.errors and passes == [31]
    assert job.missing(tmp_path) == []
    shown = [view(still, digest="d", span=request.span, budget=request.budget, cache=tmp_path, sampler=request.sampler)
             for request in requests]  # fmt: skip
    assert len(passes) == 1
    held = {int(file.stem) for file in tmp_path.rglob("*.jpg")}
    assert held == {index for media in shown for index in media.indices} and outcome.frames == len(held)


def test_a_view_a_prepared_store_and_a_proxy_choose_the_same_frames(still: Path, tmp_path: Path) -> None:
    """Asked for first, prepared first, after other frames, in another process's words, as a proxy."""
    request = Request(None, Budget(12), "scene")
    asked = view(still, span=None, budget=Budget(12), cache=tmp_path / "a", sampler="scene").indices
    prepare([Job(still, (request, Request(None, Budget(30))), "d")], tmp_path / "b")
    media = view(still, digest="d", span=None, budget=Budget(12), cache=tmp_path / "b", sampler="scene")
    assert media.indices == asked
    signal = media.store.signal()
    assert signal is not None and request.indices(media.store.timeline(), signal=signal) == list(asked)
    proxy = view(still, digest="p", span=None, budget=Budget(12), cache=tmp_path / "c", mode="proxy", sampler="scene")
    assert proxy.indices == asked and proxy.path is not None and not list((tmp_path / "c").rglob("*.jpg"))
    assert read_timeline(proxy.path).n_frames == 12


def test_a_signal_of_another_version_is_made_anew(still: Path, tmp_path: Path) -> None:
    media = view(still, digest="d", span=None, budget=Budget(12), cache=tmp_path, sampler="motion")
    stored = media.store.folder / "signal.json"
    for damage in ("", "[]", stored.read_text().replace("motion-grid/1", "motion-grid/0")):
        stored.write_text(damage)
        again = view(still, digest="d", span=None, budget=Budget(12), cache=tmp_path, sampler="motion")
        assert again.indices == media.indices and ChangeSignal.read(stored) is not None


def test_a_short_part_is_sampled_evenly_and_recorded_so(still: Path, tmp_path: Path) -> None:
    media = view(still, span=(1.0, 3.0), budget=Budget(16), cache=tmp_path, sampler="motion")
    plain = view(still, span=(1.0, 3.0), budget=Budget(16), cache=tmp_path)
    assert media.indices == plain.indices and media.info() == plain.info()
    assert media.store.signal() is None  # nor is the video looked at for it
    assert len(grid_frames(media.store.timeline())) == 25


def test_a_model_that_samples_by_itself_is_refused_by_name() -> None:
    policy = Policy.of(Options(sampler="motion"))
    with pytest.raises(OptionsError, match=r"SIMING_SAMPLER=motion: chat\.longvila is given the file .*MEDIA=pro"):
        policy.mode_for(backends()["chat.longvila"])
    assert replace(policy, mode="proxy").mode_for(backends()["chat.longvila"]) is PROXY
    assert policy.mode_for(backends()["chat.openai"]) is FRAMES

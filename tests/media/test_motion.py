"""Frames chosen by motion: the rule by hand, the same frames ever after, and what is recorded."""

from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import av
import numpy as np
import pytest

from siming_tasks.common.errors import OptionsError
from siming_tasks.media import PROXY, Job, Policy, Request, backends, prepare, read_timeline, view
from siming_tasks.media.motion import GRID_RATE, choose_by_motion, measure_change, offers_choice
from siming_tasks.options import Options

MOVES = range(100, 150)


@pytest.fixture(scope="module")
def still(videos: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Ten seconds at 25 frames/s in which the picture changes from 4 s to 6 s only."""
    path = tmp_path_factory.mktemp("still") / "still.mp4"
    return Path(videos.make(path, 250, draw=lambda index, *size: videos.picture(min(max(index - 100, 0), 50), *size)))


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


def test_frames_by_motion_follow_the_written_rule() -> None:
    rng, grid = np.random.default_rng(1), np.arange(40) * 6
    for count in (2, 5, 12, 20):
        for _ in range(20):
            change = np.round(rng.gamma(0.3, 4, 40), 2)
            want = [6 * place for place in by_hand(change.tolist(), count)]
            assert choose_by_motion(grid, change, (0, 239), count) == want
            assert want[0] == 0 and want[-1] == 234 and len(set(want)) == count
    still = choose_by_motion(grid, np.zeros(40), (0, 239), 14)
    assert still == [6 * place for place in by_hand([1.0] * 40, 14)]


def test_a_part_is_chosen_from_its_own_frames_and_too_small_a_grid_offers_no_choice() -> None:
    grid, change = np.arange(40) * 6, np.r_[np.zeros(20), np.full(20, 9.0)]
    chosen = choose_by_motion(grid, change, (60, 150), 6)
    assert chosen[0] == 60 and chosen[-1] == 150
    assert sum(index >= 120 for index in chosen) >= 4  # the change is there
    assert offers_choice(grid, (60, 150), 10)
    assert not offers_choice(grid, (60, 150), 11)  # sixteen frames of the grid are fewer than 1.5 x 11
    assert not offers_choice(grid, (60, 61), 1)


def test_change_is_the_difference_to_the_frame_of_the_grid_before(videos: Any, tmp_path: Path) -> None:
    """At five frames a second every second one; of 64 x 36 parts, each the mean of 5 x 5 values of the luma."""
    path = videos.make(tmp_path / "edges.mp4", 5, rate=5, size=(160, 96))
    with av.open(str(path)) as container:
        planes = [frame.planes[0] for frame in container.decode(video=0)][::2]
        lumas = [np.frombuffer(bytes(plane), np.uint8).reshape(96, -1)[:, :160].astype(float) for plane in planes]
    rows, columns = ([int((at + 0.5) * side / parts) for at in range(parts)] for side, parts in ((96, 180), (160, 320)))
    small = [luma[np.ix_(rows, columns)].reshape(36, 5, 64, 5).mean((1, 3)) for luma in lumas]
    expected = [0, *(np.abs(after - before).mean() for before, after in pairwise(small))]
    found = measure_change(path, read_timeline(path))
    assert found == pytest.approx(expected, abs=0.0051) and (found == found.round(2)).all()


def test_frames_gather_where_the_picture_changes(videos: Any, still: Path, tmp_path: Path) -> None:
    media = view(still, span=None, frames=12, cache=tmp_path, size=None, sampler="motion")
    plain = view(still, span=None, frames=12, cache=tmp_path, size=None)
    step = round(25 / GRID_RATE)
    assert len(media.indices) == len(set(media.indices)) == 12 and all(index % step == 0 for index in media.indices)
    moving = [sum(index in MOVES for index in each.indices) for each in (plain, media)]
    assert moving[0] == 2 and moving[1] >= 5
    assert media.info()["sampler"] == "motion-grid/1" and plain.info()["sampler"] == "uniform-floor/1"
    assert media.info()["indices"] == list(media.indices)
    assert [videos.number(np.asarray(image)) for image in media.images()] == [
        min(max(index - 100, 0), 50) for index in media.indices
    ]


def test_a_view_a_prepared_store_and_a_proxy_choose_the_same_frames(still: Path, tmp_path: Path) -> None:
    """Asked for first, prepared first, after other frames, as a proxy; nothing is missing after preparation."""
    request = Request(None, 12, "motion")
    asked = view(still, span=None, frames=12, cache=tmp_path / "a", sampler="motion").indices
    job = Job(still, (request, Request((4.0, 5.0), 5, "motion"), Request(None, 30)), "d")
    assert len(job.missing(tmp_path / "b")) > 30
    (outcome,) = prepare([job], tmp_path / "b")
    assert not outcome.errors and job.missing(tmp_path / "b") == []
    media = view(still, digest="d", span=None, frames=12, cache=tmp_path / "b", sampler="motion")
    assert media.indices == asked
    proxy = view(still, digest="p", span=None, frames=12, cache=tmp_path / "c", mode="proxy", sampler="motion")
    assert proxy.indices == asked and proxy.path is not None and read_timeline(proxy.path).n_frames == 12
    stored = media.store.motion_file
    whole = stored.read_text()
    for damage in ("", "[]", whole.replace("motion-grid/1", "motion-grid/0")):  # of another version: made anew
        stored.write_text(damage)
        again = view(still, digest="d", span=None, frames=12, cache=tmp_path / "b", sampler="motion")
        assert again.indices == media.indices and stored.read_text() == whole


def test_a_short_part_is_sampled_evenly_and_a_model_that_samples_is_refused(still: Path, tmp_path: Path) -> None:
    media = view(still, span=(1.0, 3.0), frames=16, cache=tmp_path, sampler="motion")
    plain = view(still, span=(1.0, 3.0), frames=16, cache=tmp_path)
    assert media.indices == plain.indices and media.info() == plain.info()
    assert not media.store.motion_file.exists()  # nor is the video looked at for it
    policy = Policy.of(Options(sampler="motion"))
    with pytest.raises(OptionsError, match=r"SIMING_SAMPLER=motion: chat\.longvila gets the file .*MEDIA=pro"):
        policy.mode_for(backends()["chat.longvila"])
    assert replace(policy, mode="proxy").mode_for(backends()["chat.longvila"]) is PROXY

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from lmms_eval.models.model_utils.load_video import _compute_sample_count, _compute_uniform_indices
from qwen_vl_utils.vision_process import smart_nframes

from siming_tasks.common.errors import MediaError, OptionsError
from siming_tasks.media import PAPER_FRAMES, Budget, frame_range, matched_budget, preset, sample_count, sample_indices

COUNTS = st.integers(1, 9000)
FRAMES = st.integers(1, 300)


def at_25(n_frames: int) -> np.ndarray:
    return np.arange(n_frames) / 25


def test_frames_of_a_ten_frame_video_equal_those_worked_out_by_hand() -> None:
    assert sample_indices(10, budget=Budget(4)).tolist() == [0, 3, 6, 9]
    assert sample_indices(10, budget=Budget(3)).tolist() == [0, 4, 9]
    assert sample_indices(10, budget=Budget(3), rounding="nearest").tolist() == [0, 4, 9]
    assert sample_indices(11, budget=Budget(4)).tolist() == [0, 3, 6, 10]
    assert sample_indices(11, budget=Budget(4), rounding="nearest").tolist() == [0, 3, 7, 10]
    assert sample_indices(10, budget=Budget(99)).tolist() == list(range(10))
    assert sample_indices(10, budget=Budget(1)).tolist() == [0]
    assert sample_indices(1, budget=Budget(16)).tolist() == [0]


@settings(deadline=None)
@given(COUNTS, FRAMES)
def test_same_frames_as_the_readers_of_lmms_eval(n_frames: int, frames: int) -> None:
    count = _compute_sample_count(n_frames, frames, None, 25.0)
    assert (
        sample_indices(n_frames, budget=Budget(frames)).tolist() == _compute_uniform_indices(n_frames, count).tolist()
    )


@settings(deadline=None)
@given(COUNTS, FRAMES, st.floats(0.05, 30))
def test_same_frames_as_lmms_eval_at_a_rate(n_frames: int, frames: int, fps: float) -> None:
    count = _compute_sample_count(n_frames, frames, fps, 25.0)
    ours = sample_indices(n_frames, budget=Budget(frames, fps), rate=25.0)
    assert ours.tolist() == _compute_uniform_indices(n_frames, count).tolist()


@settings(deadline=None)
@given(st.integers(2, 9000), st.integers(2, 300))
def test_same_frames_as_qwen_vl_utils_when_rounded_to_nearest(n_frames: int, frames: int) -> None:
    frames = min(frames - frames % 2, n_frames - n_frames % 2)
    count = smart_nframes({"nframes": frames}, n_frames, 25.0)
    theirs = torch.linspace(0, n_frames - 1, count).round().long().tolist()
    assert sample_indices(n_frames, budget=Budget(frames), even=True, rounding="nearest").tolist() == theirs
    assert set(np.asarray(theirs) - sample_indices(n_frames, budget=Budget(frames), even=True)) <= {0, 1}


@settings(deadline=None)
@given(st.integers(100, 9000), st.floats(0.5, 10))
def test_same_count_as_qwen_vl_utils_at_a_rate(n_frames: int, fps: float) -> None:
    theirs = smart_nframes({"fps": fps, "min_frames": 2, "max_frames": 10**6}, n_frames, 25.0)
    assert sample_count(n_frames, 25.0, Budget(fps=fps), even=True) == theirs


@settings(deadline=None)
@given(COUNTS, FRAMES, st.data())
def test_any_sample_is_ascending_and_holds_first_and_last_frame(
    n_frames: int, frames: int, data: st.DataObject
) -> None:
    first = data.draw(st.integers(0, n_frames - 1))
    last = data.draw(st.integers(first, n_frames - 1))
    taken = sample_indices(n_frames, budget=Budget(frames), span=(first, last))
    assert len(taken) == min(frames, last - first + 1)
    assert taken[0] == first
    assert taken[-1] == last or len(taken) == 1
    assert (np.diff(taken) > 0).all()
    gaps = np.diff(taken)
    assert len(gaps) == 0 or gaps.max() - gaps.min() <= 2  # floor of even steps, and of a float just below a whole one


def test_indices_are_rounded_as_numpy_linspace_rounds() -> None:
    """Exact arithmetic gives 51 here; every reader that calls np.linspace takes 50, and so do we."""
    assert Fraction(21 * 119, 49) == 51
    assert sample_indices(120, budget=Budget(50))[21] == 50


@pytest.mark.parametrize(("frames", "n_frames", "count"), [(5, 100, 4), (4, 100, 4), (9, 7, 6), (9, 1, 2), (1, 50, 2)])
def test_even_counts_are_rounded_down_and_at_least_two(frames: int, n_frames: int, count: int) -> None:
    assert sample_count(n_frames, 25.0, Budget(frames), even=True) == count
    assert len(sample_indices(n_frames, budget=Budget(frames), even=True)) == count


def test_a_frame_counts_twice_where_a_pair_is_needed() -> None:
    assert sample_indices(1, budget=Budget(8), even=True).tolist() == [0, 0]


@pytest.mark.parametrize(
    ("start", "end", "expected"),
    [
        (0.0, 0.2, (0, 4)),  # the frame at 0.20 belongs to the next span
        (0.2, 0.4, (5, 9)),
        (0.19, 0.41, (5, 10)),
        (0.1996, 0.4, (5, 9)),  # half a millisecond of rounding
        (0.205, 0.21, (5, 5)),  # no frame begins in it: the one on screen
        (3.97, 4.0, (99, 99)),
        (3.9, 4.4, (98, 99)),  # a container longer than its picture
    ],
)
def test_spans_are_half_open(start: float, end: float, expected: tuple[int, int]) -> None:
    assert frame_range(at_25(100), start, end) == expected


@settings(deadline=None)
@given(st.lists(st.integers(1, 3999), min_size=1, max_size=8, unique=True))
def test_spans_that_meet_share_no_frame_and_lose_none(cuts: list[int]) -> None:
    borders = [0.0, *(cut / 1000 for cut in sorted(cuts)), 4.0]
    times = at_25(100)
    taken: list[int] = []
    for start, end in pairwise(borders):
        first, last = frame_range(times, start, end)
        if (times[first : last + 1] >= start - 0.0005).all():  # else: too short, shows the frame before it
            taken += range(first, last + 1)
    assert taken == list(range(100))


@pytest.mark.parametrize(
    ("start", "end", "message"),
    [
        (1.0, 1.0, "span 1-1 s is empty or negative; a step needs 0 <= start < end."),
        (2.0, 1.0, "span 2-1 s is empty or negative; a step needs 0 <= start < end."),
        (-1.0, 1.0, "span -1-1 s is empty or negative; a step needs 0 <= start < end."),
        (1.0, float("nan"), "span 1-nan s is empty or negative; a step needs 0 <= start < end."),
        (5.0, 6.0, "span 5-6 s reaches past the last frame at 3.960 s."),
        (3.0, 5.0, "span 3-5 s reaches past the last frame at 3.960 s."),
    ],
)
def test_empty_negative_and_late_spans_are_refused(start: float, end: float, message: str) -> None:
    with pytest.raises(MediaError) as caught:
        frame_range(at_25(100), start, end)
    assert str(caught.value) == message


def test_matched_budget_has_the_rate_of_the_full_video() -> None:
    assert matched_budget(160.0, 64, (10.0, 20.0)) == Budget(frames=4)
    assert matched_budget(160.0, 64, (10.0, 10.5)) == Budget(frames=1)
    assert matched_budget(160.0, 64, (0.0, 160.0)) == Budget(frames=64)


@pytest.mark.parametrize("arguments", [{}, {"frames": 0}, {"fps": 0.0}, {"fps": float("inf")}, {"fps": float("nan")}])
def test_budgets_below_one_frame_are_refused(arguments: dict[str, float]) -> None:
    with pytest.raises(OptionsError, match="frame budget"):
        Budget(**arguments)  # type: ignore[arg-type]


def test_spans_outside_the_video_are_a_programming_error() -> None:
    with pytest.raises(ValueError, match=r"frames 5\.\.10 do not lie inside 0\.\.9"):
        sample_indices(10, budget=Budget(4), span=(5, 10))


def test_presets_equal_table_6_of_the_paper() -> None:
    """Typed from the table in the paper's appendix D: eleven models, six different budgets."""
    assert sorted(PAPER_FRAMES.values()) == [30, 30, 30, 50, 50, 60, 64, 64, 64, 120, 240]
    assert preset("gpt-4o") == preset("GPT-5.2") == Budget(50)
    assert preset("doubao 1.6 vision") == Budget(240)
    with pytest.raises(OptionsError, match=r"table 6 has no model 'gpt-9'. It lists LLaVA-Video, "):
        preset("gpt-9")

"""The even rule: by hand, beside lmms-eval's reader, and at the borders of spans."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lmms_eval.models.model_utils.load_video import _compute_sample_count, _compute_uniform_indices

from siming_tasks.common.errors import MediaError, OptionsError
from siming_tasks.media import PAPER_FRAMES, frame_range, matched_frames, preset, sample_indices

COUNTS = st.integers(1, 9000)
FRAMES = st.integers(1, 300)


def at_25(n_frames: int) -> np.ndarray:
    return np.arange(n_frames) / 25


@pytest.mark.parametrize(
    ("n_frames", "frames", "expected"),
    [
        (10, 4, [0, 3, 6, 9]),
        (10, 3, [0, 4, 9]),
        (11, 4, [0, 3, 6, 10]),
        (10, 99, list(range(10))),
        (10, 1, [0]),
        (1, 16, [0]),
    ],
)
def test_frames_equal_those_worked_out_by_hand(n_frames: int, frames: int, expected: list[int]) -> None:
    assert sample_indices(n_frames, frames).tolist() == expected


@settings(deadline=None)
@given(COUNTS, FRAMES)
def test_same_frames_as_the_readers_of_lmms_eval(n_frames: int, frames: int) -> None:
    count = _compute_sample_count(n_frames, frames, None, 25.0)
    assert sample_indices(n_frames, frames).tolist() == _compute_uniform_indices(n_frames, count).tolist()


@settings(deadline=None)
@given(COUNTS, FRAMES, st.data())
def test_any_sample_is_ascending_and_holds_first_and_last_frame(
    n_frames: int, frames: int, data: st.DataObject
) -> None:
    first = data.draw(st.integers(0, n_frames - 1))
    last = data.draw(st.integers(first, n_frames - 1))
    taken = sample_indices(n_frames, frames, span=(first, last))
    assert len(taken) == min(frames, last - first + 1)
    assert taken[0] == first
    assert taken[-1] == last or len(taken) == 1
    gaps = np.diff(taken)
    assert (gaps > 0).all()
    assert len(gaps) == 0 or gaps.max() - gaps.min() <= 2  # floor of even steps, and of a float just below a whole one


def test_indices_are_rounded_as_numpy_linspace_rounds() -> None:
    """Exact arithmetic gives 51 here; every reader that calls np.linspace takes 50, and so do we."""
    assert Fraction(21 * 119, 49) == 51
    assert sample_indices(120, 50)[21] == 50


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


def test_matched_clips_have_the_rate_of_the_full_video() -> None:
    assert [matched_frames(160.0, 64, span) for span in ((10.0, 20.0), (10.0, 10.5), (0.0, 160.0))] == [4, 1, 64]


def test_spans_outside_the_video_and_no_frames_are_programming_errors() -> None:
    with pytest.raises(ValueError, match=r"frames 5\.\.10 do not lie inside 0\.\.9"):
        sample_indices(10, 4, span=(5, 10))
    with pytest.raises(ValueError, match="0 frames show nothing"):
        sample_indices(10, 0)


def test_presets_equal_table_6_of_the_paper() -> None:
    """Typed from the table in the paper's appendix D: eleven models, six different numbers of frames."""
    assert sorted(PAPER_FRAMES.values()) == [30, 30, 30, 50, 50, 60, 64, 64, 64, 120, 240]
    assert preset("gpt-4o") == preset("GPT-5.2") == 50
    assert preset("doubao 1.6 vision") == 240
    with pytest.raises(OptionsError, match=r"table 6 has no model 'gpt-9'. It lists LLaVA-Video, "):
        preset("gpt-9")

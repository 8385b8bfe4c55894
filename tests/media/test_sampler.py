"""The even rule: by hand, beside lmms-eval's reader, and at the borders of spans."""

from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lmms_eval.models.model_utils.load_video import _compute_sample_count, _compute_uniform_indices

from siming_tasks.common.errors import MediaError
from siming_tasks.media import PAPER_FRAMES, Policy, frame_range, sample_indices

TIMES = np.arange(100) / 25


def test_frames_equal_those_worked_out_by_hand() -> None:
    taken = {(10, 4): [0, 3, 6, 9], (10, 3): [0, 4, 9], (11, 4): [0, 3, 6, 10], (10, 99): [*range(10)], (10, 1): [0]}
    for (n_frames, frames), expected in taken.items():
        assert sample_indices(n_frames, frames).tolist() == expected
    assert sample_indices(10, 3, span=(9, 9)).tolist() == [9] and sample_indices(1, 16).tolist() == [0]
    # Exact arithmetic gives 51 here; every reader that calls np.linspace takes 50, and so do we.
    assert Fraction(21 * 119, 49) == 51 and sample_indices(120, 50)[21] == 50
    with pytest.raises(ValueError, match=r"frames 5\.\.10 are not within 0\.\.9"):
        sample_indices(10, 4, span=(5, 10))
    with pytest.raises(ValueError, match="frames=0; ask for at least 1"):
        sample_indices(10, 0)


@settings(deadline=None)
@given(st.integers(1, 9000), st.integers(1, 300), st.integers(0, 500))
def test_same_frames_as_the_readers_of_lmms_eval(n_frames: int, frames: int, first: int) -> None:
    count = _compute_sample_count(n_frames, frames, None, 25.0)
    theirs = _compute_uniform_indices(n_frames, count)
    assert sample_indices(n_frames, frames).tolist() == theirs.tolist()
    part = sample_indices(first + n_frames + 3, frames, span=(first, first + n_frames - 1))
    assert part[0] == first and abs(part - first - theirs).max() <= 1  # of a float just below a whole number


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
    assert frame_range(TIMES, start, end) == expected


@settings(deadline=None)
@given(st.lists(st.integers(1, 3999), min_size=1, max_size=8, unique=True))
def test_spans_that_meet_share_no_frame_and_lose_none(cuts: list[int]) -> None:
    borders = [0.0, *(cut / 1000 for cut in sorted(cuts)), 4.0]
    taken: list[int] = []
    for start, end in pairwise(borders):
        first, last = frame_range(TIMES, start, end)
        if (TIMES[first : last + 1] >= start - 0.0005).all():  # else: too short, shows the frame before it
            taken += range(first, last + 1)
    assert taken == list(range(100))


@pytest.mark.parametrize(
    ("start", "end", "message"),
    [
        (1.0, 1.0, "span 1-1 s is empty or negative; a step needs 0 <= start < end."),
        (-1.0, 1.0, "span -1-1 s is empty or negative"),
        (1.0, float("nan"), "span 1-nan s is empty or negative"),
        (1.0, float("inf"), "span 1-inf s is empty or negative"),
        (5.0, 6.0, "span 5-6 s reaches past the last frame at 3.960 s."),
        (4.02, 4.1, "span 4.02-4.1 s reaches past the last frame"),
        (3.0, 4.51, "span 3-4.51 s reaches past the last frame"),
    ],
)
def test_empty_negative_and_late_spans_are_refused(start: float, end: float, message: str) -> None:
    with pytest.raises(MediaError) as caught:
        frame_range(TIMES, start, end)
    assert str(caught.value).startswith(message)


def test_matched_clips_have_the_rate_of_the_full_video() -> None:
    policy = Policy(64, 16, density="matched")
    asked = [policy.request(160.0, span, "clip") for span in ((10.0, 20.0), (10.0, 10.5), (0.0, 160.0))]
    assert [request.frames for request in asked] == [4, 1, 64]


def test_presets_equal_table_6_of_the_paper() -> None:
    """Typed from the table in the paper's appendix D: eleven models, six different numbers of frames."""
    assert sorted(PAPER_FRAMES.values()) == [30, 30, 30, 50, 50, 60, 64, 64, 64, 120, 240]

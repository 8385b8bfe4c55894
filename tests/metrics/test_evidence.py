"""Evidence by hand, and the chance rows against drawing at random."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from siming_tasks.metrics.evidence import chance, evidence, iou, merged, pointed, prior_spans


@pytest.mark.parametrize(
    ("parts", "span", "expected"),
    [
        ([(10, 20)], (10, 20), 1), ([(10, 20)], (15, 25), 5 / 15), ([(0, 10)], (10, 20), 0), ([(0, 5)], (10, 20), 0),
        ([(10, 20), (30, 40)], (15, 35), 10 / 30), ([(12, 14)], (10, 20), 2 / 10), ([(12, 12)], (10, 20), 0),
        ([], (10, 20), 0), ([(10, 10)], (10, 10), 0),
    ],
)  # fmt: skip
def test_iou_of_spans(parts: Any, span: Any, expected: float) -> None:
    assert iou(parts, span) == pytest.approx(expected)


def test_parts_that_overlap_count_once_and_none_lies_beyond_the_video() -> None:
    assert merged([(5, 9), (1, 3), (8, 12), (3, 4)], 10) == ((1, 4), (5, 10))
    assert merged([(11, 20)], 10) == () and merged([], 10) == ()
    assert pointed([(1, 4), (5, 10)]) == 7.5 and pointed([(0, 2), (3, 5)]) == 1


def test_chance_by_hand() -> None:
    """A part of 2 s in 10 s begins between 0 and 8; the step is 4 to 6.

    It touches from 2 to 6: the overlap x rises to 2 and falls, the IoU is x / (4 - x): 2 (4 ln 2 - 2) / 8. Its middle
    is in the step if it begins between 3 and 5: 2 / 8. The IoU is at least 1/2 where x >= 4/3: 2 (2 - 4/3) / 8.
    """
    expected = (2 * (4 * np.log(2) - 2) / 8, 2 / 8, 2 * (2 - 4 / 3) / 8)
    assert chance(2, (4, 6), 10) == pytest.approx(expected)
    assert chance(20, (4, 6), 10) == pytest.approx((0.2, 1, 0))
    assert chance(0, (4, 6), 10) == pytest.approx((0, 0.2, 0))


@settings(max_examples=25, deadline=None)
@given(st.floats(0.1, 9.9), st.floats(0, 9), st.floats(0.2, 6))
def test_chance_is_what_drawing_gives(length: float, start: float, true: float) -> None:
    span, duration = (start, min(10.0, start + true)), 10.0
    width = span[1] - span[0]
    assume(abs(min(length, width) / max(length, width) - 0.5) > 1e-6)  # one digit more or less decides all draws
    begins = (np.arange(40_000) + 0.5) / 40_000 * (duration - length)
    both = np.clip(np.minimum(begins + length, span[1]) - np.maximum(begins, span[0]), 0, None)
    ious = both / (length + span[1] - span[0] - both)
    middles = begins + length / 2
    drawn = (ious.mean(), ((middles >= span[0]) & (middles <= span[1])).mean(), (ious >= 0.5).mean())
    assert chance(length, span, duration) == pytest.approx(drawn, abs=2e-3)


def test_a_steps_usual_place_is_that_of_the_other_videos() -> None:
    spans = np.array([[[10, 20], [np.nan, np.nan]], [[40, 60], [8, 9]], [[5, 10], [np.nan, np.nan]]], float)
    found = prior_spans(spans, np.array([100.0, 200.0, 50.0]))
    assert found[0, 0] == pytest.approx([100 * (0.2 + 0.1) / 2, 100 * (0.3 + 0.2) / 2])
    assert found[1, 0] == pytest.approx([200 * 0.1, 200 * 0.2])
    assert found[0, 1] == pytest.approx([4, 4.5]) and np.isnan(found[1, 1]).all()


def test_overlap_and_hits_equal_hand_counts() -> None:
    """Two videos of 100 s, three steps at 0-10, 40-60 and 80-90 in both; the last of the second has no span."""
    spans = np.array([[[0, 10], [40, 60], [80, 90]]] * 2, float)
    spans[1, 2] = np.nan
    claims = {
        (0, 0): [(0.0, 10.0)],  # as the step: IoU 1
        (0, 1): [(50.0, 70.0)],  # 10 of 30: IoU 1/3, its middle 60 just inside
        (0, 2): [(10.0, 20.0)],  # elsewhere, right
        (1, 0): [(90.0, 100.0)],  # elsewhere, wrong
        (1, 1): [],  # says that nothing shows it: no claim
        (1, 2): [(80.0, 90.0)],  # there is no span: left out
    }
    right = np.array([[True, True, True], [False, True, True]])
    found = evidence(claims, spans, np.full(2, 100.0), np.ones((2, 3), bool), right, resamples=0)
    assert found.claimed.value == pytest.approx(4 / 5) and found.claimed.n_items == 5
    assert found.iou.value == pytest.approx((1 + 1 / 3 + 0 + 0) / 4) and found.iou.n_items == 4
    assert found.hit.value == pytest.approx(2 / 4) and found.half.value == pytest.approx(1 / 4)
    assert found.elsewhere.value == pytest.approx(1 / 3) and found.elsewhere.n_items == 3
    assert found.elsewhere_wrong.value == 1 and found.elsewhere_wrong.n_items == 1
    # middle: 45-55 against 0-10, 40-60 (as 20 s), 80-90, 0-10; prior: the same place in the other video, none for aed
    assert found.chance["middle"]["iou"].value == pytest.approx((0 + 1 + 0 + 0) / 4)
    assert found.chance["prior"]["iou"].value == 1 and found.chance["prior"]["iou"].n_items == 3
    chances = [chance(10, (0, 10), 100), chance(20, (40, 60), 100), chance(10, (80, 90), 100), chance(10, (0, 10), 100)]
    for place, name in enumerate(("iou", "hit", "half")):
        assert found.chance["random"][name].value == pytest.approx(np.mean([each[place] for each in chances]))


def test_no_claimed_span_has_no_overlap() -> None:
    spans = np.array([[[0, 10]]], float)
    found = evidence({}, spans, np.full(1, 100.0), np.ones((1, 1), bool), np.ones((1, 1), bool), resamples=0)
    assert found.claimed.value == 0 and found.iou.value is None and found.iou.reason == "No step has evidence."
    unsaid = evidence({}, spans, np.full(1, 100.0), np.zeros((1, 1), bool), np.ones((1, 1), bool), resamples=0)
    assert unsaid.claimed.reason == "No step with a span was answered."

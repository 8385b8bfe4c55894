from __future__ import annotations

import numpy as np
import pytest

from siming_tasks.metrics import ordinal_labels


@pytest.mark.parametrize(
    ("max_score", "points", "absolute", "proportional"),
    [
        (1, [0, 0.5, 1], [0, 2, 3], [0, 1, 3]),  # a one-point step: zero points is failed although only one is lost
        (2, [0, 1, 2], [0, 2, 3], [0, 1, 3]),
        (3, [0, 1, 2, 3], [0, 1, 2, 3], [0, 1, 2, 3]),
        (5, [0, 1, 2, 3, 4, 5], [0, 1, 1, 1, 2, 3], [0, 1, 1, 1, 2, 3]),
        (6, [0, 1, 2, 3, 4, 5, 6], [0, 1, 1, 1, 1, 2, 3], [0, 1, 1, 1, 2, 2, 3]),
    ],
)
def test_ordinal_labels_equal_hand_counts_under_both_mappings(max_score, points, absolute, proportional):
    assert ordinal_labels(points, max_score).tolist() == absolute
    assert ordinal_labels(points, max_score, "proportional").tolist() == proportional


def test_rounding_noise_does_not_move_a_label():
    assert ordinal_labels([0.1 + 0.2, 1.3 - 1.0, 0.3 - 0.1 - 0.2], [0.3, 1.3, 1]).tolist() == [3, 2, 0]


def test_missing_points_have_no_label_and_scales_broadcast():
    got = ordinal_labels([[np.nan, 2], [1, 0]], [3, 2])
    assert got.dtype == np.int8
    assert got.tolist() == [[-1, 3], [1, 0]]


def test_the_two_cuts_that_the_paper_may_mean():
    """2 of 3 points are two thirds and not three quarters; 3 of 4 are both; 4 of 6 are only the first."""
    for top, points, third, quarter in ((3, 2, 2, 1), (4, 3, 2, 2), (6, 4, 2, 1), (6, 5, 2, 2), (5, 3, 1, 1)):
        assert ordinal_labels([points], top, "proportional").tolist() == [third]
        assert ordinal_labels([points], top, "proportional-3/4").tolist() == [quarter]


def test_an_unknown_mapping_is_refused():
    with pytest.raises(ValueError, match="mapping is 'other'; known are absolute, proportional, proportional-3/4"):
        ordinal_labels([1], 1, "other")

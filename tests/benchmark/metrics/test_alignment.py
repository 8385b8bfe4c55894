"""Runs side by side: over what they share, or not at all."""

from dataclasses import replace

import numpy as np
import pytest

from siming_tasks.benchmark.metrics.alignment import ComparisonEntry, align
from siming_tasks.common.errors import DataError

ASKED = np.array([[True, False], [True, True], [True, True]])


@pytest.fixture
def first(matrix):
    return ComparisonEntry("first", matrix([[3, 1], [2, 0], [1, 1]], [[3, 1], [2, 1], [0, 1]]))


def other(first, **changed):
    return ComparisonEntry("other", replace(first.panel, **changed))


def test_videos_come_in_one_order(first):
    turned = ComparisonEntry("other", first.panel.videos([2, 0, 1]))
    a, b = align([first, turned])
    assert a.panel.video_ids == b.panel.video_ids and np.array_equal(a.panel.predicted, b.panel.predicted)


def test_a_video_that_a_run_was_not_asked_about_is_another_video(first):
    asked = first.panel.asked.copy()
    asked[2] = False
    with pytest.raises(DataError, match=r"different videos: 1 only in 'first' \(v00002\).*use the 2 they share"):
        align([first, other(first, asked=asked)])
    a, b = align([first, other(first, asked=asked)], {"videos"})
    assert a.panel.video_ids == b.panel.video_ids == ("v00000", "v00001")


def test_of_many_videos_three_are_named(matrix):
    runs = [ComparisonEntry(name, matrix([[1]] * 4, [[1]] * 4)) for name in ("first", "other")]
    apart = other(runs[0], video_ids=tuple("abcd"), clusters=tuple("abcd"))
    with pytest.raises(
        DataError, match=r"4 only in 'first' \(v00000, v00001, v00002, \.\.\.\), 4 only in 'other' \(a, b, c"
    ):
        align([runs[0], apart])


def test_refusals(first):
    apart = other(first, video_ids=("a", "b", "c"), clusters=("a", "b", "c"))
    cases = [
        (other(first, asked=ASKED), "were not asked the same: step 's01' of video 'v00000' is in one only"),
        (other(first, reference=first.panel.reference * 0), "different references"),
        (other(first, max_score=np.array([3.0, 5])), "different points for step 's01'"),
        (other(first, answer="error", predicted=np.zeros((3, 2))), "no metric is common to both"),
        (other(first, asked=np.zeros((3, 2), bool)), "Run 'other' is empty"),
        (other(first, step_ids=("s00", "x")), "different steps"),
        (apart, r"videos: 3 only in 'first' \(v00000, v00001, v00002\), 3 only in 'other' \(a, b, c\)\. Compare"),
        (first, "Two runs are called 'first'"),
    ]
    for run, message in cases:
        with pytest.raises(DataError, match=message):
            align([first, run])
    with pytest.raises(DataError, match="no run to compare"):
        align([])
    with pytest.raises(DataError, match="share no videos"):
        align([first, apart], {"videos"})


def test_allowed_differences_use_what_all_share(first):
    a, b = align([first, other(first, asked=ASKED)], {"steps"})
    assert a.panel.asked.tolist() == b.panel.asked.tolist() == ASKED.tolist()
    a, b = align([first, other(first, reference=first.panel.reference * 0)], {"reference"})
    assert a.panel.reference[0, 0] == 3 and b.panel.reference[0, 0] == 0
    a, b = align([first, ComparisonEntry("other", first.panel.subset(["s01"]))], {"steps"})
    assert a.panel.step_ids == b.panel.step_ids == ("s01",)

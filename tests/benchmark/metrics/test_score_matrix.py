"""What a score matrix refuses, and what it tells."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from siming_tasks.benchmark.metrics import ScoreMatrix, ordinal_labels
from siming_tasks.common.errors import DataError
from tests.benchmark.metrics.conftest import make_matrix

nan = np.nan


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"reference": [[4, 0], [0, 0]]}, "reference of video 'v00000', step 's00' is 4, not 0..3"),
        ({"predicted": [[0, 0], [0, -1]]}, "predicted of video 'v00001', step 's01' is -1, not 0..3"),
        ({"predicted": [[0, 0.5], [0, 0]], "answer": "error"}, "is 0.5, not 0 .correct. or 1 .wrong."),
        ({"predicted": [[0, 0]]}, r"predicted has shape \(1, 2\), not \(2, 2\)"),
        ({"predicted": [["a", 0], [0, 0]]}, "could not convert|not an array of numbers"),
        ({"top": [3, 0]}, "every max_score must be a finite number above 0"),
        ({"answer": "points"}, "answer is 'points'"),
        ({"skills": ["cpr"]}, "1 skill for 2 steps"),
        ({"clusters": ("a",)}, "1 cluster for 2 videos"),
        ({"clusters": ("a", "a"), "unit": "video"}, "two videos are in one cluster, and the unit is 'video'"),
        ({"clusters": ("a", "b"), "unit": "hospital"}, "no unit 'hospital'"),
        ({"sites": ("a",)}, "1 sites for 2 videos"),
    ],
)
def test_refusals(changed, message):
    given = {"reference": [[3, 0], [1, 2]], "predicted": [[3, 0], [1, 1]], **changed}
    with pytest.raises((DataError, ValueError), match=message):
        make_matrix(given.pop("reference"), given.pop("predicted"), **given)


def test_names_must_be_unique():
    for videos, steps in ((("v", "v"), ("a", "b")), (("v", "w"), ("a", "a"))):
        with pytest.raises(DataError, match="appears twice"):
            ScoreMatrix(videos, steps, ("cpr", "cpr"), [1, 1], *([[0, 0], [0, 0]],) * 3, "score")


def test_unknown_names_are_refused_and_not_empty(matrix):
    made = matrix([[3, 0]], [[3, 0]], skills=["cpr", "aed"])
    with pytest.raises(DataError, match=r"no skill 'CPR'\. It has cpr, aed"):
        made.skill("CPR")
    with pytest.raises(DataError, match=r"no step 's9'\. It has s00, s01"):
        made.subset(["s9"])
    assert made.skill("aed").step_ids == ("s01",)


def test_what_counts_what_is_answered_and_what_is_wrong(matrix):
    asked = [[True, True, False], [True, True, True]]
    made = matrix([[3, nan, 3], [2.5, 0, 3]], [[nan, 1, 1], [3, 2, 3]], asked=asked)
    assert made.counted.tolist() == [[True, False, False], [True, True, True]]
    assert made.answered.tolist() == [[False, True, False], [True, True, True]]
    assert made.answered_share == 3 / 4
    assert made.reference_wrong.tolist() == [[False, False, False], [True, True, False]]
    assert made.predicted_wrong.tolist() == [[False, True, True], [False, True, False]]
    assert matrix([[nan]], [[nan]]).answered_share == 1.0  # nothing counts, nothing is missing


@pytest.mark.parametrize(("answer", "best"), [("score", 3.0), ("error", 0.0)])
def test_a_missing_answer_counts_as_full_points_or_correct(matrix, answer, best):
    made = matrix([[3, 3], [3, 3]], [[nan, 1], [nan, 0]], answer=answer, asked=[[True, True], [False, True]])
    assert made.imputed().predicted[0, 0] == best
    assert np.isnan(made.imputed().predicted[1, 0])  # it was not asked about
    assert made.imputed().answered_share == 1


def test_arrays_are_copies_and_read_only(matrix):
    points = np.zeros((1, 2))
    made = matrix(points, points)
    points[:] = 9
    assert (made.reference == 0).all()
    with pytest.raises(ValueError, match="read-only"):
        made.reference[0, 0] = 1


def test_videos_and_their_names_stay_together(matrix):
    names = {"clusters": ("a", "b", "a"), "sites": ("x", "y", "z")}
    made = matrix([[1], [2], [3]], [[3], [2], [1]], durations=[1, 2, 3], **names)
    turned = made.videos([2, 0])
    assert (turned.video_ids, turned.clusters, turned.sites) == (("v00002", "v00000"), ("a", "a"), ("z", "x"))
    assert turned.reference.tolist() == [[3], [1]] and turned.durations.tolist() == [3, 1]
    assert turned.sorted().video_ids == ("v00000", "v00002") and turned.n_clusters == 1
    assert made.videos(np.array([False, True, False])).sites == ("y",)
    assert made.videos([]).reference.shape == (0, 1)


@pytest.mark.parametrize(
    ("mapping", "labels"),
    [
        ("absolute", [0, 1, 1, 1, 1, 2, 2, 3]),
        ("proportional", [0, 1, 1, 1, 2, 2, 2, 3]),  # 3.5 of 5 is .7
        ("proportional-3/4", [0, 1, 1, 1, 1, 2, 2, 3]),
    ],
)
def test_labels_by_hand(mapping, labels):
    assert ordinal_labels([0, 1, 2, 3, 3.5, 4, 4.5, 5], 5, mapping).tolist() == labels


def test_labels_at_the_edges():
    assert ordinal_labels([2, 1, 1.5], [3, 3, 2], "proportional").tolist() == [2, 1, 2]  # two thirds are enough
    assert ordinal_labels([1, 0.5, 0], 1).tolist() == [3, 2, 0]
    assert ordinal_labels(0.1 + 0.2, 0.3).tolist() == 3 and ordinal_labels(nan, 2).tolist() == -1
    with pytest.raises(ValueError, match="mapping is 'relative'"):
        ordinal_labels(1, 1, "relative")


@given(st.floats(0, 10), st.floats(0, 10), st.sampled_from(["absolute", "proportional", "proportional-3/4"]))
def test_more_points_are_never_a_lower_label(a, b, mapping):
    low, high = sorted((a, b))
    assert ordinal_labels(low, 10, mapping) <= ordinal_labels(high, 10, mapping)

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pytest

from siming_tasks.common.errors import DataError


@pytest.fixture
def two(panel):
    return panel([[3, 1], [2, 0]], [[3, 2], [1, np.nan]], max_score=[3, 2], skills=["cpr", "aed"])


def test_masks_mark_counted_answered_and_wrong_steps(two):
    asked = np.array([[True, False], [True, True]])
    changed = replace(two, asked=asked, reference=[[3, 1], [np.nan, 0]])
    assert changed.counted.tolist() == [[True, False], [False, True]]
    assert changed.answered.tolist() == [[True, False], [True, False]]
    assert changed.reference_wrong.tolist() == [[False, True], [False, True]]
    assert changed.predicted_wrong.tolist() == [[False, False], [True, False]]


def test_arrays_are_copies_and_read_only(two):
    source = np.ones((2, 2))
    changed = two.predicting(source)
    source[0, 0] = 0
    assert changed.predicted[0, 0] == 1
    with pytest.raises(ValueError, match="read-only"):
        changed.predicted[0, 0] = 0


def test_selected_videos_skills_and_steps_keep_their_scores(two):
    assert two.videos([1, 0]).video_ids == ("v00001", "v00000")
    assert two.videos(np.array([False, True])).reference.tolist() == [[2, 0]]
    assert two.videos([]).reference.shape == (0, 2)
    assert two.skill("aed").reference.tolist() == [[1], [0]]
    assert two.subset(["s01", "s00"]).max_score.tolist() == [2, 3]
    assert two.videos([1, 0]).sorted().reference.tolist() == two.reference.tolist()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"video_ids": ("a", "a")}, "ScoreMatrix: video 'a' appears twice. Keep one row for each video."),
        ({"step_ids": ("a", "a")}, "ScoreMatrix: step 'a' appears twice. Keep one row for each step."),
        ({"skills": ("cpr",)}, "ScoreMatrix: 1 skills for 2 steps; give one for each step."),
        ({"max_score": [3, 0]}, "ScoreMatrix: every max_score must be a finite number above 0."),
        ({"max_score": [3]}, "ScoreMatrix: max_score has shape (1,), not (2,) (videos, steps)."),
        ({"reference": [[1, 2]]}, "ScoreMatrix: reference has shape (1, 2), not (2, 2) (videos, steps)."),
        ({"answer": "vibes"}, "ScoreMatrix: answer is 'vibes'; it must be 'score' or 'error'."),
        ({"reference": "x"}, "ScoreMatrix: not an array of numbers: could not convert string to float: 'x'."),
        (
            {"reference": [[3, 2.5], [0, 0]]},
            "ScoreMatrix: reference of video 'v00000', step 's01' is 2.5, not 0..2. "
            "An answer off the scale is a missing answer: use NaN.",
        ),
        (
            {"predicted": [[3, 2], [np.inf, 0]]},
            "ScoreMatrix: predicted of video 'v00001', step 's00' is inf, not 0..3. "
            "An answer off the scale is a missing answer: use NaN.",
        ),
        (
            {"answer": "error", "predicted": [[0, 1], [0.5, 0]]},
            "ScoreMatrix: predicted of video 'v00001', step 's00' is 0.5, not 0 (correct) or 1 (wrong). "
            "An answer off the scale is a missing answer: use NaN.",
        ),
        (
            {"predicted": [[-1, 2], [0, 0]]},
            "ScoreMatrix: predicted of video 'v00000', step 's00' is -1, not 0..3. "
            "An answer off the scale is a missing answer: use NaN.",
        ),
    ],
)
def test_bad_input_is_named(two, change, message):
    with pytest.raises(DataError, match=f"^{re.escape(message)}$"):
        replace(two, **change)


def test_an_unknown_step_is_refused(two):
    with pytest.raises(DataError, match=re.escape("ScoreMatrix: no step 'x'. It has s00, s01.")):
        two.subset(["x"])

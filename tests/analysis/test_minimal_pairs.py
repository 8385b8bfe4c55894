"""The pair metric against hand counts."""

import numpy as np
import pytest
from statsmodels.stats.proportion import proportion_confint

from siming_tasks.analysis.input_controls import score_minimal_pairs

NAN = np.nan
TRUTH_A = np.array([[2.0, 3, 3], [2, 3, 3], [2, 3, 0], [2, 3, 3]])
TRUTH_B = np.array([[2.0, 3, 0], [2, 3, 0], [2, 3, 3], [2, 0, 3]])
TARGET = np.array([2, 2, 2, 1])
DIRECTION = np.array([-1.0, -1, 1, -1])
UNCHANGED = TRUTH_A == TRUTH_B
KINDS = ["history", "local", "history", "local"]


def score(a, b, answer="score"):
    return score_minimal_pairs(a, b, TARGET, DIRECTION, UNCHANGED, KINDS, answer)


def test_the_truth_is_right_on_every_pair():
    result = score(TRUTH_A, TRUTH_B)
    assert result.right.value == result.moved.value == 1
    assert result.wrong_way.value == result.elsewhere.value == 0
    assert result.bound == 0.5


def test_verdicts_turn_the_direction_round():
    wrong_a, wrong_b = (TRUTH_A < 2).astype(float), (TRUTH_B < 2).astype(float)
    assert score(wrong_a, wrong_b, "error").right.value == 1
    assert score(wrong_a, wrong_b, "score").wrong_way.value == 1


def test_discrimination_equals_a_hand_count():
    a, b = TRUTH_A.copy(), TRUTH_B.copy()
    b[0, 0] = 1  # pair 0: right on the step, but strays on one of two other steps
    b[1] = a[1]  # pair 1: does not move
    a[2, 2], b[2, 2] = 3, 1  # pair 2: the wrong way
    result = score(a, b)
    assert (result.right.value, result.moved.value, result.wrong_way.value) == (0.25, 0.5, 0.25)
    assert result.elsewhere.value == pytest.approx((1 / 2 + 0 + 0 + 0) / 4)
    low, high = proportion_confint(1, 4, method="wilson")
    assert (result.right.low, result.right.high) == pytest.approx((low, high))
    assert (result.right.n_items, result.right.n_videos, result.right.coverage) == (4, 8, 1.0)


def test_an_unanswered_target_leaves_the_pair_out_and_lowers_coverage():
    b = TRUTH_B.copy()
    b[0, 2] = NAN
    b[1, 0] = NAN  # elsewhere: only not counted there
    result = score(TRUTH_A, b)
    assert (result.right.value, result.right.n_items, result.right.coverage) == (1, 3, 0.75)
    assert result.bound == pytest.approx(2 / 3)


def test_no_answers_and_no_pairs():
    nothing = score(np.full_like(TRUTH_A, NAN), TRUTH_B)
    assert nothing.right.value is None
    assert nothing.right.coverage == 0
    assert nothing.bound is None
    empty = score_minimal_pairs(
        np.empty((0, 3)), np.empty((0, 3)), np.empty(0, int), np.empty(0), np.empty((0, 3), bool), []
    )
    assert empty.right.value is None


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"direction": np.array([0.0, 1, 1, 1])}, "direction must be"),
        ({"unchanged": np.ones((4, 3), bool)}, "listed as unchanged"),
        ({"kinds": ["local"]}, "one per pair"),
    ],
)
def test_what_does_not_fit_is_refused(change, message):
    arguments = {"target": TARGET, "direction": DIRECTION, "unchanged": UNCHANGED, "kinds": KINDS} | change
    with pytest.raises(ValueError, match=message):
        score_minimal_pairs(TRUTH_A, TRUTH_B, **arguments)

"""Pass decisions by hand."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.metrics import cohen_kappa_score

from siming_tasks.analysis.pass_decisions import decide, pass_decisions
from siming_tasks.common.errors import DataError
from siming_tasks.metrics import ScoreMatrix
from tests.analysis.exams import drawn, exams, in_loops, rubric

NAN = np.nan

# Two steps of 5 points each; the second must not be failed. Pass: 6 of 10 points.
REFERENCE = np.array([[5, 5], [5, 3], [1, 1], [5, 0], [0, 5], [5, 5], [2, 2]], float)
PREDICTED = np.array([[5, 4], [1, 3], [5, 5], [5, 2], [0, 5], [5, 0], [5, NAN]], float)
TRUTH = [True, True, False, False, False, True]  # 4: 5 of 10 points; 3: must-pass step failed with 5 of 10 points
JUDGE = [True, False, True, True, False, False]  # the last video is left out: its must-pass step has no answer
BOOK = rubric(2, critical=(1,), top=5)


def of(reference: object, predicted: object, book=BOOK, **how):
    return pass_decisions(exams(reference, predicted, top=5), book, **how)


@pytest.fixture(scope="module")
def rows():
    return of(REFERENCE, PREDICTED, raters={"a": REFERENCE, "b": PREDICTED}, pass_mark=0.6)


def test_rates_by_hand(rows):
    expected = {"pass_reference": 3 / 6, "pass_judge": 3 / 6, "false_pass": 2 / 3, "false_fail": 2 / 3,
                "missed_must_pass": 1.0, "agreement": 2 / 6, "kappa": cohen_kappa_score(TRUTH, JUDGE)}  # fmt: skip
    assert {each.metric: each.value for each in rows.of(row="judge")} == pytest.approx(expected)
    sizes = {"pass_reference": 6, "false_pass": 3, "missed_must_pass": 1, "agreement": 6}
    assert {name: rows.one(row="judge", metric=name).n for name in sizes} == sizes


def test_physicians_by_the_same_rule(rows):
    """Rater b did not rate the last video's must-pass step: six videos are decided by both."""
    assert rows.one(row="physicians", metric="agreement").value == pytest.approx(2 / 6)
    assert rows.one(row="physicians", metric="kappa").value == pytest.approx(cohen_kappa_score(TRUTH, JUDGE))
    three = of(REFERENCE, PREDICTED, raters={"a": REFERENCE, "b": PREDICTED, "c": REFERENCE}, pass_mark=0.6)
    # a and c decide all seven alike; each decides two of six as b does
    assert three.one(row="physicians", metric="agreement").value == pytest.approx((2 + 7 + 2) / (6 + 7 + 6))


def test_a_failed_must_pass_step_fails_whatever_the_points():
    rows = of([[5, 0]], [[5, 5]], pass_mark=0.5)
    assert [rows.one(metric=name).value for name in ("pass_reference", "pass_judge", "false_pass")] == [0, 1, 1]
    assert rows.one(metric="false_fail").why == "No examinee passes by the reference."


@pytest.mark.parametrize(
    ("how", "expected"), [({"pass_mark": 0.9}, (1 / 4, 1 / 2, 4 / 6)), ({}, (1 / 3, 2 / 3, 3 / 6))]
)
def test_another_pass_mark(how, expected):
    """The judge passes videos 0 and 2; the reference 0 and 5 at 90 %, and 1 too with its 8 points at the usual mark."""
    rows = of(REFERENCE, PREDICTED, **how)
    found = tuple(rows.one(metric=name).value for name in ("false_pass", "false_fail", "agreement"))
    assert found == pytest.approx(expected)


def test_a_total_on_the_mark_passes_in_spite_of_rounding():
    """0.1 + 0.2 and the like must not decide an exam."""
    rows = of([[0.1, 2.9]], [[0.2, 2.8]], pass_mark=0.3)
    assert [rows.one(metric=name).value for name in ("pass_reference", "agreement")] == [1.0, 1.0]


def test_too_few_answers_are_no_decision():
    """Nine of ten answered steps are enough, four are not."""
    reference = np.full((2, 10), 5.0)
    predicted = reference.copy()
    predicted[0, 5], predicted[1, 4:] = NAN, NAN
    matrix = exams(reference, predicted, top=5)
    assert decide(matrix, predicted, rubric(10, top=5), 1.0).tolist() == [1, -1]
    assert pass_decisions(matrix, rubric(10, top=5), pass_mark=1.0).one(metric="pass_judge").n == 1


def test_verdicts_have_no_pass_mark():
    assert not pass_decisions(exams([[5, 5]], [[0, 1]], top=5, answer="error"), BOOK)


@pytest.mark.parametrize("mark", [0.0, -0.1, 1.01, 80, NAN])
def test_a_mark_off_the_scale_is_refused(mark):
    with pytest.raises(DataError, match="give the share of points that passes, above 0 and at most 1"):
        of(REFERENCE, PREDICTED, pass_mark=mark)


def test_the_interval_is_the_jackknifes():
    matrix: ScoreMatrix = drawn(np.random.default_rng(0), 80, 6)
    x, y = (side.sum(axis=1) / matrix.max_score.sum() >= 0.7 for side in (matrix.reference, matrix.predicted))
    found = pass_decisions(matrix, rubric(6), pass_mark=0.7).one(metric="kappa")
    expected = in_loops(lambda kept: cohen_kappa_score(x[kept], y[kept]), 80)
    assert (found.value, found.stderr, found.low, found.high) == pytest.approx(expected)

"""Pass decisions by hand."""

import numpy as np
import pytest
from sklearn.metrics import cohen_kappa_score

from siming_tasks.common.errors import DataError
from siming_tasks.study.analysis.pass_decisions import decide, pass_decisions
from tests.study.analysis.exams import exams, rubric

NAN = np.nan

# Two steps of 5 points each; the second must not be failed. Pass: 6 of 10 points.
REFERENCE = np.array([[5, 5], [5, 3], [1, 1], [5, 0], [0, 5], [5, 5], [2, 2]], float)
PREDICTED = np.array([[5, 4], [1, 3], [5, 5], [5, 2], [0, 5], [5, 0], [5, NAN]], float)
TRUTH = [True, True, False, False, False, True]  # 4: 5 of 10 points; 3: must-pass step failed with 5 of 10 points
JUDGE = [True, False, True, True, False, False]  # the last video is left out: its must-pass step has no answer


def of(reference: object, predicted: object, **how):
    """The values of the judge's row, or of ``row``."""
    row = how.pop("row", "judge")
    return pass_decisions(exams(reference, predicted, top=5), rubric(2, critical=(1,), top=5), **how).of(row=row)


def test_rates_by_hand_and_physicians_by_the_same_rule():
    raters = {"a": REFERENCE, "b": PREDICTED}  # b did not rate the last video's must-pass step
    rows = of(REFERENCE, PREDICTED, raters=raters, pass_mark=0.6)
    kappa = cohen_kappa_score(TRUTH, JUDGE)
    expected = {"pass_reference": 3 / 6, "pass_judge": 3 / 6, "false_pass": 2 / 3, "false_fail": 2 / 3,
                "missed_must_pass": 1.0, "agreement": 2 / 6, "kappa": kappa}  # fmt: skip
    assert {each.metric: each.value for each in rows} == pytest.approx(expected)
    sizes = {"pass_reference": 6, "false_pass": 3, "missed_must_pass": 1, "agreement": 6}
    assert {name: rows.one(metric=name).n for name in sizes} == sizes
    found = of(REFERENCE, PREDICTED, raters=raters, pass_mark=0.6, row="physicians")
    assert {each.metric: each.value for each in found} == pytest.approx({"agreement": 2 / 6, "kappa": kappa})
    three = of(REFERENCE, PREDICTED, raters={**raters, "c": REFERENCE}, pass_mark=0.6, row="physicians")
    # a and c decide all seven alike; each decides two of six as b does
    assert three.one(metric="agreement").value == pytest.approx((2 + 7 + 2) / (6 + 7 + 6))


@pytest.mark.parametrize(
    ("reference", "predicted", "how", "expected"),
    [
        (REFERENCE, PREDICTED, {"pass_mark": 0.9}, {"false_pass": 1 / 4, "false_fail": 1 / 2, "agreement": 4 / 6}),
        (REFERENCE, PREDICTED, {}, {"false_pass": 1 / 3, "false_fail": 2 / 3, "agreement": 3 / 6}),
        # a failed must-pass step fails whatever the points, and nobody passes by the reference
        ([[5, 0]], [[5, 5]], {"pass_mark": 0.5}, {"pass_judge": 1, "false_pass": 1, "false_fail": None}),
        # 0.1 + 0.2 is more than 0.3 to a computer, which must not decide an exam
        ([[0.1, 2.9]], [[0.2, 2.8]], {"pass_mark": 0.1 + 0.2}, {"pass_reference": 1, "agreement": 1}),
    ],
)
def test_other_marks_and_totals_on_the_mark(reference, predicted, how, expected):
    rows = of(reference, predicted, **how)
    assert {name: rows.one(metric=name).value for name in expected} == pytest.approx(expected)


def test_too_few_answers_are_no_decision_and_verdicts_have_none():
    """Nine of ten answered steps are enough, four are not."""
    reference = np.full((2, 10), 5.0)
    predicted = reference.copy()
    predicted[0, 5], predicted[1, 4:] = NAN, NAN
    matrix = exams(reference, predicted, top=5)
    assert decide(matrix, predicted, rubric(10, top=5), 1.0).tolist() == [1, -1]
    assert pass_decisions(matrix, rubric(10, top=5), pass_mark=1.0).one(metric="pass_judge").n == 1
    assert not pass_decisions(exams([[5, 5]], [[0, 1]], top=5, answer="error"), rubric(2, top=5))
    for mark in (0.0, -0.1, 1.01, 80, NAN):
        with pytest.raises(DataError, match="give the share of points that passes, above 0 and at most 1"):
            of(REFERENCE, PREDICTED, pass_mark=mark)

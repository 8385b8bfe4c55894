"""Exam decisions by hand."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.metrics import cohen_kappa_score
from statsmodels.stats.proportion import proportion_confint

from siming_tasks.analysis.label_agreement import label_matrices
from siming_tasks.analysis.pass_decisions import pass_decisions
from siming_tasks.rubrics import rubric_from

NAN = np.nan

# Two steps of 5 points each; the second must not be failed. Pass: 6 of 10 points.
# video   reference        judge            reference   judge
REFERENCE = [[5, 5], [5, 3], [1, 1], [5, 0], [0, 5], [5, 5], [2, 2]]
PREDICTED = [[5, 4], [1, 3], [5, 5], [5, 2], [0, 5], [5, 0], [5, NAN]]
TRUTH = [True, True, False, False, False, True]  # 4: 5 of 10 points; 3: must-pass step failed with 5 of 10 points
JUDGE = [True, False, True, True, False, False]  # the last video is left out: its must-pass step has no answer


def sheet(steps, critical=()):
    """A rubric of steps worth 5 points each."""
    criteria = {"full": "all", "partial": "some", "fail": "none"}
    made = [
        {
            "id": f"s{i:02d}",
            "name": "x",
            "requirement": "x",
            "max_score": 5,
            "criteria": criteria,
            "critical": i in critical,
        }
        for i in range(steps)
    ]
    skills = [{"id": "cpr", "name": "CPR", "steps": made}]
    return rubric_from({"schema_version": 1, "rubric_id": "test", "version": "1", "skills": skills})


@pytest.fixture
def book():
    return sheet(2, critical=(1,))


@pytest.fixture
def found(panel, book):
    a = np.array(REFERENCE, float)
    b = np.array(PREDICTED, float)
    labels = label_matrices(panel(REFERENCE, PREDICTED, max_score=5), a, b)
    return pass_decisions(labels, book, 500, np.random.default_rng(0), pass_mark=0.6)


def counts(share):
    return share.count, share.n


def test_pass_rates_and_false_decisions_equal_hand_counts(found):
    assert found.must_pass == ("s01",)
    assert counts(found.pass_rate_reference) == (sum(TRUTH), 6)
    assert counts(found.pass_rate_judge) == (sum(JUDGE), 6)
    assert counts(found.false_pass) == (2, 3)
    assert counts(found.false_fail) == (2, 3)
    assert counts(found.consistency) == (2, 6)
    assert found.kappa.value == pytest.approx(cohen_kappa_score(TRUTH, JUDGE))
    assert (found.false_pass.low, found.false_pass.high) == pytest.approx(proportion_confint(2, 3, method="wilson"))


def test_a_failed_must_pass_step_fails_the_exam(found):
    """One truly failed must-pass step (video 3), which the judge gives 2 points."""
    assert counts(found.missed_must_pass) == (1, 1)


def test_physicians_are_compared_where_both_rated_all(found):
    """Rater B did not rate the last video completely: six are decided by both, as judge and reference are here."""
    assert counts(found.human) == (2, 6)
    assert found.human_kappa.value == pytest.approx(found.kappa.value)


def test_a_failed_must_pass_step_fails_whatever_the_points(panel, book):
    labels = label_matrices(panel([[5, 0]], [[5, 5]], max_score=5))
    found = pass_decisions(labels, book, 0, np.random.default_rng(0), pass_mark=0.5)
    assert (counts(found.pass_rate_reference), counts(found.pass_rate_judge), counts(found.false_pass)) == (
        (0, 1),
        (1, 1),
        (1, 1),
    )


def test_the_pass_mark_is_swept(found):
    """At 90 %: only video 0 and 5 pass by the reference, videos 0 and 2 by the judge."""
    mark = next(mark for mark in found.marks if mark.pass_mark == 0.9)
    assert counts(mark.false_pass) == (1, 4)
    assert counts(mark.false_fail) == (1, 2)
    assert counts(mark.consistency) == (4, 6)


def test_a_total_on_the_mark_passes_in_spite_of_rounding(panel, book):
    """0.1 + 0.2 and the like must not decide an exam."""
    labels = label_matrices(panel([[0.1, 2.9]], [[0.2, 2.8]], max_score=5))
    found = pass_decisions(labels, book, 0, np.random.default_rng(0), pass_mark=0.3)
    assert counts(found.consistency) == (1, 1)
    assert counts(found.pass_rate_reference) == (1, 1)


def test_totals_are_prorated(panel):
    """Full points on nine of ten answered steps are full points; below 80 % answered a video is left out."""
    reference = np.full((2, 10), 5.0)
    predicted = reference.copy()
    predicted[0, 5] = NAN
    predicted[1, 4:] = NAN
    labels = label_matrices(panel(reference, predicted, max_score=5))
    found = pass_decisions(labels, sheet(10), 0, np.random.default_rng(0), pass_mark=1.0)
    assert counts(found.pass_rate_judge) == (1, 1)


def test_verdicts_have_no_pass_mark(panel, book):
    labels = label_matrices(panel([[5, 5]], [[0, 1]], max_score=5, answer="error"))
    assert pass_decisions(labels, book, 0, np.random.default_rng(0)) is None

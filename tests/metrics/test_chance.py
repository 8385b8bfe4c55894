"""Gwet's AC2 and Krippendorff's alpha against irrCAC 0.4.4 and krippendorff 0.9.0, on 20 pairs of labels."""

from __future__ import annotations

import numpy as np
import pytest

from siming_tasks.metrics import evaluate
from siming_tasks.metrics.kappa import confusion, gwet, krippendorff, qwk

X = [3, 3, 3, 2, 3, 0, 3, 3, 1, 3, 3, 2, 3, 3, 3, 0, 3, 2, 3, 3]
Y = [3, 3, 2, 2, 3, 1, 3, 3, 3, 3, 3, 3, 3, 3, 3, 0, 3, 2, 3, 1]


def test_chance_corrected_values_equal_other_libraries():
    """``CAC(..., weights="quadratic").gwet()``, its AC1 of "below 3", ``krippendorff.alpha(..., "interval")``."""
    counts = confusion(np.array([X], np.int8), np.array([Y], np.int8))
    assert gwet(counts)[0] == pytest.approx(0.887121601, abs=1e-9)
    assert krippendorff(counts)[0] == pytest.approx(0.684326710816777, abs=1e-12)
    x, y = np.array(X) < 3, np.array(Y) < 3
    two = np.array([(~x & ~y).sum(), (~x & y).sum(), (x & ~y).sum(), (x & y).sum()], float)
    assert gwet(two) == pytest.approx(0.655172414, abs=1e-9)


def test_alpha_is_kappa_with_one_margin_for_both(panel):
    """For equal margins and many pairs the two are the same."""
    table = np.array([[50, 5, 0, 5], [5, 60, 5, 0], [0, 5, 70, 9], [5, 0, 9, 900.0]]).ravel()
    assert krippendorff(table * 1000) == pytest.approx(qwk(table), abs=1e-6)


def test_constant_and_empty_tables_are_undefined():
    same = np.zeros(16)
    same[15] = 9
    assert np.isnan(krippendorff(same)) and gwet(same) == 1
    assert np.isnan(krippendorff(np.zeros(16))) and np.isnan(gwet(np.zeros(16)))


def test_it_stands_beside_kappa_and_says_what_a_constant_gets(panel):
    rng = np.random.default_rng(0)
    reference = np.where(rng.random((40, 10)) < 0.15, 1.0, 3.0)
    found = evaluate(panel(reference, np.full((40, 10), 3.0)), resamples=0)
    note = found.extra["footnote"]
    assert found.metrics["qwk"].value == 0
    assert note["gwet_ac2"] == note["gwet_ac2_of_always_correct"] > 0.8  # why it is a footnote
    verdicts = evaluate(panel(reference, (reference < 3) * 1.0, answer="error"), resamples=0, positive="correct")
    assert verdicts.extra["footnote"]["gwet_ac2"] == 1

"""Agreement of a model with itself, shares over clusters, and what a number is about."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from sklearn.metrics import cohen_kappa_score

from siming_tasks.analysis.retest import retest
from siming_tasks.common.errors import DataError
from siming_tasks.metrics.intervals import share, wilson
from siming_tasks.results.estimand import Estimand

NAN = np.nan


@pytest.fixture
def runs(panel):
    """Two runs over 40 exams that agree in most answers, 5 % of which are missing in the second."""
    rng = np.random.default_rng(9)
    reference = rng.integers(0, 4, (40, 6)).astype(float)
    first = np.where(rng.random((40, 6)) < 0.6, reference, rng.integers(0, 4, (40, 6)))
    again = np.where(rng.random((40, 6)) < 0.8, first, rng.integers(0, 4, (40, 6)))
    again[rng.random((40, 6)) < 0.05] = NAN
    return panel(reference, first), panel(reference, again)


def kappa(a, b):
    return cohen_kappa_score(a, b, weights="quadratic", labels=[0, 1, 2, 3])


def test_a_model_with_itself_is_scikit_learns_kappa(runs):
    first, again = runs
    rng = np.random.default_rng(1)
    a, b = (np.where(rng.random((40, 6)) < 0.9, first.reference, 3) for _ in range(2))
    found = retest(first, again, [replace(first, reference=a), replace(first, reference=b)], resamples=200)
    on = ~np.isnan(again.predicted)
    assert found.steps == on.sum()
    assert found.same == pytest.approx((first.predicted == again.predicted)[on].mean())
    assert found.itself["qwk"].value == pytest.approx(kappa(first.predicted[on], again.predicted[on]))
    assert found.reference["qwk"].value == pytest.approx(kappa(first.reference[on], first.predicted[on]))
    assert found.physicians["qwk"] == pytest.approx(kappa(a.ravel(), b.ravel()))
    assert found.itself["qwk"].low < found.itself["qwk"].value < found.itself["qwk"].high


def test_the_same_run_twice_agrees_wholly_and_verdicts_count(runs):
    first, _ = runs
    assert retest(first, first, resamples=50).itself["qwk"].value == 1
    verdicts = replace(first, answer="error", predicted=(first.predicted < 3).astype(float))
    found = retest(verdicts, verdicts, resamples=50)
    assert (found.same, found.itself["mcc"].value) == (1.0, 1.0)
    with pytest.raises(DataError, match="different kinds of answers"):
        retest(first, verdicts)
    with pytest.raises(DataError, match="no step in common"):
        retest(first, first.predicting(np.full((40, 6), NAN)))


# --- shares over clusters --------------------------------------------------------------------------------------------


def test_one_place_in_every_cluster_is_wilsons_interval():
    hit = np.array([True, False, True, True] * 5)
    assert share(hit, np.ones(20, bool), np.arange(20)) == wilson(15, 20)


def test_copies_are_counted_once():
    """Ten places in each of forty clusters that are all alike: the interval of forty, with t for the normal."""
    once = np.arange(40) % 4 > 0
    many = share(np.repeat(once, 10)[:, None], np.ones((400, 1), bool), np.repeat(np.arange(40), 10))
    plain = wilson(30, 40)
    assert (many.count, many.n, many.value) == (300, 400, 0.75)
    assert many.high - many.low == pytest.approx(plain.high - plain.low, rel=0.06)
    assert many.high - many.low > plain.high - plain.low


def test_design_effect_by_a_slow_loop():
    rng = np.random.default_rng(2)
    among = rng.random((30, 8)) < 0.7
    hit = rng.random((30, 8)) < rng.beta(1, 2, (30, 1))
    clusters = np.arange(30) // 2
    found = share(hit, among, clusters)
    n, p = among.sum(), (hit & among).sum() / among.sum()
    squares = 0.0
    for cluster in range(15):
        rows = clusters == cluster
        squares += ((hit & among)[rows].sum() - p * among[rows].sum()) ** 2
    size = n / (15 / 14 * squares / (n * p * (1 - p)))
    t = 2.1447866879169273  # the .975 quantile of t with 14 degrees of freedom (tables)
    middle, half = p + t**2 / (2 * size), t * np.sqrt(p * (1 - p) / size + t**2 / (4 * size**2))
    assert size < n
    assert (found.low, found.high) == pytest.approx(
        ((middle - half) / (1 + t**2 / size), (middle + half) / (1 + t**2 / size))
    )


def test_nine_clusters_have_no_interval():
    found = share(np.ones((9, 2), bool), np.ones((9, 2), bool), np.arange(9))
    assert (found.value, found.low, found.high) == (1.0, None, None)


# --- the estimand ----------------------------------------------------------------------------------------------------


def test_the_sentence_says_whose_exams_and_which_raters():
    stated = ("full_score", "Full video, scores", 200, "student", 50, ("site",), 4, "consensus", ("a", "b"), 0.021)
    of_students = Estimand(*stated)
    assert of_students.sentence == (
        "Estimand: agreement with the consensus of these 2 physicians (these raters, no others) in “Full video, "
        "scores”, over 200 videos of 50 students, taken as a sample of students like these at these 4 sites, not at "
        "others; missing answers (2.1%) are left out of the metrics, and count as full points (“correct”) where "
        "imputed, in ranks and in tests."
    )
    one = replace(of_students, unit="site", clusters=1, fixed=(), sites=1).sentence
    assert "over 200 videos of 1 site, taken as a sample of sites like these;" in one
    facts = {"unit": "video", "clusters": 200, "sites": 0, "fixed": ("student",), "reference": "dr_x", "missing": None}
    of_videos = replace(of_students, **facts).sentence
    assert "with the points of dr_x (these raters" in of_videos
    assert (
        "over 200 videos, taken as a sample of videos like these; these students stand for themselves; miss"
        in of_videos
    )
    of_machines = replace(of_students, raters=(), machines="1 instrument and 2 models").sentence
    assert "with the consensus (these raters, no others: 1 instrument and 2 models, no person) in" in of_machines
    at_sites = replace(of_students, unit="site", clusters=30, sites=30, fixed=()).sentence
    assert "200 videos of 30 sites, taken as a sample of sites like these; missing" in at_sites

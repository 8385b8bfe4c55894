"""Shares of places that are not independent: coverage, the formula by hand, and Wilson's where each is its own."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats
from siming_tasks.metrics.intervals import share, wilson


def judged(rng, samples, videos, steps, icc, p=0.85):
    """Marks of ``samples`` data sets: beta-binomial, so that two steps of a video correlate by ``icc``."""
    a, b = p * (1 / icc - 1), (1 - p) * (1 / icc - 1)
    return rng.random((samples, videos, steps)) < rng.beta(a, b, (samples, videos, 1))


def test_shares_of_clustered_steps_are_covered():
    """600 data sets of 40 videos with 8 steps each, ICC .3: nominal 95 % (one standard error .9 %)."""
    rng, own = np.random.default_rng(3), np.arange(40)
    everywhere = np.ones((40, 8), bool)
    clustered, naive = [], []
    for marks in judged(rng, 600, 40, 8, 0.3):
        found, plain = share(marks, everywhere, own), wilson(int(marks.sum()), marks.size)
        clustered.append(found.low <= 0.85 <= found.high)
        naive.append(plain.low <= 0.85 <= plain.high)
    assert np.mean(naive) < 0.82
    assert 0.93 <= np.mean(clustered) <= 0.975


def test_a_share_of_clusters_is_wilson_of_the_effective_number():
    """By hand: the variance of a ratio estimator over the clusters (Cochran), t in place of z, at SciPy's Wilson."""
    rng = np.random.default_rng(4)
    marks, among = judged(rng, 1, 24, 5, 0.4)[0], rng.random((24, 5)) < 0.8
    students = np.repeat(np.arange(12), 2)
    hits = np.array([(marks & among)[students == k].sum() for k in range(12)], float)
    sizes = np.array([among[students == k].sum() for k in range(12)], float)
    p, n = hits.sum() / sizes.sum(), sizes.sum()
    variance = 12 / 11 * sum((h - p * s) ** 2 for h, s in zip(hits, sizes, strict=True)) / n**2
    effective = min(n, p * (1 - p) / variance) * (stats.norm.ppf(0.975) / stats.t.ppf(0.975, 11)) ** 2
    z = stats.norm.ppf(0.975)
    middle = (p + z**2 / (2 * effective)) / (1 + z**2 / effective)
    half = z * np.sqrt(p * (1 - p) / effective + z**2 / (4 * effective**2)) / (1 + z**2 / effective)
    found = share(marks, among, students)
    assert (found.count, found.n, found.clusters) == (hits.sum(), n, 12)
    assert (found.low, found.high) == pytest.approx((middle - half, middle + half))


def test_a_share_of_independent_videos_is_plain_wilson():
    marks = np.random.default_rng(5).random(30) < 0.7
    assert share(marks, np.ones(30, bool), np.arange(30)) == wilson(int(marks.sum()), 30)


def test_a_share_of_few_clusters_has_no_interval_and_of_all_that_of_the_clusters():
    everywhere = np.ones((9, 4), bool)
    few = share(everywhere, everywhere, np.arange(9))
    assert (few.value, few.low, few.high, few.clusters) == (1.0, None, None, 9)
    everywhere = np.ones((20, 4), bool)
    assert share(everywhere, everywhere, np.arange(20)).low == pytest.approx(0.025 ** (1 / 20))
    assert share(everywhere, ~everywhere, np.arange(20)).value is None

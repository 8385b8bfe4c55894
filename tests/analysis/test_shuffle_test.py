"""Exchanges of whole clusters: what stays together, and the size of the test where videos of a student are alike."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from siming_tasks.analysis.shuffle_test import exchange, shuffle_p
from siming_tasks.metrics import ScoreMatrix


def test_without_clusters_it_is_a_permutation_of_the_videos():
    one, other = np.random.default_rng(1), np.random.default_rng(1)
    np.testing.assert_array_equal(exchange(np.arange(50), one), other.permutation(50))


@pytest.mark.parametrize("seed", range(20))
def test_clusters_of_one_size_change_places_whole(seed):
    clusters = np.array([0, 1, 0, 2, 2, 3, 4, 4, 4, 5])  # sizes 2, 1, 2, 1, 3, 1
    source = exchange(clusters, np.random.default_rng(seed))
    assert sorted(source) == list(range(10))
    sizes = np.bincount(clusters)
    for cluster in range(6):
        came_from = set(clusters[source[clusters == cluster]])
        assert len(came_from) == 1 and sizes[came_from.pop()] == sizes[cluster]
    assert set(source[clusters == 4]) == {6, 7, 8}  # the only one of three


def test_every_exchange_is_equally_likely():
    """Two students of two videos: 2 x 2 x 2 permutations."""
    rng = np.random.default_rng(0)
    seen = [tuple(exchange(np.array([0, 0, 1, 1]), rng)) for _ in range(8000)]
    counts = np.unique(seen, axis=0, return_counts=True)[1]
    assert len(counts) == 8 and counts.min() > 880 and counts.max() < 1120


def test_the_size_is_kept_where_students_are_alike():
    """Reference and judge each vary by student, without regard of each other; 16 students of 6 videos, 150 data sets.

    Exchanging single videos rejects in more than 15 %, exchanging students in 5 % (one standard error: 1.8 %).
    """
    rng = np.random.default_rng(2)
    students = np.repeat(np.arange(16), 6)
    whole, single = [], []
    for seed in range(150):
        levels = (np.repeat(rng.standard_normal((16, 1)), 6, axis=0) + 0.5 * rng.standard_normal((96, 1)) for _ in "xy")
        x, y = (np.clip(np.round(2 + level + 0.7 * rng.standard_normal((96, 4))), 0, 3) for level in levels)
        names = tuple(f"v{v:03d}" for v in range(96))
        panel = ScoreMatrix(names, tuple("abcd"), ("all",) * 4, [3] * 4, x, y, np.ones((96, 4), bool), "score")
        clustered = replace(panel, clusters=tuple(map(str, students)), unit="student")
        for found, data in ((whole, clustered), (single, panel)):
            found.append(shuffle_p(data, permutations=59, seed=seed)["qwk"] <= 0.05)
    assert np.mean(single) > 0.15
    assert 0.01 <= np.mean(whole) <= 0.10

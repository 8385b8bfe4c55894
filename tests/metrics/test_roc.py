"""Areas under the ROC curve of clustered scores, against scikit-learn, a loop, a jackknife and Mann-Whitney."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats
from sklearn.metrics import roc_auc_score

from siming_tasks.metrics.roc import Area, ScoredSteps


def scored(seed: int, videos: int = 24, steps: int = 4, clusters: int = 8) -> ScoredSteps:
    """Scores with ties that tell something of the labels; some cells are unknown."""
    rng = np.random.default_rng(seed)
    member = np.sort(rng.integers(clusters, size=videos))
    member = np.unique(member, return_inverse=True)[1]
    wrong = rng.random((videos, steps)) < 0.4
    scores = np.round(rng.normal(0, 1, wrong.shape) + 0.8 * wrong + rng.normal(0, 0.5, videos)[:, None], 1)
    return ScoredSteps(scores, wrong, rng.random(wrong.shape) < 0.9, member)


def test_the_pooled_area_equals_scikit_learn() -> None:
    some = scored(1)
    assert some.pooled()[0] == pytest.approx(roc_auc_score(some.wrong[some.known], some.scores[some.known]), abs=1e-12)


def test_the_area_within_steps_equals_a_loop_over_pairs() -> None:
    some = scored(2)
    won = pairs = 0.0
    own = []
    for step in range(4):
        rows = np.flatnonzero(some.known[:, step])
        cases = [some.scores[v, step] for v in rows if some.wrong[v, step]]
        others = [some.scores[v, step] for v in rows if not some.wrong[v, step]]
        wins = sum((a > b) + 0.5 * (a == b) for a in cases for b in others)
        own.append(wins / (len(cases) * len(others)))
        won, pairs = won + wins, pairs + len(cases) * len(others)
    value, _, by_step = some.within()
    assert value == pytest.approx(won / pairs, abs=1e-12)
    np.testing.assert_allclose(by_step, own, atol=1e-12)


@pytest.mark.parametrize("which", ["pooled", "within"])
def test_the_interval_is_as_wide_as_a_jackknife_over_clusters(which: str) -> None:
    some = scored(3, videos=600, clusters=60)
    value, influence = getattr(some, which)()[:2]
    count = len(influence)
    left_out = []
    for cluster in range(count):
        rows = some.clusters != cluster
        names = np.unique(some.clusters[rows], return_inverse=True)[1]
        left_out.append(getattr(ScoredSteps(some.scores[rows], some.wrong[rows], some.known[rows], names), which)()[0])
    error = np.sqrt((count - 1) / count * ((np.array(left_out) - np.mean(left_out)) ** 2).sum())
    area = Area.of(value, influence)
    assert (area.high - area.low) / 2 == pytest.approx(stats.t.ppf(0.975, count - 1) * error, rel=0.03)
    assert influence.sum() == pytest.approx(0, abs=1e-9)


def test_one_class_has_no_area() -> None:
    some = ScoredSteps(np.zeros((4, 1)), np.ones((4, 1), bool), np.ones((4, 1), bool), np.arange(4))
    assert np.isnan(some.pooled()[0]) and np.isnan(some.within()[0]) and np.isnan(Area.of(*some.pooled()).low)


def test_centred_scores_forget_the_mean_of_their_fold_by_hand() -> None:
    some = ScoredSteps(
        np.array([[1.0], [3.0], [7.0], [9.0]]), np.zeros((4, 1), bool), np.ones((4, 1), bool), np.arange(4)
    )
    assert some.centred(np.array([0, 0, 1, 1])).scores.ravel().tolist() == [-1, 1, -1, 1]


def test_p_by_exchanges_is_that_of_the_mann_whitney_test() -> None:
    """A single step of videos that are their own clusters: the exact p is known."""
    rng = np.random.default_rng(4)
    wrong = np.arange(16) < 7
    scores = rng.normal(0, 1, 16) + 0.9 * wrong
    some = ScoredSteps(scores[:, None], wrong[:, None], np.ones((16, 1), bool), np.arange(16))
    exact = stats.mannwhitneyu(scores[wrong], scores[~wrong], alternative="greater", method="exact").pvalue
    p, largest, step = some.exchange_p(3999, rng)
    assert 0.01 < exact < 0.3 and step == 0 and p == largest
    assert p == pytest.approx(exact, abs=4 * np.sqrt(exact / 4000))


def test_whole_clusters_are_exchanged() -> None:
    """Two clusters of videos alike in score and label look alike by chance in one order of two: p is about a half."""
    wrong = np.repeat([True, False], 10)[:, None]
    some = ScoredSteps(wrong * 1.0, wrong, np.ones((20, 1), bool), np.repeat([0, 1], 10))
    assert some.exchange_p(999, np.random.default_rng(5))[0] == pytest.approx(0.5, abs=0.07)


def test_the_largest_of_many_steps_is_no_finding() -> None:
    """Of 30 steps without any tie to the labels one stands out by itself; its p is for the largest of all."""
    found = []
    for seed in range(20):
        rng = np.random.default_rng(seed)
        wrong = rng.random((40, 30)) < 0.4
        some = ScoredSteps(rng.normal(0, 1, wrong.shape), wrong, np.ones(wrong.shape, bool), np.arange(40))
        _, p, step = some.exchange_p(99, rng)
        assert some.within()[2][step] > 0.55
        found.append(p)
    assert 0.3 < np.mean(found) < 0.7  # uniform: 0.5, standard error 0.065

"""Totals: equal fractions are equal numbers, and ranks of them are those of the exact fractions."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from scipy.stats import rankdata
from siming_tasks.metrics.no_video_baselines import step_prior

from siming_tasks.metrics.correlation import Paired, shares, spearman, totals
from siming_tasks.metrics.score_matrix import ScoreMatrix

pytestmark = pytest.mark.fast


def exam(rng: np.random.Generator, videos: int = 40, part: int = 2) -> ScoreMatrix:
    """A panel of 33 steps with points in ``1 / part``, steps that do not apply, and missing answers."""
    worth = rng.choice([1.0, 2.0, 3.0, 5.0], size=33)
    shape = videos, 33
    points = rng.binomial((part * worth).astype(int), 0.9, size=shape) / part
    said = rng.binomial((part * worth).astype(int), 0.85, size=shape) / part
    said[rng.random(shape) < 0.08] = np.nan
    names = [tuple(f"{kind}{k}" for k in range(n)) for kind, n in (("v", videos), ("s", 33))]
    asked = rng.random(shape) > 0.05
    return ScoreMatrix(*names, ("cpr",) * 33, worth, points, said, asked, "score")


def exact(panel: ScoreMatrix, part: int) -> tuple[list[Fraction], list[Fraction]]:
    """Shares of the reference and of the judge, as fractions; ``None`` in neither: all videos are answered enough."""
    truth, judge = [], []
    for v in range(len(panel.video_ids)):
        counted = [s for s in range(33) if panel.asked[v, s]]
        both = [s for s in counted if not np.isnan(panel.predicted[v, s])]
        if len(both) < 0.8 * len(counted):
            continue

        def share(values, steps, v=v):
            earned = sum(Fraction(round(part * values[v, s]), part) for s in steps)
            return earned / sum(Fraction(int(panel.max_score[s])) for s in steps)

        truth.append(share(panel.reference, counted))
        judge.append(share(panel.predicted, both))
    return truth, judge


def ranks(fractions: list[Fraction]) -> np.ndarray:
    """Average ranks of exact fractions, by SciPy on their numbers in ascending order."""
    place = {value: k for k, value in enumerate(sorted(set(fractions)))}
    return rankdata([place[value] for value in fractions])


@pytest.mark.parametrize("part", [1, 2, 3, 10])
def test_the_rank_correlation_is_that_of_exact_fractions(part):
    for seed in range(75):
        panel = exam(np.random.default_rng(seed), part=part)
        truth, judge = exact(panel, part)
        x, y = shares(panel)
        pairs = Paired(x, y)
        assert len(pairs) == len(truth)
        expected = np.corrcoef(ranks(truth), ranks(judge))[0, 1]
        assert spearman(pairs, np.ones((1, 40)))[0] == pytest.approx(expected, abs=1e-12)
        for mine, theirs in ((pairs.x, truth), (pairs.y, judge)):  # the same ties, and the same order
            assert (rankdata(mine) == ranks(theirs)).all()
        most = max(panel.counted @ panel.max_score)
        assert np.abs(pairs.y - np.array(judge, float) * most).max() < 1e-9


def test_the_same_fraction_is_the_same_number_whatever_was_answered():
    """41 of 46.5 points, 82 of 93 and 164 of 186: exactly one number, whole where 93 are available."""
    worth = np.array([46.5, 46.5, 93.0])
    said = np.array([[41.0, np.nan, np.nan], [41.0, 41.0, np.nan], [41.0, 41.0, 82.0]])
    asked = ~np.isnan(said)
    panel = ScoreMatrix(("a", "b", "c"), ("s", "t", "u"), ("x",) * 3, worth, said, said, asked, "score")
    x, y = shares(panel)
    assert x.tolist() == y.tolist() == [164.0] * 3
    assert [side.tolist() for side in totals(panel)] == [[41.0, 82.0, 164.0]] * 2


def test_steps_taken_several_times_are_totals_of_each_row():
    panel, rng = exam(np.random.default_rng(0)), np.random.default_rng(1)
    times = rng.integers(0, 3, size=(4, 33)).astype(float)
    many = shares(panel, times)
    for row, x, y in zip(times, *many, strict=True):
        for side, alone in zip((x, y), shares(panel, row), strict=True):
            np.testing.assert_array_equal(side, alone)


def test_points_that_are_no_simple_fractions_are_near_their_sums():
    rng = np.random.default_rng(2)
    worth = rng.uniform(1, 5, 7)
    points = rng.random((20, 7)) * worth
    names = tuple(f"v{k}" for k in range(20)), tuple(f"s{k}" for k in range(7))
    panel = ScoreMatrix(*names, ("x",) * 7, worth, points, points, np.ones((20, 7)), "score")
    x, _ = shares(panel)
    assert np.abs(x - points.sum(axis=1)).max() < 1e-8
    full = panel.predicting(np.where(rng.random((20, 7)) < 0.1, np.nan, panel.max_score))
    y = shares(full)[1]
    assert len(set(y[~np.isnan(y)].tolist())) == 1  # a judge that gives full points is a constant


def test_the_step_prior_holds_three_thirds_for_one_whole(panel):
    """Steps of the same mean share keep their order: quantiles 1/4 and 3/4 of 0, 0, 1/3, 1/3, 1/3, 1."""
    reference = np.array([[3.0, 1.0], [0.0, 1.0], [0.0, 1.0], [3.0, 3.0]])
    assert step_prior(panel(reference, reference)).predicted[3].tolist() == [0.0, 1.0]

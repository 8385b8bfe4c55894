"""Ranks: one simultaneous procedure behind intervals, bold, the sentence of a comparison and the verdict."""

from __future__ import annotations

from itertools import combinations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from siming_tasks.analysis.comparison import compare_scores
from siming_tasks.analysis.paired_tests import holm, jackknife_t
from siming_tasks.analysis.ranks import RunRank, with_intervals
from siming_tasks.metrics import ScoreMatrix
from siming_tasks.metrics.alignment import ComparisonEntry
from siming_tasks.report.verdict import build_verdict


def ranked(**ranks: int) -> dict[str, RunRank]:
    return {name: RunRank(rank, 1, len(ranks)) for name, rank in ranks.items()}


def test_intervals_by_hand():
    """Of A > C, B > D and C > D follows A > D: A is better than two, nothing is known of B and C."""
    found = with_intervals(ranked(A=1, B=2, C=3, D=4), {("A", "C"), ("B", "D"), ("C", "D")})
    assert {name: (item.low, item.high) for name, item in found.items()} == {
        "A": (1, 2), "B": (1, 3), "C": (2, 3), "D": (4, 4),
    }  # fmt: skip
    assert found["A"].above == ("C", "D") and [name for name in found if found[name].may_be_best] == ["A", "B"]


def test_without_tests_every_rank_is_possible():
    found = with_intervals(ranked(A=1, B=2, C=3), set())
    assert {(item.low, item.high) for item in found.values()} == {(1, 3)}


def test_a_pair_against_the_order_of_the_ranks_does_not_count():
    assert {(item.low, item.high) for item in with_intervals(ranked(A=1, B=2), {("B", "A")}).values()} == {(1, 2)}


def test_all_intervals_hold_together_in_95_of_100_studies():
    """Means of 20 draws, three judges truly equal and a better one: true rank of the better 1, of the equal 2 to 4."""
    rng, names, held, told = np.random.default_rng(0), "abcd", 0, 0
    truth = np.array([0.0, 0.0, 0.0, 1.2])
    for _ in range(600):
        x = truth + rng.normal(size=(20, 1)) + rng.normal(size=(20, 4))
        mean, left_out = x.mean(axis=0), (x.sum(axis=0) - x) / 19
        pairs = list(combinations(range(4), 2))
        p = holm(np.array([jackknife_t(mean[i] - mean[j], left_out[:, i] - left_out[:, j]).p for i, j in pairs]))
        found = {
            (i, j) if mean[i] > mean[j] else (j, i) for (i, j), value in zip(pairs, p, strict=True) if value <= 0.05
        }
        order = {name: 1 + int((mean > mean[k]).sum()) for k, name in enumerate(names)}
        made = with_intervals(ranked(**order), {(names[i], names[j]) for i, j in found})
        held += made["d"].low == 1 and all(made[name].low <= 2 and made[name].high == 4 for name in "abc")
        told += made["d"].high == 1
    assert held / 600 > 0.95 - 2 * np.sqrt(0.05 * 0.95 / 600)
    assert told > 100  # and it finds something


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10**6), st.integers(8, 24), st.integers(2, 5), st.sampled_from(["score", "error"]), st.booleans())
def test_no_two_places_contradict_each_other(seed, videos, judges, answer, missing):
    """A judge's interval holds rank 1 exactly if the sentence, the verdict and the pairs leave it among the best."""
    rng = np.random.default_rng(seed)
    reference = rng.integers(0, 3, (videos, 6)).astype(float)
    entries = []
    for k in range(judges):
        right = rng.random((videos, 6)) < rng.choice([0.1, 0.5, 0.9])
        said = np.where(right, reference, rng.integers(0, 3, (videos, 6)))
        said = said if answer == "score" else (said < 2).astype(float)
        said[(rng.random((videos, 6)) < 0.02) & missing] = np.nan
        ids = [f"v{v}" for v in range(videos)], "abcdef", "xxxyyy", [2.0] * 6
        panel = ScoreMatrix(*ids, reference, said, np.ones((videos, 6)), answer)
        entries.append(ComparisonEntry(f"judge {k}", panel))
    found = compare_scores(entries, resamples=2)
    for metric, ranks in found.ranks.items():
        of_metric = [item for item in found.differences if item.metric == metric and {item.a, item.b} <= {*ranks}]
        wins = [(item.better, item.b if item.better == item.a else item.a) for item in of_metric if item.better]
        verdict = build_verdict(list(ranks), found, metric, {})
        for name, rank in ranks.items():
            assert 1 <= rank.low <= rank.rank <= rank.high <= len(ranks)
            beaten = any(worse == name and ranks[better].rank < rank.rank for better, worse in wins)
            assert (rank.low == 1) == rank.may_be_best == (name in verdict["top"]) == (not beaten)
            assert len(rank.above) == len(ranks) - rank.high
        assert min(ranks.values(), key=lambda rank: rank.rank).low == 1
        assert verdict["top"][0] in [name for name in ranks if ranks[name].rank == 1]
    if ranks := found.ranks.get(found.headline):
        sentence, best = found.sentence(), [name for name in ranks if ranks[name].may_be_best]
        if len(ranks) > 2:
            assert sentence.startswith(f"{len(best)} of {len(ranks)} runs may be the best") == (len(best) > 1)
            if len(best) <= 4:
                assert {name for name in ranks if f"{name} (" in sentence} == {*best}
        else:
            assert ("cannot be told apart" in sentence) == (len(best) == 2)

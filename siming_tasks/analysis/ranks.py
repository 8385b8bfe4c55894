"""Ranks of runs in one metric, and their simultaneous intervals from the corrected tests of all pairs.

The intervals are those of Mogstad, Romano, Shaikh and Wilhelm (*Inference for Ranks*, 2024): the rank of a run lies
between one more than the number of runs that are better beyond chance and the number of runs less those that it is
better than. Holm's correction keeps the chance of a single false order among all pairs at 5 %, so all intervals of one
family hold together with 95 %. What may be the best is what nothing is better than: whatever says so reads
:attr:`RunRank.may_be_best`.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from siming_tasks.analysis.paired_tests import AnsweredDifference, Pair
from siming_tasks.metrics.catalogue import CATALOGUE
from siming_tasks.metrics.score_matrix import BoolArray, FloatArray
from siming_tasks.metrics.thresholds import NOISE


@dataclass(frozen=True)
class RunRank:
    """Rank of one run in one metric.

    Attributes:
        rank: 1 = best; equal values share the better rank. A run whose lead over another is not a lead of its answers
            ranks with that other run, not above it.
        low: lower end of the 95 % interval of the rank, simultaneous with those of all other runs; ``high``: upper end.
        above: runs that it is better than beyond chance, by a test of the two or of runs between them.
        tied_with: runs with a smaller value that it does not rank above, since it is not ahead on the items that both
            answered.
    """

    rank: int
    low: int
    high: int
    above: tuple[str, ...] = ()
    tied_with: tuple[str, ...] = ()

    @property
    def may_be_best(self) -> bool:
        """True if no run is better beyond chance: its interval holds rank 1."""
        return self.low == 1


def capped_values(value: FloatArray, holds: BoolArray) -> FloatArray:
    """Values ``float64[K]`` to rank by, larger is better: never above that of a run over which a lead does not hold.

    ``holds``, ``bool[K, K]``: of (a, b), True if a lead of a over b is also a lead of a's answers.
    """
    capped: FloatArray = value.copy()
    for k in np.argsort(value, kind="stable"):  # upwards, so that the values below are final
        limits = capped[(value < value[k] - NOISE) & ~holds[k]]
        capped[k] = min([capped[k], *limits.tolist()])
    return capped


def compute_ranks(
    names: Sequence[str], metric: str, value: FloatArray, on_answered: Mapping[Pair, AnsweredDifference]
) -> dict[str, RunRank]:
    """Ranks of K runs with a value ``float64[K]``; every rank is possible until :func:`with_intervals` has tests."""
    sign = CATALOGUE[metric].sign
    holds = np.array([[a == b or on_answered[a, b].holds(metric, sign) for b in names] for a in names], dtype=np.bool_)
    above = sign * value[:, None] > sign * value[None, :] + NOISE
    capped = capped_values(sign * value, holds)
    rank = 1 + (capped[None, :] > capped[:, None] + NOISE).sum(axis=1)
    return {
        name: RunRank(
            rank=int(rank[k]),
            low=1,
            high=len(names),
            tied_with=tuple(names[j] for j in np.flatnonzero(above[k] & ~holds[k]).tolist()),
        )
        for k, name in enumerate(names)
    }


def with_intervals(ranks: Mapping[str, RunRank], better: Collection[Pair]) -> dict[str, RunRank]:
    """The ranks of one metric with their intervals, from the pairs (better, worse) that the corrected tests found.

    What is better than a run that is better than a third is better than the third: where no test is wrong, neither is
    that. A pair against the order of the ranks (a run whose value is held down by a third) does not count.
    """
    below = {
        name: {b for a, b in better if a == name and b in ranks and ranks[a].rank < ranks[b].rank} for name in ranks
    }
    for name in sorted(ranks, key=lambda name: -ranks[name].rank):  # upwards: those below are complete
        below[name] |= {further for other in below[name] for further in below[other]}
    return {
        name: replace(
            rank,
            low=1 + sum(name in others for others in below.values()),
            high=len(ranks) - len(below[name]),
            above=tuple(other for other in ranks if other in below[name]),
        )
        for name, rank in ranks.items()
    }

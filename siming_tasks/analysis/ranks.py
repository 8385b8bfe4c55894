"""Ranks of runs in one metric, with intervals from the resamples that all runs share."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from siming_tasks.analysis.paired_tests import AnsweredDifference, Pair
from siming_tasks.metrics.catalogue import CATALOGUE
from siming_tasks.metrics.score_matrix import BoolArray, FloatArray, IntArray
from siming_tasks.metrics.thresholds import LEVEL, NOISE


@dataclass(frozen=True)
class RunRank:
    """Rank of one run in one metric.

    Attributes:
        rank: 1 = best; equal values share the better rank. A run whose lead over another is not a lead of its answers
            ranks with that other run, not above it.
        low: lower end of the 95 % interval of the rank, by value in every resample; ``high``: upper end.
        first: share of the resamples in which it came first.
        tied_with: runs with a smaller value that it does not rank above, since it is not ahead on the items that both
            answered.
    """

    rank: int
    low: int
    high: int
    first: float
    tied_with: tuple[str, ...] = ()


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
    names: Sequence[str],
    metric: str,
    value: FloatArray,
    replicates: FloatArray,
    on_answered: Mapping[Pair, AnsweredDifference],
) -> dict[str, RunRank]:
    """Ranks of K runs with a value ``float64[K]`` and its bootstrap ``float64[B, K]``.

    Resamples in which a value is undefined are left out. Where none is left, any rank is possible.
    """

    def ranks_of(values: FloatArray) -> IntArray:
        larger: IntArray = (values[..., None, :] > values[..., :, None] + NOISE).sum(axis=-1)
        return 1 + larger

    sign = CATALOGUE[metric].sign
    holds = np.array([[a == b or on_answered[a, b].holds(metric, sign) for b in names] for a in names], dtype=np.bool_)
    above = sign * value[:, None] > sign * value[None, :] + NOISE
    rank = ranks_of(capped_values(sign * value, holds))
    drawn = ranks_of(sign * replicates[~np.isnan(replicates).any(axis=1)])
    tail = (1 - LEVEL) / 2
    low, high, first = np.ones_like(rank), np.full_like(rank, len(names)), (rank == 1).astype(np.float64)
    if len(drawn):
        low, high = np.quantile(drawn, [tail, 1 - tail], axis=0, method="inverted_cdf").astype(np.int64)
        first = (drawn == 1).mean(axis=0)
    return {
        name: RunRank(
            rank=int(rank[k]),
            # Capping can move the rank out of the interval, which knows the values alone.
            low=min(int(low[k]), int(rank[k])),
            high=max(int(high[k]), int(rank[k])),
            first=float(first[k]),
            tied_with=tuple(names[j] for j in np.flatnonzero(above[k] & ~holds[k]).tolist()),
        )
        for k, name in enumerate(names)
    }

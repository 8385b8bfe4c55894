"""Who is ahead of whom: ranks with their intervals, of values that leaving answers out cannot raise."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from siming_tasks.metrics.score_matrix import BoolArray, FloatArray, IntArray
from siming_tasks.metrics.thresholds import LEVEL, NOISE

__all__ = ["RunRank", "capped_values", "compute_ranks"]


@dataclass(frozen=True)
class RunRank:
    """Rank of a run.

    Attributes:
        rank: 1 = best; equal values share the better rank. A run whose lead over another is not one of its answers too
            ranks with that other, not above it.
        low: lower end of the 95 % interval of the rank, by value in every resample.
        high: upper end.
        first: how often it came first there.
        tied_with: the runs with a smaller value that it is not above, as it is not ahead on the items both answered.
    """

    rank: int
    low: int
    high: int
    first: float
    tied_with: tuple[str, ...] = ()


def capped_values(value: FloatArray, holds: BoolArray) -> FloatArray:
    """Values to rank by, larger is better: never above that of a run over which a lead does not hold.

    Args:
        value: missing answers imputed, ``float64[K]``.
        holds: of (a, b), whether a lead of a over b is one of a's answers too, ``bool[K, K]``.
    """
    found: FloatArray = value.copy()
    for k in np.argsort(value, kind="stable"):  # upwards: those below are settled
        capped = found[(value < value[k] - NOISE) & ~holds[k]]
        found[k] = min([found[k], *capped.tolist()])
    return found


def compute_ranks(
    names: Sequence[str],
    sign: float,
    value: FloatArray,
    replicates: FloatArray,
    holds: Mapping[tuple[str, str], bool],
) -> dict[str, RunRank]:
    """Ranks of runs in one metric.

    Args:
        names: of K runs with a value.
        sign: 1.0 if larger is better, else -1.0.
        value: missing answers imputed, ``float64[K]``.
        replicates: of it, ``float64[B, K]``; resamples in which one of them is undefined are left out.
        holds: of (a, b), whether a lead of a over b is one of a's answers too.
    """
    sure = np.array([[a == b or holds[a, b] for b in names] for a in names], dtype=np.bool_)
    above = sign * value[:, None] > sign * value[None, :] + NOISE
    rank = _ranks(capped_values(sign * value, sure))
    drawn = _ranks(sign * replicates[~np.isnan(replicates).any(axis=1)])
    tail = (1 - LEVEL) / 2
    low, high, first = rank, rank, (rank == 1).astype(np.float64)
    if len(drawn):
        low, high = np.quantile(drawn, [tail, 1 - tail], axis=0, method="inverted_cdf").astype(np.int64)
        first = (drawn == 1).mean(axis=0)
    return {
        name: RunRank(
            int(rank[k]),
            min(int(low[k]), int(rank[k])),
            max(int(high[k]), int(rank[k])),
            float(first[k]),
            tuple(names[j] for j in np.flatnonzero(above[k] & ~sure[k]).tolist()),
        )
        for k, name in enumerate(names)
    }


def _ranks(values: FloatArray) -> IntArray:
    """1 + how many are larger, along the last axis."""
    larger: IntArray = (values[..., None, :] > values[..., :, None] + NOISE).sum(axis=-1)
    return 1 + larger

"""Numbers that are formulas of counts which add up over videos: one shared bootstrap for as many as there are."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from siming_tasks.metrics.estimate import Estimate
from siming_tasks.metrics.intervals import finish
from siming_tasks.metrics.kappa import confusion, qwk
from siming_tasks.metrics.resample import Clusters, n_clusters, sample, spreads
from siming_tasks.metrics.score_matrix import BoolArray, FloatArray

Labels = NDArray[np.int8]
K = TypeVar("K", bound=Hashable)

NOTHING = "No step to rest on."


@dataclass(frozen=True, eq=False)
class Stat:
    """A number as a formula of counts that add up over videos.

    Attributes:
        counts: ``float64[V, C]``.
        formula: sums ``float64[B, C]`` to values ``float64[B]``, NaN where undefined.
        items: how many steps (or videos) it rests on.
        needs: what is missing when there is nothing to rest on, as a sentence.
        coverage: answered / asked steps, where that matters.
        share: a share of steps or videos, whose interval at 0 or 1 is that of the clusters it rests on.
    """

    counts: FloatArray
    formula: Callable[[FloatArray], FloatArray]
    items: int
    needs: str = NOTHING
    coverage: float | None = None
    share: bool = False

    @property
    def videos(self) -> int:
        """Videos that it rests on."""
        return int(self.counts.any(axis=1).sum())

    def clusters(self, clusters: Clusters) -> int:
        """Clusters that it rests on, from the number of each video's."""
        return len(np.unique(clusters[self.counts.any(axis=1)]))


def estimate_stats(
    stats: Mapping[K, Stat], clusters: Clusters, resamples: int, seed: int | np.random.Generator
) -> dict[K, Estimate]:
    """Every statistic with the standard error and (expanded) percentile interval of one shared bootstrap of clusters.

    A generator gives the seed, and only if there is something to draw.
    """
    if isinstance(seed, np.random.Generator):
        seed = int(seed.integers(2**63)) if n_clusters(clusters) > 1 and resamples > 1 else 0
    counts = np.concatenate([stat.counts for stat in stats.values()], axis=1)  # one product for all statistics
    ends = np.cumsum([stat.counts.shape[1] for stat in stats.values()])[:-1]

    def compute(weights: FloatArray) -> dict[K, FloatArray]:
        parts = np.split(weights @ counts, ends, axis=1)
        return {key: stat.formula(part) for (key, stat), part in zip(stats.items(), parts, strict=True)}

    values, drawn = sample(compute, clusters, resamples=resamples, seed=seed)
    sizes = {key: stat.clusters(clusters) for key, stat in stats.items()}
    spread = spreads(drawn, sizes)
    return {
        key: finish(
            values[key],
            spread.get(key),
            videos=stat.videos,
            clusters=sizes[key],
            items=stat.items,
            why="0/0 in these data." if stat.items else stat.needs,
            coverage=stat.coverage,
            bearing=sizes[key] if stat.share else 0,
        )
        for key, stat in stats.items()
    }


def ratio(numerator: NDArray[np.generic], denominator: NDArray[np.generic], needs: str = NOTHING) -> Stat:
    """Share of marked steps (or mean of a number): sums of two ``[V, S]`` (or ``[V]``) arrays over each other."""
    parts = [part.sum(axis=tuple(range(1, part.ndim)), dtype=np.float64) for part in (numerator, denominator)]
    items = int(np.count_nonzero(denominator))
    return Stat(np.stack(parts, axis=1), _share, items, needs, share=numerator.dtype == np.bool_)


def _share(sums: FloatArray) -> FloatArray:
    out = np.full(len(sums), np.nan)
    np.divide(sums[:, 0], sums[:, 1], out=out, where=sums[:, 1] > 0)
    return out


def difference(first: Stat, second: Stat) -> Stat:
    """``first - second``, undefined where either is."""
    cut = first.counts.shape[1]
    return Stat(
        np.concatenate([first.counts, second.counts], axis=1),
        lambda sums: first.formula(sums[:, :cut]) - second.formula(sums[:, cut:]),
        min(first.items, second.items),
        first.needs if not first.items else second.needs,
    )


def kappa_stat(first: Labels, other: Labels, where: BoolArray | None = None, needs: str = NOTHING) -> Stat:
    """Quadratic weighted kappa of two sets of labels, over the steps in ``where``."""
    if where is not None:
        first, other = np.where(where, first, -1).astype(np.int8), np.where(where, other, -1).astype(np.int8)
    counts = confusion(first, other)
    return Stat(counts, qwk, int(counts.sum()), needs)


def nominal_kappa_stat(
    first: NDArray[np.intp], other: NDArray[np.intp], where: BoolArray, needs: str = NOTHING
) -> Stat:
    """Cohen's kappa (unweighted) of two sets of categories, over the steps in ``where``.

    Args:
        first: number of each step's category from 0, ``intp[V, S]``.
        other: the same by the other judge.
        where: the steps that count, ``bool[V, S]``.
        needs: what is missing when no step counts, as a sentence.
    """
    size = int(max(first.max(initial=0), other.max(initial=0))) + 1
    sides = [((side[..., None] == np.arange(size)) & where[..., None]).sum(axis=1) for side in (first, other)]
    agree = ((first == other) & where).sum(axis=1)
    counts = np.column_stack([where.sum(axis=1), agree, *sides]).astype(np.float64)

    def value(sums: FloatArray) -> FloatArray:
        number, alike = sums[:, 0], sums[:, 1]
        chance = (sums[:, 2 : 2 + size] * sums[:, 2 + size :]).sum(axis=1)  # expected agreement x number squared
        below = number * number - chance
        kappa: FloatArray = np.divide(alike * number - chance, below, out=np.full(len(sums), np.nan), where=below > 0)
        return kappa

    return Stat(counts, value, int(where.sum()), needs)

"""Resampling whole clusters of videos: what shares a video, a performance, a student or a site is not independent.

The clusters of V videos are an array ``intp[V]``, the number of each video's cluster from 0
(:attr:`siming_tasks.metrics.score_matrix.ScoreMatrix.cluster_numbers`): 0, 1, 2 ... where every video is its own.
A resample takes a cluster with all its videos or not at all. A metric is handed over as a function of weights
``float64[B, V]`` (how often each video is taken) that returns B values by name, NaN where undefined. All metrics and
all models of one call see the same weights, which is what makes their differences paired.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterator, Mapping
from enum import IntEnum
from functools import cache
from statistics import NormalDist
from typing import NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from siming_tasks.metrics.score_matrix import FloatArray
from siming_tasks.metrics.thresholds import LEVEL, NOISE

K = TypeVar("K", bound=Hashable)
Compute = Callable[[FloatArray], Mapping[K, FloatArray]]
Clusters = NDArray[np.intp]

_CELLS = 2**15  # doubles of one chunk of weights (256 kB): stays in a core's cache, and bounds the memory
_ROWS = 16  # but never fewer resamples than this at a time


class Stream(IntEnum):
    """Purpose of a random stream; its value is part of every published number and never changes.

    Which videos a resample takes comes from the seed itself, hence the same videos for all metrics and all runs.
    """

    EXCHANGES = 3
    """Other video whose answers a video is given."""
    DIAGNOSES = 7
    """Resamples and random splits of the diagnoses in a report."""


def stream(seed: int, what: Stream) -> np.random.SeedSequence:
    """The seed of one of the streams that come from one seed: no two draw the same.

    Example:
        >>> stream(5, Stream.EXCHANGES).spawn_key
        (3,)
    """
    return np.random.SeedSequence(seed, spawn_key=(int(what),))


class Spread(NamedTuple):
    """Standard error and both ends of the interval of one number, and the share of resamples without a value.

    NaN where there is none.
    """

    stderr: float
    low: float
    high: float
    undefined: float


def weight_chunks(
    clusters: Clusters, resamples: int, seed: int | np.random.SeedSequence, cells: int = _CELLS
) -> Iterator[FloatArray]:
    """Multiplicities ``float64[b, V]`` of the videos in ``resamples`` draws of G of the G clusters with replacement.

    Some rows at a time; the numbers depend on ``seed`` alone, not on the size of the chunks.
    """
    rng = np.random.default_rng(seed)
    n = n_clusters(clusters)
    rows = max(_ROWS, cells // max(1, len(clusters)))
    for start in range(0, resamples, rows):
        size = min(rows, resamples - start)
        cell = rng.integers(n, size=(size, n))
        cell *= size  # in place: fetching fresh memory for each chunk takes longer than the sums
        cell += np.arange(size)[:, None]
        counts = np.bincount(cell.ravel(), minlength=size * n).reshape(n, size).astype(np.float64)
        by_video = counts if n == len(clusters) else counts[clusters]
        yield by_video.T  # one row for each resample, laid out by video: see correlation.spearman


def n_clusters(clusters: Clusters) -> int:
    """Number of clusters, from the number of each video's."""
    return int(clusters.max(initial=-1)) + 1


def per_cluster(rows: FloatArray, clusters: Clusters) -> FloatArray:
    """Sums of videos' rows ``float64[V, ...]`` over each cluster, ``float64[G, ...]``; ``rows`` if each is its own."""
    if n_clusters(clusters) == len(clusters):
        return rows
    order = np.argsort(clusters, kind="stable")
    sums: FloatArray = np.add.reduceat(rows[order], np.flatnonzero(np.diff(clusters[order], prepend=-1)), axis=0)
    return sums


def one_thread() -> threadpool_limits:
    """Context in which NumPy's linear algebra keeps to one thread."""
    # Resamples are many short matrix products. Waking the other threads for each takes more time than it saves: with
    # 2,000 videos ten times the processor time, and no less on the clock.
    return threadpool_limits(1, user_api="blas")


def observed(compute: Compute[K], n_videos: int) -> dict[K, float]:
    """The values of the data as they are: every video once."""
    return {name: float(values[0]) for name, values in compute(np.ones((1, n_videos))).items()}


def bootstrap(compute: Compute[K], clusters: Clusters, *, resamples: int, seed: int) -> dict[K, FloatArray]:
    """Values of every metric in ``resamples`` resamples of the clusters, ``float64[B]`` each, NaN undefined.

    No replicates for a single cluster or resample.
    """
    parts: dict[K, list[FloatArray]] = {}
    for weights in weight_chunks(clusters, resamples, seed) if n_clusters(clusters) > 1 and resamples > 1 else ():
        for name, values in compute(weights).items():
            parts.setdefault(name, []).append(values)
    return {name: np.concatenate(values) for name, values in parts.items()}


def sample(
    compute: Compute[K], clusters: Clusters, *, resamples: int, seed: int
) -> tuple[dict[K, float], dict[K, FloatArray]]:
    """:func:`observed` values and :func:`bootstrap` replicates."""
    replicates = bootstrap(compute, clusters, resamples=resamples, seed=seed)
    return observed(compute, len(clusters)), replicates


def spreads(replicates: Mapping[K, FloatArray], clusters: Mapping[K, int] | int) -> dict[K, Spread]:
    """Standard error and expanded percentile interval of bootstrap replicates; undefined ones are left out.

    A percentile interval of n clusters is too short by the factor sqrt((n - 1) / n), and by the normal quantile in
    place of Student's; the expanded one takes the percentiles at which a normal distribution would make up for both:
    ``tail = Phi(-sqrt(n / (n - 1)) t)`` (Hesterberg 2015). Replicates are ``float64[B]``, NaN where undefined;
    ``clusters`` is the number that each rests on.
    """
    by_key: dict[K, Spread] = {}
    rows = max(1, 2 * _CELLS // max((len(drawn) for drawn in replicates.values()), default=1))
    sizes = {name: clusters if isinstance(clusters, int) else clusters[name] for name in replicates}
    names = sorted(replicates, key=sizes.__getitem__)
    start = 0
    while start < len(names):  # many short rows at once: each call of a quantile costs more than its work
        size = sizes[names[start]]
        chunk = [name for name in names[start : start + rows] if sizes[name] == size]
        start += len(chunk)
        tail = _tail_probability(size)
        drawn = np.stack([replicates[name] for name in chunk])
        missing = np.isnan(drawn)
        bounds = np.full((len(chunk), 4), np.nan)
        bounds[:, 3] = missing.mean(axis=1)
        whole = ~missing.any(axis=1)
        if whole.any():
            bounds[whole, :3] = _stderr_and_bounds(drawn[whole], tail)
        for row in np.flatnonzero(~whole & ((~missing).sum(axis=1) > 1)):
            bounds[row, :3] = _stderr_and_bounds(drawn[row, ~missing[row]][None], tail)[0]
        by_key |= {name: Spread(*column) for name, column in zip(chunk, bounds.tolist(), strict=True)}
    return {name: by_key[name] for name in replicates}


@cache
def _tail_probability(clusters: int) -> float:
    """The share of replicates beyond either end of an expanded percentile interval."""
    if clusters < 2:
        return (1 - LEVEL) / 2
    return NormalDist().cdf(-math.sqrt(clusters / (clusters - 1)) * quantile_of_t(clusters - 1))


def _stderr_and_bounds(values: FloatArray, tail: float) -> FloatArray:
    low, high = np.quantile(values, [tail, 1 - tail], axis=1)
    return np.stack([values.std(axis=1, ddof=1), low, high], axis=1)


def studentised(value: float, error: float, drawn: FloatArray, errors: FloatArray) -> tuple[float, float]:
    """Interval from studentised resamples: what ``(drawn - value) / errors`` is at either tail, in units of ``error``.

    ``drawn`` and ``errors``, ``float64[B]``, are values of the resamples (NaN where undefined) and their standard
    errors. The value lies between the ends; both are NaN if it has no error, or most resamples have none.
    """
    with np.errstate(invalid="ignore", divide="ignore"):
        t = (drawn - value) / errors
    t = t[np.isfinite(t)]
    if not (error > NOISE and 2 * len(t) > len(drawn)):
        return float("nan"), float("nan")
    lower, upper = np.quantile(t, [(1 - LEVEL) / 2, (1 + LEVEL) / 2]).tolist()
    return value - max(upper, 0.0) * error, value - min(lower, 0.0) * error


def quantile_of_t(freedom: int) -> float:
    """Standard errors on either side of an interval from Student's distribution."""
    from scipy.special import stdtrit  # not at import time: slow

    return float(stdtrit(freedom, (1 + LEVEL) / 2))


def jackknife_error(left_out: FloatArray) -> float:
    """Standard error from n leave-one-out values, NaN if one of them has no value."""
    n = len(left_out)
    return float(np.sqrt((n - 1) / n * ((left_out - left_out.mean()) ** 2).sum())) if n > 1 else float("nan")


def jackknife_spread(value: float, left_out: FloatArray) -> Spread:
    """Standard error and t interval from n leave-one-out values; none if one of them is undefined."""
    if not len(left_out):  # the value rests on no cluster
        return Spread(math.nan, math.nan, math.nan, 1.0)
    stderr = jackknife_error(left_out)
    reach = quantile_of_t(len(left_out) - 1) * stderr
    return Spread(stderr, value - reach, value + reach, float(np.isnan(left_out).mean()) if len(left_out) else 1.0)

"""Resampling whole videos: the steps of one video are not independent, so the video is the unit everywhere.

A metric is handed over as a function of weights ``float64[B, V]`` (how often each video is taken) that returns B
values by name, NaN where undefined. All metrics and all models of one call see the same weights, which is what makes
their differences paired.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping
from typing import NamedTuple, TypeVar

import numpy as np

from siming_tasks.metrics.panel import FloatArray
from siming_tasks.metrics.thresholds import LEVEL

__all__ = ["Compute", "Spread", "bootstrap", "interval", "jackknife_spread", "observed", "sample",
           "spreads", "weight_chunks"]  # fmt: skip

K = TypeVar("K", bound=Hashable)
Compute = Callable[[FloatArray], Mapping[K, FloatArray]]


class Spread(NamedTuple):
    """Standard error and both ends of the interval of one number, and the share of resamples without a value."""

    stderr: float
    low: float
    high: float
    undefined: float


_CELLS = 2**15  # doubles of one chunk of weights (256 kB): stays in a core's cache, and bounds the memory
_ROWS = 16  # but never fewer resamples than this at a time


def weight_chunks(
    n_videos: int, resamples: int, seed: int | np.random.SeedSequence, cells: int = _CELLS
) -> Iterator[FloatArray]:
    """Multiplicities of ``resamples`` draws of ``n_videos`` videos with replacement, some rows at a time.

    The numbers depend on ``seed`` alone, not on the size of the chunks.
    """
    rng = np.random.default_rng(seed)
    rows = max(_ROWS, cells // max(1, n_videos))
    for start in range(0, resamples, rows):
        size = min(rows, resamples - start)
        cell = rng.integers(n_videos, size=(size, n_videos))
        cell *= size  # in place: fetching fresh memory for each chunk takes longer than the sums
        cell += np.arange(size)[:, None]
        counts = np.bincount(cell.ravel(), minlength=size * n_videos).reshape(n_videos, size)
        yield counts.astype(np.float64).T  # one row for each resample, laid out by video: see correlation.spearman


def observed(compute: Compute[K], n_videos: int) -> dict[K, float]:
    """The values of the data as they are: every video once."""
    return {name: float(values[0]) for name, values in compute(np.ones((1, n_videos))).items()}


def bootstrap(compute: Compute[K], n_videos: int, *, resamples: int, seed: int) -> dict[K, FloatArray]:
    """Values of every metric in ``resamples`` cluster resamples of the videos, ``float64[B]`` each, NaN undefined."""
    return _collect(compute, weight_chunks(n_videos, resamples, seed))


def sample(
    compute: Compute[K], n_videos: int, *, resamples: int, seed: int
) -> tuple[dict[K, float], dict[K, FloatArray]]:
    """:func:`observed` values and :func:`bootstrap` replicates; no replicates for a single video or resample."""
    spread = bootstrap(compute, n_videos, resamples=resamples, seed=seed) if n_videos > 1 and resamples > 1 else {}
    return observed(compute, n_videos), spread


def spreads(replicates: Mapping[K, FloatArray], level: float = LEVEL) -> dict[K, Spread]:
    """Standard error and percentile interval of bootstrap replicates; undefined ones count as 0, as values do."""
    names = list(replicates)
    found: dict[K, Spread] = {}
    rows = max(1, 2 * _CELLS // max((len(drawn) for drawn in replicates.values()), default=1))
    for start in range(0, len(names), rows):
        chunk = names[start : start + rows]  # many short rows at once: each call of a quantile costs more than its work
        table = np.stack([replicates[name] for name in chunk])
        columns = np.concatenate([_intervals(table, level), np.isnan(table).mean(axis=1)[:, None]], axis=1)
        found |= {name: Spread(*column) for name, column in zip(chunk, columns.tolist(), strict=True)}
    return found


def interval(replicates: FloatArray, level: float = LEVEL) -> tuple[float, float, float]:
    """Standard error, lower and upper end of one number's replicates ``float64[B]``."""
    stderr, low, high = _intervals(replicates[None], level)[0].tolist()
    return stderr, low, high


def _intervals(replicates: FloatArray, level: float) -> FloatArray:
    """:func:`interval` of many numbers: ``float64[K, B]`` to ``float64[K, 3]``."""
    values = np.nan_to_num(replicates, nan=0.0)
    tail = (1 - level) / 2
    low, high = np.quantile(values, [tail, 1 - tail], axis=1)
    return np.stack([values.std(axis=1, ddof=1), low, high], axis=1)


def jackknife_spread(value: float, left_out: FloatArray) -> Spread:
    """Standard error and t interval from n leave-one-out values; undefined ones count as 0."""
    from scipy.special import stdtrit  # not at import time: slow, and a run with bootstrap intervals needs no SciPy

    values = np.nan_to_num(left_out, nan=0.0)
    n = len(values)
    stderr = float(np.sqrt((n - 1) / n * ((values - values.mean()) ** 2).sum()))
    reach = float(stdtrit(n - 1, (1 + LEVEL) / 2)) * stderr
    return Spread(stderr, value - reach, value + reach, float(np.isnan(left_out).mean()))


def _collect(compute: Compute[K], chunks: Iterator[FloatArray]) -> dict[K, FloatArray]:
    parts: dict[K, list[FloatArray]] = {}
    for weights in chunks:
        for name, values in compute(weights).items():
            parts.setdefault(name, []).append(values)
    return {name: np.concatenate(values) for name, values in parts.items()}

"""Tests of differences: sign flips of pseudo-values, Holm's correction, the step-down maximum."""

from __future__ import annotations

import numpy as np

from siming_tasks.metrics.panel import FloatArray
from siming_tasks.metrics.streams import Stream, stream
from siming_tasks.metrics.thresholds import ALPHA, POWER

__all__ = ["detectable", "holm", "max_t", "pseudo_values", "sign_flip"]

_CELLS = 2**20


def pseudo_values(value: FloatArray, left_out: FloatArray) -> FloatArray:
    """Jackknife pseudo-values ``n value - (n - 1) left_out``: what each video says about the metric.

    Args:
        value: of the whole sample, ``float64[K]``.
        left_out: without each video, ``float64[n, K]``.

    Returns:
        ``float64[n, K]``.
    """
    n = len(left_out)
    return n * value - (n - 1) * left_out


def sign_flip(differences: FloatArray, *, flips: int, seed: int) -> FloatArray:
    """Two-sided p-values of "the mean difference is zero", by flipping the sign of each video's difference.

    On differences of pseudo-values this holds its size for metrics that are no means; swapping the two models' answers
    within a video does not when they have different positive rates.

    Args:
        differences: one column for each comparison, ``float64[n, K]``; all columns share the flips.
        flips: random flips; the data themselves count as one more.
        seed: of the flips.

    Returns:
        ``float64[K]`` in (0, 1]; 1 where all differences are zero.
    """
    n = len(differences)
    observed = np.abs(differences.sum(axis=0))
    # Relative tolerance: flips that only reorder the same sum count as equal to it.
    bar = observed - 1e-9 * np.abs(differences).sum(axis=0)
    rng = np.random.default_rng(stream(seed, Stream.FLIPS))
    rows = max(1, _CELLS // max(1, n))
    reached = np.zeros(differences.shape[1])
    for start in range(0, flips, rows):
        signs = rng.integers(0, 2, size=(min(rows, flips - start), n)) * 2.0 - 1.0
        reached += (np.abs(signs @ differences) >= bar).sum(axis=0)
    return np.asarray((1 + reached) / (1 + flips))


def holm(p: FloatArray) -> FloatArray:
    """Holm's step-down p-values of one family, ``float64[K]``: valid whatever the dependence between the tests."""
    order = np.argsort(p, kind="stable")
    stepped = np.maximum.accumulate(p[order] * np.arange(len(p), 0, -1))
    adjusted = np.empty_like(p)
    adjusted[order] = np.minimum(stepped, 1)
    return adjusted


def max_t(values: FloatArray, replicates: FloatArray) -> FloatArray:
    """Step-down p-values from the joint bootstrap (Romano and Wolf): uses that the comparisons share videos.

    Args:
        values: observed differences, ``float64[K]``.
        replicates: their joint bootstrap, ``float64[B, K]``.

    Returns:
        ``float64[K]``; 1 where a difference never varies and is zero.
    """
    scale = replicates.std(axis=0, ddof=1)
    scale = np.where(scale > 0, scale, np.inf)
    observed, null = np.abs(values) / scale, np.abs(replicates - values) / scale
    order = np.argsort(-observed, kind="stable")
    # The k-th largest statistic is held against the maximum over itself and all smaller ones.
    maxima = np.maximum.accumulate(null[:, order[::-1]], axis=1)[:, ::-1]
    p = (1 + (maxima >= observed[order]).sum(axis=0)) / (1 + len(replicates))
    adjusted = np.empty_like(observed)
    adjusted[order] = np.maximum.accumulate(p)
    return adjusted


def detectable(stderr: float, tests: int = 1) -> float:
    """The true difference that is found with 80 % power at the 5 % level (two-sided), shared over ``tests`` tests.

    ``(z(1 - alpha / (2 tests)) + z(power)) * stderr``; for Holm's correction this is the first, hardest step.
    """
    from scipy.special import ndtri  # not at import time: slow

    return float((ndtri(1 - ALPHA / (2 * tests)) + ndtri(POWER)) * stderr)

"""Tests of differences: the jackknife's t, Holm's correction, the step-down maximum."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from siming_tasks.metrics.agreement.linear import jackknife_error
from siming_tasks.metrics.resample import quantile_of_t
from siming_tasks.metrics.score_matrix import FloatArray
from siming_tasks.metrics.thresholds import ALPHA, FEWEST, NOISE, POWER

__all__ = ["Paired", "detectable", "holm", "jackknife_t", "max_t"]


class Paired(NamedTuple):
    """A difference with its standard error, both ends of its interval, and its p-value; NaN where there is none."""

    value: float
    stderr: float
    low: float
    high: float
    p: float


def jackknife_t(value: float, left_out: FloatArray) -> Paired:
    """A difference by the jackknife: interval ``value -+ t stderr``, two-sided p of "there is none" from the same t.

    Interval and p-value are one construction, so p is below :data:`siming_tasks.metrics.thresholds.ALPHA` exactly if
    the interval leaves out 0.

    Args:
        value: of all n videos.
        left_out: without each of them, ``float64[n]``.

    Returns:
        No interval and no p below :data:`siming_tasks.metrics.thresholds.FEWEST` videos, where a value without some
        video is undefined, or where a difference other than 0 never varies. Equal runs differ by 0 for certain.
    """
    nan, n = float("nan"), len(left_out)
    stderr = jackknife_error(left_out)
    if n < FEWEST or np.isnan(stderr) or np.isnan(value):
        return Paired(value, stderr, nan, nan, nan)
    if stderr <= NOISE:
        same = abs(value) <= NOISE
        return Paired(value, 0.0, value, value, 1.0) if same else Paired(value, 0.0, nan, nan, nan)
    from scipy.special import stdtr  # not at import time: slow

    reach = quantile_of_t(n - 1) * stderr
    return Paired(value, stderr, value - reach, value + reach, 2 * float(stdtr(n - 1, -abs(value) / stderr)))


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
        replicates: their joint bootstrap, ``float64[B, K]``; undefined ones (NaN) say nothing of their difference.

    Returns:
        ``float64[K]``; 1 where a difference never varies and is zero.
    """
    drawn = np.where(np.isnan(replicates), values, replicates)
    scale = drawn.std(axis=0, ddof=1)
    scale = np.where(scale > NOISE, scale, np.inf)
    observed, null = np.abs(values) / scale, np.abs(drawn - values) / scale
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

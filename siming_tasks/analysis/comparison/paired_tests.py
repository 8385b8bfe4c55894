"""Paired tests of the difference between two runs: jackknife t, step-down corrections, items that both answered."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from siming_tasks.metrics.agreement.linear import jackknife_error
from siming_tasks.metrics.resample import quantile_of_t
from siming_tasks.metrics.score_matrix import FloatArray
from siming_tasks.metrics.sufficient_stats import Tally
from siming_tasks.metrics.thresholds import ALPHA, FEWEST, NOISE, POWER

__all__ = [
    "AnsweredDifference",
    "Paired",
    "answered_difference",
    "detectable",
    "holm",
    "jackknife_t",
    "max_t",
    "negated",
    "paired_difference",
]


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


@dataclass(frozen=True)
class AnsweredDifference:
    """``a`` minus ``b`` on the items that both answered, by metric, and how many items each of them answered."""

    difference: Mapping[str, Paired]
    a_answered: int
    b_answered: int

    def negated(self) -> AnsweredDifference:
        """``b`` minus ``a``."""
        return AnsweredDifference(negated(self.difference), self.b_answered, self.a_answered)

    def holds(self, metric: str, sign: float, *, sure: bool = False) -> bool:
        """Whether a lead of ``a`` with every answer imputed is one of its answers as well.

        A run that answered no more than the other must be ahead on the items that both answered; ``sure``:
        significantly so. One that answered more need not: what both answered was then chosen by the other.
        """
        found = self.difference[metric]
        return self.a_answered > self.b_answered or (sign * found.value > NOISE and (not sure or found.p <= ALPHA))


def answered_difference(a: Tally, b: Tally, imputed: Mapping[str, Paired]) -> AnsweredDifference:
    """Two runs that were asked the same, on what both answered.

    Args:
        a: one run, as it answered.
        b: the other.
        imputed: their differences with missing answers imputed: the same if none is missing.
    """
    one, other = (side.panel.answered & side.panel.counted for side in (a, b))
    both, numbers = one & other, (int(one.sum()), int(other.sum()))
    if both.sum() == a.panel.counted.sum():
        return AnsweredDifference(imputed, *numbers)
    sides = [
        Tally.of(replace(side.panel, asked=side.panel.asked & both), side.mapping, side.positive, list(imputed))
        for side in (a, b)
    ]
    return AnsweredDifference(paired_difference(*sides), *numbers)


def paired_difference(a: Tally, b: Tally) -> dict[str, Paired]:
    """``a`` minus ``b`` in every metric of both, with interval and p by the jackknife over the videos they rest on."""
    found = {}
    for name in a.metrics:
        kept = np.union1d(a.contributing(name), b.contributing(name))
        apart: FloatArray = (a.left_out[name] - b.left_out[name])[kept]
        found[name] = jackknife_t(a.observed[name] - b.observed[name], apart)
    return found


def negated(difference: Mapping[str, Paired]) -> dict[str, Paired]:
    """``b`` minus ``a`` from ``a`` minus ``b``, by metric."""
    return {name: Paired(-d.value, d.stderr, -d.high, -d.low, d.p) for name, d in difference.items()}

"""Paired tests of the difference between two runs: jackknife t, step-down corrections, items that both answered."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from siming_tasks.metrics.resample import jackknife_error, quantile_of_t
from siming_tasks.metrics.score_matrix import FloatArray
from siming_tasks.metrics.sufficient_stats import Tally
from siming_tasks.metrics.thresholds import ALPHA, FEWEST, NOISE, POWER

Pair = tuple[str, str]
"""Names of two runs."""


class Paired(NamedTuple):
    """A difference with its standard error, both ends of its interval, and its p-value; NaN where there is none.

    ``clusters`` are the independent clusters of videos behind it: students, sites, or the videos themselves.
    """

    value: float
    stderr: float
    low: float
    high: float
    p: float
    clusters: int


def jackknife_t(value: float, left_out: FloatArray, fewest: int = FEWEST) -> Paired:
    """Difference by the jackknife: interval ``value -+ t stderr``, two-sided p of "no difference" from the same t.

    Interval and p-value are one construction, so p is below :data:`siming_tasks.metrics.thresholds.ALPHA` exactly if
    the interval excludes 0.

    Args:
        value: difference over all videos.
        left_out: difference without each of the n clusters of videos, ``float64[n]``; t has n - 1 degrees of freedom.
        fewest: clusters below which nothing is tested (:attr:`siming_tasks.metrics.sufficient_stats.Tally.fewest`).

    Returns:
        No interval and no p below ``fewest`` clusters, where a value without some cluster is undefined, or where a
        difference other than 0 never varies. Equal runs differ by 0 for certain.
    """
    nan, n = float("nan"), len(left_out)
    stderr = jackknife_error(left_out)
    if n < fewest or np.isnan(stderr) or np.isnan(value):
        return Paired(value, stderr, nan, nan, nan, n)
    if stderr <= NOISE:
        equal = abs(value) <= NOISE
        return Paired(value, 0.0, value, value, 1.0, n) if equal else Paired(value, 0.0, nan, nan, nan, n)
    from scipy.special import stdtr  # not at import time: slow

    half_width = quantile_of_t(n - 1) * stderr
    p = 2 * float(stdtr(n - 1, -abs(value) / stderr))
    return Paired(value, stderr, value - half_width, value + half_width, p, n)


def paired_difference(a: Tally, b: Tally) -> dict[str, Paired]:
    """``a`` minus ``b`` in every metric of both, by the jackknife over the clusters that the two values rest on."""
    differences = {}
    for metric in a.metrics:
        # A cluster that enters neither value would only dilute the jackknife: its leave-one-out difference is constant.
        clusters = np.union1d(a.contributing(metric), b.contributing(metric))
        left_out: FloatArray = (a.left_out[metric] - b.left_out[metric])[clusters]
        differences[metric] = jackknife_t(a.observed[metric] - b.observed[metric], left_out, a.fewest)
    return differences


def negated(differences: Mapping[str, Paired]) -> dict[str, Paired]:
    """``b`` minus ``a`` from ``a`` minus ``b``, by metric."""
    return {metric: Paired(-d.value, d.stderr, -d.high, -d.low, d.p, d.clusters) for metric, d in differences.items()}


@dataclass(frozen=True)
class AnsweredDifference:
    """``a`` minus ``b`` on the items that both answered, by metric, and the number of items that each answered."""

    difference: Mapping[str, Paired]
    a_answered: int
    b_answered: int

    def negated(self) -> AnsweredDifference:
        """``b`` minus ``a``."""
        return AnsweredDifference(negated(self.difference), self.b_answered, self.a_answered)

    def holds(self, metric: str, sign: float, *, significant: bool = False) -> bool:
        """True if a lead of ``a`` with missing answers imputed is also a lead of its answers.

        A run that answered no more than the other must be ahead on the items that both answered; with ``significant``
        also by the test. A run that answered more need not be: the other run chose those items by what it left out.
        """
        shared = self.difference[metric]
        ahead = sign * shared.value > NOISE and (not significant or shared.p <= ALPHA)
        return self.a_answered > self.b_answered or ahead


def answered_difference(a: Tally, b: Tally, imputed: Mapping[str, Paired]) -> AnsweredDifference:
    """Difference of two runs that were asked the same questions, on the items that both answered.

    ``imputed``, their differences with missing answers imputed, are returned if no answer is missing.
    """
    a_answered, b_answered = (tally.panel.answered & tally.panel.counted for tally in (a, b))
    both, numbers = a_answered & b_answered, (int(a_answered.sum()), int(b_answered.sum()))
    if both.sum() == a.panel.counted.sum():
        return AnsweredDifference(imputed, *numbers)
    restricted = [
        Tally.of(replace(tally.panel, asked=tally.panel.asked & both), tally.mapping, tally.positive, list(imputed))
        for tally in (a, b)
    ]
    return AnsweredDifference(paired_difference(*restricted), *numbers)


def holm(p: FloatArray) -> FloatArray:
    """Holm's step-down p-values of one family, ``float64[K]``: valid for any dependence between the tests."""
    # Kept here because statsmodels takes a second to import; a test holds this function equal to it.
    order = np.argsort(p, kind="stable")
    stepped = np.maximum.accumulate(p[order] * np.arange(len(p), 0, -1))
    adjusted = np.empty_like(p)
    adjusted[order] = np.minimum(stepped, 1)
    return adjusted


def detectable(stderr: float, clusters: int, tests: int = 1) -> float:
    """True difference that is found with 80 % power at the 5 % level (two-sided), shared over ``tests`` tests.

    ``(t(1 - alpha / (2 tests)) + z(power)) * stderr``, with ``clusters - 1`` degrees of freedom; for Holm's correction
    this is the first, hardest step.
    """
    from scipy.special import ndtri, stdtrit  # not at import time: slow

    return float((stdtrit(clusters - 1, 1 - ALPHA / (2 * tests)) + ndtri(POWER)) * stderr)

"""Least squares with a cluster-robust covariance (Liang & Zeger 1986), t intervals over clusters."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from siming_tasks.metrics.estimate import Estimate
from siming_tasks.metrics.resample import Clusters, per_cluster, quantile_of_t
from siming_tasks.metrics.score_matrix import FloatArray
from siming_tasks.metrics.thresholds import FEWEST, NOISE, TRUSTED


@dataclass(frozen=True, eq=False)
class Coefficients:
    """Coefficients of a least-squares fit and their cluster-robust errors, ``float64[K]`` each.

    Attributes:
        values: coefficients.
        errors: standard errors.
        n: observations; ``clusters``: independent clusters of them.
    """

    values: FloatArray
    errors: FloatArray
    n: int
    clusters: int

    def estimate(self, place: int) -> Estimate:
        """One coefficient with its t interval, clusters less one degrees of freedom; below ten clusters without."""
        value, error = float(self.values[place]), float(self.errors[place])
        sizes: dict[str, Any] = {"n_videos": self.n, "n_items": self.n, "n_clusters": self.clusters}
        few = self.clusters < FEWEST
        if few or not error > NOISE:
            flag = "no-variation" if not few else "no-interval" if self.clusters == self.n else "too-few-clusters"
            return Estimate(value, None if math.isnan(error) else error, **sizes, flags=(flag,))
        reach = quantile_of_t(self.clusters - 1) * error
        kind = "few-videos" if self.clusters == self.n else "few-clusters"
        flags = (kind,) if self.clusters < TRUSTED else ()
        return Estimate(value, error, value - reach, value + reach, **sizes, flags=flags)

    def p_value(self, place: int) -> float | None:
        """Two-sided p of "the coefficient is 0", of the same t; None where there is no interval."""
        error = float(self.errors[place])
        if self.clusters < FEWEST or not error > NOISE:
            return None
        from scipy.special import stdtr  # not at import time: slow

        return 2 * float(stdtr(self.clusters - 1, -abs(float(self.values[place])) / error))


def fit(outcome: FloatArray, columns: Sequence[FloatArray], clusters: Clusters) -> Coefficients | None:
    """Least squares of ``float64[n]`` on an intercept and the columns; None where these do not determine the fit.

    The covariance is the sandwich of sums over clusters times ``G / (G - 1) * (n - 1) / (n - k)``, as Stata and
    statsmodels have it.

    Args:
        outcome: numbers without NaN.
        columns: ``float64[n]`` each.
        clusters: the number of each observation's cluster, ``intp[n]``.

    Example:
        >>> line = fit(np.array([1.0, 3.0, 5.0, 7.0]), [np.arange(4.0)], np.arange(4))
        >>> line.values.round(6).tolist()
        [1.0, 2.0]
    """
    n, k = len(outcome), 1 + len(columns)
    design = np.column_stack([np.ones(n), *columns])
    if n <= k or np.linalg.matrix_rank(design) < k:
        return None
    values: FloatArray = np.asarray(np.linalg.lstsq(design, outcome, rcond=None)[0], np.float64)
    numbers = np.unique(clusters, return_inverse=True)[1].reshape(-1)
    scores = per_cluster(design * (outcome - design @ values)[:, None], numbers)
    g = len(scores)
    bread = np.linalg.inv(design.T @ design)
    factor = g / (g - 1) * (n - 1) / (n - k) if g > 1 else math.nan
    covariance = factor * (bread @ (scores.T @ scores) @ bread)
    errors: FloatArray = np.sqrt(np.maximum(np.diag(covariance), 0))
    return Coefficients(values, errors, n, g)

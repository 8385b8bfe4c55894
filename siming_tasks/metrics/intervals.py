"""From values and their spread to estimates: intervals, reasons, flags. The only place that makes them."""

from __future__ import annotations

import math
from collections.abc import Collection
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from siming_tasks.metrics.catalogue import CATALOGUE
from siming_tasks.metrics.estimate import Estimate
from siming_tasks.metrics.resample import (
    Clusters,
    Spread,
    jackknife_spread,
    per_cluster,
    quantile_of_t,
    spreads,
    studentised,
)
from siming_tasks.metrics.score_matrix import BoolArray, FloatArray
from siming_tasks.metrics.sufficient_stats import Tally
from siming_tasks.metrics.thresholds import COMPARABLE, FEWEST, LEVEL, NOISE, SMALL_N, TRUSTED, UNDEFINED


@dataclass(frozen=True)
class Proportion:
    """``count`` of ``n`` with its 95 % interval, which is Wilson's; None where there is none.

    ``clusters`` are the independent clusters of videos that the ``n`` come from.
    """

    count: int
    n: int
    value: float | None
    low: float | None
    high: float | None
    clusters: int = 0


def wilson(count: int, n: int) -> Proportion:
    """A share with its Wilson score interval (Wilson 1927), which stays inside 0..1 and has a width at 0 and 1.

    Example:
        >>> found = wilson(5, 10)
        >>> print(f"{found.value} [{found.low:.3f}, {found.high:.3f}]")
        0.5 [0.237, 0.763]
    """
    if n == 0:
        return Proportion(0, 0, None, None, None)
    from scipy.stats import binomtest  # not at import time: slow

    interval = binomtest(count, n).proportion_ci(LEVEL, method="wilson")
    return Proportion(count, n, count / n, float(interval.low), float(interval.high), n)


def share(hit: BoolArray, among: BoolArray, clusters: Clusters) -> Proportion:
    """Share of the marked places in ``among`` that are also marked in ``hit``, ``bool[V, ...]`` each.

    Places of one cluster are not independent. The interval is Wilson's of the effective number of places: that of
    independent ones with the variance that the clusters show, less for the degrees of freedom of a t over k clusters
    (Korn and Graubard 1998; Dean and Pagano 2015). ``n_eff = p (1 - p) / var * (z / t)^2``, at most ``n``. A share of 0
    or 1 has the interval of k independent clusters. Where every place is its own cluster this is :func:`wilson`.

    Args:
        hit: marked places.
        among: places that count.
        clusters: number of each video's cluster, ``intp[V]``.

    Returns:
        No interval below :data:`siming_tasks.metrics.thresholds.FEWEST` clusters that have several places.
    """
    marked, sizes = (
        per_cluster(side.reshape(len(side), -1).sum(axis=1, dtype=np.float64), clusters)
        for side in (hit & among, among)
    )
    marked, sizes = marked[sizes > 0], sizes[sizes > 0]
    count, n, k = int(marked.sum()), int(sizes.sum()), len(sizes)
    if n == k:
        return wilson(count, n)
    p = count / n
    if k < FEWEST:
        return Proportion(count, n, p, None, None, k)
    if p in (0.0, 1.0):
        return Proportion(count, n, p, *at_boundary(p, k), k)
    variance = k / (k - 1) * float(((marked - p * sizes) ** 2).sum()) / n**2
    effective = n if variance < NOISE**2 else min(n, p * (1 - p) / variance)
    reach = quantile_of_t(k - 1) ** 2 / effective  # z^2 / n_eff, with the correction for t written in
    middle, half = p + reach / 2, math.sqrt(reach * (p * (1 - p) + reach / 4))
    return Proportion(count, n, p, (middle - half) / (1 + reach), (middle + half) / (1 + reach), k)


def at_boundary(value: float, clusters: int) -> tuple[float, float]:
    """Interval of a share that is 0 or 1 in a sample of independent clusters: Clopper and Pearson's, of the clusters.

    Resampling cannot see beyond what was seen and would give an interval without width. If more than a share q of all
    clusters differed, none in n would have been found with a chance below (1 - q)^n.

    Example:
        >>> low, high = at_boundary(1.0, 60)
        >>> print(f"{low:.3f} {high}")
        0.940 1.0
    """
    reach = 1 - ((1 - LEVEL) / 2) ** (1 / clusters)
    return (1 - reach, 1.0) if value > 0.5 else (0.0, reach)


def fieller(value: float, base: float, drawn: FloatArray, drawn_base: FloatArray, units: int) -> Spread | None:
    """Spread of the ratio ``value / base`` of two paired numbers, by Fieller's theorem (1954).

    A ratio r is in the interval where ``value - r * base`` does not differ from 0: a t statistic with ``units - 1``
    degrees of freedom, its variance from the replicates ``drawn`` and ``drawn_base``, ``float64[B]``, of the same
    resamples. Where ``base`` does not differ from 0, every ratio fits, or all but a few.

    Returns:
        None where ``base`` is not above 0 for certain: there is no ratio to speak of.
    """
    both = np.isfinite(drawn) & np.isfinite(drawn_base)
    if units < 2 or both.sum() < 2 or not base > 0:
        return None
    # As in expanded percentile intervals, replicates of n units vary too little by the factor sqrt((n - 1) / n).
    (vb, cov), (_, va) = units / (units - 1) * np.cov(drawn[both], drawn_base[both])
    reach = quantile_of_t(units - 1) ** 2
    square, product = base**2 - reach * va, value * base - reach * cov
    if not square > 0:
        return None
    half = math.sqrt(max(product**2 - square * (value**2 - reach * vb), 0.0))
    ratio = value / base
    stderr = math.sqrt(max(vb - 2 * ratio * cov + ratio**2 * va, 0.0)) / base
    return Spread(stderr, (product - half) / square, (product + half) / square, float(1 - both.mean()))


def finish(
    value: float,
    spread: Spread | None,
    *,
    videos: int,
    clusters: int,
    items: int,
    why: str,
    flags: Collection[str] = (),
    coverage: float | None = None,
    bearing: int = 0,
    fewest: int = FEWEST,
) -> Estimate:
    """Any number with its spread as an estimate: whether it has a value, whether it has an interval, and its flags.

    Args:
        value: of the data as they are; NaN if undefined.
        spread: of its resamples; None for no interval, as for a value that rests on a single cluster.
        videos: that it rests on.
        clusters: of those videos, which were resampled.
        items: steps (or videos) that it rests on.
        why: the reason if it has no value.
        flags: that follow from the data.
        coverage: share of what was asked that it rests on, where that matters.
        bearing: for a share of steps, the clusters that have its denominator: at 0 or 1 the interval is that of them.
        fewest: clusters below which there is no interval.

    Returns:
        ``value=None`` without items; 0.0, ``undefined`` and no interval where the formula is 0/0. No interval either
        below ``fewest`` clusters or where nothing varies: one without width would say that the value is certain.
    """
    raised = set(flags) | ({"not-comparable"} if coverage is not None and coverage < COMPARABLE else set())
    if not items:
        return Estimate(None, reason=why, coverage=coverage, flags=tuple(sorted(raised)))
    sizes: Any = {"n_videos": videos, "n_items": items, "n_clusters": clusters}
    if np.isnan(value):
        return Estimate(0.0, **sizes, undefined=True, reason=why, coverage=coverage, flags=tuple(sorted(raised)))
    if clusters < 2 <= fewest:
        raised.add("no-interval" if clusters == videos else "too-few-clusters")
    if spread is None or clusters < 2:
        return Estimate(value, **sizes, coverage=coverage, flags=tuple(sorted(raised)))
    raised |= {"undefined-replicates"} if spread.undefined > UNDEFINED else set()
    stderr = None if np.isnan(spread.stderr) else spread.stderr * (spread.stderr > NOISE)
    is_boundary = bool(bearing) and value in (0.0, 1.0)
    ends: tuple[float | None, float | None] = at_boundary(value, bearing) if is_boundary else (spread.low, spread.high)
    if clusters < fewest:
        ends = None, None
        raised.add("no-interval" if clusters == videos else "too-few-clusters")
    elif not is_boundary and not spread.high - spread.low > NOISE:
        ends = None, None
        explained = "constant-prediction" in raised or (stderr is None and spread.undefined > 0)
        raised |= set() if explained else {"no-variation"}
    elif clusters < TRUSTED:
        raised.add("few-videos" if clusters == videos else "few-clusters")
    return Estimate(value, stderr, *ends, **sizes, coverage=coverage, undefined_share=spread.undefined,
                    flags=tuple(sorted(raised)))  # fmt: skip


def derived(
    tally: Tally,
    metric: str,
    value: float,
    spread: Spread | None,
    *,
    why: str,
    flags: Collection[str] = (),
    bearing: int = 0,
    fewest: int = FEWEST,
) -> Estimate:
    """:func:`finish` for any number that was computed from what a metric of a tally rests on, with its coverage."""
    if spread is not None:
        flags = {*flags, *(f"fixed-{unit}" for unit in tally.panel.fixed)}
    return finish(value, spread, **tally.size(metric)._asdict(), why=why, flags=flags,
                  coverage=tally.coverage_of(metric), bearing=bearing, fewest=fewest)  # fmt: skip


def spread_of(
    tally: Tally, metric: str, value: float, drawn: FloatArray, errors: FloatArray | None, own: float
) -> Spread:
    """The interval that the metric's row asks for: studentised where it has a standard error, else percentile.

    Of a few clusters of several videos: Student's t of the jackknife, for correlations on Fisher's z. A bootstrap would
    draw the same few over and over (docs/validation/intervals.md).

    ``drawn`` are the values of the resamples, ``float64[B]``, ``errors`` their standard errors
    (:meth:`siming_tasks.metrics.sufficient_stats.Tally.errors`) and ``own`` that of the data.
    """
    row = CATALOGUE[metric]
    if tally.is_clustered and tally.size(metric).clusters < FEWEST:
        left_out = tally.left_out[metric][tally.contributing(metric)]
        return jackknife_interval(metric, value, left_out)
    percentile = spreads({metric: drawn}, tally.size(metric).clusters)[metric]
    if errors is None or np.isnan(value):
        return percentile
    with np.errstate(divide="ignore", invalid="ignore"):
        scaled = (np.arctanh(value), np.arctanh(drawn)) if row.fisher else (value, drawn)
    low, high = studentised(float(scaled[0]), own, scaled[1], errors)
    if row.fisher:
        low, high = math.tanh(low), math.tanh(high)
    return percentile._replace(low=max(low, row.low), high=min(high, row.high))


def jackknife_interval(metric: str, value: float, left_out: FloatArray) -> Spread:
    """The t interval of a metric from its values without each cluster, ``float64[G]``, inside the metric's range.

    That of a correlation of totals is made on Fisher's z, which has no ends.
    """
    row, spread = CATALOGUE[metric], jackknife_spread(value, left_out)
    if row.family == "totals":
        with np.errstate(divide="ignore", invalid="ignore"):
            _, low, high, _ = jackknife_spread(float(np.arctanh(value)), np.arctanh(left_out))
        spread = spread._replace(low=math.tanh(low), high=math.tanh(high))
    return spread._replace(low=max(spread.low, row.low), high=min(spread.high, row.high))


def summarise(tally: Tally, metric: str, value: float, spread: Spread | None = None, fewest: int = FEWEST) -> Estimate:
    """One metric of a tally as an estimate: its size, its reason, its flags; no interval below ``fewest`` clusters."""
    family, items = CATALOGUE[metric].family, tally.size(metric).items
    why = tally.reason(metric) if not items or np.isnan(value) else ""
    bearing = tally.bearing(metric) if value in (0.0, 1.0) else 0
    if family == "coverage":  # that it does not vary says nothing of other videos where it is 1
        estimate = derived(tally, metric, value, spread, why=why, bearing=bearing, fewest=fewest)
        return replace(estimate, flags=tuple(flag for flag in estimate.flags if flag != "no-variation"))
    flags: set[str] = set()
    if items:
        if family == "totals":
            levels = [len(np.unique(side)) for side in (tally.totals.x, tally.totals.y)]
            flags |= {"small-n"} if len(tally.totals) < SMALL_N else set()
        else:
            counts = tally.counts(family).sum(axis=0)
            table = counts.reshape(2 * (int(np.sqrt(len(counts))),))
            levels = [int(np.count_nonzero(table.sum(axis=axis))) for axis in (1, 0)]
        flags |= {f"constant-{side}" for side, n in zip(("reference", "prediction"), levels, strict=True) if n == 1}
    return derived(tally, metric, value, spread, why=why, flags=flags, bearing=bearing, fewest=fewest)

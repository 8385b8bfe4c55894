"""From values and their spread to estimates: intervals, reasons, flags. The only place that makes them."""

from __future__ import annotations

import math
from collections.abc import Collection
from dataclasses import replace

import numpy as np

from siming_tasks.metrics.catalogue import CATALOGUE
from siming_tasks.metrics.estimate import Estimate
from siming_tasks.metrics.proportion import at_boundary
from siming_tasks.metrics.resample import Spread, spreads, studentised
from siming_tasks.metrics.score_matrix import FloatArray
from siming_tasks.metrics.sufficient_stats import Tally
from siming_tasks.metrics.thresholds import COMPARABLE, FEWEST, NOISE, SMALL_N, TAILED, TRUSTED, UNDEFINED

__all__ = ["derived", "finish", "spread_of", "summarise"]


def finish(
    value: float,
    spread: Spread | None,
    *,
    videos: int,
    items: int,
    why: str,
    flags: Collection[str] = (),
    coverage: float | None = None,
    bearing: int = 0,
) -> Estimate:
    """Any number with its spread as an estimate: whether it has a value, whether it has an interval, and its flags.

    Args:
        value: of the data as they are; NaN if undefined.
        spread: of its resamples; None for no interval, as for a value that rests on a single video.
        videos: that it rests on.
        items: steps (or videos) that it rests on.
        why: the reason if it has no value.
        flags: that follow from the data.
        coverage: share of what was asked that it rests on, where that matters.
        bearing: for a share of steps, the videos that have its denominator: at 0 or 1 the interval is that of them.

    Returns:
        ``value=None`` without items; 0.0, ``undefined`` and no interval where the formula is 0/0. No interval either
        below :data:`siming_tasks.metrics.thresholds.FEWEST` videos or where nothing varies: one without width would say
        that the value is certain.
    """
    all_flags = set(flags)
    if coverage is not None and coverage < COMPARABLE:
        all_flags.add("not-comparable")
    if not items:
        return Estimate(None, reason=why, coverage=coverage, flags=tuple(sorted(all_flags)))
    if np.isnan(value):
        return Estimate(0.0, n_videos=videos, n_items=items, undefined=True, reason=why, coverage=coverage,
                        flags=tuple(sorted(all_flags)))  # fmt: skip
    if spread is None or videos < 2:
        return Estimate(value, n_videos=videos, n_items=items, coverage=coverage, flags=tuple(sorted(all_flags)))
    all_flags |= {"undefined-replicates"} if spread.undefined > UNDEFINED else set()
    stderr = None if np.isnan(spread.stderr) else spread.stderr * (spread.stderr > NOISE)
    ends: tuple[float | None, float | None] = spread.low, spread.high
    if bearing and value in (0.0, 1.0):
        ends = at_boundary(value, bearing)
    if videos < FEWEST:
        ends = None, None
        all_flags.add("no-interval")
    elif not spread.high - spread.low > NOISE and not (bearing and value in (0.0, 1.0)):
        ends = None, None
        all_flags |= set() if "constant-prediction" in all_flags else {"no-variation"}
    else:
        all_flags |= {"few-videos"} if videos < TRUSTED else set()
    return Estimate(value, stderr, *ends, videos, items, coverage=coverage, undefined_share=spread.undefined,
                    flags=tuple(sorted(all_flags)))  # fmt: skip


def derived(
    tally: Tally,
    metric: str,
    value: float,
    spread: Spread | None,
    *,
    why: str,
    flags: Collection[str] = (),
    bearing: int = 0,
) -> Estimate:
    """:func:`finish` for any number that was computed from what a metric of a tally rests on, with its coverage."""
    videos, items = tally.size(metric)
    return finish(value, spread, videos=videos, items=items, why=why, flags=flags, coverage=tally.coverage_of(metric),
                  bearing=bearing)  # fmt: skip


def spread_of(
    tally: Tally, metric: str, value: float, drawn: FloatArray, errors: FloatArray | None, own: float
) -> Spread:
    """The interval that the metric's row asks for: studentised where it has a standard error, else percentile.

    Args:
        tally: of the data.
        metric: name.
        value: of the data.
        drawn: of the resamples, ``float64[B]``.
        errors: their standard errors (:meth:`siming_tasks.metrics.sufficient_stats.Tally.errors`).
        own: that of the data.
    """
    row = CATALOGUE[metric]
    percentile = spreads({metric: drawn}, tally.size(metric)[0])[metric]
    if errors is None or np.isnan(value):
        return percentile
    with np.errstate(divide="ignore", invalid="ignore"):
        scaled = (np.arctanh(value), np.arctanh(drawn)) if row.fisher else (value, drawn)
    low, high = studentised(float(scaled[0]), own, scaled[1], errors)
    if row.fisher:
        low, high = math.tanh(low), math.tanh(high)
    return percentile._replace(low=max(low, row.low), high=min(high, row.high))


def summarise(tally: Tally, metric: str, value: float, spread: Spread | None = None) -> Estimate:
    """One metric of a tally as an estimate: its size, its reason, its flags."""
    _, items = tally.size(metric)
    why = tally.reason(metric) if not items or np.isnan(value) else ""
    flags = _flags(tally, metric) if items else ()
    bearing = tally.bearing(metric) if value in (0.0, 1.0) else 0
    estimate = derived(tally, metric, value, spread, why=why, flags=flags, bearing=bearing)
    still = CATALOGUE[metric].family == "coverage"  # says nothing of other videos where it is 1
    return (
        replace(estimate, flags=tuple(flag for flag in estimate.flags if flag != "no-variation")) if still else estimate
    )


def _flags(tally: Tally, metric: str) -> set[str]:
    """Flags that follow from the data alone."""
    family = CATALOGUE[metric].family
    if family == "coverage":
        return set()
    if family == "totals":
        levels = [len(np.unique(side)) for side in (tally.totals.x, tally.totals.y)]
    else:
        counts = tally.counts(family).sum(axis=0)
        table = counts.reshape(2 * (int(np.sqrt(len(counts))),))
        levels = [int(np.count_nonzero(table.sum(axis=axis))) for axis in (1, 0)]
    raised = {f"constant-{side}" for side, n in zip(("reference", "prediction"), levels, strict=True) if n == 1}
    raised |= {"small-n"} if family == "totals" and len(tally.totals) < SMALL_N else set()
    return raised | ({"tailed"} if abs(tally.skew) >= TAILED else set())

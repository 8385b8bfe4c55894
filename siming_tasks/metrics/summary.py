"""From values and replicates to estimates: intervals, reasons, flags."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, Literal

import numpy as np

from siming_tasks.metrics.estimate import Estimate
from siming_tasks.metrics.panel import FloatArray
from siming_tasks.metrics.resample import LEVEL, interval
from siming_tasks.metrics.tally import TOTALS, Tally

__all__ = ["COMPARABLE", "TRUSTED", "Method", "derived", "jackknife_interval", "summarise"]

Method = Literal["bootstrap", "jackknife"]

COMPARABLE = 0.95
"""Coverage below which a row is marked "not comparable"."""
TRUSTED = 50
"""Videos below which an interval is marked as not to be trusted."""


def summarise(
    tally: Tally, metric: str, value: float, replicates: FloatArray | None = None, method: Method = "bootstrap"
) -> Estimate:
    """One metric of a tally as an estimate.

    Args:
        tally: the counts behind it.
        metric: its name.
        value: the value of the data as they are; NaN if undefined.
        replicates: its resamples (or, for the jackknife, its V leave-one-out values); None for no interval.
        method: what the replicates are.

    Returns:
        ``value=None`` without data; 0.0, ``undefined`` and no interval where the formula is 0/0.
    """
    videos, items = tally.size(metric)
    if replicates is not None and method == "jackknife":
        replicates = replicates[tally.contributing(metric)]
    return derived(
        tally,
        value,
        replicates,
        videos=videos,
        items=items,
        why=_reason(tally, metric) if not items or np.isnan(value) else "",
        flags=_flags(tally, metric) if items else set(),
        method=method,
    )


def derived(
    tally: Tally,
    value: float,
    replicates: FloatArray | None,
    *,
    videos: int,
    items: int,
    why: str,
    flags: Collection[str] = (),
    method: Method = "bootstrap",
) -> Estimate:
    """Any number that was computed from a tally's data, as an estimate; ``why`` is the reason if it has no value."""
    found = set(flags)
    if tally.coverage is not None and tally.coverage < COMPARABLE:
        found.add("not-comparable")
    common: dict[str, Any] = {"n_videos": videos, "n_items": items, "coverage": tally.coverage}
    if not items:
        return Estimate(None, reason=why, flags=tuple(sorted(found)), **common)
    if np.isnan(value):
        return Estimate(0.0, undefined=True, reason=why, flags=tuple(sorted(found)), **common)
    if replicates is None or videos < 2:
        return Estimate(value, flags=tuple(sorted(found)), **common)
    share = float(np.isnan(replicates).mean())
    found |= {"undefined-replicates"} if share > 0.01 else set()
    found |= {"few-videos"} if videos < TRUSTED else set()
    spread = jackknife_interval(value, replicates) if method == "jackknife" else interval(replicates)
    return Estimate(value, *spread, undefined_share=share, flags=tuple(sorted(found)), **common)


def jackknife_interval(value: float, left_out: FloatArray) -> tuple[float, float, float]:
    """Standard error and t interval from n leave-one-out values; undefined ones count as 0."""
    from scipy.special import stdtrit  # not at import time: slow, and a run with bootstrap intervals needs no SciPy

    values = np.nan_to_num(left_out, nan=0.0)
    n = len(values)
    stderr = float(np.sqrt((n - 1) / n * ((values - values.mean()) ** 2).sum()))
    reach = float(stdtrit(n - 1, (1 + LEVEL) / 2)) * stderr
    return stderr, value - reach, value + reach


def _flags(tally: Tally, metric: str) -> set[str]:
    """Flags that follow from the data alone."""
    if metric == "coverage":
        return set()
    if metric in TOTALS:
        levels = [len(np.unique(side)) for side in (tally.totals.x, tally.totals.y)]
    else:
        table = tally.labels.sum(axis=0).reshape(4, 4) if metric == "qwk" else tally.binary.sum(axis=0).reshape(2, 2)
        levels = [int(np.count_nonzero(table.sum(axis=axis))) for axis in (1, 0)]
    found = {f"constant-{side}" for side, n in zip(("reference", "prediction"), levels, strict=True) if n == 1}
    return found | ({"small-n"} if metric in TOTALS and len(tally.totals) < 3 else set())


def _reason(tally: Tally, metric: str) -> str:
    """Why the metric has no value or is undefined, given that it is."""
    if not tally.asked.any():
        return "No step was asked about."
    if not tally.panel.counted.any():
        return "There is no reference: the labels are withheld."
    if not tally.binary.any():
        return "No step with a reference was answered."
    if metric in TOTALS:
        if not len(tally.totals):
            return "No video had 80 % of its steps answered."
        if len(tally.totals) == 1:
            return "A single video has no correlation."
        return f"All {'predicted' if np.ptp(tally.totals.y) == 0 else 'reference'} totals are equal: 0/0."
    if metric == "qwk":
        return "Reference and prediction are one and the same label everywhere: 0/0."
    name, other = ("wrong", "correct") if tally.positive == "error" else ("correct", "wrong")
    tn, fp, fn, tp = tally.binary.sum(axis=0)
    if metric == "mcc" and 0 in (tn + fn, tp + fp):
        return f"Every step was predicted {name if tp + fp else other}: 0/0."
    return {
        "mcc": f"Every step is {name if tp + fn else other} in the reference: 0/0.",
        "precision": f"No step was predicted {name}: 0/0.",
        "recall": f"No step is {name} in the reference: 0/0.",
        "f1": f"No step is {name} in the reference, and none was predicted so: 0/0.",
    }[metric]

"""From values and their spread to estimates: intervals, reasons, flags. The only place that makes them."""

from __future__ import annotations

from collections.abc import Collection

import numpy as np

from siming_tasks.metrics.catalogue import CATALOGUE
from siming_tasks.metrics.estimate import Estimate
from siming_tasks.metrics.resample import Spread
from siming_tasks.metrics.tally import Tally
from siming_tasks.metrics.thresholds import COMPARABLE, SMALL_N, TRUSTED, UNDEFINED

__all__ = ["derived", "finish", "summarise"]


def finish(
    value: float,
    spread: Spread | None,
    *,
    videos: int,
    items: int,
    why: str,
    flags: Collection[str] = (),
    coverage: float | None = None,
) -> Estimate:
    """Any number with its spread as an estimate.

    Args:
        value: of the data as they are; NaN if undefined.
        spread: of its resamples; None for no interval, as for a value that rests on a single video.
        videos: that it rests on.
        items: steps (or videos) that it rests on.
        why: the reason if it has no value.
        flags: that follow from the data.
        coverage: answered / asked steps, where that matters.

    Returns:
        ``value=None`` without items; 0.0, ``undefined`` and no interval where the formula is 0/0.
    """
    found = set(flags)
    if coverage is not None and coverage < COMPARABLE:
        found.add("not-comparable")
    if not items:
        return Estimate(None, reason=why, coverage=coverage, flags=tuple(sorted(found)))
    if np.isnan(value):
        value, spread = 0.0, None
        undefined, reason = True, why
    else:
        undefined, reason = False, None
    if spread is None or videos < 2:
        return Estimate(value, n_videos=videos, n_items=items, undefined=undefined, reason=reason, coverage=coverage,
                        flags=tuple(sorted(found)))  # fmt: skip
    found |= {"undefined-replicates"} if spread.undefined > UNDEFINED else set()
    found |= {"few-videos"} if videos < TRUSTED else set()
    return Estimate(value, spread.stderr, spread.low, spread.high, videos, items, coverage=coverage,
                    undefined_share=spread.undefined, flags=tuple(sorted(found)))  # fmt: skip


def derived(
    tally: Tally, value: float, spread: Spread | None, *, videos: int, items: int, why: str, flags: Collection[str] = ()
) -> Estimate:
    """:func:`finish` for any number that was computed from a tally's data: with its coverage."""
    return finish(value, spread, videos=videos, items=items, why=why, flags=flags, coverage=tally.coverage)


def summarise(tally: Tally, metric: str, value: float, spread: Spread | None = None) -> Estimate:
    """One metric of a tally as an estimate: its size, its reason, its flags."""
    videos, items = tally.size(metric)
    why = tally.reason(metric) if not items or np.isnan(value) else ""
    return derived(
        tally, value, spread, videos=videos, items=items, why=why, flags=_flags(tally, metric) if items else ()
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
    found = {f"constant-{side}" for side, n in zip(("reference", "prediction"), levels, strict=True) if n == 1}
    return found | ({"small-n"} if family == "totals" and len(tally.totals) < SMALL_N else set())

"""Several runs of one judge: how much of the uncertainty is decoding, and how many repeats a comparison needs."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np

from siming_tasks.common.errors import DataError
from siming_tasks.metrics.agreement.classification import Positive
from siming_tasks.metrics.agreement.labels import LabelMapping
from siming_tasks.metrics.agreement.linear import jackknife_error
from siming_tasks.metrics.alignment import ComparisonEntry, align
from siming_tasks.metrics.catalogue import select
from siming_tasks.metrics.sufficient_stats import Tally
from siming_tasks.metrics.thresholds import NOISE

__all__ = ["ADDED", "Repeatability", "repeats"]

ADDED = 0.1
"""Share that decoding may add to the standard error once a judge was asked often enough."""


@dataclass(frozen=True)
class Repeatability:
    """One metric of R runs of the same judge on the same videos, missing answers imputed.

    Attributes:
        values: of each run; None where undefined.
        mean: of them.
        decoding: standard deviation between the runs: what asking again changes.
        videos: standard error over videos that asking again would not change; None if it is smaller than can be told.
        needed: runs to average so that decoding adds at most :data:`ADDED` to the standard error over videos.
    """

    values: tuple[float | None, ...]
    mean: float | None
    decoding: float | None
    videos: float | None
    needed: int | None


def repeats(
    runs: Sequence[ComparisonEntry],
    *,
    allow: Collection[str] = (),
    mapping: LabelMapping = "absolute",
    positive: Positive = "error",
) -> dict[str, Repeatability]:
    """Split the variance of every metric into decoding and videos.

    A run's variance over videos, by the jackknife, holds both: decoding is drawn anew for every video. The variance
    between runs on the same videos is decoding alone; the rest is the videos'. The mean of r runs has
    ``videos^2 + decoding^2 / r``.

    Args:
        runs: at least two of the same judge, on the same videos, steps and reference.
        allow: differences to accept, see :func:`siming_tasks.metrics.alignment.align`.
        mapping: how points become labels for kappa.
        positive: the class of precision, recall and F1.

    Raises:
        DataError: fewer than two runs, or they are not over the same questions.
    """
    if len(runs) < 2:
        raise DataError(f"Repeats are at least two runs of one judge; {len(runs)} given.")
    tallies = [Tally.of(run.panel, mapping, positive).imputed() for run in align(runs, allow)]
    return {name: _of(tallies, name) for name in select(runs[0].panel.answer, compared=True)}


def _of(tallies: Sequence[Tally], name: str) -> Repeatability:
    values = np.array([tally.observed[name] for tally in tallies])
    given = tuple(None if np.isnan(value) else float(value) for value in values)
    if np.isnan(values).any():
        return Repeatability(given, None, None, None, None)
    decoding = float(values.var(ddof=1))
    both = float(np.mean([jackknife_error(tally.left_out[name][tally.contributing(name)]) ** 2 for tally in tallies]))
    videos = both - decoding
    known = np.isfinite(videos) and videos > NOISE**2
    most = ((1 + ADDED) ** 2 - 1) * videos
    return Repeatability(
        given,
        float(values.mean()),
        math.sqrt(decoding),
        math.sqrt(videos) if known else None,
        max(1, math.ceil(decoding / most)) if known else None,
    )

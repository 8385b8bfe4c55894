"""Sources of variance of a judge: the videos, and its decoding."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np

from siming_tasks.common.errors import DataError
from siming_tasks.metrics.alignment import ComparisonEntry, align
from siming_tasks.metrics.catalogue import select
from siming_tasks.metrics.classification import Positive
from siming_tasks.metrics.kappa import LabelMapping
from siming_tasks.metrics.resample import jackknife_error
from siming_tasks.metrics.sufficient_stats import Tally
from siming_tasks.metrics.thresholds import NOISE

DECODING_SHARE = 0.1
"""Share that decoding may add to the standard error once enough runs of a judge are averaged."""


@dataclass(frozen=True)
class Repeatability:
    """One metric of R runs of the same judge on the same videos, missing answers imputed.

    Attributes:
        values: of each run; None where undefined. ``mean``: of them.
        decoding_sd: standard deviation between the runs: the effect of asking again.
        video_stderr: standard error over videos that asking again would not change; None if it cannot be told from 0.
        runs_needed: runs to average so that decoding adds at most :data:`DECODING_SHARE` to the standard error.
    """

    values: tuple[float | None, ...]
    mean: float | None = None
    decoding_sd: float | None = None
    video_stderr: float | None = None
    runs_needed: int | None = None


def repeatability(
    runs: Sequence[ComparisonEntry],
    *,
    allow: Collection[str] = (),
    mapping: LabelMapping = "absolute",
    positive: Positive = "error",
) -> dict[str, Repeatability]:
    """Split the variance of every metric into decoding and videos, from at least two runs of the same judge.

    The variance of a run over videos, by the jackknife, holds both: decoding is drawn anew for every video. The
    variance between runs on the same videos is decoding alone; the rest belongs to the videos. The mean of r runs has
    the variance ``video_stderr^2 + decoding_sd^2 / r``. ``allow`` has differences to accept
    (:func:`siming_tasks.metrics.alignment.align`).

    Raises:
        DataError: fewer than two runs, or they were not asked the same questions.
    """
    if len(runs) < 2:
        raise DataError(f"Repeats are at least two runs of one judge; {len(runs)} given.")
    tallies = [Tally.of(run.panel, mapping, positive).imputed() for run in align(runs, allow)]
    rows = {}
    for metric in select(runs[0].panel.answer, compared=True):
        values = np.array([tally.observed[metric] for tally in tallies])
        listed = tuple(None if np.isnan(value) else float(value) for value in values)
        if None in listed:
            rows[metric] = Repeatability(listed)
            continue
        decoding = float(values.var(ddof=1))
        total = np.mean([jackknife_error(tally.left_out[metric][tally.contributing(metric)]) ** 2 for tally in tallies])
        videos = float(total) - decoding
        # The difference of two estimates may come out at or below 0: then decoding hides the videos' part.
        known = np.isfinite(videos) and videos > NOISE**2
        allowed = ((1 + DECODING_SHARE) ** 2 - 1) * videos
        rows[metric] = Repeatability(
            values=listed,
            mean=float(values.mean()),
            decoding_sd=math.sqrt(decoding),
            video_stderr=math.sqrt(videos) if known else None,
            runs_needed=max(1, math.ceil(decoding / allowed)) if known else None,
        )
    return rows

"""Sources of variance beside the videos: the steps of the rubric, and the decoding of the judge."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from siming_tasks.common.errors import DataError
from siming_tasks.metrics import correlation
from siming_tasks.metrics.alignment import ComparisonEntry, align
from siming_tasks.metrics.catalogue import CATALOGUE, select
from siming_tasks.metrics.classification import Positive
from siming_tasks.metrics.estimate import Estimate
from siming_tasks.metrics.evaluate import RESAMPLES
from siming_tasks.metrics.intervals import summarise
from siming_tasks.metrics.kappa import LabelMapping
from siming_tasks.metrics.resample import Stream, jackknife_error, observed, spreads, stream, weight_chunks
from siming_tasks.metrics.score_matrix import FloatArray, ScoreMatrix
from siming_tasks.metrics.sufficient_stats import Tally
from siming_tasks.metrics.thresholds import NOISE

DECODING_SHARE = 0.1
"""Share that decoding may add to the standard error once enough runs of a judge are averaged."""

CLAIMS: Mapping[str, str] = {
    "videos": "Interval over videos: what another sample of trainees would give, judged on these same steps.",
    "videos x steps": "Interval over videos and steps: what other trainees would give on other steps of the same kind. "
    "It takes the steps as drawn from a larger rubric and is on the wide side (pigeonhole bootstrap).",
}
"""Meaning of each interval, in the sentence to print beside it."""


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


def two_way_intervals(
    matrix: ScoreMatrix,
    *,
    mapping: LabelMapping = "absolute",
    positive: Positive = "error",
    resamples: int = RESAMPLES,
    seed: int = 0,
) -> dict[str, Estimate]:
    """Estimates whose intervals resample videos and, independently, steps (the pigeonhole bootstrap).

    A step of a video counts (times its video was drawn) x (times its step was drawn). Conservative for the interaction
    of the two; see Owen, "The pigeonhole bootstrap" (2007). In every metric of the kind of answer but coverage.
    """
    matrix = matrix.sorted()
    v, s = matrix.reference.shape
    metrics = [CATALOGUE[name] for name in select(matrix.answer, compared=True)]
    tally = Tally.of(matrix, mapping, positive, [metric.key for metric in metrics])
    by_step = [Tally.of(matrix.subset([step]), mapping, positive) for step in matrix.step_ids]
    families = {metric.family for metric in metrics} - {"totals"}
    columns = {name: np.stack([step.counts(name) for step in by_step], axis=1).reshape(v, -1) for name in families}
    chunks: dict[str, list[FloatArray]] = {}
    if min(v, s, resamples) > 1:
        # Two streams from one seed: the videos of resample b are those of the one-way interval.
        step_weights = np.concatenate(list(weight_chunks(np.arange(s), resamples, stream(seed, Stream.STEPS))))
        start = 0
        for weights in weight_chunks(matrix.cluster_numbers, resamples, seed):
            drawn_steps = step_weights[start : start + len(weights)]
            start += len(weights)
            counts = {
                name: np.einsum("bsk,bs->bk", (weights @ column).reshape(len(weights), s, -1), drawn_steps)
                for name, column in columns.items()
            }
            totals_drawn = correlation.shares(matrix, drawn_steps) if matrix.answer == "score" else ()
            for metric in metrics:
                if metric.family == "totals":
                    # Totals depend on which steps were drawn, so that every resample has totals of its own.
                    pairs = (correlation.Paired(*sides) for sides in zip(*totals_drawn, strict=True))
                    values = [metric.function(pair, row[None]) for pair, row in zip(pairs, weights, strict=True)]
                    drawn = np.concatenate(values)
                else:
                    drawn = metric.function(counts[metric.family])
                chunks.setdefault(metric.key, []).append(drawn)
    values_observed = observed(tally.compute, v)
    replicates = {name: np.concatenate(parts) for name, parts in chunks.items()}
    spread = spreads(replicates, {name: tally.size(name).clusters for name in replicates})
    return {name: summarise(tally, name, values_observed[name], spread.get(name)) for name in tally.metrics}

"""Intervals over videos and steps: the steps too are taken as a sample, of a rubric of other steps."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from siming_tasks.metrics.agreement import correlation
from siming_tasks.metrics.agreement.classification import Positive
from siming_tasks.metrics.agreement.labels import LabelMapping
from siming_tasks.metrics.catalogue import CATALOGUE, select
from siming_tasks.metrics.estimate import Estimate
from siming_tasks.metrics.evaluate import RESAMPLES
from siming_tasks.metrics.intervals import summarise
from siming_tasks.metrics.resample import observed, spreads, weight_chunks
from siming_tasks.metrics.score_matrix import FloatArray, ScoreMatrix
from siming_tasks.metrics.streams import Stream, stream
from siming_tasks.metrics.sufficient_stats import Tally

__all__ = ["CLAIMS", "two_way_intervals"]

CLAIMS: Mapping[str, str] = {
    "videos": "Interval over videos: what another sample of trainees would give, judged on these same steps.",
    "videos x steps": "Interval over videos and steps: what other trainees would give on other steps of the same kind. "
    "It takes the steps as drawn from a larger rubric and is on the wide side (pigeonhole bootstrap).",
}
"""Meaning of each interval, in the sentence to print beside it."""


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
    of the two; see Owen, "The pigeonhole bootstrap" (2007).

    Args:
        matrix: scores to evaluate, in every metric of their kind of answer but coverage.
        mapping: how points become labels for kappa.
        positive: the class of precision, recall and F1.
        resamples: number of resamples.
        seed: of the resamples.
    """
    matrix = matrix.sorted()
    v, s = matrix.reference.shape
    metrics = [CATALOGUE[name] for name in select(matrix.answer, compared=True)]
    tally = Tally.of(matrix, mapping, positive, [metric.key for metric in metrics])
    by_step = [Tally.of(matrix.subset([step]), mapping, positive) for step in matrix.step_ids]
    families = {metric.family for metric in metrics} - {"totals"}
    columns = {name: np.stack([step.counts(name) for step in by_step], axis=1).reshape(v, -1) for name in families}
    chunks: dict[str, list[FloatArray]] = {metric.key: [] for metric in metrics}
    if min(v, s, resamples) > 1:
        # Two streams from one seed: the videos of resample b are those of the one-way interval.
        step_weights = np.concatenate(list(weight_chunks(s, resamples, stream(seed, Stream.STEPS))))
        start = 0
        for weights in weight_chunks(v, resamples, seed):
            drawn_steps = step_weights[start : start + len(weights)]
            start += len(weights)
            counts = {
                name: np.einsum("bsk,bs->bk", (weights @ column).reshape(len(weights), s, -1), drawn_steps)
                for name, column in columns.items()
            }
            for metric in metrics:
                if metric.family != "totals":
                    chunks[metric.key].append(metric.function(counts[metric.family]))
                    continue
                # Totals depend on which steps were drawn, so that every resample has totals of its own.
                pairs = (correlation.Paired(*correlation.shares(matrix, times)) for times in drawn_steps)
                values = [metric.function(pair, row[None]) for pair, row in zip(pairs, weights, strict=True)]
                chunks[metric.key].append(np.concatenate(values))
    values_observed = observed(tally.compute, v)
    replicates = {name: np.concatenate(parts) for name, parts in chunks.items() if parts}
    spread = spreads(replicates, {name: tally.size(name)[0] for name in replicates})
    return {name: summarise(tally, name, values_observed[name], spread.get(name)) for name in tally.metrics}

"""An interval that also takes the steps as a sample: what would hold for new videos *and* a rubric of other steps."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from siming_tasks.metrics.agreement import correlation
from siming_tasks.metrics.agreement.classification import Positive
from siming_tasks.metrics.agreement.labels import LabelMapping
from siming_tasks.metrics.catalogue import CATALOGUE, Metric, select
from siming_tasks.metrics.estimate import Estimate
from siming_tasks.metrics.evaluate import RESAMPLES
from siming_tasks.metrics.intervals import summarise
from siming_tasks.metrics.resample import observed, spreads, weight_chunks
from siming_tasks.metrics.score_matrix import FloatArray, ScoreMatrix
from siming_tasks.metrics.streams import Stream, stream
from siming_tasks.metrics.sufficient_stats import Tally

__all__ = ["CLAIMS", "two_way"]

CLAIMS: Mapping[str, str] = {
    "videos": "Interval over videos: what another sample of trainees would give, judged on these same steps.",
    "videos x steps": "Interval over videos and steps: what other trainees would give on other steps of the same kind. "
    "It takes the steps as drawn from a larger rubric and is on the wide side (pigeonhole bootstrap).",
}
"""What each interval claims, in the sentence to print beside it."""


def two_way(
    panel: ScoreMatrix,
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
        panel: what to evaluate; every metric of its kind of answer but coverage.
        mapping: how points become labels for kappa.
        positive: the class of precision, recall and F1.
        resamples: how many.
        seed: of the resamples.
    """
    panel = panel.sorted()
    v, s = panel.reference.shape
    rows = [CATALOGUE[name] for name in select(panel.answer, compared=True)]
    tally = Tally.of(panel, mapping, positive, [row.key for row in rows])
    cells = [Tally.of(panel.subset([step]), mapping, positive) for step in panel.step_ids]
    families = {row.family for row in rows} - {"totals"}
    columns = {name: np.stack([cell.counts(name) for cell in cells], axis=1).reshape(v, -1) for name in families}
    parts: dict[str, list[FloatArray]] = {row.key: [] for row in rows}
    if min(v, s, resamples) > 1:
        # Two streams from one seed: the videos of resample b are those of the one-way interval.
        steps = np.concatenate(list(weight_chunks(s, resamples, stream(seed, Stream.STEPS))))
        start = 0
        for weights in weight_chunks(v, resamples, seed):
            drawn = steps[start : start + len(weights)]
            start += len(weights)
            counts = {
                name: np.einsum("bsk,bs->bk", (weights @ column).reshape(len(weights), s, -1), drawn)
                for name, column in columns.items()
            }
            for row in rows:
                found = (
                    _totals(row, panel, weights, drawn) if row.family == "totals" else row.function(counts[row.family])
                )
                parts[row.key].append(found)
    values = observed(tally.compute, v)
    replicates = {name: np.concatenate(chunks) for name, chunks in parts.items() if chunks}
    spread = spreads(replicates, {name: tally.size(name)[0] for name in replicates})
    return {name: summarise(tally, name, values[name], spread.get(name)) for name in tally.metrics}


def _totals(row: Metric, panel: ScoreMatrix, weights: FloatArray, drawn: FloatArray) -> FloatArray:
    """A correlation of totals over the videos and steps that were drawn, in each resample."""
    pairs = (correlation.Paired(*correlation.shares(panel, times)) for times in drawn)
    return np.concatenate([row.function(pair, taken[None]) for pair, taken in zip(pairs, weights, strict=True)])

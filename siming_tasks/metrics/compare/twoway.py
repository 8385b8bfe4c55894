"""An interval that also takes the steps as a sample: what would hold for new videos *and* a rubric of other steps."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from siming_tasks.metrics.agreement import correlation, kappa
from siming_tasks.metrics.agreement.labels import LabelMapping
from siming_tasks.metrics.estimate import Estimate
from siming_tasks.metrics.evaluate import RESAMPLES
from siming_tasks.metrics.panel import FloatArray, Panel
from siming_tasks.metrics.resample import observed, weight_chunks
from siming_tasks.metrics.summary import summarise
from siming_tasks.metrics.tally import BINARY, TOTALS, Tally

__all__ = ["CLAIMS", "two_way"]

CLAIMS: Mapping[str, str] = {
    "videos": "Interval over videos: what another sample of trainees would give, judged on these same steps.",
    "videos x steps": "Interval over videos and steps: what other trainees would give on other steps of the same kind. "
    "It takes the steps as drawn from a larger rubric and is on the wide side (pigeonhole bootstrap).",
}
"""What each interval claims, in the sentence to print beside it."""


def two_way(
    panel: Panel, *, mapping: LabelMapping = "absolute", resamples: int = RESAMPLES, seed: int = 0
) -> dict[str, Estimate]:
    """Estimates whose intervals resample videos and, independently, steps (the pigeonhole bootstrap).

    A step of a video counts (times its video was drawn) x (times its step was drawn). Conservative for the interaction
    of the two; see Owen, "The pigeonhole bootstrap" (2007).

    Args:
        panel: what to evaluate; every metric of its kind of answer but coverage.
        mapping: how points become labels for kappa.
        resamples: how many.
        seed: of the resamples.
    """
    panel = panel.sorted()
    v, s = panel.reference.shape
    tally = Tally.of(panel, mapping)
    cells = [Tally.of(panel.subset([step]), mapping) for step in panel.step_ids]
    columns = np.stack([cell.labels if panel.answer == "score" else cell.binary for cell in cells], axis=1)
    parts: dict[str, list[FloatArray]] = {name: [] for name in tally.metrics if name != "coverage"}
    if min(v, s, resamples) > 1:
        # Two streams from one seed: the videos of resample b are those of the one-way interval.
        steps = np.concatenate(list(weight_chunks(s, resamples, np.random.SeedSequence(seed, spawn_key=(1,)))))
        start = 0
        for weights in weight_chunks(v, resamples, seed):
            drawn = steps[start : start + len(weights)]
            start += len(weights)
            by_step = (weights @ columns.reshape(v, -1)).reshape(len(weights), s, -1)
            counts = np.einsum("bsk,bs->bk", by_step, drawn)
            for name, chunks in parts.items():
                chunks.append(_values(name, panel, counts, weights, drawn))
    values = observed(tally.compute, v)
    return {
        name: summarise(tally, name, values[name], np.concatenate(chunks) if chunks else None)
        for name, chunks in parts.items()
    }


def _values(name: str, panel: Panel, counts: FloatArray, weights: FloatArray, drawn: FloatArray) -> FloatArray:
    """One metric in each resample: of counts, or of totals over the videos and steps that were drawn."""
    if name == "qwk":
        return kappa.qwk(counts)
    if name in BINARY:
        return BINARY[name](counts)
    pairs = (correlation.Paired(*correlation.totals(panel, times)) for times in drawn)
    return np.concatenate([TOTALS[name](pair, row[None]) for pair, row in zip(pairs, weights, strict=True)])

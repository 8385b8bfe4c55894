"""What of a run's agreement survives when the evidence is altered: its answers to an ablation beside its plain ones.

A metric that a model keeps without the video, or on another exam's, it did not earn by watching. Both are computed on
the steps that were answered both times, and on the same resamples of videos, so that their difference and their ratio
are paired.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from siming_tasks.metrics.agreement.classification import Positive
from siming_tasks.metrics.agreement.labels import LabelMapping
from siming_tasks.metrics.catalogue import CATALOGUE, select
from siming_tasks.metrics.estimate import Estimate
from siming_tasks.metrics.evaluate import RESAMPLES
from siming_tasks.metrics.intervals import derived
from siming_tasks.metrics.resample import sample, spreads
from siming_tasks.metrics.score_matrix import FloatArray, ScoreMatrix
from siming_tasks.metrics.sufficient_stats import Tally

__all__ = ["Survival", "survival"]

NOTHING = "The plain task shows no agreement beyond chance, so there is nothing to survive."


@dataclass(frozen=True)
class Survival:
    """One metric, with and without the evidence, on the steps that were answered both times.

    Attributes:
        metric: its key.
        plain: of the plain task.
        ablated: of the ablation.
        change: ``ablated - plain``, paired.
        kept: ``ablated / plain``, paired: 1 is a judge that did not need what the ablation took away. Undefined where
            ``plain`` is not above 0, in the data or in a resample.
    """

    metric: str
    plain: Estimate
    ablated: Estimate
    change: Estimate
    kept: Estimate

    def to_json(self) -> dict[str, Any]:
        """Plain JSON types; no NaN."""
        return {name: getattr(self, name).to_json() for name in ("plain", "ablated", "change", "kept")}


def survival(
    plain: ScoreMatrix,
    ablated: ScoreMatrix,
    steps: Sequence[str] | None = None,
    *,
    mapping: LabelMapping = "absolute",
    positive: Positive = "error",
    resamples: int = RESAMPLES,
    seed: int = 0,
) -> dict[str, Survival]:
    """By metric, what survives.

    Args:
        plain: the answers to the plain task.
        ablated: those to the ablation, about the same rubric; videos that are not in both are left out.
        steps: only these; None: all.
        mapping: how points become labels for kappa.
        positive: the class of precision, recall and F1.
        resamples: bootstrap resamples.
        seed: of them.

    Returns:
        Every metric but those that can be had by answering the same everywhere. ``coverage`` of the estimates is the
        share of the asked steps that were answered both times.
    """
    shared = sorted(set(plain.video_ids) & set(ablated.video_ids))
    chosen = plain.step_ids if steps is None else tuple(steps)
    one, other = (_rows(panel, shared).subset(chosen) for panel in (plain, ablated))
    asked = one.asked & other.asked
    both = one.answered & other.answered
    metrics = select(plain.answer, lifted=True)
    metrics = tuple(name for name in metrics if CATALOGUE[name].compared)
    sides = []
    for panel in (one, other):
        said = np.where(both, panel.predicted, np.nan)
        sides.append(Tally.of(replace(panel, asked=asked, predicted=said), mapping, positive, metrics))

    def compute(weights: FloatArray) -> dict[tuple[str, str], FloatArray]:
        before, after = (side.compute(weights) for side in sides)
        found: dict[tuple[str, str], FloatArray] = {}
        for name in metrics:
            a, b = before[name], after[name]
            kept: FloatArray = np.divide(b, a, out=np.full(len(a), np.nan), where=a > 0)
            found |= {(name, "plain"): a, (name, "ablated"): b, (name, "change"): b - a, (name, "kept"): kept}
        return found

    values, drawn = sample(compute, len(shared), resamples=resamples, seed=seed)
    spread = spreads(drawn, {key: sides[0].size(key[0])[0] for key in drawn})

    def made(name: str, part: str) -> Estimate:
        silent = next((side for side, p in zip(sides, ("plain", "ablated"), strict=True)
                       if np.isnan(values[name, p]) and part in (p, "change", "kept")), None)  # fmt: skip
        why = silent.reason(name) if silent else NOTHING
        return derived(sides[0], name, values[name, part], spread.get((name, part)), why=why)

    return {
        name: Survival(name, *(made(name, part) for part in ("plain", "ablated", "change", "kept"))) for name in metrics
    }


def _rows(panel: ScoreMatrix, videos: Sequence[str]) -> ScoreMatrix:
    row = {name: index for index, name in enumerate(panel.video_ids)}
    return panel.videos([row[name] for name in videos])

"""Sensitivity of the headline: other readings of the same answers, and what missing answers could change."""

from __future__ import annotations

from typing import Any

import numpy as np

from siming_tasks.metrics.agreement.chance import footnote
from siming_tasks.metrics.agreement.labels import LEVELS, MAPPINGS
from siming_tasks.metrics.catalogue import CATALOGUE, select
from siming_tasks.metrics.resample import observed
from siming_tasks.metrics.score_matrix import FloatArray, ScoreMatrix
from siming_tasks.metrics.sufficient_stats import Tally

__all__ = ["adversarial_fill", "chance_corrected", "facts", "readings", "zero_fill"]


def readings(panel: ScoreMatrix) -> dict[tuple[str, ...], Tally]:
    """Tallies of every reading of equation 3 (scores only) and of either class as the positive one."""
    views: dict[tuple[str, ...], Tally] = {}
    if panel.answer == "score":
        views |= {("mapping", name): Tally.of(panel, name, metrics=select(family="labels")) for name in MAPPINGS}
    classes = select(family="verdicts")
    views["positive", "error"] = Tally.of(panel, positive="error", metrics=classes)
    views["positive", "correct"] = Tally.of(panel, positive="correct", metrics=classes)
    return views


def facts(panel: ScoreMatrix, tally: Tally) -> dict[str, Any]:
    """Counts and shares that need no interval. ``footnote``: other corrections for chance.

    ``prevalence`` and ``predicted_positive_rate`` are shares of "wrong" steps among the answered ones, whatever the
    positive class. ``fill`` is a sensitivity analysis, not a result: the metrics if every missing answer had been zero
    points (verdict: wrong), and if it had been as far from the reference as the scale allows.
    """
    both = panel.counted & panel.answered
    answered = int(both.sum())
    shares = {
        name: float((wrong & both).sum()) / answered if answered else None
        for name, wrong in (("prevalence", panel.reference_wrong), ("predicted_positive_rate", panel.predicted_wrong))
    }
    return {
        "counts": {
            "videos": len(panel.video_ids),
            "asked": int(panel.asked.sum()),
            "answered": int(panel.answered.sum()),
            "with_reference": int(panel.counted.sum()),
            "scored": answered,
        },
        **shares,
        "confusion": _confusion(panel, tally),
        "footnote": chance_corrected(tally),
        "fill": {name: _values(tally, fill(panel)) for name, fill in _FILLS.items()},
    }


def chance_corrected(tally: Tally) -> dict[str, float | None]:
    """Gwet's AC2 and Krippendorff's alpha (:mod:`siming_tasks.metrics.agreement.chance`) of labels or verdicts."""
    counts = tally.labels if tally.panel.answer == "score" else Tally.of(tally.panel).verdicts
    return footnote(counts.sum(axis=0))


def zero_fill(panel: ScoreMatrix) -> FloatArray:
    """Predictions with every missing answer as zero points, or as the verdict "wrong"."""
    return np.where(np.isnan(panel.predicted), 0.0 if panel.answer == "score" else 1.0, panel.predicted)


def adversarial_fill(panel: ScoreMatrix) -> FloatArray:
    """Predictions with every missing answer as far from the reference as the scale allows."""
    if panel.answer == "score":
        worst = np.where(panel.reference > panel.max_score / 2, 0.0, panel.max_score)
    else:
        worst = np.where(panel.reference_wrong, 0.0, 1.0)
    return np.where(np.isnan(panel.predicted), worst, panel.predicted)


_FILLS = {"zero": zero_fill, "adversarial": adversarial_fill}


def _values(tally: Tally, predicted: FloatArray) -> dict[str, float | None]:
    """Point values with other predictions; 0.0 where undefined, None without any reference."""
    metrics = [name for name in tally.metrics if CATALOGUE[name].compared]
    if not tally.panel.counted.any():
        return dict.fromkeys(metrics)
    imputed = Tally.of(tally.panel.predicting(predicted), tally.mapping, tally.positive, metrics)
    return {k: float(np.nan_to_num(v)) for k, v in observed(imputed.compute, len(predicted)).items()}


def _confusion(panel: ScoreMatrix, tally: Tally) -> dict[str, Any]:
    """Pooled counts, rows = reference, columns = prediction."""
    if panel.answer == "score":
        return {"levels": list(LEVELS), "counts": tally.labels.sum(axis=0).reshape(4, 4).astype(int).tolist()}
    counts = Tally.of(panel).verdicts.sum(axis=0).reshape(2, 2)
    return {"levels": ["correct", "wrong"], "counts": counts.astype(int).tolist()}

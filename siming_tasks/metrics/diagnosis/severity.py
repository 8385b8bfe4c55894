"""Severity: does the judge give more or fewer points than the examiners? No correlation can see it."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from siming_tasks.metrics.agreement.correlation import totals
from siming_tasks.metrics.diagnosis.frame import Frame
from siming_tasks.metrics.estimate import Estimate
from siming_tasks.metrics.panel import FloatArray
from siming_tasks.metrics.stat import Stat, estimate_stats, ratio
from siming_tasks.metrics.thresholds import Z

__all__ = ["Limits", "Severity", "severity"]

CAVEAT = (
    "PLCC and SRCC do not change when every total is shifted; an exam result does. The limits hold 95 % of videos if "
    "the differences are near normal and no larger for strong examinees than for weak ones."
)


@dataclass(frozen=True)
class Limits:
    """Bland-Altman: mean difference of totals in points, standard deviation, and the limits of agreement around it."""

    bias: Estimate
    sd: Estimate
    lower: Estimate
    upper: Estimate


@dataclass(frozen=True)
class Severity:
    """How strict the judge is.

    Attributes:
        totals: judge minus reference, points; None for verdicts.
        human: physician A minus physician B, if given and points were asked.
        called_wrong: share of steps that the judge calls less than fully correct.
        prevalence: share that is.
        offset: ``called_wrong - prevalence``; above 0 is strict.
        caveat: what to bear in mind.
    """

    totals: Limits | None
    human: Limits | None
    called_wrong: Estimate
    prevalence: Estimate
    offset: Estimate
    caveat: str = field(default=CAVEAT, init=False)


def severity(frame: Frame, resamples: int, rng: np.random.Generator) -> Severity:
    """Offsets of a judge and, beside them, of one physician from the other."""
    panel = frame.panel
    wrong, called = frame.both & panel.reference_wrong, frame.both & panel.predicted_wrong
    stats: dict[str, Stat] = {
        "called_wrong": ratio(called, frame.both),
        "prevalence": ratio(wrong, frame.both),
        "offset": ratio(called.astype(np.float64) - wrong, frame.both),
    }
    gaps: dict[str, FloatArray] = {}
    if panel.answer == "score":
        reference, predicted = totals(panel)
        gaps["totals"] = predicted - reference
        if frame.points:
            gap = np.where(frame.rated, frame.points[0] - frame.points[1], 0).sum(axis=1)
            complete = (frame.rated == panel.counted).all(axis=1) & panel.counted.any(axis=1)
            gaps["human"] = np.where(complete, gap, np.nan)
    for name, gap in gaps.items():
        stats |= {f"{name}.{key}": stat for key, stat in _limits(gap).items()}
    found = estimate_stats(stats, len(panel.video_ids), resamples, rng)
    limits = {
        name: Limits(**{key: found[f"{name}.{key}"] for key in ("bias", "sd", "lower", "upper")}) for name in gaps
    }
    return Severity(
        limits.get("totals"), limits.get("human"), found["called_wrong"], found["prevalence"], found["offset"]
    )


def _limits(gap: FloatArray) -> dict[str, Stat]:
    known = ~np.isnan(gap)
    d = np.where(known, gap, 0.0)
    counts = np.stack([known, d, d * d], axis=1).astype(np.float64)
    items = int(known.sum())

    def stat(formula: float | None) -> Stat:
        def value(sums: FloatArray) -> FloatArray:
            n, first, second = sums.T
            with np.errstate(invalid="ignore", divide="ignore"):
                mean = first / n
                sd = np.sqrt(np.maximum(second - n * mean**2, 0) / (n - 1))
            sd = np.where(n > 1, sd, np.nan)
            return sd if formula is None else mean + formula * sd if formula else mean

        return Stat(counts, value, items, "No video has both totals.")

    return {"bias": stat(0.0), "sd": stat(None), "lower": stat(-Z), "upper": stat(Z)}

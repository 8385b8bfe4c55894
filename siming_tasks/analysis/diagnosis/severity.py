"""Severity: the offset of the judge's points from the examiners', which no correlation can see."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from siming_tasks.analysis.diagnosis.label_matrices import LabelMatrices
from siming_tasks.metrics.agreement.correlation import totals
from siming_tasks.metrics.estimate import Estimate
from siming_tasks.metrics.ratio_estimates import Stat, estimate_stats, ratio
from siming_tasks.metrics.score_matrix import FloatArray
from siming_tasks.metrics.thresholds import Z

__all__ = ["Severity", "TotalsAgreement", "severity"]

CAVEAT = (
    "PLCC and SRCC do not change when every total is shifted; an exam result does. The limits hold 95 % of videos if "
    "the differences are near normal and no larger for strong examinees than for weak ones."
)


@dataclass(frozen=True)
class TotalsAgreement:
    """Agreement of two totals, in points.

    Attributes:
        bias: mean difference (Bland & Altman 1999).
        sd: standard deviation of the differences.
        lower: lower limit of agreement.
        upper: upper limit.
        slope: change of the difference for each point of the mean of both: below 0 if the first spreads the examinees
            less than the second.
        icc: ICC(A,1), absolute agreement of the totals (McGraw & Wong 1996).
        concordance: Lin's concordance correlation of the totals (1989).
    """

    bias: Estimate
    sd: Estimate
    lower: Estimate
    upper: Estimate
    slope: Estimate
    icc: Estimate
    concordance: Estimate


_STATISTICS = ("bias", "sd", "lower", "upper", "slope", "icc", "concordance")


@dataclass(frozen=True)
class Severity:
    """Strictness of the judge.

    Attributes:
        totals: judge minus reference, points; None for verdicts.
        human: physician A minus physician B, if given and points were asked.
        called_wrong: share of steps that the judge calls less than fully correct.
        prevalence: share that is.
        offset: ``called_wrong - prevalence``; above 0 is strict.
        caveat: what to bear in mind.
    """

    totals: TotalsAgreement | None
    human: TotalsAgreement | None
    called_wrong: Estimate
    prevalence: Estimate
    offset: Estimate
    caveat: str = field(default=CAVEAT, init=False)


def severity(labels: LabelMatrices, resamples: int, rng: np.random.Generator) -> Severity:
    """Offsets of a judge and, beside them, of first physician from the second."""
    matrix = labels.scores
    wrong, called = labels.known & matrix.reference_wrong, labels.known & matrix.predicted_wrong
    stats: dict[str, Stat] = {
        "called_wrong": ratio(called, labels.known),
        "prevalence": ratio(wrong, labels.known),
        "offset": ratio(called.astype(np.float64) - wrong, labels.known),
    }
    pairs: dict[str, tuple[FloatArray, FloatArray]] = {}
    if matrix.answer == "score":
        reference, predicted = totals(matrix)
        pairs["totals"] = predicted, reference
        if labels.points:
            complete = (labels.rated == matrix.counted).all(axis=1) & matrix.counted.any(axis=1)
            first, second = (np.where(labels.rated, points, 0).sum(axis=1) for points in labels.points)
            pairs["human"] = np.where(complete, first, np.nan), np.where(complete, second, np.nan)
    for name, (first, second) in pairs.items():
        stats |= {f"{name}.{key}": stat for key, stat in _bland_altman(first - second).items()}
        stats |= {f"{name}.{key}": stat for key, stat in _slope_and_concordance(first, second).items()}
    estimates = estimate_stats(stats, len(matrix.video_ids), resamples, rng)
    limits = {name: TotalsAgreement(**{key: estimates[f"{name}.{key}"] for key in _STATISTICS}) for name in pairs}
    return Severity(
        limits.get("totals"),
        limits.get("human"),
        estimates["called_wrong"],
        estimates["prevalence"],
        estimates["offset"],
    )


def _bland_altman(gap: FloatArray) -> dict[str, Stat]:
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


def _slope_and_concordance(first: FloatArray, second: FloatArray) -> dict[str, Stat]:
    """Slope of Bland and Altman's plot, ICC(A,1) and Lin's concordance as formulas of sums over videos."""
    known = ~np.isnan(first) & ~np.isnan(second)
    middle = np.median(np.concatenate([first[known], second[known]])) if known.any() else 0.0  # keeps the sums small
    x, y = (np.where(known, side - middle, 0.0) for side in (first, second))
    counts = np.stack([known, x, y, x * x, y * y, x * y], axis=1).astype(np.float64)

    def moments(sums: FloatArray) -> tuple[FloatArray, ...]:
        n, sx, sy, sxx, syy, sxy = sums.T
        with np.errstate(invalid="ignore", divide="ignore"):
            parts = sxx / n - (sx / n) ** 2, syy / n - (sy / n) ** 2, sxy / n - sx * sy / n**2, (sx - sy) / n
        noise = 1e-12 * np.maximum(1.0, (sxx + syy) / np.maximum(n, 1))
        return n, np.where(parts[0] > noise, parts[0], 0), np.where(parts[1] > noise, parts[1], 0), parts[2], parts[3]

    def slope(sums: FloatArray) -> FloatArray:
        _, vx, vy, cov, _ = moments(sums)
        return _ratio((vx - vy) / 2, (vx + vy + 2 * cov) / 4)

    def concordance(sums: FloatArray) -> FloatArray:
        _, vx, vy, cov, gap = moments(sums)
        return _ratio(2 * cov, vx + vy + gap**2)

    def icc(sums: FloatArray) -> FloatArray:
        n, vx, vy, cov, gap = moments(sums)
        with np.errstate(invalid="ignore", divide="ignore"):
            rows, rest = (n / (n - 1) * part for part in ((vx + vy) / 2 + cov, (vx + vy) / 2 - cov))
            columns = n * gap**2 / 2
            return _ratio(rows - rest, rows + rest + 2 / n * (columns - rest))

    items = int(known.sum())
    formulas = {"slope": slope, "icc": icc, "concordance": concordance}
    return {name: Stat(counts, formula, items, "No video has both totals.") for name, formula in formulas.items()}


def _ratio(above: FloatArray, below: FloatArray) -> FloatArray:
    ratio: FloatArray = np.divide(above, below, out=np.full(len(below), np.nan), where=below > 1e-12)
    return ratio

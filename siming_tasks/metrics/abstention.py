"""Selective agreement of a judge that may call a step not visible: risk, coverage, and justified abstention."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike

from siming_tasks.common.errors import DataError
from siming_tasks.common.schema import RESAMPLES
from siming_tasks.metrics.classification import binary_counts, mcc
from siming_tasks.metrics.estimate import Estimate
from siming_tasks.metrics.kappa import LabelMapping, ordinal_labels
from siming_tasks.metrics.no_video_baselines import step_prior
from siming_tasks.metrics.ratio_estimates import Labels, Stat, difference, estimate_stats, kappa_stat, ratio
from siming_tasks.metrics.score_matrix import BoolArray, FloatArray, ScoreMatrix
from siming_tasks.metrics.thresholds import COMPARABLE

CAVEAT = (
    "At full coverage a step that was called not visible has the step prior's answer: what the step usually gets in "
    "the other videos, by their labels. Those labels are no merit of the judge: read the gain, which is 0 for one that "
    "abstains from everything. Ranks and tests take an abstention for full points, as any missing answer, and call no "
    f"run better that answered less than {100 * COMPARABLE:g} %."
)


@dataclass(frozen=True)
class Abstention:
    """Numbers of one run in a setting with abstention.

    Attributes:
        abstained: share of the asked steps that were called not visible.
        accuracy: share of right labels (verdicts) among the answered steps.
        accuracy_full: the same at full coverage.
        area: under the risk-coverage curve of wrong labels, answered steps before all others (AURC; lower is better).
        curve: coverage and risk after the answered steps and after all.
        headline: kappa (MCC) at full coverage.
        prior: the same of the step prior alone.
        gain: ``headline - prior``: what the judge adds to what is known without any video.
        precision: share of the abstentions in which the shown frames lack the evidence that the rubric asks for.
        recall: share of such steps that were called not visible.
        caveat: what to bear in mind.
    """

    abstained: Estimate
    accuracy: Estimate
    accuracy_full: Estimate
    area: Estimate
    headline: Estimate
    prior: Estimate
    gain: Estimate
    precision: Estimate
    recall: Estimate
    curve: Sequence[tuple[float, float]] = ()
    caveat: str = field(default=CAVEAT, init=False)


def abstention(
    panel: ScoreMatrix,
    hidden: BoolArray | None = None,
    *,
    mapping: LabelMapping = "absolute",
    resamples: int = RESAMPLES,
    seed: int = 0,
    why: str = "What the model was shown is not known.",
) -> Abstention:
    """The numbers of a panel, with intervals from a bootstrap over clusters of videos (the step prior stays as it is).

    Args:
        panel: of a run in a setting with abstention.
        hidden: ``bool[V, S]``, steps without the evidence that the rubric asks for in what was shown; None: not known.
        mapping: how points become labels.
        resamples: of the bootstrap.
        seed: of the bootstrap.
        why: why ``hidden`` is not known, as a sentence.
    """
    due, answered, away = panel.counted, panel.counted & panel.answered, panel.asked & panel.abstained
    imputed = _at_full_coverage(panel)
    right = right_labels(imputed, mapping) & due
    rest = due & ~answered
    levels = [side.sum(axis=1) for side in (answered, rest, answered & ~right, rest & ~right)]
    counts = np.stack(levels, axis=1).astype(np.float64)
    full, no_video = _headline(imputed, mapping), _headline(step_prior(panel), mapping)
    known = np.zeros_like(away) if hidden is None else hidden & panel.asked
    stats = {
        "abstained": ratio(away, panel.asked, "No step was asked about."),
        "accuracy": ratio(answered & right, answered, "No step with a reference was answered."),
        "accuracy_full": ratio(right, due, "There is no reference."),
        "area": Stat(counts, by_level, int(due.sum()), "There is no reference."),
        "headline": full,
        "prior": no_video,
        "gain": difference(full, no_video),
        "precision": ratio(known & away, away if hidden is not None else known, "The judge abstained from nothing."),
        "recall": ratio(known & away, known, "The frames show the evidence that the rubric asks for in every step."),
    }
    estimates = estimate_stats(stats, panel.cluster_numbers, resamples, seed)
    if hidden is None:
        estimates |= dict.fromkeys(("precision", "recall"), Estimate(None, reason=why))
    n, n_rest, wrong, wrong_rest = counts.sum(axis=0).tolist()
    ends = [(n, wrong), (n + n_rest, wrong + wrong_rest)]
    curve = tuple(dict.fromkeys((count / ends[-1][0], lost / count) for count, lost in ends if count))
    return Abstention(**estimates, curve=curve)


def _at_full_coverage(panel: ScoreMatrix) -> ScoreMatrix:
    """The same with the step prior where the judge abstained, and as usual where an answer is missing otherwise."""
    imputed = panel.imputed()
    return (
        imputed
        if panel.fallback is None
        else imputed.predicting(np.where(panel.abstained, panel.fallback, imputed.predicted))
    )


def right_labels(panel: ScoreMatrix, mapping: LabelMapping) -> BoolArray:
    """Test where the predicted label (verdict) is the reference's, ``bool[V, S]``; meaningless without either."""
    if panel.answer == "error":
        return np.asarray(panel.reference_wrong == panel.predicted_wrong, np.bool_)
    truth, predicted = _labels(panel, mapping)
    return np.asarray(predicted == truth, np.bool_)


def _headline(panel: ScoreMatrix, mapping: LabelMapping) -> Stat:
    both = panel.counted & panel.answered
    if panel.answer == "error":
        counts = binary_counts(panel.reference_wrong, panel.predicted_wrong, both)
        return Stat(counts, mcc, int(both.sum()))
    return kappa_stat(*_labels(panel, mapping), both)


def _labels(panel: ScoreMatrix, mapping: LabelMapping) -> tuple[Labels, Labels]:
    truth, predicted = (ordinal_labels(side, panel.max_score, mapping) for side in (panel.reference, panel.predicted))
    return truth, predicted


@dataclass(frozen=True)
class RiskCoverage:
    """Risk of a judge on what it answers, as it answers more and more of what was asked.

    Attributes:
        coverage: share of the items that are at least as sure as each level of confidence, rising to 1.
        risk: mean loss of these items.
        area: under the curve (AURC): the mean risk of the 1, 2, ..., n surest items; in a level of equal confidence the
            expectation over its orders.
        full: risk at full coverage, which is the area of a judge whose confidence says nothing.
        best: area of the same losses with the largest ones last: what a judge that knows its errors would have.
    """

    coverage: tuple[float, ...]
    risk: tuple[float, ...]
    area: float
    full: float
    best: float


def risk_coverage(loss: ArrayLike, confidence: ArrayLike) -> RiskCoverage:
    """The curve of n items (Geifman and El-Yaniv 2017; the area as in Geifman, Uziel and El-Yaniv 2019).

    Args:
        loss: of each item, ``float[n]``; 1 for wrong and 0 for right gives error rates.
        confidence: of each item, ``float[n]``; larger is surer.

    Raises:
        DataError: no item, or two lists of different length.

    Example:
        >>> curve = risk_coverage([0, 1, 1], [0.9, 0.5, 0.1])
        >>> [round(value, 4) for value in (*curve.risk, curve.area, curve.best)]
        [0.0, 0.5, 0.6667, 0.3889, 0.3889]
    """
    losses, sure = (np.asarray(values, dtype=np.float64).ravel() for values in (loss, confidence))
    if not len(losses) or losses.shape != sure.shape:
        raise DataError(f"A risk-coverage curve needs as many losses as confidences, not {len(losses)}, {len(sure)}.")

    def levels(sureness: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Items and summed losses of each level of confidence, the surest first."""
        place = np.unique(-sureness, return_inverse=True)[1]
        return np.bincount(place).astype(np.float64), np.bincount(place, weights=losses).astype(np.float64)

    counts, sums = levels(sure)
    reached = np.cumsum(counts)
    return RiskCoverage(
        coverage=tuple((reached / reached[-1]).tolist()),
        risk=tuple((np.cumsum(sums) / reached).tolist()),
        area=float(area(counts[None], sums[None])[0]),
        full=float(losses.mean()),
        best=float(area(*(part[None] for part in levels(-losses)))[0]),
    )


def area(counts: FloatArray, sums: FloatArray) -> FloatArray:
    """Areas from whole numbers of items and their summed losses in each level, ``float64[B, L]`` to ``float64[B]``.

    Of a level with m items of mean loss r that follows N items with losses L, the k-th item of all adds a risk of
    ``(L + (k - N) r) / k`` in expectation, so that all of them add ``r m + (L - r N) (H(N + m) - H(N))`` with harmonic
    numbers H. NaN where there is no item.
    """
    counts, sums = np.asarray(counts, np.float64), np.asarray(sums, np.float64)
    after, risen = np.cumsum(counts, axis=1), np.cumsum(sums, axis=1)
    before, lost = after - counts, risen - sums
    mean = np.divide(sums, counts, out=np.zeros_like(sums), where=counts > 0)
    most = int(after.max(initial=0))
    harmonic = np.concatenate([[0.0], np.cumsum(1 / np.arange(1, most + 1))])
    spread = harmonic[after.astype(np.intp)] - harmonic[before.astype(np.intp)]
    total = (sums + (lost - mean * before) * spread).sum(axis=1)
    areas: FloatArray = np.divide(total, after[:, -1], out=np.full(len(total), np.nan), where=after[:, -1] > 0)
    return areas


def by_level(sums: FloatArray) -> FloatArray:
    """:func:`area` from columns that hold the counts of all levels and then their losses, ``float64[B, 2 L]``."""
    levels = sums.shape[1] // 2
    return area(sums[:, :levels], sums[:, levels:])

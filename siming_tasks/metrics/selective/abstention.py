"""Selective agreement of a judge that may call a step not visible, and justified abstention."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from siming_tasks.common.schema import RESAMPLES
from siming_tasks.metrics.agreement.classification import binary_counts, mcc
from siming_tasks.metrics.agreement.labels import LabelMapping, ordinal_labels
from siming_tasks.metrics.estimate import Estimate
from siming_tasks.metrics.no_video_baselines import step_prior
from siming_tasks.metrics.ratio_estimates import Stat, difference, estimate_stats, kappa_stat, ratio
from siming_tasks.metrics.score_matrix import BoolArray, ScoreMatrix
from siming_tasks.metrics.selective.risk_coverage import by_level

__all__ = ["Abstention", "abstention", "right_labels"]

CAVEAT = (
    "Only the values at full coverage compare judges: there a step that was called not visible has the step prior's "
    "answer (what the step usually gets in the other videos), so that abstaining from everything gives that "
    "baseline's value, and a gain of 0, and abstaining from hard steps what a judge without the video would "
    "have got on them."
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
    """The numbers of a panel, with intervals from a bootstrap over videos (the step prior stays as it is).

    Args:
        panel: of a run in a setting with abstention.
        hidden: ``bool[V, S]``, steps without the evidence that the rubric asks for in what was shown; None: not known.
        mapping: how points become labels.
        resamples: of the bootstrap.
        seed: of it.
        why: why ``hidden`` is not known, as a sentence.
    """
    due, answered, away = panel.counted, panel.counted & panel.answered, panel.asked & panel.abstained
    imputed, prior = panel.imputed(), step_prior(panel)
    right = right_labels(imputed, mapping) & due
    rest = due & ~answered
    levels = [side.sum(axis=1) for side in (answered, rest, answered & ~right, rest & ~right)]
    counts = np.stack(levels, axis=1).astype(np.float64)
    full, no_video = _headline(imputed, mapping), _headline(prior, mapping)
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
    estimates = estimate_stats(stats, len(panel.video_ids), resamples, seed)
    if hidden is None:
        estimates |= dict.fromkeys(("precision", "recall"), Estimate(None, reason=why))
    return Abstention(**estimates, curve=_curve(counts.sum(axis=0).tolist()))


def _curve(counts: Sequence[float]) -> tuple[tuple[float, float], ...]:
    answered, rest, wrong, wrong_rest = counts
    ends = [(answered, wrong), (answered + rest, wrong + wrong_rest)]
    return tuple(dict.fromkeys((n / ends[-1][0], lost / n) for n, lost in ends if n))


def right_labels(panel: ScoreMatrix, mapping: LabelMapping) -> BoolArray:
    """Test where the predicted label (verdict) is the reference's, ``bool[V, S]``; meaningless without either."""
    if panel.answer == "error":
        return np.asarray(panel.reference_wrong == panel.predicted_wrong, np.bool_)
    predicted, truth = (ordinal_labels(side, panel.max_score, mapping) for side in (panel.predicted, panel.reference))
    return np.asarray(predicted == truth, np.bool_)


def _headline(panel: ScoreMatrix, mapping: LabelMapping) -> Stat:
    both = panel.counted & panel.answered
    if panel.answer == "error":
        counts = binary_counts(panel.reference_wrong, panel.predicted_wrong, both)
        return Stat(counts, mcc, int(both.sum()))
    predicted, truth = (ordinal_labels(side, panel.max_score, mapping) for side in (panel.predicted, panel.reference))
    return kappa_stat(truth, predicted, both)

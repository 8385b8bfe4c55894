"""Pass decisions: pass or fail by the judge, beside the decisions of the reference and of the physicians."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from siming_tasks.analysis.label_agreement import LabelMatrices
from siming_tasks.common.errors import DataError
from siming_tasks.metrics.correlation import totals
from siming_tasks.metrics.estimate import Estimate
from siming_tasks.metrics.intervals import Proportion, share
from siming_tasks.metrics.kappa import ordinal_labels
from siming_tasks.metrics.ratio_estimates import Stat, estimate_stats, kappa_stat
from siming_tasks.metrics.score_matrix import BoolArray, FloatArray
from siming_tasks.rubrics import Rubric

__all__ = ["PASS_MARK", "DecisionsAtMark", "PassDecisions", "pass_decisions"]

PASS_MARK = 0.8
MARKS = (0.6, 0.7, 0.8, 0.9)
CAVEAT = (
    "The pass mark and the must-pass steps are the rubric author's or yours, not the paper's; the rates change with "
    "both. Rates among few failing examinees are uncertain: read their intervals. Videos with too few answered steps, "
    "or with an unanswered must-pass step, are left out."
)


@dataclass(frozen=True)
class DecisionsAtMark:
    """Decisions under first pass mark: share of videos decided alike, false-pass and false-fail rate."""

    pass_mark: float
    consistency: Proportion
    false_pass: Proportion
    false_fail: Proportion


@dataclass(frozen=True)
class PassDecisions:
    """Pass or fail by a share of the points, with no must-pass step failed (label 0).

    Attributes:
        pass_mark: share of the available points that passes.
        must_pass: steps that must not be failed.
        false_pass: share of truly failing examinees whom the judge passes: the unsafe error.
        false_fail: share of truly passing examinees whom the judge fails.
        pass_rate_reference: share of examinees who pass by the reference.
        pass_rate_judge: share whom the judge passes.
        missed_must_pass: share of truly failed must-pass steps that the judge does not call failed.
        consistency: share of examinees decided alike by judge and reference.
        kappa: of those decisions.
        human: share of examinees decided alike by the two physicians, if given.
        human_kappa: of those decisions.
        marks: the same for second pass marks.
        caveat: what to bear in mind.
    """

    pass_mark: float
    must_pass: tuple[str, ...]
    false_pass: Proportion
    false_fail: Proportion
    pass_rate_reference: Proportion
    pass_rate_judge: Proportion
    missed_must_pass: Proportion
    consistency: Proportion
    kappa: Estimate
    human: Proportion | None
    human_kappa: Estimate | None
    marks: tuple[DecisionsAtMark, ...]
    caveat: str = field(default=CAVEAT, init=False)


@dataclass(frozen=True, eq=False)
class _ExamineeTotals:
    """Totals of first examiner: share earned per video (NaN = not decided), and videos with a failed must-pass step."""

    share: FloatArray
    unsafe: BoolArray

    def passes(self, mark: float) -> BoolArray:
        """True where the share reaches the mark and no must-pass step was failed."""
        return (
            np.where(np.isnan(self.share), False, self.share >= mark - 1e-9) & ~self.unsafe
        )  # 1e-9: rounding of the share


def pass_decisions(
    labels: LabelMatrices, rubric: Rubric, resamples: int, rng: np.random.Generator, pass_mark: float = PASS_MARK
) -> PassDecisions | None:
    """Decisions of judge, reference and physicians; None for verdicts: without points there is no mark to reach.

    Raises:
        DataError: the pass mark is not above 0 and at most 1.
    """
    if not 0 < pass_mark <= 1:
        raise DataError(f"pass mark is {pass_mark:g}; give the share of points that passes, above 0 and at most 1.")
    matrix = labels.scores
    if matrix.answer != "score":
        return None
    must = np.array([rubric.by_id[name].critical for name in matrix.step_ids], dtype=bool)
    available = np.where(matrix.counted, matrix.max_score, 0).sum(axis=1)
    decided = ~(matrix.counted & ~matrix.answered)[:, must].any(axis=1)

    def totals_of(points: FloatArray, total: FloatArray) -> _ExamineeTotals:
        failed = (ordinal_labels(points, matrix.max_score) == 0) & matrix.counted
        with np.errstate(invalid="ignore", divide="ignore"):
            earned = np.where(decided & (available > 0), total / available, np.nan)
        return _ExamineeTotals(earned, failed[:, must].any(axis=1))

    reference, predicted = totals(matrix)
    reference_totals, judge_totals = totals_of(matrix.reference, reference), totals_of(matrix.predicted, predicted)
    at_mark = _decisions_at(reference_totals, judge_totals, pass_mark)
    known = _known(reference_totals, judge_totals)
    stats = {"kappa": _decision_kappa(reference_totals, judge_totals, pass_mark)}
    human = None
    if labels.points:
        complete = (labels.rated == matrix.counted).all(axis=1)
        sums = (np.where(matrix.counted, points, 0).sum(axis=1) for points in labels.points)
        a, b = (totals_of(p, np.where(complete, s, np.nan)) for p, s in zip(labels.points, sums, strict=True))
        human = _decisions_at(a, b, pass_mark).consistency
        stats["human"] = _decision_kappa(a, b, pass_mark)
    estimates = estimate_stats(stats, len(matrix.video_ids), resamples, rng)
    return PassDecisions(
        pass_mark=pass_mark,
        must_pass=tuple(name for name, critical in zip(matrix.step_ids, must, strict=True) if critical),
        false_pass=at_mark.false_pass,
        false_fail=at_mark.false_fail,
        pass_rate_reference=share(reference_totals.passes(pass_mark), known),
        pass_rate_judge=share(judge_totals.passes(pass_mark), known),
        missed_must_pass=share(~labels.failed_predicted[:, must], labels.failed_reference[:, must]),
        consistency=at_mark.consistency,
        kappa=estimates["kappa"],
        human=human,
        human_kappa=estimates.get("human"),
        marks=tuple(_decisions_at(reference_totals, judge_totals, mark) for mark in MARKS),
    )


def _known(first: _ExamineeTotals, second: _ExamineeTotals) -> BoolArray:
    return ~np.isnan(first.share) & ~np.isnan(second.share)


def _decisions_at(reference_totals: _ExamineeTotals, judge_totals: _ExamineeTotals, mark: float) -> DecisionsAtMark:
    known = _known(reference_totals, judge_totals)
    really, judged = reference_totals.passes(mark), judge_totals.passes(mark)
    return DecisionsAtMark(
        mark, share(really == judged, known), share(judged, known & ~really), share(~judged, known & really)
    )


def _decision_kappa(first: _ExamineeTotals, second: _ExamineeTotals, mark: float) -> Stat:
    known = _known(first, second)[:, None]
    labels = [np.where(known, side.passes(mark)[:, None], -1).astype(np.int8) for side in (first, second)]
    return kappa_stat(labels[0], labels[1], needs="No video was decided by both.")

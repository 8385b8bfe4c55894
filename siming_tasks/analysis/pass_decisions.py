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
from siming_tasks.metrics.ratio_estimates import Labels, Stat, estimate_stats, kappa_stat
from siming_tasks.metrics.resample import Clusters
from siming_tasks.metrics.score_matrix import BoolArray, FloatArray, ScoreMatrix
from siming_tasks.rubrics import Rubric

PASS_MARK = 0.8
MARKS = (0.6, 0.7, 0.8, 0.9)


@dataclass(frozen=True)
class DecisionsAtMark:
    """Decisions under another pass mark: share of videos decided alike, false-pass and false-fail rate."""

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
        pass_rate_reference: share of examinees who pass by the reference; ``pass_rate_judge``: whom the judge passes.
        missed_must_pass: share of truly failed must-pass steps that the judge does not call failed.
        consistency: share of examinees decided alike by judge and reference; ``kappa``: of those decisions.
        human: share of examinees decided alike by the two physicians, if given; ``human_kappa``: of those decisions.
        marks: the same for other pass marks.
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
    caveat: str = field(
        default="The pass mark and the must-pass steps are the rubric author's or yours, not the paper's; the rates "
        "change with both. Rates among few failing examinees are uncertain: read their intervals. Videos with too few "
        "answered steps, or with an unanswered must-pass step, are left out.",
        init=False,
    )


@dataclass(frozen=True, eq=False)
class _Totals:
    """Totals of an examiner: share earned per video (NaN = not decided), and videos with a failed must-pass step."""

    share: FloatArray
    unsafe: BoolArray

    def passes(self, mark: float) -> BoolArray:
        """True where the share reaches the mark and no must-pass step was failed."""
        reached = self.share >= mark - 1e-9  # 1e-9: rounding of the share
        return np.where(np.isnan(self.share), False, reached) & ~self.unsafe


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
    must = _must_pass(matrix, rubric)
    true_total, judged_total = totals(matrix)
    decided = ~(matrix.counted & ~matrix.answered)[:, must].any(axis=1)
    true_total, judged_total = (np.where(decided, total, np.nan) for total in (true_total, judged_total))
    sides = reference, judge = (
        _totals_of(matrix, matrix.reference, true_total, must),
        _totals_of(matrix, matrix.predicted, judged_total, must),
    )
    of = matrix.cluster_numbers
    own, kappa = _decisions_at(pass_mark, *sides, of)
    stats, human = {"kappa": kappa}, None
    if labels.points:
        complete = (labels.rated == matrix.counted).all(axis=1)
        sums = (np.where(matrix.counted, points, 0).sum(axis=1) for points in labels.points)
        complete &= decided
        first, second = (
            _totals_of(matrix, points, np.where(complete, total, np.nan), must)
            for points, total in zip(labels.points, sums, strict=True)
        )
        decisions, stats["human"] = _decisions_at(pass_mark, first, second, of)
        human = decisions.consistency
    estimates = estimate_stats(stats, matrix.cluster_numbers, resamples, rng)
    known = ~np.isnan(reference.share) & ~np.isnan(judge.share)
    return PassDecisions(
        pass_mark=pass_mark,
        must_pass=tuple(name for name, critical in zip(matrix.step_ids, must, strict=True) if critical),
        false_pass=own.false_pass,
        false_fail=own.false_fail,
        pass_rate_reference=share(reference.passes(pass_mark), known, of),
        pass_rate_judge=share(judge.passes(pass_mark), known, of),
        missed_must_pass=share(labels.predicted[:, must] != 0, labels.reference[:, must] == 0, of),
        consistency=own.consistency,
        kappa=estimates["kappa"],
        human=human,
        human_kappa=estimates.get("human"),
        marks=tuple(_decisions_at(mark, *sides, of)[0] for mark in MARKS),
    )


def decide(matrix: ScoreMatrix, points: FloatArray, rubric: Rubric, pass_mark: float = PASS_MARK) -> Labels:
    """Decision on every exam by someone's points: 1 is pass, 0 fail, -1 none, ``int8[V]``.

    Points are ``float64[V, S]`` in the matrix's order, NaN where there are none. A must-pass step without points, or
    points for fewer than 80 % of the steps that count, leave an exam undecided.
    """
    scored = matrix.predicting(points)
    must = _must_pass(matrix, rubric)
    open_steps = (scored.counted & ~scored.answered)[:, must].any(axis=1)
    sheet = _totals_of(scored, scored.predicted, np.where(open_steps, np.nan, totals(scored)[1]), must)
    return np.where(np.isnan(sheet.share), -1, sheet.passes(pass_mark)).astype(np.int8)


def _must_pass(matrix: ScoreMatrix, rubric: Rubric) -> BoolArray:
    return np.array([rubric.by_id[name].critical for name in matrix.step_ids], dtype=bool)


def _totals_of(matrix: ScoreMatrix, points: FloatArray, total: FloatArray, must: BoolArray) -> _Totals:
    """An examiner's shares of the available points, and the videos with a failed must-pass step."""
    available = np.where(matrix.counted, matrix.max_score, 0).sum(axis=1)
    failed = (ordinal_labels(points, matrix.max_score) == 0) & matrix.counted
    with np.errstate(invalid="ignore", divide="ignore"):
        earned = np.where(available > 0, total / available, np.nan)
    return _Totals(earned, failed[:, must].any(axis=1))


def _decisions_at(mark: float, reference: _Totals, judge: _Totals, clusters: Clusters) -> tuple[DecisionsAtMark, Stat]:
    """Decisions of a judge beside those of the reference, and their kappa."""
    known = ~np.isnan(reference.share) & ~np.isnan(judge.share)
    really, judged = reference.passes(mark), judge.passes(mark)
    first, other = (np.where(known, side, -1).astype(np.int8)[:, None] for side in (really, judged))
    rates = (
        share(really == judged, known, clusters),
        share(judged, known & ~really, clusters),
        share(~judged, known & really, clusters),
    )
    return DecisionsAtMark(mark, *rates), kappa_stat(first, other, needs="No video was decided by both.")

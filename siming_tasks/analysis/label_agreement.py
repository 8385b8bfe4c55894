"""Agreement of labels: step by step, on agreed and disputed steps, and in severity, which no correlation can see.

Labels are those of the answer: 0..3 for points, 0 (wrong) and 1 (correct) for verdicts. With two labels the weights of
kappa do not matter, so one formula serves both.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from siming_tasks.analysis.totals_agreement import TotalsAgreement, totals_agreement
from siming_tasks.common.errors import DataError
from siming_tasks.metrics.correlation import totals
from siming_tasks.metrics.estimate import Estimate
from siming_tasks.metrics.intervals import Proportion, share
from siming_tasks.metrics.kappa import LabelMapping, confusion, ordinal_labels, qwk
from siming_tasks.metrics.ratio_estimates import Labels, Stat, estimate_stats, kappa_stat, ratio
from siming_tasks.metrics.score_matrix import BoolArray, FloatArray, ScoreMatrix
from siming_tasks.metrics.thresholds import THIN


@dataclass(frozen=True, eq=False)
class LabelMatrices:
    """Labels of the reference, the judge and (if given) the two physicians, ``int8[V, S]``; -1 is no label.

    Attributes:
        scores: points or verdicts that the labels are made of, videos sorted by id.
        reference: known for the same steps as ``predicted`` (see :attr:`known`).
        top_label: label of a fully correct step.
        points: points of the two physicians, ``float64[V, S]`` each.
        rated: steps that both physicians rated, ``bool[V, S]``.
        disputed: steps to which they gave different points.
    """

    scores: ScoreMatrix
    reference: Labels
    predicted: Labels
    top_label: int
    points: tuple[FloatArray, FloatArray] | None
    raters: tuple[Labels, Labels] | None
    rated: BoolArray
    disputed: BoolArray

    @property
    def known(self) -> BoolArray:
        """Steps that count: asked, with a reference, answered."""
        return np.greater_equal(self.reference, 0)


def label_matrices(
    matrix: ScoreMatrix,
    rater_a: FloatArray | None = None,
    rater_b: FloatArray | None = None,
    mapping: LabelMapping = "absolute",
) -> LabelMatrices:
    """Labels of a matrix and of its physicians' points (``float[V, S]`` in the matrix's order, NaN = not rated).

    Videos are sorted by id, so that no result depends on the order in which rows arrived.

    Raises:
        DataError: only one rater is given, or its shape is not the matrix's.
    """
    if (rater_a is None) != (rater_b is None):
        raise DataError("Diagnostics compare two physicians: give both raters or neither.")
    order = np.array(sorted(range(len(matrix.video_ids)), key=matrix.video_ids.__getitem__), dtype=np.intp)
    matrix = matrix.videos(order)
    known, is_score = matrix.counted & matrix.answered, matrix.answer == "score"

    def to_labels(values: FloatArray, keep: BoolArray) -> Labels:
        if is_score:
            return ordinal_labels(np.where(keep, values, np.nan), matrix.max_score, mapping)
        return np.where(keep, values >= matrix.max_score, -1).astype(np.int8)

    verdicts = np.where(known, matrix.predicted == 0, -1).astype(np.int8)
    points: tuple[FloatArray, FloatArray] | None = None
    raters: tuple[Labels, Labels] | None = None
    rated, disputed = np.zeros_like(known), np.zeros_like(known)
    if rater_a is not None and rater_b is not None:
        for rater in (rater_a, rater_b):
            if np.shape(rater) != matrix.reference.shape:
                raise DataError(f"A rater has shape {np.shape(rater)}, not {matrix.reference.shape} (videos, steps).")
        a, b = points = np.asarray(rater_a, np.float64)[order], np.asarray(rater_b, np.float64)[order]
        rated = matrix.counted & ~np.isnan(a) & ~np.isnan(b)
        disputed = rated & (a != b)
        raters = to_labels(a, rated), to_labels(b, rated)
    predicted = to_labels(matrix.predicted, known) if is_score else verdicts
    reference, top_label = to_labels(matrix.reference, known), 3 if is_score else 1
    return LabelMatrices(matrix, reference, predicted, top_label, points, raters, rated, disputed)


@dataclass(frozen=True)
class StepRow:
    """One rubric step.

    Attributes:
        imperfect: videos in which the reference has it less than fully correct; ``prevalence``: the share of them.
        thin: ``imperfect`` is below :data:`siming_tasks.metrics.thresholds.THIN`: read nothing into the row, whose
            kappa has no interval.
        kappa: of judge and reference, quadratic weights.
        sensitivity: share of the imperfect ones that the judge calls so; ``specificity``: of the correct ones.
        bias: mean of judge minus reference; points, or for verdicts the share called correct minus the share correct.
        human: kappa of the physicians on the same step, of all pairs of them, if their labels are given; without an
            interval where they took points off in fewer than THIN videos.
    """

    step_id: str
    skill: str
    imperfect: int
    thin: bool
    prevalence: Estimate
    kappa: Estimate
    sensitivity: Estimate
    specificity: Estimate
    bias: Estimate
    human: Estimate | None


@dataclass(frozen=True)
class StepTable:
    """All steps in rubric order, and what to bear in mind."""

    rows: tuple[StepRow, ...]
    caveat: str


def step_table(labels: LabelMatrices, resamples: int, rng: np.random.Generator) -> StepTable:
    """Agreement, errors and bias of every step."""
    matrix = labels.scores
    stats: dict[tuple[str, str], Stat] = {}
    for s, name in enumerate(matrix.step_ids):
        column = slice(s, s + 1)
        both = labels.known[:, column]
        wrong, called = both & matrix.reference_wrong[:, column], both & matrix.predicted_wrong[:, column]
        gap = wrong.astype(np.float64) - called
        if matrix.answer == "score":
            gap = np.where(both, matrix.predicted[:, column] - matrix.reference[:, column], 0.0)
        stats[name, "prevalence"] = ratio(wrong, both)
        stats[name, "kappa"] = kappa_stat(labels.reference[:, column], labels.predicted[:, column])
        stats[name, "sensitivity"] = ratio(wrong & called, wrong, "No video has this step wrong.")
        stats[name, "specificity"] = ratio(both & ~wrong & ~called, both & ~wrong, "No video has this step correct.")
        stats[name, "bias"] = ratio(gap, both)
        if labels.raters:
            a, b = labels.raters
            stats[name, "human"] = kappa_stat(a[:, column], b[:, column])
    estimates = estimate_stats(stats, matrix.cluster_numbers, resamples, rng)
    imperfect = (labels.known & matrix.reference_wrong).sum(axis=0)
    by_either = np.zeros_like(imperfect)
    if labels.raters:
        a, b = labels.raters
        by_either = (labels.rated & ((a < labels.top_label) | (b < labels.top_label))).sum(axis=0)
    for kind, counts in (("kappa", imperfect), ("human", by_either)):
        for name in np.array(matrix.step_ids)[counts < THIN].tolist():
            if (name, kind) in estimates:
                estimates[name, kind] = estimates[name, kind].of_thin_step()
    rows = tuple(
        StepRow(
            step_id=name,
            skill=skill,
            imperfect=number,
            thin=number < THIN,
            human=estimates.get((name, "human")),
            **{key: estimates[name, key] for key in ("prevalence", "kappa", "sensitivity", "specificity", "bias")},
        )
        for name, skill, number in zip(matrix.step_ids, matrix.skills, imperfect.tolist(), strict=True)
    )
    errors = [row.kappa.stderr for row in rows if row.kappa.stderr is not None and not row.thin]
    spread = f" (here {min(errors):.2f} to {max(errors):.2f} where not shaded)" if errors else ""
    caveat = (
        f"A step's kappa rests on few imperfect videos: at 200 videos its standard error is about .07 to .16{spread}. "
        f"Rows with fewer than {THIN} imperfect videos are shaded; read nothing into them. All rows are exploratory: "
        f"{len(rows)} intervals that nothing corrects for their number. The mean of these kappas is "
        "not the pooled kappa."
    )
    return StepTable(rows, caveat)


def with_every_pair(
    table: StepTable, pairs: Sequence[LabelMatrices], resamples: int, rng: np.random.Generator
) -> StepTable:
    """The table with the physicians' kappa over all their pairs: the confusion tables of the pairs, added up."""
    stats, thin = {}, []
    for s, row in enumerate(table.rows):
        counts, imperfect = np.zeros((len(pairs[0].scores.video_ids), 16)), np.zeros(len(pairs[0].scores.video_ids))
        for pair in pairs:
            if pair.raters:
                a, b = (side[:, s : s + 1] for side in pair.raters)
                counts += confusion(a, b)
                either = pair.rated[:, s] & ((a < pair.top_label) | (b < pair.top_label))[:, 0]
                imperfect = np.maximum(imperfect, either)
        stats[row.step_id] = Stat(counts, qwk, int(counts.sum()))
        thin += [row.step_id] if imperfect.sum() < THIN else []
    kappas = estimate_stats(stats, pairs[0].scores.cluster_numbers, resamples, rng)
    kappas |= {name: kappas[name].of_thin_step() for name in thin}
    return replace(table, rows=tuple(replace(row, human=kappas[row.step_id]) for row in table.rows))


@dataclass(frozen=True)
class DisputedSteps:
    """Accuracy (same label as the reference) where the physicians gave the same points, and where they did not.

    Attributes:
        agreed: accuracy on agreed steps.
        disputed: accuracy on disputed steps, whose reference is the adjudicated label.
        agreed_constant: accuracy of calling each agreed step fully correct; ``disputed_constant``: each disputed one.
        with_a: share of disputed steps with physician A's label; ``with_b``: with physician B's.
    """

    agreed: Proportion
    agreed_constant: Proportion
    disputed: Proportion
    disputed_constant: Proportion
    with_a: Proportion
    with_b: Proportion
    caveat: str = field(
        default="Intervals are Wilson's with the effective number of steps: those of one video, or student, are alike. "
        "Kappa is not given on the disputed steps: they were selected by disagreement, which distorts it. A constant "
        "stands beside each accuracy because the two sets differ in how many steps are correct.",
        init=False,
    )


def disputed_steps(labels: LabelMatrices) -> DisputedSteps | None:
    """The split, or None without two raters."""
    if labels.raters is None:
        return None
    rated = labels.rated & labels.known
    sure, unsure = rated & ~labels.disputed, rated & labels.disputed
    right, constant = labels.predicted == labels.reference, labels.reference == labels.top_label
    of, raters = labels.scores.cluster_numbers, labels.raters
    own = [share(hit, among, of) for among in (sure, unsure) for hit in (right, constant)]
    return DisputedSteps(*own, *(share(labels.predicted == side, unsure, of) for side in raters))


@dataclass(frozen=True)
class Severity:
    """Strictness of the judge.

    Attributes:
        totals: judge minus reference, points; None for verdicts.
        human: physician A minus physician B, if given and points were asked.
        called_wrong: share of steps that the judge calls less than fully correct; ``prevalence``: share that is.
        offset: ``called_wrong - prevalence``; above 0 is strict.
    """

    totals: TotalsAgreement | None
    human: TotalsAgreement | None
    called_wrong: Estimate
    prevalence: Estimate
    offset: Estimate
    caveat: str = field(
        default="PLCC and SRCC do not change when every total is shifted; an exam result does. The limits hold 95 % of "
        "videos if the differences are near normal and no larger for strong examinees than for weak ones.",
        init=False,
    )


def severity(labels: LabelMatrices, resamples: int, rng: np.random.Generator) -> Severity:
    """Offsets of a judge and, beside them, of the first physician from the second."""
    matrix = labels.scores
    wrong, called = labels.known & matrix.reference_wrong, labels.known & matrix.predicted_wrong
    stats: dict[str, Stat] = {
        "called_wrong": ratio(called, labels.known),
        "prevalence": ratio(wrong, labels.known),
        "offset": ratio(called.astype(np.float64) - wrong, labels.known),
    }
    totals_of: dict[str, TotalsAgreement] = {}
    if matrix.answer == "score":
        judge, reference = totals(matrix)[::-1]
        totals_of["totals"] = totals_agreement(judge, reference, matrix.clusters)
        if labels.points:
            complete = (labels.rated == matrix.counted).all(axis=1) & matrix.counted.any(axis=1)
            sums = (np.where(labels.rated, points, 0).sum(axis=1) for points in labels.points)
            first, second = (np.where(complete, side, np.nan) for side in sums)
            totals_of["human"] = totals_agreement(first, second, matrix.clusters)
    estimates = estimate_stats(stats, matrix.cluster_numbers, resamples, rng)
    return Severity(totals_of.get("totals"), totals_of.get("human"), **estimates)

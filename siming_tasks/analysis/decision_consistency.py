"""Consistency of a judge's pass decisions: with every physician's, and with its own on a parallel exam."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import combinations

import numpy as np

from siming_tasks.analysis.pass_decisions import decide
from siming_tasks.analysis.standard_setting import Classification, livingston_lewis
from siming_tasks.common.errors import DataError
from siming_tasks.metrics.correlation import shares
from siming_tasks.metrics.estimate import Estimate
from siming_tasks.metrics.intervals import Proportion, share
from siming_tasks.metrics.ratio_estimates import Labels, Stat, estimate_stats, kappa_stat
from siming_tasks.metrics.score_matrix import FloatArray, ScoreMatrix
from siming_tasks.rubrics import Rubric


@dataclass(frozen=True)
class DecisionAgreement:
    """Decisions of one examiner beside another's, intervals over clusters.

    Attributes:
        alike: share of exams decided alike.
        false_pass: share of those that the other fails and this one passes; ``false_fail``: the reverse.
        kappa: of the decisions.
    """

    alike: Proportion
    false_pass: Proportion
    false_fail: Proportion
    kappa: Estimate


@dataclass(frozen=True)
class DecisionConsistency:
    """Result of :func:`decision_consistency`.

    Attributes:
        physicians: by physician, the judge's decisions beside theirs.
        pairs: by pair of physicians (second against first), theirs beside each other's.
        judge_kappa: mean over the physicians; ``pair_kappa``: mean over the pairs; ``difference``: of both, paired.
        reliability: of the judge's totals from halves of the steps (odd and even in each exam's order), stepped up by
            Spearman and Brown; None where the halves do not correlate.
        classification: of the judge's decisions, by Livingston and Lewis (1995) from that reliability.
    """

    pass_mark: float
    physicians: Mapping[str, DecisionAgreement]
    pairs: Mapping[str, DecisionAgreement]
    judge_kappa: Estimate | None
    pair_kappa: Estimate | None
    difference: Estimate | None
    reliability: float | None
    classification: Classification | None
    caveat: str = field(
        default="The physicians' decisions are those of their own sheets, not of the consensus that they made. "
        "Consistency on a parallel exam takes the judge's halves as parallel and leaves must-pass steps out.",
        init=False,
    )


def decision_consistency(
    matrix: ScoreMatrix,
    rubric: Rubric,
    physicians: Mapping[str, FloatArray],
    pass_mark: float,
    resamples: int,
    seed: int | np.random.Generator,
) -> DecisionConsistency | None:
    """Decisions of the judge beside each physician's (points ``float64[V, S]`` by name); None for verdicts."""
    if matrix.answer != "score":
        return None
    own = decide(matrix, matrix.predicted, rubric, pass_mark)
    # a physician's exam counts only if every step of it was scored
    theirs = {}
    for name, points in physicians.items():
        decided = decide(matrix, np.where(matrix.counted, points, np.nan), rubric, pass_mark)
        theirs[name] = np.where((matrix.counted & np.isnan(points)).any(axis=1), -1, decided).astype(np.int8)
    sides = {name: (decided, own) for name, decided in theirs.items()}
    pairs = {f"{b} against {a}": (theirs[a], theirs[b]) for a, b in combinations(theirs, 2)}
    stats = {name: _kappa(*both) for name, both in (sides | pairs).items()}
    means = {"judge": [stats[name] for name in sides], "pair": [stats[name] for name in pairs]}
    stats |= {key: _weighted_sum([(each, 1 / len(group)) for each in group]) for key, group in means.items() if group}
    if means["pair"]:
        stats["difference"] = _weighted_sum([(stats["judge"], 1.0), (stats["pair"], -1.0)])
    found = estimate_stats(stats, matrix.cluster_numbers, resamples, seed) if stats else {}

    def agreement(name: str, first: Labels, second: Labels) -> DecisionAgreement:
        known = (first >= 0) & (second >= 0)
        alike, passed, failed = (
            share(hit, among, matrix.cluster_numbers)
            for hit, among in (
                (first == second, known),
                (second == 1, known & (first == 0)),
                (second == 0, known & (first == 1)),
            )
        )
        return DecisionAgreement(alike, passed, failed, found[name])

    reliability = split_half(matrix)
    return DecisionConsistency(
        pass_mark=pass_mark,
        physicians={name: agreement(name, *both) for name, both in sides.items()},
        pairs={name: agreement(name, *both) for name, both in pairs.items()},
        judge_kappa=found.get("judge"),
        pair_kappa=found.get("pair"),
        difference=found.get("difference"),
        reliability=reliability,
        classification=_classification(matrix, reliability, pass_mark),
    )


def split_half(matrix: ScoreMatrix) -> float | None:
    """Reliability of the judge's totals from two halves of the steps, stepped up by Spearman and Brown."""
    halves = [shares(matrix.subset(matrix.step_ids[start::2]))[1] for start in (0, 1)]
    known = ~np.isnan(halves[0]) & ~np.isnan(halves[1])
    first, second = (half[known] for half in halves)
    if len(first) < 3 or np.ptp(first) < 1e-9 or np.ptp(second) < 1e-9:
        return None
    r = float(np.corrcoef(first, second)[0, 1])
    return 2 * r / (1 + r) if r > 0 else None


def _classification(matrix: ScoreMatrix, reliability: float | None, pass_mark: float) -> Classification | None:
    if reliability is None or not pass_mark < 1:
        return None
    points = np.where(matrix.counted & matrix.answered, matrix.predicted, 0).sum(axis=1)
    available = np.where(matrix.counted & matrix.answered, matrix.max_score, 0).sum(axis=1)
    known = ~np.isnan(shares(matrix)[1])
    try:
        return livingston_lewis(points[known] / available[known], reliability, pass_mark)
    except DataError:  # too few totals, or all alike
        return None


def _kappa(first: Labels, second: Labels) -> Stat:
    known = (first >= 0) & (second >= 0)
    return kappa_stat(first[:, None], second[:, None], known[:, None], needs="No video was decided by both.")


def _weighted_sum(parts: list[tuple[Stat, float]]) -> Stat:
    """Sum of weighted statistics, undefined where one of them is."""
    ends = np.cumsum([stat.counts.shape[1] for stat, _ in parts])[:-1]

    def formula(sums: FloatArray) -> FloatArray:
        columns = np.split(sums, ends, axis=1)
        total: FloatArray = sum(
            (weight * stat.formula(part) for (stat, weight), part in zip(parts, columns, strict=True)),
            np.zeros(len(sums)),
        )
        return total

    counts = np.concatenate([stat.counts for stat, _ in parts], axis=1)
    return Stat(counts, formula, min(stat.items for stat, _ in parts), parts[0][0].needs)

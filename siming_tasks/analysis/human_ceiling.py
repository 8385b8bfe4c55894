"""Distance of a run from the physicians: human ratio, tested difference, non-inferiority to a physician."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from itertools import combinations

import numpy as np

from siming_tasks.analysis.paired_tests import Paired, jackknife_t
from siming_tasks.analysis.rater_agreement import rater_pair_matrix
from siming_tasks.common.errors import DataError
from siming_tasks.metrics.catalogue import select
from siming_tasks.metrics.classification import Positive
from siming_tasks.metrics.estimate import Estimate
from siming_tasks.metrics.evaluate import RESAMPLES
from siming_tasks.metrics.intervals import derived
from siming_tasks.metrics.kappa import LabelMapping
from siming_tasks.metrics.resample import sample, spreads
from siming_tasks.metrics.score_matrix import FloatArray, ScoreMatrix
from siming_tasks.metrics.sufficient_stats import Tally


def human_ratio(
    run: ScoreMatrix,
    *raters: ScoreMatrix,
    mapping: LabelMapping = "absolute",
    positive: Positive = "error",
    resamples: int = RESAMPLES,
    seed: int = 0,
) -> dict[str, Estimate]:
    """Mean of metric(run, rater) over the raters / mean of metric(rater, rater) over their pairs, bootstrapped jointly.

    1 is a run that agrees with a physician as well as another physician does. Comparing with the consensus instead
    would flatter the physicians, who made it. The run's own reference is ignored; ``raters`` have each rater's points
    as the reference of the run's videos and steps. What not all of them have scored is left out.

    Returns:
        By symmetric metric (which physician is called the reference must not matter); undefined where the raters do
        not agree beyond chance.

    Raises:
        DataError: fewer than two raters, panels that are not of the same videos and steps, or no step was scored by
            all raters.
    """
    judged, humans = _tallies(run, raters, mapping, positive)
    first = judged[0]

    def compute(weights: FloatArray) -> dict[str, FloatArray]:
        sides = [[tally.compute(weights) for tally in group] for group in (judged, humans)]
        ratios = {}
        for name in first.metrics:
            own, human = (sum((v[name] for v in side), np.zeros(len(weights))) / len(side) for side in sides)
            # Without agreement of the raters there is no ratio.
            ratios[name] = np.divide(own, human, out=np.full(len(human), np.nan), where=human > 0)
        return ratios

    values, drawn = sample(compute, first.clusters, resamples=resamples, seed=seed)
    spread = spreads(drawn, {name: first.size(name).clusters for name in drawn})
    why = dict.fromkeys(first.metrics, "The raters do not agree beyond chance, so there is no ceiling to compare with.")
    for tally in reversed(judged):
        why |= {name: tally.reason(name) for name in first.metrics if np.isnan(tally.observed[name])}
    return {name: derived(first, name, values[name], spread.get(name), why=why[name]) for name in first.metrics}


def human_difference(
    run: ScoreMatrix, *raters: ScoreMatrix, mapping: LabelMapping = "absolute", positive: Positive = "error"
) -> dict[str, Paired]:
    """Mean of metric(run, rater) over the raters - mean of metric(rater, rater) over their pairs, answers imputed.

    Below 0 the run agrees with a physician less than another physician does. Interval and p are the jackknife's t over
    videos, as those of every difference. Arguments, metrics and errors are those of :func:`human_ratio`; NaN where an
    agreement is undefined.
    """
    groups = _tallies(run.imputed(), raters, mapping, positive)
    differences = {}
    for name in groups[0][0].metrics:
        rests_on = reduce(np.union1d, [tally.contributing(name) for tally in (*groups[0], *groups[1])])
        value = [sum(tally.observed[name] for tally in group) / len(group) for group in groups]
        without = [np.mean([tally.left_out[name] for tally in group], axis=0) for group in groups]
        differences[name] = jackknife_t(value[0] - value[1], (without[0] - without[1])[rests_on])
    return differences


def _tallies(
    run: ScoreMatrix, raters: Sequence[ScoreMatrix], mapping: LabelMapping, positive: Positive
) -> tuple[list[Tally], list[Tally]]:
    """A run judged by each rater, and the raters by each other, on what all have scored, in symmetric metrics."""
    if len(raters) < 2:
        raise DataError(f"The human ratio needs the labels of two raters; {len(raters)} given.")
    nothing = np.full(raters[0].reference.shape, np.nan)
    labels = [replace(rater, answer=run.answer, predicted=nothing).sorted() for rater in raters]
    asked = np.logical_and.reduce([rater.counted for rater in labels])
    if not asked.any():
        who = "both" if len(raters) == 2 else f"all {len(raters)}"
        raise DataError(f"No step was scored by {who} raters: the human ratio cannot be computed.")
    run = run.sorted()
    if any((run.video_ids, run.step_ids) != (rater.video_ids, rater.step_ids) for rater in labels):
        raise DataError("The run and the raters' labels are not of the same videos and steps.")
    asked = run.asked & asked
    judged = [replace(run, asked=asked, reference=np.where(asked, rater.reference, np.nan)) for rater in labels]
    humans = [replace(rater_pair_matrix(a, b), asked=asked) for a, b in combinations(labels, 2)]
    metrics = select(run.answer, symmetric=True)
    of_run, of_humans = ([Tally.of(panel, mapping, positive, metrics) for panel in side] for side in (judged, humans))
    return of_run, of_humans


MARGIN = 0.1
"""Share of steps by which the judge may be the worse of the two and still count as not inferior."""

_FALSE_DISCOVERY_RATE = 0.05


@dataclass(frozen=True)
class ReplacedRater:
    """The judge in the place of one physician, against the others.

    Attributes:
        judge: mean over videos of the share of steps at which the judge is at least as near to the others.
        physician: the same of the physician who was left out.
        p_value: that the physician's share is not ``margin`` above the judge's; one-sided t test over videos.
        holds: rejected after Benjamini and Yekutieli's correction: the judge is not inferior here.
        videos: that it rests on.
    """

    judge: float
    physician: float
    p_value: float
    holds: bool
    videos: int


@dataclass(frozen=True)
class NonInferiority:
    """``win_rate``: share of physicians to whom the judge is not inferior; at least a half speaks for the judge."""

    margin: float
    win_rate: float
    physicians: Mapping[str, ReplacedRater]


def non_inferiority(judge: FloatArray, physicians: Mapping[str, FloatArray], margin: float = MARGIN) -> NonInferiority:
    """The alternative annotator test (Calderon, Reichart & Dror 2025).

    Each physician is left out in turn, and judge and physician are compared with the others. Labels are ``float64[V,
    S]``; NaN where a physician gave none. NaN of the judge at a step that two physicians have labelled is a missing
    answer, which is worse than any: leaving out hard steps gains nothing.

    Raises:
        DataError: fewer than two physicians, a margin outside 0..1, or fewer than two videos that two have scored.
    """
    if len(physicians) < 2:
        raise DataError(f"Non-inferiority to a physician needs two physicians' labels; {len(physicians)} given.")
    if not 0 <= margin < 1:
        raise DataError(f"the margin is {margin:g}; give a share of steps, at least 0 and below 1.")
    shares = {name: _shares_near_the_others(name, judge, physicians) for name in physicians}
    from scipy.stats import t  # not at import time: slow

    p_values = {}
    for name, (of_judge, of_physician) in shares.items():
        gap = of_physician - of_judge - margin
        n, mean, sd = len(gap), float(gap.mean()), float(gap.std(ddof=1))
        p_values[name] = float(t.cdf(mean / (sd / math.sqrt(n)), n - 1)) if sd > 1e-12 else float(mean >= -1e-12)
    names = sorted(p_values, key=p_values.__getitem__)
    allowed = _FALSE_DISCOVERY_RATE / (len(names) * sum(1 / rank for rank in range(1, len(names) + 1)))
    passed = [rank for rank, name in enumerate(names, 1) if p_values[name] <= rank * allowed]
    holds = {name: rank <= max(passed, default=0) for rank, name in enumerate(names, 1)}
    rows = {
        name: ReplacedRater(float(own.mean()), float(theirs.mean()), p_values[name], holds[name], len(own))
        for name, (own, theirs) in shares.items()
    }
    return NonInferiority(margin, sum(row.holds for row in rows.values()) / len(rows), rows)


def _shares_near_the_others(
    name: str, judge: FloatArray, physicians: Mapping[str, FloatArray]
) -> tuple[FloatArray, FloatArray]:
    """For each video, shares of steps at which the judge, and the physician, is at least as near to the others."""
    own = physicians[name]
    others = np.stack([labels for other, labels in physicians.items() if other != name])
    known = ~np.isnan(others)
    rated = ~np.isnan(own) & known.any(axis=0)
    n = rated.sum(axis=1)
    if (n > 0).sum() < 2:
        raise DataError(f"Fewer than two videos were scored by {name} and another physician.")

    def distance(labels: FloatArray) -> FloatArray:
        gaps = np.where(known, np.abs(labels[None] - np.where(known, others, 0)), 0)
        mean = gaps.sum(axis=0) / np.maximum(known.sum(axis=0), 1)
        rounded: FloatArray = np.where(np.isnan(labels), np.inf, mean).round(9)
        return rounded

    of_judge, of_physician = distance(judge), distance(own)
    wins = (of_judge <= of_physician, of_physician <= of_judge)
    first, second = (np.where(rated, win, 0).sum(axis=1)[n > 0] / n[n > 0] for win in wins)
    return first, second

"""Distance of a run from the physicians: human ratio and tested difference."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
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
    as the reference of the run's videos and steps. Each pair stands beside the run on the steps that both of it have
    scored, so that not every exam needs all physicians.

    Returns:
        By symmetric metric (which physician is called the reference must not matter); undefined where the raters do
        not agree beyond chance.

    Raises:
        DataError: fewer than two raters, panels that are not of the same videos and steps, or no step was scored by
            two of them.
    """
    judged, humans = agreement_tallies(run, raters, mapping, positive)
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
    clusters of videos, as those of every difference. Arguments, metrics and errors are those of :func:`human_ratio`;
    NaN where an agreement is undefined.
    """
    return mean_differences(*agreement_tallies(run.imputed(), raters, mapping, positive))


def rater_agreement(
    run: ScoreMatrix, *raters: ScoreMatrix, mapping: LabelMapping = "absolute", positive: Positive = "error"
) -> dict[str, tuple[Paired, tuple[float, ...]]]:
    """Agreement of a run with the raters: its mean over them, as in :func:`human_difference`, and with each of them.

    It stands on one scale with the agreement of the raters with each other; agreement with a consensus does not.
    Answers are imputed. Where not every exam has all raters there is the mean alone.
    """
    judged, _ = agreement_tallies(run.imputed(), raters, mapping, positive)
    each = judged if len(judged) == len(raters) else []
    return {
        name: (mean, tuple(float(tally.observed[name]) for tally in each))
        for name, mean in mean_differences(judged, []).items()
    }


def mean_differences(first: Sequence[Tally], other: Sequence[Tally]) -> dict[str, Paired]:
    """Mean of every metric over some tallies minus its mean over others (0 without any), by the jackknife."""
    differences = {}
    for name in first[0].metrics:
        rests_on = reduce(np.union1d, [tally.contributing(name) for tally in (*first, *other)])
        sides = [group for group in (first, other) if group]
        value = [sum(tally.observed[name] for tally in group) / len(group) for group in sides] + [0.0]
        without = [np.mean([tally.left_out[name] for tally in group], axis=0) for group in sides]
        without.append(np.zeros_like(without[0]))
        differences[name] = jackknife_t(value[0] - value[1], (without[0] - without[1])[rests_on], first[0].fewest)
    return differences


def agreement_tallies(
    run: ScoreMatrix, raters: Sequence[ScoreMatrix], mapping: LabelMapping, positive: Positive
) -> tuple[list[Tally], list[Tally]]:
    """Tallies of a run by each rater, and of the raters by each other, on what two have scored; symmetric metrics."""
    if len(raters) < 2:
        raise DataError(f"The human ratio needs the labels of two raters; {len(raters)} given.")
    nothing = np.full(raters[0].reference.shape, np.nan)
    labels = [replace(rater, answer=run.answer, predicted=nothing).sorted() for rater in raters]
    run = run.sorted()
    if any((run.video_ids, run.step_ids) != (rater.video_ids, rater.step_ids) for rater in labels):
        raise DataError("The run and the raters' labels are not of the same videos and steps.")
    pairs = [(a, b, run.asked & a.counted & b.counted) for a, b in combinations(labels, 2)]
    pairs = [pair for pair in pairs if pair[2].any()]
    if not pairs:
        who = "both raters" if len(raters) == 2 else f"two of the {len(raters)} raters"
        raise DataError(f"No step was scored by {who}: the human ratio cannot be computed.")
    # Each pair beside the run on the steps that the pair has scored; where these are the same, each rater once.
    alike = len(pairs) == len(labels) * (len(labels) - 1) // 2 and all((on == pairs[0][2]).all() for *_, on in pairs)
    of_run = [(a, pairs[0][2]) for a in labels] if alike else [(a, on) for *both, on in pairs for a in both]
    judged = [replace(run, asked=on, reference=np.where(on, rater.reference, np.nan)) for rater, on in of_run]
    humans = [replace(rater_pair_matrix(a, b), asked=on) for a, b, on in pairs]
    metrics = select(run.answer, symmetric=True)
    first, other = ([Tally.of(panel, mapping, positive, metrics) for panel in side] for side in (judged, humans))
    return first, other

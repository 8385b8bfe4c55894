"""Distance of a run from the human ceiling: as a ratio, and as a difference that is tested."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import reduce
from itertools import combinations

import numpy as np

from siming_tasks.analysis.comparison.paired_tests import Paired, jackknife_t
from siming_tasks.analysis.inter_rater.rater_agreement import rater_pair_matrix
from siming_tasks.common.errors import DataError
from siming_tasks.metrics.agreement.classification import Positive
from siming_tasks.metrics.agreement.labels import LabelMapping
from siming_tasks.metrics.catalogue import select
from siming_tasks.metrics.estimate import Estimate
from siming_tasks.metrics.evaluate import RESAMPLES
from siming_tasks.metrics.intervals import derived
from siming_tasks.metrics.resample import sample, spreads
from siming_tasks.metrics.score_matrix import FloatArray, ScoreMatrix
from siming_tasks.metrics.sufficient_stats import Tally

__all__ = ["human_difference", "human_ratio"]


def human_ratio(
    run: ScoreMatrix,
    *raters: ScoreMatrix,
    mapping: LabelMapping = "absolute",
    positive: Positive = "error",
    resamples: int = RESAMPLES,
    seed: int = 0,
) -> dict[str, Estimate]:
    """Mean of metric(run, rater) over the raters / mean of metric(rater, rater) over their pairs, bootstrapped jointly.

    With two raters: ``mean(metric(run, A), metric(run, B)) / metric(A, B)``.

    1 is a run that agrees with a physician as well as another physician does. Comparing with the consensus instead
    would flatter the physicians, who made it.

    Args:
        run: the run; its own reference is ignored.
        raters: each rater's points as the reference of the run's videos and steps; at least two. What not all of them
            have scored is left out.
        mapping: how points become labels for kappa.
        positive: the class of F1.
        resamples: bootstrap resamples.
        seed: of them.

    Returns:
        By symmetric metric (which physician is called the reference must not matter);
            undefined where the raters do not agree beyond chance.

    Raises:
        DataError: fewer than two raters, panels that are not of the same videos and steps, or no step was scored by
            all raters.
    """
    run, judged, humans = _sides(run, raters)
    metrics = select(run.answer, symmetric=True)
    pairs, own = ([Tally.of(panel, mapping, positive, metrics) for panel in group] for group in (humans, judged))

    def compute(weights: FloatArray) -> dict[str, FloatArray]:
        run_values, human_values = ([tally.compute(weights) for tally in group] for group in (own, pairs))
        return {
            name: _ratio([estimates[name] for estimates in run_values], [estimates[name] for estimates in human_values])
            for name in metrics
        }

    values, drawn = sample(compute, len(run.video_ids), resamples=resamples, seed=seed)
    spread = spreads(drawn, {name: own[0].size(name)[0] for name in drawn})
    once = np.ones((1, len(run.video_ids)))
    alone = [side.compute(once) for side in own]

    def why(name: str) -> str:
        undefined = (side for side, estimates in zip(own, alone, strict=True) if np.isnan(estimates[name][0]))
        silent = next(undefined, None)
        return (
            silent.reason(name)
            if silent
            else "The raters do not agree beyond chance, so there is no ceiling to compare with."
        )

    return {name: derived(own[0], name, values[name], spread.get(name), why=why(name)) for name in metrics}


def human_difference(
    run: ScoreMatrix, *raters: ScoreMatrix, mapping: LabelMapping = "absolute", positive: Positive = "error"
) -> dict[str, Paired]:
    """Mean of metric(run, rater) over the raters - mean of metric(rater, rater) over their pairs, answers imputed.

    Below 0 the run agrees with a physician less than another physician does. Interval and p are the jackknife's t over
    videos, as those of every difference.

    Args:
        run: the run; its own reference is ignored.
        raters: as in :func:`human_ratio`.
        mapping: how points become labels for kappa.
        positive: the class of F1.

    Returns:
        By symmetric metric; NaN where an agreement is undefined.

    Raises:
        DataError: as :func:`human_ratio`.
    """
    run, judged, humans = _sides(run.imputed(), raters)
    metrics = select(run.answer, symmetric=True)
    groups = [[Tally.of(panel, mapping, positive, metrics) for panel in group] for group in (judged, humans)]
    differences = {}
    for name in metrics:
        rests_on = reduce(np.union1d, [tally.contributing(name) for tally in (*groups[0], *groups[1])])
        value = [sum(tally.observed[name] for tally in group) / len(group) for group in groups]
        without = [np.mean([tally.left_out[name] for tally in group], axis=0) for group in groups]
        differences[name] = jackknife_t(value[0] - value[1], (without[0] - without[1])[rests_on])
    return differences


def _sides(run: ScoreMatrix, raters: Sequence[ScoreMatrix]) -> tuple[ScoreMatrix, list[ScoreMatrix], list[ScoreMatrix]]:
    """A run, itself judged by each rater, and the raters judged by each other, all on what every rater has scored.

    Raises:
        DataError: fewer than two raters, panels that are not of the same videos and steps, or no step was scored by
            all raters.
    """
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
    humans = [replace(rater_pair_matrix(a, b), asked=asked) for a, b in combinations(labels, 2)]
    judged = [replace(run, asked=asked, reference=np.where(asked, rater.reference, np.nan)) for rater in labels]
    return run, judged, humans


def _ratio(run: Sequence[FloatArray], humans: Sequence[FloatArray]) -> FloatArray:
    """Undefined where an agreement is; without agreement of the raters there is no ratio."""
    mean, human = (sum(side, np.zeros(len(side[0]))) / len(side) for side in (run, humans))
    ratio: FloatArray = np.divide(mean, human, out=np.full(len(human), np.nan), where=human > 0)
    return ratio

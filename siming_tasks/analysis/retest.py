"""Test and retest: agreement of a model with itself over the same exams, beside its agreement with physicians.

A judge cannot agree with physicians better than its own noise allows, and one that agrees with itself perfectly may be
perfectly wrong: the two numbers are read together.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from siming_tasks.analysis.rater_agreement import rater_pair_matrix
from siming_tasks.common.errors import DataError
from siming_tasks.metrics.catalogue import select
from siming_tasks.metrics.classification import Positive
from siming_tasks.metrics.estimate import Estimate
from siming_tasks.metrics.evaluate import RESAMPLES, estimates
from siming_tasks.metrics.kappa import LabelMapping
from siming_tasks.metrics.score_matrix import ScoreMatrix
from siming_tasks.metrics.sufficient_stats import Tally


@dataclass(frozen=True)
class Retest:
    """Agreement on the steps that both runs answered.

    Attributes:
        steps: that both runs answered; ``same``: share of them with the same answer.
        itself: by metric, the second run against the first.
        reference: the first run against the reference, on the same steps.
        physicians: by metric, mean agreement of the physicians' pairs; empty without two.
    """

    steps: int
    same: float
    itself: dict[str, Estimate]
    reference: dict[str, Estimate]
    physicians: dict[str, float] = field(default_factory=dict)
    caveat: str = field(
        default="Answers at temperature 0, from a cache, or of one seed agree with themselves by construction: such "
        "agreement is no evidence of being right. It bounds how well the judge can agree with anyone.",
        init=False,
    )


def retest(
    first: ScoreMatrix,
    again: ScoreMatrix,
    raters: Sequence[ScoreMatrix] = (),
    *,
    mapping: LabelMapping = "absolute",
    positive: Positive = "error",
    resamples: int = RESAMPLES,
    seed: int = 0,
) -> Retest:
    """Compare two runs of one model in every symmetric metric.

    Raises:
        DataError: the runs are of different kinds of answers, or answered no step in common.
    """
    if first.answer != again.answer:
        raise DataError("The runs give different kinds of answers: points and verdicts.")
    first, again = first.sorted(), again.sorted()
    common = sorted(set(first.video_ids) & set(again.video_ids))
    first, again = (m.videos([m.video_ids.index(name) for name in common]) for m in (first, again))
    both = first.answered & again.answered
    if first.step_ids != again.step_ids or not both.any():
        raise DataError("The two runs answered no step in common: there is nothing to compare.")
    steps = replace(first, asked=both)
    points = steps.predicted if first.answer == "score" else np.where(steps.predicted_wrong, 0.0, steps.max_score)
    own = replace(steps, reference=np.where(both, points, np.nan), predicted=np.where(both, again.predicted, np.nan))
    metrics = select(first.answer, symmetric=True)
    tallies = {name: Tally.of(m, mapping, positive, metrics) for name, m in (("itself", own), ("reference", steps))}
    found = estimates(tallies, resamples=resamples, seed=seed)
    humans = _physicians(raters, mapping, positive, metrics)
    same = float((first.predicted == again.predicted)[both].mean())
    return Retest(int(both.sum()), same, dict(found["itself"]), dict(found["reference"]), humans)


def _physicians(
    raters: Sequence[ScoreMatrix], mapping: LabelMapping, positive: Positive, metrics: Sequence[str]
) -> dict[str, float]:
    """Mean agreement of the pairs of physicians who scored a step in common."""
    pairs = [rater_pair_matrix(a, b) for i, a in enumerate(raters) for b in raters[i + 1 :]]
    tallies = [Tally.of(pair, mapping, positive, metrics) for pair in pairs if pair.asked.any()]
    if not tallies:
        return {}
    return {name: float(np.mean([tally.observed[name] for tally in tallies])) for name in metrics
            if not any(np.isnan(tally.observed[name]) for tally in tallies)}  # fmt: skip

"""Contribution of the video to the agreement: its parts, the no-video baselines, the lift over the best of them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from siming_tasks.analysis.controls.agreement_decomposition import (
    PARTS,
    AgreementDecomposition,
    ExcessCorrelation,
    ShuffledAnswers,
    shuffle_p,
)
from siming_tasks.metrics.agreement.classification import Positive
from siming_tasks.metrics.agreement.labels import LabelMapping
from siming_tasks.metrics.catalogue import CATALOGUE, select
from siming_tasks.metrics.estimate import Estimate, plain
from siming_tasks.metrics.evaluate import RESAMPLES, draw, estimates, summaries
from siming_tasks.metrics.intervals import derived, summarise
from siming_tasks.metrics.no_video_baselines import JUDGES
from siming_tasks.metrics.resample import sample, spreads
from siming_tasks.metrics.score_matrix import FloatArray, ScoreMatrix
from siming_tasks.metrics.sufficient_stats import Tally

__all__ = [
    "NO_VIDEO_BASELINES",
    "Lift",
    "VideoContribution",
    "no_video_estimates",
    "no_video_matrices",
    "video_contribution",
]

NO_VIDEO_BASELINES: Mapping[str, str] = {
    **{name: judge.what for name, judge in JUDGES.items()},
    "shuffled-self": "the run's own answers, given to other videos (expectation over all exchanges)",
}
"""No-video baselines by name, each with a description."""

STEP_PRIOR = "step-prior"

_NO_TOTALS = "The step prior gives every video the same total; what differs is only that the video itself was left out."


@dataclass(frozen=True)
class Lift:
    """A metric minus that of the best no-video baseline, paired; choosing the best one makes the lift err downwards."""

    over: str
    estimate: Estimate


@dataclass(frozen=True)
class VideoContribution:
    """Result of :func:`video_contribution`.

    Attributes:
        metric: key of the metric that is decomposed.
        parts: ``prior``, ``video``, ``local`` and ``total`` of ``metric``.
        shuffle_p: p-values of "the predictions fit another video as well".
        rows: metrics of the run (``run``) and of every no-video baseline.
        lift: by metric.
        excess_correlation: ``plcc``, ``implied`` and ``excess``
            (:class:`siming_tasks.analysis.controls.agreement_decomposition.ExcessCorrelation`); empty for verdicts.
        options: options that it was computed with.
    """

    metric: str
    parts: Mapping[str, Estimate]
    shuffle_p: Mapping[str, float | None]
    rows: Mapping[str, Mapping[str, Estimate]]
    lift: Mapping[str, Lift]
    excess_correlation: Mapping[str, Estimate]
    options: Mapping[str, Any] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        """Plain JSON types; no NaN."""
        lift = {name: {"over": item.over, **item.estimate.to_json()} for name, item in self.lift.items()}
        return {name: lift if name == "lift" else plain(value) for name, value in vars(self).items()}


def no_video_matrices(matrix: ScoreMatrix, *, where_answered: bool = False) -> dict[str, ScoreMatrix]:
    """Answers of each no-video baseline to the same questions; ``where_answered``: only where the run has an answer."""
    answers = {name: judge(matrix) for name, (judge, _) in JUDGES.items()}
    if not where_answered:
        return answers
    return {
        name: baseline.predicting(np.where(matrix.answered, baseline.predicted, np.nan))
        for name, baseline in answers.items()
    }


def no_video_estimates(
    matrices: Mapping[str, ScoreMatrix],
    *,
    mapping: LabelMapping = "absolute",
    positive: Positive = "error",
    resamples: int = RESAMPLES,
    seed: int = 0,
) -> dict[str, dict[str, Estimate]]:
    """Every metric of the no-video baselines, from one set of resamples; 1 or 0 resamples give no intervals."""
    tallies = {name: Tally.of(matrix.sorted(), mapping, positive) for name, matrix in matrices.items()}
    rows = estimates(tallies, resamples=resamples, seed=seed)
    return {name: _without_totals(row) if name == STEP_PRIOR else row for name, row in rows.items()}


def _without_totals(row: Mapping[str, Estimate]) -> dict[str, Estimate]:
    """Row of the step prior with the correlations of its totals undefined: by its nature its totals are constant."""
    undefined = {
        name: Estimate(
            0.0,
            n_videos=item.n_videos,
            n_items=item.n_items,
            undefined=True,
            reason=_NO_TOTALS,
            coverage=item.coverage,
        )
        for name, item in row.items()
        if name in select(family="totals") and item.value is not None
    }
    return {name: undefined.get(name, item) for name, item in row.items()}


def video_contribution(
    matrix: ScoreMatrix,
    *,
    mapping: LabelMapping = "absolute",
    positive: Positive = "error",
    resamples: int = RESAMPLES,
    permutations: int = 1999,
    seed: int = 0,
    known: Mapping[str, Estimate] | None = None,
    no_video: Mapping[str, Mapping[str, Estimate]] | None = None,
) -> VideoContribution:
    """Decomposition, shuffle test, no-video baselines and lift of one run; the unit of resampling is the video.

    Args:
        matrix: answers of the run and their reference.
        mapping: how points become labels for kappa.
        positive: the class of precision, recall and F1.
        resamples: bootstrap resamples, shared by everything here.
        permutations: exchanges of whole videos for the shuffle p-values.
        seed: of both.
        known: the run's own metrics if they were computed already, perhaps with more resamples: they stand as they are.
        no_video: the same of the no-video baselines on the steps that the run answered (:func:`no_video_estimates`).
    """
    matrix = matrix.sorted()
    n = len(matrix.video_ids)
    run = Tally.of(matrix, mapping, positive)
    baselines = no_video_matrices(matrix, where_answered=True)
    tallies = {"run": run, **{name: Tally.of(answers, mapping, positive) for name, answers in baselines.items()}}
    values, drawn, errors = draw(tallies, n, resamples=resamples, seed=seed)
    rows = summaries(tallies, values, drawn, errors)

    decomposition = AgreementDecomposition(matrix, mapping)
    metric = decomposition.metric
    computed: dict[str, ShuffledAnswers | AgreementDecomposition | ExcessCorrelation] = {
        "shuffled-self": ShuffledAnswers(run),
        "parts": decomposition,
    }
    if matrix.answer == "score":
        computed["excess"] = ExcessCorrelation(matrix)

    def compute(weights: FloatArray) -> dict[tuple[str, str], FloatArray]:
        return {(part, name): v for part, item in computed.items() for name, v in item.compute(weights).items()}

    # The same seed gives the same resamples, so that lifts are paired.
    derived_values, derived_drawn = sample(compute, n, resamples=resamples, seed=seed)
    base_metric = {"parts": metric, "excess": "plcc"}  # the metric whose videos and reasons a part shares
    spread = spreads(derived_drawn, {key: run.size(base_metric.get(key[0], key[1]))[0] for key in derived_drawn})
    rows |= {name: dict(row) for name, row in (no_video or {}).items()}
    rows["shuffled-self"] = {
        name: summarise(run, name, derived_values["shuffled-self", name], spread.get(("shuffled-self", name)))
        for name in run.metrics
    }
    rows["run"] = dict(known or rows["run"])
    rows[STEP_PRIOR] = _without_totals(rows[STEP_PRIOR])
    values, drawn = values | derived_values, drawn | derived_drawn
    values |= {(STEP_PRIOR, name): math.nan for name in select(matrix.answer, family="totals")}
    lifted = select(matrix.answer, lifted=True) if run.size(metric)[1] else ()

    def estimate(part: str, name: str) -> Estimate:
        base = base_metric[part]
        why = rows["run"][base].reason or "The reference or the prediction has no spread: 0/0."
        return derived(run, base, values[part, name], spread.get((part, name)), why=why)

    excess = {}
    if "excess" in computed:
        excess = {"plcc": rows["run"]["plcc"], **{name: estimate("excess", name) for name in ("implied", "excess")}}
    return VideoContribution(
        metric=metric,
        parts={**{name: estimate("parts", name) for name in PARTS}, "total": rows["run"][metric]},
        shuffle_p=shuffle_p(matrix, mapping=mapping, permutations=permutations, seed=seed),
        rows=rows,
        lift={name: _lift(name, run, rows, values, drawn) for name in lifted},
        excess_correlation=excess,
        options={
            "mapping": mapping,
            "positive": positive,
            "resamples": resamples,
            "permutations": permutations,
            "seed": seed,
        },
    )


def _lift(
    metric: str,
    run: Tally,
    rows: Mapping[str, Mapping[str, Estimate]],
    values: Mapping[tuple[str, str], float],
    drawn: Mapping[tuple[str, str], FloatArray],
) -> Lift:
    """Lift over the best baseline; undefined rows are no rivals, and an undefined metric has no lift."""
    sign = CATALOGUE[metric].sign
    rivals = {row: sign * values[row, metric] for row in NO_VIDEO_BASELINES if not np.isnan(values[row, metric])}
    over = max(rivals, key=rivals.__getitem__, default=next(iter(NO_VIDEO_BASELINES)))
    gains = {metric: drawn["run", metric] - drawn[over, metric]} if drawn else {}
    value = values["run", metric] - values[over, metric]
    spread = spreads(gains, run.size(metric)[0]).get(metric)
    why = rows["run"][metric].reason or "No no-video baseline has a value here."
    return Lift(over, derived(run, metric, value, spread, why=why))

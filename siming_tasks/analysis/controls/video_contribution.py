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
from siming_tasks.metrics import no_video_baselines as baselines
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
    "PRIOR",
    "Lift",
    "VideoContribution",
    "contribution",
    "no_video_estimates",
    "no_video_matrices",
    "without_totals",
]

NO_VIDEO_BASELINES: Mapping[str, str] = {
    **{name: judge.what for name, judge in baselines.JUDGES.items()},
    "shuffled-self": "the run's own answers, given to other videos (expectation over all exchanges)",
}
"""The no-video baselines and what each of them does."""


@dataclass(frozen=True)
class Lift:
    """A metric minus that of the best no-video baseline, paired; choosing the best row makes the lift err downwards."""

    over: str
    estimate: Estimate


@dataclass(frozen=True)
class VideoContribution:
    """What :func:`contribution` found.

    Attributes:
        parts: ``prior``, ``video``, ``local`` and ``total`` of ``metric``.
        metric: what is split.
        shuffle_p: p-values of "the predictions fit another video as well".
        rows: metrics of the run (``run``) and of every no-video baseline.
        lift: by metric.
        mismatch: ``plcc``, ``implied`` and ``excess``; empty for verdicts.
    """

    metric: str
    parts: Mapping[str, Estimate]
    shuffle_p: Mapping[str, float | None]
    rows: Mapping[str, Mapping[str, Estimate]]
    lift: Mapping[str, Lift]
    mismatch: Mapping[str, Estimate]
    options: Mapping[str, Any] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        """Plain JSON types; no NaN."""
        lift = {name: {"over": item.over, **item.estimate.to_json()} for name, item in self.lift.items()}
        return {
            "metric": self.metric,
            "parts": plain(self.parts),
            "shuffle_p": dict(self.shuffle_p),
            "rows": plain(self.rows),
            "lift": lift,
            "mismatch": plain(self.mismatch),
            "options": plain(self.options),
        }


def contribution(
    panel: ScoreMatrix,
    *,
    mapping: LabelMapping = "absolute",
    positive: Positive = "error",
    resamples: int = RESAMPLES,
    permutations: int = 1999,
    seed: int = 0,
    known: Mapping[str, Estimate] | None = None,
    no_video: Mapping[str, Mapping[str, Estimate]] | None = None,
) -> VideoContribution:
    """Split, shuffle test, no-video baselines and lift of one panel; the unit of resampling is the video.

    Args:
        panel: what to look at.
        mapping: how points become labels for kappa.
        positive: the class of precision, recall and F1.
        resamples: bootstrap resamples, shared by everything here.
        permutations: exchanges of whole videos for the shuffle p-values.
        seed: of both.
        known: the run's own metrics if they were computed already, perhaps with more resamples: they stand as they are.
        no_video: the same of the no-video baselines on the steps that the run answered
            (:func:`siming_tasks.analysis.controls.video_contribution.no_video_estimates`).
    """
    panel = panel.sorted()
    run = Tally.of(panel, mapping, positive)
    blinds = no_video_matrices(panel, where_answered=True)
    split, correlations = AgreementDecomposition(panel, mapping), select(panel.answer, family="totals")
    tallies = {"run": run, **{name: Tally.of(one, mapping, positive) for name, one in blinds.items()}}
    n = len(panel.video_ids)
    parts: dict[str, ShuffledAnswers | AgreementDecomposition | ExcessCorrelation] = {
        "shuffled-self": ShuffledAnswers(run),
        "split": split,
    }
    if panel.answer == "score":
        parts["mismatch"] = ExcessCorrelation(panel)

    def compute(weights: FloatArray) -> dict[tuple[str, str], FloatArray]:
        return {(part, name): v for part, item in parts.items() for name, v in item.compute(weights).items()}

    values, drawn, errors = draw(tallies, n, resamples=resamples, seed=seed)
    judged = summaries(tallies, values, drawn, errors)
    others, replicates = sample(compute, n, resamples=resamples, seed=seed)  # the same resamples: the seed is
    values, drawn = values | others, drawn | replicates
    rests_on = {"split": split.metric, "mismatch": "plcc"}
    spread = spreads(replicates, {at: run.size(rests_on.get(at[0], at[1]))[0] for at in replicates})
    shuffled = {name: summarise(run, name, others["shuffled-self", name], spread.get(("shuffled-self", name)))
                for name in run.metrics}  # fmt: skip
    rows = {**judged, **{name: dict(row) for name, row in (no_video or {}).items()}, "shuffled-self": shuffled}
    rows["run"] = dict(known or rows["run"])
    rows[PRIOR] = without_totals(rows[PRIOR])
    values |= {(PRIOR, name): math.nan for name in correlations}
    metric = split.metric
    lifted = select(panel.answer, lifted=True) if run.size(metric)[1] else ()

    def of(part: str, name: str) -> Estimate:
        rests = rests_on[part]
        why = rows["run"][rests].reason or "The reference or the prediction has no spread: 0/0."
        return derived(run, rests, values[part, name], spread.get((part, name)), why=why)

    return VideoContribution(
        metric=metric,
        parts={**{name: of("split", name) for name in PARTS}, "total": rows["run"][metric]},
        shuffle_p=shuffle_p(panel, mapping=mapping, permutations=permutations, seed=seed),
        rows=rows,
        lift={name: _lift(name, run, rows, values, drawn) for name in lifted},
        mismatch={"plcc": rows["run"]["plcc"], **{name: of("mismatch", name) for name in ("implied", "excess")}}
        if "mismatch" in parts
        else {},
        options={
            "mapping": mapping,
            "positive": positive,
            "resamples": resamples,
            "permutations": permutations,
            "seed": seed,
        },
    )


def _lift(
    name: str,
    run: Tally,
    rows: Mapping[str, Mapping[str, Estimate]],
    values: Mapping[tuple[str, str], float],
    drawn: Mapping[tuple[str, str], FloatArray],
) -> Lift:
    """Undefined rows are no rivals; an undefined metric has no lift."""
    sign = CATALOGUE[name].sign
    rivals = {row: sign * values[row, name] for row in NO_VIDEO_BASELINES if not np.isnan(values[row, name])}
    over = max(rivals, key=rivals.__getitem__, default=next(iter(NO_VIDEO_BASELINES)))
    gains = {name: drawn["run", name] - drawn[over, name]} if drawn else {}
    spread = spreads(gains, run.size(name)[0]).get(name)
    return Lift(over, derived(run, name, values["run", name] - values[over, name], spread,
                              why=rows["run"][name].reason or "No no-video baseline has a value here."))  # fmt: skip


PRIOR = "step-prior"

_NO_TOTALS = "The step prior gives every video the same total; what differs is only that the video itself was left out."


def no_video_matrices(panel: ScoreMatrix, *, where_answered: bool = False) -> dict[str, ScoreMatrix]:
    """The answers of each no-video baseline to the same questions; ``where_answered``: only where the judge has one."""
    found = {name: judge(panel) for name, (judge, _) in JUDGES.items()}
    if not where_answered:
        return found
    return {name: one.predicting(np.where(panel.answered, one.predicted, np.nan)) for name, one in found.items()}


def no_video_estimates(
    panels: Mapping[str, ScoreMatrix],
    *,
    mapping: LabelMapping = "absolute",
    positive: Positive = "error",
    resamples: int = RESAMPLES,
    seed: int = 0,
) -> dict[str, dict[str, Estimate]]:
    """Every metric of the no-video baselines, from one set of resamples; 1 or 0 resamples give no intervals."""
    tallies = {name: Tally.of(panel.sorted(), mapping, positive) for name, panel in panels.items()}
    found = estimates(tallies, resamples=resamples, seed=seed)
    return {name: without_totals(row) if name == PRIOR else row for name, row in found.items()}


def without_totals(row: Mapping[str, Estimate]) -> dict[str, Estimate]:
    """The step prior's row with the correlations of its totals undefined, as they are by what it is."""
    return {
        name: Estimate(0.0, n_videos=item.n_videos, n_items=item.n_items, undefined=True, reason=_NO_TOTALS,
                       coverage=item.coverage)
        if name in select(family="totals") and item.value is not None
        else item
        for name, item in row.items()
    }  # fmt: skip

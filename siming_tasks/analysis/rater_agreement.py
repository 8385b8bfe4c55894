"""Agreement of the physicians with each other, pair by pair: the human ceiling."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations
from typing import Any

import numpy as np

from siming_tasks.common.errors import DataError
from siming_tasks.common.schema import CONSENSUS, UnitChoice
from siming_tasks.data import Dataset
from siming_tasks.metrics.catalogue import select
from siming_tasks.metrics.estimate import Estimate, plain
from siming_tasks.metrics.evaluate import RESAMPLES, Evaluation, estimates, evaluate
from siming_tasks.metrics.intervals import derived
from siming_tasks.metrics.kappa import LabelMapping
from siming_tasks.metrics.ratio_estimates import Stat, estimate_stats, ratio
from siming_tasks.metrics.resample import sample, spreads
from siming_tasks.metrics.score_matrix import BoolArray, FloatArray, ScoreMatrix
from siming_tasks.metrics.sufficient_stats import Tally
from siming_tasks.metrics.thresholds import THIN
from siming_tasks.options import Options
from siming_tasks.results.evaluate_records import build_reference_matrix
from siming_tasks.tasks import benchmark_task


@dataclass(frozen=True)
class RaterStep:
    """Two raters on one step; ``imperfect``: videos to which either gave less than full points.

    Kappa has no interval where those are fewer than :data:`siming_tasks.metrics.thresholds.THIN`.
    """

    qwk: Estimate
    differ: Estimate
    imperfect: int


@dataclass(frozen=True)
class InterRaterTable:
    """Agreement of two raters before adjudication, by :func:`inter_rater_table`.

    Attributes:
        agreement: rater two against rater one by the code and intervals of every run; verdicts stand in its ``extra``.
        differ: ``steps`` and ``videos``: share of step instances, and of videos with at least one, whose points
            differ, that is, that need adjudication.
        per_skill: ``differ`` by skill.
        per_step: a row for each step.
        inflation: by rater: metric(rater, consensus) - metric(rater one, rater two). Empty without a consensus.
    """

    raters: tuple[str, str]
    agreement: Evaluation
    differ: Mapping[str, Estimate]
    per_skill: Mapping[str, Mapping[str, Estimate]]
    per_step: Mapping[str, RaterStep]
    inflation: Mapping[str, Mapping[str, Estimate]] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        """Plain JSON types; no NaN."""
        return {name: plain(value) for name, value in vars(self).items()}


def rater_pair_matrix(first: ScoreMatrix, second: ScoreMatrix) -> ScoreMatrix:
    """Rater two as the prediction of rater one, whose points are the references of the two; asked: what both scored."""
    if (first.video_ids, first.step_ids) != (second.video_ids, second.step_ids):
        raise DataError("The two raters' labels are not of the same videos and steps.")
    asked = first.counted & second.counted
    points = np.where(asked, second.reference, np.nan)
    verdicts = np.where(asked, second.reference_wrong, np.nan)
    return replace(first, predicted=points if first.answer == "score" else verdicts, asked=asked)


def inter_rater_table(
    first: ScoreMatrix,
    second: ScoreMatrix,
    consensus: ScoreMatrix | None = None,
    *,
    names: tuple[str, str] = ("rater_a", "rater_b"),
    mapping: LabelMapping = "absolute",
    resamples: int = RESAMPLES,
    seed: int = 0,
) -> InterRaterTable:
    """The inter-rater table (the paper's table 3) with intervals over videos.

    ``first`` and ``second`` are score panels whose references hold the raters' points (their predictions are ignored),
    ``consensus`` the same for the adjudicated labels, if there are any.

    Raises:
        DataError: no step was scored by both raters, or a panel is not of scores.
    """
    if first.answer != "score":
        raise DataError("The inter-rater table needs points, not verdicts.")
    humans = rater_pair_matrix(first, second).sorted()
    if not humans.asked.any():
        raise DataError(f"No step was scored by both {names[0]} and {names[1]}; their agreement cannot be computed.")
    drawn: dict[str, Any] = {"resamples": resamples, "seed": seed}
    inflation = {}
    if consensus is not None and consensus.counted.any():
        for name, rater in zip(names, (first, second), strict=True):
            against = rater_pair_matrix(consensus, rater).sorted()
            inflation[name] = _inflation(humans, against, mapping=mapping, **drawn)
    steps = {name: humans.subset([name]) for name in humans.step_ids}
    kappas = estimates({k: Tally.of(v, mapping, metrics=("qwk",)) for k, v in steps.items()}, **drawn)
    parts = {("whole", ""): humans} | {("step", name): step for name, step in steps.items()}
    parts |= {("skill", name): humans.skill(name) for name in dict.fromkeys(humans.skills)}
    differ = _differing_shares(parts, **drawn)
    imperfect = (humans.asked & (humans.reference_wrong | humans.predicted_wrong)).sum(axis=0).tolist()
    thin = {name: number < THIN for name, number in zip(humans.step_ids, imperfect, strict=True)}
    return InterRaterTable(
        raters=names,
        agreement=evaluate(humans, mapping=mapping, **drawn),
        differ=differ["whole", ""],
        per_skill={name: row for (kind, name), row in differ.items() if kind == "skill"},
        per_step={
            name: RaterStep(
                qwk=kappas[name]["qwk"].of_thin_step() if thin[name] else kappas[name]["qwk"],
                differ=differ["step", name]["steps"],
                imperfect=number,
            )
            for name, number in zip(humans.step_ids, imperfect, strict=True)
        },
        inflation=inflation,
    )


def _differing_shares(
    parts: Mapping[tuple[str, str], ScoreMatrix], *, resamples: int, seed: int
) -> dict[tuple[str, str], dict[str, Estimate]]:
    """Share of the doubly scored steps, and of the videos, in which the raters' points differ."""
    stats: dict[tuple[tuple[str, str], str], Stat] = {}
    for key, part in parts.items():
        differ = part.asked & np.not_equal(part.reference, part.predicted)
        of_videos: BoolArray = np.asarray(np.stack([differ, part.asked]).any(axis=2))
        for unit, (marked, asked) in (("steps", (differ, part.asked)), ("videos", of_videos)):
            share = ratio(marked, asked, needs="No step was scored by both raters.")
            stats[key, unit] = replace(share, coverage=1.0 if part.asked.any() else None)
    shares = estimate_stats(stats, next(iter(parts.values())).cluster_numbers, resamples, seed)
    return {key: {unit: shares[key, unit] for unit in ("steps", "videos")} for key in parts}


def _inflation(
    humans: ScoreMatrix, against: ScoreMatrix, *, mapping: LabelMapping, resamples: int, seed: int
) -> dict[str, Estimate]:
    """Gain of a rater by being compared with the consensus instead of the other rater; paired."""
    metrics = select("score", compared=True)
    tallies = [Tally.of(panel, mapping, metrics=metrics) for panel in (against, humans)]

    def compute(weights: FloatArray) -> dict[str, FloatArray]:
        own, other = (tally.compute(weights) for tally in tallies)
        return {name: own[name] - other[name] for name in metrics}

    values, drawn = sample(compute, humans.cluster_numbers, resamples=resamples, seed=seed)
    spread = spreads(drawn, {name: tallies[0].size(name).clusters for name in drawn})
    why = "An agreement is undefined: 0/0."
    return {name: derived(tallies[0], name, values[name], spread.get(name), why=why) for name in metrics}


def inter_rater_tables(
    dataset: Dataset, options: Options | None = None, names: Sequence[str] | None = None
) -> list[InterRaterTable]:
    """The inter-rater table of every pair of physicians, in the order of their names; empty with fewer than two.

    With ``names`` of these raters only, at least two.

    Raises:
        DataError: there is no such rater, or no step was scored by both of a pair that was asked for.
    """
    options = options or Options()
    for name in names or ():
        if name not in dataset.raters:
            raise DataError(f"{dataset.name} has no rater {name!r}; it has {', '.join(dataset.raters) or 'none'}.")
    setting, raters = benchmark_task("full", "score").name, names or dataset.physicians
    labels = {name: build_reference_matrix(dataset, setting, name, options.cluster) for name in (*raters, CONSENSUS)}
    pairs = list(combinations(raters, 2))
    if names is None and len(pairs) > 1:
        pairs = [(a, b) for a, b in pairs if (labels[a].counted & labels[b].counted).any()]
    how: dict[str, Any] = {"mapping": options.mapping, "resamples": options.resamples, "seed": options.seed}
    return [inter_rater_table(labels[a], labels[b], labels[CONSENSUS], names=(a, b), **how) for a, b in pairs]


@dataclass(frozen=True, eq=False)
class RaterPair:
    """Physician ``second`` judged against physician ``first``, on the steps that both have scored."""

    first: str
    second: str
    panel: ScoreMatrix


def rater_pairs(dataset: Dataset, setting: str, cluster: UnitChoice = "auto") -> list[RaterPair]:
    """Every pair of physicians in a setting, in the order of their names; none unless two of them scored one step."""
    labels = {name: build_reference_matrix(dataset, setting, name, cluster) for name in dataset.physicians}
    pairs = [RaterPair(a, b, rater_pair_matrix(labels[a], labels[b])) for a, b in combinations(labels, 2)]
    return [pair for pair in pairs if pair.panel.asked.any()]


def rater_references(dataset: Dataset, setting: str, run: ScoreMatrix) -> list[ScoreMatrix]:
    """Each physician's points as the reference of the run's videos and steps, in the order of their names."""
    references = []
    for name in dataset.physicians:
        labels = build_reference_matrix(dataset, setting, name, run.unit)
        row = {video: index for index, video in enumerate(labels.video_ids)}
        references.append(labels.videos([row[video] for video in run.video_ids]).subset(run.step_ids))
    return references


def rater_points(dataset: Dataset, panel: ScoreMatrix) -> dict[str, FloatArray]:
    """By name, each physician's points on the panel's videos and steps, ``float64[V, S]``; NaN: not scored."""
    column = {step: index for index, step in enumerate(panel.step_ids)}
    points = {name: np.full(panel.reference.shape, np.nan) for name in dataset.physicians}
    for row, video in enumerate(panel.video_ids):
        for label in dataset.video(video).applicable:
            for name, score in label.scores.items():
                if name in points and score is not None and label.step_id in column:
                    points[name][row, column[label.step_id]] = score
    return points

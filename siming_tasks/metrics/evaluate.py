"""All metrics of a panel with their uncertainty, per skill and as a whole, and how they depend on readings."""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, TypeVar

import numpy as np

from siming_tasks.common.display import ShortRepr
from siming_tasks.common.errors import DataError
from siming_tasks.common.input_kinds import expect
from siming_tasks.common.schema import RESAMPLES
from siming_tasks.metrics.catalogue import CATALOGUE, select
from siming_tasks.metrics.classification import Positive
from siming_tasks.metrics.estimate import Estimate, plain
from siming_tasks.metrics.intervals import spread_of, summarise
from siming_tasks.metrics.kappa import CUTS, LEVELS, MAPPINGS, LabelMapping
from siming_tasks.metrics.resample import Spread, bootstrap, jackknife_spread, observed
from siming_tasks.metrics.score_matrix import FloatArray, ScoreMatrix
from siming_tasks.metrics.sufficient_stats import Tally
from siming_tasks.metrics.thresholds import LEVEL

__all__ = ["RESAMPLES", "Evaluation", "Method", "adversarial_fill", "draw", "estimates", "evaluate",
           "summaries", "zero_fill"]  # fmt: skip

K = TypeVar("K", bound=Hashable)
Method = Literal["bootstrap", "jackknife"]


@dataclass(frozen=True, repr=False)
class Evaluation(ShortRepr):
    """Estimates of one panel.

    Attributes:
        metrics: by name, in printing order (:data:`siming_tasks.metrics.catalogue.CATALOGUE`).
        per_skill: the same for the steps of each skill.
        imputed: the compared metrics with every missing answer as full points or "correct"
            (:meth:`siming_tasks.metrics.score_matrix.ScoreMatrix.imputed`): leaving a step out earns what calling it
            correct would earn. None without any answer.
        imputed_per_skill: the same for the steps of each skill.
        extra: everything else that a result file states, without interval but for the first two: ``mapping`` (kappa
            under every reading of equation 3) and ``positive`` (MCC and precision, recall, F1 of both classes);
            ``counts``; ``prevalence`` and ``predicted_positive_rate``, the shares of "wrong" steps among the answered
            ones, whatever the positive class; ``confusion``; ``fill``, a
            sensitivity analysis, not a result: the metrics if every missing answer had been zero points (verdict:
            wrong), and if it had been as far from the reference as the scale allows.
        options: mapping, positive class, method, resamples and seed that were used; ``unit``, what was resampled, and
            ``n_clusters``, how many there are; ``fixed``, larger units that the data state and that were not resampled.
    """

    metrics: Mapping[str, Estimate]
    per_skill: Mapping[str, Mapping[str, Estimate]]
    imputed: Mapping[str, Estimate] = field(default_factory=dict)
    imputed_per_skill: Mapping[str, Mapping[str, Estimate]] = field(default_factory=dict)
    extra: Mapping[str, Any] = field(default_factory=dict)
    options: Mapping[str, Any] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        """Plain JSON types; no NaN."""
        return {name: plain(value) for name, value in vars(self).items()}


def evaluate(
    panel: ScoreMatrix,
    *,
    mapping: LabelMapping = "absolute",
    positive: Positive = "error",
    resamples: int = RESAMPLES,
    seed: int = 0,
    method: Method = "bootstrap",
) -> Evaluation:
    """Evaluate a panel; what is resampled are its clusters, by default its videos.

    The result does not depend on the order of the videos and is the same to the last bit for the same seed.

    Args:
        panel: what to evaluate.
        mapping: how points become labels for kappa.
        positive: the class of precision, recall and F1.
        resamples: bootstrap resamples; fewer than 2 give values without intervals.
        seed: of the resamples.
        method: ``bootstrap`` (studentised or expanded percentile interval) or ``jackknife`` (leave one cluster out;
            no randomness); DataError for an unknown one.

    Returns:
        An estimate of every metric that :data:`siming_tasks.metrics.catalogue.CATALOGUE` has for this kind of answer.

    Example:
        >>> import numpy as np
        >>> from siming_tasks import ScoreMatrix, evaluate
        >>> points = np.array([[2, 5], [1, 3], [0, 4.0]])
        >>> said = np.array([[2, 5], [2, 3], [0, np.nan]])
        >>> asked = np.ones((3, 2), dtype=bool)
        >>> panel = ScoreMatrix(("a", "b", "c"), ("s1", "s2"), ("cpr", "cpr"), [2, 5], points, said, asked, "score")
        >>> found = evaluate(panel, resamples=0).metrics
        >>> round(found["qwk"].value, 3), round(found["coverage"].value, 3), found["plcc"].n_videos
        (0.933, 0.833, 2)
    """
    panel = expect(panel, ScoreMatrix, "panel", "run.score_matrix(setting) makes one of a run.").sorted()
    whole = Tally.of(panel, mapping, positive)
    skills = list(dict.fromkeys(panel.skills))
    readings = _readings(panel)
    chosen = {("mapping", mapping), ("positive", positive)} if panel.answer == "error" else {("mapping", mapping)}
    tallies: dict[tuple[str, ...], Tally] = {("whole",): whole}
    tallies |= {key: tally for key, tally in readings.items() if key not in chosen}
    if len(skills) > 1:
        tallies |= {("skill", name): Tally.of(panel.skill(name), mapping, positive) for name in skills}
    parts = {key: tally for key, tally in tallies.items() if key[0] in ("whole", "skill")}
    tallies |= {("imputed", *key): tally.imputed() for key, tally in parts.items() if tally.imputed() is not tally}
    estimated = estimates(tallies, resamples=resamples, seed=seed, method=method)
    per_skill = {name: estimated.get(("skill", name), estimated["whole",]) for name in skills}

    def imputed(*key: str) -> dict[str, Estimate]:
        answered = estimated.get(key, estimated["whole",])
        return {m: estimated.get(("imputed", *key), answered)[m] for m in answered if CATALOGUE[m].compared}

    beside: dict[str, dict[str, Any]] = {}
    for key in readings:
        beside.setdefault(key[0], {})[key[1]] = estimated.get(key) or {
            m: estimated["whole",][m] for m in readings[key].metrics
        }
    options: dict[str, Any] = {"mapping": mapping, "cut": CUTS.get(mapping), "positive": positive, "method": method}
    options |= {"level": LEVEL, "unit": panel.unit, "n_clusters": panel.n_clusters}
    options |= {"fixed": list(panel.fixed)} if panel.fixed else {}
    options |= {"resamples": resamples, "seed": seed} if method == "bootstrap" else {}
    return Evaluation(
        estimated["whole",],
        per_skill,
        imputed("whole"),
        {name: imputed("skill", name) if len(skills) > 1 else imputed("whole") for name in skills},
        beside | _facts(panel, whole),
        options,
    )


def estimates(
    tallies: Mapping[K, Tally], *, resamples: int = RESAMPLES, seed: int = 0, method: Method = "bootstrap"
) -> dict[K, dict[str, Estimate]]:
    """Every metric of several tallies of the same videos, from one shared set of resamples."""
    if method not in ("bootstrap", "jackknife"):
        raise DataError(f"The method is {method!r}; it must be 'bootstrap' or 'jackknife'.")
    values, drawn, errors = draw(tallies, resamples=resamples if method == "bootstrap" else 0, seed=seed)
    spread: dict[tuple[K, str], Spread] = {}
    if method == "jackknife":
        for key, tally in tallies.items():
            for name, left_out in tally.left_out.items():
                rests_on = tally.contributing(name)
                if len(rests_on) > 1:
                    spread[key, name] = jackknife_spread(values[key, name], left_out[rests_on])
    return summaries(tallies, values, drawn, errors, spread)


def draw(
    tallies: Mapping[K, Tally], *, resamples: int, seed: int
) -> tuple[dict[tuple[K, str], float], dict[tuple[K, str], FloatArray], dict[tuple[K, str], FloatArray]]:
    """Values of several tallies of the same videos, their replicates, and the standard errors of those that have one.

    No replicates for a single cluster or resample.

    Raises:
        DataError: the videos of two tallies are in other clusters.
    """
    numbers = [tally.clusters for tally in tallies.values()]
    clusters = numbers[0] if numbers else np.zeros(0, np.intp)
    if not all(np.array_equal(clusters, other) for other in numbers[1:]):
        raise DataError("What is resampled together must be in the same clusters. Give every panel the same ones.")

    def compute(weights: FloatArray) -> dict[tuple[K, str], FloatArray]:
        return {(key, name): got for key, tally in tallies.items() for name, got in tally.compute(weights).items()}

    def both(weights: FloatArray) -> dict[tuple[str, K, str], FloatArray]:
        drawn_values = {("value", *at): got for at, got in compute(weights).items()}
        for key, tally in tallies.items():
            drawn_values |= {("sums", key, family): got for family, got in tally.sums(weights).items()}
        return drawn_values

    drawn = bootstrap(both, clusters, resamples=resamples, seed=seed)
    values = {(key, name): got for (part, key, name), got in drawn.items() if part == "value"}
    errors: dict[tuple[K, str], FloatArray] = {}
    for key, tally in tallies.items() if drawn else ():
        sums: Any = {family: got for (part, of, family), got in drawn.items() if part == "sums" and of == key}
        errors |= {(key, name): got for name, got in tally.errors(sums).items()}
    return observed(compute, len(clusters)), values, errors


def summaries(
    tallies: Mapping[K, Tally],
    values: Mapping[tuple[K, str], float],
    drawn: Mapping[tuple[K, str], FloatArray],
    errors: Mapping[tuple[K, str], FloatArray],
    known: Mapping[tuple[K, str], Spread] | None = None,
) -> dict[K, dict[str, Estimate]]:
    """Estimates from what :func:`draw` gives; ``known`` are intervals that were made otherwise."""
    spread = dict(known or {})
    for key, tally in tallies.items() if drawn else ():
        own = tally.own_errors()
        for name in tally.metrics:
            at = key, name
            spread[at] = spread_of(tally, name, values[at], drawn[at], errors.get(at), own.get(name, math.nan))
    return {
        key: {
            name: summarise(tally, name, values[key, name], spread.get((key, name)), tally.fewest)
            for name in tally.metrics
        }
        for key, tally in tallies.items()
    }


def _readings(panel: ScoreMatrix) -> dict[tuple[str, ...], Tally]:
    """Tallies of every reading of equation 3 (scores only) and of either class as the positive one."""
    views: dict[tuple[str, ...], Tally] = {}
    if panel.answer == "score":
        views |= {("mapping", name): Tally.of(panel, name, metrics=select(family="labels")) for name in MAPPINGS}
    classes = select(family="verdicts")
    views["positive", "error"] = Tally.of(panel, positive="error", metrics=classes)
    views["positive", "correct"] = Tally.of(panel, positive="correct", metrics=classes)
    return views


def _facts(panel: ScoreMatrix, tally: Tally) -> dict[str, Any]:
    """The counts and shares of :attr:`Evaluation.extra` that need no interval."""
    both = panel.counted & panel.answered
    answered = int(both.sum())
    counts = {
        "videos": len(panel.video_ids),
        "asked": int(panel.asked.sum()),
        "answered": int(panel.answered.sum()),
        "with_reference": int(panel.counted.sum()),
        "scored": answered,
    }
    shares = {
        name: float((wrong & both).sum()) / answered if answered else None
        for name, wrong in (("prevalence", panel.reference_wrong), ("predicted_positive_rate", panel.predicted_wrong))
    }
    is_score = panel.answer == "score"
    levels = list(LEVELS) if is_score else ["correct", "wrong"]
    table = tally.labels if is_score else Tally.of(panel).verdicts  # rows = reference, columns = prediction
    pooled = table.sum(axis=0).reshape(len(levels), len(levels)).astype(int).tolist()
    compared = [name for name in tally.metrics if CATALOGUE[name].compared]
    fills: dict[str, dict[str, float | None]] = {}
    for name, fill in (("zero", zero_fill), ("adversarial", adversarial_fill)):
        fills[name] = dict.fromkeys(compared)
        if panel.counted.any():
            imputed = Tally.of(panel.predicting(fill(panel)), tally.mapping, tally.positive, compared)
            fills[name] = {key: float(np.nan_to_num(value)) for key, value in imputed.observed.items()}
    confusion = {"levels": levels, "counts": pooled}
    return {"counts": counts, **shares, "confusion": confusion, "fill": fills}


def zero_fill(panel: ScoreMatrix) -> FloatArray:
    """Predictions with every missing answer as zero points, or as the verdict "wrong"."""
    return np.where(np.isnan(panel.predicted), 0.0 if panel.answer == "score" else 1.0, panel.predicted)


def adversarial_fill(panel: ScoreMatrix) -> FloatArray:
    """Predictions with every missing answer as far from the reference as the scale allows."""
    if panel.answer == "score":
        worst = np.where(panel.reference > panel.max_score / 2, 0.0, panel.max_score)
    else:
        worst = np.where(panel.reference_wrong, 0.0, 1.0)
    return np.where(np.isnan(panel.predicted), worst, panel.predicted)

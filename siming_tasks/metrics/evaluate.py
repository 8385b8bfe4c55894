"""All metrics of a panel with their uncertainty, per skill and as a whole."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, TypeVar

from siming_tasks.errors import DataError
from siming_tasks.metrics import extra
from siming_tasks.metrics.agreement.classification import Positive
from siming_tasks.metrics.agreement.labels import LabelMapping
from siming_tasks.metrics.estimate import Estimate, plain
from siming_tasks.metrics.panel import FloatArray, Panel
from siming_tasks.metrics.resample import jackknife_spread, sample, spreads
from siming_tasks.metrics.summary import summarise
from siming_tasks.metrics.tally import Tally
from siming_tasks.metrics.thresholds import LEVEL

__all__ = ["RESAMPLES", "Evaluation", "Method", "estimates", "evaluate"]

K = TypeVar("K", bound=Hashable)
Method = Literal["bootstrap", "jackknife"]

RESAMPLES = 10_000


@dataclass(frozen=True)
class Evaluation:
    """Estimates of one panel.

    Attributes:
        metrics: by name, in printing order (:data:`siming_tasks.metrics.catalogue.CATALOGUE`).
        per_skill: the same for the steps of each skill.
        extra: everything else that a result file states: ``mapping`` (kappa under both readings of equation 3),
            ``positive`` (MCC and precision, recall, F1 of both classes), and :func:`siming_tasks.metrics.extra.facts`.
        options: mapping, positive class, method, resamples and seed that were used.
    """

    metrics: Mapping[str, Estimate]
    per_skill: Mapping[str, Mapping[str, Estimate]]
    extra: Mapping[str, Any] = field(default_factory=dict)
    options: Mapping[str, Any] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        """Plain JSON types; no NaN."""
        parts = {"metrics": self.metrics, "per_skill": self.per_skill, "extra": self.extra, "options": self.options}
        return {name: plain(part) for name, part in parts.items()}


def evaluate(
    panel: Panel,
    *,
    mapping: LabelMapping = "absolute",
    positive: Positive = "error",
    resamples: int = RESAMPLES,
    seed: int = 0,
    method: Method = "bootstrap",
) -> Evaluation:
    """Evaluate a panel; the unit of resampling is the video.

    The result does not depend on the order of the videos and is the same to the last bit for the same seed.

    Args:
        panel: what to evaluate.
        mapping: how points become labels for kappa.
        positive: the class of precision, recall and F1.
        resamples: bootstrap resamples; fewer than 2 give values without intervals.
        seed: of the resamples.
        method: ``bootstrap`` (percentile interval) or ``jackknife`` (leave one video out; no randomness).

    Returns:
        An estimate of every metric that :data:`siming_tasks.metrics.catalogue.CATALOGUE` has for this kind of answer.

    Raises:
        DataError: an unknown method.

    Example:
        >>> import numpy as np
        >>> from siming_tasks import Panel, evaluate
        >>> points = np.array([[2, 5], [1, 3], [0, 4.0]])
        >>> said = np.array([[2, 5], [2, 3], [0, np.nan]])
        >>> asked = np.ones((3, 2), dtype=bool)
        >>> panel = Panel(("a", "b", "c"), ("s1", "s2"), ("cpr", "cpr"), [2, 5], points, said, asked, "score")
        >>> found = evaluate(panel, resamples=0).metrics
        >>> round(found["qwk"].value, 3), round(found["coverage"].value, 3), found["plcc"].n_videos
        (0.933, 0.833, 2)
    """
    panel = panel.sorted()
    whole = Tally.of(panel, mapping, positive)
    skills = list(dict.fromkeys(panel.skills))
    readings = extra.readings(panel)
    tallies: dict[tuple[str, ...], Tally] = {("whole",): whole, **readings}
    if len(skills) > 1:
        tallies |= {("skill", name): Tally.of(panel.skill(name), mapping, positive) for name in skills}
    found = estimates(tallies, resamples=resamples, seed=seed, method=method)
    per_skill = {name: found.get(("skill", name), found["whole",]) for name in skills}
    beside: dict[str, dict[str, Any]] = {}
    for key in readings:
        beside.setdefault(key[0], {})[key[1]] = found[key]
    options = {"mapping": mapping, "positive": positive, "method": method, "level": LEVEL, "unit": "video"}
    options |= {"resamples": resamples, "seed": seed} if method == "bootstrap" else {}
    return Evaluation(found["whole",], per_skill, beside | extra.facts(panel, whole), options)


def estimates(
    tallies: Mapping[K, Tally], *, resamples: int = RESAMPLES, seed: int = 0, method: Method = "bootstrap"
) -> dict[K, dict[str, Estimate]]:
    """Every metric of several tallies of the same videos, from one shared set of resamples."""
    if method not in ("bootstrap", "jackknife"):
        raise DataError(f"The method is {method!r}; it must be 'bootstrap' or 'jackknife'.")

    def compute(weights: FloatArray) -> dict[tuple[K, str], FloatArray]:
        return {(key, name): got for key, tally in tallies.items() for name, got in tally.compute(weights).items()}

    n = max((len(tally.asked) for tally in tallies.values()), default=0)
    values, drawn = sample(compute, n, resamples=resamples if method == "bootstrap" else 0, seed=seed)
    spread = spreads(drawn)
    if n > 1 and method == "jackknife":
        for key, tally in tallies.items():
            for name, left_out in tally.left_out().items():
                rests_on = tally.contributing(name)
                if len(rests_on) > 1:
                    spread[key, name] = jackknife_spread(values[key, name], left_out[rests_on])
    return {
        key: {name: summarise(tally, name, values[key, name], spread.get((key, name))) for name in tally.metrics}
        for key, tally in tallies.items()
    }

"""All metrics of a panel with their uncertainty, per skill and as a whole."""

from __future__ import annotations

from collections.abc import Mapping as MappingOf
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
from scipy import stats

from siming_tasks.errors import DataError
from siming_tasks.metrics.classification import Positive
from siming_tasks.metrics.estimate import Estimate, plain
from siming_tasks.metrics.labels import Mapping
from siming_tasks.metrics.panel import FloatArray, Panel
from siming_tasks.metrics.resample import LEVEL, bootstrap, interval, jackknife, observed
from siming_tasks.metrics.tally import METRICS, Tally

__all__ = ["COMPARABLE", "RESAMPLES", "Evaluation", "Method", "estimate", "evaluate"]

Method = Literal["bootstrap", "jackknife"]

RESAMPLES = 10_000
COMPARABLE = 0.95
"""Coverage below which a row is marked "not comparable"."""
TRUSTED = 50
"""Videos below which an interval is marked as not to be trusted."""


@dataclass(frozen=True)
class Evaluation:
    """Estimates of one panel.

    Attributes:
        metrics: by name, in printing order (:data:`siming_tasks.metrics.tally.METRICS`).
        per_skill: the same for the steps of each skill.
        extra: everything else that the result file states; JSON types and estimates.
        options: mapping, positive class, method, resamples and seed that were used.
    """

    metrics: MappingOf[str, Estimate]
    per_skill: MappingOf[str, MappingOf[str, Estimate]]
    extra: MappingOf[str, Any] = field(default_factory=dict)
    options: MappingOf[str, Any] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        """Plain JSON types; no NaN."""
        parts = {"metrics": self.metrics, "per_skill": self.per_skill, "extra": self.extra, "options": self.options}
        return {name: plain(part) for name, part in parts.items()}


def evaluate(
    panel: Panel,
    *,
    mapping: Mapping = "absolute",
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
        resamples: bootstrap resamples; 0 gives values without intervals.
        seed: of the resamples.
        method: ``bootstrap`` (percentile interval) or ``jackknife`` (leave one video out; no randomness).

    Returns:
        An estimate of every metric: ``plcc``, ``srcc``, ``qwk`` for scores, ``mcc``, ``precision``, ``recall``, ``f1``
        for verdicts, ``coverage`` for both.
    """
    if method not in ("bootstrap", "jackknife"):
        raise DataError(f"evaluate: method is {method!r}; it must be 'bootstrap' or 'jackknife'.")
    panel = panel.sorted()
    skills = list(dict.fromkeys(panel.skills))
    tallies: dict[str | None, Tally] = {None: Tally.of(panel, mapping, positive)}
    tallies |= {skill: Tally.of(panel.skill(skill), mapping, positive) for skill in skills}

    def compute(weights: FloatArray) -> dict[tuple[str | None, str], FloatArray]:
        return {
            (part, name): values for part, tally in tallies.items() for name, values in tally.compute(weights).items()
        }

    n = len(panel.video_ids)
    values = observed(compute, n)
    spread: dict[tuple[str | None, str], FloatArray] = {}
    if n > 1 and method == "jackknife":
        spread = jackknife(compute, n)
    elif n > 1 and resamples > 0:
        spread = bootstrap(compute, n, resamples=resamples, seed=seed)
    done = {
        part: {name: estimate(tally, name, values[part, name], spread.get((part, name)), method)
               for name in METRICS[panel.answer]}
        for part, tally in tallies.items()
    }  # fmt: skip
    options = {"mapping": mapping, "positive": positive, "method": method, "level": LEVEL, "unit": "video"}
    if method == "bootstrap":
        options |= {"resamples": resamples, "seed": seed}
    return Evaluation(done.pop(None), {str(skill): row for skill, row in done.items()}, {}, options)


def estimate(
    tally: Tally, metric: str, value: float, replicates: FloatArray | None, method: Method = "bootstrap"
) -> Estimate:
    """Put a value, its replicates and what the tally knows about it together."""
    videos, items = tally.size(metric)
    asked = tally.asked.sum()
    coverage = float(tally.answered.sum() / asked) if asked else None
    flags = tally.flags(metric) if items else []
    if coverage is not None and coverage < COMPARABLE:
        flags.append("not-comparable")
    common: dict[str, Any] = {"n_videos": videos, "n_items": items, "coverage": coverage}
    if not items:
        return Estimate(None, reason=tally.reason(metric), flags=tuple(sorted(flags)), **common)
    if np.isnan(value):
        return Estimate(0.0, undefined=True, reason=tally.reason(metric), flags=tuple(sorted(flags)), **common)
    if replicates is None or videos < 2:
        return Estimate(value, flags=tuple(sorted(flags)), **common)
    share = float(np.isnan(replicates).mean())
    if method == "jackknife":
        stderr, low, high = _jackknife_interval(value, replicates[tally.contributing(metric)])
    else:
        stderr, low, high = interval(replicates)
    if share > 0.01:
        flags.append("undefined-replicates")
    if videos < TRUSTED:
        flags.append("few-videos")
    return Estimate(value, stderr, low, high, undefined_share=share, flags=tuple(sorted(flags)), **common)


def _jackknife_interval(value: float, left_out: FloatArray) -> tuple[float, float, float]:
    values = np.nan_to_num(left_out, nan=0.0)
    n = len(values)
    stderr = float(np.sqrt((n - 1) / n * ((values - values.mean()) ** 2).sum()))
    reach = float(stats.t.ppf((1 + LEVEL) / 2, n - 1)) * stderr
    return stderr, value - reach, value + reach

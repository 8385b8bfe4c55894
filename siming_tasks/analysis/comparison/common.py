"""Two runs on what both of them answered: whether a lead is in the answers, or in what was left out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from siming_tasks.analysis.comparison.significance import Paired, jackknife_t
from siming_tasks.metrics.score_matrix import FloatArray
from siming_tasks.metrics.sufficient_stats import Tally
from siming_tasks.metrics.thresholds import ALPHA, NOISE

__all__ = ["Answered", "answered_by_both", "paired_difference", "turned"]


@dataclass(frozen=True)
class Answered:
    """``a`` minus ``b`` on the items that both answered, by metric, and how many items each of them answered."""

    difference: Mapping[str, Paired]
    a_answered: int
    b_answered: int

    def turned(self) -> Answered:
        """``b`` minus ``a``."""
        return Answered(turned(self.difference), self.b_answered, self.a_answered)

    def holds(self, metric: str, sign: float, *, sure: bool = False) -> bool:
        """Whether a lead of ``a`` with every answer imputed is one of its answers as well.

        A run that answered no more than the other must be ahead on the items that both answered; ``sure``:
        significantly so. One that answered more need not: what both answered was then chosen by the other.
        """
        found = self.difference[metric]
        return self.a_answered > self.b_answered or (sign * found.value > NOISE and (not sure or found.p <= ALPHA))


def answered_by_both(a: Tally, b: Tally, imputed: Mapping[str, Paired]) -> Answered:
    """Two runs that were asked the same, on what both answered.

    Args:
        a: one run, as it answered.
        b: the other.
        imputed: their differences with missing answers imputed: the same if none is missing.
    """
    one, other = (side.panel.answered & side.panel.counted for side in (a, b))
    both, numbers = one & other, (int(one.sum()), int(other.sum()))
    if both.sum() == a.panel.counted.sum():
        return Answered(imputed, *numbers)
    sides = [
        Tally.of(replace(side.panel, asked=side.panel.asked & both), side.mapping, side.positive, list(imputed))
        for side in (a, b)
    ]
    return Answered(paired_difference(*sides), *numbers)


def paired_difference(a: Tally, b: Tally) -> dict[str, Paired]:
    """``a`` minus ``b`` in every metric of both, with interval and p by the jackknife over the videos they rest on."""
    found = {}
    for name in a.metrics:
        kept = np.union1d(a.contributing(name), b.contributing(name))
        apart: FloatArray = (a.left_out[name] - b.left_out[name])[kept]
        found[name] = jackknife_t(a.observed[name] - b.observed[name], apart)
    return found


def turned(difference: Mapping[str, Paired]) -> dict[str, Paired]:
    """``b`` minus ``a`` from ``a`` minus ``b``, by metric."""
    return {name: Paired(-d.value, d.stderr, -d.high, -d.low, d.p) for name, d in difference.items()}

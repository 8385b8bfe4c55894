"""Differential item functioning: is a step harder at one site than at another for trainees of the same ability?"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from siming_tasks.analysis.comparison.paired_tests import holm
from siming_tasks.analysis.psychometrics.rasch import rasch
from siming_tasks.common.errors import DataError
from siming_tasks.metrics.score_matrix import FloatArray
from siming_tasks.metrics.thresholds import ALPHA

__all__ = ["FEWEST", "Difference", "SiteDifferences", "differential"]

FEWEST = 30
"""Trainees of a site below which its difficulties are not compared."""

LARGE = 0.64
"""Logits from which a difference is called large (1.5 on the delta scale; Zieky 1993)."""


@dataclass(frozen=True)
class Difference:
    """One step: difficulty at ``site`` minus difficulty at all other sites together, in logits.

    Attributes:
        step: its name.
        site: the site.
        value: the difference; above 0 is harder there.
        stderr: of the difference.
        p_value: Wald test, Holm-adjusted over all steps and sites.
        large: significant and at least 0.64 logits.
    """

    step: str
    site: str
    value: float
    stderr: float
    p_value: float
    large: bool


@dataclass(frozen=True)
class SiteDifferences:
    """Every comparison that could be made; ``trainees`` by site, ``left_out`` sites with too few."""

    differences: tuple[Difference, ...]
    trainees: Mapping[str, int]
    left_out: tuple[str, ...]


def differential(
    correct: FloatArray, sites: Sequence[str | None], step_ids: tuple[str, ...], raters: tuple[str, ...]
) -> SiteDifferences:
    """Difficulties of each site against those of the rest (Wald test on conditional estimates).

    Args:
        correct: ``float64[P, I, R]`` as for :func:`siming_tasks.analysis.psychometrics.rasch.rasch`.
        sites: of each trainee; None is unknown and belongs to no site.
        step_ids: I names.
        raters: R names.

    Raises:
        DataError: fewer than two sites with :data:`FEWEST` trainees.
    """
    sizes = Counter(site for site in sites if site is not None)
    large = sorted(site for site, size in sizes.items() if size >= FEWEST)
    if len(large) < 2:
        raise DataError(f"Difficulty by site needs two sites with {FEWEST} videos each.")
    at = np.array([site if site in large else "" for site in sites], dtype=object)
    effects = []
    for site in large if len(large) > 2 else large[:1]:
        here = rasch(correct[at == site], step_ids, raters).steps
        there = rasch(correct[(at != site) & (at != "")], step_ids, raters).steps
        both = [name for name in step_ids if name in here and name in there]
        shift = [float(np.mean([side[name].measure for name in both])) for side in (here, there)]
        for name in both:
            value = (here[name].measure - shift[0]) - (there[name].measure - shift[1])
            effects.append((name, site, value, math.hypot(here[name].stderr, there[name].stderr)))
    adjusted = holm(np.array([math.erfc(abs(value) / stderr / math.sqrt(2)) for *_, value, stderr in effects]))
    rows = [
        Difference(name, site, value, stderr, float(p), bool(p < ALPHA) and abs(value) >= LARGE)
        for (name, site, value, stderr), p in zip(effects, adjusted, strict=True)
    ]
    left_out = tuple(sorted(site for site in sizes if site not in large))
    return SiteDifferences(tuple(rows), {site: sizes[site] for site in large}, left_out)

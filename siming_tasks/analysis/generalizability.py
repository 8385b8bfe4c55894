"""Generalisability theory (Brennan 2001): where scores vary, and what more raters or steps would buy."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from siming_tasks.common.errors import DataError
from siming_tasks.metrics.resample import jackknife_error
from siming_tasks.metrics.score_matrix import FloatArray

COMPONENTS: Mapping[str, str] = {
    "p": "trainee",
    "i": "step",
    "r": "rater",
    "pi": "trainee x step",
    "pr": "trainee x rater",
    "ir": "step x rater",
    "pir": "rest",
}
"""Effects of the crossed design trainee x step x rater, in the order in which they are printed."""

_BLOCKS = 200


@dataclass(frozen=True)
class Component:
    """One variance component.

    Attributes:
        variance: as estimated from mean squares; may be negative.
        share: of the sum of all, negative ones counted as 0.
        stderr: jackknife over trainees.
    """

    variance: float
    share: float
    stderr: float | None


@dataclass(frozen=True)
class Design:
    """An exam of ``steps`` steps and ``raters`` raters, on the scale of a mean over steps (0..1).

    Attributes:
        fixed: the steps are the exam itself, not a sample of possible steps.
        relative: generalisability coefficient: ranks of trainees.
        absolute: dependability (phi): the totals as they stand.
        sem: standard error of measurement, absolute.
    """

    steps: int
    raters: int
    fixed: bool
    relative: float | None
    absolute: float | None
    sem: float


@dataclass(frozen=True)
class GStudy:
    """Variance components of trainee x step x rater; ``trainees``, ``steps``, ``raters`` that were all scored."""

    components: Mapping[str, Component]
    trainees: int
    steps: int
    raters: int


def g_study(scores: FloatArray, clusters: Sequence[str] | None = None) -> GStudy:
    """Variance components of a complete ``float64[P, I, R]`` by equating mean squares with their expectations.

    ``clusters``: names of the P trainees' clusters, which the jackknife leaves out whole; each is its own by default.

    Raises:
        DataError: fewer than two trainees, steps or raters, or a score is missing.
    """
    if scores.ndim != 3 or min(scores.shape) < 2:
        raise DataError("A generalisability study needs two trainees, two steps and two raters or more.")
    if np.isnan(scores).any():
        raise DataError("A generalisability study needs every step of every trainee scored by every rater.")
    components = _components(scores)
    errors: list[float] | list[None] = [None] * len(components)
    names = [str(k) for k in range(len(scores))] if clusters is None else list(clusters)
    distinct, cluster = np.unique(names, return_inverse=True)
    if len(distinct) > 3:
        blocks = np.array_split(np.arange(len(distinct)), min(len(distinct), _BLOCKS))
        left_out = np.array([_components(scores[~np.isin(cluster, block)]) for block in blocks])
        errors = [jackknife_error(column) for column in left_out.T]
    whole = sum(max(value, 0.0) for value in components)
    parts = {
        name: Component(value, max(value, 0.0) / whole if whole > 0 else 0.0, error)
        for name, value, error in zip(COMPONENTS, components, errors, strict=True)
    }
    return GStudy(parts, *scores.shape)


def _components(x: FloatArray) -> tuple[float, ...]:
    """The seven components, in the order of :data:`COMPONENTS`."""
    n_p, n_i, n_r = x.shape
    grand = x.mean()
    p, i, r = x.mean(axis=(1, 2)) - grand, x.mean(axis=(0, 2)) - grand, x.mean(axis=(0, 1)) - grand
    pi = x.mean(axis=2) - grand - p[:, None] - i[None, :]
    pr = x.mean(axis=1) - grand - p[:, None] - r[None, :]
    ir = x.mean(axis=0) - grand - i[:, None] - r[None, :]
    rest = x - grand - p[:, None, None] - i[None, :, None] - r[None, None, :]
    rest = rest - pi[:, :, None] - pr[:, None, :] - ir[None, :, :]

    def square(effect: FloatArray, times: int, freedom: int) -> float:
        return float(times * np.square(effect).sum() / freedom)

    ms_p, ms_i, ms_r = square(p, n_i * n_r, n_p - 1), square(i, n_p * n_r, n_i - 1), square(r, n_p * n_i, n_r - 1)
    ms_pi = square(pi, n_r, (n_p - 1) * (n_i - 1))
    ms_pr = square(pr, n_i, (n_p - 1) * (n_r - 1))
    ms_ir = square(ir, n_p, (n_i - 1) * (n_r - 1))
    ms = square(rest, 1, (n_p - 1) * (n_i - 1) * (n_r - 1))
    return (
        (ms_p - ms_pi - ms_pr + ms) / (n_i * n_r),
        (ms_i - ms_pi - ms_ir + ms) / (n_p * n_r),
        (ms_r - ms_pr - ms_ir + ms) / (n_p * n_i),
        (ms_pi - ms) / n_r,
        (ms_pr - ms) / n_i,
        (ms_ir - ms) / n_p,
        ms,
    )


def decision_study(study: GStudy, raters: Sequence[int], steps: Sequence[int] = (), fixed: bool = True) -> list[Design]:
    """Reliability that exams of other sizes would reach; ``steps`` default to those of the study.

    With ``fixed`` steps a trainee's strength at the steps belongs to what is measured; else the steps are a sample.
    Negative components of error count as 0.

    Raises:
        DataError: the trainees' own component is not positive: nothing follows from it.
    """
    if (trainees := study.components["p"].variance) <= 0:
        raise DataError(
            f"The variance of the trainees is estimated at {trainees:.5f}; where it is not above 0, no coefficient, "
            "error of measurement or number of raters follows from it."
        )
    v = {name: max(part.variance, 0.0) for name, part in study.components.items()}
    designs = []
    for i in steps or (study.steps,):
        for r in raters:
            universe = v["p"] + (v["pi"] / i if fixed else 0)
            relative = v["pr"] / r + v["pir"] / (i * r) + (0 if fixed else v["pi"] / i)
            absolute = relative + v["r"] / r + v["ir"] / (i * r) + (0 if fixed else v["i"] / i)
            ranks, totals = (universe / (universe + e) if universe + e > 0 else None for e in (relative, absolute))
            designs.append(Design(i, r, fixed, ranks, totals, math.sqrt(absolute)))
    return designs


def raters_needed(study: GStudy, dependability: float, steps: int | None = None, fixed: bool = True) -> int | None:
    """Number of raters whose mean reaches a dependability between 0 and 1; None if no number does."""
    one_rater, many_raters = decision_study(study, (1, 10**9), (steps or study.steps,), fixed)
    if not one_rater.absolute or not many_raters.absolute or many_raters.absolute <= dependability:
        return None
    floor = many_raters.sem**2
    universe = one_rater.absolute / (1 - one_rater.absolute) * one_rater.sem**2 if one_rater.absolute < 1 else math.inf
    allowed = universe * (1 - dependability) / dependability - floor
    return max(1, math.ceil((one_rater.sem**2 - floor) / allowed - 1e-9))

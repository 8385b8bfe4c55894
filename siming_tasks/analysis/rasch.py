"""A many-facet Rasch model of "fully correct": trainee ability, step difficulty, rater severity (Linacre 1989).

The log-odds that rater j calls step i of trainee n fully correct are ability_n - difficulty_i - severity_j.
Difficulties and severities are estimated by conditional maximum likelihood (Andersen 1970; Fischer 1973 for facets):
given the number of judgments of a trainee that are "fully correct", ability drops out, so that neither its distribution
nor its estimate is needed, and trainees with missing judgments are used as they are. Fitted site by site, the model
shows differential item functioning: a step that is harder at one site than at another for trainees of the same ability.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from siming_tasks.analysis.paired_tests import holm
from siming_tasks.common.errors import DataError
from siming_tasks.metrics.score_matrix import BoolArray, FloatArray
from siming_tasks.metrics.thresholds import ALPHA

FEWEST = 30
"""Trainees of a site below which its difficulties are not compared."""

LARGE = 0.64
"""Logits from which a difference is called large (1.5 on the delta scale; Zieky 1993)."""

_STEP = 1e-5
_TOLERANCE = 1e-7


@dataclass(frozen=True)
class Facet:
    """One step or rater.

    Attributes:
        measure: difficulty or severity in logits, mean 0 over its kind.
        stderr: from the observed information.
        infit: mean square of residuals weighted by their variance; 1 is expected, above 1.3 or so is erratic.
        outfit: unweighted mean square; sensitive to single surprises.
        n: judgments that it rests on.
    """

    measure: float
    stderr: float
    infit: float | None
    outfit: float | None
    n: int


@dataclass(frozen=True)
class Rasch:
    """The fitted model: by name, difficulty of ``steps`` and severity of ``raters``.

    Attributes:
        left_out: steps without an estimate, since every judgment of them is the same (too easy or too hard to tell).
        trainees: used: neither all nor none of their judgments are "fully correct"; ``extreme``: the others.
        loglik: conditional log-likelihood.
    """

    steps: Mapping[str, Facet]
    raters: Mapping[str, Facet]
    left_out: tuple[str, ...]
    trainees: int
    extreme: int
    loglik: float


def rasch(correct: FloatArray, step_ids: tuple[str, ...], raters: tuple[str, ...]) -> Rasch:
    """Fit the model to ``float64[P, I, R]`` of 1 (fully correct), 0 and NaN (not judged).

    Raises:
        DataError: no trainee or fewer than two steps are left that tell something.
    """
    used, kept = np.ones(len(correct), dtype=np.bool_), np.ones(correct.shape[1], dtype=np.bool_)
    while True:  # trainees and steps that are all 1 or all 0 are dropped in turn until none is left to drop
        part, before = correct[used][:, kept], (used.sum(), kept.sum())
        kept[kept], used[used] = _varies(part, (0, 2)), _varies(part, (1, 2))
        if before == (used.sum(), kept.sum()):
            break
    steps = np.flatnonzero(kept)
    n_i, n_r, n_p = len(steps), len(raters), int(used.sum())
    if n_i < 2 or not n_p:
        raise DataError(
            "The Rasch model needs two steps and trainees that were judged neither all right nor all wrong."
        )
    x = correct[used][:, steps, :].reshape(n_p, -1)
    # All difficulties and severities, each kind summing to 0, from the free ones: [I + R, I + R - 2].
    expand = np.zeros((n_i + n_r, n_i + n_r - 2))
    expand[: n_i - 1, : n_i - 1], expand[n_i - 1, : n_i - 1] = np.eye(n_i - 1), -1
    expand[n_i:-1, n_i - 1 :], expand[-1, n_i - 1 :] = np.eye(n_r - 1), -1
    cells = np.zeros((n_i * n_r, n_i + n_r))
    for at in range(n_i * n_r):
        cells[at, at // n_r] = cells[at, n_i + at % n_r] = 1
    likelihood = Likelihood(x, cells @ expand)
    values, information = likelihood.maximum()
    covariance = np.linalg.pinv(information)
    measures, errors = expand @ values, np.sqrt(np.maximum(np.diag(expand @ covariance @ expand.T), 0))
    *fit, counts = _fit(x, likelihood.difficulties(values), n_i, n_r)
    infit, outfit = ([float(v) if np.isfinite(v) else None for v in squares] for squares in fit)
    facets = [
        Facet(float(m), float(e), inner, outer, int(n))
        for m, e, inner, outer, n in zip(measures, errors, infit, outfit, counts, strict=True)
    ]
    return Rasch(
        steps={step_ids[at]: facet for at, facet in zip(steps, facets, strict=False)},
        raters=dict(zip(raters, facets[n_i:], strict=True)),
        left_out=tuple(name for at, name in enumerate(step_ids) if not kept[at]),
        trainees=n_p,
        extreme=len(correct) - n_p,
        loglik=likelihood.value(values),
    )


def _varies(part: FloatArray, axes: tuple[int, int]) -> BoolArray:
    return np.asarray((part == 1).any(axis=axes) & (part == 0).any(axis=axes))


def _fit(x: FloatArray, difficulty: FloatArray, n_i: int, n_r: int) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Infit, outfit (at each trainee's maximum likelihood ability) and number of judgments of steps, then raters."""
    shape = (-1, n_i, n_r)
    known = ~np.isnan(x)
    p = 1 / (1 + np.exp(difficulty[None, :] - ability(x, difficulty)[:, None]))
    variance = np.where(known, p * (1 - p), 0).reshape(shape)
    residual = np.where(known, x - p, 0).reshape(shape)
    squares = np.where(variance > 0, residual**2 / np.where(variance > 0, variance, 1), 0)
    infit, outfit, counts = [], [], []
    for axes in ((0, 2), (0, 1)):
        counts.append(known.reshape(shape).sum(axis=axes))
        with np.errstate(invalid="ignore", divide="ignore"):
            infit.append((residual**2).sum(axis=axes) / variance.sum(axis=axes))
            outfit.append(squares.sum(axis=axes) / counts[-1])
    return np.concatenate(infit), np.concatenate(outfit), np.concatenate(counts)


class Likelihood:
    """Conditional log-likelihood of ``float64[P, M]`` 0/1 judgments (NaN: none), item difficulties ``design @ free``.

    Every trainee must have judgments of both kinds.
    """

    def __init__(self, x: FloatArray, design: FloatArray) -> None:
        known = ~np.isnan(x)
        self.design = design
        self.correct = np.where(known, x, 0).sum(axis=0)
        scores = np.where(known, x, 0).sum(axis=1).astype(np.intp)
        self.patterns, group = np.unique(known, axis=0, return_inverse=True)
        self.cells, self.times = np.unique(np.stack([group.reshape(-1), scores], axis=1), axis=0, return_counts=True)

    def difficulties(self, free: FloatArray) -> FloatArray:
        """Difficulty of every item."""
        return np.asarray(self.design @ free)

    def value(self, free: FloatArray) -> float:
        """Log-likelihood."""
        return self._both(free)[0]

    def gradient(self, free: FloatArray) -> FloatArray:
        """Its derivative by the free parameters."""
        return self._both(free)[1]

    def maximum(self) -> tuple[FloatArray, FloatArray]:
        """The free parameters at the maximum and the observed information there.

        Raises:
            DataError: there is none, since part of the judgments separate perfectly.
        """
        from scipy.optimize import minimize  # not at import time: slow

        solution = minimize(
            lambda free: tuple(-part for part in self._both(free)),
            np.zeros(self.design.shape[1]),
            jac=True,
            method="BFGS",
            options={"gtol": _TOLERANCE * max(1, len(self.cells)), "maxiter": 500},
        )
        free = np.asarray(solution.x)
        if not np.isfinite(free).all() or np.abs(self.difficulties(free)).max() > 15:
            raise DataError(
                "The Rasch model has no finite estimate: some steps or raters separate the trainees perfectly."
            )
        rows = [(self.gradient(free - h) - self.gradient(free + h)) / (2 * _STEP) for h in _STEP * np.eye(len(free))]
        matrix = np.array(rows).reshape(len(free), len(free))
        return free, (matrix + matrix.T) / 2

    def _both(self, free: FloatArray) -> tuple[float, FloatArray]:
        """Log-likelihood and its gradient, from elementary symmetric functions of the items before and after each."""
        difficulty = self.difficulties(free)
        easiness = np.where(self.patterns, np.exp(-difficulty)[None, :], 0.0)
        before, after = _symmetric_functions(easiness), _symmetric_functions(easiness[:, ::-1])[:, ::-1]
        group, score = self.cells.T
        gamma = before[group, -1, score]
        expected = np.empty((len(group), easiness.shape[1]))
        for item in range(easiness.shape[1]):
            left, right = before[group, item], after[group, item + 1]
            backwards = score[:, None] - 1 - np.arange(left.shape[1])[None, :]
            others = np.where(backwards >= 0, np.take_along_axis(right, np.maximum(backwards, 0), axis=1), 0.0)
            expected[:, item] = easiness[group, item] * (left * others).sum(axis=1) / gamma
        value = -float(self.correct @ difficulty) - float(self.times @ np.log(gamma))
        slope: FloatArray = (self.times @ expected - self.correct) @ self.design
        return value, slope


def _symmetric_functions(easiness: FloatArray) -> FloatArray:
    """Elementary symmetric functions of the first 0, 1, ..., M items: ``float64[G, M + 1, M + 1]``."""
    groups, items = easiness.shape
    out = np.zeros((groups, items + 1, items + 1))
    out[:, 0, 0] = 1
    for item in range(items):
        out[:, item + 1] = out[:, item]
        out[:, item + 1, 1:] += out[:, item, :-1] * easiness[:, item, None]
    return out


def ability(x: FloatArray, difficulty: FloatArray) -> FloatArray:
    """Maximum likelihood ability of each row of 0/1 judgments (NaN: none), in logits, ``float64[P]``."""
    known = ~np.isnan(x)
    score = np.where(known, x, 0).sum(axis=1)
    theta = np.zeros(len(x))
    for _ in range(100):
        p = np.where(known, 1 / (1 + np.exp(difficulty[None, :] - theta[:, None])), 0)
        step = (score - p.sum(axis=1)) / np.maximum((p * (1 - p)).sum(axis=1), 1e-9)
        theta += np.clip(step, -1, 1)
        if np.abs(step).max(initial=0) < 1e-9:
            break
    return theta


@dataclass(frozen=True)
class Difference:
    """One step: difficulty at ``site`` minus difficulty at all other sites together, in logits.

    Attributes:
        value: the difference; above 0 is harder there.
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

    ``correct``: ``float64[P, I, R]`` as for :func:`rasch`; ``sites``: of each trainee, None is unknown and belongs to
    none.

    Raises:
        DataError: fewer than two sites with :data:`FEWEST` trainees.
    """
    sizes = Counter(site for site in sites if site is not None)
    large = sorted(site for site, size in sizes.items() if size >= FEWEST)
    if len(large) < 2:
        raise DataError(f"Difficulty by site needs two sites with {FEWEST} videos each.")
    at = np.array([site if site in large else "" for site in sites], dtype=object)
    effects = []
    for site in large if len(large) > 2 else large[:1]:  # two sites are one comparison
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

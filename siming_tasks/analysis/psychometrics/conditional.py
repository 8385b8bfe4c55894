"""The conditional likelihood of Rasch models with linear constraints, by elementary symmetric functions."""

from __future__ import annotations

import numpy as np

from siming_tasks.common.errors import DataError
from siming_tasks.metrics.score_matrix import FloatArray

__all__ = ["Likelihood", "ability"]

_STEP = 1e-5
_TOLERANCE = 1e-7


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
        """Of every item."""
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
        from scipy.optimize import minimize

        found = minimize(
            lambda free: tuple(-part for part in self._both(free)),
            np.zeros(self.design.shape[1]),
            jac=True,
            method="BFGS",
            options={"gtol": _TOLERANCE * max(1, len(self.cells)), "maxiter": 500},
        )
        free = np.asarray(found.x)
        if not np.isfinite(free).all() or np.abs(self.difficulties(free)).max() > 15:
            raise DataError(
                "The Rasch model has no finite estimate: some steps or raters separate the trainees perfectly."
            )
        return free, self._information(free)

    def _information(self, free: FloatArray) -> FloatArray:
        rows = []
        for at in range(len(free)):
            shift = np.zeros(len(free))
            shift[at] = _STEP
            rows.append((self.gradient(free - shift) - self.gradient(free + shift)) / (2 * _STEP))
        matrix = np.array(rows).reshape(len(free), len(free))
        information: FloatArray = (matrix + matrix.T) / 2
        return information

    def _both(self, free: FloatArray) -> tuple[float, FloatArray]:
        difficulty = self.difficulties(free)
        easiness = np.where(self.patterns, np.exp(-difficulty)[None, :], 0.0)
        before, after = _partial(easiness), _partial(easiness[:, ::-1])[:, ::-1]
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


def _partial(easiness: FloatArray) -> FloatArray:
    """Elementary symmetric functions of the first 0, 1, ..., M items: ``float64[G, M + 1, M + 1]``."""
    groups, items = easiness.shape
    out = np.zeros((groups, items + 1, items + 1))
    out[:, 0, 0] = 1
    for item in range(items):
        out[:, item + 1] = out[:, item]
        out[:, item + 1, 1:] += out[:, item, :-1] * easiness[:, item, None]
    return out

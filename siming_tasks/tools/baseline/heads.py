"""One head: proportional odds over the levels of a step's points, with a penalty chosen on its own training videos."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["INNER", "STRENGTHS", "HeadPrediction", "head"]

STRENGTHS = (0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0)
"""Variances, before anything is learnt, of a video's log odds: from a head that learns next to nothing upwards."""

INNER = 3
"""Folds within the training videos in which the strength is chosen."""

_DEFAULT = 3.0
_LEVEL_SPREAD = 3.0
"""Standard deviation, beforehand, of how far apart the levels stand in log odds: hardly a limit."""

Array = NDArray[np.float64]


@dataclass(frozen=True)
class HeadPrediction:
    """Prediction of a head for videos that it was not trained on.

    Attributes:
        points: the median of what it holds likely.
        strength: with which it was trained.
        chosen: whether its training videos sufficed to choose that.
    """

    points: Array
    strength: float
    chosen: bool


def head(
    train: NDArray[np.float32],
    labels: Array,
    groups: NDArray[np.int64],
    test: NDArray[np.float32],
    strengths: Sequence[float] = STRENGTHS,
) -> HeadPrediction:
    """Train on some videos, and say what others have. Nothing of the others is used, for the choice neither.

    For each level but the lowest, one logistic regression tells how likely the points reach it; all levels share the
    slopes, so that a label of 4 of 5 points is nearer to 5 than to 1. The strength is the one with the least log loss
    on training videos that were held out, group by group; the smaller one of two that do as well.

    Args:
        train: features of the training videos, shape (videos, features).
        labels: their points, at least two different ones.
        groups: of them; what is in one is held out together.
        test: features of the videos to be judged.
        strengths: to choose from, ascending.
    """
    from sklearn.model_selection import GroupKFold

    levels = np.unique(labels)
    reached = labels[:, None] >= levels[1:]
    count = min(INNER, len(np.unique(groups)))
    splits = list(GroupKFold(count).split(train, groups=groups)) if count > 1 and len(strengths) > 1 else []
    losses = np.zeros(len(strengths))
    usable = [(inside, out) for inside, out in splits if len(np.unique(labels[inside])) > 1]
    for inside, out in usable:
        seen, unseen = _rotated(train[inside], train[out])
        for place, strength in enumerate(strengths):
            chance = _reach(seen, reached[inside], unseen, strength)
            losses[place] -= np.log(np.where(reached[out], chance, 1 - chance).clip(1e-9)).sum()
    chosen = bool(usable) or len(strengths) == 1
    best = strengths[int(losses.argmin())] if chosen else _DEFAULT
    seen, unseen = _rotated(train, test)
    chance = _reach(seen, reached, unseen, best)
    return HeadPrediction(levels[(chance >= 0.5).sum(1)], best, chosen)


def _rotated(train: NDArray[np.float32], test: NDArray[np.float32]) -> tuple[Array, Array]:
    """Standardised by the training videos, on the axes that these span, with a mean square length of 1.

    A penalty on the length of the slopes is the same on any axes, and slopes never leave the span of what they learnt
    from: nothing is lost, and thousands of features become as many as there are videos.
    """
    from sklearn.preprocessing import StandardScaler

    scaler = StandardScaler().fit(train.astype(np.float64))
    known, new = (scaler.transform(some.astype(np.float64)) / np.sqrt(train.shape[1]) for some in (train, test))
    axes = np.linalg.svd(known, full_matrices=False)[2].T
    return known @ axes, new @ axes


def _reach(train: Array, reached: NDArray[np.bool_], test: Array, strength: float) -> Array:
    """Probability of each video to reach each level but the lowest, falling; shape (videos, levels - 1)."""
    from sklearn.linear_model import LogisticRegression

    step = _LEVEL_SPREAD / np.sqrt(strength)

    def rows(some: Array) -> Array:
        """One row for each video and level: its features, and which level it is."""
        marks: Any = step * np.eye(reached.shape[1])[:, 1:]
        return np.hstack([np.repeat(some, reached.shape[1], axis=0), np.tile(marks, (len(some), 1))])

    net = LogisticRegression(C=strength, solver="newton-cholesky", tol=1e-6, max_iter=200)
    net.fit(rows(train), reached.ravel())
    chance = net.predict_proba(rows(test))[:, 1].reshape(len(test), -1)
    return np.minimum.accumulate(chance, axis=1)

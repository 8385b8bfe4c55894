"""Minimal pairs: changes of an answer where, and only where, the true score differs.

Two exams of a pair differ in one act. A judge is right on a pair if its answer to the step whose true score differs
moves in that direction, and its answers to the steps whose true scores are equal do not move.

In a *history* pair the frames of the step's clip are the same in both videos. A judge that sees only the clip and
answers equal inputs equally cannot move there: at most the share of *local* pairs can be right
(:func:`clip_only_bound`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from siming_tasks.metrics.estimate import Estimate
from siming_tasks.metrics.proportion import wilson
from siming_tasks.metrics.thresholds import Z

__all__ = ["MinimalPairScores", "clip_only_bound", "score_minimal_pairs"]


@dataclass(frozen=True)
class MinimalPairScores:
    """Scores of a judge on minimal pairs; each number is a share of the answered pairs (Wilson 95 % interval).

    Attributes:
        right: moved the right way on the step and nowhere else.
        moved: moved the right way on the step, whatever happened elsewhere.
        wrong_way: moved the wrong way on the step.
        elsewhere: mean share of the steps with equal truth on which the answer moved all the same.
        bound: largest ``right`` (and ``moved``) that a clip-only deterministic judge can reach.
    """

    right: Estimate
    moved: Estimate
    wrong_way: Estimate
    elsewhere: Estimate
    bound: float | None

    def to_json(self) -> dict[str, Any]:
        """Plain JSON types."""
        return asdict(self)


def score_minimal_pairs(
    first: NDArray[np.float64],
    second: NDArray[np.float64],
    target: NDArray[np.int64],
    direction: NDArray[np.float64],
    unchanged: NDArray[np.bool_],
    kinds: Sequence[str],
    answer: Literal["score", "error"] = "score",
) -> MinimalPairScores:
    """Score a judge on P pairs over S steps.

    Args:
        first: answers for video a, shape (P, S): points, or 1.0 wrong / 0.0 correct; NaN: no answer.
        second: the same for video b.
        target: index of the step whose true score differs, shape (P,).
        direction: +1 if video b scores truly higher there, -1 if lower, shape (P,).
        unchanged: steps whose true scores are equal in both, shape (P, S).
        kinds: "history" or "local" for each pair.
        answer: "error" turns the direction round (a higher score is a lower verdict).

    Returns:
        Pairs without an answer to the target step in both videos are left out of every share and lower ``coverage``.
        Steps elsewhere count if both answers are there.

    Raises:
        ValueError: the shapes do not belong together, a direction is not +1 or -1, or a target step is ``unchanged``.
    """
    number = int(first.shape[0])
    shapes = (second.shape == first.shape, unchanged.shape == first.shape, target.shape == (number,))
    if not all(shapes) or direction.shape != (number,) or len(kinds) != number:
        raise ValueError("answers and `unchanged` must be (pairs, steps); target, direction and kinds one per pair")
    if not np.isin(direction, (-1, 1)).all():
        raise ValueError("direction must be +1 or -1")
    row = np.arange(number)
    if unchanged[row, target].any():
        raise ValueError("a target step is listed as unchanged; nothing could move there")

    sign = direction * (1.0 if answer == "score" else -1.0)
    change = second - first
    movement = change[row, target] * sign
    answered = np.isfinite(movement)
    comparable = unchanged & np.isfinite(change)
    strayed = (np.nan_to_num(change) != 0) & comparable
    share = strayed.sum(1) / np.maximum(comparable.sum(1), 1)
    moved = movement[answered] > 0
    coverage = float(answered.mean()) if number else None
    return MinimalPairScores(
        right=_share(moved & ~strayed[answered].any(1), coverage),
        moved=_share(moved, coverage),
        wrong_way=_share(movement[answered] < 0, coverage),
        elsewhere=_mean(share[answered & (comparable.sum(1) > 0)], coverage),
        bound=clip_only_bound([kind for kind, there in zip(kinds, answered, strict=True) if there]),
    )


def clip_only_bound(kinds: Sequence[str]) -> float | None:
    """Share of pairs that a deterministic clip-only judge can get right at most: the local ones; None without pairs."""
    return sum(kind == "local" for kind in kinds) / len(kinds) if kinds else None


def _share(hits: NDArray[np.bool_], coverage: float | None) -> Estimate:
    """Share of hits with its Wilson interval; a pair is the unit."""
    n = len(hits)
    if n == 0:
        return Estimate(None, reason="No pair was answered.", coverage=coverage)
    interval = wilson(int(hits.sum()), n)
    value = float(hits.mean())
    stderr = float(np.sqrt(value * (1 - value) / n))
    return Estimate(value, stderr, interval.low, interval.high, n_videos=2 * n, n_items=n, coverage=coverage)


def _mean(shares: NDArray[np.float64], coverage: float | None) -> Estimate:
    """Mean with a normal interval; a pair is the unit."""
    n = len(shares)
    if n == 0:
        return Estimate(None, reason="No pair was answered elsewhere.", coverage=coverage)
    value = float(shares.mean())
    stderr = float(shares.std(ddof=1) / np.sqrt(n)) if n > 1 else None
    half = Z * stderr if stderr is not None else None
    low, high = (max(value - half, 0.0), min(value + half, 1.0)) if half is not None else (None, None)
    return Estimate(value, stderr, low, high, n_videos=2 * n, n_items=n, coverage=coverage)

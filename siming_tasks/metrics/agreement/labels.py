"""Points to the four ordered labels of the paper's appendix E.2 (equation 3)."""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

__all__ = ["LEVELS", "MAPPINGS", "LabelMapping", "ordinal_labels"]

LabelMapping = Literal["absolute", "proportional"]
MAPPINGS: tuple[LabelMapping, ...] = ("absolute", "proportional")

LEVELS = ("failed", "clearly deficient", "minor deduction", "fully correct")
"""Names of the labels 0, 1, 2, 3."""


def ordinal_labels(
    points: ArrayLike, max_score: ArrayLike, mapping: LabelMapping = "absolute", *, cut: float = 2 / 3
) -> NDArray[np.int8]:
    """Label 3 (fully correct), 2 (minor deduction), 1 (clearly deficient) or 0 (failed) for each number of points.

    Equation 3 of the paper is not legible, so both readings of its text are here; a step with no points is failed in
    either. With d = max_score - points:

    * ``absolute``: points <= 0 -> 0; d = 0 -> 3; d <= 1 -> 2; else 1.
    * ``proportional``: points <= 0 -> 0; d = 0 -> 3; points / max_score >= ``cut`` -> 2; else 1.

    Args:
        points: raw points, any shape; NaN is "no label".
        max_score: points of the step, broadcast against ``points``.
        mapping: which reading.
        cut: the share of points that still is a minor deduction; only for ``proportional`` (2/3 is our choice).

    Returns:
        ``int8`` of the broadcast shape; -1 where points are NaN.

    Raises:
        ValueError: an unknown mapping.

    Example:
        >>> ordinal_labels([0, 1, 4, 5, float("nan")], 5).tolist()
        [0, 1, 2, 3, -1]
    """
    if mapping not in MAPPINGS:
        raise ValueError(f"mapping is {mapping!r}; known are {', '.join(MAPPINGS)}")
    earned, top = np.broadcast_arrays(np.asarray(points, np.float64), np.asarray(max_score, np.float64))
    # 1e-9 absorbs the noise of 0.1 + 0.2, so that a deduction of exactly one point stays one.
    minor = (top - earned <= 1 + 1e-9) if mapping == "absolute" else (earned >= cut * top - 1e-9)
    labels = np.where(earned >= top - 1e-9, 3, np.where(minor, 2, 1))
    labels = np.where(earned <= 1e-9, 0, labels)
    return np.where(np.isnan(earned), -1, labels).astype(np.int8)

"""Points to the four ordered labels of the paper's appendix E.2 (equation 3)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

__all__ = ["CUTS", "LEVELS", "MAPPINGS", "LabelMapping", "ordinal_labels"]

LabelMapping = Literal["absolute", "proportional", "proportional-3/4"]
MAPPINGS: tuple[LabelMapping, ...] = ("absolute", "proportional", "proportional-3/4")
CUTS: Mapping[str, float] = {"proportional": 2 / 3, "proportional-3/4": 3 / 4}
"""The share of points that still is a minor deduction, of the readings that go by one."""

LEVELS = ("failed", "clearly deficient", "minor deduction", "fully correct")
"""Names of the labels 0, 1, 2, 3."""


def ordinal_labels(points: ArrayLike, max_score: ArrayLike, mapping: LabelMapping = "absolute") -> NDArray[np.int8]:
    """Label 3 (fully correct), 2 (minor deduction), 1 (clearly deficient) or 0 (failed) for each number of points.

    Equation 3 of the paper is not legible, so all readings of its text are here; a step with no points is failed in
    either. With d = max_score - points:

    * ``absolute``: points <= 0 -> 0; d = 0 -> 3; d <= 1 -> 2; else 1.
    * ``proportional`` and ``proportional-3/4``: points <= 0 -> 0; d = 0 -> 3; points / max_score >= 2/3, or 3/4,
      -> 2; else 1.

    Args:
        points: raw points, any shape; NaN is "no label".
        max_score: points of the step, broadcast against ``points``.
        mapping: which reading.

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
    minor = (top - earned <= 1 + 1e-9) if mapping == "absolute" else (earned >= CUTS[mapping] * top - 1e-9)
    labels = np.where(earned >= top - 1e-9, 3, np.where(minor, 2, 1))
    labels = np.where(earned <= 1e-9, 0, labels)
    return np.where(np.isnan(earned), -1, labels).astype(np.int8)

"""Points as ordered labels (equation 3 of the paper) and the quadratic weighted kappa of two sets of such labels."""

from __future__ import annotations

from typing import get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from siming_tasks.benchmark.metrics.classification import ratio
from siming_tasks.common.choices import LabelMapping

MAPPINGS: tuple[LabelMapping, ...] = get_args(LabelMapping)
CUTS: dict[str, float] = {"proportional": 2 / 3, "proportional-3/4": 3 / 4}
"""The share of points that still is a minor deduction, of the readings that go by one."""
_X, _Y = np.divmod(np.arange(16.0), 4)


def ordinal_labels(points: ArrayLike, max_score: ArrayLike, mapping: LabelMapping = "absolute") -> NDArray[np.int8]:
    """Label 3 (fully correct), 2 (minor deduction), 1 (clearly deficient) or 0 (failed) for each number of points.

    Equation 3 of the paper's appendix E.2 is not legible, so all readings of its text are here; a step with no points
    is failed in either. With d = max_score - points:

    * ``absolute``: points <= 0 -> 0; d = 0 -> 3; d <= 1 -> 2; otherwise 1.
    * ``proportional`` and ``proportional-3/4``: points <= 0 -> 0; d = 0 -> 3; points / max_score >= 2/3, or 3/4, -> 2;
    otherwise 1.

    Args:
        points: raw points, any shape; NaN is "no label".
        max_score: points of the step, broadcast against ``points``.
        mapping: which reading; ValueError for an unknown one.

    Returns:
        ``int8`` of the broadcast shape; -1 where points are NaN.

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


def qwk(counts: NDArray[np.float64]) -> NDArray[np.float64]:
    """Cohen's kappa with quadratic weights, by its moment form ``2 cov(x, y) / (var x + var y + (mean x - mean y)^2)``.

    Equals equations 4-7 of the paper. From confusion counts ``float64[..., 16]`` (column ``4 * reference + predicted``)
    kappa ``float64[...]`` in [-1, 1]; NaN where it is 0/0 (both sides constant on the same label, or no pairs).

    Example:
        >>> table = np.zeros((4, 4)); table[0, 0] = table[3, 3] = 5
        >>> float(qwk(table.ravel()))
        1.0
    """
    n, x, y, xx, yy, xy = (counts @ weight for weight in (np.ones(16), _X, _Y, _X * _X, _Y * _Y, _X * _Y))
    numerator = 2 * (n * xy - x * y)
    denominator = (n * xx - x * x) + (n * yy - y * y) + (x - y) ** 2
    return ratio(numerator, denominator)

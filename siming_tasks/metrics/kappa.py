"""Points as ordered labels, and the quadratic weighted kappa of two sets of labels, with two other corrections."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from siming_tasks.metrics.score_matrix import FloatArray

LabelMapping = Literal["absolute", "proportional", "proportional-3/4"]
MAPPINGS: tuple[LabelMapping, ...] = ("absolute", "proportional", "proportional-3/4")
CUTS: Mapping[str, float] = {"proportional": 2 / 3, "proportional-3/4": 3 / 4}
"""The share of points that still is a minor deduction, of the readings that go by one."""

LEVELS = ("failed", "clearly deficient", "minor deduction", "fully correct")
"""Names of the labels 0, 1, 2, 3."""

_K = len(LEVELS)
_X, _Y = (grid.ravel().astype(np.float64) for grid in np.meshgrid(range(_K), range(_K), indexing="ij"))
MOMENTS = np.stack([np.ones(_K * _K), _X, _Y, _X * _X, _Y * _Y, _X * _Y], axis=1)
"""Times confusion counts (flattened as 4 * reference + prediction): n, sum x, sum y, sum xx, sum yy, sum xy."""


def ordinal_labels(points: ArrayLike, max_score: ArrayLike, mapping: LabelMapping = "absolute") -> NDArray[np.int8]:
    """Label 3 (fully correct), 2 (minor deduction), 1 (clearly deficient) or 0 (failed) for each number of points.

    Equation 3 of the paper's appendix E.2 is not legible, so all readings of its text are here; a step with no points
    is failed in either. With d = max_score - points:

    * ``absolute``: points <= 0 -> 0; d = 0 -> 3; d <= 1 -> 2; else 1.
    * ``proportional`` and ``proportional-3/4``: points <= 0 -> 0; d = 0 -> 3; points / max_score >= 2/3, or 3/4,
      -> 2; else 1.

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


def confusion(reference: NDArray[np.int8], predicted: NDArray[np.int8]) -> FloatArray:
    """Confusion counts of each row, ``float64[V, 16]``; column ``4 * reference + predicted``.

    Labels are 0..3, ``int8[V, S]``; a pair with a -1 (no label) on either side is left out.
    """
    rows, cells = len(reference), _K * _K
    both = (reference >= 0) & (predicted >= 0)
    code = np.where(both, _K * reference.astype(np.int64) + predicted, cells) + np.arange(rows)[:, None] * (cells + 1)
    counts = np.bincount(code.ravel(), minlength=rows * (cells + 1)).reshape(rows, cells + 1)
    return counts[:, :cells].astype(np.float64)


def qwk(counts: FloatArray) -> FloatArray:
    """Cohen's kappa with quadratic weights, by its moment form ``2 cov(x, y) / (var x + var y + (mean x - mean y)^2)``.

    Equals equations 4-7 of the paper. Integer counts keep every sum exact, so a constant gives exactly 0. From pooled
    counts ``float64[..., 16]`` (:func:`confusion`) kappa ``float64[...]`` in [-1, 1]; NaN where it is 0/0 (both sides
    constant on the same label, or no pairs).

    Example:
        >>> table = np.zeros((4, 4)); table[0, 0] = table[3, 3] = 5
        >>> float(qwk(table.ravel()))
        1.0
    """
    moments = counts @ MOMENTS
    n, x, y, xx, yy, xy = (moments[..., k] for k in range(6))
    numerator = 2 * (n * xy - x * y)
    denominator = (n * xx - x * x) + (n * yy - y * y) + (x - y) ** 2
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(denominator > 0, numerator / denominator, np.nan)


def qwk_slope(moments: FloatArray) -> FloatArray:
    """Gradient of :func:`qwk` in the sums of :data:`MOMENTS`, ``float64[..., 6]`` to the same shape; NaN where 0/0."""
    n, x, y, xx, yy, xy = np.moveaxis(moments, -1, 0)
    bottom = (n * xx - x * x) + (n * yy - y * y) + (x - y) ** 2
    with np.errstate(invalid="ignore", divide="ignore"):
        k = np.where(bottom > 0, 2 * (n * xy - x * y) / bottom, np.nan)
        parts = [2 * xy - k * (xx + yy), 2 * (k - 1) * y, 2 * (k - 1) * x, -k * n, -k * n, 2 * n + 0 * k]
        slope: FloatArray = np.stack(parts, axis=-1) / bottom[..., None]
    return slope

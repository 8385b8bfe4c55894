"""Quadratic weighted kappa from confusion counts."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from siming_tasks.metrics.agreement.labels import LEVELS
from siming_tasks.metrics.score_matrix import FloatArray

__all__ = ["MOMENTS", "confusion", "qwk", "qwk_slope"]

_K = len(LEVELS)
_X, _Y = (grid.ravel().astype(np.float64) for grid in np.meshgrid(range(_K), range(_K), indexing="ij"))
MOMENTS = np.stack([np.ones(_K * _K), _X, _Y, _X * _X, _Y * _Y, _X * _Y], axis=1)
"""Times confusion counts (flattened as 4 * reference + prediction): n, sum x, sum y, sum xx, sum yy, sum xy."""


def confusion(reference: NDArray[np.int8], predicted: NDArray[np.int8]) -> FloatArray:
    """Confusion counts of each row.

    Args:
        reference: labels 0..3, ``int8[V, S]``; -1 is no label.
        predicted: the same shape; a pair with a -1 on either side is left out.

    Returns:
        ``float64[V, 16]``; column ``4 * reference + predicted``.
    """
    rows, cells = len(reference), _K * _K
    both = (reference >= 0) & (predicted >= 0)
    code = np.where(both, _K * reference.astype(np.int64) + predicted, cells) + np.arange(rows)[:, None] * (cells + 1)
    counts = np.bincount(code.ravel(), minlength=rows * (cells + 1)).reshape(rows, cells + 1)
    return counts[:, :cells].astype(np.float64)


def qwk(counts: FloatArray) -> FloatArray:
    """Cohen's kappa with quadratic weights, by its moment form ``2 cov(x, y) / (var x + var y + (mean x - mean y)^2)``.

    Equals equations 4-7 of the paper. Integer counts keep every sum exact, so a constant gives exactly 0.

    Args:
        counts: pooled confusion counts ``float64[..., 16]`` as :func:`confusion` lays them out.

    Returns:
        Kappa ``float64[...]`` in [-1, 1]; NaN where it is 0/0 (both sides constant on the same label, or no pairs).

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

"""Standard errors in closed form: what a metric varies by to first order (its influence function, linearised).

A metric of sums ``S`` of per-video columns ``c_v`` with gradient ``g`` at ``S`` has the variance
``m / (m - 1) * sum over videos of (g . c_v)^2``: the same formula for the data and, with its weights, for every
resample, which is what an interval from studentised resamples needs. No centring: the metrics here do not change when
all sums are doubled, so ``g . S`` is zero.
"""

from __future__ import annotations

import numpy as np

from siming_tasks.metrics.agreement.correlation import POWERS, from_moments
from siming_tasks.metrics.score_matrix import FloatArray, IntArray

__all__ = ["fisher", "jackknife_error", "linear_error", "products"]


def products(columns: FloatArray) -> FloatArray:
    """Products of every two columns, ``float64[V, k]`` to ``float64[V, k (k + 1) / 2]``; of unequal ones doubled."""
    first, other = np.triu_indices(columns.shape[1])
    return np.where(first == other, 1.0, 2.0) * columns[:, first] * columns[:, other]


def linear_error(slope: FloatArray, summed: FloatArray, pairs: tuple[IntArray, IntArray], videos: int) -> FloatArray:
    """Standard error of a metric.

    Args:
        slope: its gradient in the columns' sums, ``float64[B, k]``.
        summed: sums of :func:`products`, ``float64[B, k (k + 1) / 2]``.
        pairs: positions of the two columns of each product.
        videos: that the metric rests on.

    Returns:
        ``float64[B]``; NaN where the gradient is.
    """
    first, other = pairs
    variance = np.einsum("bk,bk,bk->b", slope[:, first], slope[:, other], summed)
    error: FloatArray = np.sqrt(np.maximum(variance, 0) * (videos / max(1, videos - 1)))
    return error


def fisher(sums: FloatArray, videos: int) -> FloatArray:
    """Linearised standard error of ``atanh`` of a Pearson correlation, ``float64[B]``.

    The influence of a video on r is ``zx zy - r (zx^2 + zy^2) / 2`` with zx, zy its standardised totals; its mean
    square is a sum of moments up to the fourth.

    Args:
        sums: of the products of powers of both totals, in the order of
            :data:`siming_tasks.metrics.agreement.correlation.POWERS`, ``float64[B, 15]``.
        videos: that have both totals.
    """
    if videos < 2:
        return np.full(len(sums), np.nan)
    raw = dict(zip(POWERS, sums.T, strict=True))
    count = raw[0, 0]
    r = from_moments(count, *(raw[key] for key in ((1, 0), (0, 1), (2, 0), (0, 2), (1, 1))))
    with np.errstate(invalid="ignore", divide="ignore"):
        mean = {key: value / count for key, value in raw.items()}
        mx, my = mean[1, 0], mean[0, 1]
        m20, m02 = mean[2, 0] - mx**2, mean[0, 2] - my**2
        m11 = mean[1, 1] - mx * my
        m22 = (mean[2, 2] - 2 * my * mean[2, 1] - 2 * mx * mean[1, 2] + my**2 * mean[2, 0] + mx**2 * mean[0, 2]
               + 4 * mx * my * mean[1, 1] - 3 * mx**2 * my**2)  # fmt: skip
        m31 = mean[3, 1] - my * mean[3, 0] - 3 * mx * (mean[2, 1] - my * mean[2, 0]) + 3 * mx**2 * m11
        m13 = mean[1, 3] - mx * mean[0, 3] - 3 * my * (mean[1, 2] - mx * mean[0, 2]) + 3 * my**2 * m11
        m40 = mean[4, 0] - 4 * mx * mean[3, 0] + 6 * mx**2 * mean[2, 0] - 3 * mx**4
        m04 = mean[0, 4] - 4 * my * mean[0, 3] + 6 * my**2 * mean[0, 2] - 3 * my**4
        zz = m22 / (m20 * m02)
        cubes = m31 / (np.sqrt(m20 * m02) * m20) + m13 / (np.sqrt(m20 * m02) * m02)
        square = zz - r * cubes + r**2 / 4 * (m40 / m20**2 + 2 * zz + m04 / m02**2)
        error: FloatArray = np.sqrt(np.maximum(square, 0) / (videos - 1)) / (1 - r**2)
    return error


def jackknife_error(left_out: FloatArray) -> float:
    """Standard error from n leave-one-out values, NaN if one of them has no value."""
    n = len(left_out)
    return float(np.sqrt((n - 1) / n * ((left_out - left_out.mean()) ** 2).sum())) if n > 1 else float("nan")

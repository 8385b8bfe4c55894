"""Agreement of totals: intraclass correlations, Lin's concordance, Bland-Altman limits with their intervals."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from siming_tasks.common.errors import DataError
from siming_tasks.metrics.estimate import Estimate
from siming_tasks.metrics.score_matrix import FloatArray
from siming_tasks.metrics.thresholds import LEVEL, Z

_FEW = "Fewer than three videos with totals of all raters."
_TAIL = (1 + LEVEL) / 2
_NOISE = 1e-12


@dataclass(frozen=True)
class IntraclassCorrelation:
    """Two-way intraclass correlations (McGraw & Wong 1996), intervals from the F distribution.

    Attributes:
        agreement: ICC(A,1): one rater's totals as they stand; an offset counts as error. Shrout & Fleiss's (2,1).
        consistency: ICC(C,1): offsets of raters do not count. Shrout & Fleiss's (3,1).
        mean_agreement: ICC(A,k): the mean of the k raters.
        mean_consistency: ICC(C,k); Cronbach's alpha over raters.
        raters: k.
    """

    agreement: Estimate
    consistency: Estimate
    mean_agreement: Estimate
    mean_consistency: Estimate
    raters: int


@dataclass(frozen=True)
class BlandAltman:
    """First minus second, in the unit of the totals (Bland & Altman 1999), t intervals.

    Attributes:
        bias: mean difference.
        sd: standard deviation of the differences.
        lower: lower limit of agreement, bias - 1.96 sd; ``upper``: upper limit.
        slope: change of the difference for each unit of the mean of both: 0 if strong and weak examinees are treated
            alike.
    """

    bias: Estimate
    sd: float | None
    lower: Estimate
    upper: Estimate
    slope: Estimate


def icc(totals: FloatArray) -> IntraclassCorrelation:
    """Intraclass correlations of ``float64[V, K]`` totals; videos without all K are left out.

    Undefined where all totals are equal, or with fewer than three videos.

    Raises:
        DataError: fewer than two raters.

    Example:
        >>> import numpy as np
        >>> print(icc(np.array([[9, 2, 5, 8], [6, 1, 3, 2], [8, 4, 6, 8], [7, 1, 2, 6], [10, 5, 6, 9], [6, 2, 4, 7.0]])).consistency)
        0.715 [0.342, 0.946]
    """  # noqa: E501
    if totals.ndim != 2 or totals.shape[1] < 2:
        raise DataError("Intraclass correlations need the totals of two raters or more.")
    x = totals[~np.isnan(totals).any(axis=1)]
    n, k = x.shape
    if n < 3:
        none = Estimate(None, n_videos=n, n_items=n, reason=_FEW)
        return IntraclassCorrelation(none, none, none, none, k)
    # Mean squares of rows, columns and the rest of a two-way table.
    grand, of_rows, of_columns = x.mean(), x.mean(axis=1), x.mean(axis=0)
    residual = x - of_rows[:, None] - of_columns[None, :] + grand
    rows = float(k * np.square(of_rows - grand).sum() / (n - 1))
    columns = float(n * np.square(of_columns - grand).sum() / (k - 1))
    rest = float(np.square(residual).sum() / ((n - 1) * (k - 1)))
    if rows + rest <= _NOISE * max(1.0, float(np.square(x).mean())):
        none = _all_equal(n)
        return IntraclassCorrelation(none, none, none, none, k)
    single_rater = float((rows - rest) / (rows + (k - 1) * rest + k / n * (columns - rest)))
    low, high = _agreement_interval(single_rater, rows, columns, rest, n, k)
    f = float(rows / rest) if rest > 0 else math.inf
    f_low, f_high = f / _quantile(n - 1, (n - 1) * (k - 1)), f * _quantile((n - 1) * (k - 1), n - 1)

    def estimate(value: float, low: float, high: float) -> Estimate:
        return Estimate(value, low=low, high=high, n_videos=n, n_items=n)

    def single(ratio: float) -> float:
        return 1.0 if math.isinf(ratio) else float((ratio - 1) / (ratio + k - 1))

    def several(value: float) -> float:  # Spearman-Brown
        return float(k * value / (1 + (k - 1) * value))

    return IntraclassCorrelation(
        agreement=estimate(single_rater, low, high),
        consistency=estimate(single(f), single(f_low), single(f_high)),
        mean_agreement=estimate((rows - rest) / (rows + (columns - rest) / n), several(low), several(high)),
        mean_consistency=estimate(1 - 1 / f, 1 - 1 / f_low, 1 - 1 / f_high),
        raters=k,
    )


def _agreement_interval(value: float, rows: float, columns: float, rest: float, n: int, k: int) -> tuple[float, float]:
    """McGraw & Wong 1996, table 7, case 2A."""
    if value >= 1 - _NOISE:
        return 1.0, 1.0
    a, b = k * value / (n * (1 - value)), 1 + k * value * (n - 1) / (n * (1 - value))
    spread = (a * columns) ** 2 / (k - 1) + (b * rest) ** 2 / ((n - 1) * (k - 1))
    freedom = (a * columns + b * rest) ** 2 / spread
    error, above, below = k * columns + (k * n - k - n) * rest, _quantile(n - 1, freedom), _quantile(freedom, n - 1)
    low, high = n * (rows - above * rest) / (above * error + n * rows), n * (below * rows - rest)
    return float(low), float(high / (error + n * below * rows))


def _quantile(numerator_df: float, denominator_df: float) -> float:
    from scipy.stats import f  # not at import time: slow

    return float(f.ppf(_TAIL, numerator_df, denominator_df))


def _all_equal(n: int) -> Estimate:
    return Estimate(0.0, undefined=True, n_videos=n, n_items=n, reason="All totals of a rater are equal: 0/0.")


def concordance(first: FloatArray, second: FloatArray) -> Estimate:
    """Lin's concordance correlation of two ``float64[V]``, with the interval of Fisher's z (Lin 1989, 2000)."""
    known = ~np.isnan(first) & ~np.isnan(second)
    x, y = first[known], second[known]
    n = len(x)
    if n < 3:
        return Estimate(None, n_videos=n, n_items=n, reason=_FEW)
    vx, vy, cov = x.var(), y.var(), ((x - x.mean()) * (y - y.mean())).mean()
    scale = vx + vy + (x.mean() - y.mean()) ** 2
    if min(vx, vy) <= _NOISE * max(1.0, float(np.square(x).mean())):
        return _all_equal(n)
    value, r = 2 * cov / scale, cov / math.sqrt(vx * vy)
    if abs(value) >= 1 - _NOISE or abs(r) < _NOISE:
        return Estimate(max(-1.0, min(1.0, value)), n_videos=n, n_items=n)
    u2 = (x.mean() - y.mean()) ** 2 / math.sqrt(vx * vy)
    variance = (
        (1 - r**2) * value**2 * (1 - value**2) / r**2
        + 2 * value**3 * (1 - value) * u2 / r
        - value**4 * u2**2 / (2 * r**2)
    ) / (n - 2)
    stderr = math.sqrt(max(variance, 0.0))
    z, half = math.atanh(value), Z * stderr / (1 - value**2)
    return Estimate(value, stderr, math.tanh(z - half), math.tanh(z + half), n, n)


def bland_altman(first: FloatArray, second: FloatArray) -> BlandAltman:
    """Mean difference, limits of agreement and slope of two ``float64[V]``; no value with fewer than three videos."""
    from scipy.stats import linregress, t  # not at import time: slow

    known = ~np.isnan(first) & ~np.isnan(second)
    gap, middle = first[known] - second[known], (first[known] + second[known]) / 2
    n = len(gap)
    if n < 3:
        nothing = Estimate(None, n_videos=n, n_items=n, reason=_FEW)
        return BlandAltman(nothing, None, nothing, nothing, nothing)
    bias, sd = float(gap.mean()), float(gap.std(ddof=1))

    def around(value: float, stderr: float, freedom: int = n - 1) -> Estimate:
        reach = float(t.ppf(_TAIL, freedom))
        return Estimate(value, stderr, value - reach * stderr, value + reach * stderr, n, n)

    limit = sd * math.sqrt(1 / n + Z**2 / (2 * (n - 1)))
    if np.ptp(middle) <= _NOISE * max(1.0, float(np.abs(middle).max())):
        slope = Estimate(0.0, undefined=True, n_videos=n, n_items=n, reason="All means of two totals are equal: 0/0.")
    else:
        line = linregress(middle, gap)
        # SciPy has no error of the slope where the difference is the same in every video: the line is exact.
        slope = around(float(line.slope), 0.0 if np.ptp(gap) == 0 else float(line.stderr), n - 2)
    lower, upper = around(bias - Z * sd, limit), around(bias + Z * sd, limit)
    return BlandAltman(around(bias, sd / math.sqrt(n)), sd, lower, upper, slope)

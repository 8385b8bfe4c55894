"""Agreement of totals: intraclass correlations, Lin's concordance, Bland-Altman limits, by the jackknife over clusters.

Intervals are Student's t of the jackknife, which leaves out one cluster (a video, unless told otherwise) at a time: no
distribution of the totals is assumed. Those of normal theory (F, Fisher's z) cover the truth in 60 to 80 % of samples
where a few trainees are far weaker than all others.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from siming_tasks.common.errors import DataError
from siming_tasks.metrics.estimate import Estimate
from siming_tasks.metrics.intervals import finish
from siming_tasks.metrics.resample import jackknife_spread
from siming_tasks.metrics.score_matrix import BoolArray, FloatArray
from siming_tasks.metrics.thresholds import Z

Formula = Callable[[FloatArray], FloatArray]
"""Sums over videos ``float64[B, C]`` to values ``float64[B]``, NaN where undefined."""

_FEW = "Fewer than three videos with totals of all raters."
_UNDEFINED = "Totals of the raters do not vary as this needs: 0/0."
_NOISE = 1e-12


@dataclass(frozen=True)
class IntraclassCorrelation:
    """Two-way intraclass correlations (McGraw & Wong 1996).

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
class TotalsAgreement:
    """Agreement of two totals, first minus second, in their unit.

    Attributes:
        bias: mean difference (Bland & Altman 1999).
        sd: standard deviation of the differences.
        lower: lower limit of agreement, bias - 1.96 sd; ``upper``: upper limit.
        slope: change of the difference for each unit of the mean of both: below 0 if the first spreads the examinees
            less than the second, 0 if strong and weak examinees are treated alike.
        icc: ICC(A,1), absolute agreement of the totals (McGraw & Wong 1996).
        concordance: Lin's concordance correlation of the totals (1989).
    """

    bias: Estimate
    sd: Estimate
    lower: Estimate
    upper: Estimate
    slope: Estimate
    icc: Estimate
    concordance: Estimate


def icc(totals: FloatArray, clusters: Sequence[str] | None = None) -> IntraclassCorrelation:
    """Intraclass correlations of ``float64[V, K]`` totals; videos without all K are left out.

    ``clusters`` has the name of each video's cluster; by default every video is its own. Undefined where all totals
    are equal; no value with fewer than three videos.

    Raises:
        DataError: fewer than two raters.

    Example:
        >>> import numpy as np
        >>> print(icc(np.array([[9, 2, 5, 8], [6, 1, 3, 2], [8, 4, 6, 8], [7, 1, 2, 6], [10, 5, 6, 9], [6, 2, 4, 7.0]])).consistency)
        0.715
    """  # noqa: E501
    if totals.ndim != 2 or totals.shape[1] < 2:
        raise DataError("Intraclass correlations need the totals of two raters or more.")
    k = totals.shape[1]
    known: BoolArray = np.asarray(~np.isnan(totals).any(axis=1))
    x = totals[known] - (np.median(totals[known]) if known.any() else 0.0)  # keeps the sums small
    terms = np.column_stack([np.ones(len(x)), x.sum(axis=1) ** 2, (x * x).sum(axis=1), x])
    formulas = {name: partial(formula, k=k) for name, formula in _INTRACLASS.items()}
    least = -1 / (k - 1)
    bounds = {"agreement": (least, 1.0), "consistency": (least, 1.0)}
    bounds |= {"mean_agreement": (-np.inf, 1.0), "mean_consistency": (-np.inf, 1.0)}
    estimates = _jackknifed(formulas, terms, _of(known, clusters), bounds)
    return IntraclassCorrelation(**estimates, raters=k)


def totals_agreement(first: FloatArray, second: FloatArray, clusters: Sequence[str] | None = None) -> TotalsAgreement:
    """Limits of agreement, slope, ICC(A,1) and Lin's concordance of two ``float64[V]``, NaN left out.

    ``clusters`` as in :func:`icc`. No value with fewer than three videos.
    """
    known = ~np.isnan(first) & ~np.isnan(second)
    x, y = first[known], second[known]
    middle = np.median(np.concatenate([x, y])) if len(x) else 0.0
    x, y = x - middle, y - middle
    terms = np.column_stack([np.ones_like(x), x, y, x * x, y * y, x * y])
    bounds = {"sd": (0.0, np.inf), "icc": (-1.0, 1.0), "concordance": (-1.0, 1.0)}
    return TotalsAgreement(**_jackknifed(_PAIR, terms, _of(known, clusters), bounds))


def _of(known: BoolArray, clusters: Sequence[str] | None) -> list[str] | None:
    """The clusters of the videos that are known."""
    return None if clusters is None else [name for name, keep in zip(clusters, known, strict=True) if keep]


def _jackknifed(
    formulas: Mapping[str, Formula],
    terms: FloatArray,
    clusters: Sequence[str] | None,
    bounds: Mapping[str, tuple[float, float]],
) -> dict[str, Estimate]:
    """Formulas of the sums of per-video ``terms``, ``float64[V, C]``, each with the t interval of its jackknife."""
    n = len(terms)
    if n < 3:
        return dict.fromkeys(formulas, Estimate(None, n_videos=n, n_items=n, reason=_FEW))
    if clusters is not None:
        place = np.unique(np.array(clusters), return_inverse=True)[1]
        terms, single = np.zeros((place.max() + 1, terms.shape[1])), terms
        np.add.at(terms, place, single)
    whole, estimates = terms.sum(axis=0), {}
    for name, formula in formulas.items():
        value = float(formula(whole[None])[0])
        with np.errstate(invalid="ignore", divide="ignore"):  # without a cluster that has all videos
            spread = jackknife_spread(value, formula(whole - terms))
        low, high = bounds.get(name, (-np.inf, np.inf))
        low, high = min(low, value), max(high, value)  # of opposed raters the estimate itself lies below -1/(k - 1)
        clipped = spread._replace(low=max(spread.low, low), high=min(spread.high, high))
        is_known = not np.isnan(spread.stderr)
        estimates[name] = finish(
            value,
            clipped if is_known else None,
            videos=n,
            clusters=len(terms),
            items=n,
            why=_UNDEFINED,
            flags=() if is_known or np.isnan(value) else ("undefined-replicates",),
        )
    return estimates


def _mean_squares(sums: FloatArray, k: int) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
    """Videos, and mean squares of videos, raters and the rest of a two-way table, ``float64[B]`` each.

    The mean squares are NaN where no total varies from video to video.
    """
    n, squares, each = sums[:, 0], sums[:, 1], sums[:, 2]
    columns_of, grand = sums[:, 3:], sums[:, 3:].sum(axis=1)
    with np.errstate(invalid="ignore", divide="ignore"):
        correction = grand**2 / (n * k)
        of_rows, of_columns = squares / k - correction, (columns_of**2).sum(axis=1) / n - correction
        of_rest = each - correction - of_rows - of_columns
        noise = _NOISE * np.maximum(1.0, each / (n * k)) * n
        of_rest, of_rows = (np.where(part > noise, part, 0.0) for part in (of_rest, of_rows))
        varies = of_rows + of_rest > 0
        rows, columns, rest = of_rows / (n - 1), of_columns / (k - 1), of_rest / ((n - 1) * (k - 1))
    return n, np.where(varies, rows, np.nan), columns, rest


def _agreement(sums: FloatArray, k: int) -> FloatArray:
    n, rows, columns, rest = _mean_squares(sums, k)
    return _ratio(rows - rest, rows + (k - 1) * rest + k / n * (columns - rest))


def _consistency(sums: FloatArray, k: int) -> FloatArray:
    _, rows, _, rest = _mean_squares(sums, k)
    return _ratio(rows - rest, rows + (k - 1) * rest)


def _mean_agreement(sums: FloatArray, k: int) -> FloatArray:
    n, rows, columns, rest = _mean_squares(sums, k)
    return _ratio(rows - rest, rows + (columns - rest) / n)


def _mean_consistency(sums: FloatArray, k: int) -> FloatArray:
    _, rows, _, rest = _mean_squares(sums, k)
    return _ratio(rows - rest, rows)


_INTRACLASS = {
    "agreement": _agreement,
    "consistency": _consistency,
    "mean_agreement": _mean_agreement,
    "mean_consistency": _mean_consistency,
}


def _moments(sums: FloatArray) -> tuple[FloatArray, ...]:
    """Videos, both variances and the covariance with 1/n, and the mean difference, ``float64[B]`` each."""
    n, sx, sy, sxx, syy, sxy = sums.T
    with np.errstate(invalid="ignore", divide="ignore"):
        vx, vy = sxx / n - (sx / n) ** 2, syy / n - (sy / n) ** 2
        cov, offset = sxy / n - sx * sy / n**2, (sx - sy) / n
        noise = _NOISE * np.maximum(1.0, (sxx + syy) / n)
    return n, np.where(vx > noise, vx, 0), np.where(vy > noise, vy, 0), cov, offset


def _limit(sums: FloatArray, width: float) -> FloatArray:
    return _moments(sums)[-1] + width * _sd(sums)


def _sd(sums: FloatArray) -> FloatArray:
    n, sx, sy, sxx, syy, sxy = sums.T
    with np.errstate(invalid="ignore", divide="ignore"):
        square = (sxx + syy - 2 * sxy - (sx - sy) ** 2 / n) / (n - 1)
        noise = _NOISE * np.maximum(1.0, (sxx + syy) / n)
    return np.sqrt(np.where(square > noise, square, 0.0))


def _slope(sums: FloatArray) -> FloatArray:
    _, vx, vy, cov, _ = _moments(sums)
    return _ratio((vx - vy) / 2, (vx + vy + 2 * cov) / 4)


def _concordance(sums: FloatArray) -> FloatArray:
    _, vx, vy, cov, offset = _moments(sums)
    return np.where(vx + vy > 0, _ratio(2 * cov, vx + vy + offset**2), np.nan)


def _icc_of_two(sums: FloatArray) -> FloatArray:
    """:func:`_agreement` of two raters, from their moments."""
    n, vx, vy, cov, offset = _moments(sums)
    with np.errstate(invalid="ignore", divide="ignore"):
        rows, rest = (n / (n - 1) * part for part in ((vx + vy) / 2 + cov, (vx + vy) / 2 - cov))
        below = rows + rest + 2 / n * (n * offset**2 / 2 - rest)
    return np.where(vx + vy > 0, _ratio(rows - rest, below), np.nan)


_PAIR: Mapping[str, Formula] = {
    "bias": lambda sums: _moments(sums)[-1],
    "sd": _sd,
    "lower": partial(_limit, width=-Z),
    "upper": partial(_limit, width=Z),
    "slope": _slope,
    "icc": _icc_of_two,
    "concordance": _concordance,
}


def _ratio(above: FloatArray, below: FloatArray) -> FloatArray:
    """``above / below``; NaN where nothing positive is below."""
    quotient: FloatArray = np.divide(above, below, out=np.full(len(below), np.nan), where=below > _NOISE)
    return quotient

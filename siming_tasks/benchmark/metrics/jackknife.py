"""The one construction of every standard error, interval and p-value: the delete-one-cluster jackknife.

A statistic is a function of a :class:`ScoreMatrix`. :func:`jackknife` takes its value and its values without each
cluster; sums and differences of such values are taken term by term, so that two judges over the same videos are
compared in pairs. :meth:`Jackknifed.estimate` is the rule of docs/reference/definition.md.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from siming_tasks.benchmark.metrics.estimate import Estimate
from siming_tasks.benchmark.metrics.reasons import Flag, Reason
from siming_tasks.benchmark.metrics.score_matrix import BoolArray, FloatArray, ScoreMatrix
from siming_tasks.benchmark.metrics.thresholds import (
    FEW_CLUSTERS,
    FEW_ERRORS,
    FEW_VIDEOS,
    FEWEST,
    FEWEST_ALIKE,
    FEWEST_EFFECTIVE,
    LEVEL,
    NOISE,
)
from siming_tasks.common.errors import DataError

Plain = Callable[[ScoreMatrix], float]
"""A statistic that somebody writes, NaN where undefined; it rests on videos with a known step and has no range."""


@runtime_checkable
class Statistic(Protocol):
    """A statistic with a faster way to its values without each cluster than computing it again."""

    def jackknife(self, matrix: ScoreMatrix) -> Jackknifed:
        """The value and those without each cluster."""
        ...


@dataclass(frozen=True, eq=False)
class Jackknifed:
    """A value and its values without each cluster.

    Attributes:
        value: NaN where it is undefined.
        without: ``float[C]``, without each cluster in order of the clusters' sorted names.
        clusters: of each video, its number, ``intp[V]``.
        videos: ``bool[V]``, videos that it rests on.
        unit: what a cluster is; ``fixed``: larger units that are not left out.
        range: smallest and largest possible value.
        share: of steps or videos: exactly 0 or 1 has the bound of the rule of three.
        scale: of the interval: ``fisher`` for a correlation, whose Fisher's z has an error of at least 1/sqrt(n - 3);
            ``logit`` for another metric, of its place in the range; empty for its own.
        errors: steps that are wrong in the reference, of a metric that is about them.
        further: variance besides that over clusters, as between runs.
        why: why there is no value, if there is none.
    """

    value: float
    without: FloatArray
    clusters: NDArray[np.intp]
    videos: BoolArray
    unit: str = "video"
    fixed: tuple[str, ...] = ()
    range: tuple[float, float] = (-math.inf, math.inf)
    share: bool = False
    scale: str = ""
    errors: float = math.inf
    further: float = 0.0
    why: str = Reason.UNDEFINED

    def __sub__(self, other: Jackknifed) -> Jackknifed:
        return combine(
            [self, other], lambda a, b: a - b, (self.range[0] - other.range[1], self.range[1] - other.range[0])
        )

    @property
    def sizes(self) -> FloatArray:
        """Videos that it rests on in each cluster, ``float[C]``."""
        return np.bincount(self.clusters[self.videos], minlength=len(self.without)).astype(np.float64)

    @property
    def rests(self) -> BoolArray:
        """Clusters that have such a video, ``bool[C]``."""
        return np.greater(self.sizes, 0)

    @property
    def stderr(self) -> float:
        """Standard error on the value's own scale; NaN below two clusters or where a value without one is undefined."""
        return math.hypot(_stderr(self.without[self.rests]), math.sqrt(self.further))

    def estimate(self, *, tested: bool = False) -> Estimate:
        """The value with its interval, and with the p of "it is 0" if it is a difference that is ``tested``."""
        sizes = self.sizes
        n, clusters = int(sizes.sum()), int(self.rests.sum())
        effective = float(n**2 / (sizes**2).sum()) if n else 0.0
        few = {Flag.FEW_VIDEOS: n < FEW_VIDEOS, Flag.FEW_CLUSTERS: effective < FEW_CLUSTERS and self.unit != "video",
               Flag.FEW_ERRORS: self.errors < FEW_ERRORS}  # fmt: skip
        flags = [Flag(f"these-{unit}s") for unit in self.fixed] + [flag for flag in few if few[flag] and n]
        degrees = self._degrees(effective)
        found = Estimate(None, n=n, clusters=clusters, degrees=degrees, unit=self.unit, flags=tuple(flags))
        if math.isnan(self.value):
            return replace(found, why=self.why)
        found, stderr = replace(found, value=self.value), self.stderr
        known = not math.isnan(stderr)
        found = replace(found, stderr=stderr if known else None)
        if clusters < FEWEST:
            return replace(found, why=Reason.FEW_CLUSTERS)
        if effective < FEWEST_EFFECTIVE:
            return replace(found, why=Reason.UNEVEN_CLUSTERS)
        if not known:
            return replace(found, why=Reason.UNDEFINED_WITHOUT_ONE)
        low, high = self._ends(stderr, degrees, clusters)
        if math.isnan(low):
            perfect = stderr > NOISE or (self.scale == "fisher" and abs(self.value) == 1)
            sure = tested and not perfect and clusters >= FEWEST_ALIKE and abs(self.value) > NOISE
            # each of c clusters shows the same difference: the sign test's p
            p = 2 * 0.5**clusters if sure else None
            return replace(found, p=p, why=Reason.PERFECT_CORRELATION if perfect else Reason.NO_VARIATION)
        low, high = max(low, self.range[0]), min(high, self.range[1])
        return replace(found, low=low, high=high, p=2 * p_of_t(abs(self.value) / stderr, degrees) if tested else None)

    def _degrees(self, effective: float) -> float:
        """Degrees of freedom: of the effective clusters, fewer (by kurtosis) if few clusters make the whole error."""
        if not self.stderr > NOISE:
            return max(effective - 1, 0.0)
        left = self.without[self.rests]
        with np.errstate(divide="ignore", invalid="ignore"):
            left = np.arctanh(left) if self.scale == "fisher" else left
            square = (left - left.mean()) ** 2
            tails = len(left) * (square**2).sum() / square.sum() ** 2
            return float(np.fmin(effective - 1, 2 * len(left) / np.maximum(tails - 1, NOISE)))

    def _ends(self, stderr: float, degrees: float, clusters: int) -> tuple[float, float]:
        """Ends of the interval; NaN where nothing varies."""
        if stderr <= NOISE:
            three = 3 / clusters  # the rule of three: none of c independent clusters had it
            bounds = {0.0: (0.0, three), 1.0: (1 - three, 1.0)} if self.share else {}
            return bounds.get(self.value, (math.nan, math.nan))
        reach = quantile_of_t((1 + LEVEL) / 2, degrees)
        low, high = self.range
        if self.scale == "logit" and low < self.value < high:
            from scipy.special import expit, logit

            width = high - low
            middle = logit((self.value - low) / width)
            reach *= stderr * width / ((self.value - low) * (high - self.value))
            return low + width * float(expit(middle - reach)), low + width * float(expit(middle + reach))
        if self.scale != "fisher":
            return self.value - reach * stderr, self.value + reach * stderr
        with np.errstate(divide="ignore", invalid="ignore"):
            z, spread = np.arctanh(self.value), _stderr(np.arctanh(self.without[self.rests]))
        if not np.isfinite(z + spread):
            return math.nan, math.nan
        reach *= max(float(spread), 1 / math.sqrt(int(self.videos.sum()) - 3))
        return math.tanh(z - reach), math.tanh(z + reach)


def jackknife(statistic: Statistic | Plain, matrix: ScoreMatrix) -> Jackknifed:
    """The value of a statistic and its values without each cluster; a plain function is called once more for each."""
    if isinstance(statistic, Statistic):
        return statistic.jackknife(matrix)
    clusters = cluster_numbers(matrix)
    each = (matrix.videos(clusters != k) for k in range(matrix.n_clusters))
    without = np.array([_number(statistic(part)) for part in each], np.float64)
    counts: BoolArray = np.asarray((matrix.counted & matrix.answered).any(axis=1))
    return jackknifed(matrix, _number(statistic(matrix)), without, counts, clusters)


def jackknifed(
    matrix: ScoreMatrix, value: float, without: FloatArray, counts: BoolArray, clusters: NDArray[np.intp], **how: object
) -> Jackknifed:
    """A value of a matrix whose videos ``counts`` (``bool[V]``) it rests on, in ``clusters``, ``intp[V]``."""
    return Jackknifed(value, without, clusters, counts, matrix.unit, matrix.fixed, **how)  # type: ignore[arg-type]


def cluster_numbers(matrix: ScoreMatrix) -> NDArray[np.intp]:
    """Number of the cluster of each video, ``intp[V]``, in the order of the clusters' sorted names."""
    return np.unique(np.asarray(matrix.clusters, dtype=str), return_inverse=True)[1].astype(np.intp)


def estimate(statistic: Statistic | Plain, matrix: ScoreMatrix) -> Estimate:
    """Value of a statistic with its standard error and interval, or the reason why there is none.

    Args:
        statistic: a function of a matrix that returns a number, NaN where it is undefined.
        matrix: reference and judge.

    Example:
        >>> import numpy as np
        >>> from siming_tasks import ScoreMatrix, estimate
        >>> names, said = tuple("abcdef"), np.array([[2.0], [2], [1], [0], [2], [1]])
        >>> matrix = ScoreMatrix(names, ("s",), ("cpr",), [2], said, said, said >= 0, "score")
        >>> found = estimate(lambda m: float(np.mean(m.predicted < m.max_score)), matrix)
        >>> print(found, found.n, found.unit)
        0.500 [-0.075, 1.075] 6 video
    """
    return jackknife(statistic, matrix).estimate()


def difference(statistic: Statistic | Plain, a: ScoreMatrix, b: ScoreMatrix) -> Estimate:
    """Statistic of ``a`` minus that of ``b``, paired over their clusters, with interval and p of "no difference".

    Raises:
        DataError: they are not of the same videos in the same clusters.

    Example:
        >>> import numpy as np
        >>> from siming_tasks import ScoreMatrix, difference
        >>> said = np.array([[2.0], [2], [1], [0], [2], [1]])
        >>> a = ScoreMatrix(tuple("abcdef"), ("s",), ("cpr",), [2], said, said, said >= 0, "score")
        >>> b = a.predicting(np.full((6, 1), 2.0))
        >>> found = difference(lambda m: float(np.mean(m.predicted == m.reference)), a, b)
        >>> print(found, round(found.p, 3))
        0.500 [-0.075, 1.075] 0.076
    """
    a, b = a.sorted(), b.sorted()
    if (a.video_ids, a.clusters) != (b.video_ids, b.clusters):
        raise DataError("A difference needs two judges of the same videos in the same clusters. Align them first.")
    return (jackknife(statistic, a) - jackknife(statistic, b)).estimate(tested=True)


def combine(
    parts: Sequence[Jackknifed],
    formula: Callable[..., FloatArray],
    bounds: tuple[float, float] = (-math.inf, math.inf),
) -> Jackknifed:
    """A formula of several values over the same clusters, term by term; NaN where one of them is undefined.

    ``formula`` takes as many arrays as there are parts, and returns one of the same shape.
    """
    if len({len(part.without) for part in parts}) > 1:
        raise DataError("Values over different clusters cannot be combined. Give every judge the same clusters.")
    first, undefined = parts[0], [part.why for part in parts if math.isnan(part.value)]
    with np.errstate(divide="ignore", invalid="ignore"):
        value = formula(*(np.array([part.value]) for part in parts))[0]
        # a cluster that one value does not rest on changes nothing there
        without = formula(*(part.without for part in parts))
    without, videos = np.where(np.isfinite(without), without, np.nan), np.logical_or.reduce([p.videos for p in parts])
    return Jackknifed(_number(value), without, first.clusters, videos, first.unit, first.fixed, bounds,
                      errors=min(part.errors for part in parts),
                      why=undefined[0] if undefined else Reason.UNDEFINED)  # fmt: skip


def mean(parts: Sequence[Jackknifed]) -> Jackknifed:
    """Mean of several values over the same clusters; of one, that one."""
    if len(parts) == 1:
        return parts[0]
    return combine(parts, lambda *each: np.mean(each, axis=0), parts[0].range)


@dataclass(frozen=True)
class Counted:
    """A statistic of counts that add up over videos: leaving a cluster out is a subtraction.

    Attributes:
        counts: of each video, ``float[V, K]``.
        function: ``float[..., K]`` to ``float[...]``, NaN where it is undefined.
        why: reason why it is undefined, given the summed counts ``float[K]``.
        range: smallest and largest value; ``share``: as in :class:`Jackknifed`.
        of_errors: it is about steps that are wrong: few of these are few data.
    """

    counts: Callable[[ScoreMatrix], FloatArray]
    function: Callable[[FloatArray], FloatArray]
    why: Callable[[FloatArray], str] = field(default=lambda sums: Reason.UNDEFINED)
    range: tuple[float, float] = (-1.0, 1.0)
    share: bool = False
    of_errors: bool = False

    def jackknife(self, matrix: ScoreMatrix) -> Jackknifed:
        """The value and those without each cluster, of one sum over the videos."""
        clusters = cluster_numbers(matrix)
        counts = np.asarray(self.counts(matrix), np.float64)
        by_cluster = np.zeros((matrix.n_clusters, counts.shape[1]))
        np.add.at(by_cluster, clusters, counts)
        whole = by_cluster.sum(axis=0)
        with np.errstate(divide="ignore", invalid="ignore"):
            value, without = float(self.function(whole)), self.function(whole - by_cluster)
            # a share rests on the videos that have its denominator
            rests = np.asarray(~np.isnan(self.function(counts)) if self.share else counts.any(axis=1))
        why = self.why(whole) if math.isnan(value) else ""
        scale = "logit" if np.isfinite(self.range).all() else ""
        errors = wrong_steps(matrix) if self.of_errors else math.inf
        return jackknifed(matrix, value, without, rests, clusters, range=self.range, share=self.share, scale=scale,
                          errors=errors, why=why)  # fmt: skip


def wrong_steps(matrix: ScoreMatrix) -> int:
    """Number of the known steps that are wrong in the reference."""
    return int((matrix.reference_wrong & matrix.counted & matrix.answered).sum())


def _stderr(without: FloatArray) -> float:
    """``sqrt((c - 1) / c * sum((value - mean)^2))`` of values without each of c clusters; NaN if one is NaN."""
    c = len(without)
    if c < 2 or not np.isfinite(without).all():
        return math.nan
    return float(np.sqrt((c - 1) / c * ((without - without.mean()) ** 2).sum()))


def quantile_of_t(share: float, degrees: float) -> float:
    """Quantile of Student's t."""
    from scipy.special import stdtrit  # not at import time: slow

    return float(stdtrit(degrees, share))


def p_of_t(t: float, degrees: float) -> float:
    """One-sided p of Student's t: the chance of one as large or larger."""
    from scipy.special import stdtr

    return float(stdtr(degrees, -t))


def holm(p: Sequence[float]) -> list[float]:
    """Holm's p-values of one family of tests, in the order that they are given.

    Example:
        >>> [round(value, 3) for value in holm([0.01, 0.04, 0.03])]
        [0.03, 0.06, 0.06]
    """
    given, order = np.asarray(p, np.float64), np.argsort(p, kind="stable")
    adjusted = np.empty(len(given))
    adjusted[order] = np.minimum(np.maximum.accumulate(given[order] * np.arange(len(given), 0, -1)), 1)
    return [float(value) for value in adjusted]


def _number(value: object) -> float:
    """A statistic's result as a float; infinity is undefined as NaN is."""
    number = float(value)  # type: ignore[arg-type]
    return number if math.isfinite(number) else math.nan

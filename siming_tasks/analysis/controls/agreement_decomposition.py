"""Decomposition of the agreement: knowledge of the steps, impression of the video, this step in this video."""

from __future__ import annotations

from itertools import product
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from siming_tasks.metrics.agreement import classification, correlation, kappa
from siming_tasks.metrics.agreement.labels import LEVELS, LabelMapping, ordinal_labels
from siming_tasks.metrics.catalogue import CATALOGUE, Family
from siming_tasks.metrics.score_matrix import BoolArray, FloatArray, IntArray, ScoreMatrix
from siming_tasks.metrics.streams import Stream, stream
from siming_tasks.metrics.sufficient_stats import Tally

__all__ = [
    "PARTS",
    "AgreementDecomposition",
    "ExcessCorrelation",
    "ShuffledAnswers",
    "StepSums",
    "expected_products",
    "shuffle_p",
]

PARTS = ("prior", "video", "local")


class _Cells(NamedTuple):
    """Both sides as numbers, zero where either is missing, and where neither is: ``[V, S]``."""

    x: FloatArray
    y: FloatArray
    both: FloatArray


def cells(panel: ScoreMatrix, mapping: LabelMapping) -> _Cells:
    """Labels 0..3 for scores; 1.0 = wrong for verdicts."""
    both = panel.counted & panel.answered
    x: NDArray[Any] = panel.reference_wrong
    y: NDArray[Any] = panel.predicted_wrong
    if panel.answer == "score":
        x, y = (ordinal_labels(side, panel.max_score, mapping) for side in (panel.reference, panel.predicted))
    return _Cells(*(np.where(both, side, 0).astype(np.float64) for side in (x, y, both)))


class AgreementDecomposition:
    """The exact split of kappa (scores) or MCC (verdicts): ``prior + video + local``.

    All are covariances over one denominator. *prior*: its expectation when the predictions of each step are shuffled
    between videos; which steps are usually failed is known without any video. *video*: when the predictions of each
    video are shuffled between steps; an overall impression. *local*: the rest, this step in this video, which is what
    the benchmark claims to measure. Without missing answers the three are the between-step, between-video and
    interaction parts of a two-way analysis of covariance; with missing answers the sum is still exact.

    Attributes:
        metric: key of what is split.
    """

    def __init__(self, panel: ScoreMatrix, mapping: LabelMapping = "absolute") -> None:
        self.kappa = panel.answer == "score"
        self.metric = "qwk" if self.kappa else "mcc"
        x, y, both = self.cells = cells(panel, mapping)
        self.steps = np.concatenate([both, x, y, x * y], axis=1)
        n, sum_x, sum_y = both.sum(axis=1), x.sum(axis=1), y.sum(axis=1)
        impression = np.divide(sum_x * sum_y, n, out=np.zeros(len(n)), where=n > 0)
        squares = [(x * x).sum(axis=1), (y * y).sum(axis=1), (x * y).sum(axis=1)]
        self.videos = np.stack([n, sum_x, sum_y, *squares, impression], axis=1)

    def compute(self, weights: FloatArray) -> dict[str, FloatArray]:
        """``prior``, ``video``, ``local`` and their sum ``total`` under every row of weights; NaN where undefined."""
        n, x, y, xx, yy, xy, impression = (weights @ self.videos).T
        sums = (StepSums(*np.split(w @ self.steps, 4, axis=1)) for w in (weights, weights * weights))
        by_step = expected_products(*sums).sum(axis=1)
        with np.errstate(invalid="ignore", divide="ignore"):
            chance = x * y / n
            var_x, var_y = n * xx - x * x, n * yy - y * y
            scale = (var_x + var_y + (x - y) ** 2) / 2 if self.kappa else np.sqrt(var_x) * np.sqrt(var_y)
            factor = np.where(scale > 0, n / scale, np.nan)
        prior, video, total = (factor * (part - chance) for part in (by_step, impression, xy))
        return {"prior": prior, "video": video, "local": total - prior - video, "total": total}


def shuffle_p(
    panel: ScoreMatrix, *, mapping: LabelMapping = "absolute", permutations: int = 1999, seed: int = 0
) -> dict[str, float | None]:
    """p-values of "the predictions fit another trainee's video just as well", for kappa or MCC and for PLCC.

    Whole videos' predictions are exchanged; the p-value is the share of exchanges that agree at least as well.

    Returns:
        ``qwk`` and ``plcc`` for scores, ``mcc`` for verdicts, in (0, 1]; None where the metric is undefined.
    """
    rng = np.random.default_rng(stream(seed, Stream.EXCHANGES))
    panel = panel.sorted()
    x, y, both = cells(panel, mapping)
    k = 4 if panel.answer == "score" else 2
    pairs = correlation.Paired(*correlation.shares(panel) if k == 4 else (np.full(len(x), np.nan),) * 2)
    exchanged, product_of = _PermutedCounts(x, y, both > 0, k), _Product(pairs)
    tables = np.empty((1 + permutations, k * k))
    sums = np.empty(1 + permutations)
    tables[0], sums[0] = exchanged.table(np.arange(len(x))), product_of.sum(np.arange(len(pairs)))
    for row in range(1, 1 + permutations):  # one at a time: what is held grows with the videos alone
        tables[row] = exchanged.table(rng.permutation(len(x)))
        sums[row] = product_of.sum(rng.permutation(len(pairs)))
    if k == 2:
        return {"mcc": _share(classification.mcc(tables))}
    plcc = correlation.pearson(pairs, np.ones((1, len(x))))[0]
    return {"qwk": _share(kappa.qwk(tables)), "plcc": None if np.isnan(plcc) else _share(sums)}


class _PermutedCounts:
    """Confusion counts of labels 0..k-1 with the predictions' rows in another order; work and memory grow with V.

    The steps at which a video has a label are the bits of a few words, so that where label i of one video meets
    label j of another is an "and" of words and a count of bits.

    Attributes:
        mine: bits of the reference's labels, ``uint64[k, V, words]``.
        theirs: of the predictions'.
    """

    def __init__(self, x: FloatArray, y: FloatArray, both: BoolArray, k: int) -> None:
        self.mine, self.theirs = (_bits([both & (side == level) for level in range(k)]) for side in (x, y))
        self._met = np.empty(self.mine.shape[1:], dtype=np.uint64)
        self._count = np.empty(self.mine.shape[1:], dtype=np.uint8)

    def table(self, order: IntArray) -> FloatArray:
        """Flattened counts, ``float64[k * k]``: how often mine is i and theirs j at the same step."""
        theirs = self.theirs.take(order, axis=1)
        counts = np.empty(len(self.mine) ** 2)
        for cell, (i, j) in enumerate(product(self.mine, theirs)):
            np.bitwise_and(i, j, out=self._met)  # into the same memory each time: fetching it anew takes longer
            np.bitwise_count(self._met, out=self._count)
            counts[cell] = self._count.sum(dtype=np.uint64)
        return counts


def _bits(marks: list[BoolArray]) -> NDArray[np.uint64]:
    """Marks ``bool[V, S]`` of each of k labels as bits, ``uint64[k, V, ceil(S / 64)]``."""
    rows = np.stack(marks)
    bytes_ = np.packbits(rows, axis=2)
    words = np.zeros((*rows.shape[:2], -(-rows.shape[2] // 64) * 8), dtype=np.uint8)
    words[:, :, : bytes_.shape[2]] = bytes_
    return words.view(np.uint64)


class _Product:
    """Grows with the correlation of totals; the same totals in another order."""

    def __init__(self, pairs: correlation.Paired) -> None:
        self.x = pairs.x - pairs.x.mean() if len(pairs) else pairs.x
        self.y = pairs.y

    def sum(self, order: IntArray) -> float:
        """Sum of products, the second side in this order."""
        return float(np.einsum("v,v", self.x, self.y[order]))  # BLAS would wake its threads for each


def _share(values: FloatArray) -> float | None:
    """Share of values at least as large as the first, counting it; undefined ones agree with nothing: 0."""
    if not len(values) or np.isnan(values[0]):
        return None
    numbers = np.nan_to_num(values)
    slack = 1e-9 * max(1.0, float(np.abs(numbers).max()))
    return float((numbers >= numbers[0] - slack).mean())


class StepSums(NamedTuple):
    """Weighted sums over the videos of each step: of 1, x, y and x * y; arrays that broadcast together."""

    n: FloatArray
    x: FloatArray
    y: FloatArray
    xy: FloatArray


def expected_products(once: StepSums, squared: StepSums) -> FloatArray:
    """Sum of x * y that each step is expected to have after its predictions were shuffled between its n videos.

    With every video once this is sum x * sum y / n. A resample repeats videos; a plain shuffle of it would give a video
    its own predictions more often than once in n, and look better than it is. So pairs of different videos are
    averaged, and the one in n that stays in place is put back. In deviations from the step's means, where all pairs
    sum to zero: different pairs average -q / (1 - q) times the equal ones, with q the share of equal pairs.

    Args:
        once: sums with the weights.
        squared: sums with the squared weights, that is over pairs of a video with itself.
    """
    n = np.where(once.n > 0, once.n, 1)
    x, y = once.x / n, once.y / n
    equal = squared.xy - x * squared.y - y * squared.x + x * y * squared.n
    apart = n * n - squared.n
    different = -np.divide(equal, apart, out=np.zeros_like(equal), where=apart > 0)
    shuffled = n * x * y + (once.xy / n - x * y) + (n - 1) * different
    return np.where(apart > 0, shuffled, once.xy)


class ShuffledAnswers:
    """Metrics of a run's own answers given to other videos, in expectation over all exchanges within each step.

    Exact, not simulated: the expected confusion counts of a step are the product of its margins over its size. The
    expected correlation of totals is zero.
    """

    def __init__(self, tally: Tally) -> None:
        self.tally = tally
        families = dict.fromkeys(CATALOGUE[name].family for name in tally.metrics if CATALOGUE[name].compared)
        self.tables = {
            family: _ExpectedCounts(*_label_sides(tally, family)) for family in families if family != "totals"
        }

    def compute(self, weights: FloatArray) -> dict[str, FloatArray]:
        """As :meth:`siming_tasks.metrics.sufficient_stats.Tally.compute`."""
        counts = {family: table.expected(weights) for family, table in self.tables.items()}
        values = self.tally.compute(weights)
        for name in self.tally.metrics:
            row = CATALOGUE[name]
            if row.family == "totals":
                values[name] = np.where(np.isnan(values[name]), np.nan, 0.0)
            elif row.compared:
                values[name] = row.function(counts[row.family])
        return values


def _label_sides(tally: Tally, family: Family) -> tuple[IntArray, IntArray, int]:
    """Labels of both sides, ``int[V, S]`` with -1 where either is missing, and how many labels there are."""
    panel, both = tally.panel, tally.panel.counted & tally.panel.answered
    if family == "labels":
        points = panel.reference, panel.predicted
        sides = [ordinal_labels(side, panel.max_score, tally.mapping).astype(np.int64) for side in points]
    else:
        wrong = panel.reference_wrong, panel.predicted_wrong
        sides = [(side == (tally.positive == "error")).astype(np.int64) for side in wrong]
    x, y = (np.where(both, side, -1) for side in sides)
    return x, y, len(LEVELS) if family == "labels" else 2


class _ExpectedCounts:
    """Expected confusion counts of labels ``x`` and ``y``, 0..k-1, when ``y`` is exchanged between the videos."""

    def __init__(self, x: IntArray, y: IntArray, k: int) -> None:
        self.levels = k
        a, b = (side[:, :, None] == np.arange(k) for side in (x, y))
        videos, steps = x.shape
        joint = (a[:, :, :, None] & b[:, :, None, :]).reshape(videos, steps * k * k)
        margins = [side.reshape(videos, steps * k) for side in (a, b)]
        self.margins = np.concatenate(margins, axis=1).astype(np.float64)
        self.joint, self.both = joint.astype(np.float64), (x >= 0).astype(np.float64)

    def expected(self, weights: FloatArray) -> FloatArray:
        """Over all steps, ``float64[B, k * k]``."""
        once, squared = (self._sums(w) for w in (weights, weights * weights))
        counts: FloatArray = expected_products(once, squared).sum(axis=1).reshape(len(weights), self.levels**2)
        return counts

    def _sums(self, weights: FloatArray) -> StepSums:
        """Of the indicators "x is label k" and "y is label l", ``[B, S, k, l]``."""
        shape, k = (len(weights), self.both.shape[1]), self.levels
        x, y = np.split(weights @ self.margins, 2, axis=1)
        joint = (weights @ self.joint).reshape(*shape, k, k)
        return StepSums(
            (weights @ self.both)[:, :, None, None], x.reshape(*shape, k, 1), y.reshape(*shape, 1, k), joint
        )


class ExcessCorrelation:
    """``excess = PLCC - implied``, with ``implied = r g / sqrt(1 - r^2 + r^2 g^2)``.

    r is the correlation of step points around each step's mean, pooled over all steps; g^2 = var(total) / sum of the
    steps' variances of the reference (above 1 if good trainees are good throughout). ``implied`` is the correlation of
    totals of a judge that follows every step equally well and errs independently. Excess above 0: the totals agree
    more than the steps do, an overall impression; below 0: errors that pile up within a video.

    Only for scores.
    """

    def __init__(self, panel: ScoreMatrix) -> None:
        both = panel.counted & panel.answered
        x, y = (np.where(both, side, 0) for side in (panel.reference, panel.predicted))
        self.pairs = correlation.Paired(*correlation.shares(panel))
        self.steps = np.concatenate([both, x, y, x * x], axis=1).astype(np.float64)
        self.products = np.stack([(a * b).sum(axis=1) for a, b in ((x, x), (y, y), (x, y))], axis=1)

    def compute(self, weights: FloatArray) -> dict[str, FloatArray]:
        """``plcc``, ``implied`` and ``excess`` under every row of weights; NaN where undefined."""
        n, x, y, xx = np.split(weights @ self.steps, 4, axis=1)
        taken = np.where(n > 0, n, 1)
        within_xx, within_yy, within_xy = (
            product - (a * b / taken).sum(axis=1)
            for product, a, b in zip((weights @ self.products).T, (x, y, x), (x, y, y), strict=True)
        )
        step_variance = np.where(n > 0, xx / taken - (x / taken) ** 2, 0).sum(axis=1)
        kept = self.pairs.weights(weights)
        count = kept.sum(axis=1)
        with np.errstate(invalid="ignore", divide="ignore"):
            mean = kept @ self.pairs.x / count
            total_variance = kept @ self.pairs.x**2 / count - mean**2
            r = within_xy / np.sqrt(within_xx * within_yy)
            g = np.sqrt(np.maximum(total_variance, 0) / step_variance)
            implied = r * g / np.sqrt(1 - r**2 + (r * g) ** 2)
        implied = np.where(np.isfinite(implied), implied, np.nan)
        plcc = correlation.pearson(self.pairs, weights)
        return {"plcc": plcc, "implied": implied, "excess": plcc - implied}

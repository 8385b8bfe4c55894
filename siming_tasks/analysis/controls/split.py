"""Where agreement comes from: knowing the steps, an overall impression of the video, or this step in this video."""

from __future__ import annotations

from itertools import product
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from siming_tasks.analysis.controls.shuffled import StepSums, expected_products
from siming_tasks.metrics.agreement import classification, correlation, kappa
from siming_tasks.metrics.agreement.labels import LabelMapping, ordinal_labels
from siming_tasks.metrics.score_matrix import BoolArray, FloatArray, IntArray, ScoreMatrix
from siming_tasks.metrics.streams import Stream, stream

__all__ = ["PARTS", "Split", "shuffle_p"]

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


class Split:
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
    exchanged, product_of = _Exchanged(x, y, both > 0, k), _Product(pairs)
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


class _Exchanged:
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

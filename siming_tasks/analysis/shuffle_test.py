"""Exchange of whole videos' answers: do the predictions fit another trainee's video just as well?"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from siming_tasks.metrics import classification, correlation, kappa
from siming_tasks.metrics.kappa import LabelMapping, ordinal_labels
from siming_tasks.metrics.resample import Clusters, Stream, stream
from siming_tasks.metrics.score_matrix import FloatArray, ScoreMatrix


def numeric_labels(matrix: ScoreMatrix, mapping: LabelMapping) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Labels of reference and prediction, and 1 where neither is missing, ``float64[V, S]`` each; 0 where one is.

    Labels are 0..3 of scores, or of verdicts 1.0 = wrong and 0.0 = correct.
    """
    both = matrix.counted & matrix.answered
    x: NDArray[Any] = matrix.reference_wrong
    y: NDArray[Any] = matrix.predicted_wrong
    if matrix.answer == "score":
        x, y = (ordinal_labels(side, matrix.max_score, mapping) for side in (matrix.reference, matrix.predicted))
    x, y, known = (np.where(both, side, 0).astype(np.float64) for side in (x, y, both))
    return x, y, known


def shuffle_p(
    matrix: ScoreMatrix, *, mapping: LabelMapping = "absolute", permutations: int = 1999, seed: int = 0
) -> dict[str, float | None]:
    """p-values of "the predictions fit another trainee's video just as well", for kappa or MCC and for PLCC.

    Whole videos' predictions are exchanged; the p-value is the share of exchanges that agree at least as well. Where
    videos share a cluster, clusters of as many videos are exchanged whole (:func:`exchange`).

    Returns:
        ``qwk`` and ``plcc`` for scores, ``mcc`` for verdicts, in (0, 1]; None where the metric is undefined.
    """
    rng = np.random.default_rng(stream(seed, Stream.EXCHANGES))
    matrix = matrix.sorted()
    x, y, both = numeric_labels(matrix, mapping)
    k = 4 if matrix.answer == "score" else 2
    pairs = correlation.Paired(*correlation.shares(matrix) if k == 4 else (np.full(len(x), np.nan),) * 2)
    of_totals = np.unique(matrix.cluster_numbers[pairs.keep], return_inverse=True)[1]
    centred = pairs.x - pairs.x.mean() if len(pairs) else pairs.x
    # A cell is one byte, x * levels + y with one level more for a missing label, and two neighbouring cells are counted
    # as one number: half as many to count. A column of missing labels makes the number of cells even.
    levels, even = k + 1, ((0, 0), (0, both.shape[1] % 2))
    x, y = (np.pad(np.where(both > 0, side, k), even, constant_values=k) for side in (x, y))
    rows, columns = (x * levels).astype(np.uint8), y.astype(np.uint8)
    tables, products = np.empty((1 + permutations, k * k)), np.empty(1 + permutations)
    for row in range(1 + permutations):  # one at a time: memory then grows with the videos alone
        videos, totals = np.arange(len(x)), np.arange(len(pairs))
        if row:  # the first row is the data as they are
            videos, totals = exchange(matrix.cluster_numbers, rng), exchange(of_totals, rng)
        cells = columns.take(videos, axis=0)
        cells += rows
        counted = np.bincount(cells.view(np.uint16).ravel(), minlength=2**8 * levels**2).reshape(levels**2, 2**8)
        counts = counted.sum(axis=1) + counted.sum(axis=0)[: levels**2]  # one of the two cells each
        tables[row] = counts.reshape(levels, levels)[:-1, :-1].ravel()
        # The sum of products grows with the correlation. BLAS would wake its threads for each.
        products[row] = float(np.einsum("v,v", centred, pairs.y[totals]))
    if k == 2:
        return {"mcc": _upper_tail(classification.mcc(tables))}
    plcc = correlation.pearson(pairs, np.ones((1, len(x))))[0]
    return {"qwk": _upper_tail(kappa.qwk(tables)), "plcc": None if np.isnan(plcc) else _upper_tail(products)}


def exchange(clusters: Clusters, rng: np.random.Generator) -> NDArray[np.intp]:
    """A random permutation of videos that keeps the clusters together: the place from which each video's answers come.

    Clusters ``intp[V]`` of as many videos change places, the videos of each in random order; one that is alone in its
    size keeps its place, which makes the p-value larger, never smaller. With every video its own cluster it is any
    permutation.
    """
    sizes = np.bincount(clusters)
    if sizes.max(initial=1) == 1:
        return rng.permutation(len(clusters))
    by_cluster, mixed = np.argsort(clusters, kind="stable"), rng.permutation(len(clusters))
    mixed = mixed[np.argsort(clusters[mixed], kind="stable")]  # by cluster too, each in random order
    starts = np.cumsum(sizes) - sizes
    source = np.empty(len(clusters), np.intp)
    for size in np.unique(sizes):
        alike = np.flatnonzero(sizes == size)
        here, there = (starts[which][:, None] + np.arange(size) for which in (alike, rng.permutation(alike)))
        source[by_cluster[here.ravel()]] = mixed[there.ravel()]
    return source


def _upper_tail(values: FloatArray) -> float | None:
    """Share of values at least as large as the first, counting it; undefined ones agree with nothing: 0."""
    if not len(values) or np.isnan(values[0]):
        return None
    numbers = np.nan_to_num(values)
    slack = 1e-9 * max(1.0, float(np.abs(numbers).max()))
    return float((numbers >= numbers[0] - slack).mean())

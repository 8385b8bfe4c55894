"""Cross-fitted judges: answers from some features, learnt from the labels of the other clusters.

No cluster is ever on both sides: neither its labels nor its other videos take part in what is said of it. One tree
ensemble learns from all steps together, with the step as a feature, so that sixteen exams are enough to learn something
and two thousand are done in seconds.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from siming_tasks.metrics.classification import mcc
from siming_tasks.metrics.kappa import LEVELS, ordinal_labels, qwk
from siming_tasks.metrics.score_matrix import BoolArray, FloatArray, IntArray, ScoreMatrix

FOLDS = 5
"""Parts that the clusters are dealt into."""

TREES, LEAF, MOST_ROWS = 50, 2, 8_000
"""Trees of an ensemble, the fewest rows in a leaf, and the most rows (video and step) that a tree is grown on."""

MOST_LEVELS = 30
"""Most levels of the points that are told apart; the mean of several raters may have more."""

CHANCES = np.arange(1, 20) / 20
"""Chances from which the one is chosen that a level must be reached with to be given."""


@dataclass(frozen=True, eq=False)
class CrossFitted:
    """Answers of a cross-fitted judge.

    Attributes:
        predicted: points or verdicts as in :attr:`ScoreMatrix.predicted`, ``float[V, S]``; NaN where nothing could be
            learnt or the step does not count.
        wrong: chance that the step is wrong, ``float[V, S]``, in [0, 1]; NaN there too.
        fold: of each video, ``int[V]``; -1 where there is none.
    """

    predicted: FloatArray
    wrong: FloatArray
    fold: IntArray


def deal_folds(clusters: Sequence[str], folds: int = FOLDS) -> IntArray:
    """The fold of each member, ``int[V]``: whole clusters, largest first, each to the smallest fold; by name in ties.

    Fewer clusters than folds: one each. A single cluster cannot be divided: -1.
    """
    names, member, sizes = np.unique(np.asarray(clusters, dtype=str), return_inverse=True, return_counts=True)
    if len(names) < 2:
        return np.full(len(member), -1)
    load, fold = np.zeros(min(folds, len(names))), np.zeros(len(names), np.int64)
    for cluster in np.argsort(-sizes, kind="stable"):
        fold[cluster] = int(load.argmin())
        load[fold[cluster]] += sizes[cluster]
    return fold[member]


def cross_fit(panel: ScoreMatrix, features: FloatArray, *, forward: bool = False) -> CrossFitted:
    """Answers of a judge who knows these features and the labels of the other clusters.

    For every level of the points one chance to reach it; the points given are the most that are reached with a chance
    of at least ``t``. Kappa (of verdicts MCC) of a judge that gives each step its likeliest points would be small
    where little is known: ``t`` is the value of :data:`CHANCES` whose kappa is largest on the training videos, each
    judged by the trees that were not grown on it. The result depends neither on the order of the videos nor on the
    machine's number of threads.

    Args:
        panel: the labels, and the clusters that are kept apart.
        features: ``float[V, S, F]``; NaN is unknown, and may tell something too.
        forward: learn from the folds ahead of a fold alone, and say nothing of the first two. Of two videos one is then
            judged by the other and never both, as a test needs it: where nothing is to be learnt, agreement on the one
            would be agreement on the other once more, and look twice as sure as it is.
    """
    fold = deal_folds(panel.clusters)
    parts = [
        (fold < number if forward else fold != number, fold == number)
        for number in range(2 if forward else 0, fold.max(initial=-1) + 1)
    ]
    return _fitted(panel, features, fold, parts)


def _fitted(
    panel: ScoreMatrix,
    features: FloatArray,
    fold: IntArray,
    parts: Sequence[tuple[BoolArray, BoolArray]],
) -> CrossFitted:
    """Answers for the second videos of each part, learnt from its first ones; ``bool[V]`` each."""
    from threadpoolctl import threadpool_limits

    order = np.array(sorted(range(len(panel.video_ids)), key=panel.video_ids.__getitem__), np.intp)
    here, features = panel.videos(order), np.asarray(features, np.float64)[order]
    known = here.counted
    points = np.where(known, here.reference, 0) if panel.answer == "score" else np.where(here.reference_wrong, 0.0, 1.0)
    best = here.max_score if panel.answer == "score" else np.ones_like(here.max_score)
    predicted, wrong = (np.full(known.shape, np.nan) for _ in range(2))
    for learnt, out in parts:
        train, test = known & learnt[order][:, None], known & out[order][:, None]
        if train.any() and test.any():
            with threadpool_limits(1):
                predicted[test], wrong[test] = _judge(here, features, points / best, train, test)
    if panel.answer == "score":
        predicted = np.minimum((predicted * best).round(9), best)
    else:
        predicted = np.where(np.isnan(predicted), np.nan, predicted < 1)
    back = np.argsort(order)
    return CrossFitted(predicted[back], wrong[back], fold)


def _judge(
    panel: ScoreMatrix,
    features: FloatArray,
    share: FloatArray,
    train: BoolArray,
    test: BoolArray,
) -> tuple[FloatArray, FloatArray]:
    """Shares of the points and chances of "wrong" for the cells of ``test``, learnt from those of ``train``."""
    from sklearn.ensemble import ExtraTreesRegressor

    levels = np.unique(share[train])
    if len(levels) > MOST_LEVELS:
        levels = np.unique(np.quantile(share[train], np.linspace(0, 1, MOST_LEVELS), method="nearest"))
    if len(levels) == 1:
        constant = np.full(int(test.sum()), levels[0])
        return constant, (constant < 1).astype(np.float64)
    rows = _rows(features, share, train)
    reached = share[train][:, None] >= levels[1:]
    # Trees for all levels at once, so that a higher level is never likelier than a lower one.
    trees = ExtraTreesRegressor(
        TREES, min_samples_leaf=LEAF, max_features=0.6, bootstrap=True, oob_score=True, random_state=0,
        max_samples=MOST_ROWS if len(reached) > MOST_ROWS else None,
    )  # fmt: skip
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Some inputs do not have OOB scores", UserWarning)
        warnings.filterwarnings("ignore", "R.2 score is not well-defined", UserWarning)
        trees.fit(rows[train], reached.astype(np.float64).squeeze(axis=1) if len(levels) == 2 else reached)
    raw: Any = np.nan_to_num(trees.oob_prediction_)
    unseen = np.asarray(raw, np.float64).reshape(-1, len(levels) - 1)
    agreement = [_agreement(panel, train, share, levels[_reached(unseen, least)]) for least in CHANCES]
    least = float(CHANCES[int(np.argmax(agreement))])
    chance = np.asarray(trees.predict(rows[test]), np.float64).reshape(-1, len(levels) - 1)
    given = levels[_reached(chance, least)]
    return given, 1 - chance[:, -1] if levels[-1] == 1 else np.ones(len(chance))


def _rows(features: FloatArray, share: FloatArray, train: BoolArray) -> NDArray[np.float32]:
    """One row for each video and step, ``float32[V, S, F + 2]``: the features, the step, and its mean in training."""
    number = train.sum(axis=0)
    mean = np.where(number > 0, np.where(train, share, 0).sum(axis=0) / np.maximum(number, 1), -1)
    step = np.broadcast_to(np.stack([np.arange(len(mean)), mean], axis=1), (*share.shape, 2))
    # Trees split at a value that no feature has, as well as at any other.
    rows = np.concatenate([np.where(np.isnan(features), -1e9, features), step], axis=2)
    return np.asarray(rows, np.float32)


def _reached(chance: FloatArray, least: float) -> IntArray:
    """Index of the highest level that is reached with this chance; all lower ones are likelier."""
    number: IntArray = (chance >= least - 1e-9).sum(axis=1)
    return number


def _agreement(panel: ScoreMatrix, cells: BoolArray, share: FloatArray, given: FloatArray) -> float:
    """Kappa of the labels (scores) or MCC (verdicts) over these cells; -1 where it is undefined."""
    best = np.broadcast_to(panel.max_score, cells.shape)[cells]
    sides: list[NDArray[Any]] = [share[cells], given]
    size, metric = (len(LEVELS), qwk) if panel.answer == "score" else (2, mcc)
    if panel.answer == "score":
        sides = [ordinal_labels(side * best, best) for side in sides]
    truth, said = ((side if size > 2 else side < 1).astype(np.int64) for side in sides)
    counts = np.bincount(size * truth + said, minlength=size * size)
    value = float(metric(counts[None].astype(np.float64))[0])
    return -1.0 if np.isnan(value) else value

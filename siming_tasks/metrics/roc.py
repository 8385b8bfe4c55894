"""Areas under the ROC curve of clustered scores: over everything, and among the videos of one step.

An area is the chance that a wrong step has a larger score than a right one; ties count half.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from siming_tasks.metrics.resample import n_clusters, quantile_of_t
from siming_tasks.metrics.score_matrix import BoolArray, FloatArray, IntArray

FEWEST_CELLS = 5
"""Fewest wrong and fewest right videos of a step whose area is looked at on its own."""


class Area(NamedTuple):
    """Area, or a difference of two, with its interval over clusters; all NaN where one class is missing."""

    value: float
    low: float
    high: float

    @classmethod
    def of(cls, value: float, influence: FloatArray, lowest: float = 0.0) -> Area:
        """The value with the interval that the clusters' influences give it (Obuchowski 1997), by Student's t."""
        number = len(influence)
        error = float(np.sqrt(number / (number - 1) * (influence**2).sum()))
        half = quantile_of_t(number - 1) * error
        return cls(value, float(np.maximum(lowest, value - half)), float(np.minimum(1.0, value + half)))


@dataclass(frozen=True, eq=False)
class ScoredSteps:
    """Scores of V videos with S steps, and which of them are wrong.

    Attributes:
        scores: the larger, the surer that the step is wrong, ``float[V, S]``; ignored where not ``known``.
        wrong: ``bool[V, S]``.
        known: cells that count, ``bool[V, S]``.
        clusters: the number of each video's cluster, ``int[V]``, from 0.
    """

    scores: FloatArray
    wrong: BoolArray
    known: BoolArray
    clusters: NDArray[np.intp]

    def centred(self, fold: IntArray) -> ScoredSteps:
        """The same with scores less the mean of their step in their fold (``int[V]``).

        A judge that learns nothing but the mean of the other folds says less of a step in the fold where more is wrong:
        within a step its area would lie below 0.5. No label takes part in this.
        """
        out = np.where(self.known, self.scores, 0.0)
        for number in np.unique(fold):
            rows = fold == number
            count = np.maximum(self.known[rows].sum(axis=0), 1)
            out[rows] -= out[rows].sum(axis=0) / count
        return ScoredSteps(np.where(self.known, out.round(9), 0.0), self.wrong, self.known, self.clusters)

    def pooled(self) -> tuple[float, FloatArray]:
        """Area over all steps, and the influence of each cluster on it, ``float[C]``; NaN if one class is missing."""
        truth, member = self.wrong[self.known], np.broadcast_to(self.clusters[:, None], self.known.shape)[self.known]
        count, positive, negative = n_clusters(self.clusters), int(truth.sum()), int((~truth).sum())
        if not positive or not negative:
            return np.nan, np.full(count, np.nan)
        below, above = _placements(self.scores[self.known], truth)
        value = float(below.mean() / negative)
        influence = np.bincount(member[truth], below / negative - value, count) / positive
        influence += np.bincount(member[~truth], above / positive - value, count) / negative
        return value, influence

    def within(self) -> tuple[float, FloatArray, FloatArray]:
        """Area among pairs of videos of one step: all steps', clusters' influences ``[C]``, each step's own ``[S]``.

        Steps count by their number of pairs; a step's own area is NaN below :data:`FEWEST_CELLS` videos of either kind.
        """
        count, pairs, total = n_clusters(self.clusters), 0, 0.0
        own = np.full(self.known.shape[1], np.nan)
        parts: list[tuple[NDArray[np.intp], FloatArray, int]] = []
        for step in range(self.known.shape[1]):
            cells = self.known[:, step]
            truth, member = self.wrong[cells, step], self.clusters[cells]
            positive, negative = int(truth.sum()), int((~truth).sum())
            if not positive or not negative:
                continue
            below, above = _placements(self.scores[cells, step], truth)
            parts += [(member[truth], below, negative), (member[~truth], above, positive)]
            pairs, total = pairs + positive * negative, total + float(below.sum())
            if min(positive, negative) >= FEWEST_CELLS:
                own[step] = below.mean() / negative
        if not pairs:
            return np.nan, np.full(count, np.nan), own
        value, influence = total / pairs, np.zeros(count)
        for member, placed, others in parts:
            influence += np.bincount(member, placed - value * others, count) / pairs
        return value, influence, own

    def exchange_p(self, exchanges: int, rng: np.random.Generator) -> tuple[float, float, int]:
        """P of the area within steps, p of the largest step's, and that step (-1: none has enough videos).

        By exchanges of whole clusters: their scores are given to other clusters' videos, cluster after cluster in two
        random orders. Largest is what lies furthest above 0.5 in the standard errors of an area that tells nothing,
        ``sqrt((m + n + 1) / 12 m n)``; its p is for the largest of all steps. A cell without a score ties with all.
        """
        ranks = stats.rankdata(np.where(self.known, self.scores, 0.0), axis=0)  # centred scores: 0 is the middle
        value, z = _excess(self.wrong & self.known, self.known, ranks)
        larger, largest = 1, 1
        for _ in range(exchanges):
            rank = (rng.permutation(n_clusters(self.clusters)) for _ in range(2))
            score, label = (np.argsort(order[self.clusters], kind="stable") for order in rank)
            other, others = _excess((self.wrong & self.known)[label], self.known[label], ranks[score])
            larger += bool(other >= value - 1e-12)
            largest += bool(others.max(initial=-np.inf) >= z.max(initial=-np.inf) - 1e-12)
        where = int(z.argmax()) if np.isfinite(z).any() else -1
        return larger / (1 + exchanges), largest / (1 + exchanges) if where >= 0 else np.nan, where


def _placements(scores: FloatArray, wrong: BoolArray) -> tuple[FloatArray, FloatArray]:
    """For each wrong cell the number of right ones below it, for each right one the wrong ones above; ties are half."""
    ranks = stats.rankdata(scores)
    below: FloatArray = ranks[wrong] - stats.rankdata(scores[wrong])
    above: FloatArray = int(wrong.sum()) - (ranks[~wrong] - stats.rankdata(scores[~wrong]))
    return below, above


def _excess(wrong: BoolArray, known: BoolArray, ranks: FloatArray) -> tuple[float, FloatArray]:
    """Area within steps above 0.5, and that of each step in standard errors under chance, ``float[S]``; -inf: thin."""
    positive, number = wrong.sum(axis=0), known.sum(axis=0)
    mean = np.where(known, ranks, 0).sum(axis=0) / np.maximum(number, 1)
    excess, pairs = np.where(wrong, ranks, 0).sum(axis=0) - positive * mean, positive * (number - positive)
    z = excess / np.sqrt(np.maximum(pairs, 1) * (number + 1) / 12)
    thin = np.minimum(positive, number - positive) < FEWEST_CELLS
    return float(excess.sum() / max(1, pairs.sum())), np.where(thin, -np.inf, z)

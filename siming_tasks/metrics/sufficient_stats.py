"""Sufficient statistics of a score matrix, per video: counts and totals. All that follows is arithmetic on weights.

Standard errors are linearised: a metric of sums ``S`` of columns with gradient ``g`` at ``S``, and ``c`` the sums of
the columns over each of m clusters of videos, has the variance ``m / (m - 1) * sum over clusters of (g . c)^2`` (Liang
and Zeger 1986): the same formula for the data and, with its weights, for every resample, which is what an interval from
studentised resamples needs. No centring: the metrics here do not change
when all sums are doubled, so ``g . S`` is zero.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from siming_tasks.metrics.catalogue import CATALOGUE, Family, select
from siming_tasks.metrics.classification import Positive, binary_counts
from siming_tasks.metrics.correlation import Paired, shares
from siming_tasks.metrics.kappa import MOMENTS, LabelMapping, confusion, ordinal_labels
from siming_tasks.metrics.resample import Clusters, jackknife_error, n_clusters, per_cluster
from siming_tasks.metrics.score_matrix import FloatArray, ScoreMatrix
from siming_tasks.metrics.thresholds import FEWEST, FEWEST_CLUSTERS

_CELLS = 2**22  # doubles of the weights that leave out some clusters at a time


class Size(NamedTuple):
    """Numbers of what a metric rests on."""

    videos: int
    items: int
    """Steps; for correlations, videos."""
    clusters: int
    """Independent clusters of videos."""


@dataclass(frozen=True, eq=False)
class Tally:
    """Per-video sufficient statistics of one panel.

    Attributes:
        panel: where they come from.
        metrics: names of the metrics to compute.
        mapping: how points became labels.
        positive: the positive class of precision, recall and F1.
        steps: steps asked and steps answered, ``float64[V, 2]``.
        verdicts: TN, FP, FN, TP of "positive", ``float64[V, 4]``; points below the maximum are "wrong".
        labels: 4 x 4 confusion counts of the ordinal labels, ``float64[V, 16]``; zeros for ``answer="error"``.
        totals: reference and predicted totals of the videos that have both, as shares of the points available; none for
            ``answer="error"``.
    """

    panel: ScoreMatrix
    metrics: tuple[str, ...]
    mapping: LabelMapping
    positive: Positive
    steps: FloatArray
    verdicts: FloatArray
    labels: FloatArray
    totals: Paired

    @classmethod
    def of(
        cls,
        panel: ScoreMatrix,
        mapping: LabelMapping = "absolute",
        positive: Positive = "error",
        metrics: Sequence[str] | None = None,
    ) -> Tally:
        """Count a panel; ``metrics`` defaults to those of its kind of answer."""
        both = panel.counted & panel.answered
        verdicts = binary_counts(panel.reference_wrong, panel.predicted_wrong, both)
        labels = np.zeros((len(panel.video_ids), 16))
        x = y = np.full(len(panel.video_ids), np.nan)
        if panel.answer == "score":
            sides = [np.where(both, points, np.nan) for points in (panel.reference, panel.predicted)]
            labels = confusion(*(ordinal_labels(side, panel.max_score, mapping) for side in sides))
            x, y = shares(panel)
        return cls(
            panel=panel,
            metrics=select(panel.answer) if metrics is None else tuple(metrics),
            mapping=mapping,
            positive=positive,
            steps=np.stack([side.sum(axis=1, dtype=np.float64) for side in (panel.asked, panel.answered)], axis=1),
            verdicts=verdicts if positive == "error" else verdicts[..., ::-1],
            labels=labels,
            totals=Paired(x, y),
        )

    def imputed(self) -> Tally:
        """The same with the missing answers imputed.

        Itself if no answer is missing, or if there is none: a run that said nothing has no value either way.
        """
        panel = self.panel.imputed()
        if panel is self.panel or not self.verdicts.any():
            return self
        metrics = [name for name in self.metrics if CATALOGUE[name].compared]
        return Tally.of(panel, self.mapping, self.positive, metrics)

    @property
    def clusters(self) -> Clusters:
        """The number of each video's cluster, ``intp[V]``."""
        return self.panel.cluster_numbers

    @cached_property
    def is_clustered(self) -> bool:
        """True if a cluster has several videos."""
        return n_clusters(self.clusters) < len(self.clusters)

    @property
    def fewest(self) -> int:
        """Clusters below which a metric has no interval and a difference no test."""
        return FEWEST_CLUSTERS if self.is_clustered else FEWEST

    def counts(self, family: Family) -> FloatArray:
        """The counts that a family of metrics is computed of, one row for each video: they add up."""
        if family == "totals":
            raise ValueError("totals are no counts; see Tally.totals")
        return {"labels": self.labels, "verdicts": self.verdicts, "coverage": self.steps}[family]

    def compute(self, weights: FloatArray) -> dict[str, FloatArray]:
        """The metrics under every row of ``weights`` (``float64[B, V]``), ``float64[B]`` each; NaN where undefined."""
        sums: dict[Family, FloatArray] = {}
        values: dict[str, FloatArray] = {}
        for name in self.metrics:
            row = CATALOGUE[name]
            if row.family == "totals":
                values[name] = row.function(self.totals, weights)
                continue
            if row.family not in sums:
                sums[row.family] = weights @ self.counts(row.family)
            values[name] = row.function(sums[row.family])
        return values

    @cached_property
    def _linear(self) -> dict[Family, tuple[int, FloatArray, list[str]]]:
        """By family: how many columns, the columns beside their products, and the metrics that have a slope in them.

        One row for each cluster. The products are those of every two columns; those of unequal ones are doubled.
        """
        by_family: dict[Family, tuple[int, FloatArray, list[str]]] = {}
        sloped = [name for name in self.metrics if CATALOGUE[name].slope and name not in self._in_powers]
        for family in dict.fromkeys(CATALOGUE[name].family for name in sloped):
            names = [name for name in sloped if CATALOGUE[name].family == family]
            if family == "totals":
                columns = np.zeros((len(self.asked), self.totals.moments.shape[1]))
                columns[self.totals.keep] = self.totals.moments
            else:
                columns = self.counts(family) @ MOMENTS if family == "labels" else self.counts(family)
            columns = per_cluster(columns, self.clusters)
            first, other = np.triu_indices(columns.shape[1])
            products = np.where(first == other, 1.0, 2.0) * columns[:, first] * columns[:, other]
            by_family[family] = columns.shape[1], np.concatenate([columns, products], axis=1), names
        return by_family

    @cached_property
    def _in_powers(self) -> list[str]:
        """The metrics whose standard error is a formula of sums of powers: only of videos that are independent."""
        return [name for name in self.metrics if not self.is_clustered and CATALOGUE[name].fisher]

    def sums(self, weights: FloatArray) -> dict[Family, FloatArray]:
        """Sums behind :meth:`errors`, by family, under every row of ``weights``: ``float64[B, columns]``.

        All videos of a cluster have the same weight.
        """
        by_cluster = weights
        if self.is_clustered:
            by_cluster = weights.T[np.unique(self.clusters, return_index=True)[1]].T
        by_family: dict[Family, FloatArray] = {
            family: by_cluster @ columns for family, (_, columns, _) in self._linear.items()
        }
        if self._in_powers:
            by_family["totals"] = self.totals.weights(weights) @ self.totals.powers
        return by_family

    def errors(self, sums: Mapping[Family, FloatArray]) -> dict[str, FloatArray]:
        """Linearised standard errors of the metrics that have one in closed form, from :meth:`sums`.

        ``float64[B]`` each, NaN where undefined; those of a correlation are of its ``atanh``.
        """
        by_metric: dict[str, FloatArray] = {}
        for family, (k, _, names) in self._linear.items():
            summed, (first, other), m = sums[family], np.triu_indices(k), self.size(names[0]).clusters
            for name in names:
                if (gradient := CATALOGUE[name].slope) is not None:
                    slope = gradient(summed[:, :k])
                    variance = np.einsum("bk,bk,bk->b", slope[:, first], slope[:, other], summed[:, k:])
                    by_metric[name] = np.sqrt(np.maximum(variance, 0) * (m / max(1, m - 1)))
        for name in self._in_powers:
            if (fisher := CATALOGUE[name].fisher) is not None:
                by_metric[name] = fisher(sums["totals"], len(self.totals))
        return by_metric

    def own_errors(self) -> dict[str, float]:
        """The standard errors of the data as they are, on the scale of :meth:`errors`.

        For a correlation that of the jackknife, which sees what a few extreme clusters do and the closed form does not;
        but at least Fisher's of normal totals, ``1 / sqrt(V - 3)``: one that is smaller comes of samples that lack the
        extremes, and its intervals cover the truth in 70 to 85 %.
        """
        once = np.ones((1, len(self.asked)))
        standard_errors = {name: float(error[0]) for name, error in self.errors(self.sums(once)).items()}
        for name in standard_errors:
            if CATALOGUE[name].fisher:
                with np.errstate(divide="ignore", invalid="ignore"):
                    error = jackknife_error(np.arctanh(self.left_out[name][self.contributing(name)]))
                least = 1 / np.sqrt(len(self.totals) - 3) if len(self.totals) > 3 else 0.0
                standard_errors[name] = float(np.maximum(error, least))  # NaN stays NaN
        return standard_errors

    @cached_property
    def observed(self) -> dict[str, float]:
        """The metrics of the data as they are; NaN where undefined."""
        return {name: float(value[0]) for name, value in self.compute(np.ones((1, len(self.asked)))).items()}

    @cached_property
    def left_out(self) -> dict[str, FloatArray]:
        """The metrics with each cluster left out in turn (the jackknife), ``float64[G]`` each; NaN where undefined."""
        values: dict[str, FloatArray] = {}
        n = n_clusters(self.clusters)
        for name in self.metrics:
            row = CATALOGUE[name]
            if row.family != "totals":
                counts = self.counts(row.family)
                values[name] = row.function(counts.sum(axis=0) - per_cluster(counts, self.clusters))
            elif row.left_out and not self.is_clustered:
                values[name] = np.full(n, self.observed[name])
                values[name][self.totals.keep] = row.left_out(self.totals)
            else:
                chunks = np.array_split(np.arange(n), 1 + n * len(self.clusters) // _CELLS)
                without = ((self.clusters != some[:, None]).astype(np.float64) for some in chunks)
                values[name] = np.concatenate([row.function(self.totals, weights) for weights in without])
        return values

    def contributing(self, metric: str) -> NDArray[np.intp]:
        """Numbers of the clusters that the metric rests on, ascending: places in :attr:`left_out`."""
        return np.unique(self.clusters[self._videos(metric)])

    def _videos(self, metric: str) -> NDArray[np.intp]:
        family = CATALOGUE[metric].family
        return self.totals.keep if family == "totals" else np.flatnonzero(self._rests_on(family))

    def size(self, metric: str) -> Size:
        """Videos, items (steps; for correlations, videos) and clusters that the metric rests on."""
        family, videos = CATALOGUE[metric].family, len(self._videos(metric))
        items = videos if family == "totals" else int(self._rests_on(family).sum())
        return Size(videos, items, len(self.contributing(metric)))

    def _rests_on(self, family: Family) -> FloatArray:
        """Steps of each video: those asked for the coverage, those scored for everything else."""
        steps: FloatArray = self.steps[:, 0] if family == "coverage" else self.verdicts.sum(axis=1)
        return steps

    def bearing(self, metric: str) -> int:
        """Clusters in which a share of steps has a denominator: those that could have shown another value."""
        row = CATALOGUE[metric]
        if not row.share:
            return 0
        return int((~np.isnan(row.function(per_cluster(self.counts(row.family), self.clusters)))).sum())

    @property
    def asked(self) -> FloatArray:
        """Steps asked, ``float64[V]``."""
        return self.steps[:, 0]

    def coverage_of(self, metric: str) -> float | None:
        """Share of what was asked that the metric rests on: steps with a reference, or for totals videos with one.

        None if there is nothing of the kind; of the coverage itself, its value.
        """
        family = CATALOGUE[metric].family
        counted = self.panel.counted
        due = counted.any(axis=1) if family == "totals" else counted
        if family == "coverage" or not due.any():
            asked, answered = self.steps.sum(axis=0).tolist()
            return answered / asked if asked else None
        return self.size(metric)[1] / int(due.sum())

    def reason(self, metric: str) -> str:
        """Reason why the metric has no value or is undefined, given that it is."""
        if not self.asked.any():
            return "No step was asked about."
        if not self.panel.counted.any():
            return "There is no reference: the labels are withheld."
        if not self.verdicts.any():
            return "No step with a reference was answered."
        row = CATALOGUE[metric]
        if row.family == "totals":
            return row.why(self.totals)
        classes = ("wrong", "correct") if self.positive == "error" else ("correct", "wrong")
        return row.why(self.counts(row.family).sum(axis=0), classes)

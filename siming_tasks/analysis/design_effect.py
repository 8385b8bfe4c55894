"""Design effect: how much less clustered videos say than as many independent ones."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass

import numpy as np

from siming_tasks.common.errors import DataError
from siming_tasks.metrics.correlation import shares
from siming_tasks.metrics.score_matrix import ScoreMatrix
from siming_tasks.metrics.thresholds import FEWEST, FEWEST_CLUSTERS


@dataclass(frozen=True)
class DesignEffect:
    """Clusters of a sample of videos, as far as the precision of a mean depends on them.

    Attributes:
        per_cluster: mean number of videos of one cluster (a student, a site), at least 1.
        icc: intraclass correlation of what is averaged: share of its variance that lies between clusters, in [0, 1].
        cv: coefficient of variation of the clusters' sizes; 0: all are equal.
        unit: name of a cluster, in the singular.

    Raises:
        DataError: a value is out of range.

    Example:
        >>> DesignEffect(per_cluster=4, icc=0.3).factor
        1.9
    """

    per_cluster: float = 1.0
    icc: float = 0.0
    cv: float = 0.0
    unit: str = "video"

    def __post_init__(self) -> None:
        if not self.per_cluster >= 1:
            raise DataError(f"per_cluster is {self.per_cluster:g}; a {self.unit} has at least one video.")
        if not 0 <= self.icc <= 1:
            raise DataError(f"icc is {self.icc:g}; an intraclass correlation lies between 0 and 1.")
        if not self.cv >= 0:
            raise DataError(f"cv is {self.cv:g}; it must be 0 or more.")

    @property
    def factor(self) -> float:
        """Variance over clustered videos / variance over as many independent ones (Kish 1965; Eldridge et al. 2006).

        ``1 + (m - 1) icc`` for m videos in each cluster; unequal sizes count as ``m (1 + cv^2)``.
        """
        return 1 + ((1 + self.cv**2) * self.per_cluster - 1) * self.icc

    @property
    def fewest(self) -> int:
        """Clusters below which nothing is tested."""
        return FEWEST_CLUSTERS if self.per_cluster > 1 else FEWEST

    def clusters(self, videos: float) -> int:
        """Clusters that ``videos`` videos come from, at least 1."""
        return max(1, round(videos / self.per_cluster))

    def needed(self, independent: float) -> tuple[int, int]:
        """Clusters and videos that say as much as ``independent`` independent videos; clusters are whole."""
        return self.at(math.ceil(independent * self.factor / self.per_cluster - 1e-9))

    def at(self, clusters: int) -> tuple[int, int]:
        """A number of clusters and their videos."""
        return clusters, math.ceil(clusters * self.per_cluster - 1e-9)

    def to_json(self) -> dict[str, object]:
        """Plain JSON types."""
        return asdict(self) | {"factor": self.factor}


def estimate_design_effect(panel: ScoreMatrix) -> DesignEffect:
    """Sizes of a panel's clusters, and the intraclass correlation of the reference's totals (shares of the points).

    ``icc = (B - W) / (B + (m0 - 1) W)``, with the mean squares between and within clusters and the usual mean size m0
    of unequal clusters (Donner 1986); below 0 it is taken as 0. A metric of a judge varies with the totals of reference
    and judge together, so its own correlation is smaller unless the judge errs by student.

    Raises:
        DataError: no cluster has two videos, or all videos are in one: nothing tells clusters and videos apart.
    """
    values = shares(panel.predicting(panel.reference))[0]
    known = ~np.isnan(values)
    x, unit = values[known], panel.unit
    number, sizes = np.unique(np.array(panel.clusters)[known], return_inverse=True, return_counts=True)[1:]
    n, k = len(x), len(sizes)
    if k < 2 or n == k:
        what = f"{n} labelled videos of {k} {unit}s do not tell {unit}s and videos apart"
        what = what if unit != "video" else f"No two of the {n} labelled videos share a student or a site"
        raise DataError(f"{what}. Give --per-cluster and --icc.")
    means = np.bincount(number, x) / sizes
    between = (sizes * (means - x.mean()) ** 2).sum() / (k - 1)
    within = ((x - means[number]) ** 2).sum() / (n - k)
    usual = (n - (sizes**2).sum() / n) / (k - 1)
    total = between + (usual - 1) * within
    icc = max(0.0, (between - within) / total) if total > 0 else 0.0
    return DesignEffect(n / k, float(icc), float(sizes.std() / sizes.mean()), unit)

"""Alternative annotator test (Calderon, Reichart & Dror 2025): a judge in the place of one physician, against the rest.

It counts the steps at which the judge is at least as near to the other physicians as the one left out. Most steps of an
exam are right, so a judge that calls everything right without looking is near them at most steps, and can pass. The
no-video baselines therefore take the same test: where one of them passes, the test cannot tell here. Agreement beyond
chance (:mod:`siming_tasks.analysis.physician_equivalence`) comes first.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from siming_tasks.common.errors import DataError
from siming_tasks.metrics.resample import Clusters, per_cluster
from siming_tasks.metrics.score_matrix import FloatArray
from siming_tasks.metrics.thresholds import ALPHA, FEWEST

MARGIN = 0.1
"""Share of steps by which the judge may be the worse of the two and still count as not inferior."""


@dataclass(frozen=True)
class ReplacedRater:
    """The judge in the place of one physician, against the others.

    Attributes:
        judge: mean over videos of the share of steps at which the judge is at least as near to the others.
        physician: the same of the physician who was left out.
        p_value: that the physician's share is not ``margin`` above the judge's; one-sided t test over clusters of
            videos. None with fewer than :data:`siming_tasks.metrics.thresholds.FEWEST` of them.
        holds: rejected after Benjamini and Yekutieli's correction: the judge is not inferior here.
        videos: that it rests on.
        clusters: independent clusters of them.
    """

    judge: float
    physician: float
    p_value: float | None
    holds: bool
    videos: int
    clusters: int


@dataclass(frozen=True)
class AnnotatorTest:
    """Result of :func:`annotator_test`.

    Attributes:
        win_rate: share of physicians to whom the judge is not inferior.
        no_video: by no-video baseline, its own win rate.
    """

    margin: float
    win_rate: float
    physicians: Mapping[str, ReplacedRater]
    no_video: Mapping[str, float] = field(default_factory=dict)

    @property
    def passed_unseen(self) -> tuple[str, ...]:
        """The no-video baselines that pass: with any, the test says nothing of the judge."""
        return tuple(name for name, rate in self.no_video.items() if rate >= 0.5)


def annotator_test(
    judge: FloatArray,
    physicians: Mapping[str, FloatArray],
    margin: float = MARGIN,
    *,
    clusters: Clusters | None = None,
    no_video: Mapping[str, FloatArray] | None = None,
) -> AnnotatorTest:
    """Leave out each physician in turn, and compare judge and physician with the others.

    Args:
        judge: labels, ``float64[V, S]``. NaN at a step that two physicians have labelled is a missing answer, which is
            worse than any: leaving out hard steps gains nothing.
        physicians: by name, their labels; NaN where one gave none.
        margin: share of steps.
        clusters: the number of each video's cluster, ``intp[V]``; by default every video is its own.
        no_video: by name, labels of the no-video baselines.

    Raises:
        DataError: fewer than two physicians, a margin outside 0..1, or fewer than two videos that two have scored.
    """
    if len(physicians) < 2:
        raise DataError(f"The alternative annotator test needs two physicians' labels; {len(physicians)} given.")
    if not 0 <= margin < 1:
        raise DataError(f"the margin is {margin:g}; give a share of steps, at least 0 and below 1.")
    of = np.arange(len(judge)) if clusters is None else clusters
    rows = {name: _replace_physician(name, judge, physicians, margin, of) for name in physicians}
    # Benjamini and Yekutieli's step-up: the p-values of different physicians rest on the same videos.
    names = sorted((name for name in rows if rows[name].p_value is not None), key=lambda name: rows[name].p_value or 0)
    allowed = ALPHA / (len(rows) * sum(1 / rank for rank in range(1, len(rows) + 1)))
    passed = [rank for rank, name in enumerate(names, 1) if (rows[name].p_value or 0) <= rank * allowed]
    held = set(names[: max(passed, default=0)])
    rows = {name: replace(row, holds=name in held) for name, row in rows.items()}
    rates = {
        name: annotator_test(labels, physicians, margin, clusters=clusters).win_rate
        for name, labels in (no_video or {}).items()
    }
    return AnnotatorTest(margin, len(held) / len(rows), rows, rates)


def _replace_physician(
    name: str, judge: FloatArray, physicians: Mapping[str, FloatArray], margin: float, clusters: Clusters
) -> ReplacedRater:
    """The judge in the place of one physician, not yet corrected for the others."""
    own = physicians[name]
    others = np.stack([labels for other, labels in physicians.items() if other != name])
    known = ~np.isnan(others)
    rated = ~np.isnan(own) & known.any(axis=0)
    steps = rated.sum(axis=1)
    kept = steps > 0
    n = int(kept.sum())
    if n < 2:
        raise DataError(f"Fewer than two videos were scored by {name} and another physician.")

    def distance(labels: FloatArray) -> FloatArray:
        gaps = np.where(known, np.abs(labels[None] - np.where(known, others, 0)), 0)
        mean = gaps.sum(axis=0) / np.maximum(known.sum(axis=0), 1)
        rounded: FloatArray = np.where(np.isnan(labels), np.inf, mean).round(9)
        return rounded

    of_judge, of_physician = distance(judge), distance(own)
    judge_share, physician_share = (
        np.where(rated, near, 0).sum(axis=1)[kept] / steps[kept]
        for near in (of_judge <= of_physician, of_physician <= of_judge)
    )
    gap = physician_share - judge_share - margin
    # Sums of each cluster's deviations: the error of a mean of videos of which those of one cluster are alike.
    deviations = per_cluster(gap - gap.mean(), np.unique(clusters[kept], return_inverse=True)[1].reshape(-1))
    g = len(deviations)
    p_value = None
    if g >= FEWEST:
        from scipy.special import stdtr  # not at import time: slow

        mean, stderr = float(gap.mean()), math.sqrt(g / (g - 1) * float(np.square(deviations).sum())) / n
        p_value = float(stdtr(g - 1, mean / stderr)) if stderr > 1e-12 else float(mean >= -1e-12)
    return ReplacedRater(float(judge_share.mean()), float(physician_share.mean()), p_value, False, n, g)

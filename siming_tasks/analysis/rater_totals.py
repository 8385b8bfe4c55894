"""Agreement of the physicians of a data set in the totals of their exams."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import Any

import numpy as np

from siming_tasks.analysis.totals_agreement import IntraclassCorrelation, TotalsAgreement, icc, totals_agreement
from siming_tasks.common.errors import DataError
from siming_tasks.common.schema import CONSENSUS, Unit, UnitChoice
from siming_tasks.data import Dataset
from siming_tasks.metrics.estimate import plain
from siming_tasks.metrics.score_matrix import BoolArray, FloatArray, ScoreMatrix
from siming_tasks.options import Options
from siming_tasks.results.evaluate_records import build_reference_matrix
from siming_tasks.tasks import benchmark_task

_RARELY_SCORED = 0.95


@dataclass(frozen=True)
class RaterTotals:
    """Agreement of the raters' totals, as shares of the available points.

    Attributes:
        complete: videos and steps that all raters scored; the totals rest on these.
        unit: what the jackknife leaves out: a video, student or site.
        limits: totals of each pair, first minus second.
    """

    raters: tuple[str, ...]
    videos: int
    complete: tuple[int, int]
    unit: Unit = "video"
    icc: IntraclassCorrelation | None = None
    limits: Mapping[str, TotalsAgreement] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        """Plain JSON types; no NaN."""
        return {name: plain(value) for name, value in vars(self).items()}


def rater_totals(
    dataset: Dataset, options: Options | None = None, *, names: Sequence[str] | None = None
) -> RaterTotals:
    """Totals of two physicians or more; of ``names`` only, the consensus too if it is named.

    Raises:
        DataError: fewer than two physicians.
    """
    panel, points = _points_of_raters(dataset, names, (options or Options()).cluster)
    raters = tuple(points)
    shares = np.stack([values / panel.max_score for values in points.values()], axis=2)
    rows, part, totals = _complete_part(shares, panel.max_score)
    clusters = [panel.clusters[row] for row in rows]
    pairs = {f"{raters[a]} - {raters[b]}": totals[:, [a, b]].T for a, b in combinations(range(len(raters)), 2)}
    return RaterTotals(
        raters=raters,
        videos=len(panel.video_ids),
        complete=part.shape[:2],
        unit=panel.unit,
        icc=icc(totals, clusters),
        limits={name: totals_agreement(first, second, clusters) for name, (first, second) in pairs.items()},
    )


def _points_of_raters(
    dataset: Dataset, names: Sequence[str] | None, cluster: UnitChoice
) -> tuple[ScoreMatrix, dict[str, FloatArray]]:
    """The consensus, and by name the points ``[V, S]`` of the raters who scored anything, in its order."""
    setting = benchmark_task("full", "score").name
    points: dict[str, FloatArray] = {}
    for name in names or dataset.physicians:
        values = build_reference_matrix(dataset, setting, name).sorted().reference
        points |= {} if np.isnan(values).all() else {name: values}
    if len(points) < 2:
        present = ", ".join(points) or "none"
        raise DataError(f"The totals of raters need two physicians; {dataset.name} has {present}.")
    return build_reference_matrix(dataset, setting, CONSENSUS, cluster).sorted(), points


def _complete_part(shares: FloatArray, max_score: FloatArray) -> tuple[list[int], FloatArray, FloatArray]:
    """Positions of the P videos that everybody scored, their shares ``[P, I, R]`` and totals as shares ``[P, R]``."""
    known: BoolArray = np.asarray(~np.isnan(shares).any(axis=2))
    some: BoolArray = np.asarray(known.any(axis=1))
    # A step that is often missing goes before the videos do.
    columns = np.flatnonzero(known[some].mean(axis=0) >= _RARELY_SCORED) if some.any() else np.arange(0)
    rows = np.flatnonzero(known[:, columns].all(axis=1)) if len(columns) else np.arange(0)
    part, worth = shares[rows][:, columns], max_score[columns]
    if not len(columns):
        return [], part, np.full((0, shares.shape[2]), np.nan)
    return rows.tolist(), part, np.einsum("vsr,s->vr", part, worth) / worth.sum()

"""Robustness of the metrics: other choices of analysis, and students or sites as the unit of sampling."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from siming_tasks.metrics.agreement.classification import Positive
from siming_tasks.metrics.agreement.labels import MAPPINGS, LabelMapping
from siming_tasks.metrics.agreement.linear import jackknife_error
from siming_tasks.metrics.catalogue import select
from siming_tasks.metrics.resample import observed
from siming_tasks.metrics.score_matrix import FloatArray, ScoreMatrix
from siming_tasks.metrics.sensitivity import adversarial_fill, zero_fill
from siming_tasks.metrics.sufficient_stats import Tally

__all__ = ["AnalysisChoices", "Choice", "ClusterError", "ClusterErrors", "choices", "clusters"]

CHOICES_CAVEAT = (
    "Values without intervals, to show how far a choice moves them. Imputed answers are no results: 'zero' takes a "
    "missing answer as no points (verdict: wrong), 'adversarial' as far from the reference as the scale allows."
)


@dataclass(frozen=True)
class Choice:
    """One way to decide one choice, and the metrics under it (None without data, 0.0 where undefined)."""

    choice: str
    option: str
    values: dict[str, float | None]


@dataclass(frozen=True)
class AnalysisChoices:
    """All options, the headline's among them, and what to bear in mind."""

    options: tuple[Choice, ...]
    caveat: str = field(default=CHOICES_CAVEAT, init=False)


def choices(panel: ScoreMatrix, mapping: LabelMapping = "absolute", positive: Positive = "error") -> AnalysisChoices:
    """Metrics of a panel under every option of every choice, the others held at the headline's."""
    metrics = select(panel.answer, compared=True)

    def values(
        data: ScoreMatrix, names: tuple[str, ...], m: LabelMapping = mapping, p: Positive = positive
    ) -> dict[str, float | None]:
        tally = Tally.of(data, m, p, names)
        if not tally.verdicts.any():
            return dict.fromkeys(names)
        return {k: 0.0 if v != v else v for k, v in observed(tally.compute, len(data.video_ids)).items()}

    found = []
    if panel.answer == "score":
        labelled = select("score", family="labels")
        found += [Choice("mapping", name, values(panel, labelled, m=name)) for name in MAPPINGS]
    else:
        classes: tuple[Positive, ...] = ("error", "correct")
        found += [Choice("positive class", name, values(panel, metrics, p=name)) for name in classes]
    found.append(Choice("missing answers", "left out", values(panel, metrics)))
    for name, fill in (("zero", zero_fill), ("adversarial", adversarial_fill)):
        found.append(Choice("missing answers", name, values(panel.predicting(fill(panel)), metrics)))
    return AnalysisChoices(tuple(found))


MOST = 1_000
"""Groups that are left out in turn; more are taken together, as evenly as they come."""

_ROWS = 64


@dataclass(frozen=True)
class ClusterError:
    """One metric.

    Attributes:
        value: of all videos.
        by_video: its jackknife standard error if videos are independent.
        by_cluster: the same if only clusters are: each cluster left out in turn. None with fewer than three.
        left_out: by cluster, the value without it; only where there are few (sites).
    """

    value: float | None
    by_video: float | None
    by_cluster: float | None
    left_out: Mapping[str, float | None]


@dataclass(frozen=True)
class ClusterErrors:
    """What a run's metrics are if ``kind`` (``student`` or ``site``) is what was sampled.

    Attributes:
        kind: what the clusters are.
        names: number of clusters; a video that belongs to none is one of its own.
        largest: videos of the largest.
        metrics: a row for each metric.
    """

    kind: str
    names: int
    largest: int
    metrics: Mapping[str, ClusterError]


def clusters(
    panel: ScoreMatrix,
    of: Mapping[str, str | None],
    kind: str,
    *,
    mapping: LabelMapping = "absolute",
    positive: Positive = "error",
    each: bool = False,
) -> ClusterErrors | None:
    """Leave out each cluster in turn (delete-a-group jackknife); None where no cluster has two videos, or all are one.

    It holds with few clusters, where a bootstrap of them would draw the same ones over and over.

    Args:
        panel: of the run.
        of: by video, its cluster, or None.
        kind: what the clusters are.
        mapping: how points become labels.
        positive: the positive class of precision, recall and F1.
        each: give the value without each cluster.
    """
    panel = panel.sorted()
    groups = [f"={name}" if (name := of.get(video)) is not None else f"-{video}" for video in panel.video_ids]
    names, number, sizes = np.unique(groups, return_inverse=True, return_counts=True)
    if len(names) < 2 or sizes.max() < 2:
        return None
    tally = Tally.of(panel, mapping, positive, select(panel.answer, compared=True))
    if len(names) > MOST:
        number, names = number * MOST // len(names), np.arange(MOST).astype(str)
    left = _without(tally, number.reshape(-1).astype(np.intp), len(names))
    rows = {
        metric: ClusterError(
            _finite_or_none(tally.observed[metric]),
            _error(tally.left_out[metric][tally.contributing(metric)]),
            _error(values) if len(names) > 2 else None,
            {str(name)[1:]: _finite_or_none(value) for name, value in zip(names, values, strict=True)} if each else {},
        )
        for metric, values in left.items()
    }
    return ClusterErrors(kind, len(sizes), int(sizes.max()), rows)


def _without(tally: Tally, number: NDArray[np.intp], groups: int) -> dict[str, FloatArray]:
    """Every metric without each group, ``float64[G]``."""
    parts: list[dict[str, FloatArray]] = []
    for start in range(0, groups, _ROWS):
        wanted = np.arange(start, min(start + _ROWS, groups))
        parts.append(tally.compute((number[None, :] != wanted[:, None]).astype(np.float64)))
    return {metric: np.concatenate([part[metric] for part in parts]) for metric in tally.metrics}


def _error(left: FloatArray) -> float | None:
    """Standard error from the values with each unit left out; None where one of them is undefined."""
    return _finite_or_none(jackknife_error(left))


def _finite_or_none(value: float) -> float | None:
    return float(value) if math.isfinite(value) else None

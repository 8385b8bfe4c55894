"""Robustness of the metrics: other choices of analysis, and students or sites as the unit of sampling."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from siming_tasks.metrics.catalogue import select
from siming_tasks.metrics.classification import Positive
from siming_tasks.metrics.evaluate import adversarial_fill, zero_fill
from siming_tasks.metrics.intervals import jackknife_interval
from siming_tasks.metrics.kappa import MAPPINGS, LabelMapping
from siming_tasks.metrics.resample import jackknife_error, observed
from siming_tasks.metrics.score_matrix import ScoreMatrix
from siming_tasks.metrics.sufficient_stats import Tally
from siming_tasks.metrics.thresholds import COMPARABLE, FEWEST_CLUSTERS, NOISE

MOST_GROUPS = 1_000
"""Groups that are left out in turn; more are merged, as evenly as they come."""

_ROWS = 64  # groups left out at a time: the weights of all would not fit into memory


@dataclass(frozen=True)
class Choice:
    """One way to decide one choice, and the metrics under it (None without data, 0.0 where undefined).

    ``answered``: something was left out of them, and they are of the answers alone; ``flags``: of such values.
    """

    choice: str
    option: str
    values: dict[str, float | None]
    answered: bool = False
    flags: tuple[str, ...] = ()


@dataclass(frozen=True)
class AnalysisChoices:
    """Metrics under every option of every choice, those of the headline among them, with a caveat."""

    options: tuple[Choice, ...]
    caveat: str = field(
        default="Values without intervals, to show how far a choice moves them. A missing answer is left out, or taken "
        "as 'full points' (verdict: correct), by which runs are ranked; no results are 'zero', which takes it as no "
        "points (verdict: wrong), and 'adversarial', as far from the reference as the scale allows.",
        init=False,
    )


def analysis_choices(
    matrix: ScoreMatrix, mapping: LabelMapping = "absolute", positive: Positive = "error"
) -> AnalysisChoices:
    """Metrics under every option of the choices that the paper leaves open, the others held at the headline's.

    The choices are the label mapping (scores), the positive class (verdicts), and the treatment of missing answers.
    """
    metrics = select(matrix.answer, compared=True)
    how: dict[str, Any] = {"mapping": mapping, "positive": positive, "metrics": metrics}
    options = []

    def add(choice: str, option: str, data: ScoreMatrix = matrix, **other: Any) -> None:
        tally = Tally.of(data, **{**how, **other})
        values: dict[str, float | None] = dict.fromkeys(tally.metrics)
        if tally.verdicts.any():
            computed = observed(tally.compute, len(data.video_ids))
            values |= {name: 0.0 if math.isnan(value) else value for name, value in computed.items()}
        share = data.answered_share
        flags = ("not-comparable",) if share < COMPARABLE else ()
        options.append(Choice(choice, option, values, answered=share < 1, flags=flags))

    for reading in MAPPINGS if matrix.answer == "score" else ():
        add("mapping", reading, mapping=reading, metrics=select("score", family="labels"))
    for positive_class in ("error", "correct") if matrix.answer == "error" else ():
        add("positive class", positive_class, positive=positive_class)
    add("missing answers", "left out")
    add("missing answers", "full points", matrix.imputed())
    for name, fill in (("zero", zero_fill), ("adversarial", adversarial_fill)):
        add("missing answers", name, matrix.predicting(fill(matrix)))
    return AnalysisChoices(tuple(options))


@dataclass(frozen=True)
class ClusterError:
    """Standard errors of one metric.

    Attributes:
        value: metric of all videos.
        by_video: its jackknife standard error if videos are independent.
        by_cluster: the same if only clusters are: each cluster left out in turn. None with fewer than three.
        low: lower end of the 95 % interval of Student's t over the clusters (of correlations on Fisher's z), ``high``
            the upper one; None below
            :data:`siming_tasks.metrics.thresholds.FEWEST_CLUSTERS` clusters, which say too little.
        design_effect: variance over clusters / variance over videos: as many times more videos are needed.
        left_out: by cluster, the value without it; only where there are few (sites).
    """

    value: float | None
    by_video: float | None
    by_cluster: float | None
    low: float | None
    high: float | None
    design_effect: float | None
    left_out: Mapping[str, float | None]


@dataclass(frozen=True)
class ClusterErrors:
    """Standard errors of a run's metrics if ``kind`` (``student`` or ``site``) is the unit that was sampled.

    Attributes:
        names: number of clusters; a video that belongs to none is a cluster of its own.
        largest: number of videos of the largest cluster.
        metrics: standard errors by metric.
    """

    kind: str
    names: int
    largest: int
    metrics: Mapping[str, ClusterError]


def cluster_errors(
    matrix: ScoreMatrix,
    clusters: Mapping[str, str | None],
    kind: str,
    *,
    mapping: LabelMapping = "absolute",
    positive: Positive = "error",
    each: bool = False,
) -> ClusterErrors | None:
    """Leave out each cluster in turn (delete-a-group jackknife).

    It holds with few clusters, where a bootstrap of them would draw the same ones over and over. ``clusters``: by
    video, the name of its cluster, or None; ``each``: give the value without each cluster.

    Returns:
        None where no cluster has two videos, or all videos are in one.
    """
    matrix = replace(matrix, clusters=(), unit="video").sorted()
    # The first character keeps a cluster apart from a video of the same name that belongs to none.
    groups = [f"={name}" if (name := clusters.get(video)) is not None else f"-{video}" for video in matrix.video_ids]
    names, number, sizes = np.unique(groups, return_inverse=True, return_counts=True)
    if len(names) < 2 or sizes.max() < 2:
        return None
    if len(names) > MOST_GROUPS:
        number, names = number * MOST_GROUPS // len(names), np.arange(MOST_GROUPS).astype(str)
    tally = Tally.of(matrix, mapping, positive, select(matrix.answer, compared=True))
    alone = replace(tally, panel=replace(matrix, clusters=matrix.video_ids, unit="video"))  # every video its own
    number, parts = number.reshape(-1), []
    for start in range(0, len(names), _ROWS):
        left_out = np.arange(start, min(start + _ROWS, len(names)))
        parts.append(tally.compute((number[None, :] != left_out[:, None]).astype(np.float64)))

    def finite(value: float) -> float | None:
        return float(value) if math.isfinite(value) else None

    rows = {}
    for metric in tally.metrics:
        without = np.concatenate([part[metric] for part in parts])
        value, by_cluster = tally.observed[metric], jackknife_error(without) if len(names) > 2 else math.nan
        by_video = jackknife_error(alone.left_out[metric][alone.contributing(metric)])
        interval = jackknife_interval(metric, value, without) if len(names) >= FEWEST_CLUSTERS else None
        rows[metric] = ClusterError(
            value=finite(value),
            by_video=finite(by_video),
            by_cluster=finite(by_cluster),
            low=None if interval is None else finite(interval.low),
            high=None if interval is None else finite(interval.high),
            design_effect=finite((by_cluster / by_video) ** 2) if by_video > NOISE else None,
            left_out={str(name)[1:]: finite(v) for name, v in zip(names, without, strict=True)} if each else {},
        )
    return ClusterErrors(kind, len(sizes), int(sizes.max()), rows)

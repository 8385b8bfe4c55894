"""Metrics that other benchmarks of procedures report, from their definitions; the catalogue names and describes them.

A judge of steps flags whole segments, so that no rule is needed that makes a segment's flag of its frames' flags.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from siming_tasks.metrics.catalogue import OTHER_BENCHMARKS
from siming_tasks.metrics.classification import binary_counts, f1, mcc, precision, recall
from siming_tasks.metrics.correlation import shares
from siming_tasks.metrics.estimate import Estimate
from siming_tasks.metrics.intervals import finish
from siming_tasks.metrics.ratio_estimates import Stat, estimate_stats, ratio
from siming_tasks.metrics.resample import Spread, quantile_of_t
from siming_tasks.metrics.roc import ScoredSteps
from siming_tasks.metrics.score_matrix import BoolArray, FloatArray, ScoreMatrix
from siming_tasks.metrics.thresholds import FEWEST, FEWEST_CLUSTERS, THIN

NO_SEGMENT = "No answered step has a segment."
ONE_CLASS = "Every answered step is right, or every one is wrong."
ONE_TOTAL = "All reference totals are equal: max - min is 0."
VERDICT_TOTALS = "Verdicts have no total."
NO_OMISSIONS = "The replies do not say which steps were left out."
NO_MEASUREMENTS = "No reply holds a measured value: no format of answers asks for a rate or a depth."


@dataclass(frozen=True)
class OperatingPoint:
    """One threshold of an error-recognition curve: steps whose score is at least that are called wrong.

    Precision, recall or F1 is None where it is 0/0.
    """

    threshold: float
    accuracy: float
    precision: float | None
    recall: float | None
    f1: float | None


def wrongness(matrix: ScoreMatrix) -> FloatArray:
    """Score of each step for being wrong, ``float[V, S]`` in [0, 1]: the share of its points that it is denied.

    A verdict is 0 or 1. It is no probability: nothing that a reply holds is one.
    """
    if matrix.answer == "error":
        return matrix.predicted
    lost: FloatArray = (1 - matrix.predicted / matrix.max_score).round(9)
    return lost


def recognition_curve(matrix: ScoreMatrix) -> tuple[OperatingPoint, ...]:
    """Accuracy, precision, recall and F1 at each score that the judge gives, from the lowest; wrong is positive.

    At the lowest every step is called wrong.

    Example:
        >>> from siming_tasks import ScoreMatrix
        >>> matrix = ScoreMatrix(video_ids=("v",), step_ids=("a", "b", "c"), skills=("x",) * 3, max_score=[2, 2, 2],
        ...                      reference=[[2, 1, 0]], predicted=[[2, 2, 1]], asked=[[True] * 3], answer="score")
        >>> [(point.threshold, round(point.accuracy, 3), point.recall) for point in recognition_curve(matrix)]
        [(0.0, 0.667, 1.0), (0.5, 0.667, 0.5)]
    """
    known, scores = matrix.counted & matrix.answered, wrongness(matrix)
    points = []
    for threshold in np.unique(scores[known]).tolist():
        counts = binary_counts(matrix.reference_wrong, scores >= threshold, known).sum(axis=0)
        rates = [None if np.isnan(value) else float(value) for value in (precision(counts), recall(counts), f1(counts))]
        points.append(OperatingPoint(threshold, float((counts[0] + counts[3]) / counts.sum()), *rates))
    return tuple(points)


def recognition_area(matrix: ScoreMatrix, scores: FloatArray | None = None) -> Estimate:
    """Area under the ROC curve of a judge's scores, with the interval of its clusters' influences (Obuchowski 1997).

    ``scores``: for being wrong, ``float[V, S]``, where they are known; None: :func:`wrongness`. Of verdicts the area is
    the mean of sensitivity and specificity. Fewer than ten wrong or ten right steps have no interval.
    """
    known = matrix.counted & matrix.answered
    scored = ScoredSteps(
        wrongness(matrix) if scores is None else scores, matrix.reference_wrong, known, matrix.cluster_numbers
    )
    value, influence = scored.pooled()
    videos = known.any(axis=1)
    clusters = len(np.unique(matrix.cluster_numbers[videos]))
    spread = None
    cells = int((matrix.reference_wrong & known).sum()), int((~matrix.reference_wrong & known).sum())
    if clusters > 1 and min(cells) >= THIN:
        error = float(np.sqrt(clusters / (clusters - 1) * (influence**2).sum()))
        half = quantile_of_t(clusters - 1) * error
        spread = Spread(error, max(0.0, value - half), min(1.0, value + half), 0.0)
    number, fewest = int(videos.sum()), FEWEST
    if clusters < number:
        fewest = FEWEST_CLUSTERS  # a t interval needs fewer of several videos each
    return finish(value, spread, videos=number, clusters=clusters, items=int(known.sum()), why=ONE_CLASS, fewest=fewest)


def omission_iou(left_out: BoolArray, said: BoolArray, among: BoolArray) -> FloatArray:
    """Intersection over union of the steps left out and those said to be, of each video, ``float[V]``; 1 if both empty.

    EgoPER takes the steps of the topological order of the task graph that is nearest to what was seen, less those seen.
    Every topological order has all steps, so that the set does not depend on which is nearest: it is the steps of the
    graph that were not seen.

    Args:
        left_out: in truth, ``bool[V, S]``.
        said: by the judge.
        among: steps of the video's graph; others do not count.

    Example:
        >>> import numpy as np
        >>> truth, said = np.array([[1, 1, 0], [0, 0, 0]], bool), np.array([[1, 0, 1], [0, 0, 0]], bool)
        >>> omission_iou(truth, said, np.ones((2, 3), bool)).round(3).tolist()
        [0.333, 1.0]
    """
    both, either = (part.sum(axis=1) for part in (left_out & said & among, (left_out | said) & among))
    iou: FloatArray = np.divide(both, either, out=np.ones(len(both)), where=either > 0)
    return iou


def relative_l2(truth: FloatArray, predicted: FloatArray) -> FloatArray:
    """Terms whose mean is the relative L2 distance: ``100 ((prediction - truth) / (max - min))²``, of the true range.

    NaN where either is unknown or all true values are equal.

    Example:
        >>> import numpy as np
        >>> relative_l2(np.array([0.0, 10.0]), np.array([1.0, 8.0])).round(9).tolist()
        [1.0, 4.0]
    """
    both = np.where(np.isnan(predicted), np.nan, truth)
    width = np.ptp(both[~np.isnan(both)]) if (~np.isnan(both)).any() else 0.0
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(width > 0, 100 * ((predicted - both) / width) ** 2, np.nan)


def mean_absolute_error(measured: FloatArray, predicted: FloatArray) -> float | None:
    """Mean of ``|prediction - measured|`` where both are known, in their unit (per minute, mm); None if nowhere.

    Example:
        >>> import numpy as np
        >>> mean_absolute_error(np.array([110.0, 100.0, np.nan]), np.array([120.0, 96.0, 100.0]))
        7.0
    """
    distance = np.abs(predicted - measured)
    known = ~np.isnan(distance)
    return float(distance[known].mean()) if known.any() else None


def other_benchmark_estimates(
    judges: Mapping[str, ScoreMatrix],
    segments: BoolArray,
    omissions: Mapping[str, BoolArray] | None = None,
    *,
    resamples: int,
    seed: int,
) -> dict[str, dict[str, Estimate]]:
    """By metric of the catalogue's other benchmarks and by judge, the value; intervals from one bootstrap of clusters.

    Args:
        judges: answers to the same questions; the same steps must be answered by all.
        segments: steps that have a segment of the recording, ``bool[V, S]``; others were left out, or have no times.
        omissions: by judge, the steps said to be left out, ``bool[V, S]``; None: the replies do not say. In truth those
            are left out that are wrong and have no segment.
        resamples: of the bootstrap.
        seed: of the bootstrap.
    """
    first = next(iter(judges.values()))
    stats: dict[tuple[str, str], Stat] = {}
    for name, matrix in judges.items():
        known = matrix.counted & matrix.answered
        right = matrix.predicted_wrong == matrix.reference_wrong
        stats["eda", name] = ratio(right & known, known, "No step was answered.")
        stats["eda_segments", name] = ratio(right & known & segments, known & segments, NO_SEGMENT)
        for key, where in (("mcc", known), ("mcc_segments", known & segments)):
            counts = binary_counts(matrix.reference_wrong, matrix.predicted_wrong, where)
            stats[key, name] = Stat(counts, mcc, int(where.sum()), NO_SEGMENT)
        if omissions and segments.any():
            left_out, videos = matrix.reference_wrong & ~segments, known.any(axis=1)
            iou = omission_iou(left_out, omissions[name], known)
            stats["omission_iou", name] = ratio(np.where(videos, iou, 0.0), videos.astype(float))
        if matrix.answer == "score":
            terms = relative_l2(*shares(matrix))
            stats["relative_l2", name] = ratio(np.nan_to_num(terms), (~np.isnan(terms)).astype(float), ONE_TOTAL)
    found = estimate_stats(stats, first.cluster_numbers, resamples, seed)
    table: dict[str, dict[str, Estimate]] = {}
    for (key, name), estimate in found.items():
        table.setdefault(key, {})[name] = estimate
    table["recognition_auroc"] = {name: recognition_area(matrix) for name, matrix in judges.items()}
    absent = {"omission_iou": NO_OMISSIONS, "relative_l2": VERDICT_TOTALS, "rate_mae": NO_MEASUREMENTS,
              "depth_mae": NO_MEASUREMENTS}  # fmt: skip
    for key, why in absent.items():
        table.setdefault(key, {name: Estimate(None, reason=why) for name in judges})
    return {key: table[key] for key in OTHER_BENCHMARKS}

"""Numbers of the answer formats: abstention, the seconds that an answer rests on, and named errors."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

import numpy as np

from siming_tasks.benchmark.metrics.catalogue import labels_of, share_of
from siming_tasks.benchmark.metrics.classification import f1, precision, ratio, recall
from siming_tasks.benchmark.metrics.estimate import Rows
from siming_tasks.benchmark.metrics.jackknife import Counted, Statistic, jackknife
from siming_tasks.benchmark.metrics.reasons import Reason
from siming_tasks.benchmark.metrics.score_matrix import BoolArray, FloatArray, ScoreMatrix
from siming_tasks.common.choices import LabelMapping

Span = tuple[float, float]
"""(start, end) in seconds."""
Cell = tuple[int, int]
"""Place of a video and of a step in a matrix."""
Named = Mapping[Cell, Collection[str]]
"""Ids of the errors that are named of a step."""


def table(name: str, matrix: ScoreMatrix, statistics: Mapping[str, Statistic]) -> Rows:
    """A row of each statistic, by its key."""
    return Rows(jackknife(each, matrix).estimate().at(name, name, key) for key, each in statistics.items())


def accuracy(mapping: LabelMapping = "absolute") -> Counted:
    """Share of the answered steps with the reference's label (verdict)."""

    def same(matrix: ScoreMatrix) -> BoolArray:
        is_score = matrix.answer == "score"
        x, y = labels_of(matrix, mapping) if is_score else (matrix.reference_wrong, matrix.predicted_wrong)
        return np.equal(x, y)

    return share_of(same, lambda matrix: matrix.counted & matrix.answered, Reason.NOTHING_ANSWERED)


def abstention(matrix: ScoreMatrix, away: BoolArray, *, mapping: LabelMapping = "absolute") -> Rows:
    """Share of the steps that were called not visible (``away``, ``bool[V, S]``), and accuracy where it answered.

    ``accuracy_full`` is that of all steps, an abstention counting as full points or "correct" as any missing answer.
    """
    matrix_full = matrix.imputed()
    rows = table("abstention", matrix, {
        "abstained": share_of(lambda m: away, lambda m: m.asked, Reason.NOT_ASKED),
        "accuracy": accuracy(mapping),
    })  # fmt: skip
    return rows + table("abstention", matrix_full, {"accuracy_full": accuracy(mapping)})


def evidence(
    matrix: ScoreMatrix, claims: Mapping[Cell, Sequence[Span]], spans: FloatArray, durations: FloatArray
) -> Rows:
    """Share of the answers that name seconds, their mean temporal IoU with the step's span, and that of chance.

    ``iou_middle`` is the IoU of a part as long as the claim in the middle of the video.

    Args:
        matrix: reference and judge.
        claims: parts of the video by place; parts that overlap count once.
        spans: of the steps, ``float[V, S, 2]``; NaN: none.
        durations: of the videos, ``float[V]``.
    """
    shape = matrix.asked.shape
    claimed, overlap, middle = np.zeros(shape, bool), np.full(shape, np.nan), np.full(shape, np.nan)
    for (v, s), parts in claims.items():
        kept = merged(parts, float(durations[v]))
        claimed[v, s] = bool(kept)
        span, length = (float(spans[v, s, 0]), float(spans[v, s, 1])), sum(end - start for start, end in kept)
        centre = float(durations[v]) / 2
        overlap[v, s] = iou(kept, span)
        middle[v, s] = iou([(centre - length / 2, centre + length / 2)], span)
    due = matrix.answered & ~np.isnan(spans).any(axis=2)
    return table("evidence", matrix, {
        "claimed": share_of(lambda m: claimed, lambda m: due, Reason.NO_SPAN_ANSWERED),
        "iou": mean_of(overlap, due & claimed, Reason.NO_PART_NAMED),
        "iou_middle": mean_of(middle, due & claimed, Reason.NO_PART_NAMED),
    })  # fmt: skip


def mean_of(values: FloatArray, of: BoolArray, why: str, bounds: tuple[float, float] = (0.0, 1.0)) -> Counted:
    """Mean of values of steps, ``float[V, S]``, over those in ``of``."""
    counts = np.stack([np.where(of, np.nan_to_num(values), 0).sum(axis=1), of.sum(axis=1)], axis=1)
    return Counted(lambda m: counts, lambda sums: ratio(sums[..., 0], sums[..., 1]), lambda sums: why, bounds)


def merged(parts: Sequence[Span], duration: float) -> tuple[Span, ...]:
    """The parts within a video, those that overlap as one, in order."""
    union: list[Span] = []
    for start, end in sorted((max(0.0, a), min(duration, b)) for a, b in parts):
        if start <= end and union and start <= union[-1][1]:
            union[-1] = union[-1][0], max(union[-1][1], end)
        elif start <= end:
            union.append((start, end))
    return tuple(union)


def iou(parts: Sequence[Span], span: Span) -> float:
    """Seconds in both / seconds in either, of parts that do not overlap; 0 if either has none.

    Example:
        >>> iou([(10, 20), (30, 40)], (15, 35))  # 10 s in both, 30 s in either
        0.3333333333333333
    """
    both = sum(max(0.0, min(end, span[1]) - max(start, span[0])) for start, end in parts)
    either = sum(end - start for start, end in parts) + span[1] - span[0] - both
    return both / either if either > 0 else 0.0


def named_errors(matrix: ScoreMatrix, reference: Named, named: Named) -> Rows:
    """Micro-averaged precision, recall and F1 of the errors that were named, over the steps whose errors are known."""
    counts = np.zeros((len(matrix.video_ids), 4))
    for cell, true in reference.items():
        said = set(named.get(cell, ()))
        if matrix.asked[cell]:
            counts[cell[0], 1:] += len(said - set(true)), len(set(true) - said), len(said & set(true))
    how = {"range": (0.0, 1.0), "share": True}
    functions = {"precision": precision, "recall": recall, "f1": f1}
    return table("named errors", matrix, {
        key: Counted(lambda m: counts, function, lambda sums: Reason.NO_ERROR_NAMED, **how)  # type: ignore[arg-type]
        for key, function in functions.items()
    })  # fmt: skip

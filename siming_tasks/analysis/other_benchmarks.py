"""Metrics of other benchmarks for one run, beside the constants and what is known of each step without its video."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

import numpy as np

from siming_tasks.common.schema import Video
from siming_tasks.metrics.estimate import Estimate
from siming_tasks.metrics.no_video_baselines import JUDGES
from siming_tasks.metrics.other_benchmarks import OperatingPoint, other_benchmark_estimates, recognition_curve
from siming_tasks.metrics.score_matrix import BoolArray, ScoreMatrix
from siming_tasks.metrics.thresholds import COMPARABLE
from siming_tasks.results.record import Record

RUN = "this judge"
BESIDE = ("always-correct", "always-failed", "step-prior")
"""No-video baselines that stand beside the run."""

OMITTED = frozenset(("missing", "left_out", "omitted"))
"""Names of a rubric's errors that say that a step was left out (``cut_07.missing``)."""

CAVEAT = (
    "For readers of those benchmarks; nothing here is ranked by them. A value that a constant or the prior reaches "
    "shows nothing. The baselines answer the steps that the judge answered; the prior knows the other videos' labels."
)


@dataclass(frozen=True)
class OtherBenchmarks:
    """Result of :func:`other_benchmarks`: by metric and judge its value, and the error-recognition curve of the run.

    The curve is empty for verdicts, which have one threshold. ``answered``: share of the asked steps that it is of.
    """

    values: Mapping[str, Mapping[str, Estimate]]
    curve: tuple[OperatingPoint, ...]
    answered: float = 1.0
    caveat: str = CAVEAT


def other_benchmarks(
    matrix: ScoreMatrix, videos: Iterable[Video], records: Iterable[Record] = (), *, resamples: int, seed: int
) -> OtherBenchmarks:
    """Metrics of other benchmarks for a run.

    Args:
        matrix: reference and run.
        videos: in the order of the matrix, for the segments of their steps.
        records: of the run; only replies that name errors say which steps were left out.
        resamples: of the bootstrap.
        seed: of the bootstrap.
    """
    judges = {RUN: matrix}
    for name in BESIDE:
        baseline = JUDGES[name].judge(matrix)
        if baseline is not None:
            judges[name] = baseline.predicting(np.where(matrix.answered, baseline.predicted, np.nan))
    segments = np.zeros(matrix.asked.shape, dtype=np.bool_)
    column = {name: place for place, name in enumerate(matrix.step_ids)}
    for row, video in enumerate(videos):
        segments[row, [column[step] for step in video.timed_ids if step in column and video.step(step).span]] = True
    values = other_benchmark_estimates(
        judges, segments, _omissions(matrix, segments, records), resamples=resamples, seed=seed
    )
    share = matrix.answered_share
    if share < COMPARABLE:
        values = {key: {**row, RUN: _not_comparable(row[RUN])} for key, row in values.items()}
    return OtherBenchmarks(values, recognition_curve(matrix) if matrix.answer == "score" else (), share)


def _not_comparable(estimate: Estimate) -> Estimate:
    return replace(estimate, flags=tuple(sorted({*estimate.flags, "not-comparable"})))


def _omissions(matrix: ScoreMatrix, segments: BoolArray, records: Iterable[Record]) -> dict[str, BoolArray] | None:
    """Steps said to be left out by the run and each baseline, ``bool[V, S]``; None if no reply names errors.

    The prior says so of the steps that more than half of the other videos leave out.
    """
    row = {name: place for place, name in enumerate(matrix.video_ids)}
    column = {name: place for place, name in enumerate(matrix.step_ids)}
    said, does_say = np.zeros(matrix.asked.shape, dtype=np.bool_), False
    for record in records:
        for step, errors in (record.parsed.details.get("named_errors") or {}).items():
            does_say = True
            if record.video_id in row and step in column:
                said[row[record.video_id], column[step]] = any(name.rpartition(".")[2] in OMITTED for name in errors)
    if not does_say:
        return None
    left_out = matrix.counted & matrix.reference_wrong & ~segments
    others = left_out.sum(axis=0) - left_out, matrix.counted.sum(axis=0) - matrix.counted
    nothing = np.zeros_like(said)
    return {RUN: said, "always-correct": nothing, "always-failed": ~nothing, "step-prior": 2 * others[0] > others[1]}

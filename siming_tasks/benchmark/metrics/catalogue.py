"""Every metric in one row: its name, the answers that it is computed from, and its statistic.

Whatever names metrics reads it here: tables, hooks, pages, planning. A new metric is a function and a row;
``python utils/make_task_files.py`` writes its lines in the task files.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from siming_tasks.benchmark.metrics import classification
from siming_tasks.benchmark.metrics.classification import Positive, ratio
from siming_tasks.benchmark.metrics.correlation import leave_out, totals
from siming_tasks.benchmark.metrics.jackknife import (
    Counted,
    Jackknifed,
    Statistic,
    cluster_numbers,
    jackknifed,
    wrong_steps,
)
from siming_tasks.benchmark.metrics.labels import ordinal_labels, qwk
from siming_tasks.benchmark.metrics.reasons import Reason
from siming_tasks.benchmark.metrics.score_matrix import BoolArray, FloatArray, ScoreMatrix
from siming_tasks.benchmark.types import Answer
from siming_tasks.common.choices import LabelMapping

Codes = NDArray[Any]
Function = Callable[[FloatArray], FloatArray]


@dataclass(frozen=True)
class Metric:
    """One metric.

    Attributes:
        key: its name in files, options and task files.
        label: printed at the head of a narrow column.
        title: printed where there is room.
        answers: the kinds of answer whose results have it.
        statistic: makes it, given the reading of equation 3 and the positive class.
        symmetric: does not depend on which of the two sides is called the reference.
        headline: orders the tables of its kind of answer.
        compared: an agreement, by which judges are compared; not the coverage.
        low: smallest possible value; the largest is 1.
    """

    key: str
    label: str
    title: str
    answers: tuple[Answer, ...]
    statistic: Callable[[LabelMapping, Positive], Statistic]
    symmetric: bool = True
    headline: bool = False
    compared: bool = True
    low: float = -1.0


@dataclass(frozen=True)
class TotalsCorrelation:
    """Correlation of the totals of videos by reference and judge; ``ranks``: Spearman's."""

    ranks: bool

    def jackknife(self, matrix: ScoreMatrix) -> Jackknifed:
        """The value and those without each cluster."""
        clusters = cluster_numbers(matrix)
        x, y = totals(matrix)
        value, without = leave_out(x, y, clusters, ranks=self.ranks)
        has = ~np.isnan(x)
        why, errors = _why_no_correlation(x[has], y[has]), wrong_steps(matrix.videos(has))
        how = {"range": (-1.0, 1.0), "scale": "fisher", "errors": errors, "why": why}
        return jackknifed(matrix, value, without, has, clusters, **how)


def _why_no_correlation(x: FloatArray, y: FloatArray) -> str:
    if len(x) < 3:
        return Reason.FEW_TOTALS
    constant = np.ptp(x) == 0, np.ptp(y) == 0
    if all(constant):
        return Reason.EQUAL_TOTALS
    return Reason.EQUAL_REFERENCE_TOTALS if constant[0] else Reason.EQUAL_JUDGE_TOTALS if constant[1] else ""


def labels_of(matrix: ScoreMatrix, mapping: LabelMapping = "absolute") -> tuple[Codes, Codes]:
    """Labels by reference and judge, ``int8[V, S]`` each (:func:`ordinal_labels`)."""
    top = matrix.max_score
    return ordinal_labels(matrix.reference, top, mapping), ordinal_labels(matrix.predicted, top, mapping)


def label_counts(matrix: ScoreMatrix, mapping: LabelMapping = "absolute") -> FloatArray:
    """Confusion counts of the labels of each video, ``float64[V, 16]``; column ``4 * reference + predicted``."""
    return counted_codes(*labels_of(matrix, mapping), matrix.counted & matrix.answered, 4)


def verdict_counts(matrix: ScoreMatrix, positive: Positive = "error") -> FloatArray:
    """Counts of TN, FP, FN and TP of each video, ``float64[V, 4]``; points below the maximum are "wrong"."""
    x, y = (side == (positive == "error") for side in (matrix.reference_wrong, matrix.predicted_wrong))
    return counted_codes(x, y, matrix.counted & matrix.answered, 2)


def counted_codes(x: Codes, y: Codes, known: BoolArray, k: int) -> FloatArray:
    """Counts of each pair of labels ``0..k-1`` in each row where ``known``, ``float64[V, k * k]``."""
    cells, rows = k * k, len(known)
    code = np.where(known, k * x.astype(np.int64) + y, cells) + np.arange(rows)[:, None] * (cells + 1)
    counts = np.bincount(code.ravel(), minlength=rows * (cells + 1)).reshape(rows, cells + 1)
    return counts[:, :cells].astype(np.float64)


def _kappa(mapping: LabelMapping, positive: Positive) -> Statistic:
    def why(sums: FloatArray) -> Reason:
        return Reason.ONE_LABEL if sums.any() else Reason.NOTHING_ANSWERED

    return Counted(partial(label_counts, mapping=mapping), qwk, why, of_errors=True)


def _verdicts(
    function: Function, wrong: Reason, correct: Reason, *, share: bool = True
) -> Callable[[LabelMapping, Positive], Statistic]:
    """Maker of a metric of verdicts; ``wrong`` and ``correct`` are why it is undefined, by the positive class."""

    def make(mapping: LabelMapping, positive: Positive) -> Statistic:
        reason = wrong if positive == "error" else correct
        counts, bounds = partial(verdict_counts, positive=positive), (0.0 if share else -1.0, 1.0)

        def why(sums: FloatArray) -> Reason:
            return reason if sums.any() else Reason.NOTHING_ANSWERED

        return Counted(counts, function, why, bounds, share, of_errors=True)

    return make


def share_of(above: Callable[[ScoreMatrix], BoolArray], below: Callable[[ScoreMatrix], BoolArray], why: str) -> Counted:
    """The share of the steps ``below`` that are ``above`` too; both functions give ``bool[V, S]``."""

    def counts(matrix: ScoreMatrix) -> FloatArray:
        of = below(matrix)
        return np.stack([(above(matrix) & of).sum(axis=1), of.sum(axis=1)], axis=1).astype(np.float64)

    return Counted(counts, lambda sums: ratio(sums[..., 0], sums[..., 1]), lambda sums: why, (0.0, 1.0), share=True)


COVERAGE = "coverage"
_ANSWERED = share_of(lambda matrix: matrix.answered, lambda matrix: matrix.asked, Reason.NOT_ASKED)
_S: tuple[Answer, ...] = ("score",)
_E: tuple[Answer, ...] = ("error",)
_ROWS = (
    Metric("plcc", "PLCC", "PLCC", _S, lambda *_: TotalsCorrelation(ranks=False)),
    Metric("srcc", "SRCC", "SRCC", _S, lambda *_: TotalsCorrelation(ranks=True)),
    Metric("qwk", "kappa (quadratic)", "kappa (quadratic)", _S, _kappa, headline=True),
    Metric("mcc", "MCC", "MCC", _E,
           _verdicts(classification.mcc, Reason.ONE_CLASS, Reason.ONE_CLASS, share=False), headline=True),
    Metric("precision", "P", "Precision", _E,
           _verdicts(classification.precision, Reason.NONE_CALLED_WRONG, Reason.NONE_CALLED_CORRECT),
           symmetric=False, low=0.0),
    Metric("recall", "R", "Recall", _E,
           _verdicts(classification.recall, Reason.NONE_WRONG, Reason.NONE_CORRECT), symmetric=False, low=0.0),
    Metric("f1", "F1", "F1", _E,
           _verdicts(classification.f1, Reason.NONE_WRONG_OR_CALLED_SO, Reason.NONE_CORRECT_OR_CALLED_SO), low=0.0),
    Metric(COVERAGE, "coverage", "Coverage", (*_S, *_E),
           lambda *_: _ANSWERED, symmetric=False, compared=False, low=0.0),
)  # fmt: skip

CATALOGUE: dict[str, Metric] = {row.key: row for row in _ROWS}
"""All metrics in the order in which they are printed."""


def select(answer: Answer | None = None, **wanted: object) -> tuple[str, ...]:
    """Keys of the metrics of one kind of answer (None: of any) whose row has these values, in printing order.

    Example:
        >>> select("error", symmetric=True)
        ('mcc', 'f1')
    """
    return tuple(
        key
        for key, row in CATALOGUE.items()
        if (answer is None or answer in row.answers)
        and all(getattr(row, name) == value for name, value in wanted.items())
    )


def headline(answer: Answer) -> str:
    """The metric that orders a table: step-level agreement, which the benchmark is about."""
    (key,) = select(answer, headline=True)
    return key


def statistic(key: str, mapping: LabelMapping = "absolute", positive: Positive = "error") -> Statistic:
    """The statistic of a metric by its key (KeyError: there is none)."""
    return CATALOGUE[key].statistic(mapping, positive)

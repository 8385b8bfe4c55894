"""Every metric in one row: what it is called, what it is computed of, how it behaves, why it may have no value.

Whatever names metrics reads it here, when it needs it: tables, hooks, pages, planning. A new metric is a function and
a row; ``python utils/make_task_files.py`` writes its lines in the task files.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np

from siming_tasks.common.schema import Answer
from siming_tasks.metrics import classification, correlation, kappa
from siming_tasks.metrics.score_matrix import FloatArray
from siming_tasks.metrics.thresholds import MIN_ANSWERED

Family = Literal["totals", "labels", "verdicts", "coverage"]
Classes = tuple[str, str]
"""Words for the positive class and the other one: ``("wrong", "correct")`` or the reverse."""

COVERAGE = "coverage"
"""Key of the share of asked steps that were answered: it stands beside every metric and is compared with nothing."""


@dataclass(frozen=True)
class Metric:
    """One metric.

    Attributes:
        key: its name in files, options and task files.
        label: printed at the head of a narrow column.
        title: printed where there is room.
        answers: the kinds of answer whose results have it.
        family: what ``function`` is given: ``totals``, the totals of the videos and weights ``float64[B, V]``
            (:class:`siming_tasks.metrics.correlation.Paired`); or summed counts, ``labels`` ``[..., 16]`` (4 x 4,
            rows = reference), ``verdicts`` ``[..., 4]`` (TN, FP, FN, TP of the positive class), ``coverage``
            ``[..., 2]`` (asked, answered). It returns NaN where the metric is undefined.
        function: the values, one for each row of weights or counts.
        why: the reason in a sentence, given that the metric is undefined: from the totals, or from the summed counts
            and the words for the two classes.
        low: smallest possible value.
        high: largest.
        symmetric: does not depend on which of the two sides is called the reference.
        corrected: 0 in expectation for a judge that answers at random; other metrics are planned for over such a judge.
        lifted: worth reading by itself, so it has a lift over the no-video baselines and can be planned for. Precision
            or recall alone can be had by answering the same everywhere.
        headline: orders the tables of its kind of answer.
        higher_is_better: larger values are better.
        share: of steps: it may be 0 or 1 in a sample without being so in truth, and has an exact interval there.
        left_out: for ``totals``, the values with each of the videos that have both totals left out in turn, of the
            totals alone: without it, a comparison of many videos would take the square of their number.
        slope: for counts, the gradient of the function in its counts (of labels: in the moments of
            :data:`siming_tasks.metrics.kappa.MOMENTS`): gives its standard error in closed form, and so an interval
            from studentised resamples. For ``totals`` that of ``atanh`` of the value, in the sums of
            :attr:`siming_tasks.metrics.correlation.Paired.moments`.
        fisher: for ``totals``, the same standard error from sums of powers and the number of videos, where every video
            is independent: faster. Metrics with neither have an (expanded) percentile interval.

    Raises:
        ValueError: a metric of totals that is not ``corrected`` (nothing here knows what a no-video baseline would get)
            or has no ``left_out``.
    """

    key: str
    label: str
    title: str
    answers: tuple[Answer, ...]
    family: Family
    function: Callable[..., FloatArray]
    why: Callable[..., str]
    low: float = -1.0
    high: float = 1.0
    symmetric: bool = True
    corrected: bool = True
    lifted: bool = True
    headline: bool = False
    higher_is_better: bool = True
    share: bool = False
    left_out: Callable[[correlation.Paired], FloatArray] | None = None
    slope: Callable[[FloatArray], FloatArray] | None = None
    fisher: Callable[[FloatArray, int], FloatArray] | None = None

    def __post_init__(self) -> None:
        if self.family == "totals" and not self.corrected:
            raise ValueError(f"{self.key}: a metric of totals must be 0 in expectation for a judge that knows nothing")
        if (self.family == "totals") != (self.left_out is not None):
            raise ValueError(f"{self.key}: give `left_out` for a metric of totals, and for no other")

    @property
    def compared(self) -> bool:
        """An agreement, which runs are compared by; not the coverage."""
        return self.family != COVERAGE

    @property
    def sign(self) -> float:
        """1.0, or -1.0 if smaller values are better: times this, larger is better."""
        return 1.0 if self.higher_is_better else -1.0

    @property
    def gain_label(self) -> str:
        """Label of what planning speaks of: the metric itself, or what it is above a judge that answers at random."""
        return self.label if self.corrected else f"{self.label} over no video"


def one_total(pairs: correlation.Paired) -> str:
    """Reason why a correlation of totals is undefined."""
    if not len(pairs):
        return f"No video had {100 * MIN_ANSWERED:g} % of its steps answered."
    if len(pairs) == 1:
        return "A single video has no correlation."
    return f"All {'predicted' if np.ptp(pairs.y) == 0 else 'reference'} totals are equal: 0/0."


def single_class(counts: FloatArray, classes: Classes) -> str:
    """Reason of a coefficient that needs both classes on both sides; ``counts`` are TN, FP, FN, TP."""
    positive, negative = classes
    tn, fp, fn, tp = counts
    if 0 in (tn + fn, tp + fp):
        return f"Every step was predicted {positive if tp + fp else negative}: 0/0."
    return f"Every step is {positive if tp + fn else negative} in the reference: 0/0."


def says(sentence: str) -> Callable[[FloatArray, Classes], str]:
    """Reason that is always the same sentence, with ``{positive}`` and ``{negative}`` filled in."""
    return lambda counts, classes: sentence.format(positive=classes[0], negative=classes[1])


def _answered(counts: FloatArray) -> FloatArray:
    """Answered / asked steps; NaN if none was asked."""
    asked, answered = np.moveaxis(counts, -1, 0)
    share: FloatArray = np.divide(answered, asked, out=np.full(asked.shape, np.nan), where=asked > 0)
    return share


_S: tuple[Answer, ...] = ("score",)
_E: tuple[Answer, ...] = ("error",)
_ROWS = (
    Metric("plcc", "PLCC", "PLCC", _S, "totals", correlation.pearson, one_total,
           left_out=correlation.pearson_left_out, fisher=correlation.fisher, slope=correlation.fisher_slope),
    Metric("srcc", "SRCC", "SRCC", _S, "totals", correlation.spearman, one_total,
           left_out=correlation.spearman_left_out),
    Metric("qwk", "kappa (qwk)", "kappa (quadratic)", _S, "labels", kappa.qwk,
           says("Reference and prediction are one and the same label everywhere: 0/0."),
           headline=True, slope=kappa.qwk_slope),
    Metric("mcc", "MCC", "MCC", _E, "verdicts", classification.mcc, single_class, headline=True,
           slope=classification.mcc_slope),
    Metric("precision", "P", "Precision", _E, "verdicts", classification.precision,
           says("No step was predicted {positive}: 0/0."),
           low=0.0, symmetric=False, corrected=False, lifted=False, share=True, slope=classification.precision_slope),
    Metric("recall", "R", "Recall", _E, "verdicts", classification.recall,
           says("No step is {positive} in the reference: 0/0."),
           low=0.0, symmetric=False, corrected=False, lifted=False, share=True, slope=classification.recall_slope),
    Metric("f1", "F1", "F1", _E, "verdicts", classification.f1,
           says("No step is {positive} in the reference, and none was predicted so: 0/0."),
           low=0.0, corrected=False, share=True, slope=classification.f1_slope),
    Metric(COVERAGE, "coverage", "Coverage", (*_S, *_E), "coverage", _answered,
           says("No step was asked about."), low=0.0, symmetric=False, corrected=False, lifted=False),
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

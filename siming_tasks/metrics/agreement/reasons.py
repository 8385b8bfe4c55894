"""Reasons why a metric is undefined: one sentence for each way to divide zero by zero."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from siming_tasks.metrics.agreement.correlation import Paired
from siming_tasks.metrics.score_matrix import FloatArray
from siming_tasks.metrics.thresholds import MIN_ANSWERED

__all__ = ["Classes", "one_label", "one_total", "says", "single_class"]

Classes = tuple[str, str]
"""Words for the positive class and the other one: ``("wrong", "correct")`` or the reverse."""


def one_total(pairs: Paired) -> str:
    """Reason of a correlation of totals."""
    if not len(pairs):
        return f"No video had {100 * MIN_ANSWERED:g} % of its steps answered."
    if len(pairs) == 1:
        return "A single video has no correlation."
    return f"All {'predicted' if np.ptp(pairs.y) == 0 else 'reference'} totals are equal: 0/0."


def one_label(counts: FloatArray) -> str:
    """Reason of kappa, whatever the label."""
    return "Reference and prediction are one and the same label everywhere: 0/0."


def single_class(counts: FloatArray, classes: Classes) -> str:
    """Reason of a coefficient that needs both classes on both sides; ``counts`` are TN, FP, FN, TP."""
    positive, negative = classes
    tn, fp, fn, tp = counts
    if 0 in (tn + fn, tp + fp):
        return f"Every step was predicted {positive if tp + fp else negative}: 0/0."
    return f"Every step is {positive if tp + fn else negative} in the reference: 0/0."


def says(sentence: str) -> Callable[[FloatArray, Classes], str]:
    """The same sentence always, with ``{positive}`` and ``{negative}`` filled in."""
    return lambda counts, classes: sentence.format(positive=classes[0], negative=classes[1])

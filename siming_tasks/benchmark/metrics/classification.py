"""Binary metrics of "is this step wrong?" from counts ``float64[..., 4]``: TN, FP, FN, TP of the positive class."""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]
Positive = Literal["error", "correct"]
"""The class that precision, recall and F1 speak of; ``error`` (the step is wrong) unless told otherwise."""


def mcc(counts: FloatArray) -> FloatArray:
    """Matthews correlation coefficient, in [-1, 1], the same for either positive class; NaN if a side has one class."""
    tn, fp, fn, tp = np.moveaxis(counts, -1, 0)
    # Square roots before the product: the product of four large margins would overflow the exact integers of a float.
    return ratio(tp * tn - fp * fn, np.sqrt((tp + fp) * (tp + fn)) * np.sqrt((tn + fp) * (tn + fn)))


def precision(counts: FloatArray) -> FloatArray:
    """Share of the predicted positives that are positive; NaN if nothing was predicted positive."""
    return ratio(counts[..., 3], counts[..., 3] + counts[..., 1])


def recall(counts: FloatArray) -> FloatArray:
    """Share of the positives that were predicted; NaN if nothing is positive."""
    return ratio(counts[..., 3], counts[..., 3] + counts[..., 2])


def f1(counts: FloatArray) -> FloatArray:
    """Harmonic mean of precision and recall; NaN if nothing is or was predicted positive.

    Example:
        >>> float(f1(np.array([5.0, 1, 1, 3])))
        0.75
    """
    return ratio(2 * counts[..., 3], 2 * counts[..., 3] + counts[..., 1] + counts[..., 2])


def ratio(above: FloatArray, below: FloatArray) -> FloatArray:
    """``above / below``, NaN where nothing is below."""
    quotient: FloatArray = np.divide(above, below, out=np.full(np.shape(below), np.nan), where=np.greater(below, 0))
    return quotient

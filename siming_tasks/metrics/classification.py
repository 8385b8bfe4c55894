"""Binary metrics of "is this step wrong?" from the four counts."""

from __future__ import annotations

from typing import Literal

import numpy as np

from siming_tasks.metrics.score_matrix import BoolArray, FloatArray

Positive = Literal["error", "correct"]
"""The class that precision, recall and F1 speak of; ``error`` (the step is wrong) unless told otherwise."""


def binary_counts(reference: BoolArray, predicted: BoolArray, both: BoolArray) -> FloatArray:
    """Counts of each row, ``float64[V, 4]``: true negative, false positive, false negative, true positive.

    Args:
        reference: the step is positive, ``bool[V, S]``.
        predicted: it was judged positive.
        both: there is a reference and an answer; other steps are left out.
    """
    cells = [~reference & ~predicted, ~reference & predicted, reference & ~predicted, reference & predicted]
    return np.stack([(cell & both).sum(axis=1, dtype=np.float64) for cell in cells], axis=1)


def mcc(counts: FloatArray) -> FloatArray:
    """Matthews correlation coefficient of ``[..., 4]`` counts, in [-1, 1]; NaN if either side has a single class.

    The same for either positive class.
    """
    tn, fp, fn, tp = np.moveaxis(counts, -1, 0)
    # Square roots before the product: the product of four large margins would overflow the exact integers of a float.
    scale = np.sqrt((tp + fp) * (tp + fn)) * np.sqrt((tn + fp) * (tn + fn))
    return _ratio(tp * tn - fp * fn, scale)


def mcc_slope(counts: FloatArray) -> FloatArray:
    """Gradient of :func:`mcc` in its counts, ``[..., 4]``; NaN where it is undefined."""
    tn, fp, fn, tp = np.moveaxis(counts, -1, 0)
    called, wrong, right, passed = tp + fp, tp + fn, tn + fp, tn + fn
    with np.errstate(invalid="ignore", divide="ignore"):
        scale = np.sqrt(called * wrong) * np.sqrt(right * passed)
        half = mcc(counts) / 2
        parts = [
            tp / scale - half * (1 / right + 1 / passed),
            -fn / scale - half * (1 / called + 1 / right),
            -fp / scale - half * (1 / wrong + 1 / passed),
            tn / scale - half * (1 / called + 1 / wrong),
        ]
    return np.stack(parts, axis=-1)


def precision(counts: FloatArray) -> FloatArray:
    """Share of the predicted positives that are positive; NaN if nothing was predicted positive."""
    _, fp, _, tp = np.moveaxis(counts, -1, 0)
    return _ratio(tp, tp + fp)


def precision_slope(counts: FloatArray) -> FloatArray:
    """Gradient of :func:`precision`."""
    return _share_slope(precision(counts), counts, hit=(0, 0, 0, 1), among=(0, 1, 0, 1))


def recall(counts: FloatArray) -> FloatArray:
    """Share of the positives that were found; NaN if there are none."""
    _, _, fn, tp = np.moveaxis(counts, -1, 0)
    return _ratio(tp, tp + fn)


def recall_slope(counts: FloatArray) -> FloatArray:
    """Gradient of :func:`recall`."""
    return _share_slope(recall(counts), counts, hit=(0, 0, 0, 1), among=(0, 0, 1, 1))


def f1(counts: FloatArray) -> FloatArray:
    """``2 TP / (2 TP + FP + FN)``; NaN if there are neither positives nor predicted positives."""
    _, fp, fn, tp = np.moveaxis(counts, -1, 0)
    return _ratio(2 * tp, 2 * tp + fp + fn)


def f1_slope(counts: FloatArray) -> FloatArray:
    """Gradient of :func:`f1`."""
    return _share_slope(f1(counts), counts, hit=(0, 0, 0, 2), among=(0, 1, 1, 2))


def _share_slope(value: FloatArray, counts: FloatArray, *, hit: tuple[int, ...], among: tuple[int, ...]) -> FloatArray:
    """Gradient of a value that is the counts times ``hit`` over the counts times ``among``."""
    with np.errstate(invalid="ignore", divide="ignore"):
        slope: FloatArray = (np.array(hit) - value[..., None] * np.array(among)) / (counts @ np.array(among))[..., None]
    return slope


def _ratio(numerator: FloatArray, denominator: FloatArray) -> FloatArray:
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(denominator > 0, numerator / denominator, np.nan)

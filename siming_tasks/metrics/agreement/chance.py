"""Two other corrections for chance, as a footnote to kappa: what it would be if chance were taken otherwise.

Kappa falls where one label is common, at the same share of agreement; Gwet's AC2 hardly does, but then a judge that
calls everything correct scores high. Neither orders anything here.
"""

from __future__ import annotations

import math

import numpy as np

from siming_tasks.metrics.score_matrix import FloatArray

__all__ = ["footnote", "gwet", "krippendorff"]


def gwet(counts: FloatArray) -> FloatArray:
    """Gwet's AC2 with quadratic weights (of two labels: AC1) of pooled counts of two raters.

    ``(pa - pe) / (1 - pe)`` with pa the weighted agreement and ``pe = sum(w) / (k (k - 1)) * sum(q (1 - q))``, q the
    mean share of each label (Gwet 2014, Handbook of Inter-Rater Reliability).

    Args:
        counts: ``float64[..., k * k]``, rows = one rater.

    Returns:
        ``float64[...]``; NaN without counts.
    """
    k, table, near = _arranged(counts)
    with np.errstate(invalid="ignore", divide="ignore"):
        shares = table / table.sum(axis=(-2, -1), keepdims=True)
        q = (shares.sum(axis=-1) + shares.sum(axis=-2)) / 2
        agreed = (shares * near).sum(axis=(-2, -1))
        chance = near.sum() / (k * (k - 1)) * (q * (1 - q)).sum(axis=-1)
        value: FloatArray = (agreed - chance) / (1 - chance)
    return value


def krippendorff(counts: FloatArray) -> FloatArray:
    """Krippendorff's alpha for interval data (squared distances of the labels) of pooled counts of two raters.

    ``1 - observed / expected`` disagreement, expected from both raters' labels together, drawn without replacement
    (Krippendorff 2011).

    Args:
        counts: ``float64[..., k * k]``, rows = one rater.

    Returns:
        ``float64[...]``; NaN where all labels are the same, or there are none.
    """
    _, table, near = _arranged(counts)
    apart = 1 - near
    pooled = table.sum(axis=-1) + table.sum(axis=-2)
    n = pooled.sum(axis=-1)
    with np.errstate(invalid="ignore", divide="ignore"):
        observed = (table * apart).sum(axis=(-2, -1)) / (n / 2)
        expected = np.einsum("...i,ij,...j->...", pooled, apart, pooled) / (n * (n - 1))
        value: FloatArray = np.where(expected > 0, 1 - observed / expected, np.nan)
    return value


def footnote(counts: FloatArray) -> dict[str, float | None]:
    """Both of one pooled table, and the AC2 of a judge that gives the best label everywhere; None where undefined."""
    k, table, _ = _arranged(counts)
    best = np.zeros((k, k))
    best[:, -1 if k > 2 else 0] = table.sum(axis=1)
    shares = {
        "gwet_ac2": gwet(counts),
        "krippendorff_alpha": krippendorff(counts),
        "gwet_ac2_of_always_correct": gwet(best.ravel()),
    }
    return {name: None if np.isnan(value) else float(value) for name, value in shares.items()}


def _arranged(counts: FloatArray) -> tuple[int, FloatArray, FloatArray]:
    """Number of labels, the table ``[..., k, k]``, and the quadratic weights."""
    k = math.isqrt(counts.shape[-1])
    label = np.arange(k)
    near = 1 - (label[:, None] - label) ** 2 / (k - 1) ** 2
    return k, counts.reshape(*counts.shape[:-1], k, k), near

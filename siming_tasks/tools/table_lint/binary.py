"""Identities between the printed numbers of a binary confusion table, with rounding.

A table of precision *p*, recall *r* and prevalence *π* of the positive class is complete up to its size; hence::

    F1          = 2 p r / (p + r)
    MCC         = sqrt(r / (1 - π)) (p - π) / sqrt(p - r π)       sign(MCC) = sign(p - π)
    accuracy    = 1 - π (1 - r) - π r (1 - p) / p
    specificity = 1 - π r (1 - p) / (p (1 - π))
    π          <= p / (r + p - p r)                               no negative count

Given p and r, each of MCC, accuracy and specificity falls strictly as π grows and rises with p; the values of π that
agree with a print therefore form an interval whose ends lie at corners of the rounding box. F1 adds nothing to p and r:
it is checked, and π cannot be learned from it.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from scipy.optimize import brentq

from siming_tasks.report.published_tables.numbers import Printed

__all__ = ["accuracy", "f1", "f1_range", "highest_prevalence", "implied_prevalence", "mcc", "specificity"]

Identity = Callable[[float, float, float], float]


def f1(precision: float, recall: float) -> float:
    """Harmonic mean of precision and recall, 0 when both are 0."""
    return 0.0 if precision + recall == 0 else 2 * precision * recall / (precision + recall)


def f1_range(precision: Printed, recall: Printed) -> tuple[float, float]:
    """Lowest and highest F1 of values behind the printed precision and recall (F1 rises with both)."""
    p, r = precision.clipped(0, 1), recall.clipped(0, 1)
    return f1(p.low, r.low), f1(p.high, r.high)


def highest_prevalence(precision: float, recall: float) -> float:
    """The prevalence at which true negatives run out; a larger one would need a negative count."""
    return precision / (recall + precision - precision * recall)


def mcc(prevalence: float, precision: float, recall: float) -> float:
    """Matthews correlation of a table with this prevalence, precision and recall (all in (0, 1])."""
    predicted = max(precision - recall * prevalence, 0.0)
    if predicted == 0 or prevalence >= 1:
        return 0.0
    return math.sqrt(recall / (1 - prevalence)) * (precision - prevalence) / math.sqrt(predicted)


def accuracy(prevalence: float, precision: float, recall: float) -> float:
    """Share of agreeing items."""
    return 1 - prevalence * (1 - recall) - prevalence * recall * (1 - precision) / precision


def specificity(prevalence: float, precision: float, recall: float) -> float:
    """Share of negatives that are called negative."""
    return 1 - prevalence * recall * (1 - precision) / (precision * (1 - prevalence))


IDENTITIES: dict[str, Identity] = {"mcc": mcc, "accuracy": accuracy, "specificity": specificity}


def implied_prevalence(
    precision: Printed, recall: Printed, third: Printed, kind: str = "mcc"
) -> tuple[float, float] | None:
    """All prevalences of the positive class that agree with three printed numbers.

    Args:
        precision: printed precision.
        recall: printed recall.
        third: printed MCC, accuracy or specificity.
        kind: which of them ``third`` is.

    Returns:
        (lowest, highest), or None if no table at all rounds to the three numbers, or precision or recall may be 0.
    """
    p, r = precision.clipped(0, 1), recall.clipped(0, 1)
    if p.low <= 0 or r.low <= 0:
        return None
    identity = IDENTITIES[kind]
    low = [_crossing(identity, p.low, edge, third.high, at_least=False) for edge in (r.low, r.high)]
    if any(value is not None for value in low):
        # A table with hardly any true negatives may be feasible within the rounding and not at its ends: then its
        # prevalence is at least the highest that is possible there.
        ends = zip(low, (r.low, r.high), strict=True)
        low = [min(highest_prevalence(p.low, edge), 1 - 1e-12) if value is None else value for value, edge in ends]
    high = [_crossing(identity, p.high, edge, third.low, at_least=True) for edge in (r.low, r.high)]
    lowest = min((value for value in low if value is not None), default=None)
    highest = max((value for value in high if value is not None), default=None)
    return None if lowest is None or highest is None or lowest > highest else (lowest, highest)


def _crossing(identity: Identity, p: float, r: float, target: float, *, at_least: bool) -> float | None:
    """Point at which the falling identity meets ``target``.

    ``at_least``: the largest prevalence with identity >= target; otherwise the smallest with identity <= target.
    """
    first, last = 1e-12, min(highest_prevalence(p, r), 1 - 1e-12)
    at_first, at_last = identity(first, p, r), identity(last, p, r)
    if at_least:
        if at_last >= target:
            return last
        if at_first < target:
            return None
    else:
        if at_first <= target:
            return first
        if at_last > target:
            return None
    return float(brentq(lambda pi: identity(pi, p, r) - target, first, last))

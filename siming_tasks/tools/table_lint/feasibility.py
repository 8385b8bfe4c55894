"""Existence of a confusion table behind a printed row, decided by exhaustion and not by formulas with a tolerance.

Where the number of items is known, every table of whole counts is looked at. Where it is not, all tables of real shares
are: boxes of (precision, recall, prevalence) are halved until one holds a table that rounds to the whole row, or none
is left. No table of any size agrees with a row that no table of real shares agrees with.

A metric that is 0/0 is printed as 0 or 1 (scikit-learn's ``zero_division``) or not at all; MCC as 0, or as 1 and -1
where every item is right or wrong.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

Range = tuple[float, float]
Floats = NDArray[np.float64]
METRICS = ("precision", "recall", "f1", "mcc", "accuracy", "specificity", "prevalence")
"""What one confusion table tells."""
CONVENTIONS = "What is 0/0 is printed as 0 or 1 (an undefined MCC as 0), or not at all."

_SLACK = 1e-9
_LEAST = 1e-9
"""Smallest share above 0: a table has fewer than a thousand million items."""
_MOST_BOXES, _HALVINGS = 40_000, 400
_MOST_PAIRS, _CHUNK = 20_000_000, 500_000
"""Work after which nothing is said about a row; it is then called possible."""


def feasible(printed: Mapping[str, Range], n: int | None = None) -> bool:
    """Return False only if no confusion table rounds to all of these numbers.

    Args:
        printed: for some of :data:`METRICS`, the lowest and highest value behind the print.
        n: number of items, if it is known: then the counts are whole and add up to it.
    """
    wanted = {name: (low - _SLACK, high + _SLACK) for name, (low, high) in printed.items() if name in METRICS}
    if _one_class(wanted, n):
        return True
    return _some_shares(wanted) if n is None else _some_counts(wanted, n)


def _inside(values: Any, span: Range) -> Any:
    return (span[0] <= values) & (values <= span[1])


# Tables in which truth or prediction has one class only: the corners (all items in one cell), and the edges between two
# cells, on which each metric is a constant (or one of several conventions) or a function of the first cell's share.
_ZERO, _ONE, _ANY = (0.0,), (1.0,), (0.0, 1.0)
_CORNERS: tuple[tuple[tuple[float, ...], ...], ...] = (  # in the order of METRICS
    (_ANY, _ANY, _ANY, _ANY, _ONE, _ONE, _ZERO),  # TN
    (_ANY, _ZERO, _ZERO, (0.0, -1.0), _ZERO, _ANY, _ONE),  # FN
    (_ZERO, _ANY, _ZERO, (0.0, -1.0), _ZERO, _ZERO, _ZERO),  # FP
    (_ONE, _ONE, _ONE, _ANY, _ONE, _ANY, _ONE),  # TP
)
_INVERSES: Mapping[str, Callable[[float], float]] = {
    "t": lambda value: value,
    "1 - t": lambda value: 1 - value,
    "2t / (1 + t)": lambda value: value / (2 - value) if value < 2 else np.inf,
}
_EDGES: tuple[tuple[tuple[float, ...] | str, ...], ...] = (
    (_ANY, _ZERO, _ZERO, _ZERO, "1 - t", _ONE, "t"),  # FN and TN: nothing is called positive
    (_ZERO, _ANY, _ZERO, _ZERO, "1 - t", "1 - t", _ZERO),  # FP and TN: nothing is positive
    (_ONE, "t", "2t / (1 + t)", _ZERO, "t", _ANY, _ONE),  # TP and FN: everything is positive
    ("t", _ONE, "2t / (1 + t)", _ZERO, "t", _ZERO, "t"),  # TP and FP: everything is called positive
)


def _one_class(wanted: Mapping[str, Range], n: int | None) -> bool:
    """Existence of a table whose truth or predictions are of one class."""
    for corner in _CORNERS:
        if all(any(_inside(value, wanted[name]) for value in values)
               for name, values in zip(METRICS, corner, strict=True) if name in wanted):  # fmt: skip
            return True
    least = 1 / n if n else _LEAST
    for edge in _EDGES:
        low, high = least, 1 - least
        for name, how in zip(METRICS, edge, strict=True):
            if name not in wanted:
                continue
            if isinstance(how, str):
                ends = sorted(map(_INVERSES[how], wanted[name]))
                low, high = max(low, ends[0]), min(high, ends[1])
            elif not any(_inside(value, wanted[name]) for value in how):
                low, high = 1.0, 0.0
        if low <= high if n is None else np.ceil(low * n - _SLACK) <= np.floor(high * n + _SLACK):
            return True
    return False


def _some_shares(wanted: Mapping[str, Range]) -> bool:
    """Existence of a table of real shares that has both classes in truth and predictions."""
    spans = {name: _clipped(wanted.get(name, (0.0, 1.0)), _LEAST, 1.0) for name in ("precision", "recall")}
    prevalence = _clipped(wanted.get("prevalence", (0.0, 1.0)), _LEAST, 1 - _LEAST)
    hits = [spans["precision"], spans["recall"], prevalence]
    # A table has no negative count: FP is not, where specificity is at most 1, and TN is not, where it is at least 0.
    either = dict(wanted) | {"specificity": _clipped(wanted.get("specificity", (0.0, 1.0)), -_SLACK, 1 + _SLACK)}
    if prevalence[0] > prevalence[1]:
        return False
    no_hits = all(_inside(0.0, wanted[name]) for name in ("precision", "recall", "f1") if name in wanted)
    if no_hits and _box_holds([(_LEAST, 1 - _LEAST), prevalence], _without_hits, either):
        return True
    return all(low <= high for low, high in hits) and _box_holds(hits, _with_hits, either)


def _clipped(span: Range, low: float, high: float) -> Range:
    return max(span[0], low), min(span[1], high)


def _with_hits(p: Floats, r: Floats, pi: Floats) -> Iterator[tuple[str, Floats]]:
    """Metrics of tables with true positives, by precision, recall and prevalence; each rises or falls with each."""
    yield "precision", p
    yield "recall", r
    yield "prevalence", pi
    yield "f1", 2 * p * r / (p + r)
    yield "accuracy", 1 - pi * (1 - r) - pi * r * (1 - p) / p
    yield "specificity", 1 - pi * r * (1 - p) / (p * (1 - pi))
    called = p - r * pi  # 0 where no item is called negative
    signed = np.sqrt(r / (1 - pi)) * (p - pi)
    with np.errstate(divide="ignore", invalid="ignore"):
        yield "mcc", np.where(called > 0, signed / np.sqrt(called), np.where(p < pi, -np.inf, 0.0))


def _without_hits(f: Floats, g: Floats) -> Iterator[tuple[str, Floats]]:
    """Metrics of tables without true positives, by the shares of false positives and of false negatives."""
    yield "prevalence", g
    yield "accuracy", 1 - f - g
    yield "specificity", 1 - f / (1 - g)
    yield "mcc", -np.sqrt(f * g / ((1 - f) * (1 - g)))


def _box_holds(
    box: list[Range], metrics: Callable[..., Iterator[tuple[str, Floats]]], wanted: Mapping[str, Range]
) -> bool:
    """Existence of a point of a box that has all metrics where they are wanted, by branch and bound.

    On a box, a function that rises or falls with each argument lies between its values at the corners; what cannot hold
    the wanted ones is dropped. Returns True as well if the work grows beyond its limit.
    """
    boxes = np.array([box])
    sides = list(product((0, 1), repeat=len(box)))
    for _ in range(_HALVINGS):
        corners = [np.stack([boxes[:, k, side[k]] for side in sides], axis=1) for k in range(len(box))]
        kept = np.ones(len(boxes), dtype=bool)
        for name, values in metrics(*corners):
            if name in wanted:
                low, high = wanted[name]
                kept &= (values.min(axis=1) <= high) & (values.max(axis=1) >= low)
        boxes = boxes[kept]
        if not len(boxes):
            return False
        hit = np.ones(len(boxes), dtype=bool)
        middle = _middle(boxes[:, :, 0], boxes[:, :, 1])
        for name, values in metrics(*middle.T):
            if name in wanted:
                hit &= _inside(values, wanted[name])
        if hit.any() or len(boxes) > _MOST_BOXES:
            return True
        widest, rows = np.argmax(boxes[:, :, 1] - boxes[:, :, 0], axis=1), np.arange(len(boxes))
        lower, upper = boxes.copy(), boxes.copy()
        lower[rows, widest, 1] = upper[rows, widest, 0] = middle[rows, widest]
        boxes = np.concatenate([lower, upper])
    return True


def _middle(low: Floats, high: Floats) -> Floats:
    """The middle of intervals of shares: the geometric one where they reach over magnitudes."""
    return np.where(high > 16 * low, np.sqrt(low * high), (low + high) / 2)


def _some_counts(wanted: Mapping[str, Range], n: int) -> bool:
    """Existence of a table of ``n`` whole items that has both classes in truth and predictions.

    For each number of positives and each number of true positives that the printed prevalence and recall allow, every
    other metric falls as false positives are added: those that agree are whole numbers between two bounds.
    """
    low, high = wanted.get("prevalence", (0.0, 1.0))
    positives = np.arange(max(1, np.ceil(low * n - _SLACK)), min(n - 1, np.floor(high * n + _SLACK)) + 1)
    recall = wanted.get("recall", (0.0, 1.0))
    fewest = np.maximum(0, np.ceil(recall[0] * positives - _SLACK))
    most = np.minimum(positives, np.floor(recall[1] * positives + _SLACK))
    sizes = np.maximum(0, most - fewest + 1).astype(int)
    if sizes.sum() > _MOST_PAIRS:
        return _some_shares(wanted)
    ends = np.cumsum(sizes)
    for start in range(0, int(ends[-1]) if len(ends) else 0, _CHUNK):
        place = np.arange(start, min(start + _CHUNK, ends[-1]))
        row = np.searchsorted(ends, place, side="right")
        k, tp = positives[row], fewest[row] + place - (ends[row] - sizes[row])
        if _false_positives(wanted, float(n), k, tp):
            return True
    return False


def _false_positives(wanted: Mapping[str, Range], n: float, k: Floats, tp: Floats) -> bool:
    """Existence of a whole number of false positives that agrees with a pair of positives ``k`` and true positives."""
    first, last = np.maximum(0, 1 - tp), np.minimum(n - k, n - 1 - tp)  # something is called positive, and not all
    fn = k - tp

    def bound(least: Floats, most: Floats) -> None:
        """Keep false positives between these numbers; where a bound is 0/0 or infinite it is none."""
        nonlocal first, last
        first = np.maximum(first, np.ceil(np.nan_to_num(least, nan=-np.inf) - _SLACK * (1 + n)))
        last = np.minimum(last, np.floor(np.nan_to_num(most, nan=np.inf) + _SLACK * (1 + n)))

    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        if span := wanted.get("precision"):
            bound(tp / span[1] - tp, np.where(span[0] > 0, tp / span[0] - tp, np.inf))
        if span := wanted.get("f1"):
            bound(2 * tp / span[1] - 2 * tp - fn, np.where(span[0] > 0, 2 * tp / span[0] - 2 * tp - fn, np.inf))
        if span := wanted.get("accuracy"):
            bound(n * (1 - span[1]) - fn, n * (1 - span[0]) - fn)
        if span := wanted.get("specificity"):
            bound((n - k) * (1 - span[1]), (n - k) * (1 - span[0]))
    # Without true positives, precision and F1 are 0; the bounds above say so where the print excludes 0 or not.
    some = first <= last
    k, tp, first, last = k[some], tp[some], first[some], last[some]
    if "mcc" in wanted and len(k):
        low, high = wanted["mcc"]
        first = _crossing(n, k, tp, first, last + 1, lambda value: value <= high)
        last = _crossing(n, k, tp, first, last + 1, lambda value: value < low) - 1
    return bool((first <= last).any())


def _crossing(n: float, k: Floats, tp: Floats, first: Floats, end: Floats, when: Callable[[Floats], Any]) -> Floats:
    """The fewest false positives from ``first`` on at which ``when`` of the MCC becomes true; ``end`` if nowhere."""
    while (open_ := first < end).any():
        middle = np.floor((first + end) / 2)
        called = np.clip(tp + middle, 1, n - 1)
        value = (n * tp - k * called) / np.sqrt(k * (n - k) * called * (n - called))
        true = when(value)
        end = np.where(open_ & true, middle, end)
        first = np.where(open_ & ~true, middle + 1, first)
    return first

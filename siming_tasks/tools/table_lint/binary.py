"""Prevalence that binary rows imply: the identities between printed numbers of a confusion table, with rounding.

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
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from itertools import combinations

from scipy.optimize import brentq

from siming_tasks.report.printed_number import Printed
from siming_tasks.report.published_tables import COLUMNS, Finding, Kind, Row, Table
from siming_tasks.tools.table_lint.feasibility import CONVENTIONS, METRICS, feasible

ROUNDING = "Every printed number was rounded to its last digit."
SAME_ITEMS = "All rows were scored on the same items with the same positive class."

_FEWER = 300
"""Numbers of items below the stated one that are tried: unanswered ones may have been left out."""

Range = tuple[float, float]
Identity = Callable[[float, float, float], float]


def f1(precision: float, recall: float) -> float:
    """Harmonic mean of precision and recall, 0 when both are 0."""
    return 0.0 if precision + recall == 0 else 2 * precision * recall / (precision + recall)


def f1_range(precision: Printed, recall: Printed) -> Range:
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


def implied_prevalence(precision: Printed, recall: Printed, third: Printed, kind: str = "mcc") -> Range | None:
    """Lowest and highest prevalence of the positive class that agree with three printed numbers.

    None if no table with true positives rounds to the three numbers, or precision or recall may be 0.

    Args:
        precision: printed precision.
        recall: printed recall.
        third: printed MCC, accuracy or specificity.
        kind: which of them ``third`` is.
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
    """The largest prevalence at which the falling identity is ``at_least`` target, or the smallest where at most."""
    first, last = 1e-12, min(highest_prevalence(p, r), 1 - 1e-12)
    at_first, at_last = identity(first, p, r), identity(last, p, r)
    if at_least and at_last >= target:
        return last
    if not at_least and at_first <= target:
        return first
    if at_first < target if at_least else at_last > target:
        return None
    return float(brentq(lambda pi: identity(pi, p, r) - target, first, last))


def row_prevalences(row: Row) -> dict[str, Range | None]:
    """Per third number (MCC, accuracy, specificity) that the row prints, the prevalences it agrees with, or None.

    Empty where precision or recall may be 0: a table without true positives has them at any prevalence.
    """
    if not {"precision", "recall"} <= row.values.keys():
        return {}
    precision, recall = row.values["precision"], row.values["recall"]
    if precision.low <= 0 or recall.low <= 0:
        return {}
    kinds = [kind for kind in IDENTITIES if kind in row.values]
    return {kind: implied_prevalence(precision, recall, row.values[kind], kind) for kind in kinds}


def own_prevalences(table: Table) -> dict[str, Range]:
    """By row, the prevalence that it prints, else the first that its numbers imply; rows without one are left out."""
    ranges: dict[str, Range] = {}
    for row in table.rows:
        printed = row.values.get("prevalence")
        implied = (printed.low, printed.high) if printed else next(filter(None, row_prevalences(row).values()), None)
        if implied:
            ranges[row.name] = implied
    return ranges


def common_prevalence(table: Table) -> tuple[Range, tuple[str, ...]] | None:
    """The prevalence that most rows share and the rows that share it; None unless over half and at least three do."""
    ranges = own_prevalences(table)
    best: tuple[str, ...] = ()
    for low, _ in ranges.values():  # a deepest overlap of intervals begins at some interval's lower end
        best = max(best, tuple(name for name, (a, b) in ranges.items() if a <= low <= b), key=len)
    if len(best) < 3 or 2 * len(best) <= len(ranges):
        return None
    return (max(ranges[name][0] for name in best), min(ranges[name][1] for name in best)), best


def check_prevalences(table: Table) -> Iterator[Finding]:
    """Rows with MCC on the wrong side of the common (or their own) prevalence, and rows off it."""
    common = common_prevalence(table)
    for row in table.rows:
        printed = row.values.get("prevalence")
        expected = (printed.low, printed.high) if printed else common[0] if common else None
        sharing = f"the prevalence that {len(common[1]) if common else 0} rows share"
        for kind, implied in row_prevalences(row).items():
            p, r, third = (row.values[name].text for name in ("precision", "recall", kind))
            numbers = f"P {p}, R {r} and {COLUMNS[kind]} {third}"
            apart = bool(implied and expected and not _meet(implied, expected))
            if kind == "mcc" and expected and (what := _wrong_side(row, expected)):
                code = "mcc-sign"
            elif implied and expected and apart:
                code, whose = "prevalence-differs", "the printed prevalence" if printed else sharing
                what = f"{numbers} imply a prevalence of {_span(implied)}; {whose} is {_span(expected)}."
            else:
                continue
            explained = apart and not printed
            if explained and implied and expected:
                what += f" {_left_out(missing_share(implied, expected))}"
            weight: Kind = "note" if explained else "inconsistent"
            yield Finding(code, weight, table.name, what, f"{SAME_ITEMS} {ROUNDING}", (row.name,), kind)


def check_tables(table: Table, explained: Collection[str]) -> Iterator[Finding]:
    """Rows that no confusion table gives, or none of as many items as the row or the table states.

    Args:
        table: to check.
        explained: rows about which a check with a narrower reason has spoken already.
    """
    for row in table.rows:
        spans = {name: (row.values[name].low, row.values[name].high) for name in METRICS if name in row.values}
        if not spans or row.name in explained:
            continue
        if not feasible(spans):
            numbers = _listed(row, _smallest_conflict(spans))
            yield Finding("no-such-table", "inconsistent", table.name, f"No confusion table has {numbers}.",
                          f"{ROUNDING} {CONVENTIONS}", (row.name,))  # fmt: skip
            continue
        n = row.n_items or table.n_items
        if n is None or feasible(spans, n):
            continue
        own = row.n_items is not None
        fewer = None if own else next((m for m in range(n - 1, max(0, n - _FEWER), -1) if feasible(spans, m)), None)
        what = f"No confusion table of {n:,} items has {_listed(row, _smallest_conflict(spans, n))}."
        if fewer is not None:
            what += f" One of {fewer:,} items has ({n - fewer:,} without an answer)."
        proven = own or (fewer is None and n <= _FEWER)
        scored = f"The row was scored on {'' if own else 'at most '}{n:,} items."
        assumes = f"{ROUNDING} {CONVENTIONS} {scored}"
        yield Finding("no-such-count", "inconsistent" if proven else "note", table.name, what, assumes, (row.name,))


def _smallest_conflict(spans: Mapping[str, Range], n: int | None = None) -> tuple[str, ...]:
    """The fewest of a row's numbers that cannot stand together."""
    sizes = range(1, len(spans) + 1)
    choices = (names for size in sizes for names in combinations(spans, size))
    return next(names for names in choices if not feasible({name: spans[name] for name in names}, n))


def _listed(row: Row, names: Sequence[str]) -> str:
    """Numbers of a row in words: ``P 0.500, R 0.100 and MCC 0.900``."""
    *most, last = [f"{COLUMNS[name]} {row.values[name].text}" for name in names]
    return f"{', '.join(most)} and {last}" if most else last


def check_eda(table: Table) -> Iterator[Finding]:
    """EDA (EgoPER), an accuracy over segments: tables that cannot have it, the constant's value, and EDA alone.

    It is often a mean over thresholds, which is of no single table: what contradicts it is a note.
    """
    printed = table.column("eda")
    if not printed:
        return
    one_threshold = f"{ROUNDING} EDA is of the items behind the other numbers, at one threshold."
    for row in table.rows:
        spans = {name: (row.values[name].low, row.values[name].high) for name in METRICS if name in row.values}
        if row.name not in printed or not spans or not feasible(spans):
            continue
        eda = printed[row.name]
        if not feasible({"accuracy": (eda.low, eda.high)} | spans) or (
            "accuracy" in spans and not _meet(spans["accuracy"], (eda.low, eda.high))
        ):
            what = f"No confusion table with EDA {eda.text} as its accuracy has {_listed(row, tuple(spans))}."
            yield Finding("eda-no-such-table", "note", table.name, what, one_threshold, (row.name,), "eda")
    if common := common_prevalence(table) or _printed_prevalence(table):
        low, high = sorted(max(edge, 1 - edge) for edge in common[0])
        below = tuple(name for name, value in printed.items() if value.high < low)
        what = (
            f"Giving every item the commoner flag has EDA {_span((low, high))} and MCC 0. "
            f"{len(below)} of {len(printed)} printed EDA are lower."
        )
        yield Finding("constant-eda", "baseline", table.name, what, f"{SAME_ITEMS} {ROUNDING}", below, "eda")
    alone = tuple(name for name in printed if name not in table.column("mcc"))
    if alone:
        what = (
            'EDA is an accuracy: the constant "all correct" has the share of right items, .655 over all rows of '
            "CaptainCook4D and .823 over all segments of EgoOops. No MCC stands beside it."
        )
        yield Finding("eda-alone", "note", table.name, what, "Most items are right.", alone, "eda")


def _printed_prevalence(table: Table) -> tuple[Range, tuple[str, ...]] | None:
    """The prevalence that all rows print that print one, and these rows; None if they differ or none does."""
    ranges = {name: (value.low, value.high) for name, value in table.column("prevalence").items()}
    low, high = max((a for a, _ in ranges.values()), default=1.0), min((b for _, b in ranges.values()), default=0.0)
    return ((low, high), tuple(ranges)) if low <= high else None


def missing_share(implied: Range, expected: Range) -> float:
    """Least share of a row's items that must be without an answer for its prevalence to differ from the others' so.

    A row is scored on the items that it answered. With a share m missing, all of them positives, a prevalence of p
    becomes ``(p - m) / (1 - m)``; all of them negatives, ``p / (1 - m)``.

    Example:
        >>> round(missing_share((0.18, 0.18), (0.2, 0.2)), 4), round(missing_share((0.25, 0.25), (0.2, 0.2)), 4)
        (0.0244, 0.2)
    """
    if implied[1] < expected[0]:
        return (expected[0] - implied[1]) / (1 - implied[1])
    return 1 - expected[1] / implied[0] if implied[0] > expected[1] else 0.0


def check_disagreement(table: Table) -> Iterator[Finding]:
    """Rows without a prevalence that most of them share: do they have one at all?"""
    ranges = own_prevalences(table)
    apart = max((a for a, _ in ranges.values()), default=0) - min((b for _, b in ranges.values()), default=0)
    if len(ranges) < 2 or common_prevalence(table) or apart <= 0:
        return
    each = "; ".join(f"{name} {_span(own)}" for name, own in ranges.items())
    # One row without positives, the other without negatives: both ends meet at this share of missing items.
    what = f"The rows imply prevalences that have no value in common: {each}. {_left_out(apart / (1 + apart))}"
    yield Finding("prevalence-disagrees", "note", table.name, what, f"{SAME_ITEMS} {ROUNDING}", tuple(ranges))


def check_baselines(table: Table) -> Iterator[Finding]:
    """Scores of calling every item positive at the common prevalence, and the rows that do not reach them."""
    common = common_prevalence(table)
    if common is None:
        return
    low, high = (f1(edge, 1.0) for edge in common[0])
    printed, recalls = table.column("f1"), table.column("recall")
    below = tuple(name for name, value in printed.items() if value.high < low)
    itself = [name for name in below if name in recalls and recalls[name].high >= 1]
    tail = f" ({', '.join(itself)} prints the pattern of that constant itself, at its own prevalence)" if itself else ""
    yield Finding(
        "constant-f1", "baseline", table.name,
        f"Calling every item positive gives P {_span(common[0])}, R 1, F1 {_span((low, high))} and MCC 0. "
        f"{len(below)} of {len(printed)} printed F1 are lower{tail}. Calling every item negative gives F1 0 and MCC 0.",
        f"{SAME_ITEMS} {ROUNDING}", below, "f1",
    )  # fmt: skip


def _wrong_side(row: Row, expected: Range) -> str:
    """Fault in the sign of the row's MCC, if any: MCC has the sign of precision minus prevalence."""
    precision, recall, printed = (row.values[name] for name in ("precision", "recall", "mcc"))
    below, above = precision.high < expected[0], precision.low > expected[1]
    if not (below and printed.low > 0) and not (above and printed.high < 0):
        return ""
    flipped = Printed(printed.text, -printed.value, -printed.high, -printed.low)
    implied = implied_prevalence(precision, recall, flipped)
    due = mcc(sum(expected) / 2, precision.value, recall.value)
    fit = "no table fits"
    if implied:
        fit = f"the row implies {_span(implied)}, which {'fits' if _meet(implied, expected) else 'does not fit either'}"
    return (
        f"P {precision.text} is {'below' if below else 'above'} the prevalence {_span(expected)}. MCC has the sign of "
        f"P minus prevalence, here about {due:+.3f}; {printed.text} is printed. With its sign changed {fit}."
    )


def _left_out(share: float) -> str:
    return (
        f"Rows that leave out unanswered items have a prevalence of their own: {share:.1%} of the items missing would "
        "explain it. So would a misprint."
    )


def _meet(first: Range, second: Range) -> bool:
    return first[0] <= second[1] and second[0] <= first[1]


def _span(pair: Range) -> str:
    low, high = f"{pair[0]:.4f}", f"{pair[1]:.4f}"
    return low if low == high else f"{low} to {high}"

"""The prevalence that binary rows imply: is it one, do the MCC signs fit it, and does a constant score better?"""

from __future__ import annotations

from collections.abc import Iterator

from siming_tasks.report.published_tables.model import COLUMNS, Finding, Row, Table
from siming_tasks.report.published_tables.numbers import Printed
from siming_tasks.tools.table_lint.binary import IDENTITIES, f1, implied_prevalence, mcc
from siming_tasks.tools.table_lint.rows import ROUNDING

__all__ = ["Range", "baselines", "common_prevalence", "disagreement", "prevalences", "row_prevalences"]

Range = tuple[float, float]
SAME_ITEMS = "All rows were scored on the same items with the same positive class."


def row_prevalences(row: Row) -> dict[str, Range | None]:
    """Per third number (MCC, accuracy, specificity) that the row prints, the prevalences it agrees with, or None."""
    if not {"precision", "recall"} <= row.values.keys():
        return {}
    return {
        kind: implied_prevalence(row.values["precision"], row.values["recall"], row.values[kind], kind)
        for kind in IDENTITIES
        if kind in row.values
    }


def common_prevalence(table: Table) -> tuple[Range, tuple[str, ...]] | None:
    """The prevalence that most rows share and the rows that share it; None unless over half and at least three do.

    A printed ``prevalence`` counts as a row's own.
    """
    ranges = {row.name: prevalence for row in table.rows if (prevalence := _own(row))}
    best: tuple[str, ...] = ()
    for low, _ in ranges.values():  # a deepest overlap of intervals begins at some interval's lower end
        best = max(best, tuple(name for name, (a, b) in ranges.items() if a <= low <= b), key=len)
    if len(best) < 3 or 2 * len(best) <= len(ranges):
        return None
    return (max(ranges[name][0] for name in best), min(ranges[name][1] for name in best)), best


def prevalences(table: Table) -> Iterator[Finding]:
    """Rows that no confusion table fits, MCC signs on the wrong side, and rows off the common prevalence."""
    common = common_prevalence(table)
    for row in table.rows:
        printed = row.values.get("prevalence")
        expected = (printed.low, printed.high) if printed else common[0] if common else None
        whose = (
            "the printed prevalence" if printed else f"the prevalence that {len(common[1]) if common else 0} rows share"
        )
        for kind, implied in row_prevalences(row).items():
            p, r, third = (row.values[name].text for name in ("precision", "recall", kind))
            numbers = f"P {p}, R {r} and {COLUMNS[kind]} {third}"
            assumes = f"{SAME_ITEMS} {ROUNDING}"
            if kind == "mcc" and expected and (what := _wrong_side(row, expected)):
                code = "mcc-sign"
            elif implied is None:
                code, what, assumes = "no-such-table", f"No confusion table has {numbers}.", ROUNDING
            elif expected and not _meet(implied, expected):
                code = "prevalence-differs"
                what = f"{numbers} imply a prevalence of {_span(implied)}; {whose} is {_span(expected)}."
            else:
                continue
            explained = implied and expected and not printed and not _meet(implied, expected)
            if explained and implied and expected:
                what += f" {_left_out(missing_share(implied, expected))}"
            yield Finding(code, "note" if explained else "inconsistent", table.name, what, assumes, (row.name,), kind)


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


def _left_out(share: float) -> str:
    return (
        f"Rows that leave out unanswered items have a prevalence of their own: {share:.1%} of the items missing would "
        "explain it. So would a misprint."
    )


def disagreement(table: Table) -> Iterator[Finding]:
    """Rows without a prevalence that most of them share: do they have one at all?"""
    prevalences = {row.name: own for row in table.rows if (own := _own(row))}
    if (
        len(prevalences) < 2
        or common_prevalence(table)
        or max(a for a, _ in prevalences.values()) <= min(b for _, b in prevalences.values())
    ):
        return
    each = "; ".join(f"{name} {_span(own)}" for name, own in prevalences.items())
    apart = max(a for a, _ in prevalences.values()) - min(b for _, b in prevalences.values())
    # One row without positives, the other without negatives: both ends meet at this share of missing items.
    what = f"The rows imply prevalences that have no value in common: {each}. {_left_out(apart / (1 + apart))}"
    yield Finding("prevalence-disagrees", "note", table.name, what, f"{SAME_ITEMS} {ROUNDING}", tuple(prevalences))


def baselines(table: Table) -> Iterator[Finding]:
    """Scores of calling every item positive at the common prevalence, and the rows that do not reach them."""
    common = common_prevalence(table)
    if common is None:
        return
    low, high = (f1(edge, 1.0) for edge in common[0])
    printed = table.column("f1")
    below = tuple(name for name, value in printed.items() if value.high < low)
    itself = [name for name in below if _all_positive(table, name)]
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


def _own(row: Row) -> Range | None:
    if printed := row.values.get("prevalence"):
        return printed.low, printed.high
    return next((prevalence for prevalence in row_prevalences(row).values() if prevalence), None)


def _all_positive(table: Table, name: str) -> bool:
    recall = table.column("recall").get(name)
    return recall is not None and recall.high >= 1


def _meet(first: Range, second: Range) -> bool:
    return first[0] <= second[1] and second[0] <= first[1]


def _span(pair: Range) -> str:
    low, high = f"{pair[0]:.4f}", f"{pair[1]:.4f}"
    return low if low == high else f"{low} to {high}"

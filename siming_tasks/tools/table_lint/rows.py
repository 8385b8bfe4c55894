"""Checks of one row against itself: F1, deltas, shares of a count, and kappa against the share of disagreements."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace

from siming_tasks.report.published_tables.model import COLUMNS, Document, Finding, Table
from siming_tasks.report.published_tables.numbers import Printed
from siming_tasks.tools.table_lint.binary import f1_range

__all__ = ["agreement", "constants", "deltas", "f1_of_parts", "possible", "ranges", "shares"]

ROUNDING = "Every printed number was rounded to its last digit."
SLACK = 1e-9
RANGES = {name: (-1.0, 1.0) if name in ("mcc", "plcc", "srcc", "kappa") else (0.0, 1.0) for name in COLUMNS}


def ranges(table: Table) -> Iterator[Finding]:
    """No metric leaves its range; other checks pass such numbers over (see :func:`possible`)."""
    for row in table.rows:
        for name, value in row.values.items():
            low, high = RANGES[name]
            if not value.within(low, high):
                hint = " Write a percentage as 15.7%." if 1 < value.value <= 100 else ""
                what = f"{COLUMNS[name]} is printed as {value.text}; it lies between {low:g} and {high:g}.{hint}"
                yield Finding("out-of-range", "inconsistent", table.name, what, ROUNDING, (row.name,), name)


def possible(table: Table) -> Table:
    """The table without numbers that leave their range."""
    rows = (
        replace(row, values={name: v for name, v in row.values.items() if v.within(*RANGES[name])})
        for row in table.rows
    )
    return replace(table, rows=tuple(rows))


def f1_of_parts(table: Table) -> Iterator[Finding]:
    """F1 must be the harmonic mean of the row's own precision and recall."""
    for row in table.rows:
        if not {"precision", "recall", "f1"} <= row.values.keys():
            continue
        low, high = f1_range(row.values["precision"], row.values["recall"])
        if not row.values["f1"].within(low - SLACK, high + SLACK):
            yield Finding(
                "f1-of-parts", "inconsistent", table.name,
                f"F1 is printed as {row.values['f1'].text}; P {row.values['precision'].text} and R "
                f"{row.values['recall'].text} give {low:.4f} to {high:.4f}.",
                f"{ROUNDING} F1, P and R are of one class, over pooled items (not averaged over classes or videos).",
                (row.name,), "f1",
            )  # fmt: skip


def deltas(document: Document, table: Table) -> Iterator[Finding]:
    """A printed delta must be the row minus its base row; if it is not, say which other column it matches."""
    for row in table.rows:
        base = document.base_of(table, row)
        for metric, delta in row.deltas.items() if base else ():
            value, start = row.values.get(metric), base.values.get(metric) if base else None
            if base is None or value is None or start is None or _is_difference(delta, value, start):
                continue
            others = [
                f"the base row's {COLUMNS[name]}: {value.text} - ({other.text})"
                for name, other in base.values.items()
                if name != metric and _is_difference(delta, value, other)
            ]
            others += [
                f"the {COLUMNS[name]} column's own difference: {other.text} - ({base.values[name].text})"
                for name, other in row.values.items()
                if name != metric and name in base.values and _is_difference(delta, other, base.values[name])
            ]
            match = f" {delta.text} is the difference from {', or '.join(others)}." if others else ""
            yield Finding(
                "delta-other-column" if others else "delta", "inconsistent", table.name,
                f"{COLUMNS[metric]} {value.text} minus {start.text} in the base row is "
                f"{value.value - start.value:+.3f}; the printed delta is {delta.text}.{match}",
                f"{ROUNDING} The delta is this row minus {base.name!r} in {table.base or 'this table'}.",
                (row.name,), metric,
            )  # fmt: skip


def shares(table: Table) -> Iterator[Finding]:
    """A count printed with its percentage must be that percentage of the denominator that the text names."""
    for row in table.rows:
        if row.count is None or row.percent is None or row.percent.high <= 0:
            continue
        fewest = math.ceil(row.count / row.percent.high - SLACK)
        most = math.floor(row.count / row.percent.low + SLACK) if row.percent.low > 0 else None
        span = f"{fewest:,} to {most:,}" if most is not None else f"{fewest:,} or more"
        if most is not None and fewest > most:
            what = f"{row.count} is {row.percent.text} of no whole number."
            yield Finding("share-impossible", "inconsistent", table.name, what, ROUNDING, (row.name,), "percent")
            continue
        total = math.prod(row.of)
        if not row.of or (fewest <= total and (most is None or total <= most)):
            continue
        parts = "" if len(row.of) < 2 or most is None else "".join(
            f" With {factor} as one factor the other would be {fewest / factor:.1f} to {most / factor:.1f}, "
            f"not {total // factor}." for factor in row.of
        )  # fmt: skip
        yield Finding(
            "share-denominator", "inconsistent", table.name,
            f"{row.count} of {' x '.join(map(str, row.of))} = {total:,} is {100 * row.count / total:.2f}%, not "
            f"{row.percent.text}: that is the share of {span}.{parts}",
            f"{ROUNDING} Every item of the product was counted; items marked not applicable would explain it.",
            (row.name,), "percent",
        )  # fmt: skip


def agreement(table: Table, prevalence: tuple[float, float] | None) -> Iterator[Finding]:
    """Kappa against the share of items on which the two raters differ.

    Unweighted kappa is ``1 - d / e``: d the share of disagreements, e the disagreement expected by chance. If the
    consensus calls a share π of items positive, each rater calls at least π - d of them so, and e is at least
    ``2 p (1 - p)`` with p = π - d (π below one half). With quadratic weights on four labels the same bound holds for
    the variance term, and a discordant pair adds at most 9.
    """
    for row in table.rows:
        kappa, differ = row.values.get("kappa"), row.values.get("disagreement")
        if kappa is None or differ is None or prevalence is None or kappa.low >= 1 or differ.high <= 0:
            continue
        p = prevalence[0] - differ.high
        if not 0 < p < 0.5:
            continue
        chance = 2 * p * (1 - p)
        lowest = 1 - differ.high / chance
        if kappa.high >= lowest:
            continue
        square = (1 - kappa.high) * chance / differ.high
        yield Finding(
            "kappa-disagreement", "note", table.name,
            f"Raters who differ on {differ.text} of the items, {prevalence[0]:.1%} of which are positive, have an "
            f"unweighted kappa of {lowest:.3f} or more; {kappa.text} is printed. With quadratic weights on four labels "
            f"it needs discordant pairs at least {math.sqrt(square):.1f} of 3 labels apart (root mean square).",
            "Every item on which the raters differ was counted as a disagreement, and the prevalence that the binary "
            "table implies holds for these items too.",
            (row.name,), "kappa",
        )  # fmt: skip


def constants(table: Table) -> Iterator[Finding]:
    """Rows whose print is that of a constant prediction."""
    for row in table.rows:
        recall, mcc = row.values.get("recall"), row.values.get("mcc")
        if recall and mcc and recall.high >= 1 and mcc.within(0, 0):
            yield Finding(
                "constant-positive", "note", table.name,
                f"R {recall.text} with MCC {mcc.text} is what calling every item positive gives; its P "
                f"{row.values['precision'].text if 'precision' in row.values else ''} is then the prevalence.",
                "None beyond rounding; a predictor that calls all but a few items positive prints the same.",
                (row.name,), "recall",
            )  # fmt: skip
        pair = [row.values[name] for name in ("plcc", "srcc") if name in row.values]
        if len(pair) == 2 and all(number.value == 0 for number in pair):
            yield Finding(
                "constant-total", "note", table.name,
                f"PLCC {pair[0].text} and SRCC {pair[1].text} together are the usual print of an undefined "
                "correlation: every total is the same.",
                "Undefined correlations are printed as zero; two correlations below the last digit print the same.",
                (row.name,), "plcc",
            )  # fmt: skip


def _is_difference(delta: Printed, value: Printed, base: Printed) -> bool:
    return delta.within(value.low - base.high - SLACK, value.high - base.low + SLACK)

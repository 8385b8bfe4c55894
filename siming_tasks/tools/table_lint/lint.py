"""Arithmetic on published tables: what the printed numbers imply about each other.

A finding is about numbers as printed and names the assumption it rests on; it says nothing about how they came about.
The checks of one row against itself stand here, those of a confusion table in ``binary``, those of chance in ``noise``.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace

from siming_tasks.common.sanitize import literal
from siming_tasks.report.printed_number import Printed
from siming_tasks.report.published_tables import COLUMNS, KINDS, Document, Finding, Row, Table
from siming_tasks.tools.table_lint import binary, noise

SLACK = 1e-9
RANGES = {name: (-1.0, 1.0) if name in ("mcc", "plcc", "srcc", "kappa") else (0.0, 1.0) for name in COLUMNS}


@dataclass(frozen=True)
class LintReport:
    """All findings about a document, and the prevalence that its binary tables imply."""

    document: Document
    findings: tuple[Finding, ...]
    prevalence: dict[str, binary.Range]

    @property
    def inconsistent(self) -> tuple[Finding, ...]:
        """Findings that no values behind the print can explain."""
        return tuple(finding for finding in self.findings if finding.kind == "inconsistent")

    def to_json(self) -> dict[str, object]:
        """The report as plain JSON types."""
        return {
            "title": self.document.title,
            "reference": self.document.reference,
            "prevalence": {table: list(pair) for table, pair in self.prevalence.items()},
            "findings": [finding.to_json() for finding in self.findings],
        }

    def to_markdown(self) -> str:
        """The report as Markdown: per table the implied prevalences, then the findings by kind."""
        lines = [f"# {self.document.title}", ""]
        lines += [self.document.reference, ""] if self.document.reference else []
        for table in self.document.tables:
            lines += _table_lines(table, [finding for finding in self.findings if finding.table == table.name])
        counts = Counter(finding.kind for finding in self.findings)
        total = ", ".join(f"{title.lower()}: {counts[kind]}" for kind, title in KINDS.items())
        lines += ["", f"Findings by kind: {total}.",
                  "A finding is about printed numbers under its assumption, not about their origin."]  # fmt: skip
        return "\n".join(lines)


def lint(document: Document) -> LintReport:
    """Run every check; findings stand in the order of tables and checks.

    A table without the numbers that a check needs is passed over, and so are numbers that leave their metric's range.

    Args:
        document: published tables (:func:`siming_tasks.report.published_tables.Document`).
    """
    checked = [_check_ranges(table) for table in document.tables]
    outside = {table.name: findings for table, findings in checked}
    document = replace(document, tables=tuple(table for table, _ in checked))
    by_table = {table.name: binary.common_prevalence(table) for table in document.tables}
    shared = {name: pair[0] for name, pair in by_table.items() if pair}
    anywhere = next(iter(shared.values()), None)
    findings: list[Finding] = []
    for table in document.tables:
        parts = [*_check_f1(table), *binary.check_prevalences(table)]
        explained = {name for finding in parts if finding.kind == "inconsistent" for name in finding.rows}
        findings += [
            *outside[table.name],
            *parts,
            *binary.check_tables(table, explained),
            *binary.check_disagreement(table),
            *_check_deltas(document, table),
            *_check_shares(table),
            *noise.check_columns(table),
            *noise.check_deltas(document, table),
            *binary.check_baselines(table),
            *binary.check_eda(table),
            *_check_constants(table),
            *noise.check_gaps(table),
            *_check_kappa(table, shared.get(table.name, anywhere)),
        ]
    return LintReport(document, tuple(findings), shared)


def _table_lines(table: Table, findings: list[Finding]) -> list[str]:
    lines = [f"## {literal(table.name)}", ""]
    lines += [literal(table.note), ""] if table.note else []
    by_row = {row.name: binary.row_prevalences(row) for row in table.rows}
    if implied := [(name, *item) for name, ranges in by_row.items() for item in ranges.items()]:
        lines += ["| row | third number | implied prevalence |", "|---|---|---|"]
        for name, column, pair in implied:
            span = f"{pair[0]:.4f} to {pair[1]:.4f}" if pair else "none"
            lines.append(f"| {literal(name)} | {COLUMNS[column]} | {span} |")
        lines.append("")
    for kind, title in KINDS.items():
        of_kind = [finding for finding in findings if finding.kind == kind]
        lines += [f"### {title}", ""] if of_kind else []
        for finding in of_kind:
            row = f"**{literal(finding.rows[0])}**: " if len(finding.rows) == 1 else ""
            lines.append(f"- {row}{finding.what} *Assumes: {finding.assumes}* `{finding.code}`")
        lines += [""] if of_kind else []
    if not findings:
        lines += ["No finding.", ""]
    if table.ignored:
        lines += [f"Columns not read: {', '.join(map(literal, table.ignored))}.", ""]
    return lines


def _check_ranges(table: Table) -> tuple[Table, list[Finding]]:
    """The table without the numbers that leave the range of their metric, and a finding about each of those.

    A column of bare numbers that would all be in range as percentages, and hardly in any other way, is read so.
    """
    findings = []
    rows = {row.name: dict(row.values) for row in table.rows}
    for name in COLUMNS:
        column, (low, high) = table.column(name), RANGES[name]
        percents = [value.as_percent() for value in column.values() if "%" not in value.text]
        points = all(value.value == 0 or (abs(value.value) > 0.01 and value.within(low, high)) for value in percents)
        if points and len(percents) == len(column) > 1 and any(value.value for value in percents):
            column = {row: value.as_percent() for row, value in column.items()}
            what = f"The column {COLUMNS[name]} is read as percentages."
            assumes = f"A heading with % ({COLUMNS[name]} (%)) says so."
            findings.append(Finding("read-as-percent", "note", table.name, what, assumes, tuple(column), name))
        for row, value in column.items():
            if value.within(low, high):
                rows[row][name] = value
                continue
            del rows[row][name]
            bare_percent = 1 < value.value <= 100 and "%" not in value.text
            hint = " Write a percentage as 15.7%, or % behind the heading." if bare_percent else ""
            what = f"{COLUMNS[name]} is printed as {value.text}; it lies between {low:g} and {high:g}.{hint}"
            findings.append(Finding("out-of-range", "inconsistent", table.name, what, binary.ROUNDING, (row,), name))
    return replace(table, rows=tuple(replace(row, values=rows[row.name]) for row in table.rows)), findings


def _check_f1(table: Table) -> Iterator[Finding]:
    """F1 that is not the harmonic mean of the row's own precision and recall."""
    for row in table.rows:
        if not {"precision", "recall", "f1"} <= row.values.keys():
            continue
        precision, recall, printed = (row.values[name] for name in ("precision", "recall", "f1"))
        low, high = binary.f1_range(precision, recall)
        if not printed.within(low - SLACK, high + SLACK):
            yield Finding(
                "f1-of-parts", "inconsistent", table.name,
                f"F1 is printed as {printed.text}; P {precision.text} and R {recall.text} give {low:.4f} to "
                f"{high:.4f}.",
                f"{binary.ROUNDING} F1, P and R are of one class, over pooled items (not averaged over classes or "
                "videos).", (row.name,), "f1",
            )  # fmt: skip


def _check_deltas(document: Document, table: Table) -> Iterator[Finding]:
    """Printed deltas that are not the row minus its base row, and which other column they match."""

    def matches(delta: Printed, value: Printed, base: Printed) -> bool:
        return delta.within(value.low - base.high - SLACK, value.high - base.low + SLACK)

    for row in table.rows:
        base = document.base_of(table, row)
        for metric, delta in row.deltas.items() if base else ():
            value, start = row.values.get(metric), base.values.get(metric) if base else None
            if base is None or value is None or start is None or matches(delta, value, start):
                continue
            others = [
                f"the base row's {COLUMNS[name]}: {value.text} - ({other.text})"
                for name, other in base.values.items()
                if name != metric and matches(delta, value, other)
            ]
            others += [
                f"the {COLUMNS[name]} column's own difference: {other.text} - ({base.values[name].text})"
                for name, other in row.values.items()
                if name != metric and name in base.values and matches(delta, other, base.values[name])
            ]
            match = f" {delta.text} is the difference from {', or '.join(others)}." if others else ""
            yield Finding(
                "delta-other-column" if others else "delta", "inconsistent", table.name,
                f"{COLUMNS[metric]} {value.text} minus {start.text} in the base row is "
                f"{value.value - start.value:+.3f}; the printed delta is {delta.text}.{match}",
                f"{binary.ROUNDING} The delta is this row minus {base.name!r} in {table.base or 'this table'}.",
                (row.name,), metric,
            )  # fmt: skip


def _check_shares(table: Table) -> Iterator[Finding]:
    """Counts whose percentage is not that of the denominator that the text names."""
    for row in table.rows:
        if row.percent is None:
            continue
        total = math.prod(row.of) if row.of else None
        if not row.percent.within(0, 1) or (row.count is not None and total is not None and row.count > total):
            what = f"{'' if row.count is None else f'{row.count:,} is '}{row.percent.text}"
            what += f" of {total:,}" if total is not None else ""
            yield Finding("share-impossible", "inconsistent", table.name, f"{what}: a share lies between 0 and 100%.",
                          binary.ROUNDING, (row.name,), "percent")  # fmt: skip
        elif row.count is not None:
            yield from _check_denominator(table, row, row.count, row.percent)
        elif total is not None and not _is_share_of(row.percent, total):
            yield Finding("share-impossible", "inconsistent", table.name,
                          f"{row.percent.text} of {total:,} is no whole number: "
                          f"{_nearest_shares(row.percent, total)}.",
                          f"{binary.ROUNDING} All {total:,} were counted.", (row.name,), "percent")  # fmt: skip
    for row in table.rows:
        printed, n = row.values.get("disagreement"), row.n_items or table.n_items
        if printed is not None and n is not None and not _is_share_of(printed, n):
            yield Finding("no-such-count", "inconsistent" if row.n_items else "note", table.name,
                          f"A disagreement of {printed.text} among {n:,} items is no whole number of items: "
                          f"{_nearest_shares(printed, n)}.",
                          f"{binary.ROUNDING} All {n:,} items were counted.", (row.name,), "disagreement")  # fmt: skip


def _is_share_of(printed: Printed, n: int) -> bool:
    """True if a whole number out of n rounds to the print (GRIM: Brown and Heathers 2017)."""
    return math.floor(printed.high * n + SLACK) >= math.ceil(printed.low * n - SLACK)


def _nearest_shares(printed: Printed, n: int) -> str:
    below = math.floor(printed.value * n)
    return " and ".join(f"{count:,} are {100 * count / n:.2f}%" for count in (below, below + 1) if count <= n)


def _check_denominator(table: Table, row: Row, count: int, percent: Printed) -> Iterator[Finding]:
    """A count whose percentage is that of no denominator, or not of the one named."""
    if percent.high <= 0:
        return
    fewest = math.ceil(count / percent.high - SLACK)
    most = math.floor(count / percent.low + SLACK) if percent.low > 0 else None
    span = f"{fewest:,} to {most:,}" if most is not None else f"{fewest:,} or more"
    total = math.prod(row.of)
    if most is not None and fewest > most:
        code = "share-impossible"
        what, assumes = f"{count} is {percent.text} of no whole number.", ""
    elif not row.of or (fewest <= total and (most is None or total <= most)):
        return
    else:
        code = "share-denominator"
        assumes = " Every item of the product was counted; items marked not applicable would explain it."
        what = (
            f"{count} of {' x '.join(map(str, row.of))} = {total:,} is {100 * count / total:.2f}%, not "
            f"{percent.text}: that is the share of {span}."
        )
        for factor in row.of if len(row.of) >= 2 and most is not None else ():
            other = f"{fewest / factor:.1f} to {(most or 0) / factor:.1f}"
            what += f" With {factor} as one factor the other would be {other}, not {total // factor}."
    yield Finding(code, "inconsistent", table.name, what, binary.ROUNDING + assumes, (row.name,), "percent")


def _check_kappa(table: Table, prevalence: binary.Range | None) -> Iterator[Finding]:
    """Kappa against the share of items on which the two raters differ.

    Unweighted kappa is ``1 - d / e``: d the share of disagreements, e the disagreement expected by chance. If the
    consensus calls a share π of items positive, each rater calls at least π - d of them so, and e is at least
    ``2 p (1 - p)`` with p = π - d (π below one half). With quadratic weights on four labels the same bound holds for
    the variance term, and a discordant pair adds at most 9.

    Whatever the prevalence, chance makes raters differ on no more than all items, so that unweighted kappa is at most
    ``1 - d``. With quadratic weights on labels 0 to 3, discordant pairs are s >= d apart (mean square), the variances
    add to at most 4.5 and the squared difference of the means is at most ``d s``: kappa is at most
    ``1 - d / (4.5 + d²)``; linear weights give less.
    """
    for row in table.rows:
        kappa, differ = row.values.get("kappa"), row.values.get("disagreement")
        if kappa is None or differ is None:
            continue
        d = max(differ.low, 0.0)
        weighted, unweighted = 1 - d / (4.5 + d * d), 1 - d
        if kappa.low > unweighted + SLACK:
            impossible = kappa.low > weighted + SLACK
            yield Finding(
                "kappa-too-high", "inconsistent" if impossible else "note", table.name,
                f"Raters who differ on {differ.text} of the items have an unweighted kappa of {unweighted:.3f} or "
                f"less, and with quadratic weights on four labels {weighted:.3f} or less; {kappa.text} is printed.",
                "Kappa and the disagreement are of the same items, on at most four labels.", (row.name,), "kappa",
            )  # fmt: skip
            continue
        if prevalence is None or differ.high <= 0:
            continue
        p = prevalence[0] - differ.high
        chance = 2 * p * (1 - p)
        lowest = 1 - differ.high / chance if 0 < p < 0.5 else -math.inf
        if kappa.high >= lowest:
            continue
        square = (1 - kappa.high) * chance / differ.high
        yield Finding(
            "kappa-disagreement", "note", table.name,
            f"Raters who differ on {differ.text} of the items, {prevalence[0]:.1%} of which are positive, have an "
            f"unweighted kappa of {lowest:.3f} or more; {kappa.text} is printed. With quadratic weights on four labels "
            f"it needs discordant pairs at least {math.sqrt(square):.1f} of 3 labels apart (root mean square).",
            "Every item on which the raters differ was counted as a disagreement, and the prevalence that the binary "
            "table implies holds for these items too.", (row.name,), "kappa",
        )  # fmt: skip


def _check_constants(table: Table) -> Iterator[Finding]:
    """Rows whose print is that of a constant prediction."""
    for row in table.rows:
        recall, mcc = row.values.get("recall"), row.values.get("mcc")
        if recall and mcc and recall.high >= 1 and mcc.within(0, 0):
            precision = row.values["precision"].text if "precision" in row.values else ""
            yield Finding(
                "constant-positive", "note", table.name,
                f"R {recall.text} with MCC {mcc.text} is what calling every item positive gives; its P {precision} is "
                "then the prevalence.",
                "None beyond rounding; a predictor that calls all but a few items positive prints the same.",
                (row.name,), "recall",
            )  # fmt: skip
        zeros = [row.values[name] for name in ("precision", "recall", "f1", "mcc") if name in row.values]
        if len(zeros) >= 3 and all(number.value == 0 for number in zeros):
            yield Finding(
                "constant-negative", "note", table.name,
                f"{', '.join(number.text for number in zeros)} is what calling no item positive gives.",
                "What is 0/0 is printed as 0; a predictor whose few positives are all wrong prints nearly the same.",
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

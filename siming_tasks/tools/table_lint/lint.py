"""Arithmetic on published tables: what the printed numbers imply about each other.

A finding is about numbers as printed and names the assumption it rests on; it says nothing about how they came about.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace

from siming_tasks.common.sanitize import literal
from siming_tasks.report.published_tables.model import COLUMNS, KINDS, Document, Finding, Table
from siming_tasks.tools.table_lint.noise import column_noise, delta_noise, gaps
from siming_tasks.tools.table_lint.prevalence import (
    Range,
    baselines,
    common_prevalence,
    disagreement,
    prevalences,
    row_prevalences,
)
from siming_tasks.tools.table_lint.rows import agreement, constants, deltas, f1_of_parts, possible, ranges, shares

__all__ = ["LintReport", "lint"]


@dataclass(frozen=True)
class LintReport:
    """All findings about a document, and the prevalence that its binary tables imply."""

    document: Document
    findings: tuple[Finding, ...]
    prevalence: dict[str, Range]

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
            lines += _section(table, [finding for finding in self.findings if finding.table == table.name])
        counts = Counter(finding.kind for finding in self.findings)
        total = ", ".join(f"{title.lower()}: {counts[kind]}" for kind, title in KINDS.items())
        lines += ["", f"Findings by kind: {total}.",
                  "A finding is about printed numbers under its assumption, not about their origin."]  # fmt: skip
        return "\n".join(lines)


def lint(document: Document) -> LintReport:
    """Run every check.

    Args:
        document: published tables (:func:`siming_tasks.report.published_tables.read.read_document`).

    Returns:
        Findings in the order of tables and checks. A table without the numbers that a check needs is passed over.
    """
    outside = {table.name: tuple(ranges(table)) for table in document.tables}
    document = replace(document, tables=tuple(possible(table) for table in document.tables))
    by_table = {table.name: common_prevalence(table) for table in document.tables}
    shared = {name: pair[0] for name, pair in by_table.items() if pair}
    anywhere = next(iter(shared.values()), None)
    findings: list[Finding] = []
    for table in document.tables:
        findings += [
            *outside[table.name],
            *f1_of_parts(table),
            *prevalences(table),
            *disagreement(table),
            *deltas(document, table),
            *shares(table),
            *column_noise(table),
            *delta_noise(document, table),
            *baselines(table),
            *constants(table),
            *gaps(table),
            *agreement(table, shared.get(table.name, anywhere)),
        ]
    return LintReport(document, tuple(findings), shared)


def _section(table: Table, findings: list[Finding]) -> list[str]:
    lines = [f"## {literal(table.name)}", ""]
    lines += [literal(table.note), ""] if table.note else []
    implied = {row.name: row_prevalences(row) for row in table.rows}
    if any(implied.values()):
        lines += ["| row | third number | implied prevalence |", "|---|---|---|"]
        for name, ranges in implied.items():
            for kind, pair in ranges.items():
                span = f"{pair[0]:.4f} to {pair[1]:.4f}" if pair else "none"
                lines.append(f"| {literal(name)} | {COLUMNS[kind]} | {span} |")
        lines.append("")
    for kind, title in KINDS.items():
        of_kind = [finding for finding in findings if finding.kind == kind]
        if of_kind:
            lines += [f"### {title}", ""]
            lines += [
                f"- {_who(finding)}{finding.what} *Assumes: {finding.assumes}* `{finding.code}`" for finding in of_kind
            ]
            lines.append("")
    if not findings:
        lines += ["No finding.", ""]
    if table.ignored:
        lines += [f"Columns not read: {', '.join(map(literal, table.ignored))}.", ""]
    return lines


def _who(finding: Finding) -> str:
    return f"**{literal(finding.rows[0])}**: " if len(finding.rows) == 1 else ""

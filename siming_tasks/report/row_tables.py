"""Tables of rows: one table for each name, a line for each row and a column for each metric."""

from __future__ import annotations

from collections.abc import Sequence

from siming_tasks.analysis.tables import TableText, table_texts
from siming_tasks.metrics.estimate import FLAGS, Estimate, Rows
from siming_tasks.report.table import Name, Number, Section, Table


def number(found: Estimate) -> Number:
    """The cell of an estimate."""
    return Number(found.value, found.low, found.high, comparable="not-comparable" not in found.flags)


def row_section(rows: Rows, *, reference: str = "the consensus", only: Sequence[str] | None = None) -> Section:
    """Title, caption and table of every table that occurs, in order; below it why values or intervals are not there."""
    texts, section = table_texts(), Section()
    for name in only or rows.names("table"):
        if part := rows.of(name):
            text = texts.get(name) or TableText(name.capitalize(), "", {})
            section += [f"### {text.title}", *_block(part, text, reference)]
    return section


def _block(part: Rows, text: TableText, reference: str) -> Section:
    metrics = [key for key in text.heads if part.of(metric=key)] or part.names("metric")
    lines = []
    for row in part.names("row"):
        found = {each.metric: each for each in part.of(row=row)}
        lines.append([Name(row), *(number(found[key]) if key in found else None for key in metrics)])
    tested = [each for each in part if each.p is not None]
    notes = [f"{each.row}, {text.heads.get(each.metric, each.metric)}: p = {_p(each)}" for each in tested]
    why: dict[str, list[str]] = {}
    for each in part:
        if each.why:
            why.setdefault(each.why, []).append(each.row)
    notes += [Name(f"{reason} ({_some(carriers)})") for reason, carriers in why.items()]
    notes += [FLAGS[flag] for flag in FLAGS if any(flag in each.flags for each in part)]
    head = ["", *(text.heads.get(key, key) for key in metrics)]
    return [Table.of(head, lines, caption=text.sentence(reference), notes=notes)]


def _p(found: Estimate) -> str:
    shown = [f"{value:.3f}" if value >= 0.001 else "< 0.001" for value in (found.p, found.p_holm) if value is not None]
    return shown[0] + (f" (Holm {shown[1]})" if len(shown) > 1 else "")


def _some(names: Sequence[str]) -> str:
    few = list(dict.fromkeys(names))
    return ", ".join(few[:3]) + (f" and {len(few) - 3} more" if len(few) > 3 else "")

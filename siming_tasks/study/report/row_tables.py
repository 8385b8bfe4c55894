"""Tables of rows: one table for each name, a line for each row and a column for each metric."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from siming_tasks.benchmark.metrics.estimate import Estimate, Rows
from siming_tasks.benchmark.metrics.reasons import Flag
from siming_tasks.common.printed_value import p_sentence, p_text
from siming_tasks.study.analysis.tables import TableText, table_texts
from siming_tasks.study.report.table import Name, Number, Section, Table
from siming_tasks.study.words import FLAGS, flag_notes, notes, reason


def number(found: Estimate | None, *, signed: bool = False, href: str = "") -> Number | None:
    """The cell of an estimate; None without one."""
    if found is None:
        return None
    comparable = Flag.NOT_COMPARABLE not in found.flags
    return Number(found.value, found.low, found.high, signed=signed, comparable=comparable, limits=notes(found),
                  href=href)  # fmt: skip


def row_section(rows: Rows, *, reference: str = "the consensus", only: Sequence[str] | None = None) -> Section:
    """Title, caption and table of every table that occurs, in order; below it why values or intervals are not there."""
    texts, section = table_texts(), Section()
    for name in only or rows.names("table"):
        if part := rows.of(name):
            text = texts.get(name) or TableText(name.capitalize(), "", {})
            section += [f"### {text.title}", row_table(part, text, reference)]
    return section


def row_table(
    part: Rows,
    text: TableText,
    reference: str = "the consensus",
    *,
    label: Callable[[str], str] = str,
    href: Callable[[str, str], str] = lambda row, metric: "",
    coded: bool = False,
) -> Table:
    """One table: a line for each row that occurs, a column for each metric, and below it what a reader must know.

    Args:
        part: the estimates of one table.
        text: its caption and the heads of its columns.
        reference: name of the reference labels, as text.
        label: what a row is called.
        href: where the number of a row and a metric leads; empty: nowhere.
        coded: leave the limits of numbers out of the notes, for a page that states them by their codes.
    """
    metrics = [key for key in text.heads if part.of(metric=key)] or part.names("metric")
    found: dict[str, dict[str, Estimate]] = {}
    for each in part:
        found.setdefault(each.row, {})[each.metric] = each
    lines = [
        [Name(label(row)), *(number(cells.get(key), href=href(row, key)) for key in metrics)]
        for row, cells in found.items()
    ]
    head = ["", *(text.heads.get(key, key) for key in metrics)]
    return Table(head, lines, caption=text.sentence(reference), notes=_notes(part, text, coded))


def _notes(part: Rows, text: TableText, coded: bool) -> list[str]:
    """The p of what is tested, why values or intervals are not there, and what flags mean."""
    below = [Name(f"{each.row}, {text.heads.get(each.metric, each.metric)}: {_p(each)}")
             for each in part if each.p is not None]  # fmt: skip
    if coded:
        return list(below)
    why: dict[str, list[str]] = {}
    for each in part:
        if each.why:
            why.setdefault(reason(each), []).append(each.row)
    below += [Name(f"{sentence} ({_some(carriers)})") for sentence, carriers in why.items()]
    said = {note for each in part for note in flag_notes(each)}
    return [*below, *(note for note in FLAGS.values() if note in said)]


def _p(found: Estimate) -> str:
    first, *corrected = (value for value in (found.p, found.p_holm) if value is not None)
    return p_sentence(first) + "".join(f" (Holm {p_text(value)})" for value in corrected)


def _some(names: Sequence[str]) -> str:
    few = list(dict.fromkeys(names))
    return ", ".join(few[:3]) + (f" and {len(few) - 3} more" if len(few) > 3 else "")

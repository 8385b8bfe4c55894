"""Rows as tables: a line a row, a column a metric, and below why something is not there."""

from __future__ import annotations

from siming_tasks.analysis.tables import TableText, table_texts
from siming_tasks.metrics import Estimate, Rows
from siming_tasks.report.row_tables import number, row_section
from siming_tasks.report.table import Table

ROWS = Rows((
    Estimate(0.5, stderr=0.1, low=0.3, high=0.7, p=0.0004, n=30, clusters=30).at("differences", "a minus b", "qwk"),
    Estimate(None, why="0/0.", n=30).at("differences", "a minus b", "plcc"),
    Estimate(0.25, p=0.04, p_holm=0.08, n=30, flags=("not-comparable",)).at("differences", "<img> minus c", "qwk"),
    Estimate(1.0, n=3, flags=("few-videos",)).at("something new", "judge", "share"),
))  # fmt: skip


def shown(rows: Rows = ROWS, **how: object) -> str:
    section = row_section(rows, **how)  # type: ignore[arg-type]
    return "\n".join(part.to_markdown() if isinstance(part, Table) else str(part) for part in section)


def test_a_table_has_a_line_for_each_row_and_a_column_for_each_metric() -> None:
    text = shown()
    assert text.startswith("### Differences\n") and "### Something new\n" in text
    head, _, first, second = [line for line in text.splitlines() if line.startswith("|")][:4]
    assert [cell.strip() for cell in head.strip("|").split("|")] == ["", "PLCC", "kappa (qwk)"]
    assert [cell.strip() for cell in first.strip("|").split("|")] == ["a minus b", "-", "0.500 [0.300, 0.700]"]
    assert second.endswith("| 0.250‡ |") and "<img>" not in second, "names of strangers are no markup"


def test_reasons_p_values_and_flags_stand_below() -> None:
    text = shown().replace("\\", "")
    assert "a minus b, kappa (qwk): p = < 0.001" in text and "p = 0.040 (Holm 0.080)" in text
    assert "0/0. (a minus b)" in text and "Fewer than 20 videos" in text.partition("### Something new")[2]
    assert "Fewer than 20 videos" not in text.partition("### Something new")[0]


def test_only_tables_that_are_asked_for_and_there_are_shown() -> None:
    assert shown(only=["ranked", "something new"]).startswith("### Something new")
    assert shown(Rows()) == ""


def test_every_caption_names_its_reference() -> None:
    assert "both against rater_a" in shown(reference="rater_a")
    assert TableText("", "Against {reference}.", {}).sentence("consensus") == "Against the consensus."
    assert all("{" not in text.sentence("x") for text in table_texts().values())


def test_a_cell_marks_what_does_not_count() -> None:
    assert number(ROWS[0]).comparable and not number(ROWS[2]).comparable

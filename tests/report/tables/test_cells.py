"""Cells and tables as a reader of Markdown sees them."""

from __future__ import annotations

import pytest

from siming_tasks.metrics.estimate import Estimate
from siming_tasks.metrics.proportion import wilson
from siming_tasks.report.tables.cells import counted, percent, plain_value, pvalue, short, signed, table


def cells(line: str) -> list[str]:
    """Split a row as GitHub does: a backslash takes the character after it along."""
    found, escaped = [""], False
    for character in line.strip().removeprefix("|").removesuffix("|"):
        if character == "|" and not escaped:
            found.append("")
        else:
            found[-1] += character
        escaped = character == "\\" and not escaped
    return [cell.strip() for cell in found]


@pytest.mark.parametrize("name", ["plain", "a|b", "a||b", r"a\|b", "|", r"a\\|b", "a" + "\\" * 3 + "|b"])
def test_no_name_breaks_a_table(name):
    lines = table(["run", "kappa"], [[name, "0.5"]])
    assert [len(cells(line)) for line in lines] == [2, 2, 2]
    assert cells(lines[2])[1] == "0.5"


def test_columns_of_text_stand_left():
    assert table(["rank", "judge", "x"], [], left=(1,)) == ["| rank | judge | x |", "| --: | :-- | --: |"]


def test_numbers():
    assert [plain_value(x) for x in (None, -0.0004, 0.0, -0.25)] == ["-", "0.000", "0.000", "-0.250"]
    assert [pvalue(p) for p in (None, 0.0009, 0.001, 0.25, 1.0)] == ["-", "<.001", ".001", ".250", "1.000"]
    known, undefined = Estimate(-0.126, 0.1, -0.3, 0.04), Estimate(0.0, undefined=True, reason="0/0.")
    assert [short(x, 2) for x in (known, undefined, Estimate(None), None)] == ["-0.13", "0.00*", "-", "-"]
    assert signed(known) == "-0.126 [-0.300, +0.040]"
    assert [signed(x, 2, interval=False) for x in (known, undefined, Estimate(None))] == ["-0.13", "+0.00*", "-"]
    assert percent(Estimate(0.1318, 0.01, 0.115, 0.15)) == "13.18% [11.5%, 15.0%]"
    assert [counted(wilson(5, 10)), counted(wilson(0, 0))] == ["0.50 [0.24, 0.76] (5/10)", "- (0)"]

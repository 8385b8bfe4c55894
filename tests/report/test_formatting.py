"""Numbers as text: signs, digits, and what stands where there is no value."""

from __future__ import annotations

from siming_tasks.metrics.intervals import wilson

from siming_tasks.metrics.estimate import Estimate
from siming_tasks.report.formatting import (
    HEAD_COLUMNS,
    columns,
    plain_difference,
    plain_number,
    plain_percent,
    plain_proportion,
    plain_pvalue,
    plain_value,
    short_names,
)


def test_plain_text_has_no_negative_zero_and_a_dash_for_no_value() -> None:
    assert [plain_number(x) for x in (None, -0.0004, 0.0, -0.25)] == ["-", "0.000", "0.000", "-0.250"]
    assert [plain_pvalue(p) for p in (None, 0.0009, 0.001, 0.25, 1.0)] == ["-", "<.001", ".001", ".250", "1.000"]
    known, undefined = Estimate(-0.126, 0.1, -0.3, 0.04), Estimate(0.0, undefined=True, reason="0/0.")
    assert [plain_value(x, 2) for x in (known, undefined, Estimate(None), None)] == ["-0.13", "0.00*", "-", "-"]
    assert plain_difference(known) == "-0.126 [-0.300, +0.040]"
    differences = [plain_difference(x, 2, interval=False) for x in (known, undefined, Estimate(None))]
    assert differences == ["-0.13", "+0.00*", "-"]
    assert plain_percent(Estimate(0.1318, 0.01, 0.115, 0.15)) == "13.18% [11.5%, 15.0%]"
    assert [plain_proportion(wilson(5, 10)), plain_proportion(wilson(0, 0))] == ["0.50 [0.24, 0.76] (5/10)", "- (0)"]


def test_names_of_narrow_heads_fit_and_differ_whatever_they_hold() -> None:
    """Chinese signs take two columns, a slash in hostile text divides nothing, two of one family stay two."""
    hostile = "org/<b>x</b> & y"
    twins = ["Qwen/Qwen3-VL-8B-Instruct", "Qwen/Qwen3-VL-32B-Instruct"]
    found = short_names(["示例机构/书生-万象三点五-视觉模型", hostile, *twins, "/models/a/"])
    assert found == ["书生-…三点五", "org/<b>x</b> &", "Qwen3-VL-8B", "Qwen3-VL-32B", "a"]
    assert all(columns(name) <= HEAD_COLUMNS for name in found)
    assert columns("书生-e\u0301") == 6
    alike = ["a/Internvl-one-very-long-ending", "b/Internvl-one-very-long-ending", "c/Internvl-two"]
    assert len(set(short_names(alike))) == 3

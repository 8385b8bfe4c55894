"""Numbers as text: signs, digits, and what stands where there is no value."""

from __future__ import annotations

from siming_tasks.report.formatting import HEAD_COLUMNS, columns, page_number, page_points, plain_number, short_names


def test_plain_text_has_no_negative_zero_and_a_dash_for_no_value() -> None:
    assert [plain_number(x) for x in (None, -0.0004, 0.0, -0.25)] == ["-", "0.000", "0.000", "-0.250"]
    assert [page_number(x) for x in (None, -0.0004, -0.25)] == ["–", "0.000", "−0.250"]
    assert [page_points(x) for x in (None, float("nan"), 2.0, 2.5, 77.55)] == ["–", "–", "2", "2.5", "77.55"]


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

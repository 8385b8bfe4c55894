"""Numbers as text: signs, digits, and what stands where there is no value."""

from __future__ import annotations

import pytest

from siming_tasks.common.schema import Answer
from siming_tasks.report.formatting import HEAD_COLUMNS, columns, page_number, page_points, plain_number, short_names
from siming_tasks.report.pages.exams import difference_kind


def test_plain_text_has_no_negative_zero_and_a_dash_for_no_value() -> None:
    assert [plain_number(x) for x in (None, -0.0004, 0.0, -0.25)] == ["-", "0.000", "0.000", "-0.250"]
    assert [page_number(x) for x in (None, -0.0004, -0.25)] == ["–", "0.000", "−0.250"]
    assert [page_points(x) for x in (None, float("nan"), 2.0, 2.5, 77.55)] == ["–", "–", "2", "2.5", "77.55"]


@pytest.mark.parametrize(
    ("value", "reference", "answer", "kind"),
    [
        *((3, 3, "score", None), (3, 2, "score", "miss"), (2, 3, "score", "alarm"), (1, 2, "score", "strict")),
        *((2, 0, "score", "lenient"), (1, 2, "error", None), (0, 2, "error", "miss"), (1, 3, "error", "alarm")),
        *((0, 3, "error", None), (1, None, "error", None)),
    ],
)
def test_the_kind_of_a_difference(value: float, reference: float | None, answer: Answer, kind: str | None) -> None:
    assert difference_kind(value, reference, 3, answer) == kind


def test_a_sum_of_shares_is_printed_as_the_points_that_it_is() -> None:
    assert [page_points(x) for x in (55.000000001, 0.1 + 0.2, 12.504)] == ["55", "0.3", "12.5"]


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

"""Printed numbers as intervals."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from siming_tasks.common.errors import DataError
from siming_tasks.report.printed_number import factors, parse, parse_with_delta
from siming_tasks.report.published_tables import document_from


@pytest.mark.parametrize(
    ("raw", "low", "value", "high"),
    [
        ("0.070", 0.0695, 0.070, 0.0705),
        ("0.07", 0.065, 0.07, 0.075),
        ("−0.0434", -0.04345, -0.0434, -0.04335),
        ("+.5", 0.45, 0.5, 0.55),
        ("1.06%", 0.010550, 0.0106, 0.010650),
        ("6,600", 6599.5, 6600, 6600.5),
        (65, 64.5, 65, 65.5),
    ],
)
def test_interval_is_half_a_unit_of_the_last_digit(raw, low, value, high):
    printed = parse(raw)
    assert (printed.low, printed.value, printed.high) == pytest.approx((low, value, high), abs=1e-15)


@pytest.mark.parametrize("blank", [None, "", " ", "-", "–", "n/a", "NaN"])
def test_a_blank_cell_has_no_number(blank):
    assert parse(blank) is None


@pytest.mark.parametrize("bad", ["0.1.2", "about 3", "1e5", "inf", "0.3 (x)", "(0.1)"])
def test_text_that_is_not_a_number_is_refused(bad):
    with pytest.raises(ValueError, match="is not a number"):
        parse(bad)


def test_a_delta_in_parentheses_is_read():
    value, delta = parse_with_delta("0.015(−0.003)")
    assert (value.text, value.value, delta.text, delta.value) == ("0.015", 0.015, "-0.003", -0.003)
    assert parse_with_delta("0.015")[1] is None
    assert parse_with_delta(None) == (None, None)


@pytest.mark.parametrize(
    ("raw", "expected"), [(6600, (6600,)), ("200 x 33", (200, 33)), ("200×33", (200, 33)), ("2*3", (2, 3))]
)
def test_factors_of_a_size_are_read(raw, expected):
    assert factors(raw) == expected


@pytest.mark.parametrize("bad", ["", "200 x", "-3", "1.5", "0"])
def test_malformed_factors_are_refused(bad):
    with pytest.raises(ValueError, match="is not a whole number or a product"):
        factors(bad)


@given(st.decimals(min_value=-100, max_value=100, allow_nan=False, places=6), st.integers(0, 5))
def test_the_rounded_number_lies_in_its_interval(number, places):
    printed = parse(f"{round(number, places):f}")
    assert printed.low - 1e-12 <= float(number) <= printed.high + 1e-12


@pytest.mark.parametrize(
    ("raw", "value", "half"),
    [
        ("0.33 ± 0.02", 0.33, 0.005),
        (r"$0.33 \pm 0.02$", 0.33, 0.005),
        ("33.0 ± 1.2 %", 0.33, 0.0005),
        ("0.33_{0.02}", 0.33, 0.005),
        (r"$\mathbf{0.33}_{\pm 0.02}$", 0.33, 0.005),
        ("0.33*", 0.33, 0.005),
        ("0.33***", 0.33, 0.005),
        ("0.33†", 0.33, 0.005),
        (r"0.33\dag", 0.33, 0.005),
        ("0.33$^{\\ddagger}$", 0.33, 0.005),
        (r"0.33\textsuperscript{a}", 0.33, 0.005),
        ("**0.5**", 0.5, 0.05),
        ("__0.5__", 0.5, 0.05),
        ("<b>0.5</b>", 0.5, 0.05),
        (r"\textbf{0.33}", 0.33, 0.005),
        (r"\underline{\textbf{0.33}}", 0.33, 0.005),
        (r"{\bf 0.33}", 0.33, 0.005),
        (r"\cellcolor{gray!20}0.33", 0.33, 0.005),
        (".33", 0.33, 0.005),
        ("0,33", 0.33, 0.005),
        ("33.0 %", 0.33, 0.0005),
        (r"33.0\,\%", 0.33, 0.0005),
        ("33.0\u202f%", 0.33, 0.0005),
        ("0.33 (0.31-0.35)", 0.33, 0.005),
        ("0.33 (0.31\u20130.35)", 0.33, 0.005),
        ("-0.33 (-0.35 to -0.31)", -0.33, 0.005),
        ("0.33 [0.31, 0.35]*", 0.33, 0.005),
        ("0.33 (95% CI 0.31, 0.35)", 0.33, 0.005),
        ("0.33 (0.02)", 0.33, 0.005),
    ],
)
def test_numbers_are_read_as_papers_print_them(raw, value, half):
    printed, delta = parse_with_delta(raw)
    assert delta is None
    assert (printed.low, printed.value, printed.high) == pytest.approx((value - half, value, value + half), abs=1e-12)


@pytest.mark.parametrize("raw", ["[0.1, 0.5]", "(0.1 to 0.5)", "\u2014", "$-$", "n.a.", "---"])
def test_an_interval_alone_and_a_dash_are_no_value(raw):
    assert parse_with_delta(raw) == (None, None)


@pytest.mark.parametrize(("raw", "delta"), [("**0.331** (+0.447)*", 0.447), ("33.1 (\u22122.0) %", -0.02)])
def test_a_signed_number_in_parentheses_is_a_difference(raw, delta):
    assert parse_with_delta(raw)[1].value == pytest.approx(delta)


def test_two_columns_of_one_metric_are_refused():
    rows = [{"name": "a", "P": "0.1", "Precision": "0.2"}]
    with pytest.raises(DataError, match="columns 'P' and 'Precision' are both read as precision"):
        document_from(rows, "made-up")


@pytest.mark.parametrize("head", ["P (%)", "P [%]", "Precision, %", "P (x100)", r"\textbf{P} (\%)", "Precision (%) ↑"])
def test_a_heading_says_that_its_column_is_in_percent(head):
    (row,) = document_from([{"name": "a", head: "33.0 (+2.0)"}], "made-up").tables[0].rows
    assert (row.values["precision"].value, row.deltas["precision"].value) == pytest.approx((0.33, 0.02))

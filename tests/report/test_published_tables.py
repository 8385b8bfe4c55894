"""Printed numbers as intervals."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from siming_tasks.report.published_tables import factors, parse, parse_with_delta


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


def test_a_stray_separator_is_read_as_grouping():
    assert parse("0,,").value == 0


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

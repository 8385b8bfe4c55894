"""Words and numbers, with the readings written by hand."""

from __future__ import annotations

import pytest

from siming_tasks.parsing.grammar import DENIED, NEUTRAL, STATED
from siming_tasks.parsing.values import last_number, points, verdict


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("3", 3.0),
        ("0", 0.0),
        ("-0", 0.0),
        ("03", 3.0),
        ("+3", 3.0),
        ("3.0", 3.0),
        ("3.", 3.0),
        ("3e0", 3.0),
        (" **3** ", 3.0),
        ("３", 3.0),
        ("３．０", 3.0),
        ("3 points", 3.0),
        ("1 point", 1.0),
        ("3pts.", 3.0),
        ("3分", 3.0),
        ("得分：3", 3.0),
        ("Score: 3", 3.0),
        ("3/5", 3.0),
        ("3 / 5", 3.0),
        ("3／5", 3.0),
        ("3/5.0", 3.0),
        ("3 out of 5", 3.0),
        ("3 of 5 points", 3.0),
        ("3 points out of 5", 3.0),
        ("3分/5分", 3.0),
        ("3/5 (too shallow)", 3.0),
        ("3 - minor deduction", 3.0),
        ("3: hands off the chest", 3.0),
        ("3（较浅）", 3.0),
        ("3/4", "off_scale"),
        ("3/10", "off_scale"),
        ("6", "off_scale"),
        ("6/5", "off_scale"),
        ("-1", "off_scale"),
        ("\u22121", "off_scale"),
        ("2.5", "off_scale"),
        ("2.0000001", "off_scale"),
        ("1e9", "off_scale"),
        ("1e9999", "off_scale"),
        ("99999999999999999999", "off_scale"),
        ("NaN", "off_scale"),
        ("-Infinity", "off_scale"),
        ("null", "absent"),
        ("None", "absent"),
        ("N/A", "absent"),
        ("", "absent"),
        ("无法判断", "absent"),
        ("true", "unreadable"),
        ("False", "unreadable"),
        ("three", "unreadable"),
        ("3-4", "unreadable"),
        ("3 - 4", "unreadable"),
        ("2 or 3", "unreadable"),
        ("3 (or 4)", "unreadable"),
        ("~3", "unreadable"),
        (">=3", "unreadable"),
        ("3 points deducted", "unreadable"),
        ("1,5", "unreadable"),
        ("1_0", "unreadable"),
        ("0x3", "unreadable"),
        ("3²", "unreadable"),
        ("③", "unreadable"),
        ("٣", "unreadable"),
        ("60%", "unreadable"),
        ("3/0/5", "unreadable"),
        ("/5", "unreadable"),
        ("3/", "unreadable"),
        ("correct", "unreadable"),
        ("3" * 300, "unreadable"),
    ],
)
def test_points_out_of_five(text: str, expected: float | str) -> None:
    assert points(text, 5) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("3/5 - only 1 shoulder", 3.0),
        ("3 (out of 5)", 3.0),
        ("3（满分5分）", 3.0),
        ("3 (max 5)", 3.0),
        ("3 out of a possible 5", 3.0),
        ("3 (out of 10)", "off_scale"),
        ("3（满分10分）", "off_scale"),
        ("3 (deducted)", "ambiguous"),
        ("3（扣）", "ambiguous"),
        ("3/5 - 4/5", "unreadable"),
        ("3/5 or 4/5", "unreadable"),
        ("3 of 5 criteria", "unreadable"),
        ("\u202e3", "unreadable"),
    ],
)
def test_a_remark_may_hold_numbers_where_the_maximum_is_given(text: str, expected: float | str) -> None:
    assert points(text, 5) == expected


@pytest.mark.parametrize(
    ("text", "expected"), [("0-10", 10), ("5 points", 5), ("60%", 60), ("满分5分", 5), ("x", None)]
)
def test_last_number(text: str, expected: float | None) -> None:
    assert last_number(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Error detected: No", 0.0),
        ("Error detected: Yes", 1.0),
        ("Correct: No", 1.0),
        ("Correct? yes", 0.0),
        ("错误：无", 0.0),
        ("错误：有", 1.0),
        ("正确：否", 1.0),
        ("Error: none", 0.0),
        ("Error: yes or no", "ambiguous"),
        ("Error: upstream timeout", "ambiguous"),
        ("错误：请求超时", "ambiguous"),
        ("错误：未按压", "ambiguous"),
        ("错误 (incorrect)", 1.0),
        ("错误 (correct)", "unreadable"),
        ("Correct. However, it is too shallow.", "unreadable"),
        ("Incorrect. Actually correct.", "ambiguous"),
        ("incorrect: no errors", "ambiguous"),
        ("Incorrect because the correct depth is not reached", 1.0),
        ("✅ Correct", 0.0),
        ("❌ Correct", "ambiguous"),
        ("✅ / ❌", "ambiguous"),
    ],
)
@pytest.mark.parametrize("polarity", [NEUTRAL, STATED, DENIED])
def test_a_verdict_with_its_question_or_its_reason(text: str, expected: float | str, polarity: int) -> None:
    assert verdict(text, polarity) == expected


def test_the_word_error_is_no_verdict_where_it_may_report_a_failure() -> None:
    assert [verdict(text, nouns=False) for text in ("error", "错误：过浅", "incorrect", "no error")] == [
        "ambiguous",
        "unreadable",
        1.0,
        0.0,
    ]


@pytest.mark.parametrize(("text", "expected"), [("2.5", 2.5), ("0.5", 0.5), ("2.6", "off_scale"), ("2/2.5", 2.0)])
def test_parts_of_a_point_need_a_maximum_that_has_them(text: str, expected: float | str) -> None:
    assert points(text, 2.5, 0.5) == expected


def test_no_negative_zero() -> None:
    assert str(points("-0.0", 5)) == "0.0"


@pytest.mark.parametrize("polarity", [NEUTRAL, STATED, DENIED])
@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("correct", 0.0),
        ("CORRECT", 0.0),
        ("Correct.", 0.0),
        ("**correct**", 0.0),
        ("right", 0.0),
        ("no error", 0.0),
        ("No Errors", 0.0),
        ("no_error", 0.0),
        ("error-free", 0.0),
        ("not incorrect", 0.0),
        ("正确", 0.0),
        ("没有错误", 0.0),
        ("correct: hands well placed", 0.0),
        ("Correct (full marks)", 0.0),
        ("incorrect", 1.0),
        ("Incorrect!", 1.0),
        ("ｉｎｃｏｒｒｅｃｔ", 1.0),
        ("wrong", 1.0),
        ("error", 1.0),
        ("not correct", 1.0),
        ("has_error", 1.0),
        ("错误", 1.0),
        ("不正确", 1.0),
        ("incorrect: did not reach the correct depth", 1.0),
        ("Incorrect - too shallow", 1.0),
        ("错误：按压过浅", 1.0),
        ("", "absent"),
        ("N/A", "absent"),
        ("correct/incorrect", "unreadable"),
        ("correct|incorrect", "unreadable"),
        ("correct or incorrect", "unreadable"),
        ("correct, but too shallow", "unreadable"),
        ("correct: not deep enough", "unreadable"),
        ("incorrect, correct", "unreadable"),
        ("partially correct", "unreadable"),
        ("mostly correct", "unreadable"),
        ("basically 正确", "unreadable"),
        ("the arms are straight", "unreadable"),
        ("correct" * 99, "unreadable"),
    ],
)
def test_verdict_words_mean_the_same_under_every_key(text: str, expected: float | str, polarity: int) -> None:
    assert verdict(text, polarity) == expected


@pytest.mark.parametrize(
    ("text", "neutral", "stated", "denied"),
    [
        ("true", "ambiguous", 0.0, 1.0),
        ("False", "ambiguous", 1.0, 0.0),
        ("yes", "ambiguous", 0.0, 1.0),
        ("No", "ambiguous", 1.0, 0.0),
        ("1", "ambiguous", 0.0, 1.0),
        ("0", "ambiguous", 1.0, 0.0),
        ("none", "absent", 1.0, 0.0),
        ("present", "ambiguous", 0.0, 1.0),
        ("有", "ambiguous", 0.0, 1.0),
        ("无", "ambiguous", 1.0, 0.0),
        ("✅", 0.0, 0.0, "ambiguous"),
        ("❌", 1.0, 1.0, "ambiguous"),
        ("2", "unreadable", "unreadable", "unreadable"),
    ],
)
def test_polarity_table(text: str, neutral: float | str, stated: float | str, denied: float | str) -> None:
    assert (verdict(text, NEUTRAL), verdict(text, STATED), verdict(text, DENIED)) == (neutral, stated, denied)

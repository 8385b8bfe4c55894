"""Abstention: replies that call a step not visible."""

import json
from typing import Any

import pytest

from siming_tasks.benchmark.parsing import Parsed, format_answers, parse_reply
from siming_tasks.benchmark.rubrics import default_rubric

STEPS = default_rubric().steps[:3]


def read(text: str, answer: Any = "score", steps: Any = STEPS) -> Parsed:
    return parse_reply(text, steps, answer, abstain=True)


@pytest.mark.parametrize(
    "value",
    [
        "not visible", "Not visible.", "NOT_VISIBLE", "not-visible", "not visible in the video", "**not visible**",
        "not visible: hidden by the second rescuer", "Not visible (camera angle)", "不可见",
        {"score": "not visible", "reason": "hidden"},
    ],
)  # fmt: skip
def test_values_that_abstain(value: Any) -> None:
    parsed = read(json.dumps({"scores": {"cpr_01": 2, "cpr_02": value, "cpr_03": 0}}))
    assert parsed == Parsed("abstained", {"cpr_01": 2.0, "cpr_03": 0.0}, {}, ("cpr_02",))


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        ("not visible, 0 points", "unreadable"), ("not visible but probably correct", "unreadable"),
        ("visible", "unreadable"), (None, "absent"), ("n/a", "absent"), ("unknown", "absent"),
        ("x" * 300 + "not visible", "unreadable"), ({"score": 2, "points": "not visible"}, "conflict"),
    ],
)  # fmt: skip
def test_values_that_do_not_abstain(value: Any, reason: str) -> None:
    parsed = read(json.dumps({"scores": {"cpr_01": 2, "cpr_02": value, "cpr_03": 0}}))
    assert parsed.missing == {"cpr_02": reason} and parsed.abstained == ()
    assert parsed.status == "partial"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('{"scores": {"cpr_01": "not visible"}}\n{"scores": {"cpr_01": 1, "cpr_02": 1, "cpr_03": 1}}',
         Parsed("ok", {"cpr_01": 1.0, "cpr_02": 1.0, "cpr_03": 1.0})),  # a later answer replaces an abstention
        ('{"scores": {"cpr_01": "not visible", "cpr_02": 1}}',
         Parsed("partial", {"cpr_02": 1.0}, {"cpr_03": "absent"}, ("cpr_01",))),
    ],
)  # fmt: skip
def test_abstentions_beside_answers(text: str, expected: Parsed) -> None:
    assert read(text) == expected
    abstains = '{"scores": {"cpr_01": 2, "cpr_02": "not visible", "cpr_03": 0}}'
    elsewhere = parse_reply(abstains, STEPS, "score")  # the words answer nothing
    assert elsewhere == Parsed("partial", {"cpr_01": 2.0, "cpr_03": 0.0}, {"cpr_02": "unreadable"})


@pytest.mark.parametrize("answer", ["score", "error"])
@pytest.mark.parametrize(
    "text", ["not visible", "Not visible.", "**Not visible** (hands hidden)", "Answer: not visible"]
)
def test_one_step(text: str, answer: Any) -> None:
    assert read(text, answer, STEPS[:1]) == Parsed("abstained", {}, {}, ("cpr_01",))
    key = "score" if answer == "score" else "verdict"
    assert read(json.dumps({key: "not visible"}), answer, STEPS[:1]).abstained == ("cpr_01",)
    assert parse_reply(text, STEPS[:1], answer).abstained == ()


@pytest.mark.parametrize("answer", ["score", "error"])
def test_formatted_abstentions_are_parsed_back(answer: Any) -> None:
    for steps, away in ((STEPS, ["cpr_01", "cpr_03"]), (STEPS[:1], ["cpr_01"]), (STEPS, [])):
        answers = {step.id: 1.0 for step in steps if step.id not in away}
        parsed = read(format_answers(answers, steps, answer, abstained=away), answer, steps)
        assert parsed == Parsed("abstained" if away else "ok", answers, {}, tuple(away))

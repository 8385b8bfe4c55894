"""Keys that name a step, and values on its scale."""

from typing import Any

import pytest

from siming_tasks.benchmark.parsing.steps import StepNames, read_value, words
from siming_tasks.benchmark.rubrics import RubricStep, default_rubric


@pytest.mark.parametrize(
    ("text", "expected"),
    [("cpr_01", ("cpr", "1")), (" CPR-01: ", ("cpr", "1")), ("ｃｐｒ　０１", ("cpr", "1")), ("cpr1", ("cpr", "1")),
     ("a_1_1", ("a", "1", "1")), ("00", ("0",)), ("maxScore", ("max", "score")), ("①", ("1",)), ("", ())],
)  # fmt: skip
def test_words(text: str, expected: tuple[str, ...]) -> None:
    assert words(text) == expected


@pytest.mark.parametrize(
    ("key", "expected"),
    [
        ("cpr_01", "cpr_01"), ("CPR-1", "cpr_01"), ("[cpr_01]", "cpr_01"), ("step cpr_01", "cpr_01"),
        ("Scene safety", "cpr_01"), ("环境安全", "cpr_01"), ("cpr_01: Scene Safety", "cpr_01"),
        ("cpr_01 scene", "cpr_01"),
        ("cpr_01 环境安全 Scene safety", "cpr_01"), ("Step 4: Power on", "aed_01"), ("AED_02", "aed_02"),
        ("[cpr_01] Scene safety (maximum 2 points)", "cpr_01"), ("cpr_01（满分2分）", "cpr_01"),
        ("[cpr_01] Scene safety (maximum 10 points)", None), ("cpr_01_max", None), ("cpr_01_confidence", None),
        ("cpr_04", None), ("cpr_04 (max 2)", None), ("1", None),
        ("Step 1", None), ("cpr", None), ("cpr_01 Pad placement", None),
        ("cpr_01 and cpr_02", None), ("", None), ("9" * 5000, None),
    ],
)  # fmt: skip
def test_keys(steps: tuple[RubricStep, ...], key: str, expected: str | None) -> None:
    match = StepNames(steps).find(key)
    assert (match and match.id) == expected


def test_every_heading_of_the_prompt_names_its_step() -> None:
    steps = default_rubric().steps
    names = StepNames(steps)
    for step in steps:
        points = "point" if step.max_score == 1 else "points"
        assert names.find(f"[{step.id}] {step.name} (maximum {step.max_score:g} {points})") is step
        assert names.find(f"{step.id} {step.name_zh}") is step


def test_an_id_that_begins_another_and_a_shared_name(steps: tuple[RubricStep, ...]) -> None:
    short, long = (steps[0].model_copy(update={"id": name}) for name in ("knot", "knot_tie"))
    names = StepNames((short, long))
    assert (names.find("knot"), names.find("knot_tie"), names.find("Scene safety")) == (short, long, None)


POINTS: dict[Any, list[str]] = {
    2.0: ["2", "2.0", "２", "2 points", "2 pts", "2分", "2/3", "2 / 3 points", "2 out of 3", "2 (out of 3)",
          "2（满分3分）", "**2**", "2.", "2 (too shallow)", "2 - one shoulder", "2/3 - only 1 shoulder",
          "2 (max 3)", "Score: 2", "2 - only 3 s", "2 - at 0:03"],
    "off_scale": ["4", "-1", "2.5", "1.5", "2/10", "2 out of 5", "2 (max 5)", "999"],
    "absent": ["", "null", "None", "n/a", "-", "unknown"],
    "unreadable": ["two", "1-2", "2 or 3", "2 (or 3)", "50%", "2, 3", "2 (deducted)",
                   "2 - 3 s", "0 - 0:30", "2 (1 of 2 hands)", "1,5", "½", "NaN", "<2", "true",
                   "at least 1", "not visible", "2:30", "5 cm", "9" * 400],
}  # fmt: skip
VERDICTS: dict[Any, list[str]] = {
    0.0: ["correct", "Correct.", "**correct**", "fully correct", "performed correctly", "correctly", "正确",
          "正确 (correct)", "correct - taps both shoulders", "✅ Correct", "Verdict: correct"],
    1.0: ["incorrect", "INCORRECT", "not correct", "不正确", "错误", "错误 (incorrect)", "incorrect: too shallow",
          "incorrect, no check", "incorrect (1/2)", "incorrect because the correct depth is not reached"],
    "absent": ["", "null", "n/a", "❌"],
    "unreadable": ["partially correct", "correct or incorrect", "correct/incorrect", "mostly correct", "not incorrect",
                   "correct, but late", "correct (minor error)",
                   "错误：无", "错误 (correct)", "true", "yes", "1", "pass", "incomplete",
                   "Error: none", "unclear"],
}  # fmt: skip


@pytest.mark.parametrize(("answer", "table"), [("score", POINTS), ("error", VERDICTS)])
def test_values(steps: tuple[RubricStep, ...], answer: Any, table: dict[Any, list[str]]) -> None:
    read = {text: read_value(text, steps[1], answer) for texts in table.values() for text in texts}
    assert read == {text: reading for reading, texts in table.items() for text in texts}


def test_half_points_count_where_the_step_has_them(steps: tuple[RubricStep, ...]) -> None:
    halves = steps[1].model_copy(update={"score_increment": 0.5})
    assert [read_value(text, halves, "score") for text in ("2.5", "2.5/3", "2.25", "2,5", "3.5")] == [
        2.5, 2.5, "off_scale", "unreadable", "off_scale"]  # fmt: skip

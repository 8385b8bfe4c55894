"""Reading of the errors and reasons that a reply names."""

import json
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from siming_tasks.benchmark.exams import Finding, StepLabel, Video
from siming_tasks.benchmark.metrics import ScoreMatrix
from siming_tasks.benchmark.parsing import Parsed, format_answers
from siming_tasks.benchmark.rubrics import default_rubric
from siming_tasks.benchmark.tasks import ANSWER_FORMATS
from siming_tasks.benchmark.tasks.answer_formats import FormatInputs

FORMAT = ANSWER_FORMATS["named_errors"]
STEPS = default_rubric().steps[:3]
STEP = STEPS[1]
ONE, OTHER = STEP.errors[0].id, STEP.errors[2].id


def parse(text: str, steps: Any = STEPS, answer: Any = "error") -> Parsed:
    return FORMAT.parse(text, steps, answer)


@pytest.mark.parametrize(
    ("written", "named"),
    [
        ([ONE], (ONE,)), ([OTHER, ONE, ONE], (ONE, OTHER)), ([], ()), (ONE, (ONE,)), (["one_side_only"], (ONE,)),
        (["CPR-02 One-Side-Only"], (ONE,)),
    ],
)  # fmt: skip
def test_errors_are_read_in_several_forms(written: Any, named: tuple[str, ...]) -> None:
    text = json.dumps({"scores": {STEP.id: {"score": 1, "errors": written}, STEPS[0].id: {"score": 2}}})
    assert parse(text, answer="score").details["named_errors"] == {STEP.id: named}
    assert parse(json.dumps({"score": 1, "errors": written}), [STEP], "score").details["named_errors"] == {
        STEP.id: named
    }
    apart = json.dumps({"scores": {STEP.id: 1}, "errors": {STEP.id: written}})
    assert parse(apart, answer="score").details["named_errors"] == {STEP.id: named}


@pytest.mark.parametrize(
    "written",
    [
        [ONE, "made_up"], [{"id": ONE}], "too shallow", None, "", [STEPS[0].errors[0].id], {"id": ONE}, [3],
        f"{ONE}, {OTHER}", ["none", ONE], True,
    ],
)  # fmt: skip
def test_errors_that_the_step_does_not_have_are_not_guessed(written: Any) -> None:
    parsed = parse(json.dumps({"score": 1, "errors": written}), [STEP], "score")
    assert parsed.details["named_errors"] == {} and parsed.answers == {STEP.id: 1.0}


def test_the_last_list_of_a_step_counts_and_two_in_one_object_are_none() -> None:
    texts = [json.dumps({"scores": {STEP.id: {"score": 1, "errors": [name]}}}) for name in (ONE, OTHER)]
    assert parse("\n".join(texts), answer="score").details["named_errors"] == {STEP.id: (OTHER,)}
    twice = f'{{"scores": {{"{STEP.id}": {{"score": 1, "errors": ["{ONE}"], "errors": ["{OTHER}"]}}}}}}'
    assert parse(twice, answer="score").details["named_errors"] == {}


@pytest.mark.parametrize("verdict", ["correct", "incorrect"])
def test_no_error_of_the_default_rubric_is_mistaken_for_a_verdict(verdict: str) -> None:
    for step in default_rubric().steps:
        for error in step.errors:
            reason = "Both hands are wrong, the rest is correct."
            parsed = parse(json.dumps({"verdict": verdict, "errors": [error.name], "reason": reason}), [step])
            assert parsed.answers == {step.id: float(verdict == "incorrect")}, error.id
            assert parsed.details["named_errors"] == {step.id: (error.id,)}


@pytest.mark.parametrize(
    ("written", "reason"),
    [("Taps  one\nshoulder.", "Taps one shoulder."), ("x" * 600, "x" * 500), (None, None), ("N/A", None),
     (["a", "b"], None)],
)  # fmt: skip
def test_a_reason_is_one_line_of_text(written: Any, reason: str | None) -> None:
    parsed = parse(json.dumps({"verdict": "incorrect", "reason": written}), [STEP])
    assert parsed.details["reasons"] == ({} if reason is None else {STEP.id: reason})


@given(st.lists(st.sampled_from([error.id for error in STEP.errors]), unique=True), st.sampled_from(["score", "error"]))
def test_formatted_replies_are_read_back(ids: list[str], answer: Any) -> None:
    answers = {step.id: 1.0 for step in STEPS}
    details = {"errors": {STEP.id: ids}, "reason": {step.id: f"saw {step.id}" for step in STEPS}}
    parsed = parse(format_answers(answers, STEPS, answer, details=details), answer=answer)
    ordered = tuple(error.id for error in STEP.errors if error.id in ids)
    assert (parsed.status, parsed.answers) == ("ok", answers)
    assert parsed.details["named_errors"] == {STEPS[0].id: (), STEP.id: ordered, STEPS[2].id: ()}
    assert parsed.details["reasons"] == details["reason"]


@given(st.text(alphabet='{}[]",: cpr_0123.onesidlyvtu', max_size=200))
def test_any_text_is_read_without_an_exception(text: str) -> None:
    parsed = parse('{"verdicts": {"cpr_02": {"errors": ' + text)
    assert set(parsed.details["named_errors"]) <= {step.id for step in STEPS}


def test_the_reference_is_what_the_asked_rater_found_and_the_rubric_can_express() -> None:
    """Rater a finds an error, none, and one that nobody could name; two are named, of which one is right."""
    found = [Finding((ONE,)), Finding(()), Finding(("not_listed",))]
    labels = tuple(
        StepLabel(step.id, scores={"rater_a": 0}, findings={"rater_a": finding})
        for step, finding in zip((STEP, *STEPS[::2]), found, strict=True)
    )
    steps = [next(step for step in STEPS if step.id == label.step_id) for label in labels]
    scores = ScoreMatrix(
        ("v",), tuple(step.id for step in steps), ("s",) * 3, [step.max_score for step in steps],
        [[0, 0, 0]], [[1, 1, 1]], [[True] * 3], "error",
    )  # fmt: skip
    said = {STEP.id: [ONE], **{step.id: [step.errors[0].id] for step in steps[1:]}}
    inputs = FormatInputs([{"video_id": "v", "named_errors": said}], scores, [Video("v", "v.mp4", 9, labels)], steps,
                          "full", None, "rater_a")  # fmt: skip
    rows = FORMAT.compute_results(inputs)
    assert {row.metric: row.value for row in rows} == {"precision": 1 / 2, "recall": 1, "f1": 2 / 3}
    nobody = FORMAT.compute_results(replace(inputs, rater="consensus"))
    assert {row.why for row in nobody} == {"no-error-named"}

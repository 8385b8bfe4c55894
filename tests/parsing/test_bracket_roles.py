"""The same bracket among different words: the answer, or something else."""

from __future__ import annotations

import pytest
from replyset import ASKED

from siming_tasks.parsing import parse_reply
from siming_tasks.rubrics import default_rubric

STEPS = tuple(step for step in default_rubric().steps if step.id in ASKED["full"])
MINE = {"cpr_01": 2.0, "cpr_02": 3.0, "cpr_03": 1.0, "aed_01": 0.0, "aed_02": 2.0}
A = '{"cpr_01": 2, "cpr_02": 3, "cpr_03": 1, "aed_01": 0, "aed_02": 2}'
B = '{"cpr_01": 1, "cpr_02": 1, "cpr_03": 0, "aed_01": 1, "aed_02": 1}'
LIST = "- cpr_01: 2\n- cpr_02: 3\n- cpr_03: 1\n- aed_01: 0\n- aed_02: 2"


@pytest.mark.parametrize(
    "reply",
    [
        f"After deducting 2 points for the late AED, my scores are:\n{A}",
        f"Here is my evaluation in the requested JSON format:\n\n```json\n{A}\n```",
        f"<answer>\n{A}\n</answer>",
        f"scores = {A}\nmaximum = {B}",
        f"Points lost per step: {B}\nPoints: {A}",
        f"Previous exam: {B}\nThis exam: {A}",
        f"Sample output:\n```json\n{B}\n```\nMy output:\n```json\n{A}\n```",
        f"Not {B} but {A}",
        f"My first impression was {B}. On reflection: {A}",
        f"{A}\n\nFormat: {B}",
        f"{A}\n\nwhere step cpr_03 costs most",
        f'{{"initial": {B}, "final": {A}}}',
        f'{{"draft": {B}, "scores": {A}}}',
        f"### Assistant: {A}\nUser: ok\nAssistant: {B}",
        f"Scores:\n{LIST}",
        f"Sure!\n{LIST}\nTotal: 8/12",
        "My scores:\n[2, 3, 1, 0, 2]\n\nDone.",
    ],
)
def test_the_answer(reply: str) -> None:
    assert parse_reply(reply, STEPS, "score").answers == MINE


@pytest.mark.parametrize(
    "reply",
    [
        f"Examiner A: {A}\nExaminer B: {B}",
        f"Round 1:\n{A}\n\nRound 2:\n{B}",
        f"If I am strict: {A}. If I am lenient: {B}.",
        f"If I am strict: {A}.",
        f"The opposite would be {A}",
        f"The maximum points for each step are {A}",
        f"Each step is worth: {A}",
        f"Possible points: {A}",
        f"{A} (maximum)",
        f"{A}/10",
        f"{A}\n\nwhere each value is the number of points lost",
        f"Number of errors per step: {A}",
        f"Time in seconds: {A}",
        f"Scores (out of 10): {A}",
        f"(scores from 0 to 10) {A}",
        f"Example: {A}",
        'Example:\n{"id": "cpr_01", "score": 2}\n{"id": "cpr_02", "score": 3}',
        f"User: score please\n{A}",
        f"~~{B}~~ {A}",
        f'{{"scores": {A}, "scores_revised": {B}}}',
        f'{{"revised_scores": {A}}}',
        f'{{"rubric_weights": {A}}}',
        f'{{"importance_of_steps": {A}}}',
        f'{{"something": {A}}}',
        f'{{"before": {A}, "after": {B}}}',
        f"Deductions by step\n{LIST}",
        f"Points deducted:\n{LIST}",
        f"Time:\n{LIST}",
        "In frames\n[2, 3, 1, 0, 2]\nnothing happens",
        "Frames: [2, 3, 1, 0, 2]",
        "Frames:\n[2, 3, 1, 0, 2]",
        '{"scores": {"cpr_01": 2}, "reason": "so".}, {"cpr_02": {"reason": "x", "score": 3}}',
    ],
)
def test_something_else_or_two_things(reply: str) -> None:
    parsed = parse_reply(reply, STEPS, "score")
    assert parsed.answers == {}
    assert set(parsed.missing.values()) <= {"absent", "ambiguous"}


def test_text_after_a_string_over_the_end_of_its_object_is_not_the_first_steps() -> None:
    torn = '[{"step": "cpr_01", "reason": "ok".},\n{"step": "cpr_02", "reason": "x", "score": 3}]'
    assert parse_reply(torn, STEPS, "score").answers == {}


def test_a_refusal_beside_a_placeholder_and_beside_answers() -> None:
    zeros = '{"cpr_01": 0, "cpr_02": 0, "cpr_03": 0, "aed_01": 0, "aed_02": 0}'
    assert set(parse_reply(f"I cannot view the video. {zeros}", STEPS, "score").missing.values()) == {"unseen"}
    assert set(parse_reply(f"I'm sorry, but no. {zeros}", STEPS, "score").missing.values()) == {"ambiguous"}
    assert parse_reply(f"I cannot view the last frame. {A}", STEPS, "score").answers == MINE
    assert parse_reply(zeros, STEPS, "score").status == "ok"


@pytest.mark.parametrize("answer", ["score", "error"])
@pytest.mark.parametrize(
    "reply",
    [
        '{"status": "error", "message": "upstream timeout"}',
        '{"error": {"message": "Rate limit", "code": "x"}}',
        '{"error": true, "message": "x", "code": 500}',
        '{"status": "error"}',
    ],
)
def test_a_services_report_of_a_failure(reply: str, answer: str) -> None:
    for steps in (STEPS, STEPS[:1]):
        assert parse_reply(reply, steps, answer).status == "request_failed"  # type: ignore[arg-type]

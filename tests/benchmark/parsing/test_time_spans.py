"""The seconds that a reply says its answers rest on."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from siming_tasks.benchmark.parsing import format_answers, parse_reply
from siming_tasks.benchmark.rubrics import default_rubric
from siming_tasks.benchmark.tasks import ANSWER_FORMATS

EVIDENCE = ANSWER_FORMATS["evidence"]
STEPS = default_rubric().steps[:3]
PART = ((31.0, 46.5),)


def claimed(text: str, steps: Any = STEPS, answer: Any = "score") -> Any:
    return EVIDENCE.parse(text, steps, answer).details["evidence"]


@pytest.mark.parametrize(
    ("evidence", "claim"),
    [
        ([[31.0, 46.5]], PART), ([31, 46.5], PART), (["31.0", "46.5"], PART), (["31.0-46.5"], PART),
        ("31.0-46.5", PART), ("31.0 s to 46.5 s", PART), ("[31.0, 46.5]", PART),
        ("0:31-0:46.5", PART), ({"start": 31, "end": 46.5}, PART), ([{"start": 31, "end": 46.5}], PART),
        ([["0:31", "0:46.5"]], PART), ("31–46.5s", PART), ("31 至 46.5 秒", PART),
        ([[50, 60], [31, 46.5], [50, 60]], (*PART, (50.0, 60.0))),
        (["1:01-1:02", "2:00-2:10.5"], ((61.0, 62.0), (120.0, 130.5))), ([[5, 5]], ((5.0, 5.0),)),
        ([[0.0, 1.8000000000000007]], ((0.0, 1.8000000000000007),)), ([], ()),
    ],
)  # fmt: skip
def test_spans_are_read_in_several_forms(evidence: Any, claim: Any) -> None:
    steps = {"cpr_01": {"score": 1, "evidence": evidence}, "cpr_02": {"score": 2}, "cpr_03": 3}
    assert claimed(json.dumps({"scores": steps})) == {"cpr_01": claim}
    assert claimed(json.dumps({"score": 1, "evidence": evidence}), STEPS[:1]) == {"cpr_01": claim}
    rows = [{"step": "cpr_01", "score": 1, "evidence": evidence}, {"step": "cpr_02", "score": 2}]
    assert claimed(json.dumps(rows)) == {"cpr_01": claim}
    apart = {"scores": {"cpr_01": 1, "cpr_02": 2, "cpr_03": 3}, "evidence": {"cpr_01": evidence}}
    assert claimed(json.dumps(apart)) == {"cpr_01": claim}


@pytest.mark.parametrize(
    "evidence",
    [
        None, "n/a", [31], "31", "the compressions", [[31, 46.5], [9, 3]], [[1, 2, 3]], "46-31", [["a", "b"]],
        {"from": 1}, [[1, 2]] * 70, "31-46.5, or so", [[None, 3]], [[-3, 5]], "9" * 400,
    ],
)  # fmt: skip
def test_unreadable_spans_are_left_out_and_cost_no_answer(evidence: Any) -> None:
    text = json.dumps({"scores": {"cpr_01": {"score": 1, "evidence": evidence}, "cpr_02": {"score": 2}, "cpr_03": 3}})
    parsed = EVIDENCE.parse(text, STEPS, "score")
    assert parsed.details == {"evidence": {}}
    assert parsed.answers == parse_reply(text, STEPS, "score").answers == {"cpr_01": 1, "cpr_02": 2, "cpr_03": 3}


def test_the_last_spans_of_a_step_count_and_two_in_one_object_are_none() -> None:
    first, second = ({"scores": {"cpr_01": {"score": 1, "evidence": [[start, 9]]}}} for start in (1, 2))
    assert claimed(f"{json.dumps(first)}\n{json.dumps(second)}") == {"cpr_01": ((2.0, 9.0),)}
    assert claimed('{"scores": {"cpr_01": {"score": 1, "evidence": [[1, 9]], "evidence": [[2, 9]]}}}') == {}


@given(st.dictionaries(st.sampled_from([step.id for step in STEPS]), st.lists(
    st.tuples(st.integers(0, 5000), st.integers(0, 5000)).map(lambda pair: tuple(sorted(n / 10 for n in pair))),
    max_size=4, unique=True).map(sorted).map(tuple)))  # fmt: skip
def test_formatted_spans_are_read_back(claims: dict[str, Any]) -> None:
    answers = {step.id: 1.0 for step in STEPS}
    text = format_answers(answers, STEPS, "score", details={"evidence": claims})
    parsed = EVIDENCE.parse(text, STEPS, "score")
    assert parsed.answers == answers and parsed.status == "ok"
    assert parsed.details["evidence"] == {step.id: tuple(claims.get(step.id, ())) for step in STEPS}

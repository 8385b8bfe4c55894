from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from siming_tasks.benchmark.parsing import Parsed, format_answers, parse_reply
from siming_tasks.benchmark.rubrics import RubricStep, default_rubric

STEPS = default_rubric().steps


def test_replies_have_the_form_that_the_prompts_ask_for(steps: Sequence[RubricStep]) -> None:
    assert format_answers({"cpr_02": 2.0, "cpr_01": 0.0}, steps, "score") == '{"scores": {"cpr_01": 0, "cpr_02": 2}}'
    assert format_answers({"aed_02": 2.5}, steps, "score") == '{"scores": {"aed_02": 2.5}}'
    assert format_answers({"cpr_01": 1.0}, steps[:2], "error") == '{"verdicts": {"cpr_01": "incorrect"}}'
    assert format_answers({"cpr_01": 2.0}, steps[:1], "score") == '{"score": 2}'
    assert format_answers({"cpr_01": 0.0}, steps[:1], "error") == '{"verdict": "correct"}'
    assert format_answers({}, steps[:1], "error") == "{}"


def test_an_answer_that_was_not_asked(steps: Sequence[RubricStep]) -> None:
    with pytest.raises(KeyError, match="'aed_09' is not among the asked steps"):
        format_answers({"aed_09": 1.0}, steps, "score")


@given(st.data(), st.sampled_from(["score", "error"]), st.sampled_from(["all", "one", "some"]))
def test_formatted_replies_are_parsed_back(data: st.DataObject, answer: str, asked: str) -> None:
    steps = {"all": STEPS, "one": STEPS[3:4], "some": STEPS[:19:2]}[asked]
    tops = {step.id: int(step.max_score) if answer == "score" else 1 for step in steps}
    chosen = {name: st.integers(0, top).map(float) for name, top in tops.items()}
    answers = data.draw(st.fixed_dictionaries({}, optional=chosen))
    expected = {name: answers[name] for name in tops if name in answers}
    parsed = parse_reply(format_answers(answers, steps, answer), steps, answer)  # type: ignore[arg-type]
    missing = {name: "absent" for name in tops if name not in answers}
    assert parsed == Parsed("ok" if not missing else "partial" if expected else "unread", expected, missing)

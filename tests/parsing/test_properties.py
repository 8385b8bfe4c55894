"""Promises that hold of every reply."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Sequence
from typing import Any, Literal

import json_repair
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from siming_tasks.parsing import MISSING, STATUSES, Parsed, parse_reply
from siming_tasks.rubrics import RubricStep, default_rubric

STEPS = default_rubric().steps
ASKED = {"all": STEPS, "cpr": STEPS[:19], "one": STEPS[10:11]}
ASKS = st.sampled_from(sorted(ASKED))  # by name: a rubric's repr is long
ANSWER: st.SearchStrategy[Literal["score", "error"]] = st.sampled_from(["score", "error"])


def check(parsed: Parsed, steps: Sequence[RubricStep], answer: str) -> None:
    tops = {step.id: step.max_score if answer == "score" else 1.0 for step in steps}
    assert parsed.status in STATUSES
    assert set(parsed.missing.values()) <= set(MISSING)
    assert {**parsed.answers, **parsed.missing}.keys() == tops.keys()
    assert parsed.answers.keys().isdisjoint(parsed.missing)
    assert (parsed.status == "ok") == (not parsed.missing)
    for step_id, value in parsed.answers.items():
        assert type(value) is float and value.is_integer() and 0 <= value <= tops[step_id]


pieces = st.sampled_from(
    [
        *"{}[]:,\"'/*#\n\\ 019.-“”：，\ud800",
        *('"cpr_01"', '"score"', '"scores"', '"verdict"', '"step"', '"error"', "cpr_02", "true", "null", "correct"),
        *("错误", "<think>", "</think>", "[THINK]", "[/THINK]", "```", "NaN", "1e9", "3/5"),
    ]
)


@given(st.text() | st.lists(pieces).map("".join), ASKS, ANSWER)
@settings(max_examples=200)
def test_any_text(reply: str, asked: str, answer: Literal["score", "error"]) -> None:
    steps = ASKED[asked]
    check(parse_reply(reply, steps, answer), steps, answer)


values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-2, 11)
    | st.floats()
    | st.text(max_size=8)
    | st.sampled_from(["3/5", "wrong"]),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(
            st.sampled_from(["score", "scores", "verdict", "step", "1", "cpr", "x", "errors"]), inner, max_size=4
        )
        | st.dictionaries(st.sampled_from([step.id for step in STEPS]), inner, max_size=8)
    ),
    max_leaves=20,
)


@given(values, ASKS, ANSWER, st.integers(0, 400), st.text(max_size=3))
@example(None, "all", "score", 0, "²:")  # a digit to Python, but no number
@example(None, "all", "error", 0, "①:")
@settings(max_examples=200)
def test_any_json_with_a_wound(
    value: Any, asked: str, answer: Literal["score", "error"], place: int, wound: str
) -> None:
    steps = ASKED[asked]
    text = json.dumps(value)
    check(parse_reply(text, steps, answer), steps, answer)
    check(parse_reply(text[:place] + wound + text[place + 1 :], steps, answer), steps, answer)
    check(parse_reply(value, steps, answer), steps, answer)


@pytest.mark.parametrize("answer", ["score", "error"])
@pytest.mark.parametrize(
    "form",
    [
        lambda said: json.dumps({"scores": said}),
        lambda said: json.dumps(said, indent=2),
        lambda said: repr({"cpr": said}),
        lambda said: json.dumps({name: {"reason": "1, or 2", "score": value} for name, value in said.items()}),
        lambda said: json.dumps([{"step": name, "score": value} for name, value in said.items()], indent=1),
        lambda said: "\n".join(json.dumps({"step": name, "points": value}) for name, value in said.items()),
        lambda said: "{" + ",".join(f"{name}: {value}/10" for name, value in said.items()) + "}",
        lambda said: "｛" + "，".join(f"“{name}”：“{value}分”" for name, value in said.items()) + "｝",
    ],
)
def test_cutting_a_reply_loses_answers_but_changes_none(
    form: Callable[[dict[str, Any]], str], answer: Literal["score", "error"]
) -> None:
    steps = [step.model_copy(update={"max_score": 10.0}) for step in STEPS[:12]]
    numbers = (10, 1, 0, 10, 3, 10, 10, 0, 5, 10, 1, 10)
    truth = {step.id: float(n if answer == "score" else n == 10) for step, n in zip(steps, numbers, strict=True)}
    values = {name: (int(v) if answer == "score" else ("correct", "incorrect")[int(v)]) for name, v in truth.items()}
    reply = form(values)
    if answer == "error":
        reply = reply.replace("score", "verdict").replace("points", "verdict").replace("/10", "").replace("分", "")
    kept = []
    for end in range(len(reply) + 1):
        parsed = parse_reply(reply[:end], steps, answer)
        assert parsed.answers.items() <= truth.items(), reply[:end]
        kept.append(len(parsed.answers))
    assert kept == sorted(kept), "a longer part says no less"
    assert set(kept) == set(range(13))


@pytest.mark.parametrize(
    "harm",
    [
        lambda text: text.replace('"', "'"),
        lambda text: text.replace('"', ""),
        lambda text: text.replace("}", ",}"),
        lambda text: text.replace(", ", "\n"),
        lambda text: text.replace(", ", ", // a remark\n"),
        lambda text: text.replace(", ", " /* 7 */, "),
        lambda text: f"Here you are:\n```json\n{text}\n```\nBye.",
        lambda text: f"｛{text[1:-1]}｝".replace("：", ":"),
    ],
)
def test_a_second_reader_agrees_where_nothing_must_be_guessed(harm: Callable[[str], str]) -> None:
    truth = {step.id: int(step.max_score) for step in STEPS}
    text = harm(json.dumps(truth))
    other = json_repair.loads(text.replace("｛", "{").replace("｝", "}"))
    assert other == truth
    assert parse_reply(text, STEPS, "score").answers == other


GARBAGE = [
    *("{", "[", '"', "{'a", '{"a":"', "{/*", '",', "[]", "{}", "}", "<think>", "</think>", "[/THINK]", "\\"),
    *('{"a":1,', "a:", "\n ", "“", "x ", '{"cpr_01":1}', '{"a":"<think>"},', "1,"),
]


@pytest.mark.parametrize("garbage", GARBAGE)
def test_ten_megabytes_of_garbage_return_soon(garbage: str) -> None:
    start = time.perf_counter()
    check(parse_reply(garbage * (10_000_000 // len(garbage)), STEPS, "score"), STEPS, "score")
    assert time.perf_counter() - start < 10, "about a second on an idle machine"


@pytest.mark.parametrize("garbage", GARBAGE)
@pytest.mark.parametrize("head", ['{"a": ', '{"a": "'])
def test_time_grows_no_faster_than_the_reply(head: str, garbage: str) -> None:
    def seconds(size: int) -> float:
        text = head + garbage * (size // len(garbage))
        runs = []
        for _ in range(2):
            start = time.process_time()
            parse_reply(text, STEPS, "score")
            runs.append(time.process_time() - start)
        return min(runs)

    assert seconds(64_000) < 4 * 8 * (seconds(8_000) + 0.002), "8 times the reply; were it quadratic, 64 times the time"


@pytest.mark.parametrize("first", ["①", "⑴", "⒈"])
@pytest.mark.parametrize("name", [lambda step: step.name, lambda step: step.id], ids=["names", "ids"])
def test_a_list_may_be_numbered_by_one_sign_each(first: str, name: Callable[[RubricStep], str]) -> None:
    """Such a number is a digit to Python and no number: it ended the run."""
    steps = STEPS[:19]
    lines = [f"{chr(ord(first) + place)} {name(step)}: {step.max_score:g}" for place, step in enumerate(steps)]
    parsed = parse_reply("\n".join(lines), steps, "score")
    assert parsed.status == "ok" and parsed.answers == {step.id: step.max_score for step in steps}

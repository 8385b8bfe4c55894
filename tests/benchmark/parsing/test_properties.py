"""Promises that hold of every reply: nothing raised, nothing slow, no JSON lost in words, nothing changed by a cut."""

import json
import time
from collections.abc import Sequence
from itertools import product
from pathlib import Path
from typing import Any, Literal

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from replyset import replies

from siming_tasks.benchmark.parsing import MISSING, STATUSES, Parsed, format_answers, parse_reply
from siming_tasks.benchmark.rubrics import RubricStep, default_rubric

STEPS = default_rubric().steps
ASKED = {"all": STEPS, "cpr": STEPS[:19], "one": STEPS[10:11]}
ASKS = st.sampled_from(sorted(ASKED))  # by name: a rubric's repr is long
Kind = Literal["score", "error"]
ANSWER: st.SearchStrategy[Kind] = st.sampled_from(["score", "error"])
SENTENCES = Path(__file__).with_name("sentences")
OPENINGS, CLOSINGS = ((SENTENCES / f"{name}.txt").read_text("utf-8").splitlines() for name in ("openings", "closings"))


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
        *"{}[]:,\"'/*#\n\\ 019.-“”：，|\ud800",
        *('"cpr_01"', '"score"', '"scores"', '"verdict"', '"step"', "cpr_02", "true", "null", "correct", "Score: "),
        *("错误", "<think>", "</think>", "[THINK]", "[/THINK]", "```", "NaN", "1e9", "3/5", "\nUser: ", "cpr_11: 2\n"),
    ]
)


@given(st.text() | st.lists(pieces).map("".join), ASKS, ANSWER)
@example("²: ①", "all", "score")
@settings(max_examples=300)
def test_any_text(reply: str, asked: str, answer: Kind) -> None:
    check(parse_reply(reply, ASKED[asked], answer), ASKED[asked], answer)


keys = st.sampled_from(["score", "scores", "verdict", "step", "1", "cpr", "x", "max", *(step.id for step in STEPS)])
values = st.recursive(
    st.none() | st.booleans() | st.integers(-2, 11) | st.floats() | st.text(max_size=8) | st.sampled_from(["3/5"]),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(keys, inner, max_size=8),
    max_leaves=20,
)


@given(values, ASKS, ANSWER, st.integers(0, 400), st.text(max_size=3))
@settings(max_examples=200)
def test_any_json_with_a_wound(value: Any, asked: str, answer: Kind, place: int, wound: str) -> None:
    text = json.dumps(value)
    for reply in (value, text, text[:place] + wound + text[place + 1 :]):
        check(parse_reply(reply, ASKED[asked], answer), ASKED[asked], answer)


def test_no_opening_and_no_closing_costs_an_answer() -> None:
    steps = STEPS[:3]
    cases: list[tuple[Kind, dict[str, float]]] = [
        ("score", {step.id: 0.0 for step in steps}), ("score", {step.id: step.max_score for step in steps}),
        ("error", {step.id: 1.0 for step in steps}),
    ]  # fmt: skip
    assert (len(OPENINGS), len(CLOSINGS)) == (60, 60)
    for number, (opening, closing) in enumerate(product(OPENINGS, CLOSINGS)):
        answer, truth = cases[(number + number // 60) % 3]
        reply = f"{opening}\n\n{format_answers(truth, steps, answer)}\n\n{closing}"
        assert parse_reply(reply, steps, answer) == Parsed("ok", truth), reply


@pytest.mark.parametrize("answer", ["score", "error"])
@pytest.mark.parametrize(
    "form",
    [
        lambda said, key: json.dumps({f"{key}s": said}),
        lambda said, key: json.dumps(said, indent=2),
        lambda said, key: json.dumps({name: {"reason": "1, or 2", key: value} for name, value in said.items()}),
        lambda said, key: json.dumps({name: {key: value, "reason": "1, or 2"} for name, value in said.items()}),
        lambda said, key: json.dumps([{"step": name, key: value} for name, value in said.items()], indent=1),
        lambda said, key: json.dumps([{key: value, "step": name} for name, value in said.items()]),
        lambda said, key: "{" + ",".join(f"{name}: {value}" for name, value in said.items()) + "}",
    ],
)
def test_a_cut_loses_answers_and_changes_none(form: Any, answer: Kind) -> None:
    steps = [step.model_copy(update={"max_score": 10.0}) for step in STEPS[:12]]
    numbers = (10, 1, 0, 10, 3, 10, 10, 0, 5, 10, 1, 10)
    truth = {step.id: float(n if answer == "score" else n == 10) for step, n in zip(steps, numbers, strict=True)}
    said = {name: (int(v) if answer == "score" else ("correct", "incorrect")[int(v)]) for name, v in truth.items()}
    reply = form(said, "score" if answer == "score" else "verdict")
    kept = [parse_reply(reply[:end], steps, answer).answers for end in range(len(reply) + 1)]
    assert all(answers.items() <= truth.items() for answers in kept)
    sizes = [len(answers) for answers in kept]
    assert sizes == sorted(sizes) and sizes[-1] == 12, "a longer part says no less"


@pytest.mark.parametrize("every", [9, pytest.param(1, marks=pytest.mark.weekly)])
def test_no_cut_of_a_natural_reply_answers_otherwise(every: int) -> None:
    """Every reply with one JSON object that is read whole, cut at every so many characters of the object."""
    cuts = 0
    for reply in replies("natural"):
        begin, end = reply.text.find("{"), reply.text.rfind("}") + 1
        whole = parse_reply(reply.text, reply.steps, reply.answer)
        if begin < 0 or dict(whole.answers) != reply.answers:
            continue
        for place in range(begin, end, every):
            cut = parse_reply(reply.text[:place], reply.steps, reply.answer).answers
            assert cut.items() <= reply.answers.items(), reply.text[:place]
            cuts += 1
    assert cuts > 20_000 // every


GARBAGE = [
    *("{", "[", "[{", '"', "{'a", '{"a":"', "{/*", '",', "[]", "{}", "}", "<think>", "</think>", "[/THINK]", "\\", "|"),
    *('{"a":1,', "a:", "\n ", "“", "x ", '{"cpr_01":1}', '{"a":"<think>"},', "1,", '":"', "cpr_01: 2, ", "i'm sorry, "),
    *("score is ", "# ", "- ", "wait,", "User:\n", "no video ", "because "),
]  # fmt: skip


@pytest.mark.parametrize("head", ["", '{"a": ', '{"a": "'])
def test_a_long_reply_is_read_at_once(head: str) -> None:
    for garbage in GARBAGE:
        start = time.process_time()
        check(parse_reply(head + garbage * (200_000 // len(garbage)), STEPS, "score"), STEPS, "score")
        assert time.process_time() - start < 30, f"{garbage}: quadratic time would be hours"

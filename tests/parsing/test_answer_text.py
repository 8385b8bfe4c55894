from __future__ import annotations

import pytest

from siming_tasks.parsing.answer_text import MAX_ANSWER, MAX_HEAD, MAX_REPLY, set_apart

ANSWER = '{"score": 2}'


@pytest.mark.parametrize(
    ("opening", "closing"),
    [
        ("<think>", "</think>"),
        ("<THINK>", "</Think>"),
        ("<thinking>", "</thinking>"),
        ("<thought>", "</thought>"),
        ("<reasoning>", "</reasoning>"),
        ("<reflection>", "</reflection>"),
        ("<analysis>", "</analysis>"),
        ("<seed:think>", "</seed:think>"),
        ("<|thinking|>", "<|/thinking|>"),
        ("<|begin_of_thought|>", "<|end_of_thought|>"),
        ("<|START_THINKING|>", "<|END_THINKING|>"),
        ("[THINK]", "[/THINK]"),
        ("◁think▷", "◁/think▷"),
        ("<unused94>thought", "<unused95>"),
        ("<|channel|>analysis<|message|>", "<|end|><|start|>assistant<|channel|>final<|message|>"),
        ("analysisThe trainee", "assistantfinal"),
    ],
)
def test_dialects(opening: str, closing: str) -> None:
    thoughts = ' maybe {"score": 1}, or "{ no '
    assert set_apart(f"{opening}{thoughts}{closing}{ANSWER}").text == ANSWER
    assert set_apart(f"{thoughts}{closing}\n\n{ANSWER}").text.strip() == ANSWER, "the chat template opens the block"
    assert set_apart(f"{opening}a{closing}{opening}b{closing}{ANSWER}").text == ANSWER
    unclosed = set_apart(f"{opening}{thoughts}{ANSWER}")
    assert (unclosed.text, unclosed.groups, unclosed.unfinished) == ("", [], True)


def test_an_answer_before_an_unclosed_block_stands() -> None:
    answered = set_apart(f'{ANSWER}\n<think>or rather {{"score": 1}}')
    assert [answered.text[g.start : g.end] for g in answered.groups] == [ANSWER]
    assert answered.unfinished


@pytest.mark.parametrize(
    "reply",
    [
        '{"reason": "ends with </think> here", "score": 2}',
        '{"reason": "opens <think> here", "score": 2}',
        '{"reason": "<think>a</think> b </think>", "score": 2}',
    ],
)
def test_a_tag_in_a_string_is_a_mention(reply: str) -> None:
    for before in ("", '<think>draft {"score": 1}</think>'):
        answered = set_apart(before + reply)
        assert (answered.text, answered.unfinished) == (reply, False)


def test_mentions_in_several_objects() -> None:
    lines = "\n".join(f'{{"step": {n}, "reason": "see </think>", "score": 1}}' for n in range(1, 6))
    for before in ("", "<think>no</think>\n"):
        assert len(set_apart(before + lines).groups) == 5


@pytest.mark.parametrize("thoughts", ['the form is {"score": "x ', "{'score': 1, \"", '{"score": 1, "', '["score", "'])
def test_a_bracket_or_string_left_open_in_thoughts_hides_nothing(thoughts: str) -> None:
    assert set_apart(f"{thoughts}</think>{ANSWER}").text == ANSWER
    mention = '{"reason": "see </think>", "score": 2}'
    assert set_apart(f"<think>{thoughts}</think>{mention}").text == mention


@pytest.mark.parametrize("text", ["", "plain", "[Analysis]\n" + ANSWER, "a < think > b", "analysis of it", "<thinker>"])
def test_no_thinking(text: str) -> None:
    answered = set_apart(text)
    assert (answered.text, answered.unfinished) == (text, False)


def test_long_replies_are_read_from_the_end() -> None:
    noise = "lorem ipsum " * (2 * MAX_REPLY // 12)
    assert len(set_apart(noise + ANSWER).groups) == 1
    assert len(set_apart(noise + ANSWER).text) == MAX_HEAD + MAX_ANSWER
    assert set_apart("<think>" + noise + ANSWER).unfinished, "the block opens before what is read"
    assert set_apart("<think>" + noise + "</think>" + ANSWER).text == ANSWER
    assert set_apart("x <think>" + noise[: MAX_REPLY // 2] + ANSWER).unfinished


def test_an_answer_before_a_long_loop_is_read() -> None:
    looped = set_apart(ANSWER + "\n" + " and so on" * 30_000)
    assert [looped.text[g.start : g.end] for g in looped.groups] == [ANSWER]
    repeated = set_apart(f"{ANSWER}\n" * MAX_ANSWER)
    assert not repeated.unread
    assert {repeated.text[g.start : g.end] for g in repeated.groups} == {ANSWER}


def test_an_answer_in_the_middle_that_is_not_read_is_reported() -> None:
    filler = "lorem ipsum " * MAX_ANSWER
    assert set_apart(ANSWER + filler[: MAX_ANSWER * 2] + '{"score": 1}' + filler[: MAX_ANSWER * 2] + ANSWER).unread

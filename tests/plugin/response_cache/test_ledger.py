"""The ledger: what the JSON of a service says, what it costs, and how long an answer may take."""

from __future__ import annotations

import math
from typing import Any

import httpx
import pytest

from siming_tasks.common.errors import DataError
from siming_tasks.options import Options
from siming_tasks.parsing.parsed_reply import BLOCKED_MARKER, FAILURE_MARKER
from siming_tasks.plugin.response_cache.attempt import FAILED, Attempt, facts_of_answer, reply_of
from siming_tasks.plugin.response_cache.ledger import REQUEST, Budget, Ledger, NotSent, usage_of

USED = {"prompt_tokens": 7, "completion_tokens": 3}
SAID = {"role": "assistant", "content": '{"score": 1}'}


@pytest.mark.parametrize(("stated", "read"), [(1000.0, 1000), (7, 7), (1.5, None), (math.nan, None), (math.inf, None),
                                              (10**400, None), (True, None), (-1, None), ("7", None),
                                              (0, None)])  # fmt: skip
def test_counts_may_be_whole_floats_and_no_request_is_read_without_a_token(stated: Any, read: int | None) -> None:
    choice = {"message": SAID, "finish_reason": "stop"}
    facts = facts_of_answer(200, {"choices": [choice], "usage": {**USED, "prompt_tokens": stated}})
    assert facts["prompt_tokens"] == read and type(facts["prompt_tokens"]) is type(read)


@pytest.mark.parametrize(("written", "thought", "read"), [(3, 4, 7), (None, 4, 4), (3, None, 3), (math.nan, 4, None),
                                                          (3, -1, None), (10**12, 10**12, None)])  # fmt: skip
def test_what_google_counts_apart_is_unknown_where_a_part_is(written: Any, thought: Any, read: int | None) -> None:
    used = {"promptTokenCount": 7, "candidatesTokenCount": written, "thoughtsTokenCount": thought}
    body = {"candidates": [{"content": {"parts": [{"text": "2"}]}, "finishReason": "STOP"}], "usageMetadata": used}
    assert facts_of_answer(200, body)["completion_tokens"] == read


@pytest.mark.parametrize(
    ("body", "error"),
    [
        ({"choices": [{"message": SAID, "finish_reason": "stop"}]}, None),
        ({"choices": [{"message": SAID, "finish_reason": "length"}]}, None),
        ({"choices": [{"message": SAID, "finish_reason": "error"}]}, "error error"),
        ({"choices": [{"message": SAID, "finish_reason": "abort"}]}, "error abort"),
        ({"choices": [{"message": SAID, "error": {"code": 502, "message": "x"}}]}, "error 502"),
        (
            {"choices": [{"message": SAID, "finish_reason": "stop"}], "error": {"code": "overloaded"}},
            "error overloaded",
        ),
        ({"choices": [{"message": SAID, "finish_reason": "stop"}], "error": "out"}, "error in the answer"),
        ({"choices": []}, "no choice"),
        ({"choices": [{"index": 0}]}, "no message"),
        ({"choices": [{"index": 0, "message": None, "finish_reason": "stop"}]}, "no message"),
        ({"choices": [{"index": 0, "finish_reason": "content_filter"}]}, None),  # Azure leaves the message out
        ({"choices": [{"message": {"content": None}, "finish_reason": "stop"}]}, None),
        ("", "no JSON"),  # half a body, or a page of HTML
    ],
)
def test_what_a_service_broke_off_is_a_failure_whatever_prose_stands_beside_it(body: Any, error: str | None) -> None:
    assert facts_of_answer(200, body).get("error") == error


def failed(text: str) -> bool:
    return text.startswith(FAILURE_MARKER)


@pytest.mark.parametrize(
    ("said", "last", "reply"),
    [
        ("2", Attempt("k", 0, text="2"), "2"),
        ("Error: can only concatenate str", Attempt("k", 0, text=""), ""),
        ("Sorry, no answer after 2 tries", Attempt("k", 0, error="HTTP 500"), f"{FAILED}HTTP 500"),
        (f"{FAILURE_MARKER} after 5 retries] index", Attempt("k", 0, text='{"score": 1}'), '{"score": 1}'),
        (None, Attempt("k", 0, text="", refusal="I will not."), f"{BLOCKED_MARKER}:finish_reason=None] I will not."),
        (
            f"{FAILURE_MARKER}] I say so",
            Attempt("k", 0, text=f"{FAILURE_MARKER}] I say so"),
            f"“{FAILURE_MARKER}] I say so",
        ),
        (None, Attempt("k", 0), f"{FAILED}NoneType in place of a text"),  # of a form that nobody knows
    ],
)
def test_the_services_words_count_where_the_class_says_something_else(said: Any, last: Attempt, reply: str) -> None:
    assert reply_of(said, [last], failed) == reply


def test_answers_of_unknown_form_before_another_attempt_have_failed() -> None:
    entered: list[Attempt] = []
    ledger = Ledger(entered.append, lambda: False)
    for text in (None, None, "2"):
        ledger.add(Attempt("k", 0.0, http_status=200, text=text, prompt_tokens=7 if text else None))
    usage = usage_of(ledger.of("k"), Budget(Options(), "m"))
    assert (usage["attempts"], usage["failed_attempts"], usage["prompt_tokens"]) == (3, 2, 7)
    assert [attempt.error for attempt in entered] == ["unknown form", "unknown form", ""]


def test_what_must_not_go_to_an_address_is_not_sent_there() -> None:
    """By the address of the request itself, whatever the class and its client were told."""
    asked: list[tuple[str, str]] = []

    def may_go(key: str, address: str) -> None:
        asked.append((key, address))
        raise DataError("nobody agreed to that")

    ledger = Ledger(lambda attempt: None, lambda: False, may_go=may_go)
    token = REQUEST.set("k")
    try:
        with ledger.listening(), pytest.raises(NotSent):
            httpx.post("http://192.0.2.1:9/v1", json={})  # would wait for long: nobody is there
    finally:
        REQUEST.reset(token)
    assert asked == [("k", "http://192.0.2.1:9/v1")] and str(ledger.refused) == "nobody agreed to that"
    assert ledger.was_held_back("k") and not ledger.of("k")

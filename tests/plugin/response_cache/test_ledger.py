"""The ledger: what the JSON of a service says, what it costs."""

import math
from typing import Any

import pytest

from siming_tasks.options import Options
from siming_tasks.plugin.response_cache.attempt import Attempt, facts_of_answer
from siming_tasks.plugin.response_cache.ledger import Budget, Ledger, usage_of

SAID = {"role": "assistant", "content": '{"score": 1}'}


def test_counts_may_be_whole_floats_and_what_is_no_count_is_unknown() -> None:
    for stated, read in ((1000.0, 1000), (7, 7), (1.5, None), (math.nan, None), (math.inf, None), (10**400, None),
                         (True, None), (-1, None), ("7", None), (0, None)):  # fmt: skip
        used = {"prompt_tokens": stated, "completion_tokens": 3}
        facts = facts_of_answer(200, {"choices": [{"message": SAID, "finish_reason": "stop"}], "usage": used})
        assert facts["prompt_tokens"] == read and type(facts["prompt_tokens"]) is type(read), stated
    # Google counts thoughts apart: unknown where a part is
    for written, thought, read in ((3, 4, 7), (None, 4, 4), (3, None, 3), (math.nan, 4, None), (3, -1, None)):
        used = {"promptTokenCount": 7, "candidatesTokenCount": written, "thoughtsTokenCount": thought}
        one = {"content": {"parts": [{"text": "2"}]}, "finishReason": "STOP"}
        assert facts_of_answer(200, {"candidates": [one], "usageMetadata": used})["completion_tokens"] == read


@pytest.mark.parametrize(
    ("body", "error"),
    [
        ({"choices": [{"message": SAID, "finish_reason": "stop"}], "error": "out"}, "error in the answer"),
        ({"choices": [{"index": 0}]}, "no message"),
        ({"choices": [{"index": 0, "message": None, "finish_reason": "stop"}]}, "no message"),
        ({"choices": [{"index": 0, "finish_reason": "content_filter"}]}, None),  # Azure leaves the message out
        ("", "no JSON"),  # half a body, or a page of HTML
    ],
)
def test_what_a_service_broke_off_is_a_failure_whatever_prose_stands_beside_it(body: Any, error: str | None) -> None:
    """More of them in ``test_services``, where real classes of lmms-eval hear them."""
    assert facts_of_answer(200, body).get("error") == error


def test_answers_of_unknown_form_before_another_attempt_have_failed() -> None:
    entered: list[Attempt] = []
    ledger = Ledger(entered.append, lambda: False)
    for text in (None, None, "2"):
        ledger.add(Attempt("k", 0.0, http_status=200, text=text, prompt_tokens=7 if text else None))
    usage = usage_of(ledger.of("k"), Budget(Options(), "m"))
    assert (usage["attempts"], usage["failed_attempts"], usage["prompt_tokens"]) == (3, 2, 7)
    assert [attempt.error for attempt in entered] == ["unknown form", "unknown form", ""]
